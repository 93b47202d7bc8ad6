"""Where a crawl ends, and what it says of that; and what pages say of themselves."""

from __future__ import annotations

from pathlib import Path

import pytest

from gossamer.model import State
from gossamer.testing.web import (
    Behaviour,
    Feature,
    Page,
    WebServer,
    Where,
    differences,
    make_web,
)
from tests.e2e.crawling import crawled, one_host, page, paths


@pytest.mark.parametrize(("limit", "processes"), [(1, 0), (7, 0), (20, 2)])
async def test_exactly_as_many_pages_are_fetched_as_were_asked_for(limit: int, processes: int) -> None:
    features = (Feature.REDIRECTS, Feature.MISSING, Feature.DISALLOWED)
    with WebServer(make_web(seed=3, hosts=3, pages_per_host=30, features=features)) as server:
        result = await crawled(*server.seeds, max_pages=limit, processes=processes)
        log = server.requests()
    assert len(paths(log)) == limit
    assert result.summary.reason == "max-pages"
    assert len([record for record in result.records if record.http_status]) == limit
    assert result.summary.pending > 0


async def test_a_page_that_needs_several_tries_counts_once() -> None:
    web = one_host(page("/", "/flaky", "/b", "/c"), Page(path="/flaky", failures=2), page("/b"), page("/c"))
    with WebServer(web) as server:
        result = await crawled(server.url(), max_pages=3)
        asked = paths(server.requests())
    assert len(set(asked)) == 3
    assert len(asked) == 5
    assert (result.summary.completed, result.summary.pending) == (3, 1)


async def test_a_limit_beyond_the_last_page_changes_nothing() -> None:
    with WebServer(make_web(seed=4, hosts=1, pages_per_host=10, features=())) as server:
        exactly = await crawled(server.url(), max_pages=10)
        beyond = await crawled(server.url(), max_pages=100)
    assert beyond.summary.reason == "finished"
    assert (exactly.summary.completed, exactly.summary.pending) == (10, 0)
    assert exactly.summary.reason == "finished", "nothing was left out for the limit's sake"


async def test_a_raised_limit_goes_on_where_the_lower_one_ended(tmp_path: Path) -> None:
    with WebServer(make_web(seed=5, hosts=2, pages_per_host=15, features=())) as server:
        first = await crawled(*server.seeds, max_pages=6, data=tmp_path)
        second = await crawled(*server.seeds, max_pages=16, data=tmp_path)
        assert len(paths(server.requests())) == 16
        third = await crawled(*server.seeds, data=tmp_path)
        asked = paths(server.requests())
    reasons = [str(each.summary.reason) for each in (first, second, third)]
    assert reasons == ["max-pages", "max-pages", "finished"]
    records = [*first.records, *second.records, *third.records]
    assert not differences(server.web.expected(server.seeds), records)
    assert len(asked) == 30, "no page was fetched twice"


async def test_time_ends_a_crawl_and_it_can_go_on(tmp_path: Path) -> None:
    web = make_web(seed=6, hosts=1, pages_per_host=12, features=(), behaviours={0: Behaviour(latency=0.02)})
    with WebServer(web) as server:
        first = await crawled(server.url(), data=tmp_path, duration=0.6, delay=0.2)
        second = await crawled(server.url(), data=tmp_path)
        log = server.requests()
    assert first.summary.reason == "duration"
    assert first.summary.completed > 0
    assert first.summary.pending > 0
    assert second.summary.reason == "finished"
    assert not differences(server.web.expected(server.seeds), [*first.records, *second.records])
    assert len(paths(log)) == 12


@pytest.mark.parametrize("where", list(Where))
async def test_a_page_without_an_index_is_not_delivered_but_its_links_are_followed(where: Where) -> None:
    quiet = Page(path="/quiet", robots="noindex", robots_in=where, links=page("/quiet", "/behind").links)
    with WebServer(one_host(page("/", "/quiet"), quiet, page("/behind"))) as server:
        result = await crawled(server.url())
    hidden = result[server.url(0, "/quiet")]
    assert (hidden.state, hidden.reason, hidden.title, hidden.links, hidden.markdown) == (
        State.SKIPPED,
        "noindex",
        None,
        (),
        None,
    )
    assert result.told(server.url(0, "/behind")) == "completed 200"


async def test_links_that_must_not_be_followed_are_recorded_as_such() -> None:
    with WebServer(make_web(seed=7, hosts=1, pages_per_host=10, features=[Feature.NOFOLLOW])) as server:
        result = await crawled(server.url())
        asked = paths(server.requests())
    assert not differences(server.web.expected(server.seeds), result.records)
    assert result.told(server.url(0, "/nofollow/only")) == "skipped nofollow"
    assert result.told(server.url(0, "/nofollow/both-ways")) == "completed 200"
    assert "/nofollow/only" not in asked
