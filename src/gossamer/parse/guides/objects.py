"""JSON objects out of a stream of them, in an array or one after the other, without the stream."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Generic, TypeVar

import msgspec

from gossamer.parse.guides.listing import Enough

MAX_OBJECT = 256 * 1024
MAX_OBJECTS = 500_000

# A quote that has no end yet is a token of its own: what follows it is no markup.
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*+"|["{}]', re.DOTALL)


T = TypeVar("T")


class Objects(Generic[T]):
    def __init__(self, kind: type[T]) -> None:
        self._decoder = msgspec.json.Decoder(kind)
        self._rest = b""
        self._left = MAX_OBJECTS

    @property
    def unfinished(self) -> bool:
        """The stream broke off within an object."""
        return bool(self._rest)

    def feed(self, data: bytes) -> Iterator[T]:
        """Every object of this kind that is complete now; others are passed over. Raises `Enough` at a huge one
        and at one too many."""
        for one in self._split(data):
            self._left -= 1
            if self._left < 0:
                raise Enough(f"cut at {MAX_OBJECTS:,} objects")
            try:
                found = self._decoder.decode(one)
            except msgspec.MsgspecError:
                continue
            yield found

    def _split(self, data: bytes) -> Iterator[bytes]:
        data, self._rest = self._rest + data, b""
        start = depth = 0
        for token in _TOKEN.finditer(data):
            mark = token[0]
            if mark == b"{":
                start = start if depth else token.start()
                depth += 1
            elif mark == b"}" and depth:
                depth -= 1
                if depth == 0:
                    yield data[start : token.end()]
            elif mark == b'"':
                break
        self._keep(data[start:] if depth else b"")

    def _keep(self, rest: bytes) -> None:
        if len(rest) > MAX_OBJECT:
            raise Enough(f"an object of it is larger than {MAX_OBJECT // 1024} KiB")
        self._rest = rest
