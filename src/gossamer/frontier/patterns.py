"""Budgets for what may have no end: pages that differ by a number, or by what stands after the question mark.

Such URLs are counted by their pattern. A pattern that has used up its budget must show that it was worth it before it
gets more, and then gets as much again: a trap costs its budget once, a large archive only waits its turn. One whose
pages say hardly anything gets more only while it does not lead deeper and deeper, as calendars do.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import StrEnum
from functools import lru_cache

import msgspec

from gossamer.model import PatternRecord, Traps
from gossamer.url import path_of

MAX_PATTERNS = 256
"""Of one host. The last of them are kept for coarse ones, which hold all that has no pattern of its own."""
_COARSE_NUMBERS = 8
_COARSE_PARAMETERS = 16
_OWN_PATTERNS = MAX_PATTERNS - _COARSE_NUMBERS - _COARSE_PARAMETERS
DEEPEST_THIN = 50
"""Links from a seed, up to which a pattern with hardly a word may lead."""
_LONGEST = 160
_LONGEST_WORD = 64
_HOST = ""
"""Stands in a record for the host itself."""

_VERSION = re.compile(
    r"(?:v\d+(?:\.\d+)*(?:\.x)?|\d+(?:\.\d+)+(?:\.x)?|\d+\.x)(?:[-.]?(?:a|b|c|rc|alpha|beta|dev|pre|post|final)[-.]?\d*)?",
    re.IGNORECASE,
)
_NUMBER = re.compile(
    r"(?:[-+]?\d+(?:[-_,]\d+)*"
    r"|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
    r"|(?=[a-f]*\d)[0-9a-f]{12,})"
    r"(\.[a-z][a-z0-9]{1,4})?",
    re.IGNORECASE,
)
_NUMBER_LAST = re.compile(r"(.*[^\d])[-_]\d+(\.[a-z][a-z0-9]{1,4})?", re.IGNORECASE)
_NUMBER_FIRST = re.compile(r"\d+[-_].+")
_SCRIPT = re.compile(r".+\.(?:php\d?|aspx?|jspx?|jsf|do|action|cgi|pl|py|cfm|exe|dll)", re.IGNORECASE)
_INDEX = re.compile(r"(\[|%5B)\d+(?=\]|%5D)")


def pattern_of(url: str) -> tuple[str, bool] | None:
    """The pattern of a URL, and whether it is one of parameters; None where it has neither numbers nor parameters.

    `#` stands for a number, a date or an id, `*` for a word. The first segment and versions stand for themselves, as
    does the name of a script before parameters.
    """
    path, _, query = path_of(url).partition("?")
    segments = path.strip("/").split("/")
    shapes = [_first(segments[0]), *map(_shape, segments[1:])]
    if query:
        if _SCRIPT.fullmatch(segments[-1]):
            shapes[-1] = segments[-1][-_LONGEST_WORD:]
        return f"/{'/'.join(shapes)[:_LONGEST]}?{'&'.join(_names(query))[:_LONGEST]}", True
    pattern = f"/{'/'.join(shapes)}"
    return (pattern[:_LONGEST], False) if "#" in pattern else None


def _names(query: str) -> list[str]:
    return sorted({_INDEX.sub(r"\1#", pair.partition("=")[0]) for pair in query.split("&")})


@lru_cache(maxsize=8_192)
def _shape(segment: str) -> str:
    if match := _NUMBER.fullmatch(segment):
        return f"#{match[1] or ''}"
    if _VERSION.fullmatch(segment):
        return segment[:_LONGEST_WORD]
    if match := _NUMBER_LAST.fullmatch(segment):
        return f"*-#{match[2] or ''}"
    return "#-*" if _NUMBER_FIRST.fullmatch(segment) else "*"


def _first(segment: str) -> str:
    shape = _shape(segment)
    if shape.startswith("*-#"):
        word = segment.removesuffix(shape[3:]).rstrip("0123456789")[:-1]
        return f"{word[:_LONGEST_WORD]}{shape[1:]}"
    return segment[:_LONGEST_WORD] if shape == "*" else shape


def _coarse(pattern: str, is_query: bool) -> str:
    """Where there are too many patterns: by how many numbers a path has, or how many parameters a query."""
    if is_query:
        return "**?" + "&".join("*" * min(pattern.count("&") + 1, _COARSE_PARAMETERS))
    return "**" + "/#" * min(pattern.count("#"), _COARSE_NUMBERS)


class Worth(StrEnum):
    """What a page of a pattern brought."""

    USEFUL = "useful"
    """Something new to read."""
    THIN = "thin"
    """Hardly a word, but its own."""
    USELESS = "useless"
    """It is another page, or none."""


class Ruling(StrEnum):
    EXTEND = "extend"
    """There is room again: admit the page."""
    WAIT = "wait"
    """Room was made since the source ran dry, and is used up: what it brings decides."""
    REFUSE = "refuse"


class Verdict(msgspec.Struct, frozen=True):
    ruling: Ruling
    text: str = ""
    """Why, where it is a refusal."""


class _Tally:
    __slots__ = ("admitted", "allowed", "extended", "name", "promised", "thin", "useful", "useless")

    def __init__(self, name: str, allowed: int, record: PatternRecord | None = None) -> None:
        self.name = name
        self.allowed = max(allowed, record.allowed) if record else allowed
        self.admitted = record.admitted if record else 0
        self.useful = record.useful if record else 0
        self.useless = record.useless if record else 0
        self.thin = record.thin if record else 0
        self.extended: int | None = None
        """When the source had run dry so many times."""
        self.promised = 0
        """Pages that were told, since then, that there is room for them."""

    @property
    def full(self) -> bool:
        return self.admitted >= self.allowed

    @property
    def settled(self) -> int:
        return self.useful + self.useless + self.thin

    @property
    def proven(self) -> bool:
        """Worth more without a doubt: most of what may be fetched was, and most of that is good to read."""
        return 4 * self.settled >= 3 * self.allowed and self.useful >= self.useless + self.thin

    def worthy(self, depth: int, thin_budget: int) -> bool:
        if self.useful + self.thin < max(self.useless, 1):
            return False
        return self.useful >= self.thin or (depth <= DEEPEST_THIN and self.allowed < thin_budget)

    @property
    def text(self) -> str:
        what = f"the pattern {self.name}" if self.name else "the host"
        return f"{what} brought new content with {self.useful} of {self.settled} pages (budget {self.allowed})"

    def count(self, worth: Worth) -> None:
        setattr(self, worth, getattr(self, worth) + 1)

    def ruling(self, dry: int, depth: int, thin_budget: int) -> Ruling:
        if self.extended != dry:
            if self.full and not self.worthy(depth, thin_budget):
                return Ruling.REFUSE
            self.allowed *= 2 if self.full else 1
            self.extended, self.promised = dry, 0
        if self.admitted + self.promised >= self.allowed:
            return Ruling.WAIT
        self.promised += 1
        return Ruling.EXTEND


class Patterns:
    """The patterns of one host in one source."""

    def __init__(self, source: int, host: str, limits: Traps, records: Iterable[PatternRecord] = ()) -> None:
        self.source = source
        self.host = host
        self.limits = limits
        self.dirty: set[str] = set()
        """Patterns to `collect`."""
        self._host = _Tally(_HOST, limits.host_budget)
        self._tallies: dict[str, _Tally] = {}
        self._own = 0
        self._looked_up: tuple[str, tuple[str, bool] | None] = ("", None)
        for record in records:
            self._restore(record)

    def _restore(self, record: PatternRecord) -> None:
        if record.pattern == _HOST:
            self._host = _Tally(_HOST, self.limits.host_budget, record)
            self._host.allowed = self.limits.host_budget
        else:
            self._keep(_Tally(record.pattern, self._budget("?" in record.pattern), record))

    def __len__(self) -> int:
        return len(self._tallies)

    def admit(self, url: str) -> bool:
        """Count a page in that is to be fetched. False where there is no room for it; then nothing was counted."""
        tally = self._tally(url)
        if tally is not None and tally.full and tally.proven:
            tally.allowed *= 2
        if self._host.full or (tally is not None and tally.full):
            return False
        for each in (self._host, tally):
            if each is not None:
                each.admitted += 1
        self._touch(tally)
        return True

    def settled(self, url: str, worth: Worth) -> None:
        """A page that was admitted is final."""
        tally = self._tally(url)
        for each in (self._host, tally):
            if each is not None:
                each.count(worth)
        self._touch(tally)

    def verdict(self, url: str, depth: int, dry: int) -> Verdict:
        """What becomes of a page that found no room, now that the source has run dry for the `dry`th time.

        A pattern is extended at most once each time, so that what the new pages bring is known before there are more.
        """
        tally = self._tally(url)
        if self._host.full:
            return Verdict(Ruling.REFUSE, self._host.text)
        if tally is None:
            return Verdict(Ruling.EXTEND)
        ruling = tally.ruling(dry, depth, self.limits.thin_budget)
        if ruling is Ruling.REFUSE:
            return Verdict(ruling, tally.text)
        self._touch(tally)
        return Verdict(ruling)

    def collect(self) -> list[PatternRecord]:
        """What changed since the last time, to be committed."""
        dirty, self.dirty = self.dirty, set()
        return [self._record(self._tallies.get(name, self._host)) for name in sorted(dirty)]

    def _record(self, tally: _Tally) -> PatternRecord:
        return PatternRecord(
            source=self.source,
            host=self.host,
            pattern=tally.name,
            admitted=tally.admitted,
            allowed=tally.allowed,
            useful=tally.useful,
            useless=tally.useless,
            thin=tally.thin,
        )

    def _touch(self, tally: _Tally | None) -> None:
        self.dirty.add(_HOST)
        if tally is not None:
            self._keep(tally)
            self.dirty.add(tally.name)

    def _keep(self, tally: _Tally) -> None:
        if tally.name not in self._tallies:
            self._tallies[tally.name] = tally
            # Coarse ones do not begin with a slash.
            self._own += tally.name.startswith("/")

    def _tally(self, url: str) -> _Tally | None:
        """The tally of a URL: one of its own, or else, when there are too many, a coarse one."""
        if url != self._looked_up[0]:
            # A page that is judged is mostly let in the next moment.
            self._looked_up = url, pattern_of(url)
        found = self._looked_up[1]
        if found is None:
            return None
        pattern, is_query = found
        if pattern not in self._tallies and self._own >= _OWN_PATTERNS:
            pattern = _coarse(pattern, is_query)
        return self._tallies.get(pattern) or _Tally(pattern, self._budget(is_query))

    def _budget(self, is_query: bool) -> int:
        return self.limits.query_budget if is_query else self.limits.path_budget
