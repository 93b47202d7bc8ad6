"""judge: pages that were deferred are judged when what they wait for is known, or when their source has run dry."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Sequence

from gossamer.flow.admit import Admitter
from gossamer.frontier.machine import Frontier
from gossamer.frontier.turns import SourceRun
from gossamer.model import Deferral, PendingPage
from gossamer.ports import Clock, Store

_DEFERRED_AT_ONCE = 250
_JUDGED = (
    Deferral.UNLISTED,
    Deferral.BUDGET,
    Deferral.MISSING,
    Deferral.CANONICAL,
    Deferral.DEPTH,
    Deferral.NOFOLLOW,
)
"""First what may bring new pages to light, last what only a better road would help."""


Commit = Callable[[float], Awaitable[None]]


class Judge:
    def __init__(self, store: Store, frontier: Frontier, admitter: Admitter) -> None:
        self._store = store
        self._frontier = frontier
        self._admitter = admitter
        self._to_judge: deque[tuple[SourceRun, str, Deferral, int]] = deque()
        """Hosts with deferred pages that can be judged, and how far that has come."""
        self.put_off: set[int] = set()
        """Sources with deferred pages that could not be judged yet: there was no room in memory for their hosts."""

    @property
    def busy(self) -> bool:
        return bool(self._to_judge)

    def look(self, now: float) -> None:
        """Pages may be judged that waited for a sitemap to end, or to learn how their host says `not found`."""
        for run in self._frontier.runs():
            run.discovery.look(now)
            self._to_judge += [(run, host, Deferral.UNLISTED, 0) for host in dict.fromkeys(run.discovery.decided)]
            self._to_judge += [(run, host, Deferral.MISSING, 0) for host in dict.fromkeys(run.judge_missing)]
            run.discovery.decided, run.judge_missing = [], []

    async def judge_some(self, now: float) -> None:
        """A part of what can be judged. What was deferred meanwhile is in the store by now."""
        if not self._to_judge:
            return
        run, host, kind, after = self._to_judge.popleft()
        pages = await self._store.some_deferred(run.id, _DEFERRED_AT_ONCE, host=host, kind=kind, after=after)
        await self._judge(now, run, pages)
        if len(pages) == _DEFERRED_AT_ONCE:
            self._to_judge.appendleft((run, host, kind, pages[-1].id))

    async def _judge(self, now: float, run: SourceRun, pages: Sequence[PendingPage]) -> None:
        ends = await self._store.fold_ends(run.id, [page.target for page in pages if page.target])
        waiting = [page.id for page in pages if page.rank == Deferral.MISSING.rank]
        prints = await self._store.fingerprints(waiting) if waiting else {}
        await self._admitter.restore(now, {run.id: self._frontier.strange_hosts(run, [page.host for page in pages])})
        self._frontier.judge_deferred(now, pages, ends, prints)
        await self._admitter.restore(now, self._frontier.homeless())
        await self._admitter.admit(now, [])

    async def judge_deferred(self, clock: Clock, run: SourceRun, commit: Commit) -> None:
        """The source ran dry: nothing that its deferred pages wait for will come by itself."""
        self.put_off.discard(run.id)
        if not run.deferred:
            return
        # Some may have been deferred in this very cycle: the store must know them before it is asked.
        await commit(clock.now())
        await self._judge_dry(clock, run, commit)
        # What was let in may have ended at once, by what is known by now: then the next ones are judged.
        while run.deferred and not run.queued and run.id not in self.put_off:
            await self._judge_dry(clock, run, commit)

    async def _judge_dry(self, clock: Clock, run: SourceRun, commit: Commit) -> None:
        run.dry += 1
        before = run.deferred
        for kind in _JUDGED:
            if run.queued and not kind.fetched:
                continue
            await self._judge_all(clock, run, kind, commit)
        if run.deferred == before and not run.queued:
            if self._frontier.full:
                self.put_off.add(run.id)
                return
            raise RuntimeError(f"source {run.id} has {before} deferred pages that cannot be judged")

    async def _judge_all(self, clock: Clock, run: SourceRun, kind: Deferral, commit: Commit) -> None:
        after = 0
        while pages := await self._store.some_deferred(run.id, _DEFERRED_AT_ONCE, kind=kind, after=after):
            now, after, left = clock.now(), pages[-1].id, run.deferred
            await self._judge(now, run, pages)
            await commit(now)
            if run.queued and run.deferred == left:
                # All of them wait for what the pages bring that were let in: so may those behind them.
                return
