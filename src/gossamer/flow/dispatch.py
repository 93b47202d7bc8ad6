"""dispatch: the owner of the frontier. It moves URLs from door to door, one cycle after the other.

A cycle gathers outcomes, settles them, admits what they lead to, leases what may be fetched, commits all of it at once
and only then releases the effects. Whatever arrives meanwhile waits for the next cycle, which makes group commits by
itself: the slower the disk, the larger the group. Between two cycles memory and store agree.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import inf

import msgspec

from gossamer.failpoints import failpoint
from gossamer.flow.admit import Admitter
from gossamer.flow.commits import Commits
from gossamer.flow.governor import Governor
from gossamer.flow.judge import Judge
from gossamer.flow.tally import Tally
from gossamer.frontier.folding import NOTHING, Known, Question
from gossamer.frontier.machine import DRAINED, Drained, Frontier, WaitUntil
from gossamer.frontier.policy import Rules
from gossamer.frontier.scoring import Scorer
from gossamer.frontier.turns import SourceRun
from gossamer.model import (
    Batch,
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


class Dispatcher:
    def __init__(
        self,
        store: Store,
        bus: Bus,
        clock: Clock,
        rules: Rules,
        governor: Governor,
        scorer: Scorer | None = None,
    ) -> None:
        self._store = store
        self._bus = bus
        self._clock = clock
        self._rules = rules
        self.governor = governor
        self._scorer = scorer
        self._own(Frontier(rules, 0, clock.now(), clock.wall()))
        self.tally = Tally(clock.now())
        self._scans: dict[int, tuple[str, int]] = {}
        """How far a look through the store for parked pages has come: the last host, and how many lanes it opened."""
        self._restocked = 0
        self._cursors: dict[str, Cursor] = {}
        self._wait = 0.0
        self.stopping = False
        """No new leases; what is out may still come home."""
        self.commits = Commits()

    def _own(self, frontier: Frontier) -> None:
        self.frontier = frontier
        self._admitter = Admitter(self._store, frontier)
        self._judge = Judge(self._store, frontier, self._admitter)

    async def open(self, sources: Sequence[Source]) -> None:
        """Take over the sources where they were left, and admit their seeds."""
        epoch = await self._store.claim()
        now = self._clock.now()
        self._own(Frontier(self._rules, epoch, now, self._clock.wall()))
        found: list[Found] = []
        for source in sources:
            running = msgspec.structs.replace(source, state=SourceState.RUNNING, reason=None)
            guides, roads = await self._store.guides(source.id), await self._store.roads(source.id)
            run = self.frontier.open_source(running, await self._store.workload(source.id), guides, roads)
            run.scorer = self._scorer
            self.tally.begin(await self._store.counts(source.id))
            found += [_seeds(source), *run.discovery.first()]
        await self._admitter.admit(now, found)
        await self._commit(self._clock.now())

    async def cycle(self) -> bool:
        """One round. False once there is nothing left to do."""
        outcomes = await self._gather()
        now = self._clock.now()
        await self._restock(now)
        await self._refill(now)
        await self._judge.judge_some(now)
        found = self._settle(now, outcomes, await self._evidence(outcomes))
        self.frontier.expire(now)
        await self._admitter.admit(now, found)
        if await self._admitter.admit_listed(now):
            await self._recount()
        self._judge.look(now)
        await self._end_drained()
        leases, answer = self._lease(now)
        await self._commit(now)
        if leases:
            failpoint("lease-committed")
            await self._bus.send(leases)
        self._wait = self._until_next(answer)
        return not (self.stopping and not self.frontier.leased) and (answer is not DRAINED or self._unfinished)

    @property
    def _busy(self) -> bool:
        """There is something to do before anything need come back."""
        return self._admitter.busy or self._judge.busy

    @property
    def _unfinished(self) -> bool:
        """A page may have been put off just now, at the door out: then its source has not ended."""
        return self._busy or any(run.source.state is SourceState.RUNNING for run in self.frontier.runs())

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

    async def _evidence(self, outcomes: Iterable[Outcome]) -> dict[int, Known]:
        """What the store knows that bears on the pages that came back, one question for all of a source."""
        asked: dict[int, list[tuple[int, Question]]] = {}
        for outcome in outcomes:
            question = self.frontier.question(outcome)
            if question is not None:
                asked.setdefault(question.source, []).append((outcome.token, question))
        known: dict[int, Known] = {}
        for source, questions in asked.items():
            known |= await self._answers(source, questions)
        return known

    async def _answers(self, source: int, questions: list[tuple[int, Question]]) -> dict[int, Known]:
        prints = [question.fingerprint for _, question in questions if question.fingerprint is not None]
        twins = iter(await self._store.twins(source, prints) if prints else [])
        urls = [question.canonical for _, question in questions if question.canonical is not None]
        ends = await self._store.fold_ends(source, urls) if urls else {}
        return {
            token: Known(
                twins=tuple(next(twins)) if question.fingerprint is not None else (),
                canonical=ends.get(question.canonical) if question.canonical is not None else None,
            )
            for token, question in questions
        }

    def _settle(self, now: float, outcomes: Iterable[Outcome], known: Mapping[int, Known]) -> list[Found]:
        found: list[Found] = []
        for outcome in outcomes:
            place = self.frontier.page_of(outcome.token)
            leads = self.frontier.settle(now, outcome, known.get(outcome.token, NOTHING)) or []
            if place is not None and place[1].kind.guide and leads:
                self._admitter.put_off(place[1].id, leads)
            else:
                found += leads
        return found

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
        if isinstance(answer, Drained) or self.frontier.queues.wanted() or self._restocked or self._busy:
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
            await self._admitter.restore(now, {run.id: self.frontier.strange_hosts(run, keys)})
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
            if run.source.state is SourceState.RUNNING and run.drained and not self._judge.busy:
                await self._judge.judge_deferred(self._clock, run, self._commit)
                if run.id not in self._judge.put_off:
                    await self._reopen_folds(run)
                    self._end_if_drained(run)

    def _end_if_drained(self, run: SourceRun) -> None:
        if run.drained:
            left = run.queued + run.deferred
            state = SourceState.STOPPED if left else SourceState.COMPLETED
            self.frontier.end_source(run.id, state, EndReason.MAX_PAGES if left else EndReason.FINISHED)

    async def _reopen_folds(self, run: SourceRun) -> None:
        """After a recrawl: what was folded into a page that changed or went is looked at again."""
        if run.source.round == 1 or not run.drained or run.capped:
            return
        await self._commit(self._clock.now())
        reopened = await self._store.reopen_folds(run.id)
        if reopened:
            run.queued += reopened
            run.parked = True
            await self._recount()

    async def _recount(self) -> None:
        self.tally.recount([await self._store.counts(run.id) for run in self.frontier.runs()])


def _seeds(source: Source) -> Found:
    return Found(source=source.id, urls=source.spec.seeds, depth=0, listed=True)
