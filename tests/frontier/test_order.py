"""The order in which pages are handed out."""

from __future__ import annotations

from collections import Counter

from gossamer.frontier.machine import Frontier
from gossamer.frontier.policy import Rules, backoff, rank
from gossamer.model import (
    MAX_RANK,
    Candidate,
    Discovery,
    Lease,
    Outcome,
    Politeness,
    Reading,
    RequestOptions,
    Scope,
    ScopeMode,
    SeedFrom,
    Source,
    SourceSpec,
)


def source(number: int, delay: float = 0.0) -> Source:
    spec = SourceSpec(
        seeds=("http://a.example/",),
        scope=Scope(mode=ScopeMode.ANY),
        politeness=Politeness(delay=delay, per_host=1, ignore_robots=True),
        discovery=Discovery(seed_from=(SeedFrom.LINKS,)),
        request=RequestOptions(user_agent="test/1"),
    )
    return Source(id=number, spec=spec)


def frontier_of(*sources: Source, **rules: int) -> Frontier:
    frontier = Frontier(Rules(**rules), 1, 0.0, 0.0)
    for each in sources:
        frontier.open_source(each)
    return frontier


def admit(frontier: Frontier, candidates: list[Candidate]) -> None:
    for number, hosts in frontier.admit(0.0, candidates, 1).items():
        frontier.restore(0.0, number, hosts, [], [])


def leases(frontier: Frontier, count: int) -> list[Lease]:
    """So many leases, each settled as soon as it is there."""
    taken: list[Lease] = []
    while len(taken) < count:
        lease = frontier.lease(0.0)
        assert isinstance(lease, Lease)
        taken.append(lease)
        frontier.settle(0.0, Outcome(token=lease.token, status=200, reading=Reading()))
    return taken


def test_shallow_pages_go_before_deep_ones_and_short_paths_before_long_ones() -> None:
    frontier = frontier_of(source(1))
    pages = [("/x/y/z", 1), ("/x", 1), ("/", 2), ("/a/b/c/d", 0)]
    admit(frontier, [Candidate(source=1, url=f"http://a.example{path}", depth=depth) for path, depth in pages])
    order = [lease.url.removeprefix("http://a.example") for lease in leases(frontier, 4)]
    assert order == ["/a/b/c/d", "/x", "/x/y/z", "/"]


def test_what_a_sitemap_thinks_important_goes_first_within_its_depth() -> None:
    important, plain, trifling = (rank("http://a.example/x", 1, priority) for priority in (0.9, None, 0.1))
    assert important < plain < trifling < rank("http://a.example/", 2, 1.0) < MAX_RANK


def test_sources_take_turns_however_many_hosts_each_has() -> None:
    frontier = frontier_of(source(1), source(2))
    many = [Candidate(source=1, url=f"http://h{number}.example/") for number in range(50)]
    few = [Candidate(source=2, url=f"http://one.example/{number}") for number in range(20)]
    admit(frontier, many + few)
    assert Counter(lease.source for lease in leases(frontier, 30)) == {1: 15, 2: 15}


def test_hosts_take_turns_within_a_source() -> None:
    frontier = frontier_of(source(1))
    admit(
        frontier,
        [Candidate(source=1, url=f"http://{host}.example/{number}") for host in "abc" for number in range(10)],
    )
    assert Counter(lease.host for lease in leases(frontier, 15)) == {f"http://{host}.example": 5 for host in "abc"}


def test_a_slow_host_does_not_hold_a_fast_one_back() -> None:
    frontier = frontier_of(source(1, delay=100.0), source(2))
    admit(
        frontier,
        [Candidate(source=1, url=f"http://slow.example/{number}") for number in range(5)]
        + [Candidate(source=2, url=f"http://fast.example/{number}") for number in range(5)],
    )
    assert Counter(lease.host for lease in leases(frontier, 6)) == {"http://slow.example": 1, "http://fast.example": 5}


def test_backoff_doubles_from_two_seconds_to_an_hour() -> None:
    rules = Rules()
    assert [backoff(rules, failures) for failures in (1, 2, 3, 10)] == [2, 4, 8, 1024]
    assert backoff(rules, 12) == backoff(rules, 10_000) == 3600
