from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from gossamer.model import Guide, LeaseKind, RequestOptions
from gossamer.parse.guides.certificates import Certificates
from gossamer.parse.guides.commoncrawl import index_answer
from gossamer.parse.guides.gunzip import Gunzip
from gossamer.parse.guides.listing import MAX_ENTRIES, MAX_MENTIONS, Enough, Listing
from gossamer.parse.guides.llms import Llms
from gossamer.parse.guides.sitemap import Sitemap

_ENOUGH_TO_READ = 16 * 1024
"""Bytes are gathered up to this: a server that sends them one by one must not make a parser start over for each."""


class Format(Protocol):
    """One way to write a list. Raises `Enough` when nothing more is to be read."""

    def feed(self, data: bytes) -> None: ...

    def close(self) -> None: ...


class GuideReader:
    """`feed` it a guide in pieces of any size until it says False or there are no more, then `close` it."""

    def __init__(self, url: str, kind: LeaseKind, options: RequestOptions) -> None:
        """`url` may carry a fragment, which was never sent: it tells what the guide is about."""
        address, _, about = url.partition("#")
        most = MAX_ENTRIES if kind is LeaseKind.SITEMAP else MAX_MENTIONS
        self._listing = Listing(address, options.dropped, most)
        self._format = _format(kind, self._listing, about)
        self._plain = Gunzip(possible=kind is LeaseKind.SITEMAP)
        self._waiting = bytearray()
        self._over = False

    def feed(self, data: bytes) -> bool:
        """Whether more is wanted."""
        if not self._over:
            self._waiting += data
            if len(self._waiting) >= _ENOUGH_TO_READ:
                self._guarded(self._read)
        return not self._over

    def close(self) -> Guide:
        self._guarded(self._read)
        self._guarded(self._end)
        return self._listing.guide()

    def _guarded(self, step: Callable[[], None]) -> None:
        if self._over:
            return
        try:
            step()
        except Enough as end:
            self._over = True
            self._listing.note(str(end))
        except Exception as error:
            # Any list can surprise a parser. What was read of it counts all the same.
            self._over = True
            self._listing.note(f"could not be read further ({type(error).__name__}: {error})"[:200])

    def _read(self) -> None:
        data, self._waiting = bytes(self._waiting), bytearray()
        for piece in self._plain.pieces(data):
            self._format.feed(piece)

    def _end(self) -> None:
        for piece in self._plain.rest():
            self._format.feed(piece)
        self._listing.note(self._plain.complaint())
        self._format.close()


def _format(kind: LeaseKind, listing: Listing, about: str) -> Format:
    if kind is LeaseKind.LLMS:
        return Llms(listing)
    if kind is LeaseKind.CT:
        return Certificates(listing)
    if kind is LeaseKind.COMMONCRAWL:
        return index_answer(listing, about)
    return Sitemap(listing)
