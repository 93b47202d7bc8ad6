"""A web server that misbehaves in every way we know of, one way per path.

    async with HostileServer() as server:
        response = await fetcher.fetch(server.url("/tarpit"), options)

It speaks raw bytes on loopback, so nothing corrects what it says. `/ok` is the one polite page. Every request is
recorded, and every connection counted, so that a test can tell what a client really did.
"""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import socket
import ssl
import struct
from collections.abc import Callable, Coroutine, Iterable, Mapping
from typing import Self

import msgspec

from gossamer.testing import bombs

BOMB_MEBIBYTES = 1024

Page = Callable[[str], bytes]
Trouble = Callable[[asyncio.StreamWriter, float], Coroutine[None, None, None]]


class Request(msgspec.Struct, frozen=True):
    method: str
    target: str
    headers: tuple[tuple[str, str], ...]
    connection: int
    """Which connection it came on, counted from 1."""

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key == name), None)


class HostileServer:
    def __init__(
        self,
        *,
        context: ssl.SSLContext | None = None,
        pause: float = 1.0,
        pages: Mapping[str, Page] | None = None,
    ) -> None:
        """`pause` is how long a tarpit waits between two bytes, and a slow page before its first; `pages` are more of
        them, as the bytes to send for what follows their name in the path."""
        self.requests: list[Request] = []
        self.connections = 0
        self.port = 0
        self._context = context
        self._pause = pause
        self._pages = {**PAGES, **(pages or {})}
        self._open: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, ssl=self._context, backlog=1024)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.close()
        await asyncio.sleep(0)  # A connection that just came has yet to be taken up, to be closed.
        for task in self._open:
            task.cancel()
        await self.all_closed()

    def url(self, path: str, host: str = "127.0.0.1") -> str:
        return f"{'https' if self._context else 'http'}://{host}:{self.port}{path}"

    @property
    def open(self) -> int:
        """Connections open now."""
        return len(self._open)

    async def all_closed(self) -> None:
        """Wait until no connection is open."""
        while self._open:
            await asyncio.wait(set(self._open))

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer, self.connections))
        self._open.add(task)
        task.add_done_callback(self._open.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, connection: int) -> None:
        try:
            with contextlib.suppress(OSError, asyncio.IncompleteReadError):
                while await self._answer(await _read_request(reader, connection), reader, writer):
                    pass
        except asyncio.CancelledError:
            writer.transport.abort()
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    async def _answer(self, request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Whether the connection may be used again."""
        self.requests.append(request)
        name, _, argument = request.target.partition("?")[0].lstrip("/").partition("/")
        if name in self._pages:
            writer.write(self._pages[name](argument))
            await writer.drain()
            return True
        if name not in TROUBLE:
            writer.write(response("404 Not Found", b"There is no such trouble.\n"))
            return True
        await _until_gone(TROUBLE[name](writer, self._pause), reader)
        return False


async def _until_gone(trouble: Coroutine[None, None, None], reader: asyncio.StreamReader) -> None:
    """A client that goes away ends its trouble at once, also where the server only waits."""
    tasks = {asyncio.ensure_future(trouble), asyncio.ensure_future(reader.read(1))}
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _read_request(reader: asyncio.StreamReader, connection: int) -> Request:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, target, _ = head[0].split(" ", 2)
    pairs = (line.partition(":") for line in head[1:] if line)
    return Request(method, target, tuple((name.lower(), value.strip()) for name, _, value in pairs), connection)


def response(status: str, body: bytes, *headers: str) -> bytes:
    """A correct answer, as bytes."""
    lines = (f"HTTP/1.1 {status}", *headers, f"Content-Length: {len(body)}", "", "")
    return "\r\n".join(lines).encode("latin-1") + body


def html(body: bytes, charset: str = "utf-8") -> bytes:
    return response("200 OK", body, f"Content-Type: text/html; charset={charset}")


def _redirect(target: str) -> bytes:
    return response("302 Found", b"", f"Location: {target}")


def _chain(argument: str) -> bytes:
    left = int(argument or 0)
    return _redirect(f"/redirect-chain/{left - 1}" if left > 1 else "/ok")


def _many_links() -> bytes:
    return b"".join(b'<a href="/ok?%d">%d</a>\n' % (number, number) for number in range(100_000))


def _encoded(encoding: str, body: bytes) -> bytes:
    return response("200 OK", body, "Content-Type: text/html", f"Content-Encoding: {encoding}")


OK = b"<!doctype html><title>Fine</title><p>All is well. <a href='/ok?again'>Again</a>"

PAGES: dict[str, Page] = {
    "ok": lambda _: html(OK),
    "gzip": lambda _: _encoded("gzip", gzip.compress(OK)),
    "wrong-charset": lambda _: html("<title>Grüße</title>".encode("latin-1") + b"\xff\xfe\x81", "utf-8"),
    "nuls": lambda _: html(b"<title>N\0U\0L</title>" + bytes(10_000) + b"<a href='/o\0k'>x</a>"),
    "nested": lambda _: html(b"<div>" * 1_000_000),
    "many-links": lambda _: html(_many_links()),
    "long-url": lambda _: html(b"<a href='/" + b"x" * 100_000 + b"'>long</a>"),
    "broken-gzip": lambda _: _encoded("gzip", gzip.compress(OK)[:12] + b"\xff" * 500),
    "cut-gzip": lambda _: _encoded("gzip", gzip.compress(OK)[:-20]),
    "unknown-encoding": lambda _: _encoded("rot13", b"Nyy vf jryy."),
    "redirect-loop": lambda _: _redirect("/redirect-loop"),
    "redirect-chain": _chain,
    "redirect-private": lambda _: _redirect("http://169.254.169.254/latest/meta-data/"),
    "redirect-scheme": lambda _: _redirect("file:///etc/passwd"),
    "set-cookie": lambda _: response("200 OK", OK, "Set-Cookie: visited=yes; Path=/"),
}
"""Answers that are correct HTTP, whatever one may think of what they say. The connection stays open."""

_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"


async def _send(writer: asyncio.StreamWriter, *pieces: bytes) -> None:
    writer.writelines(pieces)
    await writer.drain()


async def _drip(writer: asyncio.StreamWriter, piece: bytes, pause: float) -> None:
    while True:
        await _send(writer, piece)
        await asyncio.sleep(pause)


async def _tarpit(writer: asyncio.StreamWriter, pause: float) -> None:
    await _send(writer, _HEAD, b"\r\n")
    await _drip(writer, b".", pause)


async def _slow_headers(writer: asyncio.StreamWriter, pause: float) -> None:
    await _send(writer, _HEAD)
    await _drip(writer, b"X-Wait: yes\r\n", pause)


async def _slow_first_byte(writer: asyncio.StreamWriter, pause: float) -> None:
    await asyncio.sleep(pause)
    await _send(writer, response("200 OK", OK, "Connection: close"))


async def _silence(_: asyncio.StreamWriter, __: float) -> None:
    await asyncio.Event().wait()


async def _endless_body(writer: asyncio.StreamWriter, _: float) -> None:
    await _send(writer, _HEAD, b"\r\n")
    await _drip(writer, b"<p>and on</p>\n" * 1_000, 0)


async def _endless_headers(writer: asyncio.StreamWriter, _: float) -> None:
    await _send(writer, _HEAD)
    await _drip(writer, b"X-More: and more\r\n" * 100, 0)


async def _huge_headers(writer: asyncio.StreamWriter, _: float) -> None:
    await _send(writer, _HEAD, b"X-Huge: ", b"x" * bombs.MEBIBYTE, b"\r\nContent-Length: 2\r\n\r\nok")


async def _bad_chunking(writer: asyncio.StreamWriter, _: float) -> None:
    await _send(writer, _HEAD, b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nnot a size\r\nworld")


async def _early_close(writer: asyncio.StreamWriter, _: float) -> None:
    await _send(writer, _HEAD[:-20])


async def _lying_length(writer: asyncio.StreamWriter, _: float) -> None:
    await _send(writer, _HEAD, b"Content-Length: 5000\r\n\r\n", OK)


async def _cut_chunks(writer: asyncio.StreamWriter, _: float) -> None:
    await _send(writer, _HEAD, b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")


async def _reset(writer: asyncio.StreamWriter, _: float) -> None:
    # Closing with a linger of zero seconds sends RST instead of FIN.
    sock: socket.socket = writer.get_extra_info("socket")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


async def _not_http(writer: asyncio.StreamWriter, _: float) -> None:
    await _send(writer, b"220 mail.example ESMTP\r\n")


def _bomb(encoding: str, pieces: Callable[[], Iterable[bytes]]) -> Trouble:
    async def send(writer: asyncio.StreamWriter, _: float) -> None:
        await _send(writer, _HEAD, f"Content-Encoding: {encoding}\r\n\r\n".encode())
        for piece in pieces():
            await _send(writer, piece)

    return send


TROUBLE: dict[str, Trouble] = {
    "tarpit": _tarpit,
    "slow-headers": _slow_headers,
    "slow-first-byte": _slow_first_byte,
    "silence": _silence,
    "endless-body": _endless_body,
    "endless-headers": _endless_headers,
    "huge-headers": _huge_headers,
    "bad-chunking": _bad_chunking,
    "early-close": _early_close,
    "lying-length": _lying_length,
    "cut-chunks": _cut_chunks,
    "reset": _reset,
    "not-http": _not_http,
    "gzip-bomb": _bomb("gzip", lambda: bombs.gzip_bomb(BOMB_MEBIBYTES)),
    "br-bomb": _bomb("br", lambda: [bombs.brotli_bomb(BOMB_MEBIBYTES)]),
    "zstd-bomb": _bomb("zstd", lambda: bombs.zstd_bomb(BOMB_MEBIBYTES)),
}
"""Answers that are not. The connection is closed behind them."""
