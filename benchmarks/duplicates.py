"""How well near duplicates are found, and at what cost.

A set of made-up pages, the same on every machine: prose by word frequency, 50 to 1,500 words, with the furniture of a
site around it. Each is there several times with a known edit. The truth is the share of runs of three words that two
texts really have in common; the search is that of the crawl: pages that share a key, then the likeness of the
sketches.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import random
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from statistics import fmean
from typing import TypeVar

from benchmarks.lookups import print_lookups
from benchmarks.site import GLUE
from gossamer.model import Fingerprint
from gossamer.parse import html
from gossamer.parse.fingerprint import fingerprint
from gossamer.parse.text import main_part, said

SEED = 20_260_516
THRESHOLDS = (0.8, 0.9, 0.95)
ROUNDS = 5
CANDIDATES = 16
"""As many as the store gives for one page."""

T = TypeVar("T")
Prose = list[list[str]]
"""The paragraphs of a page, each a list of words. The first one is a line with a date and a counter."""


class Language:
    """The small words of English, then made-up ones of one to four syllables; the n-th is about n times as rare as
    the first."""

    def __init__(self, size: int = 8_000) -> None:
        rng = random.Random(SEED)
        syllables = [a + b for a in (*"bdfgklmnprstvz", "st", "tr") for b in (*"aeiou", "an", "er")]
        words = ("".join(rng.choices(syllables, k=1 + rank % 4)) for rank in itertools.count())
        made = dict.fromkeys([*GLUE, *itertools.islice(words, 4 * size)])
        self._words = list(itertools.islice(made, size))
        self._weights = list(itertools.accumulate(1 / (rank + 3) for rank in range(len(self._words))))

    def words(self, rng: random.Random, count: int) -> list[str]:
        return rng.choices(self._words, cum_weights=self._weights, k=count)

    def paragraph(self, rng: random.Random, count: int) -> list[str]:
        words = self.words(rng, count)
        start = 0
        while start < count:
            end = min(start + rng.randint(6, 20), count) - 1
            words[start] = words[start].capitalize()
            words[end] += "."
            start = end + 1
        return words


LANGUAGE = Language()


def _text(tree: html.Tree) -> str:
    return said(main_part(tree))


@dataclass(frozen=True)
class Page:
    edit: str
    title: str
    prose: Prose

    @cached_property
    def markup(self) -> str:
        menu = "".join(f"<li><a href='/part/{number}'>Part {number}</a></li>" for number in range(40))
        blocks = "\n".join(f"<p>{' '.join(words)}</p>" for words in self.prose)
        return (
            f"<!doctype html><html lang=x><head><title>{self.title} - A site</title></head><body>"
            f"<header><a href='/'>A site</a></header><nav><ul>{menu}</ul></nav>\n"
            f"<main><h1>{self.title}</h1>\n{blocks}\n</main>\n"
            "<footer>All of it is made up, and none of it is protected by any law.</footer></body></html>"
        )

    @cached_property
    def shingles(self) -> set[tuple[str, str, str]]:
        """Of the words as they were made, not as they were read."""
        words = [word.lower() for word in itertools.chain([self.title], *self.prose)]
        return set(zip(words, words[1:], words[2:], strict=False))

    @cached_property
    def fingerprint(self) -> Fingerprint:
        return fingerprint(self.markup.encode(), _text(html.parse(self.markup)))

    def likeness(self, other: Page) -> float:
        return len(self.shingles & other.shingles) / len(self.shingles | other.shingles)


Family = list[Page]
"""A page, what became of it by each edit, and one that has nothing to do with it."""


def _line(rng: random.Random) -> list[str]:
    return f"Updated {rng.randint(1, 28)} May, read {rng.randint(2, 99_999)} times.".split()


def _write(rng: random.Random) -> Prose:
    """As many short pages as long ones."""
    left = int(50 * 30 ** rng.random())
    prose = [_line(rng)]
    while left > 0:
        count = min(left, rng.randint(20, 90))
        prose.append(LANGUAGE.paragraph(rng, count))
        left -= count
    return prose


def _unchanged(_: random.Random, prose: Prose) -> Prose:
    return prose


def _recounted(rng: random.Random, prose: Prose) -> Prose:
    return [_line(rng), *prose[1:]]


def _replaced(share: float) -> Callable[[random.Random, Prose], Prose]:
    def edit(rng: random.Random, prose: Prose) -> Prose:
        places = [(row, column) for row, words in enumerate(prose) for column in range(len(words))]
        edited = [list(words) for words in prose]
        for row, column in rng.sample(places, max(1, round(share * len(places)))):
            edited[row][column] = LANGUAGE.words(rng, 1)[0]
        return edited

    return edit


def _removed(rng: random.Random, prose: Prose) -> Prose:
    gone = rng.randrange(1, len(prose))
    return [*prose[:gone], *prose[gone + 1 :]]


def _added(rng: random.Random, prose: Prose) -> Prose:
    place = rng.randint(1, len(prose))
    return [*prose[:place], LANGUAGE.paragraph(rng, rng.randint(20, 90)), *prose[place:]]


def _moved(rng: random.Random, prose: Prose) -> Prose:
    rest = list(prose)
    paragraph = rest.pop(rng.randrange(1, len(rest)))
    rest.insert(rng.randint(1, len(rest)), paragraph)
    return rest


def _unrelated(rng: random.Random, _: Prose) -> Prose:
    return _write(rng)


EDITS: dict[str, Callable[[random.Random, Prose], Prose]] = {
    "exact copy": _unchanged,
    "date and counter changed": _recounted,
    "1 % of the words replaced": _replaced(0.01),
    "2 % of the words replaced": _replaced(0.02),
    "5 % of the words replaced": _replaced(0.05),
    "10 % of the words replaced": _replaced(0.10),
    "20 % of the words replaced": _replaced(0.20),
    "a paragraph removed": _removed,
    "a paragraph added": _added,
    "a paragraph moved": _moved,
    "another page of the site": _unrelated,
}


def make_family(number: int) -> Family:
    rng = random.Random(f"{SEED}/{number}")
    prose, title = _write(rng), LANGUAGE.words(rng, 1)[0].capitalize()
    edited = [Page(edit, title, change(rng, prose)) for edit, change in EDITS.items()]
    return [Page("", title, prose), *edited]


class Index:
    """What the crawl asks the store for, in memory."""

    def __init__(self) -> None:
        self._bodies: dict[bytes, int] = {}
        self._bands: defaultdict[int, list[int]] = defaultdict(list)

    def add(self, page: int, print_: Fingerprint) -> None:
        self._bodies.setdefault(print_.body, page)
        for band in print_.bands:
            self._bands[band].append(page)

    def candidates(self, print_: Fingerprint) -> Iterator[int]:
        meeting = dict.fromkeys(itertools.chain.from_iterable(self._bands.get(band, ()) for band in print_.bands))
        yield from itertools.islice(meeting, CANDIDATES)
        if print_.body in self._bodies:
            yield self._bodies[print_.body]


def find_pairs(pages: Sequence[Page], threshold: float) -> set[tuple[int, int]]:
    """Each page is compared with those before it, as if they came from a crawl one by one."""
    index, found = Index(), set()
    for number, page in enumerate(pages):
        for other in index.candidates(page.fingerprint):
            same = pages[other].fingerprint
            if same.body == page.fingerprint.body or page.fingerprint.similarity(same.sketch) >= threshold:
                found.add((other, number))
        index.add(number, page.fingerprint)
    return found


@dataclass(frozen=True)
class Verdict:
    threshold: float
    alike: int
    """Pairs that are."""
    found: int
    """Pairs that are said to be."""
    right: int
    """Pairs that are and are said to be."""
    lowest: float
    """What the least like of those found really have in common."""

    @property
    def precision(self) -> float:
        return self.right / self.found

    @property
    def recall(self) -> float:
        return self.right / self.alike


def judge(families: Sequence[Family], threshold: float, margin: float = 0.0) -> Verdict:
    """All pairs within a family, and all that were found anywhere; but not those within `margin` of the threshold.

    Across families nothing is alike: no two of them share a paragraph."""
    pages = list(itertools.chain.from_iterable(families))
    found = find_pairs(pages, threshold)
    truth = {pair: pages[pair[0]].likeness(pages[pair[1]]) for pair in found | set(_kin(families))}
    clear = {pair for pair, likeness in truth.items() if abs(likeness - threshold) >= margin}
    alike = {pair for pair in clear if truth[pair] >= threshold}
    return Verdict(
        threshold=threshold,
        alike=len(alike),
        found=len(found & clear),
        right=len(found & alike),
        lowest=min(truth[pair] for pair in found),
    )


def _kin(families: Iterable[Family]) -> Iterator[tuple[int, int]]:
    start = 0
    for family in families:
        yield from itertools.combinations(range(start, start + len(family)), 2)
        start += len(family)


def print_verdicts(families: Sequence[Family]) -> None:
    print(f"{'':<12}{'all pairs':>46}{'not within 0.03':>20}")
    print(
        f"{'threshold':<12}{'alike':>8}{'found':>8}{'precision':>11}{'recall':>8}{'lowest':>11}{'precision':>12}{'recall':>8}"
    )
    for threshold in THRESHOLDS:
        every, clear = judge(families, threshold), judge(families, threshold, margin=0.03)
        print(
            f"{threshold:<12}{every.alike:>8}{every.found:>8}{every.precision:>11.3f}{every.recall:>8.3f}"
            f"{every.lowest:>11.3f}{clear.precision:>12.3f}{clear.recall:>8.3f}"
        )


def print_edits(families: Sequence[Family]) -> None:
    """How the pages that were edited in one way fare against the page that they come from."""
    print(f"{'edit':<30}{'true likeness':>14}{'estimate':>10}" + "".join(f"{f'at {t}':>10}" for t in THRESHOLDS))
    met = {
        threshold: find_pairs([page for family in families for page in family], threshold) for threshold in THRESHOLDS
    }
    for place, edit in enumerate(EDITS, start=1):
        pairs = [(family[0], family[place]) for family in families]
        true = fmean(one.likeness(other) for one, other in pairs)
        estimate = fmean(one.fingerprint.similarity(other.fingerprint.sketch) for one, other in pairs)
        size = len(EDITS) + 1
        shares = [fmean((size * n, size * n + place) in met[t] for n in range(len(families))) for t in THRESHOLDS]
        print(f"{edit:<30}{true:>14.3f}{estimate:>10.3f}" + "".join(f"{share:>10.1%}" for share in shares))


def print_cost(families: Sequence[Family]) -> None:
    """The best of a few rounds: others may be using the machine."""
    pages = [page for family in families[:100] for page in family]
    words = fmean(len(page.shingles) for page in pages)
    texts = [_text(html.parse(page.markup)) for page in pages]
    prints = [page.fingerprint for page in pages]
    # Reading the text takes the tree to pieces.
    read = min(_spent(_text, [html.parse(page.markup) for page in pages]) for _ in range(ROUNDS))
    printed = min(_spent(partial(fingerprint, b""), texts) for _ in range(ROUNDS))
    compared = min(_spent(prints[0].similarity, [print_.sketch for print_ in prints]) for _ in range(ROUNDS))
    print(f"per page of {words:.0f} words on average: text {read * 1e6:.0f} µs, fingerprint {printed * 1e6:.0f} µs")
    print(f"fingerprint per 1,000 words: {printed / words * 1e9:.0f} µs; one comparison: {compared * 1e6:.0f} µs")


def _spent(job: Callable[[T], object], items: Sequence[T]) -> float:
    """CPU seconds for each."""
    began = time.process_time()
    for item in items:
        job(item)
    return (time.process_time() - began) / len(items)


def compare(count: int) -> None:
    families = [make_family(number) for number in range(count)]
    for part in (print_verdicts, print_edits, print_cost):
        part(families)
        print()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=6_000, help="that are made up and compared")
    parser.add_argument("--stored", type=int, default=1_000_000, help="the most pages in the store; 0: none")
    options = parser.parse_args()
    compare(options.pages // (len(EDITS) + 1))
    asyncio.run(print_lookups(options.stored))


if __name__ == "__main__":
    main()
