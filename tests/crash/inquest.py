"""What must be true after every death of a crawl, and at its end. Problems are sentences; none is what one hopes for.

The numbers are those of the invariants that gossamer promises to keep through any fault:
I1 one final row per URL, equal to the known answer; I2 nothing committed is lost or changed; I3 the output file is a
function of the rows; I4 fetched again is at most what was in flight; I5 and I6 politeness and robots over the server's
whole log; I9 never finished falsely; I12 a resumed crawl fetches again soon.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from math import inf
from pathlib import Path

import msgspec

from gossamer.failpoints import NAMES
from gossamer.model import Counts, EndReason, PageRecord, State
from gossamer.testing.web import Request, assert_polite, assert_retry_after, assert_robots_first, fetch_counts
from tests.crash.crawler import Crawler, Life
from tests.crash.look import Look, look

SOON = 5.0
AT_FIRST = frozenset({"migration", "robots-committed", "robots-fetched"})
"""Points that only the first lives come by."""
GUIDED = frozenset({"guide-half-listed", "guide-read"})
"""Points that only a site with sitemaps comes by."""


class Inquest(ABC):
    """Goes along with one crawl through its deaths, and adds up what they may have cost."""

    def __init__(self, crawler: Crawler, *, delay: float) -> None:
        self.crawler = crawler
        self.problems: list[str] = []
        self.first_request = 0.0
        """Seconds into the last life, if there was anything left to ask for."""
        self.delay = delay
        self.in_flight: Counter[str] = Counter()
        """How many deaths met a URL while it was being fetched."""
        self.deaths = 0
        self._last = Look()
        self._unjudged: list[tuple[float, str]] = []

    @property
    def pages(self) -> int:
        """How many it knows of."""
        return len(self._last.pages)

    # -- what depends on the site

    @property
    def points(self) -> frozenset[str]:
        """The named points that such a crawl comes by."""
        return NAMES

    @property
    @abstractmethod
    def origins(self) -> Sequence[str]: ...

    @abstractmethod
    def verdict(self, seen: Look, log: list[Request]) -> list[str]:
        """The known answer, the output and the server's log, held against what there is at the end."""

    def left(self, seen: Look) -> bool:
        """Something is left that must be asked for."""
        return not seen.pages or bool(seen.in_flight)

    def revived(self, seen: Look, failpoint: str) -> AbstractContextManager[Life]:
        """What a person would do: resume what there is, or else begin again."""
        return (self.crawler.crawl if seen.source is None else self.crawler.resume)(failpoint=failpoint)

    # -- from life to life

    def after_death(self) -> Look:
        died, seen = time.monotonic(), look(self.crawler.data)
        self.deaths += 1
        self.in_flight.update(seen.in_flight)
        self._unjudged += [(died, host) for host in self.origins if host not in seen.judged]
        self._examine(seen)
        return seen

    def next_life(self, *, failpoint: str = "") -> AbstractContextManager[Life]:
        return self.revived(self.after_death(), failpoint)

    def to_the_end(self) -> None:
        """The last life, which nobody takes."""
        with self.next_life() as life:
            life.wait()
            self.at_end(life)

    def at_end(self, life: Life) -> None:
        """The crawl has ended by itself. `life` is its last."""
        if life.wait() != 0:
            self.problems.append(f"I9 exit code {life.wait()}: {life.stderr}")
            return
        self.first_request = (life.first_request or inf) if self.left(self._last) else 0.0
        self.problems += late(self.first_request)
        seen = look(self.crawler.data)
        self._examine(seen)
        self.problems += unfinished(seen, life)
        log = self.crawler.server.requests()
        self.problems += self.verdict(seen, log)
        self.problems += too_bold(log, self._unjudged)

    def _examine(self, seen: Look) -> None:
        self.problems += seen.violations
        if seen.round == self._last.round:
            self.problems += changes(self._last.final, seen.final)
        self.problems += miscounts(seen)
        self._last = seen


def changes(before: Mapping[str, PageRecord], now: Mapping[str, PageRecord]) -> list[str]:
    """I2"""
    return [
        f"I2 {url}: was {record}, is {now.get(url, 'lost')}" for url, record in before.items() if now.get(url) != record
    ]


def miscounts(seen: Look) -> list[str]:
    """I9, and counts that add up."""
    states = Counter(page.record.state for page in seen.pages.values())
    told = msgspec.structs.replace(seen.counts, bytes=0, tokens=0)
    counted = Counts(**{state.value: states[state] for state in State})
    problems = [] if told == counted else [f"I1 the store counts {told}, but holds {counted}"]
    if seen.finished and len(seen.final) < len(seen.pages):
        problems.append("I9 the source is marked as completed, but some of its pages are not final")
    return problems


def unfinished(seen: Look, life: Life) -> list[str]:
    """I9: summary and store say that it is finished."""
    summary = life.summary
    told = summary.reason, summary.completed + summary.failed + summary.skipped, summary.pending
    if told == (EndReason.FINISHED, len(seen.pages), 0) and seen.finished:
        return []
    return [f"I9 {summary} and {seen.source} do not say that all {len(seen.pages)} pages are final"]


def late(first_request: float) -> list[str]:
    """I12"""
    return [] if first_request < SOON else [f"I12 the first request came after {first_request:.1f} s"]


def lines_of(file: Path) -> list[PageRecord]:
    return [record for record in map(_record, file.read_bytes().splitlines(keepends=True)) if record is not None]


def file_problems(file: Path, final: Mapping[str, PageRecord]) -> list[str]:
    """I3: every final page on one line, as it is in the store, and nothing else."""
    lines = file.read_bytes().splitlines(keepends=True)
    records = lines_of(file)
    often = Counter(record.url for record in records)
    half = [f"I3 half a line: {line!r}" for line in lines if _record(line) is None]
    wrong = [f"I3 {record.url}: the line is not the row" for record in records if record != final.get(record.url)]
    return half + wrong + [f"I3 {url}: {often[url]} lines" for url in often.keys() | final.keys() if often[url] != 1]


def _record(line: bytes) -> PageRecord | None:
    try:
        return msgspec.json.decode(line, type=PageRecord) if line.endswith(b"\n") else None
    except msgspec.DecodeError:
        return None


def refetches(log: Iterable[Request], wanted: Mapping[str, int], in_flight: Mapping[str, int]) -> list[str]:
    """I4: everything as often as it takes, and once more for each death that met it in flight."""
    often = fetch_counts(log)
    return [
        f"I4 {url}: fetched {often[url]} times, in flight at {in_flight.get(url, 0)} deaths"
        for url in wanted.keys() | often.keys()
        if not 1 <= often[url] <= wanted.get(url, 0) + in_flight.get(url, 0)
    ]


def haste(log: list[Request], delays: Mapping[str, float]) -> list[str]:
    """I5, I6: the delay of every host, its robots file first, and nothing before a Retry-After is over."""
    checks: list[Callable[[], None]] = [lambda: assert_robots_first(log), lambda: assert_retry_after(log)]
    checks += [partial(assert_polite, log, origin, delay=delay) for origin, delay in delays.items()]
    return [f"I5, I6 {problem}" for check in checks if (problem := failure(check))]


def too_bold(log: Iterable[Request], unjudged: Iterable[tuple[float, str]]) -> list[str]:
    """I6: a host whose robots verdict was not committed when the crawl died is asked for it again, before all else."""
    problems = []
    for died, host in unjudged:
        first = next((request for request in log if request.host == host and request.started > died), None)
        if first is not None and not first.robots:
            problems.append(f"I6 {first} without a committed verdict of robots")
    return problems


def failure(check: Callable[[], None]) -> str | None:
    try:
        check()
    except AssertionError as error:
        return str(error)
    return None
