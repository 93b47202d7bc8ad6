"""Coming back to a page: what another visit means for its history, for the change feed and for the next visit."""

from __future__ import annotations

import msgspec

from gossamer.frontier.revisit import interval
from gossamer.frontier.scoring import changing
from gossamer.frontier.turns import SourceRun
from gossamer.model import MAX_RANK, Change, LeaseKind, Order, PendingPage, Previous, Revisited, Settled, State

GONE = (404, 410)


def returned(run: SourceRun, page: PendingPage, fact: Settled, wall: float) -> Settled:
    """A fact with its time and, where it is final, its place in the history of the page."""
    fact = msgspec.structs.replace(fact, finished_at=wall)
    if not fact.state.final or page.kind is not LeaseKind.PAGE:
        return fact
    if page.previous is None:
        change = Change.ADDED if run.source.round > 1 and fact.state is State.COMPLETED else None
        due = wall + interval(run.source.spec.revisit, 0, 0, 0.0)
        return msgspec.structs.replace(fact, change=change, due_at=due)
    return _again(run, page, page.previous, _kept(page.previous, fact), wall)


def _kept(previous: Previous, fact: Settled) -> Settled:
    """A page that could not be reached keeps what it had: only its own word takes it away."""
    if previous.state is State.COMPLETED and fact.state is State.FAILED and fact.status not in GONE:
        return msgspec.structs.replace(fact, state=State.COMPLETED, revisit=Revisited(unchanged=True))
    return fact


def _again(run: SourceRun, page: PendingPage, previous: Previous, fact: Settled, wall: float) -> Settled:
    told = fact.revisit is not None and fact.revisit.unchanged
    content_changed = not told and _content_changed(previous, fact)
    # What is promoted has a draft, which takes the place of what it had.
    same = told or (not fact.promoted and _verdict(fact) == _verdict(previous) and not content_changed)
    visits, changes = previous.visits + 1, previous.changes + content_changed
    wait = interval(run.source.spec.revisit, visits, changes, max(wall - previous.since, 0.0))
    return msgspec.structs.replace(
        fact,
        revisit=Revisited(unchanged=same, content_changed=content_changed),
        change=None if same else _change(previous, fact),
        due_at=wall + wait,
        rank=_turn(run, page, visits, changes),
    )


def _turn(run: SourceRun, page: PendingPage, visits: int, changes: int) -> int | None:
    """Best first: where a page that changes often stands in the next round."""
    if run.source.spec.order is not Order.BEST or page.previous is None or page.rank >= MAX_RANK:
        return None
    before = page.previous.changes / page.previous.visits if page.previous.visits else None
    return changing(page.rank, before, changes / visits)


def _content_changed(previous: Previous, fact: Settled) -> bool:
    if fact.promoted:
        # One that was completed is only deferred when it does not say what it said before. One that was folded waits
        # for its target in every round, and is what it was if it is folded into the same again.
        return _verdict(fact) != _verdict(previous) or fact.state is State.COMPLETED
    if fact.state is not State.COMPLETED:
        return False
    return fact.document is not None and previous.hash is not None and fact.document.hash != previous.hash


def _verdict(page: Settled | Previous) -> tuple[State, str | None, str | None]:
    return page.state, page.reason, page.target


def _change(previous: Previous, fact: Settled) -> Change | None:
    was, now = previous.state is State.COMPLETED, fact.state is State.COMPLETED
    if was and now:
        return Change.CHANGED
    return Change.REMOVED if was else Change.ADDED if now else None
