"""How a text changed: a unified diff that is quick for any two texts.

A line of a page can be a whole paragraph, so texts are compared sentence by sentence. Lines that stand once in both
texts hold the two together, and only what lies between them is compared more closely (patience diff): that stays
near linear where a plain search for the longest match can be cubic.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

MAX_TEXT = 2_000_000
MAX_LINES = 200
_WIDTH = 100
_CONTEXT = 3
_CLOSELY = 2_500
"""Pairs of lines that are compared each with each."""
_LEVELS = 8

_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_PIECE = re.compile(rf"\S.{{0,{_WIDTH - 1}}}(?=\s|$)|\S{{1,{_WIDTH}}}")

Span = tuple[int, int, int, int]
"""Lines from and to in the one text, and in the other."""


def text_diff(before: str, after: str) -> str:
    """A unified diff of two texts; empty if they say the same. What was left out is said in its last line."""
    old, new = _lines(before[:MAX_TEXT]), _lines(after[:MAX_TEXT])
    told = [line for group in _groups(_differences(old, new)) for line in _hunk(group, old, new)]
    notes = []
    if len(told) > MAX_LINES:
        notes.append(f"\\ {len(told) - MAX_LINES:,} more lines of this diff are left out")
    if max(len(before), len(after)) > MAX_TEXT:
        notes.append(f"\\ only the first {MAX_TEXT:,} characters were compared")
    head = ["--- before", "+++ after"] if told else []
    return "\n".join([*head, *told[:MAX_LINES], *notes])


def _lines(text: str) -> list[str]:
    """Sentences, and pieces of those that are long."""
    return [piece for sentence in _SENTENCE.split(text) for piece in _PIECE.findall(sentence)]


def _differences(old: Sequence[str], new: Sequence[str]) -> Iterator[Span]:
    """Where the two differ, in order."""
    left = right = 0
    ends = (len(old), len(new))
    for i, j in [*_matches(old, new, (0, len(old), 0, len(new)), _LEVELS), ends]:
        if (i, j) != (left, right):
            yield left, i, right, j
        left, right = i + 1, j + 1


def _matches(old: Sequence[str], new: Sequence[str], span: Span, levels: int) -> Iterator[tuple[int, int]]:
    """Pairs of lines that stayed, in order."""
    left, old_end, right, new_end = span
    while left < old_end and right < new_end and old[left] == new[right]:
        yield left, right
        left, right = left + 1, right + 1
    tail = 0
    while tail < min(old_end - left, new_end - right) and old[old_end - tail - 1] == new[new_end - tail - 1]:
        tail += 1
    yield from _inner_matches(old, new, (left, old_end - tail, right, new_end - tail), levels)
    yield from ((old_end - back, new_end - back) for back in range(tail, 0, -1))


def _inner_matches(old: Sequence[str], new: Sequence[str], span: Span, levels: int) -> Iterator[tuple[int, int]]:
    left, old_end, right, new_end = span
    anchors = _anchors(old, new, span) if levels else []
    for i, j in anchors:
        yield from _matches(old, new, (left, i, right, j), levels - 1)
        yield i, j
        left, right = i + 1, j + 1
    if anchors:
        yield from _matches(old, new, (left, old_end, right, new_end), levels - 1)
    elif (old_end - left) * (new_end - right) <= _CLOSELY:
        matcher = SequenceMatcher(None, old[left:old_end], new[right:new_end], autojunk=False)
        for block in matcher.get_matching_blocks():
            yield from ((left + block.a + n, right + block.b + n) for n in range(block.size))


def _anchors(old: Sequence[str], new: Sequence[str], span: Span) -> list[tuple[int, int]]:
    """Lines that stand once on either side, as many of them as keep their order."""
    left, old_end, right, new_end = span
    here, there = Counter(old[left:old_end]), Counter(new[right:new_end])
    places = {new[j]: j for j in range(right, new_end) if there[new[j]] == 1}
    pairs = [(i, places[old[i]]) for i in range(left, old_end) if here[old[i]] == 1 and old[i] in places]
    return _longest_rise(pairs)


def _longest_rise(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest run of pairs, not necessarily neighbours, in which the second number rises as the first does."""
    tops: list[int] = []
    ends: list[int] = []
    before: list[int] = []
    for index, (_, j) in enumerate(pairs):
        pile = bisect_left(tops, j)
        tops[pile : pile + 1], ends[pile : pile + 1] = [j], [index]
        before.append(ends[pile - 1] if pile else -1)
    rise, at = [], ends[-1] if ends else -1
    while at >= 0:
        rise.append(pairs[at])
        at = before[at]
    return rise[::-1]


def _groups(differences: Iterator[Span]) -> Iterator[list[Span]]:
    """Differences that are so near to each other that their context meets."""
    group: list[Span] = []
    for span in differences:
        if group and span[0] - group[-1][1] > 2 * _CONTEXT:
            yield group
            group = []
        group.append(span)
    if group:
        yield group


def _hunk(group: Sequence[Span], old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    lead = min(_CONTEXT, group[0][0])
    trail = min(_CONTEXT, len(old) - group[-1][1])
    first, second = group[0][0] - lead, group[0][2] - lead
    yield f"@@ -{_range(first, group[-1][1] + trail)} +{_range(second, group[-1][3] + trail)} @@"
    at = first
    for left, old_end, right, new_end in group:
        yield from (f" {line}" for line in old[at:left])
        yield from (f"-{line}" for line in old[left:old_end])
        yield from (f"+{line}" for line in new[right:new_end])
        at = old_end
    yield from (f" {line}" for line in old[at : at + trail])


def _range(start: int, end: int) -> str:
    # Lines count from 1; an empty range names the line before it.
    return f"{start + 1 if end > start else start},{end - start}"
