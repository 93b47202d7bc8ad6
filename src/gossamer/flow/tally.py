"""Counts and rates of a crawl, kept from the facts as they are committed."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from gossamer.frontier.turns import SourceRun
from gossamer.model import Batch, Change, Counts, LeaseKind, Settled, State

_WINDOW = 15.0
_ERRORS = 5


class Tally:
    def __init__(self, now: float) -> None:
        self._began = now
        self._final = dict.fromkeys((State.COMPLETED, State.FAILED, State.SKIPPED), 0)
        self._bytes = 0
        self._tokens = 0
        self._recent: deque[tuple[float, int]] = deque([(now, 0)])
        self.fetched = 0
        self.changes = dict.fromkeys(Change, 0)
        self.errors: deque[tuple[str, str]] = deque(maxlen=_ERRORS)

    def begin(self, counts: Counts) -> None:
        """What a source had come to before this process."""
        self._final[State.COMPLETED] += counts.completed
        self._final[State.FAILED] += counts.failed
        self._final[State.SKIPPED] += counts.skipped
        self._bytes += counts.bytes
        self._tokens += counts.tokens

    def add(self, now: float, batch: Batch) -> None:
        for page in batch.new:
            if page.state.final and page.kind is LeaseKind.PAGE:
                self._final[page.state] += 1
        for settled in batch.settled:
            if settled.state.final and settled.kind is LeaseKind.PAGE:
                self._add_final(settled)
        if self._recent[-1][0] < now - 0.1:
            self._recent.append((now, self.fetched))
        while len(self._recent) > 2 and self._recent[0][0] < now - _WINDOW:
            self._recent.popleft()

    def _add_final(self, settled: Settled) -> None:
        self._final[settled.state] += 1
        self._bytes += settled.size
        self._tokens += settled.document.tokens if settled.document else 0
        if settled.change is not None:
            self.changes[settled.change] += 1
        if settled.status is not None or settled.state is State.FAILED:
            self.fetched += 1
        if settled.state is State.FAILED:
            self.errors.append((settled.url, settled.error or ""))

    def recount(self, counts: Iterable[Counts]) -> None:
        """Final pages were opened again: take the counts of all sources anew."""
        self._final = dict.fromkeys(self._final, 0)
        self._bytes = self._tokens = 0
        for each in counts:
            self.begin(each)

    def counts(self, runs: list[SourceRun]) -> Counts:
        return Counts(
            pending=sum(run.pending for run in runs),
            processing=sum(run.processing for run in runs),
            completed=self._final[State.COMPLETED],
            failed=self._final[State.FAILED],
            skipped=self._final[State.SKIPPED],
            bytes=self._bytes,
            tokens=self._tokens,
        )

    def seconds(self, now: float) -> float:
        return now - self._began

    def rate(self, now: float) -> float:
        """Pages a second over the last quarter of a minute."""
        since, before = self._recent[0]
        return (self.fetched - before) / (now - since) if now > since else 0.0
