"""Where URLs come from besides links: files for language models, certificates, and the Common Crawl index."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Unpack

import pytest

from gossamer.adapters import egress
from gossamer.adapters.store_sqlite import SqliteStore
from gossamer.config.options import Options
from gossamer.model import GuideInfo, State
from gossamer.testing.maze import Maze, MazeServer, Road, Section, Sitemap
from gossamer.testing.services import Answer, Capture, Services
from gossamer.testing.web import Host, Page, Robots, Web, WebServer, fetch_counts
from tests.e2e.crawling import Result, crawled, one_host, page, paths

LOOPBACK = ["127.0.0.0/8"]
RULES = Robots(rules="User-agent: *\nDisallow: /private\n")


def site(*more: Page, robots: Robots = RULES) -> Web:
    """Two pages that links lead to, and two that only lists know of."""
    pages = page("/", "/linked"), page("/linked"), page("/known-1"), page("/known-2"), page("/private/known")
    return one_host(*pages, *more, robots=robots)


def text(path: str, body: str) -> Page:
    return Page(path=path, content_type="text/plain", body=body.encode())


def completed(result: Result, server: WebServer) -> set[str]:
    origin = server.url(0, "")
    return {record.url.removeprefix(origin) for record in result.records if record.state is State.COMPLETED}


def captures(server: WebServer, *names: str) -> list[Capture]:
    return [Capture(server.url(0, name)) for name in names]


async def guides(data: Path) -> list[GuideInfo]:
    store = await SqliteStore.open(data, read_only=True)
    try:
        return await store.guides(1)
    finally:
        await store.close()


# -- files for language models


async def test_what_llms_txt_lists_is_the_crawl() -> None:
    listed = "# A site\n\n## Docs\n\n- [One](/known-1): the first\n- [Two]($ORIGIN/known-2)\n- [No](/private/known)\n"
    with WebServer(site(text("/llms.txt", listed))) as server:
        result = await crawled(server.url(), scope="host", seed_from=["llms"])
        log = server.requests()
    assert completed(result, server) == {"/", "/known-1", "/known-2"}
    assert result.told(server.url(0, "/linked")) == "skipped unlisted"
    assert result.told(server.url(0, "/private/known")) == "skipped robots"
    assert paths(log).count("/llms.txt") == paths(log).count("/llms-full.txt") == 1
    assert "/private/known" not in paths(log)
    assert not [path for path in paths(log) if "sitemap" in path]


async def test_llms_txt_and_links_together_find_what_either_knows() -> None:
    full = "# Everything\n\nRead [this](/known-2) first.\n"
    with WebServer(site(text("/llms-full.txt", full))) as server:
        result = await crawled(server.url(), scope="host", seed_from=["llms", "links"])
    assert completed(result, server) == {"/", "/linked", "/known-2"}


async def test_a_maze_is_solved_by_its_llms_txt_alone() -> None:
    with MazeServer(Maze(11, sections=[Section.LLMS], sitemap=Sitemap.NONE)) as server:
        result = await crawled(*server.seeds, scope="host", seed_from=["llms"])
        assert not server.maze.faults(result.records, roads={Road.LLMS})


async def test_a_robots_file_that_forbids_llms_txt_is_heard(tmp_path: Path) -> None:
    robots = Robots(rules="User-agent: *\nDisallow: /llms\n")
    with WebServer(site(text("/llms.txt", "- [One](/known-1)\n"), robots=robots)) as server:
        result = await crawled(server.url(), data=tmp_path, scope="host", seed_from=["llms"])
        log = server.requests()
    assert paths(log) == ["/"]
    assert completed(result, server) == {"/"}
    assert {guide.state for guide in await guides(tmp_path)} == {State.SKIPPED}


# -- the Common Crawl index


async def by_index(
    server: WebServer, services: Services, data: Path | None = None, **options: Unpack[Options]
) -> Result:
    wanted: Options = {
        "seed_from": ["commoncrawl"],
        "commoncrawl_endpoint": services.endpoint,
        "allow_private": LOOPBACK,
        "scope": "host",
        **options,
    }
    return await crawled(server.url(), data=data, **wanted)


async def test_the_pages_that_common_crawl_knows_are_fetched_with_all_politeness(tmp_path: Path) -> None:
    with WebServer(site()) as server:
        known = captures(server, "/known-1", "/known-2", "/private/known", "/gone", "/linked")
        known.append(Capture(server.url(0, "/moved-away"), status="301"))
        with Services(captures=known, per_page=2) as services:
            result = await by_index(server, services, tmp_path)
            asked = list(services.requests)
        log = server.requests()
    assert completed(result, server) == {"/", "/linked", "/known-1", "/known-2"}
    assert result.told(server.url(0, "/private/known")) == "skipped robots"
    assert result.told(server.url(0, "/gone")) == "failed status"
    assert "/moved-away" not in {record.url.removeprefix(server.url(0, "")) for record in result.records}
    assert set(fetch_counts(log).values()) == {1}
    assert log[0].robots
    # A service is asked as its interface says, not crawled.
    assert "/robots.txt" not in asked
    assert asked[0] == "/collinfo.json", "what it is about is not sent"
    assert sorted(each.partition("page=")[2] for each in asked[2:]) == ["0", "1", "2"]
    assert [guide.listed for guide in await guides(tmp_path)] == [0, 0, 2, 2, 1]


async def test_only_so_many_urls_are_taken_from_the_index() -> None:
    names = [f"/many/p{number:02}x" for number in range(20)]
    with WebServer(site(*map(page, names))) as server, Services(captures=captures(server, *names)) as services:
        result = await by_index(server, services, max_listed=7)
    assert len(completed(result, server)) == 1 + 7


async def test_an_index_that_knows_nothing_of_a_site_leaves_the_seed() -> None:
    with WebServer(site()) as server, Services() as services:
        result = await by_index(server, services)
    assert completed(result, server) == {"/"}
    assert result.told(server.url(0, "/linked")) == "skipped unlisted"


async def test_all_places_together_find_all_there_is() -> None:
    robots = Robots(rules="User-agent: *\nSitemap: $ORIGIN/map.txt\n")
    more = text("/map.txt", "$ORIGIN/known-1\n"), text("/llms.txt", "- [Two](/known-2)\n")
    with WebServer(site(*more, robots=robots)) as server, Services() as services:
        result = await by_index(server, services, seed_from=["all"], scope="site", ct_endpoint=services.endpoint)
        asked = list(services.requests)
    assert completed(result, server) == {"/", "/linked", "/known-1", "/known-2"}
    assert any(each.startswith("/?q=") for each in asked)
    assert "/collinfo.json" in asked


# -- certificates


async def test_the_hosts_in_the_certificates_of_a_domain_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    certificates = [
        ("shop.example", "www.shop.example", "*.eu.shop.example"),
        ("mail.shop.example", "shop.example.other.example", "not-shop.example"),
    ]
    web = Web(hosts=(Host(pages={"/": page("/")}),), origins=("http://host-0.test",))
    with WebServer(web) as server, Services(certificates=certificates) as services:
        port = server.url().rpartition(":")[2].strip("/")
        seed = f"http://shop.example:{port}/"
        monkeypatch.setattr(egress, "_getaddrinfo", _names({"shop.example": server.url().split("/")[2].split(":")[0]}))
        result = await crawled(
            seed,
            seed_from=["ct"],
            scope="site",
            allow_private=LOOPBACK,
            ct_endpoint=services.endpoint,
            connect_timeout=0.5,
            unreachable_after=1,
        )
        asked = list(services.requests)
    assert asked == ["/?q=%25.shop.example&output=json"]
    assert result.told(seed) == "completed 200"
    others = {record.url: record for record in result.records if record.url != seed}
    # Of the other certificate only the names of this domain count; the address of a wildcard is the one below it.
    named = ("shop.example", "www.shop.example", "eu.shop.example", "mail.shop.example")
    assert set(others) == {f"https://{name}/" for name in named}
    assert {record.state for record in others.values()} == {State.FAILED}
    # Nothing listens there for the first, and nobody knows where the others are.
    faults = {url: (record.error or "").replace("host-blocked: ", "") for url, record in others.items()}
    assert faults.pop("https://shop.example/").startswith("connect: ")
    assert all(fault.startswith("dns: ") for fault in faults.values())


def _names(known: dict[str, str]) -> egress.Lookup:
    def look_up(name: str, port: int) -> Sequence[str]:
        if name not in known:
            raise OSError("the name is not known")
        return [known[name]]

    return look_up


# -- services in trouble


class Unwell(Services):
    """Services that answer with an error, or not at all until they are closed."""

    def __init__(self, status: int | None) -> None:
        super().__init__()
        self._status = status
        self._over = threading.Event()
        self.times: list[float] = []

    def answer(self, target: str) -> Answer:
        self.requests.append(target)
        self.times.append(time.monotonic())
        if self._status is None:
            self._over.wait()
        return self._status or 500, b""

    def __exit__(self, *_: object) -> None:
        self._over.set()
        super().__exit__()


@pytest.mark.parametrize("status", [503, 500, 404, None])
async def test_a_service_in_trouble_never_holds_up_the_crawl(status: int | None, tmp_path: Path) -> None:
    with WebServer(site()) as server, Unwell(status) as services:
        result = await by_index(
            server,
            services,
            tmp_path,
            seed_from=["links", "commoncrawl"],
            first_byte_timeout=1.0,
            unreachable_after=2,
            throttled_attempts=2,
            max_attempts=2,
        )
        log = server.requests()
    assert completed(result, server) == {"/", "/linked"}
    assert result.summary.reason == "finished"
    assert len(services.times) == (1 if status == 404 else 2)
    (guide,) = await guides(tmp_path)
    assert guide.state in (State.FAILED, State.SKIPPED)
    assert guide.error
    if status is None:
        assert log[-1].ended < services.times[1], "all pages were there before the service was asked again"
