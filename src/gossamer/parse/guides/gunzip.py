"""The bytes of a guide as they were before gzip, where they went through it. Many sitemaps are `.gz` files."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import suppress

from gossamer.parse.guides.listing import Enough

MAX_SIZE = 50 * 1024 * 1024
"""Of a guide, as the sitemap protocol has it, after decompression."""
_MAX_MEMBERS = 10_000
_PIECE = 64 * 1024
_MAGIC = b"\x1f\x8b"
_GZIP = 31


class Gunzip:
    """Also counts the bytes, gzip or not: there are never more of them than a guide may have."""

    def __init__(self, *, possible: bool) -> None:
        """Where it is not possible, bytes that look like gzip are what they are."""
        self._head: bytes | None = b"" if possible else None
        """Until it is clear whether this is gzip."""
        self._member: zlib._Decompress | None = None
        self._members = 0
        self._size = 0

    def pieces(self, data: bytes) -> Iterator[bytes]:
        """Decoded, none larger than 64 KiB. Raises `Enough` where the whole is too large, or is not what it seems."""
        if self._head is not None:
            data = self._head + data
            if len(data) < len(_MAGIC):
                self._head = data
                return
            self._begin(data)
        for piece in self._inflated(data) if self._member else _cut(data):
            yield from self._counted(piece)

    def rest(self) -> Iterator[bytes]:
        """A guide of a single byte."""
        head, self._head = self._head, None
        if head:
            yield head

    def complaint(self) -> str:
        """What is wrong with the end, or nothing."""
        return "the gzip data breaks off" if self._member and not self._member.eof else ""

    def _begin(self, data: bytes) -> None:
        self._head = None
        if data.startswith(_MAGIC):
            self._next_member()

    def _next_member(self) -> zlib._Decompress:
        self._members += 1
        if self._members > _MAX_MEMBERS:
            raise Enough(f"cut at {_MAX_MEMBERS:,} gzip members")
        self._member = zlib.decompressobj(_GZIP)
        return self._member

    def _inflated(self, data: bytes) -> Iterator[bytes]:
        member, piece = self._member, b""
        while member and (data or len(piece) == _PIECE):
            if member.eof:
                data = data.lstrip(b"\0")  # padding
                if not data:
                    return
                member = self._next_member()
            before = member.copy()
            try:
                piece = member.decompress(data, _PIECE)
            except zlib.error as error:
                yield _until_fault(before, data)
                raise Enough(f"the gzip data is broken ({error})") from None
            data = member.unused_data if member.eof else member.unconsumed_tail
            yield piece

    def _counted(self, piece: bytes) -> Iterator[bytes]:
        room = MAX_SIZE - self._size
        self._size += len(piece)
        if piece[:room]:
            yield piece[:room]
        if len(piece) > room:
            raise Enough(f"cut at {MAX_SIZE // 2**20} MiB")


def _until_fault(member: zlib._Decompress, data: bytes) -> bytes:
    """What came before a fault, for which zlib throws away all of it."""
    pieces: list[bytes] = []
    with suppress(zlib.error):
        pieces.extend(member.decompress(data[at : at + 1]) for at in range(len(data)))
    return b"".join(pieces)


def _cut(data: bytes) -> Iterator[bytes]:
    return (data[start : start + _PIECE] for start in range(0, len(data), _PIECE))
