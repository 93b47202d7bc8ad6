"""Whose turn it is: sources take turns, and within a source the host that has been ready longest goes first.

No lane stands twice in the heap of its source. A source is either in `_turns` (its first lane may be ready) or asleep
until the time its first lane will be. Nothing here loops over hosts: what is looked at in vain moves on.
"""

from __future__ import annotations

from collections import deque
from heapq import heappop, heappush
from itertools import count
from math import inf

import msgspec

from gossamer.frontier.discovery import Discovery
from gossamer.frontier.host import Host, Lane
from gossamer.frontier.patterns import Patterns
from gossamer.frontier.scope import ScopeJudge
from gossamer.frontier.scoring import Scorer
from gossamer.frontier.traps import TrapJudge
from gossamer.model import Candidate, LeaseKind, PendingPage, Source, Why, Workload, product_token
from gossamer.url import host_of


class SourceRun:
    """A source that is being crawled."""

    def __init__(self, source: Source, workload: Workload) -> None:
        self.source = source
        self.id = source.id
        self.token = product_token(source.spec.request.user_agent)
        """Its product token, as robots files know it."""
        self.judge = ScopeJudge(source.spec.scope, source.spec.seeds)
        self.traps = TrapJudge(source.spec.traps)
        self.discovery = Discovery(source)
        self.patterns: dict[str, Patterns] = {}
        """Of the hosts in memory."""
        self.counted: dict[str, Patterns] = {}
        """Those that changed since the last commit."""
        self.scorer: Scorer | None = None
        self.granted = source.granted
        self.queued = workload.queued
        """Pending pages and guides that may be leased, in memory or in the store."""
        self.guides = workload.guides
        """Guides and probes among the queued ones: they are no pages."""
        self.deferred = workload.deferred
        self.improvable = workload.improvable
        """Of the deferred ones, those that a better road would help."""
        self.judge_missing: list[str] = []
        """Hosts of which it was found out just now how they say `not found`."""
        self.dry = 0
        """How often it ran dry, and what was deferred had to be judged."""
        self.leased = 0
        self.leased_guides = 0
        self.parked = workload.queued > 0
        """The store may hold pages that no lane knows of, for want of room for their hosts."""
        self.closed_until = -inf
        """When the hours begin in which it may be crawled."""
        self.lanes: dict[str, Lane] = {}
        self.ready: list[tuple[float, int, Lane]] = []
        self.wakes_at = inf
        self.in_turns = False

    @property
    def capped(self) -> bool:
        """No page may be handed out for the first time."""
        limit = self.source.spec.max_pages
        return limit is not None and self.granted >= limit

    @property
    def tried(self) -> int:
        """How many attempts a page must have behind it to be leased."""
        return 1 if self.capped else 0

    @property
    def left(self) -> int:
        """Pages still to be handed out, as far as is known."""
        limit = self.source.spec.max_pages
        return self.queued if limit is None else min(self.queued, max(limit - self.granted, 0))

    # -- how many pages are where

    def queue(self, page: PendingPage) -> None:
        self.queued += 1
        self.guides += page.kind is not LeaseKind.PAGE

    def unqueue(self, page: PendingPage) -> None:
        self.queued -= 1
        self.guides -= page.kind is not LeaseKind.PAGE

    def lend(self, page: PendingPage) -> None:
        self.leased += 1
        self.leased_guides += page.kind is not LeaseKind.PAGE

    def take_back(self, page: PendingPage) -> None:
        self.leased -= 1
        self.leased_guides -= page.kind is not LeaseKind.PAGE

    @property
    def pending(self) -> int:
        """Pages that wait, whatever for."""
        return self.queued + self.deferred - self.guides

    @property
    def processing(self) -> int:
        return self.leased - self.leased_guides

    # -- what it wants

    @property
    def learns(self) -> bool:
        return self.source.spec.folding.learn_parameters

    def asks_robots(self, host: str) -> bool:
        """A service is asked as its interface says, not crawled."""
        return not self.source.spec.politeness.ignore_robots and host not in self.discovery.services

    def refusal(self, candidate: Candidate, wall: float) -> tuple[Why, str] | None:
        """Why a URL is not wanted whatever road leads to it, with a text that names the rule."""
        if candidate.kind is not LeaseKind.PAGE:
            return None
        refusal = self.judge.refusal(candidate.url)
        if refusal is None and candidate.depth > 0:
            refusal = self.traps.refusal(candidate.url, wall)
        if refusal is None and not candidate.listed and self.discovery.follows(host_of(candidate.url)) is False:
            return Why.UNLISTED, self.discovery.why_not
        return refusal

    @property
    def drained(self) -> bool:
        return not self.leased and not self.lanes and not self.parked and (self.capped or not self.queued)

    def tallies(self, host: str) -> Patterns | None:
        """The patterns of a host, to be counted on."""
        patterns = self.patterns.get(host)
        if patterns is not None:
            self.counted[host] = patterns
        return patterns

    def lists(self, url: str) -> bool:
        """Whether it means something that a sitemap lists this URL."""
        return url not in self.source.spec.seeds and self.judge.refusal(url) is None

    def is_seed_host(self, url: str) -> bool:
        return host_of(url) in map(host_of, self.source.spec.seeds)

    def adopt(self, seed: str) -> None:
        """Widen the scope by a seed that turned up on the way."""
        self.discovery.adopt(host_of(seed))
        spec = msgspec.structs.replace(self.source.spec, seeds=(*self.source.spec.seeds, seed))
        self.source = msgspec.structs.replace(self.source, spec=spec)
        self.judge = ScopeJudge(spec.scope, spec.seeds)


class Turns:
    def __init__(self) -> None:
        self._turns: deque[SourceRun] = deque()
        self._asleep: list[tuple[float, int, SourceRun]] = []
        self._numbers = count()

    def push(self, run: SourceRun, lane: Lane) -> None:
        if lane.queued:
            return
        lane.queued = True
        at = lane.host.ready_at
        heappush(run.ready, (at, next(self._numbers), lane))
        self._sleep(run, at)

    def pop(self, now: float) -> Lane | None:
        """A lane with pages whose host is ready and has room, taken out of the heap."""
        self._wake(now)
        while self._turns:
            run = self._turns[0]
            lane = self._first_ready(run, now) if run.closed_until <= now else None
            if lane is not None:
                self._turns.rotate(-1)
                return lane
            self._turns.popleft()
            run.in_turns = False
            if run.ready:
                self._sleep(run, max(run.ready[0][0], run.closed_until))
        return None

    def next_time(self) -> float:
        """When the next source may have something. Only meaningful after `pop` found nothing."""
        return self._asleep[0][0] if self._asleep else inf

    def _wake(self, now: float) -> None:
        while self._asleep and self._asleep[0][0] <= now:
            at, _, run = heappop(self._asleep)
            if at == run.wakes_at:
                run.wakes_at = inf
            if not run.in_turns and run.ready:
                run.in_turns = True
                self._turns.append(run)

    def _sleep(self, run: SourceRun, until: float) -> None:
        if not run.in_turns and until < run.wakes_at:
            run.wakes_at = until
            heappush(self._asleep, (until, next(self._numbers), run))

    def _first_ready(self, run: SourceRun, now: float) -> Lane | None:
        while run.ready and run.ready[0][0] <= now:
            lane = heappop(run.ready)[2]
            lane.queued = False
            if not lane or not lane.host.has_room():
                continue
            if lane.host.ready_at > now:
                self.push(run, lane)
                continue
            return lane
        return None


class RobotsQueue:
    """Hosts whose robots file must be fetched before anything else, each once, by the time they are ready."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Host]] = []
        self._numbers = count()

    def push(self, host: Host) -> None:
        if not host.robots.queued:
            host.robots.queued = True
            heappush(self._heap, (host.ready_at, next(self._numbers), host))

    def pop(self, now: float) -> Host | None:
        while self._heap and self._heap[0][0] <= now:
            host = heappop(self._heap)[2]
            host.robots.queued = False
            if host.ready_at > now:
                self.push(host)
                continue
            if host.lanes and not host.in_flight and not host.robots.fetching and host.has_room():
                return host
        return None

    def next_time(self) -> float:
        return self._heap[0][0] if self._heap else inf
