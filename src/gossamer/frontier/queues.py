"""The pages that wait: lanes by host and source, fed from the store, handed out by turns.

Only the heads of lanes are in memory. A lane that runs low is `wanted`; a source with pages on hosts that are not in
memory is `parked`. Both are asked for between two commits, so that memory and store agree when the answer comes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf

import msgspec

from gossamer.frontier.host import Host, Lane, Place
from gossamer.frontier.ledger import Ledger
from gossamer.frontier.policy import Rules
from gossamer.frontier.registry import Registry
from gossamer.frontier.turns import RobotsQueue, SourceRun, Turns
from gossamer.model import Deferral, Fault, Found, LeaseKind, Moved, PendingPage, State, Why
from gossamer.url import path_of

_CROWDED_HEAD = 8
"""How many pages of a lane stay in memory when memory is short."""


class Wanted(msgspec.Struct, frozen=True):
    """A lane that runs low while the store holds more of its pages, beyond `after`."""

    host: str
    source: int
    after: Place
    tried: int
    """Only pages with at least so many attempts."""


class Queues:
    def __init__(self, rules: Rules, hosts: Registry, ledger: Ledger) -> None:
        self._rules = rules
        self._hosts = hosts
        self._ledger = ledger
        self._turns = Turns()
        self._robots = RobotsQueue()
        self._in_memory = 0
        self._hungry: dict[tuple[str, int], Lane] = {}
        self._held: list[Lane] = []
        """Lanes with nothing but guides, while enough guides are out."""
        self.guides_out = 0
        """Guides that are fetched or let in just now."""
        self.runs: dict[int, SourceRun] = {}
        self.found: list[Found] = []
        """Where pages lead that were ended while they waited: to be let in with the same commit."""

    # -- in

    def add(self, now: float, run: SourceRun, page: PendingPage) -> None:
        run.queue(page)
        if run.capped:
            return
        host = self._hosts.get(page.host)
        if host is None:
            run.parked = True
            return
        lane = self._lane(host, run)
        if not self._doomed(now, run, host, page):
            crowded = self._in_memory >= self._rules.queue_memory
            self._in_memory += lane.add(page, _CROWDED_HEAD if crowded else self._rules.host_queue)
        self._tend(now, lane)

    def add_again(self, now: float, run: SourceRun, host: Host, page: PendingPage) -> None:
        """A page that was out and did not become final. It goes first when its host is ready."""
        run.queue(page)
        if not self._doomed(now, run, host, page):
            self._lane(host, run).retries.append(page)
            self._in_memory += 1

    def _lane(self, host: Host, run: SourceRun) -> Lane:
        lane = host.lanes.get(run.id)
        if lane is None:
            lane = Lane(host, run.id)
            lane.more = run.parked
            host.lanes[run.id] = run.lanes[host.key] = lane
            self._hosts.take(host.key)
        return lane

    def _tend(self, now: float, lane: Lane) -> None:
        """After a lane changed: note that it wants more, or close it, and put its host where it belongs."""
        if lane and lane.host.obey(self.runs[lane.source].source.spec.politeness):
            self._hosts.touch(lane.host)
        self._note_hunger(lane)
        self._close_if_spent(lane)
        self.schedule(now, lane.host)

    def _note_hunger(self, lane: Lane) -> None:
        if lane.more and 4 * len(lane) < self._rules.host_queue:
            self._hungry[lane.host.key, lane.source] = lane

    def _close_if_spent(self, lane: Lane) -> None:
        if lane.spent:
            self.runs[lane.source].lanes.pop(lane.host.key, None)
            lane.host.lanes.pop(lane.source, None)
            self._hungry.pop((lane.host.key, lane.source), None)

    def advance(self, page: PendingPage, place: int) -> bool:
        """Give a page that waits a better place; not one that goes first anyway."""
        lane = self.runs[page.source].lanes.get(page.host)
        if lane is None:
            return True
        if any(page.id == retried.id for retried in lane.retries):
            return False
        self._in_memory += lane.advance(page, place)
        return True

    # -- judged while they wait

    def _doomed(self, now: float, run: SourceRun, host: Host, page: PendingPage) -> bool:
        """End a queued page that can never be leased."""
        if host.blocked:
            error = f"{Fault.BLOCKED.value}: {host.last_error or 'too many failures in a row'}"
            self._end(run, page, State.FAILED, None, error)
        elif self._disallowed(now, run, host, page):
            self._end(run, page, State.SKIPPED, Why.ROBOTS, "disallowed by robots.txt")
        elif _may_fold(run, page) and (spelling := host.spelling(page.url)) != page.url:
            self._fold(run, host, page, spelling)
        else:
            return False
        return True

    def _disallowed(self, now: float, run: SourceRun, host: Host, page: PendingPage) -> bool:
        asked = run.asks_robots(host.key) and host.robots.known(now)
        return asked and not host.robots.allows(run.token, path_of(page.url))

    def _fold(self, run: SourceRun, host: Host, page: PendingPage, spelling: str) -> None:
        """Another spelling of a page, by what was learnt of its host."""
        reason = host.parameters.reason(page.url) if host.parameters else ""
        self._end(run, page, State.SKIPPED, Why.DUPLICATE, reason, spelling)
        self.found.append(
            Found(source=run.id, urls=(spelling,), depth=page.depth, parent=page.id, hops=page.hops + 1, listed=True)
        )

    def _end(
        self,
        run: SourceRun,
        page: PendingPage,
        state: State,
        reason: Why | None,
        error: str,
        target: str | None = None,
    ) -> None:
        run.unqueue(page)
        if page.kind.guide:
            self.found += run.discovery.failed(page)
            run.discovery.closed(page)
        self._ledger.ended(run, page, state, reason, error, target)

    def judge_again(self, now: float, host: Host) -> None:
        """The host's standing changed: end what it dooms. Pages in the store follow with their refills."""
        for lane in list(host.lanes.values()):
            run = self.runs[lane.source]
            self._keep(now, lane, [page for page in lane.pages() if not self._doomed(now, run, host, page)])

    def refuse_address(self, now: float, host: Host, run: SourceRun, error: str) -> None:
        """The guard refused the address for this source: none of its pages there can be asked for."""
        lane = self._lane(host, run)
        for page in lane.pages():
            self._end(run, page, State.SKIPPED, Why.ADDRESS, error)
        self._keep(now, lane, [])

    def _keep(self, now: float, lane: Lane, pages: list[PendingPage]) -> None:
        self._in_memory -= lane.keep(pages)
        self._tend(now, lane)

    # -- refills from the store

    def wanted(self) -> list[Wanted]:
        return [
            Wanted(host, source, lane.tail, self.runs[source].tried) for (host, source), lane in self._hungry.items()
        ]

    def parked(self) -> list[SourceRun]:
        """Sources with pages in the store that no lane knows of."""
        return [run for run in self.runs.values() if run.parked]

    def open_lanes(self, run: SourceRun, hosts: Iterable[str]) -> int:
        """These hosts have pages of a parked source in the store: refill their lanes. Returns how many were closed."""
        opened = 0
        for key in hosts:
            if key not in run.lanes:
                lane = self._lane(self._hosts.take(key), run)
                self._hungry[key, run.id] = lane
                opened += 1
        return opened

    def refill(self, now: float, wanted: Wanted, pages: Sequence[PendingPage], more: bool) -> None:
        lane = self._hungry.pop((wanted.host, wanted.source), None)
        if lane is None:
            return
        run = self.runs[wanted.source]
        retried = {page.id for page in lane.retries}
        kept = [
            page
            for page in pages
            if page.id not in retried and page.attempts >= run.tried and not self._doomed(now, run, lane.host, page)
        ]
        lane.refill(kept, (pages[-1].rank, pages[-1].id) if pages else None, more)
        self._in_memory += len(kept)
        self._tend(now, lane)

    # -- out

    def schedule(self, now: float, host: Host) -> None:
        """Put a host into the robots queue or the heaps of its sources; nowhere while it is busy."""
        if not host.lanes or not host.has_room():
            return
        if self.asking(now, host) is not None:
            if not host.robots.fetching:
                self._robots.push(host)
            return
        for lane in host.lanes.values():
            if lane:
                self._turns.push(self.runs[lane.source], lane)

    def asking(self, now: float, host: Host) -> SourceRun | None:
        """The source for which the host's robots file must be fetched first, if it must."""
        if host.robots.known(now):
            return None
        runs = (self.runs[lane.source] for lane in host.lanes.values())
        return next((run for run in runs if run.asks_robots(host.key) and run.closed_until <= now), None)

    def pop_robots(self, now: float) -> tuple[Host, SourceRun] | None:
        """A host that is ready to be asked for its robots file, and the source in whose name."""
        while (host := self._robots.pop(now)) is not None:
            run = self.asking(now, host)
            if run is not None:
                return host, run
            self.schedule(now, host)
        return None

    def ask_for_sitemaps(self, now: float, host: Host) -> None:
        """What a host's robots file says is known: sources that begin there may want its sitemaps."""
        if host.robots.known(now):
            sitemaps = host.robots.rules.sitemaps if host.robots.rules else ()
            for run in self.runs.values():
                self.found += run.discovery.robots_known(host.key, sitemaps)

    def put_off_robots(self, host: Host) -> None:
        self._robots.push(host)

    def pop_page(self, now: float) -> tuple[Host, SourceRun, PendingPage] | None:
        """A page whose host is ready."""
        while (lane := self._turns.pop(now)) is not None:
            if self.asking(now, lane.host) is not None:
                self.schedule(now, lane.host)
                continue
            run, room = self.runs[lane.source], self.guides_out < self._rules.guides_at_once
            if not room:
                self._hold_up(now, run, lane)
            page = lane.pop(guides=room)
            if page is None:
                self._held.append(lane)
                continue
            self._in_memory -= 1
            run.unqueue(page)
            self._note_hunger(lane)
            self._close_if_spent(lane)
            if _within_budget(run, page):
                self.guides_out += page.kind.guide
                return lane.host, run, page
            self._put_off(run, page)
            self.schedule(now, lane.host)
        return None

    def _put_off(self, run: SourceRun, page: PendingPage) -> None:
        """Its pattern must first prove its worth."""
        run.deferred += 1
        self._ledger.batch.moved.append(Moved(page=page.id, depth=page.depth, rank=Deferral.BUDGET.rank))

    def _hold_up(self, now: float, run: SourceRun, lane: Lane) -> None:
        """Guides that wait for others count as silent: nobody's links need wait for them longer than for those."""
        for page in lane.pages():
            if page.kind.guide:
                run.discovery.leased(now, page)

    def guide_done(self, now: float) -> None:
        """There is room for another guide."""
        self.guides_out -= 1
        held, self._held = self._held, []
        for lane in held:
            self.schedule(now, lane.host)

    def cap(self, run: SourceRun) -> None:
        """The source may begin no more pages: what was never handed out stays in the store."""
        for lane in list(run.lanes.values()):
            self._in_memory -= lane.drop_untried()
            self._note_hunger(lane)
            self._close_if_spent(lane)

    def next_time(self, robots_too: bool) -> float:
        """When something may be ready. Only meaningful after nothing could be popped."""
        return min(self._turns.next_time(), self._robots.next_time() if robots_too else inf)


def _within_budget(run: SourceRun, page: PendingPage) -> bool:
    """Whether the pattern of a page that is to be fetched for the first time has room for it."""
    counted = page.kind is LeaseKind.PAGE and page.depth > 0 and not page.attempts and page.previous is None
    tallies = run.tallies(page.host) if counted else None
    return tallies is None or tallies.admit(page.url)


def _may_fold(run: SourceRun, page: PendingPage) -> bool:
    """A page that was completed under its address keeps it: what was learnt since is no change of the page."""
    kept = page.previous is not None and page.previous.state is State.COMPLETED
    return page.kind is LeaseKind.PAGE and run.learns and not kept
