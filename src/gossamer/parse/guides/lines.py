"""Bytes to lines, as they come."""

from __future__ import annotations

import codecs

from gossamer.parse.guides.listing import Enough

MAX_LINES = 1_000_000
_LONGEST = 64 * 1024
"""A line that is longer, and has no end yet, is cut here."""


class Lines:
    def __init__(self, encoding: str = "utf-8-sig") -> None:
        self._decoder = codecs.getincrementaldecoder(encoding)("replace")
        self._rest = ""
        self._count = 0

    def feed(self, data: bytes) -> list[str]:
        """The lines that are complete now. Raises `Enough` when there are too many."""
        if self._count > MAX_LINES:
            raise Enough(f"cut at {MAX_LINES:,} lines")
        *lines, self._rest = self._split(self._decoder.decode(data))
        if len(self._rest) > _LONGEST:
            lines.append(self._rest)
            self._rest = ""
        self._count += len(lines)
        return lines

    def close(self) -> list[str]:
        """The last line, which may have no end."""
        return self._split(self._decoder.decode(b"", final=True))

    def _split(self, text: str) -> list[str]:
        return (self._rest + text).replace("\r", "\n").split("\n")
