"""Many hosts at one address: together they ask it for no more than one host may, and each has its turn."""

from __future__ import annotations

from collections import Counter
from heapq import heappop, heappush
from math import inf

import msgspec
import pytest

from gossamer.frontier.machine import DRAINED, Drained, Frontier, WaitUntil
from gossamer.frontier.policy import Rules
from gossamer.model import (
    Found,
    HostRecord,
    Lease,
    Outcome,
    PendingPage,
    Politeness,
    RobotsRecord,
    ScopeMode,
    Settled,
    State,
    Workload,
)
from tests.frontier.makers import WALL, Play, source

PER_ADDRESS = 3
LATENCY = 0.5
PAGES = 10


class Town:
    """Hosts at a few addresses, a store in dictionaries, and a frontier that is driven to the end in virtual time."""

    def __init__(self, hosts: int, addresses: int, *, known: bool, politeness: Politeness, queue: int = 4) -> None:
        self.now = 0.0
        self.politeness = politeness
        self.rules = Rules(host_queue=queue, concurrency=500)
        self.places = {f"http://h{number}.example": f"10.0.0.{number % addresses}" for number in range(hosts)}
        self.records = {key: HostRecord(key=key, address=at) for key, at in self.places.items() if known}
        self.robots: dict[str, RobotsRecord] = {}
        self.pending: dict[int, PendingPage] = {}
        self.done: list[str] = []
        self.turns: Counter[str] = Counter()
        self.peaks: Counter[str] = Counter()
        self.located: Counter[str] = Counter()
        """Leases that are out to hosts known to be at an address."""
        self._returns: list[tuple[float, int, Lease, bool]] = []
        self._open()
        self._admit()

    def _open(self) -> None:
        self.frontier = Frontier(self.rules, 1, self.now, WALL + self.now)
        seeds = tuple(f"{key}/" for key in self.places)
        wanted = source(*seeds, politeness=self.politeness, scope=ScopeMode.ANY)
        self.run = self.frontier.open_source(wanted, Workload(queued=len(self.pending)))

    def _admit(self) -> None:
        urls = tuple(f"{key}/{number}" for number in range(PAGES) for key in self.places)
        found = Found(source=1, urls=urls, depth=1)
        for number, keys in self.frontier.admit(self.now, found.candidates(set(urls)), 1).items():
            self._restore(number, keys)
        self._commit()

    def restart(self) -> None:
        """The process is gone, with all that it had out; what the store knows goes on."""
        self._returns.clear()
        self.located.clear()
        self._open()

    def _restore(self, number: int, keys: list[str]) -> None:
        known = [(self.records[key], self.robots.get(key)) for key in keys if key in self.records]
        self.frontier.restore(self.now, number, keys, known, [])

    def _commit(self) -> None:
        batch = self.frontier.collect(self.now, WALL + self.now)
        for new in batch.new:
            self.pending[new.id] = PendingPage(
                id=new.id, source=1, url=new.url, host=new.host, depth=new.depth, rank=new.rank
            )
        self.records |= {record.key: record for record in batch.hosts}
        self.robots |= {record.host: record for record in batch.robots}
        for settled in batch.settled:
            self._settled(settled)

    def _settled(self, settled: Settled) -> None:
        page = self.pending[settled.page]
        if settled.state is State.PENDING:
            self.pending[settled.page] = msgspec.structs.replace(page, attempts=settled.attempts)
        else:
            self.done.append(page.url)
            del self.pending[settled.page]

    # -- to the end

    def drive(self, until: int | None = None, failing: frozenset[str] = frozenset()) -> None:
        """Until nothing is left, or so many pages are done. Hosts that fail answer 503 the first time."""
        for _ in range(100_000):
            if until is not None and len(self.done) >= until:
                return
            self._restock()
            answer = self._lease_all()
            if isinstance(answer, Drained):
                return
            self._pass_time(answer.time, failing)
        raise AssertionError("it never comes to an end")

    def _restock(self) -> None:
        for run in self.frontier.queues.parked():
            keys = sorted({page.host for page in self.pending.values()})
            self._restore(run.id, self.frontier.strange_hosts(run, keys))
            self.frontier.queues.open_lanes(run, keys)
            run.parked = False
        while wanted := self.frontier.queues.wanted():
            for want in wanted:
                self._refill(want.host, want.after)
            self._commit()

    def _refill(self, host: str, after: tuple[int, int]) -> None:
        limit = self.rules.host_queue
        waiting = sorted(
            (page.rank, page.id) for page in self.pending.values() if page.host == host and page.id not in self._out()
        )
        pages = [self.pending[number] for rank, number in waiting if (rank, number) > after][:limit]
        (want,) = [each for each in self.frontier.queues.wanted() if each.host == host]
        self.frontier.queues.refill(self.now, want, pages, len(pages) == limit)

    def _out(self) -> set[int]:
        return {lease.page for _, _, lease, _ in self._returns}

    def _lease_all(self) -> WaitUntil | Drained:
        while isinstance(answer := self.frontier.lease(self.now), Lease):
            self._hand_out(answer)
        self._commit()
        return answer

    def _hand_out(self, lease: Lease) -> None:
        record = self.records.get(lease.host)
        known = record is not None and record.address is not None
        self.turns[lease.host] += 1
        if known:
            self.located[self.places[lease.host]] += 1
            address = self.places[lease.host]
            self.peaks[address] = max(self.peaks[address], self.located[address])
        heappush(self._returns, (self.now + LATENCY, lease.token, lease, known))

    def _pass_time(self, until: float, failing: frozenset[str]) -> None:
        comes = self._returns[0][0] if self._returns else inf
        assert min(comes, until) < inf, f"stuck, with {len(self.pending)} pages left"
        self.now = max(self.now, min(comes, until))
        while self._returns and self._returns[0][0] <= self.now:
            self._settle(*heappop(self._returns)[2:], failing)
        self._commit()

    def _settle(self, lease: Lease, known: bool, failing: frozenset[str]) -> None:
        self.located[self.places[lease.host]] -= known
        status = 503 if lease.host in failing and self.turns[lease.host] <= 2 else 404
        outcome = Outcome(token=lease.token, status=status, address=self.places[lease.host], elapsed=LATENCY)
        self.frontier.settle(self.now, outcome)

    def all_done_once(self) -> bool:
        return not self.pending and Counter(self.done) == dict.fromkeys(self.done, 1) and self._count == len(self.done)

    @property
    def _count(self) -> int:
        return PAGES * len(self.places)


FREE = Politeness(delay=0.0, per_host=8, per_address=PER_ADDRESS, ignore_robots=True)
SLOW = Politeness(delay=1.0, per_address=PER_ADDRESS, ignore_robots=True)
ASKING = Politeness(delay=0.0, per_host=8, per_address=PER_ADDRESS)


@pytest.mark.parametrize("politeness", [FREE, SLOW, ASKING])
@pytest.mark.parametrize("known", [True, False])
def test_fifty_hosts_at_two_addresses_all_have_their_turn_and_never_too_many_at_once(
    politeness: Politeness, known: bool
) -> None:
    town = Town(50, 2, known=known, politeness=politeness)
    town.drive()
    assert town.all_done_once()
    assert max(town.peaks.values()) == PER_ADDRESS


def test_no_host_is_far_ahead_of_the_others_at_its_address() -> None:
    town = Town(50, 2, known=True, politeness=FREE)
    while town.pending:
        town.drive(until=len(town.done) + 1)
        turns = [town.turns[key] for key in town.places]
        # Whose turn it is may take all the room that there is, and then stands at the end of the line.
        assert max(turns) - min(turns) <= 2 * PER_ADDRESS


def test_the_address_is_used_as_far_as_it_may_be() -> None:
    town = Town(20, 1, known=True, politeness=FREE)
    town.drive()
    least = 20 * PAGES * LATENCY / PER_ADDRESS
    assert town.now <= 1.2 * least


@pytest.mark.parametrize("queue", [1, 2, 5])
def test_a_host_in_line_whose_pages_turn_out_to_be_none_holds_up_nobody(queue: int) -> None:
    town = Town(30, 1, known=True, politeness=FREE, queue=queue)
    town.drive()
    assert town.all_done_once()


def test_a_host_in_line_that_must_be_left_alone_for_a_while_holds_up_nobody() -> None:
    town = Town(6, 1, known=True, politeness=FREE)
    failing = frozenset(list(town.places)[:3])
    town.drive(until=3 * PAGES, failing=failing)
    least = 3 * PAGES * LATENCY / PER_ADDRESS
    assert town.now <= least + 10.0
    town.drive(failing=failing)
    assert town.all_done_once()


def test_where_a_host_lives_is_known_after_a_restart_before_anything_is_asked() -> None:
    town = Town(40, 2, known=False, politeness=FREE)
    town.drive(until=100)
    assert {record.address for record in town.records.values()} == {"10.0.0.0", "10.0.0.1"}
    town.peaks.clear()
    town.restart()
    town.drive()
    assert not town.pending
    assert max(town.peaks.values()) == PER_ADDRESS


# -- one by one


def at_one_address(*names: str, per_address: int = 1, number_of_pages: int = 1) -> Frontier:
    politeness = Politeness(delay=0.0, per_address=per_address, ignore_robots=True)
    frontier = Frontier(Rules(host_queue=4), 1, 0.0, WALL)
    keys = [f"http://{name}.example" for name in names]
    run = frontier.open_source(source(*(f"{key}/" for key in keys), politeness=politeness, scope=ScopeMode.ANY))
    urls = tuple(f"{key}/{number}" for key in keys for number in range(number_of_pages))
    frontier.admit(0.0, Found(source=1, urls=urls, depth=1).candidates(set(urls)), 1)
    known = [(HostRecord(key=key, address="10.0.0.1"), None) for key in keys]
    frontier.restore(0.0, run.id, keys, known, [])
    return frontier


def leased(frontier: Frontier, now: float = 0.0) -> Lease:
    lease = frontier.lease(now)
    assert isinstance(lease, Lease)
    return lease


def test_hosts_at_one_address_stand_in_line() -> None:
    frontier = at_one_address("a", "b", "c")
    order = []
    for _ in range(3):
        lease = leased(frontier)
        assert not isinstance(frontier.lease(0.0), Lease)
        order.append(lease.host)
        frontier.settle(0.0, Outcome(token=lease.token, status=404, address="10.0.0.1"))
    assert order == ["http://a.example", "http://b.example", "http://c.example"]
    assert frontier.lease(0.0) is DRAINED


def test_when_the_first_in_line_has_nothing_to_ask_for_it_is_the_next_one_s_turn() -> None:
    frontier = at_one_address("a", "b", "c")
    first = leased(frontier)
    assert not isinstance(frontier.lease(0.0), Lease)
    (run,) = frontier.runs()
    # The store may hold more of the host that is first in line, as far as anybody knows.
    waiting = run.lanes["http://b.example"]
    waiting.more = True
    waiting.keep([])
    frontier.settle(0.0, Outcome(token=first.token, status=404, address="10.0.0.1"))
    assert leased(frontier).host == "http://c.example"


def test_a_host_that_moved_counts_where_it_is_now() -> None:
    frontier = at_one_address("a", "b", number_of_pages=2)
    first = leased(frontier)
    frontier.settle(0.0, Outcome(token=first.token, status=404, address="10.0.0.2"))
    both = {leased(frontier).host, leased(frontier).host}
    assert both == {"http://a.example", "http://b.example"}


@pytest.mark.parametrize(("proxy", "learnt"), [(None, "10.0.0.9"), ("http://proxy.example:3128", None)])
def test_behind_a_proxy_nobody_s_address_is_learnt(proxy: str | None, learnt: str | None) -> None:
    wanted = source(politeness=FREE)
    request = msgspec.structs.replace(wanted.spec.request, proxy=proxy)
    play = Play(msgspec.structs.replace(wanted, spec=msgspec.structs.replace(wanted.spec, request=request)))
    play.admit("/a")
    play.frontier.settle(0.0, Outcome(token=play.lease().token, status=404, address="10.0.0.9"))
    (record,) = play.commit().hosts
    assert record.address == learnt
