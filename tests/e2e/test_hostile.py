"""Servers that misbehave cost their own page, never the crawl."""

from __future__ import annotations

from contextlib import AsyncExitStack

import pytest

from gossamer.config.options import Options
from gossamer.model import State
from gossamer.testing.hostile import PAGES, TROUBLE, HostileServer
from gossamer.testing.web import QUICK, Feature, WebServer, differences, make_web
from tests.e2e.crawling import Result, counts_add_up, crawled

ENDINGS = {
    # Pages that are none.
    "tarpit": "failed timeout",
    "slow-headers": "failed timeout",
    "slow-first-byte": "failed timeout",
    "silence": "failed timeout",
    "endless-body": "failed too-large",
    "endless-headers": "failed too-large",
    "huge-headers": "failed too-large",
    "bad-chunking": "failed protocol",
    "early-close": "failed reset",
    "lying-length": "failed reset",
    "cut-chunks": "failed reset",
    "reset": "failed reset",
    "not-http": "failed protocol",
    "gzip-bomb": "failed too-large",
    "br-bomb": "failed too-large",
    "zstd-bomb": "failed too-large",
    # Pages of a kind.
    "ok": "completed 200",
    "gzip": "completed 200",
    "wrong-charset": "completed 200",
    "nuls": "completed 200",
    "nested": "completed 200",
    "many-links": "completed 200",
    "long-url": "completed 200",
    "set-cookie": "completed 200",
    "broken-gzip": "failed encoding",
    "cut-gzip": "failed encoding",
    "unknown-encoding": "failed encoding",
    "redirect-loop": "failed redirect",
    "redirect-chain": "skipped redirect",
    "redirect-private": "skipped redirect",
    "redirect-scheme": "failed protocol",
}
HEAVY = {"nested", "many-links"}
"""They keep a processor busy for longer than a hurried deadline, so each has a crawl of its own."""
QUIET = QUICK - {Feature.EXTERNAL}
PATIENT: Options = {
    "processes": 1,
    "max_attempts": 1,
    "connect_timeout": 2.0,
    "first_byte_timeout": 2.5,
    "total_timeout": 5.0,
    "max_body": "6 MiB",
}


def test_every_trouble_of_the_hostile_server_is_crawled() -> None:
    assert ENDINGS.keys() == {*TROUBLE, *PAGES}


async def crawl_beside(web: WebServer, *troubles: str) -> tuple[Result, dict[str, str]]:
    """Each trouble on a host of its own, and a quiet web beside them: all that came of it, and the troubles' URLs."""
    async with AsyncExitStack() as stack:
        servers = {name: await stack.enter_async_context(HostileServer(pause=4.0)) for name in troubles}
        urls = {name: server.url(f"/{name}") for name, server in servers.items()}
        return await crawled(*web.seeds, *urls.values(), **PATIENT), urls


@pytest.mark.parametrize(
    "troubles", [ENDINGS.keys() - HEAVY, {"nested"}, {"many-links"}], ids=["all", "nested", "many-links"]
)
async def test_every_trouble_is_a_page_with_an_ending_and_a_reason(troubles: set[str]) -> None:
    with WebServer(make_web(seed=1, hosts=2, pages_per_host=20, features=QUIET)) as web:
        result, urls = await crawl_beside(web, *sorted(troubles))
    assert {name: result.told(url) for name, url in urls.items()} == {name: ENDINGS[name] for name in troubles}
    for name, url in urls.items():
        error = result[url].error or ""
        assert ENDINGS[name].startswith("failed") == bool(error), f"{name}: {error}"
        assert not error or len(error.partition(": ")[2]) > 15, f"{name}: {error} does not say enough"
    assert counts_add_up(result)
    assert (result.summary.reason, result.summary.pending) == ("finished", 0)
    quiet = [record for record in result.records if record.url.startswith(web.web.origins)]
    assert not differences(web.web.expected(web.seeds), quiet)


async def test_a_quiet_host_is_done_while_hostile_ones_still_stall() -> None:
    with WebServer(make_web(seed=2, hosts=1, pages_per_host=20, features=QUIET)) as web:
        result, urls = await crawl_beside(web, "tarpit", "silence", "slow-headers", "endless-headers")
    quiet = [record for record in result.records if record.url.startswith(web.url())]
    assert not differences(web.web.expected(web.seeds), quiet)
    done = max(record.fetched_at or "" for record in quiet)
    assert done < min(result[urls[name]].fetched_at or "" for name in ("tarpit", "silence", "slow-headers"))


async def test_links_without_end_are_recorded_and_not_all_fetched() -> None:
    async with HostileServer() as server:
        result = await crawled(server.url("/many-links"), scope="host", max_pages=5, per_host=4)
        asked = [request.target for request in server.requests if request.target != "/robots.txt"]
    assert len(asked) == 5
    assert (result.summary.reason, result.summary.pending) == ("max-pages", 100_002 - 5)


async def test_a_link_that_is_too_long_is_no_page_or_skipped_with_its_reason() -> None:
    async with HostileServer() as server:
        result = await crawled(server.url("/long-url"), scope="host")
        assert [request.target for request in server.requests] == ["/robots.txt", "/long-url"]
    assert [record.reason for record in result.records if record.state is State.SKIPPED] in ([], ["length"])


@pytest.mark.parametrize("trouble", ["reset", "early-close", "silence"])
async def test_trouble_that_could_pass_is_tried_again_as_often_as_was_asked(trouble: str) -> None:
    async with HostileServer() as server:
        result = await crawled(server.url(f"/{trouble}"), max_attempts=3, first_byte_timeout=0.2)
        tried = [request.target for request in server.requests].count(f"/{trouble}")
    assert tried == 3
    assert result.records[0].state is State.FAILED


async def test_trouble_of_the_page_itself_is_not_tried_again() -> None:
    async with HostileServer() as server:
        result = await crawled(server.url("/bad-chunking"), max_attempts=3)
        tried = [request.target for request in server.requests].count("/bad-chunking")
    assert tried == 1
    assert result.told(server.url("/bad-chunking")) == "failed protocol"
