"""Guides that came back: what they list is let in bit by bit, and only then are they done with.

Until then a guide counts as being out, in memory and in the store: after a crash it is fetched again, and what it had
led to already is known.
"""

from __future__ import annotations

import msgspec

from gossamer.frontier.ledger import Ledger
from gossamer.frontier.policy import status_text
from gossamer.frontier.queues import Queues
from gossamer.frontier.returning import GONE
from gossamer.frontier.turns import SourceRun
from gossamer.model import Fault, Found, Guide, Outcome, PendingPage, Revisited, Settled, State


class _Open(msgspec.Struct):
    run: SourceRun
    page: PendingPage
    fact: Settled
    listed: int = 0


class Guiding:
    def __init__(self, queues: Queues, ledger: Ledger) -> None:
        self._queues = queues
        self._ledger = ledger
        self._open: dict[int, _Open] = {}

    def settle(self, now: float, run: SourceRun, page: PendingPage, outcome: Outcome) -> list[Found]:
        """What the guide leads to. Once all of that was let in, `done` is to be called."""
        fact = _fact(page, outcome)
        self._open[page.id] = _Open(run, page, fact)
        if outcome.location is not None:
            found = run.discovery.read(page, Guide(guides=(outcome.location,)))
        elif outcome.guide is not None:
            found = run.discovery.read(page, outcome.guide)
        else:
            found = [] if fact.state is State.COMPLETED else run.discovery.failed(page)
        if not found:
            self.done(now, page.id)
        return found

    def count(self, guide: int, urls: tuple[str, ...]) -> None:
        """Some of what it lists was let in."""
        each = self._open.get(guide)
        if each is not None:
            inside = sum(each.run.lists(url) for url in urls)
            each.listed += inside
            each.run.discovery.count(each.page, inside)

    def done(self, now: float, guide: int) -> None:
        each = self._open.pop(guide, None)
        if each is None:
            return
        each.run.take_back(each.page)
        self._queues.guide_done(now)
        each.run.discovery.closed(each.page)
        fact = msgspec.structs.replace(each.fact, listed=each.listed)
        self._ledger.settled(each.run, each.page, fact)

    def abandon(self, now: float) -> None:
        """The crawl stops: what was not let in yet is asked for again the next time."""
        for each in self._open.values():
            each.run.take_back(each.page)
            each.run.queue(each.page)
            self._queues.guide_done(now)
            self._ledger.settled(each.run, each.page, msgspec.structs.replace(each.fact, state=State.PENDING))
        self._open.clear()


def _fact(page: PendingPage, outcome: Outcome) -> Settled:
    state, error = _end(page, outcome)
    unchanged = outcome.status == 304 and page.previous is not None
    return Settled(
        page=page.id,
        source=page.source,
        url=page.url,
        kind=page.kind,
        state=state,
        attempts=page.attempts,
        error=error,
        status=outcome.status,
        etag=outcome.etag,
        last_modified=outcome.last_modified,
        elapsed=outcome.elapsed,
        revisit=Revisited(unchanged=True) if unchanged else None,
    )


def _end(page: PendingPage, outcome: Outcome) -> tuple[State, str | None]:
    if outcome.error is not None:
        return State.FAILED, str(outcome.error)
    if outcome.guide is not None:
        return State.COMPLETED, outcome.guide.note
    if outcome.location is not None:
        return State.COMPLETED, f"redirects to {outcome.location}"
    if outcome.status == 304 and page.previous is not None:
        return State.COMPLETED, None
    if outcome.status in GONE:
        return State.SKIPPED, f"not there: {status_text(outcome.status)}"
    return State.FAILED, f"{Fault.STATUS.value}: {status_text(outcome.status)}"
