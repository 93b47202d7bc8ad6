"""A crawl of several hosts equals the known answer, one record per page, and the counts add up."""

from __future__ import annotations

import pytest

from gossamer.testing.web import (
    EVERYTHING,
    QUICK,
    Feature,
    Link,
    Page,
    WebServer,
    assert_no_disallowed,
    assert_robots_first,
    differences,
    fetch_counts,
    make_web,
)
from tests.e2e.crawling import counts_add_up, crawled, one_host, page, paths

WALKED = QUICK - {Feature.NOFOLLOW}


@pytest.mark.parametrize("processes", [0, 2])
async def test_several_hosts_with_every_difficulty_equal_the_known_answer(processes: int) -> None:
    with WebServer(make_web(seed=1, hosts=3, pages_per_host=40, features=EVERYTHING, slow=0.1)) as server:
        result = await crawled(*server.seeds, processes=processes)
        log = server.requests()
    assert not differences(server.web.expected(server.seeds), result.records)
    assert counts_add_up(result)
    assert (result.summary.reason, result.summary.pending, result.summary.hosts) == ("finished", 0, 3)
    assert_robots_first(log)
    assert_no_disallowed(log, server.web)
    wanted_once = {
        url: times for url, times in fetch_counts(log).items() if "/flaky" not in url and "/broken" not in url
    }
    assert set(wanted_once.values()) == {1}


@pytest.mark.parametrize("scope", ["prefix", "host"])
async def test_a_scope_that_is_one_host_stays_there(scope: str) -> None:
    with WebServer(make_web(seed=2, hosts=2, pages_per_host=30, features=QUICK)) as server:
        seed = server.url(0, "/docs/")
        result = await crawled(seed, scope="prefix" if scope == "prefix" else "host")
        asked = {request.host for request in server.requests()}
    assert not differences(server.web.expected([seed], scope=scope), result.records)
    assert asked == {server.web.origins[0]}


async def test_a_site_is_all_hosts_of_its_domain() -> None:
    with WebServer(make_web(seed=3, hosts=3, pages_per_host=20, features=QUICK), one_address=True) as server:
        seed = server.url(0)
        result = await crawled(seed, scope="site")
        asked = {request.host for request in server.requests()}
    assert not differences(server.web.expected([seed], scope="site"), result.records)
    assert asked == set(server.web.origins)


async def test_any_scope_follows_every_link_and_names_that_are_none_fail() -> None:
    with WebServer(make_web(seed=4, hosts=2, pages_per_host=20, features=QUICK)) as server:
        seed = server.url(0)
        result = await crawled(seed, scope="any", unreachable_after=1, max_attempts=1, allow_private=["127.0.0.0/8"])
    assert not differences(server.web.expected([seed], scope="any"), result.records)
    outside = [record for record in result.records if ".invalid/" in record.url]
    assert outside
    assert all("dns: " in (record.error or "") for record in outside)


@pytest.mark.parametrize(("max_depth", "hosts"), [(0, 1), (0, 2), (1, 1), (3, 2)])
async def test_depth_ends_where_it_should(max_depth: int, hosts: int) -> None:
    with WebServer(make_web(seed=5, hosts=hosts, pages_per_host=40, features=WALKED)) as server:
        # One at a time, level by level: every page is found by its shortest road first.
        result = await crawled(*server.seeds, max_depth=max_depth, concurrency=1)
    assert not differences(server.web.expected(server.seeds, max_depth=max_depth), result.records, depth=True)


@pytest.mark.parametrize("slow", ["/a", "/b"])
async def test_a_page_found_first_by_a_long_road_counts_by_its_short_one(slow: str) -> None:
    """`/end` is two links away over `/b` and three over `/a`: whichever comes first, the depth is two."""
    delays = {slow: 0.3}
    web = one_host(
        page("/", "/a", "/b"),
        page("/a", "/a2", delay=delays.get("/a", 0)),
        page("/a2", "/end"),
        page("/b", "/end", delay=delays.get("/b", 0)),
        page("/end", "/behind"),
        page("/behind"),
    )
    with WebServer(web) as server:
        result = await crawled(server.url(), max_depth=2)
    assert not differences(server.web.expected(server.seeds, max_depth=2), result.records)
    assert result.told(server.url(0, "/end")) == "completed 200"
    assert result.told(server.url(0, "/behind")) == "skipped depth"


async def test_a_page_completed_by_a_long_road_passes_a_shorter_one_on_to_what_lies_behind_it() -> None:
    """`/page` is completed at depth 3 before the slow `/short` tells of it at depth 2; `/behind` is within 3 then."""
    web = one_host(
        page("/", "/short", "/long"),
        page("/short", "/page", delay=0.4),
        page("/long", "/long2"),
        page("/long2", "/page"),
        page("/page", "/behind"),
        page("/behind", "/beyond"),
        page("/beyond"),
    )
    with WebServer(web) as server:
        result = await crawled(server.url(), max_depth=3)
        log = server.requests()
    assert paths(log).index("/page") < [request.path for request in sorted(log, key=lambda one: one.ended)].index(
        "/short"
    ), "the long road should have been first"
    assert not differences(server.web.expected(server.seeds, max_depth=3), result.records)
    assert fetch_counts(log)[server.url(0, "/page")] == 1


async def test_patterns_include_and_exclude() -> None:
    web = one_host(page("/", "/docs/a", "/docs/draft-b", "/blog/c"), page("/docs/a"), page("/docs/draft-b"))
    with WebServer(web) as server:
        result = await crawled(server.url(), include=["/docs/"], exclude=["draft-"])
        asked = paths(server.requests())
    assert asked == ["/", "/docs/a"]
    assert result.told(server.url(0, "/docs/draft-b")) == "skipped exclude"
    assert result.told(server.url(0, "/blog/c")) == "skipped include"
    assert "draft-" in (result[server.url(0, "/docs/draft-b")].error or "")


async def test_files_of_unwanted_types_are_not_asked_for() -> None:
    web = one_host(
        page("/", "/paper.pdf", "/logo.PNG", "/logo.png?v=2", "/text.txt"),
        Page(path="/paper.pdf", content_type="application/pdf"),
        Page(path="/text.txt", content_type="text/plain"),
    )
    with WebServer(web) as server:
        usual = await crawled(server.url())
        some = await crawled(server.url(), skip_types=["pdf"])
    assert usual.told(server.url(0, "/paper.pdf")) == "completed 200"
    assert usual.told(server.url(0, "/logo.PNG")) == usual.told(server.url(0, "/logo.png?v=2")) == "skipped type"
    assert some.told(server.url(0, "/paper.pdf")) == "skipped type"
    assert some.told(server.url(0, "/logo.PNG")) == "failed status"


async def test_the_same_link_in_many_spellings_is_one_page() -> None:
    body = b"".join(
        b'<a href="%s">x</a>' % href
        for href in (b"/a", b"/a#part", b"/./a", b"/b/../a", b"/%61", b"$ORIGIN/a", b"/a?utm_source=x", b"a")
    )
    with WebServer(one_host(Page(path="/", body=body), page("/a"))) as server:
        result = await crawled(server.url())
        asked = paths(server.requests())
    assert asked == ["/", "/a"]
    assert result[server.url()].links == (server.url(0, "/a"),)


async def test_a_record_says_where_a_page_was_found() -> None:
    web = one_host(page("/", "/a", "/b"), page("/a"), page("/b"))
    with WebServer(web) as server:
        result = await crawled(server.url())
    found = result[server.url(0, "/b")]
    assert (found.parent, found.position, found.depth, found.http_status) == (server.url(), 1, 1, 200)
    assert found.title
    assert found.title.endswith("/b")
    assert (found.fetched_at or "").startswith("20")
    assert result[server.url()].parent is None


@pytest.mark.parametrize("processes", [0, 1])
async def test_queues_and_hosts_that_hardly_fit_into_memory_change_nothing(processes: int) -> None:
    with WebServer(make_web(seed=6, hosts=8, pages_per_host=12, features=QUICK)) as server:
        result = await crawled(
            *server.seeds, host_queue=2, queue_memory=4, hosts_in_memory=2, concurrency=4, processes=processes
        )
        log = server.requests()
    assert not differences(server.web.expected(server.seeds), result.records)
    assert counts_add_up(result)
    robots = [request.url for request in log if request.robots]
    assert len(robots) == len(set(robots)) == 8, "a host that was evicted keeps its robots file in the store"


async def test_a_link_to_another_scheme_or_to_nowhere_is_no_page() -> None:
    nowhere = (Link(None, "mailto:a@b.test"), Link(None, "javascript:void(0)"), Link(None, "ftp://b.test/file"))
    with WebServer(one_host(Page(path="/", links=nowhere))) as server:
        result = await crawled(server.url())
    assert [record.url for record in result.records] == [server.url()]
