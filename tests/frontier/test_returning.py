"""Coming back to a page: what the visit is worth telling, what is kept, and when the next one is due."""

from __future__ import annotations

import msgspec
import pytest

from gossamer.frontier.returning import returned
from gossamer.frontier.turns import SourceRun
from gossamer.model import (
    Change,
    Document,
    LeaseKind,
    PendingPage,
    Previous,
    Revisited,
    Settled,
    State,
    Why,
    Workload,
)
from tests.frontier.makers import SEED, WALL, source

DAY = 86_400.0
WAS_THERE = Previous(state=State.COMPLETED, hash="old", since=WALL - 4 * DAY, visits=3, changes=1)
WAS_FAILED = Previous(state=State.FAILED, since=WALL - 4 * DAY, visits=3)
WAS_FOLDED = Previous(
    state=State.SKIPPED, reason="duplicate", target="http://a.example/first", hash="old", since=WALL - 4 * DAY, visits=3
)


def visit(previous: Previous | None, fact: Settled, *, rounds: int = 2, kind: LeaseKind = LeaseKind.PAGE) -> Settled:
    run = SourceRun(source(rounds=rounds), Workload())
    page = PendingPage(id=1, source=1, url=SEED, host="http://a.example", depth=1, rank=0, kind=kind, previous=previous)
    return returned(run, page, fact, WALL)


def fact(state: State, **more: object) -> Settled:
    return Settled(page=1, source=1, url=SEED, state=state, **more)  # type: ignore[arg-type]


def says(text: str) -> Settled:
    return fact(State.COMPLETED, status=200, document=Document(hash=text))


GONE = fact(State.FAILED, status=404, error="status: 404 Not Found")
BROKEN = fact(State.FAILED, error="timeout: no answer")
REFUSES = fact(State.FAILED, status=403, error="status: 403 Forbidden")
NOT_MODIFIED = fact(State.COMPLETED, status=304, revisit=Revisited(unchanged=True))
FOLDED = fact(State.SKIPPED, reason=Why.DUPLICATE, target="http://a.example/first", document=Document(hash="old"))
FOLDED_ELSEWHERE = msgspec.structs.replace(FOLDED, target="http://a.example/another")
HIDDEN = fact(State.SKIPPED, reason=Why.NOINDEX)


@pytest.mark.parametrize(
    ("previous", "outcome", "state", "unchanged", "content_changed", "change"),
    [
        (WAS_THERE, NOT_MODIFIED, State.COMPLETED, True, False, None),
        (WAS_THERE, says("old"), State.COMPLETED, True, False, None),
        (WAS_THERE, says("new"), State.COMPLETED, False, True, Change.CHANGED),
        (WAS_THERE, GONE, State.FAILED, False, False, Change.REMOVED),
        (WAS_THERE, msgspec.structs.replace(GONE, status=410), State.FAILED, False, False, Change.REMOVED),
        (WAS_THERE, BROKEN, State.COMPLETED, True, False, None),
        (WAS_THERE, REFUSES, State.COMPLETED, True, False, None),
        (WAS_THERE, HIDDEN, State.SKIPPED, False, False, Change.REMOVED),
        (WAS_THERE, FOLDED, State.SKIPPED, False, False, Change.REMOVED),
        (WAS_FAILED, GONE, State.FAILED, True, False, None),
        (WAS_FAILED, BROKEN, State.FAILED, True, False, None),
        (WAS_FOLDED, FOLDED, State.SKIPPED, True, False, None),
        (WAS_FOLDED, FOLDED_ELSEWHERE, State.SKIPPED, False, False, None),
        # Deferred again, and folded into the same: what was read takes the place of what it had, and is no change.
        (WAS_FOLDED, msgspec.structs.replace(FOLDED, promoted=True), State.SKIPPED, False, False, None),
        (WAS_FOLDED, GONE, State.FAILED, False, False, None),
        (WAS_FOLDED, says("new"), State.COMPLETED, False, True, Change.ADDED),
    ],
)
def test_what_a_visit_makes_of_a_page(
    previous: Previous, outcome: Settled, state: State, unchanged: bool, content_changed: bool, change: Change | None
) -> None:
    again = visit(previous, outcome)
    assert again.state is state
    assert again.revisit == Revisited(unchanged=unchanged, content_changed=content_changed)
    assert again.change is change
    assert again.finished_at == WALL


def test_a_page_that_could_not_be_read_before_is_added_when_it_can() -> None:
    again = visit(WAS_FAILED, says("new"))
    assert (again.state, again.change) == (State.COMPLETED, Change.ADDED)
    assert again.revisit is not None
    assert not again.revisit.unchanged


def test_a_page_that_is_kept_tells_what_went_wrong_all_the_same() -> None:
    assert visit(WAS_THERE, BROKEN).error == "timeout: no answer"


@pytest.mark.parametrize(("rounds", "change"), [(1, None), (2, Change.ADDED)])
def test_a_page_that_is_new_is_told_of_only_after_the_first_round(rounds: int, change: Change | None) -> None:
    new = visit(None, says("new"), rounds=rounds)
    assert new.change is change
    assert new.revisit is None
    assert new.due_at == WALL + source().spec.revisit.first


def test_a_new_page_that_is_none_is_not_told_of() -> None:
    assert visit(None, GONE).change is None
    assert visit(None, FOLDED).change is None


def test_a_page_is_due_sooner_the_more_often_it_was_found_changed() -> None:
    changed, same = visit(WAS_THERE, says("new")).due_at, visit(WAS_THERE, says("old")).due_at
    never = visit(msgspec.structs.replace(WAS_THERE, changes=0), says("old")).due_at
    assert changed is not None
    assert same is not None
    assert never is not None
    bounds = source().spec.revisit
    assert WALL + bounds.least <= changed < same < never <= WALL + bounds.most


def test_a_clock_that_was_set_back_makes_nothing_due_before_its_time() -> None:
    ahead = msgspec.structs.replace(WAS_THERE, since=WALL + 99 * DAY)
    due = visit(ahead, says("old")).due_at
    assert due is not None
    assert due >= WALL + source().spec.revisit.least


@pytest.mark.parametrize("kind", [LeaseKind.SITEMAP, LeaseKind.PROBE])
def test_guides_and_probes_have_no_history(kind: LeaseKind) -> None:
    guide = visit(WAS_THERE, fact(State.COMPLETED), kind=kind)
    assert (guide.change, guide.revisit, guide.due_at, guide.finished_at) == (None, None, None, WALL)


def test_a_page_that_is_tried_again_has_not_been_visited_yet() -> None:
    pending = visit(WAS_THERE, fact(State.PENDING, status=404, revisit=Revisited(misses=1)))
    assert (pending.change, pending.due_at) == (None, None)
    assert pending.revisit == Revisited(misses=1)
