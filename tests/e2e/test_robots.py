"""Every row of the robots table, as the server saw it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from gossamer.model import State
from gossamer.testing.hostile import OK, HostileServer, html, response
from gossamer.testing.web import (
    Host,
    Link,
    Page,
    Request,
    Robots,
    Trouble,
    Web,
    WebServer,
    assert_robots_first,
)
from tests.e2e.crawling import Result, crawled, one_host, page, paths

RULES = """\
User-agent: otherbot
Disallow: /

User-agent: gossamer
Disallow: /private
Allow: /private/open
Disallow: /*.secret$
Disallow: /tie
Allow: /tie
Disallow: /list?*sort=

User-agent: *
Disallow: /open
"""
ALLOWED = ("/open", "/private/open/1", "/a.secret?v=2", "/tie", "/list?page=2", "/Private")
FORBIDDEN = ("/private/1", "/privateer", "/a.secret", "/deep/b.secret", "/list?page=1&sort=up")


def site(robots: Robots) -> Web:
    return one_host(page("/", "/a"), page("/a"), robots=robots)


async def crawl_site(robots: Robots, patience: int = 10) -> tuple[Result, list[Request], str]:
    """What came of a crawl of the site, what the server saw of it, and the seed."""
    with WebServer(site(robots)) as server:
        result = await crawled(server.url(), first_byte_timeout=0.2, block_after=patience, unreachable_after=patience)
        return result, server.requests(), server.url()


async def test_rules_are_kept_with_groups_wildcards_and_the_longest_match() -> None:
    web = one_host(page("/", *ALLOWED, *FORBIDDEN), *map(page, ALLOWED), robots=Robots(rules=RULES))
    with WebServer(web) as server:
        result = await crawled(server.url())
        log = server.requests()
    assert set(paths(log)) == {"/", *ALLOWED}
    assert [result.told(server.url(0, path)) for path in FORBIDDEN] == ["skipped robots"] * len(FORBIDDEN)
    assert {result.told(server.url(0, path)) for path in ALLOWED} == {"completed 200"}
    assert_robots_first(log)


async def test_another_name_is_another_group() -> None:
    web = one_host(page("/", "/open", "/private/1"), page("/private/1"), robots=Robots(rules=RULES))
    with WebServer(web) as server:
        other = await crawled(server.url(), user_agent="otherbot/2.0")
        anybody = await crawled(server.url(), user_agent="somebody/1")
        log = server.requests()
    assert [record.reason for record in other.records] == ["robots"]
    assert anybody.told(server.url(0, "/open")) == "skipped robots"
    assert anybody.told(server.url(0, "/private/1")) == "completed 200"
    assert {request.user_agent for request in log} == {"otherbot/2.0", "somebody/1"}


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 451])
async def test_a_robots_file_that_is_not_there_allows_everything(status: int) -> None:
    result, log, url = await crawl_site(Robots(rules="User-agent: *\nDisallow: /", status=status))
    assert [request.path for request in log] == ["/robots.txt", "/", "/a"]
    assert result.told(url) == "completed 200"


@pytest.mark.parametrize(
    "robots",
    [
        Robots(status=500, times=2),
        Robots(status=503, times=2),
        Robots(status=429, times=2),
        Robots(trouble=Trouble.RESET, times=2),
        Robots(trouble=Trouble.TIMEOUT, times=2),
    ],
    ids=["500", "503", "429", "reset", "timeout"],
)
async def test_an_unreachable_robots_file_is_tried_again_and_nothing_else_meanwhile(robots: Robots) -> None:
    result, log, url = await crawl_site(robots)
    assert [request.path for request in log] == ["/robots.txt"] * 3 + ["/", "/a"]
    assert_robots_first(log)
    assert [result.told(url), result.told(f"{url}a")] == ["completed 200"] * 2
    assert result.summary.failed == 0


@pytest.mark.parametrize(
    "robots",
    [
        Robots(status=500),
        Robots(status=503),
        Robots(status=429),
        Robots(trouble=Trouble.RESET),
        Robots(trouble=Trouble.TIMEOUT),
    ],
    ids=["500", "503", "429", "reset", "timeout"],
)
async def test_a_robots_file_that_never_comes_means_no_page_is_asked_for(robots: Robots) -> None:
    result, log, url = await crawl_site(robots, patience=3)
    assert [request.path for request in log] == ["/robots.txt"] * 3
    assert [(record.url, record.state) for record in result.records] == [(url, State.FAILED)]
    assert (result.records[0].error or "").startswith("host-blocked: ")


async def test_rules_that_come_late_are_kept_all_the_same() -> None:
    robots = Robots(rules="User-agent: *\nDisallow: /a", status=503, times=1)
    result, log, url = await crawl_site(robots)
    assert paths(log) == ["/"]
    assert result.told(f"{url}a") == "skipped robots"


async def test_a_redirect_of_robots_on_the_same_host_is_followed() -> None:
    rules = "User-agent: *\nDisallow: /a"
    result, log, url = await crawl_site(Robots(rules=rules, redirect=Link(0, "/elsewhere/robots")))
    assert [request.path for request in log] == ["/robots.txt", "/elsewhere/robots", "/"]
    assert result.told(f"{url}a") == "skipped robots"


async def test_a_redirect_of_robots_to_another_host_is_judged_for_the_first() -> None:
    rules = "User-agent: *\nDisallow: /a"
    first = Host(
        pages={"/": page("/", "/a"), "/a": page("/a")}, robots=Robots(rules=rules, redirect=Link(1, "/their-robots"))
    )
    second = Host(pages={"/a": page("/a")})
    with WebServer(Web(hosts=(first, second), origins=("http://a.test", "http://b.test"))) as server:
        result = await crawled(server.url(0), server.url(1, "/a"))
        log = server.requests()
    assert result.told(server.url(0, "/")) == "completed 200"
    assert result.told(server.url(0, "/a")) == "skipped robots"
    assert result.told(server.url(1, "/a")) == "completed 200", "the rules are the first host's alone"
    asked = [request.url for request in log]
    assert asked.index(server.url(1, "/their-robots")) < asked.index(server.url(0, "/"))


def hops(count: int) -> Mapping[str, Callable[[str], bytes]]:
    """A robots file behind so many redirects."""

    def robots(argument: str) -> bytes:
        left = int(argument or count)
        if left == 0:
            return response("200 OK", b"User-agent: *\nDisallow: /ok", "Content-Type: text/plain")
        return response("302 Found", b"", f"Location: /robots.txt/{left - 1}")

    return {"robots.txt": robots, "seed": lambda _: html(OK)}


@pytest.mark.parametrize(("count", "asked"), [(5, 6), (6, 6)])
async def test_five_redirects_of_robots_are_followed_and_no_more(count: int, asked: int) -> None:
    async with HostileServer(pages=hops(count)) as server:
        result = await crawled(server.url("/seed"), scope="host")
        robots = [request.target for request in server.requests if request.target.startswith("/robots.txt")]
    assert len(robots) == asked
    assert result.told(server.url("/seed")) == "completed 200"
    # Beyond the fifth the file counts as not there (RFC 9309, 2.3.1.2).
    reached = result.told(server.url("/ok?again"))
    assert reached == ("skipped robots" if count == 5 else "completed 200")


async def test_robots_are_kept_in_the_store_and_not_asked_for_again(tmp_path: Path) -> None:
    web = one_host(page("/", "/a", "/private"), page("/a"), robots=Robots(rules="User-agent: *\nDisallow: /private"))
    with WebServer(web) as server:
        first = await crawled(server.url(), data=tmp_path, max_pages=1)
        assert first.summary.reason == "max-pages"
        second = await crawled(server.url(), data=tmp_path)
        third = await crawled(server.url(0, "/a"), data=tmp_path)
        log = server.requests()
    assert [request.path for request in log] == ["/robots.txt", "/", "/a", "/a"]
    assert second.told(server.url(0, "/private")) == "skipped robots"
    assert third.told(server.url(0, "/a")) == "completed 200"


async def test_an_unreachable_verdict_is_not_kept(tmp_path: Path) -> None:
    with WebServer(site(Robots(status=503, times=1))) as server:
        first = await crawled(server.url(), data=tmp_path, duration=0.3, backoff_first=1.0)
        second = await crawled(server.url(), data=tmp_path, backoff_first=1.0)
        log = server.requests()
    assert (first.summary.reason, first.records) == ("duration", [])
    assert second.told(server.url()) == "completed 200"
    assert [request.path for request in log] == ["/robots.txt", "/robots.txt", "/", "/a"]


async def test_who_ignores_robots_does_not_ask_for_them() -> None:
    with WebServer(site(Robots(rules="User-agent: *\nDisallow: /"))) as server:
        result = await crawled(server.url(), ignore_robots=True)
        assert [request.path for request in server.requests()] == ["/", "/a"]
    assert result.summary.completed == 2


async def test_a_page_called_robots_elsewhere_is_a_page() -> None:
    web = one_host(page("/", "/docs/robots.txt"), Page(path="/docs/robots.txt", content_type="text/plain"))
    with WebServer(web) as server:
        result = await crawled(server.url())
    assert result.told(server.url(0, "/docs/robots.txt")) == "completed 200"
