"""Pages as lines of a file, each exactly once, whatever happens.

The file is a projection of committed rows. The store keeps how far it came and how long it was then; what a crash left
beyond that length is cut off and written again. So a line is never lost, never doubled and never half.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import Sequence
from pathlib import Path

import msgspec

from gossamer.failpoints import failpoint
from gossamer.model import Cursor, Delivery
from gossamer.ports import StorageError

log = logging.getLogger(__name__)


class JsonlSink:
    """`sync` also waits for the disk with every write: for stores whose commits survive a power cut."""

    def __init__(self, path: str | Path, *, sync: bool = False) -> None:
        self.path = Path(path).absolute()
        self.consumer = f"jsonl:{self.path}"
        self._sync = sync
        self._encoder = msgspec.json.Encoder()
        self._file = -1
        self._cursor = Cursor(consumer=self.consumer, sequence=0)
        self._writing: asyncio.Future[Cursor] | None = None

    async def open(self, cursor: Cursor | None) -> Cursor:
        self._cursor = await asyncio.to_thread(self._open, cursor)
        return self._cursor

    async def write(self, deliveries: Sequence[Delivery]) -> Cursor:
        if deliveries:
            self._writing = asyncio.ensure_future(asyncio.to_thread(self._append, deliveries))
            self._cursor = await asyncio.shield(self._writing)
        return self._cursor

    async def close(self) -> None:
        if self._writing is not None:
            # Whoever was waiting for it may be gone, but the thread is still at it.
            await asyncio.wait([self._writing])
        if self._file >= 0:
            file, self._file = self._file, -1
            await asyncio.to_thread(os.close, file)

    def _open(self, cursor: Cursor | None) -> Cursor:
        try:
            start = self._start(cursor, self.path.stat().st_size if self.path.exists() else 0)
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
            os.ftruncate(self._file, start.offset)
        except OSError as error:
            raise StorageError(f"{self.path}: cannot be opened for writing: {error.strerror}") from error
        return start

    def _start(self, cursor: Cursor | None, size: int) -> Cursor:
        if cursor is None and size:
            raise StorageError(f"{self.path}: this file is not from this crawl; choose another name or delete it")
        if cursor is not None and size < cursor.offset:
            log.warning("%s: is gone or was cut short; writing it anew from the first page", self.path)
            cursor = None
        return cursor or Cursor(consumer=self.consumer, sequence=0)

    def _append(self, deliveries: Sequence[Delivery]) -> Cursor:
        lines = self._encoder.encode_lines([delivery.record for delivery in deliveries])
        try:
            end = self._write(lines)
        except OSError as error:
            self._cut()
            advice = "make room and resume: every page will be in it once"
            raise StorageError(f"{self.path}: cannot be written: {error.strerror}; {advice}") from error
        return Cursor(consumer=self.consumer, sequence=deliveries[-1].sequence, offset=end)

    def _write(self, lines: bytes) -> int:
        start, half = self._cursor.offset, len(lines) // 2
        failpoint("outbox-unwritten")
        middle = self._put(lines[:half], start)
        failpoint("outbox-half-line")
        end = self._put(lines[half:], middle)
        if self._sync:
            os.fsync(self._file)
        failpoint("outbox-written")
        return end

    def _put(self, data: bytes, offset: int) -> int:
        while data:
            written = os.pwrite(self._file, data, offset)
            data, offset = data[written:], offset + written
        return offset

    def _cut(self) -> None:
        with contextlib.suppress(OSError):
            os.ftruncate(self._file, self._cursor.offset)
