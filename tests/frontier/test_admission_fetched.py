"""Pages that were read, and wait to know whether they are pages of their own: what becomes of them."""

from __future__ import annotations

import pytest

from gossamer.model import (
    Deferral,
    Fingerprint,
    Folding,
    Learnt,
    Reading,
    State,
)
from tests.frontier.makers import HOST, Play, document, source

CANONICAL, MISSING = str(Deferral.CANONICAL.rank), str(Deferral.MISSING.rank)


# -- canonical pages that were waited for


def waiting(**targets: str) -> Play:
    """Pages that were read, and wait for the canonical one that each names."""
    play = Play()
    play.admit(*(f"/{name}" for name in targets))
    play.commit()
    for _ in targets:
        lease = play.lease()
        name = lease.url.removeprefix(f"{HOST}/")
        play.settle(lease, Reading(document=document(text=name, canonical=targets[name])))
        play.commit()
    assert all(play.told(f"/{name}") == CANONICAL for name in targets)
    return play


def told_after(play: Play, ends: dict[str, tuple[str, State]]) -> dict[str, str]:
    names = list(play.pages)
    play.judge(*names, ends=ends)
    play.commit()
    assert play.run.deferred == 0
    return {name: play.told(name) for name in names}


@pytest.mark.parametrize(
    ("state", "told"),
    [
        (State.COMPLETED, "skipped canonical"),
        (State.FAILED, "completed"),
        (State.SKIPPED, "completed"),
        (State.PENDING, "completed"),
    ],
)
def test_a_page_is_folded_into_its_canonical_one_only_if_that_is_there(state: State, told: str) -> None:
    play = waiting(a="/real")
    assert told_after(play, {"/real": ("/real", state)}) == {"/a": told}
    assert play.ends["/a"].promoted
    assert play.ends["/a"].target == (f"{HOST}/real" if told != "completed" else None)


def test_a_canonical_page_that_nobody_knows_is_none() -> None:
    assert told_after(waiting(a="/real"), {}) == {"/a": "completed"}


def test_a_chain_of_canonical_pages_is_folded_into_its_end() -> None:
    play = waiting(a="/b", b="/c", c="/real")
    ends = dict.fromkeys(("/b", "/c", "/real"), ("/real", State.COMPLETED))
    assert told_after(play, ends) == dict.fromkeys(("/a", "/b", "/c"), "skipped canonical")


def test_of_a_chain_that_ends_nowhere_the_last_page_stays() -> None:
    play = waiting(a="/b", b="/c", c="/gone")
    ends = dict.fromkeys(("/b", "/c", "/gone"), ("/gone", State.FAILED))
    assert told_after(play, ends) == {"/a": "skipped canonical", "/b": "skipped canonical", "/c": "completed"}


@pytest.mark.parametrize("size", [2, 3])
def test_of_pages_that_name_each_other_in_a_ring_exactly_one_is_kept(size: int) -> None:
    names = "abc"[:size]
    play = waiting(**{name: f"/{names[(at + 1) % size]}" for at, name in enumerate(names)})
    ends = {f"/{name}": (f"/{name}", State.PENDING) for name in names}
    told = told_after(play, ends)
    assert list(told.values()) == ["completed"] + ["skipped canonical"] * (size - 1)


def test_a_page_that_names_one_of_a_ring_is_folded_too() -> None:
    play = waiting(a="/b", b="/a", c="/b")
    ends = {f"/{name}": (f"/{name}", State.PENDING) for name in "abc"}
    assert told_after(play, ends) == {"/a": "completed", "/b": "skipped canonical", "/c": "skipped canonical"}


def test_a_canonical_page_that_redirects_back_is_the_page_itself() -> None:
    assert told_after(waiting(a="/b"), {"/b": ("/a", State.PENDING)}) == {"/a": "completed"}


# -- pages that look like `not found`

SAYS_NOTHING = Fingerprint(body=b"nothing here", sketch=b"")


def suspected() -> Play:
    play = Play(source(folding=Folding(learn_parameters=False)))
    play.admit("/suspect")
    play.settle(play.lease(), Reading(document=document(text="x"), fingerprint=SAYS_NOTHING, looks_missing=True))
    play.commit()
    assert play.told("/suspect") == MISSING
    return play


@pytest.mark.parametrize(
    ("learnt", "told"),
    [
        (Learnt(probed=True, missing=SAYS_NOTHING), "skipped soft-404"),
        (Learnt(probed=True), "completed"),
        (Learnt(), "completed"),
    ],
)
def test_a_suspect_is_what_the_host_turned_out_to_say_of_pages_that_do_not_exist(learnt: Learnt, told: str) -> None:
    play = suspected()
    host = play.frontier._hosts.get(HOST)
    assert host is not None
    host.learnt = learnt
    play.judge("/suspect", prints={"/suspect": SAYS_NOTHING})
    play.commit()
    assert play.told("/suspect") == told
    assert play.ends["/suspect"].promoted
    assert play.adds_up()


def test_a_suspect_without_a_fingerprint_is_given_the_benefit_of_the_doubt() -> None:
    play = suspected()
    play.judge("/suspect")
    play.commit()
    assert play.told("/suspect") == "completed"
