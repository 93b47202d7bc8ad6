"""URLs that give a trap away by their looks: they repeat themselves, grow, or lead into dates that nobody has lived.

What looks innocent and still never ends is for `patterns`. Nothing here knows a site; every rule must therefore spare
what real sites do, and the tests name what was thought of.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from gossamer.model import Traps, Why

MAX_NAMESAKES = 4
"""Parameters of one name; lists (`size[]`) may have more."""
MAX_ESCAPES = 2
"""Times that something may be percent-encoded: a link in a link, but not a link in a link in a link."""
_LONGEST_RUN = 4
_DAY = 86_400.0
_LAST_MOMENT = datetime(9999, 12, 31, tzinfo=UTC).timestamp()

_NUMBER = re.compile(r"[-+]?\d[\d.,]*")
_ESCAPES = re.compile(r"%(?:25)+")
_LISTED = re.compile(r"/|%2F|,|%2C")

_DATE = re.compile(
    r"(?P<before>[/=])(?P<year>\d{4})"
    r"(?:(?P<between>[-/]|%2F)(?P<month>\d{1,2})"
    r"(?:(?P=between)(?P<day>\d{1,2})(?=$|[/?&.T_+%-])|(?=$|[/?&]))"
    r"|(?P<compact>\d{4})(?=$|[/?&.]))"
)
_CALENDAR = re.compile(
    r"(?<![a-z])(?:cal|calendar|calendrier|calendario|kalender|agenda|schedule|diary|date|day|week|month|year)s?(?![a-z])",
    re.IGNORECASE,
)
_DATE_NAME = re.compile(
    r"date|day|week|month|year|calendar|kalender|from|until|since|start|end|begin|before|after", re.IGNORECASE
)
_YEAR = re.compile(r"(?:year|jahr|(?<![a-z])yr?)=(\d{4})(?=$|&)", re.IGNORECASE)
_MONTH = re.compile(r"(?:month|monat|(?<![a-z])mo?n?)=(\d{1,2})(?=$|&)", re.IGNORECASE)

Date = tuple[int, int, int]
"""Year, month and day; the day is 0 where only the month is told."""

EARLIEST = 1800
"""The first year of dates: newspapers have put their archives online from about then on."""


class TrapJudge:
    def __init__(self, limits: Traps) -> None:
        self.limits = limits

    def refusal(self, url: str, wall: float) -> tuple[Why, str] | None:
        """The rule that a URL breaks, in words; None where it breaks none."""
        path, _, query = url.partition("?")
        text = self._path(path) or (self._query(query) if query else None)
        if text is None and "%25" in url:
            text = _escaped(url)
        if text is None and (date := _DATE.search(url, 8)) is not None:
            text = self._dates(_dates(url, date.start()), wall)
        if text is None and query and (year := _YEAR.search(query)) is not None:
            text = self._dates(_told_apart(year[1], query), wall)
        return None if text is None else (Why.TRAP, text)

    def _path(self, path: str) -> str | None:
        segments = path.split("/")[3:]
        if not segments[-1]:
            segments.pop()
        if len(segments) > self.limits.max_segments:
            return f"has {len(segments)} path segments (limit {self.limits.max_segments})"
        return self._repeats(segments, "segment")

    def _query(self, query: str) -> str | None:
        # A question mark in a query begins that of a link inside; `amp;` was escaped once more with every step.
        pairs = [pair for pair in query.replace("?", "&").replace("amp;", "").split("&") if pair]
        if len(pairs) > self.limits.max_parameters:
            return f"has {len(pairs)} parameters (limit {self.limits.max_parameters})"
        return self._namesakes(pairs) or (self._values(pairs) if _LISTED.search(query) else None)

    def _namesakes(self, pairs: list[str]) -> str | None:
        limit = self.limits.max_repeats
        if 2 <= limit <= 1 + len(pairs) - len(set(pairs)):
            pair, times = Counter(pairs).most_common(1)[0]
            if times >= limit:
                return f'repeats the parameter "{_short(pair)}" {times} times (limit {limit})'
        if len(pairs) > MAX_NAMESAKES:
            name, times = _most_frequent([pair.partition("=")[0] for pair in pairs])
            if times > MAX_NAMESAKES:
                return f'has the parameter "{_short(name)}" {times} times (limit {MAX_NAMESAKES})'
        return None

    def _values(self, pairs: list[str]) -> str | None:
        for pair in pairs:
            items = [item for item in _LISTED.split(pair.partition("=")[2]) if item]
            if (text := self._repeats(items, "value")) is not None:
                return text
        return None

    def _repeats(self, items: Sequence[str], noun: str) -> str | None:
        limit = self.limits.max_repeats
        # A run that stands there so many times leaves at least one double for every time but the first.
        if not 2 <= limit <= 1 + len(items) - len(set(items)):
            return None
        for run, times in _runs(items):
            if times >= limit and not all(map(_NUMBER.fullmatch, run)):
                what = noun if len(run) == 1 else f"{noun}s"
                return f'repeats the {what} "{_short("/".join(run))}" {times} times in a row (limit {limit})'
        return None

    def _dates(self, dates: Iterator[Date], wall: float) -> str | None:
        latest = datetime.fromtimestamp(min(wall + self.limits.max_future, _LAST_MOMENT), UTC)
        for date in dates:
            if date > (latest.year, latest.month, latest.day):
                return f"names the date {_spelt(date)}, further ahead than {self.limits.max_future / _DAY:g} days"
            if date[0] < EARLIEST:
                return f"names the date {_spelt(date)}, before {EARLIEST}"
        return None


def _runs(items: Sequence[str]) -> Iterator[tuple[Sequence[str], int]]:
    """Every run of 1 to 4 items that is repeated in a row, with how often it stands there; short ones first."""
    for length in range(1, min(_LONGEST_RUN, len(items) // 2) + 1):
        same = 0
        for at in range(length, len(items) + 1):
            if at < len(items) and items[at] == items[at - length]:
                same += 1
            elif same:
                start = at - same - length
                yield items[start : start + length], same // length + 1
                same = 0


def _most_frequent(names: list[str]) -> tuple[str, int]:
    if len(names) - len(set(names)) < MAX_NAMESAKES:
        return "", 0
    counts = Counter(name for name in names if not name.endswith(("[]", "%5B%5D")))
    return max(counts.items(), key=lambda item: item[1], default=("", 0))


def _escaped(url: str) -> str | None:
    times = max(len(match) for match in _ESCAPES.findall(url)) // 2 + 1
    return f"is percent-encoded {times} times over (limit {MAX_ESCAPES})" if times > MAX_ESCAPES else None


def _dates(url: str, start: int) -> Iterator[Date]:
    mark = url.find("?")
    for match in _DATE.finditer(url, start):
        date = _date_in_query(url, match) if 0 <= mark < match.start() else _date_in_path(url, match)
        if date is not None:
            yield date


def _date_in_path(url: str, match: re.Match[str]) -> Date | None:
    """A date where the path speaks of a calendar, or where it can hardly be anything else: numbers are mostly ids,
    eight digits may well be one, and a single digit after one is a page of it."""
    if match["before"] == "=":
        return None
    plain = match["month"] is not None and len(match["month"]) == 2 and _likely(match["year"])
    return _date(match) if plain or _CALENDAR.search(url, 8, match.start()) else None


def _date_in_query(url: str, match: re.Match[str]) -> Date | None:
    if match["before"] == "/":
        return None
    name = url[max(url.rfind("&", 0, match.start()), url.rfind("?", 0, match.start())) + 1 : match.start()]
    plain = match["day"] is not None and len(match["month"]) == 2 and _likely(match["year"])
    return _date(match) if plain or _DATE_NAME.search(name) else None


def _date(match: re.Match[str]) -> Date | None:
    year, compact = int(match["year"]), match["compact"]
    month, day = (compact[:2], compact[2:]) if compact else (match["month"], match["day"] or "0")
    valid = 1 <= int(month) <= 12 and int(day) <= 31 and not (compact and day == "00")
    return (year, int(month), int(day)) if valid else None


def _likely(year: str) -> bool:
    return "1900" <= year < "2200"


def _told_apart(year: str, query: str) -> Iterator[Date]:
    """`year=2031&month=4`. A year alone may be that of a film."""
    month = _MONTH.search(query)
    if month is not None and 1 <= int(month[1]) <= 12 and _likely(year):
        yield int(year), int(month[1]), 0


def _spelt(date: Date) -> str:
    year, month, day = date
    return f"{year:04}-{month:02}" + (f"-{day:02}" if day else "")


def _short(text: str, limit: int = 60) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
