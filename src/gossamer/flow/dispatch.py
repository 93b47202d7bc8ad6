"""dispatch: the owner of the frontier. It moves URLs from door to door, one cycle after the other.

A cycle gathers outcomes, settles them, admits what they lead to, leases what may be fetched, commits all of it at once
and only then releases the effects. Whatever arrives meanwhile waits for the next cycle, which makes group commits by
itself: the slower the disk, the larger the group. Between two cycles memory and store agree.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf

import msgspec

from gossamer.failpoints import failpoint
from gossamer.flow.commits import Commits
from gossamer.flow.governor import Governor
from gossamer.flow.tally import Tally
from gossamer.frontier.machine import DRAINED, Drained, Frontier, WaitUntil
from gossamer.frontier.policy import Rules
from gossamer.frontier.turns import SourceRun
from gossamer.model import (
    Batch,
    Candidate,
    Cursor,
    EndReason,
    Found,
    Lease,
    Outcome,
    Source,
    SourceState,
)
from gossamer.ports import Bus, Clock, Store

_LONGEST_WAIT = 0.5
_MOMENT = 0.002
_FEW = 4
"""Outcomes are few when there are this many times as many leases out."""
_REFILLS = 256
_HOSTS_AT_ONCE = 512
_DEFERRED_AT_ONCE = 1_000


class Dispatcher:
    def __init__(self, store: Store, bus: Bus, clock: Clock, rules: Rules, governor: Governor) -> None:
        self._store = store
        self._bus = bus
        self._clock = clock
        self._rules = rules
        self.governor = governor
        self.frontier = Frontier(rules, 0, clock.now())
        self.tally = Tally(clock.now())
        self._scans: dict[int, tuple[str, int]] = {}
        """How far a look through the store for parked pages has come: the last host, and how many lanes it opened."""
        self._restocked = 0
        self._cursors: dict[str, Cursor] = {}
        self._wait = 0.0
        self.stopping = False
        """No new leases; what is out may still come home."""
        self.commits = Commits()

    async def open(self, sources: Sequence[Source]) -> None:
        """Take over the sources where they were left, and admit their seeds."""
        epoch = await self._store.claim()
        self.frontier = Frontier(self._rules, epoch, self._clock.now())
        for source in sources:
            counts = await self._store.counts(source.id)
            deferred = await self._store.deferred_count(source.id)
            running = msgspec.structs.replace(source, state=SourceState.RUNNING, reason=None)
            self.frontier.open_source(running, counts.pending - deferred, deferred)
            self.tally.begin(counts)
        await self._admit(self._clock.now(), [_seeds(source) for source in sources])
        await self._commit(self._clock.now())

    async def cycle(self) -> bool:
        """One round. False once there is nothing left to do."""
        outcomes = await self._gather()
        now = self._clock.now()
        await self._restock(now)
        await self._refill(now)
        found = self._settle(now, outcomes)
        self.frontier.expire(now)
        await self._admit(now, found)
        await self._end_drained()
        leases, answer = self._lease(now)
        await self._commit(now)
        if leases:
            failpoint("lease-committed")
            await self._bus.send(leases)
        self._wait = self._until_next(answer)
        return answer is not DRAINED and not (self.stopping and not self.frontier.leased)

    async def close(self, reason: EndReason) -> None:
        """Give back what is still out, and write down why sources that are not finished go no further for now."""
        now = self._clock.now()
        self.frontier.abandon(now)
        for run in self.frontier.runs():
            if run.source.state is SourceState.RUNNING:
                self.frontier.end_source(run.id, SourceState.STOPPED, reason)
        await self._commit(now)

    def acknowledge(self, cursor: Cursor) -> None:
        """A consumer of the outbox came this far; the next commit makes it last."""
        self._cursors[cursor.consumer] = cursor

    # -- the steps of a cycle

    async def _gather(self) -> list[Outcome]:
        """What has come back. With much still out, a moment more makes one commit of several."""
        outcomes = await self._bus.receive(self._wait)
        if outcomes and len(outcomes) * _FEW < self.frontier.leased:
            await self._clock.sleep(_MOMENT)
            outcomes += await self._bus.receive(0)
        return outcomes

    def _settle(self, now: float, outcomes: Iterable[Outcome]) -> list[Found]:
        found: list[Found] = []
        for outcome in outcomes:
            found += self.frontier.settle(now, outcome) or []
        return found

    async def _admit(self, now: float, found: Sequence[Found]) -> None:
        """Let in what was found. A shorter road to a known page can lead on to others: then there is another round."""
        while found:
            by_source: dict[int, list[Found]] = {}
            for each in found:
                by_source.setdefault(each.source, []).append(each)
            rounds = [await self._admit_for(now, source, group) for source, group in by_source.items()]
            found = [each for further in rounds for each in further]

    async def _admit_for(self, now: float, source: int, found: list[Found]) -> list[Found]:
        run = self.frontier.queues.runs[source]
        urls = list(dict.fromkeys(url for each in found for url in each.urls))
        new = await self._store.unseen(source, urls)
        known = set(urls).difference(new)
        if known and run.deferred:
            await self._improve(now, source, found, known)
        further = await self._shorten(source, found, known) if known and run.judge.limits_depth else []
        if new:
            first_id = await self._store.reserve(len(new))
            best = _best(found, new)
            missing = self.frontier.admit(now, [best[url] for url in new], first_id)
            await self._restore(now, missing)
        return further

    async def _improve(self, now: float, source: int, found: list[Found], known: set[str]) -> None:
        pages = await self._store.deferred(source, sorted(known))
        best = _best(found, {page.url for page in pages})
        for page in pages:
            self.frontier.improve(now, best[page.url], page)
        await self._restore(now, self.frontier.homeless())

    async def _shorten(self, source: int, found: list[Found], known: set[str]) -> list[Found]:
        best = {url: road for url, road in _best(found, known).items() if not road.nofollow}
        detours = await self._store.detours(source, {url: road.depth for url, road in best.items()})
        return [leads for detour in detours for leads in self.frontier.shorten(best[detour.url], detour)]

    async def _restore(self, now: float, missing: list[str]) -> None:
        if missing:
            self.frontier.restore(now, self._clock.wall(), missing, await self._store.hosts(missing))

    def _lease(self, now: float) -> tuple[list[Lease], WaitUntil | Drained]:
        leases: list[Lease] = []
        while not self.stopping and self.frontier.leased < self.governor.permits:
            answer = self.frontier.lease(now)
            if not isinstance(answer, Lease):
                return leases, answer
            leases.append(answer)
        return leases, WaitUntil(inf)

    async def _commit(self, now: float) -> None:
        batch = self.frontier.collect(now, self._clock.wall())
        batch.cursors = list(self._cursors.values())
        self._cursors = {}
        if not batch:
            return
        if batch.settled:
            failpoint("page-uncommitted")
        began = self._clock.now()
        await self._store.commit(batch)
        self.governor.observe(self._clock.now() - began)
        self._note(now, batch)

    def _note(self, now: float, batch: Batch) -> None:
        self.tally.add(now, batch)
        self.commits.tell()
        if batch.settled:
            failpoint("page-committed")
        if batch.robots:
            failpoint("robots-committed")

    def _until_next(self, answer: WaitUntil | Drained) -> float:
        if isinstance(answer, Drained) or self.frontier.queues.wanted() or self._restocked:
            return 0.0
        return min(max(answer.time - self._clock.now(), 0.0), _LONGEST_WAIT)

    # -- what waits in the store

    async def _refill(self, now: float) -> None:
        limit = self._rules.host_queue
        for wanted in self.frontier.queues.wanted()[:_REFILLS]:
            pages = await self._store.pending(wanted.source, wanted.host, wanted.after, limit, wanted.tried)
            self.frontier.queues.refill(now, wanted, pages, len(pages) == limit)

    async def _restock(self, now: float) -> None:
        """Bring hosts with pages in the store back into memory, a few at a time."""
        self._restocked = 0
        self.frontier.evict_idle()
        for run in self.frontier.queues.parked():
            after, opened = self._scans.get(run.id, ("", 0))
            keys = await self._store.pending_hosts([run.id], after, _HOSTS_AT_ONCE, run.tried)
            await self._restore(now, self.frontier.unknown_hosts(keys))
            known = [key for key in keys if self.frontier.knows(key)]
            newly = self.frontier.queues.open_lanes(run, known)
            self._restocked += newly
            self._scans[run.id] = (keys[-1] if keys else "", opened + newly)
            if len(keys) < _HOSTS_AT_ONCE:
                self._end_scan(run, complete=len(known) == len(keys))

    def _end_scan(self, run: SourceRun, *, complete: bool) -> None:
        """After a whole pass that found every page in a lane, nothing is parked any more."""
        _, opened = self._scans.pop(run.id)
        if complete and not opened:
            run.parked = False

    async def _end_drained(self) -> None:
        for run in self.frontier.runs():
            if run.source.state is SourceState.RUNNING and run.drained:
                await self._judge_deferred(run)
                self._end_if_drained(run)

    def _end_if_drained(self, run: SourceRun) -> None:
        if run.drained:
            left = run.queued + run.deferred
            state = SourceState.STOPPED if left else SourceState.COMPLETED
            self.frontier.end_source(run.id, state, EndReason.MAX_PAGES if left else EndReason.FINISHED)

    async def _judge_deferred(self, run: SourceRun) -> None:
        if run.deferred:
            # Some may have been deferred in this very cycle: the store must know them before it is asked.
            await self._commit(self._clock.now())
        while run.deferred and not run.queued:
            pages = await self._store.some_deferred(run.id, _DEFERRED_AT_ONCE)
            if not pages:
                raise RuntimeError(f"source {run.id} counts {run.deferred} deferred pages that the store does not have")
            now = self._clock.now()
            self.frontier.judge_deferred(now, pages)
            await self._restore(now, self.frontier.homeless())
            await self._commit(now)


def _seeds(source: Source) -> Found:
    return Found(source=source.id, urls=source.spec.seeds, depth=0)


def _best(found: Iterable[Found], wanted: Iterable[str]) -> dict[str, Candidate]:
    """For each URL the best of the roads that lead to it: followed before nofollow, then the shortest."""
    wanted = set(wanted)
    best: dict[str, Candidate] = {}
    for each in found:
        for candidate in each.candidates(wanted):
            known = best.get(candidate.url)
            if known is None or (candidate.nofollow, candidate.depth) < (known.nofollow, known.depth):
                best[candidate.url] = candidate
    return best
