"""The server's own log proves that every host was treated as it asked to be."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from gossamer.testing.loaded import LoadedServer, Metered
from gossamer.testing.web import (
    QUICK,
    Behaviour,
    Host,
    Page,
    Request,
    RetryAfter,
    Robots,
    Trouble,
    Web,
    WebServer,
    assert_no_disallowed,
    assert_polite,
    assert_retry_after,
    assert_robots_first,
    differences,
    gaps,
    make_web,
    of_host,
    peak_concurrency,
)
from tests.e2e.crawling import crawled, one_host, page, paths

DELAY = 0.05
FAST = 0
PATIENT = (1, 2, 3, 4)
SLOW = (5, 6, 7, 8)
BUSY = (9, 10)
UNSURE = (11, 12, 13)
DEAD = (14, 15, 16)


def mixed_web() -> Web:
    """20 hosts: one fast, some with a Crawl-delay, some slow, some that ask to come back later, some dead."""
    behaviours = {number: Behaviour(robots=Robots(crawl_delay=0.3)) for number in PATIENT}
    behaviours |= {number: Behaviour(latency=0.15) for number in SLOW}
    behaviours[9] = Behaviour(retry_after=RetryAfter(seconds=1))
    behaviours[10] = Behaviour(retry_after=RetryAfter(seconds=1, status=503, as_date=True))
    behaviours[11] = Behaviour(robots=Robots(status=503, times=2))
    behaviours[12] = Behaviour(robots=Robots(trouble=Trouble.RESET, times=1))
    behaviours[13] = Behaviour(robots=Robots(trouble=Trouble.TIMEOUT, times=1))
    behaviours |= {number: Behaviour(dead=True) for number in DEAD}
    return make_web(seed=7, hosts=20, pages_per_host=8, features=(), behaviours=behaviours)


@pytest.mark.parametrize("processes", [0, 2])
async def test_twenty_hosts_of_mixed_speed_are_each_treated_as_they_asked(processes: int) -> None:
    with WebServer(mixed_web()) as server:
        result = await crawled(
            *server.seeds, delay=DELAY, backoff_first=0.1, first_byte_timeout=0.5, processes=processes
        )
        log = server.requests()
    origins = server.web.origins
    assert not differences(server.web.expected(server.seeds), result.records)
    for number, origin in enumerate(origins):
        assert_polite(log, origin, delay=0.3 if number in PATIENT else DELAY)
    assert_robots_first(log)
    assert_retry_after(log)
    assert not [request for number in DEAD for request in of_host(log, origins[number])]
    assert_the_fast_one_did_not_wait(log, server.web)


def assert_the_fast_one_did_not_wait(log: list[Request], web: Web) -> None:
    done = of_host(log, web.origins[FAST])[-1].ended
    for number in (*PATIENT, *SLOW):
        requests = of_host(log, web.origins[number])
        assert requests[-1].ended > done
        left = [request for request in requests if request.started > done]
        assert len(left) * 3 > len(requests), f"host {number} was nearly done when the fast one was"


async def test_the_default_delay_is_kept_from_end_to_start() -> None:
    web = make_web(seed=8, hosts=2, pages_per_host=6, features=(), behaviours={1: Behaviour(latency=0.1)})
    with WebServer(web) as server:
        await crawled(*server.seeds, delay=0.2, max_pages=8)
        log = server.requests()
    for origin in server.web.origins:
        assert_polite(log, origin, delay=0.2)
    # Not one host after the other: both were asked from the beginning on.
    first, second = (of_host(log, origin) for origin in server.web.origins)
    assert first[0].started < second[1].started
    assert second[0].started < first[1].started


@pytest.mark.parametrize(
    ("crawl_delay", "delay", "longest", "meant"), [(0.3, 0.1, 60, 0.3), (0.1, 0.3, 60, 0.3), (30, 0.1, 0.3, 0.3)]
)
async def test_the_slower_of_delay_and_crawl_delay_counts_up_to_the_longest(
    crawl_delay: float, delay: float, longest: float, meant: float
) -> None:
    web = one_host(page("/", "/a", "/b"), page("/a"), page("/b"), robots=Robots(crawl_delay=crawl_delay))
    with WebServer(web) as server:
        await crawled(server.url(), delay=delay, max_delay=longest)
        log = server.requests()
    assert paths(log) == ["/", "/a", "/b"]
    assert_polite(log, server.web.origins[0], delay=meant)
    assert max(gaps(log, server.web.origins[0])) < 15, "the longest wait should have been cut"


@pytest.mark.parametrize("per_host", [1, 4])
async def test_without_a_delay_no_more_than_per_host_are_asked_at_once(per_host: int) -> None:
    web = make_web(seed=9, hosts=1, pages_per_host=24, features=(), behaviours={0: Behaviour(latency=0.05)})
    with WebServer(web) as server:
        await crawled(server.url(), per_host=per_host)
        log = server.requests()
    assert peak_concurrency(log, server.web.origins[0]) == per_host
    assert_robots_first(log)


async def test_concurrency_bounds_all_hosts_together() -> None:
    behaviours = {number: Behaviour(latency=0.05) for number in range(6)}
    with WebServer(make_web(seed=10, hosts=6, pages_per_host=4, features=(), behaviours=behaviours)) as server:
        result = await crawled(*server.seeds, concurrency=3)
        log = server.requests()
    assert not differences(server.web.expected(server.seeds), result.records)
    moments = sorted([(request.started, 1) for request in log] + [(request.ended, -1) for request in log])
    at_once = [sum(change for _, change in moments[: end + 1]) for end in range(len(moments))]
    assert max(at_once) == 3


async def test_an_adaptive_pace_begins_with_a_rest_and_grows_while_the_host_bears_it() -> None:
    names = [f"/p{number}" for number in range(40)]
    pages = {"/": page("/", *names)} | {name: page(name) for name in names}
    with WebServer(Web(hosts=(Host(pages=pages, latency=0.05),), origins=("http://host-0.test",))) as server:
        await crawled(server.url(), delay="auto", per_host=3)
        log = sorted(server.requests(), key=lambda request: request.started)
    # Each answer makes it a little bolder, the first one too.
    assert_polite(log[:2], server.web.origins[0], delay=0.075)
    assert 1 < peak_concurrency(log, server.web.origins[0]) <= 3


@pytest.mark.parametrize("delay", ["auto", 0])
async def test_a_host_that_refuses_above_a_rate_is_not_driven_into_a_second_storm(delay: float | str) -> None:
    with LoadedServer(Metered(rate=40, burst=10, base=0.005, retry_after=1), pages=150) as server:
        result = await crawled(server.url, delay=delay, scope="host")  # type: ignore[arg-type]
        log = server.requests()
    assert result.summary.completed == 150
    refused = [request.started for request in log if request.status == 429]
    assert refused, "the limit was never met"
    # The first volley was under way when the first refusal came.
    later = [moment for moment in refused if moment > refused[0] + 1.0]
    assert len(later) <= 3
    assert all(second - first > 1.0 for first, second in pairwise(later))


async def test_a_whole_host_waits_for_retry_after_also_across_a_restart(tmp_path: Path) -> None:
    busy = Behaviour(retry_after=RetryAfter(seconds=2))
    with WebServer(make_web(seed=11, hosts=1, pages_per_host=4, features=(), behaviours={0: busy})) as server:
        first = await crawled(server.url(), data=tmp_path, duration=0.5)
        second = await crawled(server.url(), data=tmp_path)
        log = server.requests()
    assert (first.summary.reason, first.summary.completed) == ("duration", 0)
    assert not differences(server.web.expected(server.seeds), [*first.records, *second.records])
    assert_retry_after(log)
    assert len([request for request in log if request.robots]) == 1


async def test_a_host_that_only_fails_is_given_up_and_every_page_says_so() -> None:
    broken = [Page(path=f"/{number}", status=500) for number in range(8)]
    web = one_host(page("/", *[one.path for one in broken]), *broken)
    with WebServer(web) as server:
        result = await crawled(server.url(), block_after=3, delay=0.01, backoff_first=0.01)
        log = server.requests()
    told = [result.told(server.url(0, one.path)) for one in broken]
    assert set(told) <= {"failed status", "failed host-blocked"}
    assert told.count("failed host-blocked") >= 6
    assert len(paths(log)) == 4, "one page, then three failures in a row"


async def test_pauses_grow_while_a_host_keeps_failing() -> None:
    web = one_host(Page(path="/", failures=3))
    with WebServer(web) as server:
        result = await crawled(server.url(), backoff_first=0.1)
        log = server.requests()
    assert result.told(server.url()) == "completed 200"
    assert all(gap >= least for gap, least in zip(gaps(log, server.web.origins[0])[1:], (0.1, 0.2, 0.4), strict=True))


async def test_disallowed_pages_are_never_asked_for() -> None:
    with WebServer(make_web(seed=12, hosts=2, pages_per_host=20, features=QUICK)) as server:
        await crawled(*server.seeds)
        log = server.requests()
    assert_no_disallowed(log, server.web)
    assert_robots_first(log)
