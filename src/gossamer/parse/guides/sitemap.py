"""Sitemaps in all their forms: XML and its feeds, or a list in plain text. The first bytes tell."""

from __future__ import annotations

from gossamer.parse.guides.lines import Lines
from gossamer.parse.guides.listing import Enough, Listing
from gossamer.parse.guides.xml import Xml

_BLANK = b" \t\r\n\xef\xbb\xbf"
_XML_STARTS = (b"<", b"\0<", b"\xff\xfe<\0", b"\xfe\xff\0<")
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_HTML_STARTS = (b"<!doctype html", b"<html")
_TELLING = max(map(len, _HTML_STARTS))
_PATIENCE = 1_000
"""Lines without a single URL, before it is clear that there will be none."""


class Sitemap:
    def __init__(self, listing: Listing) -> None:
        self._listing = listing
        self._head = b""
        self._form: Xml | TextList | None = None

    def feed(self, data: bytes) -> None:
        if self._form is not None:
            return self._form.feed(data)
        # XML allows nothing before its declaration; many sitemaps have blank lines there all the same.
        self._head = (self._head + data).lstrip(_BLANK)
        return self._begin() if len(self._head) >= _TELLING else None

    def close(self) -> None:
        if self._form is None:
            self._begin()
        if self._form is not None:
            self._form.close()

    def _begin(self) -> None:
        if not self._head:
            self._listing.note("it is empty")
            return
        if self._head[:_TELLING].lower().startswith(_HTML_STARTS):
            raise Enough("an HTML page, and no sitemap")
        xml = self._head.startswith(_XML_STARTS)
        utf16 = self._head.startswith(_UTF16_MARKS)
        self._form = Xml(self._listing) if xml else TextList(self._listing, "utf-16" if utf16 else "utf-8")
        self._form.feed(self._head)


class TextList:
    """One URL a line, in full, as the protocol wants it: a line of anything else is no relative link."""

    def __init__(self, listing: Listing, encoding: str) -> None:
        self._listing = listing
        self._lines = Lines(encoding)
        self._read = 0

    def feed(self, data: bytes) -> None:
        self._add(self._lines.feed(data))
        if self._read > _PATIENCE:
            self._check()

    def close(self) -> None:
        self._add(self._lines.close())
        self._check()

    def _add(self, lines: list[str]) -> None:
        self._read += len(lines)
        for line in lines:
            href = line.strip()
            if href[:8].lower().startswith(("http://", "https://")):
                self._listing.add(href)

    def _check(self) -> None:
        if not len(self._listing):
            raise Enough("it is neither XML nor a list of URLs")
