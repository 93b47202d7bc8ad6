"""Which pages are one, and which are none although their status says otherwise."""

from __future__ import annotations

import struct

import pytest

from gossamer.frontier.folding import NOTHING, Folds, Known, canonical_of, is_missing, question
from gossamer.frontier.host import Host
from gossamer.frontier.turns import SourceRun
from gossamer.model import (
    Deferral,
    Fingerprint,
    FoldEnd,
    Folding,
    Learnt,
    LeaseKind,
    PendingPage,
    Reading,
    Settled,
    State,
    Traps,
    Twin,
    Why,
    Workload,
)
from tests.frontier.makers import HOST, document, source

ALL_OFF = Folding(canonical=False, duplicates=False, near_duplicates=None)


def run(folding: Folding = Folding(), traps: Traps = Traps()) -> SourceRun:  # noqa: B008 (frozen)
    return SourceRun(source(folding=folding, traps=traps), Workload())


def page(path: str = "/copy", number: int = 1, hops: int = 0) -> PendingPage:
    return PendingPage(id=number, source=1, url=HOST + path, host=HOST, depth=2, rank=0, hops=hops)


def sketch(*hashes: int) -> bytes:
    return struct.pack(f"<{len(hashes)}Q", *sorted(hashes))


def print_of(body: bytes = b"body", hashes: range = range(100), *, stub: bool = False) -> Fingerprint:
    return Fingerprint(body=body, stub=stub, sketch=sketch(*hashes), bands=(hashes.start // 50,) if hashes else ())


def reading(
    canonical: str | None = None, fingerprint: Fingerprint | None = None, *, looks_missing: bool = False
) -> Reading:
    return Reading(
        document=document(text="x", canonical=canonical), fingerprint=fingerprint, looks_missing=looks_missing
    )


def end(path: str, state: State) -> Known:
    return Known(canonical=FoldEnd(url=HOST + path, state=state))


def completed(path: str, number: int, fingerprint: Fingerprint | None = None) -> Settled:
    return Settled(page=number, source=1, url=HOST + path, state=State.COMPLETED, fingerprint=fingerprint)


# -- by its own word


def test_a_copy_of_a_page_that_is_there_is_folded_into_it() -> None:
    fold = Folds().judge(run(), Host(HOST), page(), reading("/real"), end("/real", State.COMPLETED))
    assert fold is not None
    assert (fold.reason, fold.target, fold.found) == (Why.CANONICAL, f"{HOST}/real", None)


def test_a_copy_of_a_page_that_was_completed_a_moment_ago_is_folded_before_the_store_knows() -> None:
    folds = Folds()
    folds.completed(completed("/real", 9))
    fold = folds.judge(run(), Host(HOST), page(), reading("/real"), NOTHING)
    assert fold is not None
    assert fold.reason is Why.CANONICAL
    folds.committed()
    later = folds.judge(run(), Host(HOST), page(), reading("/real"), NOTHING)
    assert later is not None
    assert later.reason is None, "from then on the store is asked"


@pytest.mark.parametrize("known", [NOTHING, end("/real", State.PENDING), end("/real", State.PROCESSING)])
def test_a_copy_of_a_page_that_nobody_has_read_yet_waits_for_it_and_leads_to_it(known: Known) -> None:
    fold = Folds().judge(run(), Host(HOST), page(hops=3), reading("/real"), known)
    assert fold is not None
    assert (fold.reason, fold.deferral, fold.target) == (None, Deferral.CANONICAL, f"{HOST}/real")
    assert fold.found is not None
    assert (fold.found.urls, fold.found.depth, fold.found.hops) == ((f"{HOST}/real",), 2, 4)
    assert fold.found.listed, "a page names it: no mere link"


@pytest.mark.parametrize("state", [State.FAILED, State.SKIPPED])
def test_a_copy_of_a_page_that_is_not_there_is_a_page_of_its_own(state: State) -> None:
    assert Folds().judge(run(), Host(HOST), page(), reading("/real"), end("/real", state)) is None


@pytest.mark.parametrize("canonical", ["/copy", None])
def test_a_page_that_is_its_own_canonical_one_is_not_folded(canonical: str | None) -> None:
    assert Folds().judge(run(), Host(HOST), page(), reading(canonical), NOTHING) is None


def test_a_canonical_page_that_leads_back_here_makes_no_ring() -> None:
    assert Folds().judge(run(), Host(HOST), page(), reading("/real"), end("/copy", State.PENDING)) is None


def test_a_canonical_page_out_of_scope_does_not_take_the_page_away() -> None:
    read = Reading(document=document(text="x", canonical=".elsewhere/"))
    assert read.document.canonical == "http://a.example.elsewhere/"
    assert canonical_of(run(), page(), read) is None
    assert Folds().judge(run(), Host(HOST), page(), read, NOTHING) is None
    assert question(run(), page(), read) is None


def test_canonical_links_can_be_left_alone() -> None:
    unwanted = run(Folding(canonical=False))
    assert Folds().judge(unwanted, Host(HOST), page(), reading("/real"), end("/real", State.COMPLETED)) is None
    assert question(unwanted, page(), reading("/real")) is None


# -- not found, with a status of 200


def test_a_suspect_waits_for_a_probe_and_one_probe_serves_for_all() -> None:
    host, folds = Host(HOST), Folds()
    suspect = reading(fingerprint=print_of(), looks_missing=True)
    first = folds.judge(run(), host, page("/x/1"), suspect, NOTHING)
    second = folds.judge(run(), host, page("/x/2", 2), suspect, NOTHING)
    assert first is not None
    assert second is not None
    assert first.deferral is second.deferral is Deferral.MISSING
    assert first.found is not None
    assert second.found is None
    assert first.found.kind is LeaseKind.PROBE
    (url,) = first.found.urls
    assert url.startswith(f"{HOST}/x/no-such-page-")


def test_once_it_is_known_how_a_host_says_so_suspects_are_judged_at_once() -> None:
    host = Host(HOST)
    host.learnt = Learnt(probed=True, missing=print_of(b"another", range(20, 120)))
    suspect = reading(fingerprint=print_of(), looks_missing=True)
    fold = Folds().judge(run(), host, page(), suspect, NOTHING)
    assert fold is not None
    assert fold.reason is Why.SOFT_404
    assert fold.error == "says what this host says of pages that do not exist"


def test_a_suspect_on_a_host_that_says_404_is_a_page() -> None:
    host = Host(HOST)
    host.learnt = Learnt(probed=True)
    assert Folds().judge(run(), host, page(), reading(fingerprint=print_of(), looks_missing=True), NOTHING) is None


def test_soft_404s_can_be_left_alone() -> None:
    host = Host(HOST)
    host.learnt = Learnt(probed=True, missing=print_of())
    unwanted = run(traps=Traps(soft_404=False))
    assert Folds().judge(unwanted, host, page(), reading(fingerprint=print_of(), looks_missing=True), NOTHING) is None


MISSING = print_of(b"missing", range(100))


@pytest.mark.parametrize(
    ("fingerprint", "says_so", "missing"),
    [
        (print_of(b"missing", range(500, 600)), False, True),
        (print_of(b"other", range(2, 102)), False, True),
        (print_of(b"other", range(20, 120)), False, False),
        (print_of(b"other", range(20, 120)), True, True),
        (print_of(b"other", range(60, 160)), True, False),
        (print_of(b"other", range(0)), True, False),
    ],
)
def test_a_page_is_missing_by_its_bytes_or_its_likeness_and_less_will_do_if_it_says_so(
    fingerprint: Fingerprint, says_so: bool, missing: bool
) -> None:
    assert is_missing(Learnt(probed=True, missing=MISSING), fingerprint, says_so=says_so) is missing


def test_without_text_on_either_side_only_its_own_word_makes_a_page_missing() -> None:
    wordless = Learnt(probed=True, missing=print_of(b"missing", range(0)))
    assert is_missing(wordless, print_of(b"other", range(0)), says_so=True)
    assert not is_missing(wordless, print_of(b"other", range(0)), says_so=False)
    assert not is_missing(Learnt(probed=True), MISSING, says_so=True)


# -- because they say the same


def exact(number: int = 9) -> Twin:
    return Twin(page=number, url=f"{HOST}/first", exact=True)


def near(hashes: range, number: int = 8, path: str = "/alike") -> Twin:
    return Twin(page=number, url=HOST + path, exact=False, sketch=sketch(*hashes))


def test_a_page_with_the_same_bytes_is_folded_into_the_first_one() -> None:
    fold = Folds().judge(run(), Host(HOST), page(), reading(fingerprint=print_of()), Known(twins=(exact(),)))
    assert fold is not None
    assert (fold.reason, fold.target, fold.error) == (
        Why.DUPLICATE,
        f"{HOST}/first",
        "the same content as the target",
    )


def test_a_page_that_says_nearly_the_same_is_folded_with_how_alike_it_is() -> None:
    twins = (near(range(20, 120), 7, "/less"), near(range(2, 102)))
    fold = Folds().judge(run(), Host(HOST), page(), reading(fingerprint=print_of()), Known(twins=twins))
    assert fold is not None
    assert (fold.reason, fold.target) == (Why.NEAR_DUPLICATE, f"{HOST}/alike")
    assert fold.error == "96% the same as the target (limit 90%)"


def test_a_page_that_is_less_alike_than_the_threshold_is_one_of_its_own() -> None:
    known = Known(twins=(near(range(20, 120)),))
    assert Folds().judge(run(), Host(HOST), page(), reading(fingerprint=print_of()), known) is None
    loose = run(Folding(near_duplicates=0.6))
    assert Folds().judge(loose, Host(HOST), page(), reading(fingerprint=print_of()), known) is not None


def test_a_page_is_never_folded_into_itself() -> None:
    known = Known(twins=(exact(1), near(range(100), 1)))
    assert Folds().judge(run(), Host(HOST), page(number=1), reading(fingerprint=print_of()), known) is None


@pytest.mark.parametrize(
    ("second", "reason"),
    [(print_of(), Why.DUPLICATE), (print_of(b"other", range(2, 102)), Why.NEAR_DUPLICATE)],
)
def test_twins_that_come_within_one_commit_are_one(second: Fingerprint, reason: Why) -> None:
    folds = Folds()
    folds.completed(completed("/first", 9, print_of()))
    fold = folds.judge(run(), Host(HOST), page(), reading(fingerprint=second), NOTHING)
    assert fold is not None
    assert (fold.reason, fold.target) == (reason, f"{HOST}/first")
    folds.committed()
    assert folds.judge(run(), Host(HOST), page(), reading(fingerprint=second), NOTHING) is None


def test_sources_do_not_fold_into_each_other() -> None:
    folds = Folds()
    other = Settled(page=9, source=2, url=f"{HOST}/first", state=State.COMPLETED, fingerprint=print_of())
    folds.completed(other)
    assert folds.judge(run(), Host(HOST), page(), reading("/first", print_of()), NOTHING) is not None
    assert folds.judge(run(), Host(HOST), page(), reading(fingerprint=print_of()), NOTHING) is None


def test_stubs_are_never_folded_nor_folded_into() -> None:
    folds, stub = Folds(), print_of(stub=True)
    folds.completed(completed("/first", 9, stub))
    assert folds.judge(run(), Host(HOST), page(), reading(fingerprint=print_of()), NOTHING) is None
    folds.completed(completed("/second", 10, print_of()))
    assert folds.judge(run(), Host(HOST), page(), reading(fingerprint=stub), Known(twins=(exact(),))) is None
    assert question(run(), page(), reading(fingerprint=stub)) is None


def test_duplicates_and_near_duplicates_are_switched_off_each_for_itself() -> None:
    known = Known(twins=(exact(), near(range(100))))
    only_near = Folds().judge(
        run(Folding(duplicates=False)), Host(HOST), page(), reading(fingerprint=print_of()), known
    )
    only_exact = Folds().judge(
        run(Folding(near_duplicates=None)), Host(HOST), page(), reading(fingerprint=print_of()), known
    )
    assert only_near is not None
    assert only_near.reason is Why.NEAR_DUPLICATE
    assert only_exact is not None
    assert only_exact.reason is Why.DUPLICATE
    assert Folds().judge(run(ALL_OFF), Host(HOST), page(), reading("/real", print_of()), known) is None


def test_its_own_word_comes_before_what_it_looks_like() -> None:
    host = Host(HOST)
    host.learnt = Learnt(probed=True, missing=print_of())
    known = Known(twins=(exact(),), canonical=FoldEnd(url=f"{HOST}/real", state=State.COMPLETED))
    fold = Folds().judge(run(), host, page(), reading("/real", print_of(), looks_missing=True), known)
    assert fold is not None
    assert fold.reason is Why.CANONICAL


# -- what the store is asked


def test_the_store_is_asked_only_for_what_can_matter() -> None:
    asked = question(run(), page(), reading("/real", print_of()))
    assert asked is not None
    assert (asked.fingerprint, asked.canonical) == (print_of(), f"{HOST}/real")
    assert question(run(), page(), reading()) is None
    assert question(run(ALL_OFF), page(), reading("/real", print_of())) is None
    assert question(run(), page(), Reading(noindex=True, fingerprint=print_of())) is None
    assert question(run(), page(), Reading(refresh=f"{HOST}/x", fingerprint=print_of())) is None
