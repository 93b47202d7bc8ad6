"""Just enough HTTP/1.1 for a fast server on loopback: keep-alive, GET and HEAD, answers now, later or never."""

from __future__ import annotations

import asyncio
import socket
import struct
import time
from collections.abc import Iterator
from typing import Protocol

import msgspec

from gossamer.testing.web.log import Request
from gossamer.testing.web.render import answer_bytes
from gossamer.testing.web.site import Trouble

_MAX_HEAD = 256 * 1024
_MAX_UNREAD = 1024 * 1024
_PAUSE = 0.005


class Ask(msgspec.Struct, frozen=True):
    """A request as it was read."""

    method: str
    path: str
    headers: tuple[tuple[str, str], ...]
    started: float
    in_flight: int

    def header(self, name: str) -> str:
        return next((value for key, value in self.headers if key == name), "")


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    status: int
    data: bytes = b""
    delay: float = 0.0
    trouble: Trouble | None = None
    robots: bool = False
    retry_after: float | None = None
    stream: Iterator[bytes] | None = None
    """What follows `data`, piece by piece and perhaps without end; the connection is closed after it."""


class Service(Protocol):
    """What stands behind the connections of one host."""

    origin: str
    in_flight: int

    def answer(self, ask: Ask) -> Answer: ...

    def record(self, request: Request) -> None: ...

    def opened(self, connection: Connection) -> None: ...

    def closed(self, connection: Connection) -> None: ...


class Connection(asyncio.Protocol):
    """One client. Requests are answered one after the other, pipelined or not."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._transport: asyncio.Transport | None = None
        self._buffer = b""
        self._current: tuple[Ask, Answer] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._streaming = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101
        self._transport = transport
        self._service.opened(self)

    def connection_lost(self, error: Exception | None) -> None:
        if self._timer:
            self._timer.cancel()
        self._finish(None)
        self._transport = None
        self._service.closed(self)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        self._next()

    def abort(self) -> None:
        if self._transport:
            self._transport.abort()

    def _next(self) -> None:
        while self._idle():
            head, end, rest = self._buffer.partition(b"\r\n\r\n")
            if not end:
                if len(head) > _MAX_HEAD:
                    self.abort()
                return
            self._buffer = rest
            self._begin(head)

    def _idle(self) -> bool:
        waiting = self._current is not None or self._streaming
        return not waiting and self._transport is not None and not self._transport.is_closing()

    def _begin(self, head: bytes) -> None:
        first, _, lines = head.decode("latin-1").partition("\r\n")
        method, _, rest = first.partition(" ")
        self._service.in_flight += 1
        ask = Ask(method, rest.rpartition(" ")[0], _headers(lines), time.monotonic(), self._service.in_flight)
        answer = self._service.answer(ask)
        self._current = ask, answer
        if answer.trouble is Trouble.TIMEOUT:
            return
        if answer.delay > 0:
            self._timer = asyncio.get_running_loop().call_later(answer.delay, self._respond_late)
        else:
            self._respond()

    def _respond_late(self) -> None:
        self._timer = None
        self._respond()
        self._next()

    def _respond(self) -> None:
        assert self._transport and self._current  # noqa: PT018, S101
        ask, answer = self._current
        if answer.trouble is Trouble.RESET:
            _reset(self._transport)
            return
        # The end is stamped first: the client cannot know of it any sooner.
        self._finish(answer.status)
        self._transport.write(
            answer.data.partition(b"\r\n\r\n")[0] + b"\r\n\r\n" if ask.method == "HEAD" else answer.data
        )
        if answer.stream and ask.method != "HEAD":
            self._stream(answer.stream)
        elif ask.header("connection").lower() == "close":
            self._transport.close()

    def _stream(self, pieces: Iterator[bytes]) -> None:
        """Write as fast as the client reads, and leave time for others."""
        if self._transport is None or self._transport.is_closing():
            return
        self._streaming = True
        if self._transport.get_write_buffer_size() < _MAX_UNREAD:
            piece = next(pieces, None)
            if piece is None:
                self._transport.close()
                return
            self._transport.write(piece)
        self._timer = asyncio.get_running_loop().call_later(_PAUSE, self._stream, pieces)

    def _finish(self, status: int | None) -> None:
        if self._current is None:
            return
        ask, answer = self._current
        self._current = None
        self._service.in_flight -= 1
        request = Request(
            host=self._service.origin,
            path=ask.path,
            method=ask.method,
            started=ask.started,
            ended=time.monotonic(),
            status=status,
            in_flight=ask.in_flight,
            robots=answer.robots,
            retry_after=answer.retry_after,
            headers=ask.headers,
            sent=0 if status is None or ask.method == "HEAD" else _body_length(answer.data),
        )
        self._service.record(request)


def _headers(lines: str) -> tuple[tuple[str, str], ...]:
    pairs = (line.partition(":") for line in lines.split("\r\n") if line)
    return tuple((name.strip().lower(), value.strip()) for name, _, value in pairs)


def _body_length(data: bytes) -> int:
    return len(data) - data.index(b"\r\n\r\n") - 4


def _reset(transport: asyncio.Transport) -> None:
    """Close with RST instead of FIN."""
    connection = transport.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()


def plain(status: int, text: str, *, headers: tuple[tuple[str, str], ...] = ()) -> bytes:
    """An answer in plain text."""
    return answer_bytes(status, (("Content-Type", "text/plain; charset=utf-8"), *headers), text.encode())
