"""Best first: what promises more is fetched sooner, and everything is fetched once all the same."""

from __future__ import annotations

from collections.abc import Sequence

from gossamer import PageFacts, crawl
from gossamer.config.options import Options
from gossamer.testing.web import Page, Request, Robots, Web, WebServer, fetch_counts
from tests.e2e.crawling import Result, crawled, one_host, page, paths

ONE_BY_ONE: Options = {"scope": "host", "per_host": 1, "concurrency": 1}


async def visited(web: Web, **options: object) -> tuple[list[str], list[Request], Result]:
    with WebServer(web) as server:
        wanted: Options = {**ONE_BY_ONE, **options}  # type: ignore[typeddict-item]
        result = await crawled(server.url(), **wanted)
        log = server.requests()
    return [path for path in paths(log) if not path.startswith("/map")], log, result


def before(order: Sequence[str], first: str, then: str) -> bool:
    return order.index(first) < order.index(then)


# `/popular` is as deep and as long as `/x00`..., comes last on the front page, and all the others lead to it.
OTHERS = [f"/x{number:02}" for number in range(30)]
POPULAR = one_host(
    page("/", *OTHERS, "/popular"),
    *(page(path, "/popular") for path in OTHERS),
    page("/popular"),
)


async def test_a_page_that_many_lead_to_comes_before_others_that_are_as_near() -> None:
    breadth, _, _ = await visited(POPULAR)
    best, log, _ = await visited(POPULAR, order="best")
    assert breadth.index("/popular") == len(breadth) - 1
    assert best.index("/popular") < len(best) // 2
    assert set(fetch_counts(log).values()) == {1}
    assert set(best) == set(breadth) == {"/", *OTHERS, "/popular"}


def sitemap(**priorities: float) -> Page:
    urls = "".join(
        f"<url><loc>$ORIGIN/{name}</loc><priority>{priority}</priority></url>" for name, priority in priorities.items()
    )
    body = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{urls}</urlset>'
    return Page(path="/map.xml", content_type="application/xml", body=body.encode())


async def test_what_a_sitemap_thinks_important_comes_first_even_where_links_found_it_later() -> None:
    robots = Robots(rules="User-agent: *\nSitemap: $ORIGIN/map.xml\n")
    names = ("low", "middle", "high")
    web = one_host(
        page("/"), *(page(f"/{name}") for name in names), sitemap(low=0.0, middle=0.5, high=1.0), robots=robots
    )
    order, log, _ = await visited(web, order="best", seed_from=["auto"])
    assert before(order, "/high", "/middle")
    assert before(order, "/middle", "/low")
    assert fetch_counts(log)[log[0].host + "/high"] == 1


async def test_shallow_pages_with_short_paths_come_before_deep_ones_with_long_paths() -> None:
    web = one_host(
        page("/", "/a/long/path/to/somewhere", "/b"),
        page("/a/long/path/to/somewhere"),
        page("/b", "/b/c"),
        page("/b/c", "/b/c/d"),
        page("/b/c/d"),
    )
    order, _, _ = await visited(web, order="best")
    assert before(order, "/b", "/a/long/path/to/somewhere")
    assert before(order, "/b", "/b/c")
    assert before(order, "/b/c", "/b/c/d")


async def test_any_order_finds_the_same_pages_and_each_once() -> None:
    trees = [f"/t{number}" for number in range(8)]
    leaves = [f"{tree}/l{number}" for tree in trees for number in range(5)]
    web = one_host(
        page("/", *trees),
        *(page(tree, *(leaf for leaf in leaves if leaf.startswith(f"{tree}/")), "/t0") for tree in trees),
        *map(page, leaves),
    )
    breadth, breadth_log, one = await visited(web, concurrency=8, per_host=8)
    best, best_log, other = await visited(web, order="best", concurrency=8, per_host=8)
    assert sorted(breadth) == sorted(best) == sorted(["/", *trees, *leaves])
    for log in (breadth_log, best_log):
        assert set(fetch_counts(log).values()) == {1}
    assert one.summary.completed == other.summary.completed == len(best)


async def test_best_first_keeps_to_the_limit_of_pages_with_the_best_of_them() -> None:
    limited, _, result = await visited(POPULAR, order="best", max_pages=20)
    assert len(limited) == 20
    assert "/popular" in limited
    assert result.summary.reason == "max-pages"


async def test_a_function_of_the_users_own_decides_what_comes_first() -> None:
    names = [f"/x{number:02}" for number in range(20)]

    def score(facts: PageFacts) -> float:
        if facts.url.endswith("/x07"):
            raise ValueError("it must not matter")
        return int(facts.url[-2:]) / 100 if facts.url[-1].isdigit() else 1.0

    with WebServer(one_host(page("/", *names), *map(page, names))) as server:
        wanted: Options = {**ONE_BY_ONE, "delay": 0, "seed_from": ["links"]}
        run = crawl(server.url(), score=score, **wanted)
        found = [record.url async for record in run]
        order = paths(server.requests())
    assert len(found) == len(names) + 1
    scored = [name for name in order[1:] if name != "/x07"]
    assert scored == sorted(scored, reverse=True)
