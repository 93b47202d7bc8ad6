"""The Common Crawl index: three answers, each of which leads to the next.

`collinfo.json` lists the collections, newest first; the newest is asked how many pages it has for a pattern; each of
these is a list of captures, one JSON object a line. What the first is about stands in the fragment of its URL.
"""

from __future__ import annotations

from urllib.parse import quote, unquote

import msgspec

from gossamer.parse.guides.lines import Lines
from gossamer.parse.guides.listing import Enough, Listing
from gossamer.parse.guides.objects import Objects

MAX_PAGES = 1_000
_COUNT = "&showNumPages=true"
_FIELDS = "&fl=url,status,mime,timestamp"


class _Collection(msgspec.Struct):
    api: str = msgspec.field(name="cdx-api")


class _Extent(msgspec.Struct):
    pages: int


class _Capture(msgspec.Struct):
    url: str
    status: str | int | None = None


_capture = msgspec.json.Decoder(_Capture)


def index_answer(listing: Listing, about: str) -> Collections | Extent | Captures:
    """The reader for what the URL of a guide asks the index."""
    if about:
        return Collections(listing, about)
    return Extent(listing) if _COUNT in listing.url else Captures(listing)


class Collections:
    """The list of collections: the newest is the one to ask."""

    def __init__(self, listing: Listing, about: str) -> None:
        self._listing = listing
        self._pattern = unquote(about)
        self._objects = Objects(_Collection)

    def feed(self, data: bytes) -> None:
        for collection in self._objects.feed(data):
            api = self._listing.resolve(collection.api)
            if api:
                self._listing.lead_straight_to(f"{api}?url={quote(self._pattern, safe='*/')}&output=json{_COUNT}")
                raise Enough

    def close(self) -> None:
        self._listing.note("it names no collection")


class Extent:
    """How many pages of captures there are."""

    def __init__(self, listing: Listing) -> None:
        self._listing = listing
        self._objects = Objects(_Extent)

    def feed(self, data: bytes) -> None:
        for extent in self._objects.feed(data):
            for page in range(min(extent.pages, MAX_PAGES)):
                self._listing.lead_straight_to(self._listing.url.replace(_COUNT, f"{_FIELDS}&page={page}"))
            raise Enough(f"cut at {MAX_PAGES:,} of {extent.pages:,} pages" if extent.pages > MAX_PAGES else "")

    def close(self) -> None:
        self._listing.note("it does not say how many pages there are")


class Captures:
    """One page of captures. When a page was captured says nothing of when it changed."""

    def __init__(self, listing: Listing) -> None:
        self._listing = listing
        self._lines = Lines()
        self._broken = 0

    def feed(self, data: bytes) -> None:
        for line in self._lines.feed(data):
            self._read(line)

    def close(self) -> None:
        for line in self._lines.close():
            self._read(line)
        if self._broken:
            self._listing.note(f"{self._broken:,} of its lines are not captures")

    def _read(self, line: str) -> None:
        if not line or line.isspace():
            return
        try:
            capture = _capture.decode(line)
        except msgspec.MsgspecError:
            self._broken += 1
            return
        if capture.status in (None, "", "-", "200", 200):
            self._listing.add(capture.url)
