"""A frontier in virtual time, beside a plain model of what it may do.

The model knows nothing of heaps, lanes or turns: it keeps the store as a dictionary and, for every host, when the last
request ended and what the host asked for. Each step is checked against it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf

import msgspec

from gossamer.frontier.machine import Drained, Frontier, WaitUntil
from gossamer.frontier.policy import Rules
from gossamer.frontier.queues import Wanted
from gossamer.frontier.robots import parse_robots
from gossamer.frontier.turns import SourceRun
from gossamer.model import (
    Batch,
    Discovery,
    Error,
    Fault,
    Found,
    HostRecord,
    Lease,
    LeaseKind,
    Outcome,
    PatternRecord,
    PendingPage,
    Politeness,
    RequestOptions,
    RobotsRecord,
    RobotsVerdict,
    Scope,
    ScopeMode,
    SeedFrom,
    Source,
    SourceSpec,
    State,
    Workload,
)
from gossamer.url import path_of

HOSTS = tuple(f"http://h{number}.example" for number in range(5))
ROBOTS = b"User-agent: *\nDisallow: /private\nCrawl-delay: 3\n"
RULES = Rules(
    concurrency=6,
    robots_at_once=2,
    host_queue=4,
    queue_memory=12,
    hosts_in_memory=4,
    block_after=4,
    unreachable_after=3,
    lease_time=100.0,
    robots_ttl=5_000.0,
    throttled_attempts=4,
)
ADDRESSES = dict(zip(HOSTS, ("10.0.0.1", "10.0.0.1", "10.0.0.1", "10.0.0.2", "10.0.0.3"), strict=True))
PER_ADDRESS = 2
POLITENESS = (
    Politeness(delay=2.0, per_address=PER_ADDRESS),
    Politeness(delay=0.0, per_host=3, per_address=PER_ADDRESS),
)
LIMITS = (None, 12)


@dataclass
class ModelHost:
    in_flight: int = 0
    not_before: float = 0.0
    ended: float = -inf
    failures: int = 0
    failed_at: float = -inf
    answered: bool = False
    blocked_until: float = 0.0
    robots: RobotsVerdict | None = None
    robots_until: float = 0.0
    crawl_delay: float = 0.0
    address: str | None = None
    """Where it was found when it first answered."""
    floor: float = 0.0
    per_host: int = 99
    pace_delay: float = 0.0
    """The pace has tests of its own: here it is only seen to that it is kept."""
    pace_cap: int = 99

    @property
    def delay(self) -> float:
        return max(self.floor, self.crawl_delay, self.pace_delay)

    @property
    def cap(self) -> int:
        return 1 if self.delay else min(self.per_host, self.pace_cap)


@dataclass
class Row:
    page: PendingPage
    state: State


@dataclass
class Rehearsal:
    now: float = 1_000.0
    epoch: int = 1
    rows: dict[int, Row] = field(default_factory=dict)
    known: set[tuple[int, str]] = field(default_factory=set)
    records: dict[str, HostRecord] = field(default_factory=dict)
    robots: dict[str, RobotsRecord] = field(default_factory=dict)
    patterns: dict[tuple[int, str, str], PatternRecord] = field(default_factory=dict)
    granted: dict[int, int] = field(default_factory=lambda: {1: 0, 2: 0})
    hosts: dict[str, ModelHost] = field(default_factory=dict)
    present: dict[str, set[int]] = field(default_factory=dict)
    out: dict[int, Lease] = field(default_factory=dict)
    where: dict[int, str | None] = field(default_factory=dict)
    gone: list[int] = field(default_factory=list)
    frontier: Frontier = field(init=False)

    def __post_init__(self) -> None:
        self._open()

    def _open(self) -> None:
        self.frontier = Frontier(RULES, self.epoch, self.now, self.now)
        for source in self._sources():
            queued = sum(row.state is State.PENDING and row.page.source == source.id for row in self.rows.values())
            self.frontier.open_source(source, Workload(queued=queued))

    def _sources(self) -> list[Source]:
        return [
            Source(
                id=number,
                granted=self.granted[number],
                spec=SourceSpec(
                    seeds=tuple(f"{host}/" for host in HOSTS),
                    scope=Scope(mode=ScopeMode.HOST),
                    politeness=POLITENESS[number - 1],
                    discovery=Discovery(seed_from=(SeedFrom.LINKS,)),
                    request=RequestOptions(user_agent="rehearsal/1"),
                    max_pages=LIMITS[number - 1],
                ),
            )
            for number in (1, 2)
        ]

    # -- what a dispatcher does

    def admit(self, found: Found) -> None:
        new = [url for url in found.urls if (found.source, url) not in self.known]
        self.known |= {(found.source, url) for url in new}
        candidates = found.candidates(set(new))
        missing = self.frontier.admit(self.now, candidates, len(self.rows) + 1)
        for source, keys in missing.items():
            self._restore(source, keys)
        self._commit()

    def lease(self) -> Lease | WaitUntil | Drained:
        self._restock()
        self._note_presence()
        answer = self.frontier.lease(self.now)
        if isinstance(answer, Lease):
            self._check_lease(answer)
            self.out[answer.token] = answer
            self.where[answer.token] = self.hosts[answer.host].address
            self.hosts[answer.host].in_flight += 1
        else:
            self._check_pause(answer)
        self._commit()
        return answer

    def settle(self, token: int, outcome: Outcome) -> None:
        lease = self.out.pop(token)
        found = self.frontier.settle(self.now, outcome)
        assert found is not None, "a lease that is out was refused"
        self._model_settle(lease, outcome)
        self.gone.append(token)
        self._commit()
        for each in found:
            self.admit(each)

    def settle_again(self, token: int) -> None:
        assert self.frontier.settle(self.now, Outcome(token=token, status=200)) is None, "a stale token was taken"
        assert not self.frontier.collect(self.now, self.now).settled, "a stale token left a fact"

    def expire(self) -> None:
        late = [token for token, lease in self.out.items() if lease.deadline <= self.now]
        assert self.frontier.expire(self.now) == len(late), "the wrong leases expired"
        for token in late:
            self._model_settle(self.out.pop(token), Outcome(token=token, error=RETURNED))
            self.gone.append(token)
        self._commit()

    def crash(self) -> None:
        """The process is gone; another opens the store."""
        self._commit()
        self.gone += self.out
        for lease in self.out.values():
            self._model_settle(lease, Outcome(token=lease.token, error=RETURNED))
        self.out.clear()
        self.present.clear()
        for key, record in self.records.items():
            if record.leased:  # Nobody knows when that request ended: before the new owner began.
                self.hosts[key].ended = self.now
        self.epoch += 1
        for row in self.rows.values():
            if row.state is State.PROCESSING:
                row.state = State.PENDING
        self._open()

    def _restore(self, source: int, keys: list[str]) -> None:
        known = [(self.records[key], self.robots.get(key)) for key in keys if key in self.records]
        patterns = [each for each in self.patterns.values() if each.source == source and each.host in keys]
        self.frontier.restore(self.now, source, keys, known, patterns)

    def _restock(self) -> None:
        self.frontier.evict_idle()
        for _ in range(200):
            opened = sum(self._unpark(run) for run in self.frontier.queues.parked())
            wanted = self.frontier.queues.wanted()
            for want in wanted:
                self._refill(want)
            self._commit()
            if not opened and not wanted:
                return
        raise AssertionError("refills never come to an end")

    def _unpark(self, run: SourceRun) -> int:
        keys = sorted({row.page.host for row in self._pending(run.id) if row.page.attempts >= run.tried})
        self._restore(run.id, self.frontier.strange_hosts(run, keys))
        known = [key for key in keys if self.frontier.knows(key)]
        opened = self.frontier.queues.open_lanes(run, known)
        if not opened and len(known) == len(keys):
            run.parked = False
        return opened

    def _refill(self, want: Wanted) -> None:
        pages = [row.page for row in self._pending(want.source) if row.page.host == want.host]
        pages = sorted((page for page in pages if place(page) > want.after and page.attempts >= want.tried), key=place)
        limit = RULES.host_queue
        self.frontier.queues.refill(self.now, want, pages[:limit], len(pages) >= limit)

    def _pending(self, source: int) -> list[Row]:
        return [row for row in self.rows.values() if row.state is State.PENDING and row.page.source == source]

    def _commit(self) -> None:
        self._apply(self.frontier.collect(self.now, self.now))
        self._note_presence()
        self._check_conservation()

    def _apply(self, batch: Batch) -> None:
        for new in batch.new:
            assert new.id not in self.rows, "a page id was used twice"
            page = PendingPage(
                id=new.id, source=new.source, url=new.url, host=new.host, depth=new.depth, rank=new.rank, hops=new.hops
            )
            self.rows[new.id] = Row(page, new.state)
        # A page can be settled and leased again within one commit: settle first, as the store does.
        for settled in batch.settled:
            row = self.rows[settled.page]
            assert not row.state.final, "a final page was settled again"
            row.state = settled.state
            row.page = with_attempts(row.page, settled.attempts)
        for leased in batch.leased:
            row = self.rows[leased.page]
            assert row.state is State.PENDING, f"a {row.state.value} page was leased"
            row.state = State.PROCESSING
            row.page = with_attempts(row.page, leased.attempts)
        self.records |= {record.key: record for record in batch.hosts}
        self.robots |= {record.host: record for record in batch.robots}
        self.patterns |= {(each.source, each.host, each.pattern): each for each in batch.patterns}
        self.granted |= {update.id: update.granted for update in batch.sources}

    # -- what must hold

    def _check_lease(self, lease: Lease) -> None:
        host = self.hosts.setdefault(lease.host, ModelHost())
        self._obey(lease.host, host)
        assert len(self.out) < RULES.concurrency, "more leases than the concurrency allows"
        assert self.now >= host.not_before, f"leased {host.not_before - self.now:.3f} s too soon"
        assert host.in_flight < host.cap, "a busy host was handed out"
        assert self._address_has_room(host), "a busy address was handed out"
        if lease.kind is LeaseKind.ROBOTS:
            assert host.in_flight == 0, "robots were asked for while the host was busy"
            assert sum(out.kind is LeaseKind.ROBOTS for out in self.out.values()) < RULES.robots_at_once
            return
        assert host.robots is not None, "a page before the robots verdict"
        assert self.now < host.robots_until, "a page on an expired robots verdict"
        assert not self._disallowed(host, lease.url), "a disallowed page was leased"
        self._check_limit(lease.source)

    def _check_limit(self, source: int) -> None:
        limit = LIMITS[source - 1]
        begun = sum(row.page.source == source and row.page.attempts > 0 for row in self.rows.values())
        assert limit is None or begun <= limit, "more pages than the source may have"

    def _check_pause(self, answer: WaitUntil | Drained) -> None:
        left = [row.page for source in (1, 2) for row in self._pending(source) if not self._held(row.page)]
        if isinstance(answer, Drained):
            assert not self.out, "drained while leases are out"
            assert not left, f"drained while {left[0].url} is pending"
            return
        assert answer.time >= self.now
        if len(self.out) < RULES.concurrency:
            for page in left:
                assert not self._fetchable(page), f"told to wait while {page.url} could be fetched"
        assert self.out or left, "told to wait although everything is done"

    def _address_has_room(self, host: ModelHost) -> bool:
        there = sum(token in self._at(host.address) for token in self.out)
        return host.address is None or there < PER_ADDRESS

    def _at(self, address: str | None) -> set[int]:
        """The leases that were handed out to hosts known to be at an address."""
        return {token for token, where in self.where.items() if where == address}

    def _held(self, page: PendingPage) -> bool:
        limit = LIMITS[page.source - 1]
        return limit is not None and self.granted[page.source] >= limit and page.attempts == 0

    def _fetchable(self, page: PendingPage) -> bool:
        host = self.hosts.setdefault(page.host, ModelHost())
        self._obey(page.host, host)
        if not self.frontier.knows(page.host) or self.now < host.not_before or not self._address_has_room(host):
            return False
        if host.robots is None or self.now >= host.robots_until:
            asked = sum(out.kind is LeaseKind.ROBOTS for out in self.out.values())
            return host.in_flight == 0 and asked < RULES.robots_at_once
        return host.in_flight < host.cap

    def _note_presence(self) -> None:
        """Sources with pages queued on a host: it owes each of them its politeness until the process ends."""
        for run in self.frontier.runs():
            for key, lane in run.lanes.items():
                if lane:
                    self.present.setdefault(key, set()).add(run.id)

    def _obey(self, key: str, host: ModelHost) -> None:
        wishes = [POLITENESS[source - 1] for source in self.present.get(key, ())]
        host.floor = max([0.0, *(wish.delay or 0.0 for wish in wishes)])
        host.per_host = min([99, *(wish.per_host for wish in wishes)])
        known = self.frontier._hosts.get(key)
        pace = known.pace if known else None
        host.pace_delay, host.pace_cap = (pace.delay, pace.cap) if pace else (0.0, 99)
        host.not_before = max(host.not_before, host.ended + host.delay)

    def _disallowed(self, host: ModelHost, url: str) -> bool:
        return host.robots is RobotsVerdict.RULES and not parse_robots(ROBOTS).allowed("rehearsal", path_of(url))

    def _check_conservation(self) -> None:
        for run in self.frontier.runs():
            states = [row.state for row in self.rows.values() if row.page.source == run.id]
            assert run.queued == states.count(State.PENDING), "the frontier lost count of what is queued"
            assert run.leased == states.count(State.PROCESSING), "the frontier lost count of what is out"
        pages_out = sum(lease.kind is LeaseKind.PAGE for lease in self.out.values())
        processing = sum(row.state is State.PROCESSING for row in self.rows.values())
        assert pages_out == processing, "a lease was lost"

    def _model_settle(self, lease: Lease, outcome: Outcome) -> None:
        host = self.hosts[lease.host]
        self._obey(lease.host, host)
        host.in_flight -= 1
        host.ended = self.now
        if outcome.status is not None:
            host.answered = True
            host.address = outcome.address
        failed = outcome.status in (429, 500, 503) or (outcome.error and outcome.error.fault is Fault.TIMEOUT)
        if lease.kind is LeaseKind.ROBOTS and not failed and outcome.error is None:
            host.robots = RobotsVerdict.RULES if outcome.status == 200 else RobotsVerdict.ALLOW_ALL
            host.robots_until = self.now + RULES.robots_ttl
            host.crawl_delay = 3.0 if host.robots is RobotsVerdict.RULES else 0.0
        wait = host.delay
        if failed:
            if lease.deadline - RULES.lease_time >= host.failed_at:
                host.failures += 1
                host.failed_at = self.now
            wait = max(wait, 2.0**host.failures, outcome.retry_after or 0.0)
        elif outcome.error is None:
            host.failures = 0
        host.not_before = max(host.not_before, self.now + wait)


def place(page: PendingPage) -> tuple[int, int]:
    return page.rank, page.id


def with_attempts(page: PendingPage, attempts: int) -> PendingPage:
    return msgspec.structs.replace(page, attempts=attempts)


RETURNED = Error(fault=Fault.RETURNED, text="the worker is gone")
TIMEOUT = Error(fault=Fault.TIMEOUT, text="no answer")
