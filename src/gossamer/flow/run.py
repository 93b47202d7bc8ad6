"""run: one crawl from its first lease to its summary, with all roles in one process."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import msgspec

from gossamer.flow.dispatch import Dispatcher
from gossamer.flow.governor import Governor
from gossamer.flow.ingest import Ingest
from gossamer.frontier.policy import Rules
from gossamer.frontier.scoring import Scorer
from gossamer.model import ChangeCounts, EndReason, HostStatus, Source, SourceState, Stats, Summary
from gossamer.ports import Bus, Clock, Store

_HOST_LINES = 6


class RunOptions(msgspec.Struct, frozen=True, kw_only=True):
    rules: Rules = Rules()
    commit_target: float = 0.05
    stop_grace: float = 2.0
    duration: float | None = None
    scorer: Scorer | None = None


class Run:
    """A crawl of some sources. `run` once; `stats` and `stop` at any time."""

    def __init__(self, store: Store, bus: Bus, clock: Clock, options: RunOptions) -> None:
        self._store = store
        self._bus = bus
        self._clock = clock
        self._options = options
        governor = Governor(options.rules.concurrency, options.commit_target)
        self.dispatcher = Dispatcher(store, bus, clock, options.rules, governor, options.scorer)
        self._stopped: EndReason | None = None
        self._stop_by = 0.0

    def stop(self, reason: EndReason = EndReason.INTERRUPTED) -> None:
        """No new leases; what is out has a short time to come home."""
        if self._stopped is None:
            self._stopped = reason
            self._stop_by = self._clock.now() + self._options.stop_grace
            self.dispatcher.stopping = True

    async def run(self, sources: Sequence[Source], ingests: Sequence[Ingest] = ()) -> Summary:
        began = self._clock.now()
        for ingest in ingests:
            await ingest.open()
        await self._bus.start()
        try:
            async with asyncio.TaskGroup() as tasks:
                await self.dispatcher.open(sources)
                for ingest in ingests:
                    tasks.create_task(ingest.follow(self.dispatcher.commits, self.dispatcher.acknowledge))
                await self._dispatch(began)
        except ExceptionGroup as failures:
            # The first one is the cause; it ended the others.
            raise failures.exceptions[0] from None
        finally:
            await self._bus.close()
        return self._summary(began)

    async def _dispatch(self, began: float) -> None:
        duration = self._options.duration
        try:
            while await self.dispatcher.cycle():
                now = self._clock.now()
                if duration is not None and now >= began + duration:
                    self.stop(EndReason.DURATION)
                if self._stopped and now >= self._stop_by:
                    break
            await self.dispatcher.close(self._stopped or EndReason.FINISHED)
        finally:
            self.dispatcher.commits.end()

    # -- what people see

    @property
    def stats(self) -> Stats:
        now, dispatcher = self._clock.now(), self.dispatcher
        counts = dispatcher.tally.counts(dispatcher.frontier.runs())
        rate = dispatcher.tally.rate(now)
        busiest = dispatcher.frontier.busiest(now, _HOST_LINES)
        return Stats(
            counts=counts,
            in_flight=dispatcher.frontier.leased,
            permits=dispatcher.governor.permits,
            hosts=dispatcher.frontier.hosts,
            seconds=dispatcher.tally.seconds(now),
            fetched=dispatcher.tally.fetched,
            pages_per_second=rate,
            eta=sum(run.left for run in dispatcher.frontier.runs()) / rate if rate > 0 else None,
            busiest=tuple(busiest),
            errors=tuple(dispatcher.tally.errors),
            waiting=self._waiting(now, busiest),
        )

    def _waiting(self, now: float, busiest: list[HostStatus]) -> str | None:
        if self.dispatcher.frontier.leased or not busiest:
            return None
        soonest = min(busiest, key=lambda host: host.wait)
        if not soonest.waiting_for:
            return None
        error = f" after {soonest.last_error}" if soonest.last_error else ""
        return f"{soonest.key} waits {soonest.wait:.1f} s for {soonest.waiting_for}{error}"

    def _summary(self, began: float) -> Summary:
        stats = self.stats
        seconds = self._clock.now() - began
        return Summary(
            reason=self._reason(),
            completed=stats.counts.completed,
            failed=stats.counts.failed,
            skipped=stats.counts.skipped,
            pending=stats.counts.pending + stats.counts.processing,
            bytes=stats.counts.bytes,
            tokens=stats.counts.tokens,
            hosts=stats.hosts,
            seconds=round(seconds, 3),
            pages_per_second=round(stats.fetched / seconds, 3) if seconds > 0 else 0.0,
            changes=self._changes(),
        )

    def _changes(self) -> ChangeCounts | None:
        if all(run.source.round == 1 for run in self.dispatcher.frontier.runs()):
            return None
        return ChangeCounts(**{change.value: count for change, count in self.dispatcher.tally.changes.items()})

    def _reason(self) -> EndReason:
        runs = [run.source for run in self.dispatcher.frontier.runs()]
        if all(source.state is SourceState.COMPLETED for source in runs):
            return EndReason.FINISHED
        if self._stopped:
            return self._stopped
        return EndReason.MAX_PAGES
