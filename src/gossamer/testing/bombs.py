"""Bodies that are small on the wire and huge once read. What is compressed decodes to zeros."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

MEBIBYTE = 1 << 20


def gzip_bomb(mebibytes: int) -> Iterator[bytes]:
    """A thousandfold: one fully flushed mebibyte, again and again. There is no end mark: nobody should get that far."""
    squeezer = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = squeezer.compress(bytes(MEBIBYTE)) + squeezer.flush(zlib.Z_FULL_FLUSH)
    yield b"\x1f\x8b\x08\0\0\0\0\0\0\xff"
    for _ in range(mebibytes):
        yield block


def zstd_bomb(mebibytes: int) -> Iterator[bytes]:
    """Thirty-thousandfold: blocks of four bytes that each say "128 KiB of zero"."""
    run_length, last, size = 1 << 1, 1, 128 * 1024
    block = (size << 3 | run_length).to_bytes(3, "little") + b"\0"
    yield b"\x28\xb5\x2f\xfd\x00\x58"
    for _ in range(mebibytes):
        yield block * 8
    yield (run_length | last).to_bytes(3, "little") + b"\0"


def brotli_bomb(mebibytes: int) -> bytes:
    """A millionfold: each meta-block says "four zeros, then copy them until there are 16 MiB" (RFC 7932, section 9)."""
    stream = _Bits()
    stream.add(0b1111, 4)  # a window of 16 MiB
    for _ in range(mebibytes // 16):
        _add_meta_block(stream, 16 * MEBIBYTE)
    stream.add(0b11, 2)  # last, and empty
    return stream.bytes()


def _add_meta_block(stream: _Bits, size: int) -> None:
    insert_four_copy_long, same_distance, shortest_long_copy = 423, 0, 2118
    stream.add(0, 1)  # not the last
    stream.add(2, 2)  # the size takes six nibbles
    stream.add(size - 1, 24)
    stream.add(0, 1 + 3 + 2 + 4 + 2 + 2)  # compressed; one block type, one context and one tree of each kind
    for symbol, width in ((0, 8), (insert_four_copy_long, 10), (same_distance, 6)):
        stream.add(0b0001, 4)  # a prefix code of one symbol, which then takes no bits at all
        stream.add(symbol, width)
    stream.add(size - 4 - shortest_long_copy, 24)


def billion_laughs(levels: int = 9) -> bytes:
    """A sitemap whose one URL is ten to the power of `levels` laughs, by entities of entities."""
    lines = [f'<!ENTITY l{level} "{f"&l{level - 1};" * 10}">' for level in range(1, levels + 1)]
    declared = "\n".join(['<!ENTITY l0 "lol">', *lines])
    return f"<!DOCTYPE urlset [\n{declared}\n]>\n<urlset><url><loc>https://example.org/&l{levels};</loc></url></urlset>".encode()


def external_entity(place: str) -> bytes:
    """A sitemap that asks its reader to fetch something on its behalf."""
    declared = f'<!DOCTYPE urlset [<!ENTITY other SYSTEM "{place}">]>'
    return f"{declared}<urlset><url><loc>https://example.org/&other;</loc></url></urlset>".encode()


class _Bits:
    def __init__(self) -> None:
        self._value = 0
        self._length = 0

    def add(self, value: int, width: int) -> None:
        self._value |= value << self._length
        self._length += width

    def bytes(self) -> bytes:
        return self._value.to_bytes((self._length + 7) // 8, "little")
