"""What must be true after every death of a crawl, and at its end. Problems are sentences; none is what one hopes for.

The numbers are those of the invariants that gossamer promises to keep through any fault:
I1 one final row per URL, equal to the known answer; I2 nothing committed is lost or changed; I3 the output file is a
function of the rows; I4 fetched again is at most what was in flight; I5 and I6 politeness and robots over the server's
whole log; I9 never finished falsely; I12 a resumed crawl fetches again soon.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from functools import partial
from math import inf
from pathlib import Path

import msgspec

from gossamer.model import Counts, EndReason, PageRecord, State
from gossamer.testing.web import (
    Expected,
    Request,
    Web,
    assert_no_disallowed,
    assert_polite,
    assert_retry_after,
    assert_robots_first,
    differences,
    fetch_counts,
)
from tests.crash.crawler import Crawler, Life
from tests.crash.look import Look, look

SOON = 5.0
_TRIES = 3


class Inquest:
    """Goes along with one crawl through its deaths, and adds up what they may have cost."""

    def __init__(self, crawler: Crawler, *, delay: float) -> None:
        self.crawler = crawler
        self.problems: list[str] = []
        self.first_request = 0.0
        """Seconds into the last life, if there was anything left to ask for."""
        self.delay = delay
        self._last = Look()
        self._in_flight: Counter[str] = Counter()
        self._unjudged: list[tuple[float, str]] = []

    @property
    def web(self) -> Web:
        return self.crawler.server.web

    @property
    def expected(self) -> dict[str, Expected]:
        return self.web.expected(self.crawler.server.seeds)

    def after_death(self) -> Look:
        died, seen = time.monotonic(), look(self.crawler.data)
        self._in_flight.update(seen.in_flight)
        self._unjudged += [(died, host) for host in self.web.origins if host not in seen.judged]
        self._examine(seen)
        return seen

    def next_life(self, *, failpoint: str = "") -> AbstractContextManager[Life]:
        """What a person would do: resume what there is, or else begin again."""
        began = self.after_death().source is not None
        return (self.crawler.resume if began else self.crawler.crawl)(failpoint=failpoint)

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
        to_do = [url for url, each in self.expected.items() if each.status and url not in self._last.final]
        self.first_request = (life.first_request or inf) if to_do else 0.0
        self.problems += late(self.first_request)
        seen = look(self.crawler.data)
        self._examine(seen)
        self.problems += unfinished(seen, life)
        self.problems += differences(self.expected, seen.final.values())
        self.problems += file_problems(self.crawler.out, seen.final)
        log = self.crawler.server.requests()
        self.problems += fetch_problems(self.web, self.expected, log, self._in_flight)
        self.problems += impoliteness(self.web, log, self.delay)
        self.problems += too_bold(log, self._unjudged)

    def _examine(self, seen: Look) -> None:
        self.problems += seen.violations
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


def file_problems(file: Path, final: Mapping[str, PageRecord]) -> list[str]:
    """I3: every final page on one line, as it is in the store, and nothing else."""
    lines = file.read_bytes().splitlines(keepends=True)
    records = [record for record in map(_record, lines) if record is not None]
    often = Counter(record.url for record in records)
    half = [f"I3 half a line: {line!r}" for line in lines if _record(line) is None]
    wrong = [f"I3 {record.url}: the line is not the row" for record in records if record != final.get(record.url)]
    return half + wrong + [f"I3 {url}: {often[url]} lines" for url in often.keys() | final.keys() if often[url] != 1]


def _record(line: bytes) -> PageRecord | None:
    try:
        return msgspec.json.decode(line, type=PageRecord) if line.endswith(b"\n") else None
    except msgspec.DecodeError:
        return None


def fetch_problems(
    web: Web, expected: Mapping[str, Expected], log: Iterable[Request], in_flight: Mapping[str, int]
) -> list[str]:
    """I4: every page as often as it takes, and once more for each death that met it in flight."""
    often = fetch_counts(log)
    wanted = {url: tries(web, url) for url, each in expected.items() if each.status}
    wanted |= {f"{origin}/robots.txt": 1 for origin in web.origins}
    return [
        f"I4 {url}: fetched {often[url]} times, in flight at {in_flight.get(url, 0)} deaths"
        for url in wanted.keys() | often.keys()
        if not 1 <= often[url] <= wanted.get(url, 0) + in_flight.get(url, 0)
    ]


def tries(web: Web, url: str) -> int:
    """How often a page is asked for when nobody dies."""
    host, page = web.host(url), web.page(url)
    told_to_wait = host.retry_after.times if host and host.retry_after else 0
    if page is None:
        return 1 + told_to_wait
    return told_to_wait + (_TRIES if page.status >= 500 else 1 + page.failures)


def impoliteness(web: Web, log: list[Request], delay: float) -> list[str]:
    """I5 and I6"""
    checks: list[Callable[[], None]] = [
        lambda: assert_robots_first(log),
        lambda: assert_no_disallowed(log, web),
        lambda: assert_retry_after(log),
    ]
    for origin, host in zip(web.origins, web.hosts, strict=True):
        wanted = max(delay, host.robots.crawl_delay or 0.0)
        checks.append(partial(assert_polite, log, origin, delay=wanted))
    return [f"I5, I6 {problem}" for check in checks if (problem := _problem(check))]


def too_bold(log: Iterable[Request], unjudged: Iterable[tuple[float, str]]) -> list[str]:
    """I6: a host whose robots verdict was not committed when the crawl died is asked for it again, before all else."""
    problems = []
    for died, host in unjudged:
        first = next((request for request in log if request.host == host and request.started > died), None)
        if first is not None and not first.robots:
            problems.append(f"I6 {first} without a committed verdict of robots")
    return problems


def _problem(check: Callable[[], None]) -> str | None:
    try:
        check()
    except AssertionError as error:
        return str(error)
    return None
