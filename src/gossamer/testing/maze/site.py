"""What a maze is made of: spots that stand still, and parts that are made up as they are asked for."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable, Iterator
from enum import StrEnum
from html import escape
from itertools import repeat

import msgspec

from gossamer.testing.maze.judge import Case
from gossamer.testing.web.protocol import Answer
from gossamer.testing.web.render import answer_bytes
from gossamer.testing.web.site import Where


class Section(StrEnum):
    """What a maze may have besides ordinary pages."""

    CANONICAL = "canonical"
    REDIRECTS = "redirects"
    DUPLICATES = "duplicates"
    NEAR_DUPLICATES = "near-duplicates"
    SIMILAR = "similar"
    SESSIONS = "sessions"
    PARAMETER_ORDER = "parameter-order"
    PARAMETERS = "parameters"
    CALENDAR = "calendar"
    DAYS = "days"
    REPEATS = "repeats"
    GROWING = "growing"
    LONG = "long"
    DESCENT = "descent"
    NUMBERS = "numbers"
    SOFT_404 = "soft-404"
    ARCHIVE = "archive"
    VERSIONS = "versions"
    LISTS = "lists"
    DEEP = "deep"
    LLMS = "llms"


EVERY_SECTION = frozenset(Section)
TRAPS = frozenset(
    {
        Section.CALENDAR,
        Section.DAYS,
        Section.REPEATS,
        Section.GROWING,
        Section.LONG,
        Section.DESCENT,
        Section.NUMBERS,
        Section.SOFT_404,
    }
)
FOLDS = frozenset(
    {
        Section.CANONICAL,
        Section.REDIRECTS,
        Section.DUPLICATES,
        Section.NEAR_DUPLICATES,
        Section.SESSIONS,
        Section.PARAMETER_ORDER,
    }
)
BAIT = EVERY_SECTION - TRAPS - FOLDS
"""What looks like a trap, or like a twin, and is none: all of it real."""


class Sitemap(StrEnum):
    """How the site lists its pages. All but the first two are named in robots.txt."""

    NONE = "none"
    WELL_KNOWN = "well-known"
    ROBOTS = "robots"
    INDEX = "index"
    """An index that names an index that names the files."""
    GZIP = "gzip"
    TEXT = "text"
    RSS = "rss"
    ATOM = "atom"
    HREFLANG = "hreflang"
    """Some pages stand there as alternates only."""
    LOOP = "loop"
    """Two indices that name each other, and a file."""
    BROKEN = "broken"
    """All entries are complete, and then the file breaks off."""
    SLOW = "slow"
    ENDLESS = "endless"
    """After all entries it names the same pages again, for ever."""
    ENDLESS_INDEX = "endless-index"
    """An index that names a file and a further index, for ever."""
    ALL = "all"
    """One file of each kind, and the pages spread over them."""


class Spot(msgspec.Struct, frozen=True, kw_only=True):
    """A page or a file. `$ORIGIN` in links and bodies becomes the origin of its host."""

    title: str = ""
    text: str = ""
    """The main text."""
    links: tuple[str, ...] = ()
    """As they are written, outside the main text."""
    canonical: str | None = None
    canonical_in: Where = Where.META
    status: int = 200
    location: str | None = None
    body: bytes | None = None
    """Instead of title, text and links."""
    content_type: str = "text/html; charset=utf-8"
    gzipped: bool = False
    """The file itself is; no Content-Encoding says so."""
    filler: bytes = b""
    """Follows the body for ever."""
    delay: float = 0.0

    def answer(self, origin: str) -> Answer:
        body = (_html(self).encode() if self.body is None else self.body).replace(b"$ORIGIN", origin.encode())
        if self.gzipped:
            body = gzip.compress(body, 6, mtime=0)
        headers = [(name, value.replace("$ORIGIN", origin)) for name, value in self._headers()]
        if not self.filler:
            return Answer(status=self.status, data=answer_bytes(self.status, headers, body), delay=self.delay)
        filler = self.filler.replace(b"$ORIGIN", origin.encode())
        return Answer(status=self.status, data=_without_length(headers) + body, delay=self.delay, stream=repeat(filler))

    def _headers(self) -> Iterator[tuple[str, str]]:
        yield "Content-Type", self.content_type
        if self.location:
            yield "Location", self.location
        if self.canonical and self.canonical_in is Where.HEADER:
            yield "Link", f'<{self.canonical}>; rel="canonical"'


class Endless(msgspec.Struct, frozen=True):
    """A part of a site that is made up as it is asked for, from the path and the number of the request."""

    pattern: re.Pattern[str]
    make: Callable[[re.Match[str], int], Spot]


class Host(msgspec.Struct, frozen=True, kw_only=True):
    spots: dict[str, Spot]
    endless: tuple[Endless, ...] = ()
    missing: Callable[[str], Spot] | None = None
    """What is answered to everything else; None: 404."""
    cases: tuple[Case, ...] = ()
    """What must hold of a crawl of it."""

    def spot(self, path: str, visit: int) -> Spot:
        if path in self.spots:
            return self.spots[path]
        for part in self.endless:
            if match := part.pattern.fullmatch(path):
                return part.make(match, visit)
        return self.missing(path) if self.missing else NOT_FOUND


NOT_FOUND = Spot(status=404, title="Not found", text="There is nothing here.")


def _without_length(headers: list[tuple[str, str]]) -> bytes:
    head = "".join(f"{name}: {value}\r\n" for name, value in headers)
    return f"HTTP/1.1 200 OK\r\n{head}Connection: close\r\n\r\n".encode("latin-1")


def _html(spot: Spot) -> str:
    links = "\n".join(f'<li><a href="{escape(href)}">{escape(_label(href))}</a></li>' for href in spot.links)
    head = f"<title>{escape(spot.title)}</title>\n"
    if spot.canonical and spot.canonical_in is Where.META:
        head += f'<link rel="canonical" href="{escape(spot.canonical)}">\n'
    return (
        f"<!doctype html>\n<html lang=en>\n<head>\n<meta charset=utf-8>\n{head}</head>\n<body>\n"
        f"<nav>\n<ul>\n{links}\n</ul>\n</nav>\n"
        f"<main>\n<h1>{escape(spot.title)}</h1>\n<p>{escape(spot.text)}</p>\n</main>\n</body>\n</html>\n"
    )


def _label(href: str) -> str:
    return href.partition("?")[0].rstrip("/").rpartition("/")[2][:40] or "start"
