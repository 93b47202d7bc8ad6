"""Many hosts on one server: the server's own log shows that together they asked for no more than it may bear."""

from __future__ import annotations

from pathlib import Path

import pytest

from gossamer.adapters.store_sqlite import SqliteStore
from gossamer.testing.web import Host, Link, Page, Request, Web, WebServer, differences
from tests.e2e.crawling import crawled

HOSTS = 6
PAGES = 8
LATENCY = 0.04


def crowded() -> Web:
    """Hosts that are one server: each has a port of its own at one address."""
    hosts = tuple(Host(pages=_pages(number), latency=LATENCY) for number in range(HOSTS))
    return Web(hosts=hosts, origins=tuple(f"http://host-{number}.test" for number in range(HOSTS)))


def _pages(host: int) -> dict[str, Page]:
    names = [f"/p{number}x" for number in range(PAGES)]
    front = Page(path="/", links=tuple(Link(host, name) for name in names))
    return {"/": front, **{name: Page(path=name) for name in names}}


def peak(log: list[Request]) -> int:
    """The most requests at once, at all hosts together."""
    moments = sorted([(each.started, 1) for each in log] + [(each.ended, -1) for each in log])
    now = most = 0
    for _, change in moments:
        now += change
        most = max(most, now)
    return most


def after_the_first(log: list[Request]) -> list[Request]:
    """Where a host lives is learnt from its first answer: what began before the last of these does not count."""
    firsts = {request.host: request.ended for request in reversed(log)}
    learnt = max(firsts.values())
    return [request for request in log if request.started > learnt]


@pytest.mark.parametrize("per_address", [1, 3])
async def test_hosts_at_one_address_together_keep_to_what_one_may_ask(per_address: int) -> None:
    with WebServer(crowded(), one_address=True) as server:
        result = await crawled(*server.seeds, scope="host", per_host=4, per_address=per_address)
        log = server.requests()
        assert not differences(server.web.expected(server.seeds, scope="host"), result.records)
    assert len(log) == HOSTS * (PAGES + 2)
    assert peak(after_the_first(log)) == per_address


async def test_without_a_narrow_limit_the_same_hosts_are_asked_side_by_side() -> None:
    with WebServer(crowded(), one_address=True) as server:
        await crawled(*server.seeds, scope="host", per_host=4, per_address=32)
        log = server.requests()
    assert peak(after_the_first(log)) > 3


async def test_hosts_at_addresses_of_their_own_do_not_wait_for_each_other() -> None:
    with WebServer(crowded()) as server:
        await crawled(*server.seeds, scope="host", per_host=4, per_address=1)
        log = server.requests()
    assert peak(after_the_first(log)) > 3


async def test_where_hosts_live_is_remembered_from_one_run_to_the_next(tmp_path: Path) -> None:
    with WebServer(crowded(), one_address=True) as server:
        first = await crawled(
            *server.seeds, data=tmp_path, scope="host", per_host=4, per_address=2, max_pages=2 * HOSTS
        )
        assert first.summary.reason == "max-pages"
        before = len(server.requests())
        store = await SqliteStore.open(tmp_path, read_only=True)
        records = [record for record, _ in await store.hosts(server.web.origins)]
        await store.close()
        assert {record.address for record in records} == {"127.0.1.1"}
        await crawled(*server.seeds, data=tmp_path, scope="host", per_host=4, per_address=2)
        log = server.requests()[before:]
    assert len(log) == HOSTS * (PAGES + 1) - 2 * HOSTS
    assert peak(log) == 2, "from the very first request on"
