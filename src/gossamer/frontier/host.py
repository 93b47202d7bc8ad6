"""A host as the frontier sees it: its clock, its failures, its robots, and its queues.

A lane is the queue of one source on one host. Only its head is in memory: every pending page of the lane whose
(rank, id) is at most `tail` is here, and `more` says that the store may hold others beyond it.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque
from math import inf

import msgspec

from gossamer.frontier.pace import Pace
from gossamer.frontier.parameters import Parameters
from gossamer.frontier.robots import RobotsRules
from gossamer.model import Learnt, PaceRecord, PendingPage, Politeness, RobotsVerdict

_START = (-1, -1)
_LATENCY_WEIGHT = 0.3

Place = tuple[int, int]


class Lane:
    __slots__ = ("_head", "host", "more", "queued", "retries", "source", "tail")

    def __init__(self, host: Host, source: int) -> None:
        self.host = host
        self.source = source
        self._head: list[tuple[Place, PendingPage]] = []
        self.retries: deque[PendingPage] = deque()
        self.more = False
        self.tail: Place = _START
        self.queued = False
        """In the ready heap of its source."""

    def __len__(self) -> int:
        return len(self._head) + len(self.retries)

    def __bool__(self) -> bool:
        return bool(self._head or self.retries)

    @property
    def spent(self) -> bool:
        """Nothing here and nothing more in the store."""
        return not self and not self.more

    def add(self, page: PendingPage, limit: int) -> int:
        """Queue a page that the store holds too. Returns by how much the lane in memory grew."""
        place = (page.rank, page.id)
        if self.more and place > self.tail:
            return 0
        if len(self._head) < limit:
            insort(self._head, (place, page))
            return 1
        self.more = True
        insort(self._head, (place, page))
        self._head.pop()
        self.tail = self._head[-1][0] if self._head else _START
        return 0

    def refill(self, pages: list[PendingPage], last: Place | None, more: bool) -> None:
        """Take what the store had beyond `tail`, up to `last`."""
        self._head.extend(((page.rank, page.id), page) for page in pages)
        if last is not None:
            self.tail = last
        self.more = more

    def pop(self, *, guides: bool = True) -> PendingPage | None:
        """The next page; None where only guides are left and none is wanted."""
        for number, page in enumerate(self.retries):
            if guides or not page.kind.guide:
                del self.retries[number]
                return page
        for number, (_, page) in enumerate(self._head):
            if guides or not page.kind.guide:
                del self._head[number]
                return page
        return None

    def advance(self, page: PendingPage, rank: int) -> int:
        """Move a page forward. Returns by how much the lane in memory grew."""
        place, sooner = (page.rank, page.id), (rank, page.id)
        at = bisect_left(self._head, place, key=lambda item: item[0])
        here = at < len(self._head) and self._head[at][0] == place
        if here:
            del self._head[at]
        elif not self.more or sooner > self.tail:
            return 0
        insort(self._head, (sooner, msgspec.structs.replace(page, rank=rank)), key=lambda item: item[0])
        return 0 if here else 1

    def pages(self) -> list[PendingPage]:
        return [*self.retries, *(page for _, page in self._head)]

    def keep(self, pages: list[PendingPage]) -> int:
        """Forget all pages in memory but these. Returns by how much the lane shrank."""
        before, kept = len(self), {page.id for page in pages}
        self.retries = deque(page for page in self.retries if page.id in kept)
        self._head = [item for item in self._head if item[1].id in kept]
        return before - len(self)

    def drop_untried(self) -> int:
        """Leave to the store what was never handed out. Returns by how much the lane shrank."""
        return self.keep([page for page in self.pages() if page.attempts])


class Address:
    """An IP address that some hosts share."""

    __slots__ = ("_crowded", "in_flight", "waiting")

    def __init__(self, crowded: dict[Address, None]) -> None:
        self._crowded = crowded
        """All addresses at which hosts stand in line."""
        self.in_flight = 0
        self.waiting: dict[str, Host] = {}
        """Hosts that were ready while the address had no room."""

    def stand_in_line(self, host: Host) -> None:
        self.waiting[host.key] = host
        self._crowded[self] = None

    def next_in_line(self) -> Host | None:
        """Who may ask next, where there is room: it leaves the line."""
        while self.waiting:
            host = next(iter(self.waiting.values()))
            if host.lanes and not host.fits(self):
                return None
            del self.waiting[host.key]
            if host.lanes:
                return host
        self._crowded.pop(self, None)
        return None


class Host:
    __slots__ = (
        "_floor",
        "_per_address",
        "_per_host",
        "address",
        "address_name",
        "answered",
        "blocked",
        "ended_at",
        "failed_at",
        "failures",
        "in_flight",
        "key",
        "lanes",
        "last_error",
        "latency",
        "learnt",
        "max_delay",
        "pace",
        "pace_record",
        "parameters",
        "probing",
        "ready_at",
        "robots",
        "wait",
        "waiting_for",
    )

    def __init__(self, key: str) -> None:
        self.key = key
        self.ready_at = 0.0
        self.ended_at = -inf
        """When its last request ended, as far as anybody knows."""
        self.wait = 0.0
        self.waiting_for: str | None = None
        self.in_flight = 0
        self.failures = 0
        self.failed_at = -inf
        """When the last failure was counted."""
        self.answered = False
        self.blocked = False
        self.last_error: str | None = None
        self.latency: float | None = None
        self.robots = RobotsState(key)
        self.lanes: dict[int, Lane] = {}
        self.address: Address | None = None
        self.address_name: str | None = None
        self.pace: Pace | None = None
        self.pace_record: PaceRecord | None = None
        """What was known of its pace before this process, or before it was last evicted."""
        self.learnt = Learnt()
        self.parameters: Parameters | None = None
        self.probing = False
        """It is being found out how it says `not found`."""
        self._floor = 0.0
        self._per_host: int | None = None
        self._per_address: int | None = None
        self.max_delay = 0.0

    @property
    def idle(self) -> bool:
        return not self.lanes and not self.in_flight

    def obey(self, politeness: Politeness) -> bool:
        """Take a source's wishes into account; several sources on one host get the most polite of theirs.

        A wish counts from the last request on, whoever that was for. True if the delay is another than before.
        """
        before = self.delay
        self.max_delay = max(self.max_delay, politeness.max_delay)
        self._per_host = min(self._per_host or politeness.per_host, politeness.per_host)
        self._per_address = min(self._per_address or politeness.per_address, politeness.per_address)
        if politeness.delay:
            self._floor = max(self._floor, politeness.delay)
        else:
            self._adapt(adaptive=politeness.delay is None)
        self.pause()
        return self.delay != before

    def _adapt(self, *, adaptive: bool) -> None:
        if self.pace is None:
            self.pace = Pace(self._per_host or 1, self.max_delay, adaptive=adaptive, record=self.pace_record)
        elif adaptive and not self.pace.adaptive:
            # What was asked for says nothing about what the host bears.
            self.pace = Pace(self._per_host or 1, self.max_delay, adaptive=True, record=self.pace.record)
        self.pace.most = self._per_host or 1
        self.pace.max_delay = self.max_delay

    @property
    def delay(self) -> float:
        own = self.pace.delay if self.pace else 0.0
        return max(self._floor, own, min(self.robots.crawl_delay, self.max_delay))

    @property
    def cap(self) -> int:
        return 1 if self.pace is None or self.delay > 0 else self.pace.cap

    def has_room(self) -> bool:
        """Whether one more request may be under way; if only its address is busy, it stands in line there."""
        if self.in_flight >= self.cap:
            return False
        if self.address is None or self.fits(self.address):
            return True
        self.address.stand_in_line(self)
        return False

    def fits(self, address: Address) -> bool:
        return address.in_flight < (self._per_address or inf)

    def observe(self, seconds: float) -> None:
        self.latency = seconds if self.latency is None else self.latency + _LATENCY_WEIGHT * (seconds - self.latency)

    def rest(self, now: float, seconds: float, why: str) -> None:
        """Leave the host alone for a while. A shorter wait never replaces a longer one."""
        if now + seconds > self.ready_at:
            self.ready_at = now + seconds
            self.wait = seconds
            self.waiting_for = why

    def pause(self) -> None:
        """The ordinary wait after a request."""
        crawl_delay = min(self.robots.crawl_delay, self.max_delay)
        why = "Crawl-delay" if crawl_delay and crawl_delay >= self.delay else "delay"
        self.rest(self.ended_at, self.delay, why)

    def spelling(self, url: str) -> str:
        """The URL without what was learnt not to matter on this host."""
        return url if self.parameters is None else self.parameters.spelling(url)


class RobotsState:
    """What is known of a host's robots file, and how far the fetch of it has come."""

    __slots__ = ("crawl_delay", "expires_at", "fetching", "hops", "queued", "rules", "url", "verdict")

    def __init__(self, host: str) -> None:
        self.url = f"{host}/robots.txt"
        self.hops = 0
        self.fetching = False
        self.queued = False
        """In the robots heap."""
        self.verdict: RobotsVerdict | None = None
        self.rules: RobotsRules | None = None
        self.crawl_delay = 0.0
        self.expires_at = 0.0

    def known(self, now: float) -> bool:
        return self.verdict in (RobotsVerdict.RULES, RobotsVerdict.ALLOW_ALL) and now < self.expires_at

    def learn(self, verdict: RobotsVerdict, rules: RobotsRules | None, token: str, expires_at: float) -> None:
        self.verdict = verdict
        self.rules = rules
        self.crawl_delay = (rules.crawl_delay(token) or 0.0) if rules else 0.0
        self.expires_at = expires_at

    def allows(self, token: str, path: str) -> bool:
        return self.rules is None or self.rules.allowed(token, path)
