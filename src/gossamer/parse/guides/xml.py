"""Sitemaps, indexes of sitemaps, RSS and Atom, by expat: as a stream, with no entities but the five of XML.

Elements are told by their names and their place alone. Declared namespaces say less than one might think: prefixes are
left undeclared, and URIs misspelt. What extensions add lies deeper, or under another prefix, and so is passed over.
"""

from __future__ import annotations

import math
from xml.parsers import expat

from gossamer.parse.guides.dates import moment
from gossamer.parse.guides.listing import MAX_HREF, Enough, Listing

_ROOTS = frozenset({"urlset", "sitemapindex", "rss", "rdf", "feed"})
_FIELDS = {
    "url": frozenset({"loc", "lastmod", "priority"}),
    "sitemap": frozenset({"loc"}),
    "item": frozenset({"link", "guid", "pubdate", "dc:date"}),
    "entry": frozenset({"updated", "published"}),
}
"""What is read of each kind of record."""
_MAX_DEPTH = 100
_MAX_NAMES = 1_000
_MAX_ELEMENTS = 1_000_000
"""More than fit into a sitemap, if they say anything."""
_MAX_TOKEN = 256 * 1024
"""expat looks at an unfinished tag or comment again from its start whenever more of it comes."""


class Xml:
    def __init__(self, listing: Listing) -> None:
        self._listing = listing
        self._depth = 0
        self._elements = 0
        self._record: _Record | None = None
        self._field = ""
        self._text: str | None = None
        self._fed = 0
        self._parser = parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartDoctypeDeclHandler = self._doctype
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters

    def feed(self, data: bytes) -> None:
        self._fed += len(data)
        self._parse(data)
        if self._fed - self._parser.CurrentByteIndex > _MAX_TOKEN:
            raise Enough(f"a single tag or comment is larger than {_MAX_TOKEN // 1024} KiB")
        if len(self._parser.intern) > _MAX_NAMES:
            raise Enough(f"more than {_MAX_NAMES:,} different names of elements")

    def close(self) -> None:
        self._parse(b"", final=True)

    def _parse(self, data: bytes, final: bool = False) -> None:
        try:
            self._parser.Parse(data, final)
        except expat.ExpatError as error:
            text = expat.ErrorString(error.code)
            raise Enough(f"broken XML in line {error.lineno} ({text}); what came before it counts") from None

    def _doctype(self, name: str, _system: str | None, _public: str | None, declares: bool) -> None:
        if name.lower() == "html":
            raise Enough("an HTML page, and no sitemap")
        if declares:
            raise Enough("refused: it declares entities or other things of its own (an internal DTD)")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        name = name.lower()
        if self._record is not None:
            if self._depth == self._record.depth + 1:
                self._start_field(self._record, name, attributes)
        elif self._depth == 1:
            _check_root(name)
        else:
            prefix, colon, kind = name.rpartition(":")
            if kind in _FIELDS:
                self._record = _Record(kind, prefix + colon, self._depth)
        self._elements += 1
        if self._elements > _MAX_ELEMENTS:
            raise Enough(f"cut at {_MAX_ELEMENTS:,} elements")
        if self._depth > _MAX_DEPTH:
            raise Enough(f"elements are nested more than {_MAX_DEPTH} deep")

    def _start_field(self, record: _Record, name: str, attributes: dict[str, str]) -> None:
        field = name.removeprefix(record.prefix)
        if field in _FIELDS[record.kind]:
            self._field, self._text = field, ""
            if field == "guid" and attributes.get("isPermaLink", "true").strip().lower() != "true":
                self._text = None
        elif name.rpartition(":")[2] == "link" and "href" in attributes:
            self._link(record, attributes)

    def _link(self, record: _Record, attributes: dict[str, str]) -> None:
        if attributes.get("rel", "alternate").strip().lower() != "alternate":
            return
        if record.kind == "entry":
            record.fields.setdefault("link", attributes["href"])
        elif record.kind == "url" and "hreflang" in attributes:
            self._listing.add_alternate(attributes["href"].strip())

    def _characters(self, text: str) -> None:
        if self._text is not None and len(self._text) <= MAX_HREF:
            self._text += text

    def _end(self, _name: str) -> None:
        record = self._record
        if record is not None:
            if self._depth == record.depth:
                self._record = None
                self._finish(record)
            elif self._text is not None and self._depth == record.depth + 1:
                record.fields.setdefault(self._field, self._text.strip())
                self._text = None
        self._depth -= 1

    def _finish(self, record: _Record) -> None:
        says = record.fields.get
        if record.kind == "sitemap":
            self._listing.lead_to(says("loc", ""))
        elif record.kind == "url":
            self._listing.add(says("loc", ""), moment(says("lastmod")), _priority(says("priority")))
        else:
            when = says("updated") or says("published") or says("pubdate") or says("dc:date")
            self._listing.add(says("link") or says("guid", ""), moment(when))


class _Record:
    """One listed thing that is being read."""

    __slots__ = ("depth", "fields", "kind", "prefix")

    def __init__(self, kind: str, prefix: str, depth: int) -> None:
        self.kind = kind
        self.prefix = prefix
        self.depth = depth
        self.fields: dict[str, str] = {}


def _check_root(name: str) -> None:
    root = name.rpartition(":")[2]
    if root == "html":
        raise Enough("an HTML page, and no sitemap")
    if root not in _ROOTS:
        raise Enough(f"an XML document of another kind (<{name[:80]}>)")


def _priority(text: str | None) -> float | None:
    try:
        value = float(text or "nan")
    except ValueError:
        return None
    return None if math.isnan(value) else min(max(value, 0.0), 1.0)
