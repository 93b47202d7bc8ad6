"""Batches over a stream socket, the same at both ends.

A frame is four bytes of length and a MessagePack array. What is posted in one turn of the loop, or while the other end
does not keep up, leaves together.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Callable
from typing import Generic, TypeVar

import msgspec

ENOUGH = 6
"""Items that are not worth waiting any longer for more: one turn of a busy loop can read dozens of pages."""
FRAME_BYTES = 256 * 1024
"""A frame is closed when it has grown to this, so that neither end chews on one for long."""

_LENGTH = struct.Struct("!I")
_HEAD = struct.Struct("!IBI")
_ARRAY32 = 0xDD

T = TypeVar("T")


class Link(asyncio.Protocol, Generic[T]):
    """Posts encoded items, and calls `on_batch` with every batch that arrives."""

    def __init__(self, decoder: msgspec.msgpack.Decoder[list[T]], on_batch: Callable[[list[T]], None]) -> None:
        self._decoder = decoder
        self._on_batch = on_batch
        self._transport: asyncio.Transport | None = None
        self._received = bytearray()
        self._waiting: list[bytes] = []
        self._scheduled = False
        self.lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.writable = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 (for mypy: a stream socket has no other)
        self._transport = transport
        self.resume_writing()

    def connection_lost(self, _: Exception | None) -> None:
        self.pause_writing()
        if not self.lost.done():
            self.lost.set_result(None)

    def pause_writing(self) -> None:
        self.writable.clear()

    def resume_writing(self) -> None:
        self.writable.set()
        self._flush()

    def data_received(self, data: bytes) -> None:
        self._received += data
        start = 0
        while (end := self._frame_end(start)) is not None:
            batch = self._decode(start + _LENGTH.size, end)
            start = end
            self._on_batch(batch)
        del self._received[:start]

    def post(self, items: list[bytes]) -> None:
        """Never blocks and never fails: what cannot be written waits here."""
        self._waiting += items
        if len(self._waiting) >= ENOUGH:
            self._flush()
        elif not self._scheduled:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._flush)

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def _frame_end(self, start: int) -> int | None:
        if len(self._received) < start + _LENGTH.size:
            return None
        (length,) = _LENGTH.unpack_from(self._received, start)
        end = start + _LENGTH.size + int(length)
        return end if len(self._received) >= end else None

    def _decode(self, start: int, end: int) -> list[T]:
        try:
            return self._decoder.decode(self._received[start:end])
        except msgspec.MsgspecError:
            # Whoever sends this is out of its mind: part company, and the parent starts another.
            self.abort()
            return []

    def _flush(self) -> None:
        self._scheduled = False
        while self._waiting and self._transport is not None and self.writable.is_set():
            self._transport.write(self._next_frame())

    def _next_frame(self) -> bytes:
        size = count = 0
        while count < len(self._waiting) and size < FRAME_BYTES:
            size += len(self._waiting[count])
            count += 1
        items, self._waiting = self._waiting[:count], self._waiting[count:]
        head = _HEAD.pack(size + _HEAD.size - _LENGTH.size, _ARRAY32, count)
        return b"".join([head, *items])
