"""How a text changed, told line by line."""

from __future__ import annotations

import re
from difflib import SequenceMatcher

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.parse.diff import MAX_LINES, MAX_TEXT, text_diff

LINES = st.lists(st.sampled_from(["a", "b", "c", "d", "e", "f", "g"]), max_size=30)


def apply(old: list[str], told: str) -> list[str]:
    """What a patch tool makes of it: every line that stays or goes must be there."""
    made, at = [], 0
    for line in told.splitlines()[2:]:
        if line.startswith("@@"):
            found = re.match(r"@@ -(\d+),(\d+) \+(\d+),(\d+) @@", line)
            assert found
            start = int(found[1]) - (1 if int(found[2]) else 0)
            made += old[at:start]
            at = start
            assert len(made) == int(found[3]) - (1 if int(found[4]) else 0)
            continue
        if line[0] in " -":
            assert old[at] == line[1:]
            at += 1
        if line[0] in " +":
            made.append(line[1:])
    return made + old[at:]


@given(LINES, LINES)
def test_a_diff_applied_to_the_old_text_gives_the_new_one(old: list[str], new: list[str]) -> None:
    told = text_diff("\n".join(old), "\n".join(new))
    assert (told == "") is (old == new)
    assert apply(old, told) == new


def test_a_changed_sentence_shows_with_what_stands_around_it() -> None:
    text = "One. Two. Three. Four. Five. Six. Seven. Eight. Nine."
    told = text_diff(text, text.replace("Five", "5"))
    assert told.splitlines() == [
        "--- before", "+++ after", "@@ -2,7 +2,7 @@", " Two.", " Three.", " Four.", "-Five.", "+5.", " Six.", " Seven.",
        " Eight.",
    ]  # fmt: skip


def test_changes_far_from_each_other_are_hunks_of_their_own() -> None:
    lines = [f"line {number}" for number in range(100)]
    changed = ["new first", *lines[1:-1], "new last"]
    told = text_diff("\n".join(lines), "\n".join(changed))
    assert told.count("@@ -") == 2
    assert len(told.splitlines()) == 2 + 2 * (1 + 2 + 3)


def test_a_paragraph_that_was_moved_is_all_that_shows() -> None:
    lines = [f"line {number}" for number in range(1000)]
    moved = [*lines[1:900], lines[0], *lines[900:]]
    told = text_diff("\n".join(lines), "\n".join(moved)).splitlines()
    assert [line for line in told if line[0] in "-+"] == ["--- before", "+++ after", "-line 0", "+line 0"]


def test_long_lines_are_broken_between_words_and_words_that_are_longer_wherever_they_must() -> None:
    told = text_diff("", "word " * 50 + "x" * 250)
    added = [line[1:] for line in told.splitlines()[3:]]
    assert max(map(len, added)) <= 100
    assert " ".join(added[:-3]) == "word " * 49 + "word"
    assert "".join(added[-3:]) == "x" * 250


def test_a_long_diff_is_cut_and_says_so() -> None:
    told = text_diff("", "\n".join(map(str, range(1000)))).splitlines()
    assert len(told) == 2 + MAX_LINES + 1
    assert told[-1] == "\\ 801 more lines of this diff are left out"


def test_texts_that_are_too_long_are_compared_as_far_as_it_goes_and_it_says_so() -> None:
    text = "some words. " * (MAX_TEXT // 12 + 10)
    assert text_diff(text, text + "more") == f"\\ only the first {MAX_TEXT:,} characters were compared"


def shuffled(count: int, kinds: int, step: int) -> str:
    return "\n".join(f"line {number * step % kinds}" for number in range(count))


@pytest.mark.parametrize("kinds", [2, 300, 5000, 49_999])
def test_no_two_texts_are_compared_line_by_line_for_long(kinds: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts of many lines that repeat, in another order: what makes a plain comparison cubic."""
    compared = 0

    def counting(junk: None, old: list[str], new: list[str], autojunk: bool) -> object:
        nonlocal compared
        compared += len(old) * len(new)
        return SequenceMatcher(junk, old, new, autojunk=autojunk)

    monkeypatch.setattr("gossamer.parse.diff.SequenceMatcher", counting)
    text_diff(shuffled(50_000, kinds, 7), shuffled(50_000, kinds, 11))
    assert compared <= 50_000 * 100
