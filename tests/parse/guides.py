"""Guides as tests write and read them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gossamer.model import Entry, Guide, LeaseKind, RequestOptions
from gossamer.parse.guides import GuideReader

URL = "https://example.org/maps/sitemap.xml"
OPTIONS = RequestOptions(user_agent="test")


def read_pieces(pieces: Iterable[bytes], kind: LeaseKind = LeaseKind.SITEMAP, url: str = URL) -> Guide:
    reader = GuideReader(url, kind, OPTIONS)
    for piece in pieces:
        if not reader.feed(piece):
            break
    return reader.close()


def read(body: bytes | str, kind: LeaseKind = LeaseKind.SITEMAP, url: str = URL) -> Guide:
    return read_pieces([body.encode() if isinstance(body, str) else body], kind, url)


def urls(guide: Guide) -> list[str]:
    return [entry.url for entry in guide.entries]


def many(count: int) -> Iterator[bytes]:
    """A sitemap of so many URLs."""
    yield b"<urlset>"
    for number in range(count):
        yield b"<url><loc>https://example.org/%d</loc></url>\n" % number
    yield b"</urlset>"


def pages(count: int) -> list[Entry]:
    return [Entry(f"https://example.org/{number}") for number in range(count)]
