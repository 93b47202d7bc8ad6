from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from typing import NamedTuple

import wreq

from gossamer.adapters.egress import RefusedError, Resolver, UnresolvedError
from gossamer.adapters.fetcher_http.clients import Clients, Pinned
from gossamer.adapters.fetcher_http.faults import CLIENT_ERRORS, error_of
from gossamer.failpoints import failpoint
from gossamer.model import Error, Fault, RequestOptions, Response, Validators
from gossamer.url import host_of

PLAIN = frozenset({"", "identity", "none", "utf-8", "binary", "8bit", "7bit"})
"""Content encodings, real or imagined by servers, that leave a body as it is."""
_PIECE = 16 * 1024
"""What is handed on at once: others want their turn too."""


class HttpFetcher:
    """Implements `ports.Fetcher`. The deadlines for connecting and for the first byte both count from the start.

    `max_body` asks for the beginning of a body: what is beyond is cut off, and both the beginning and a `too-large`
    error come back. Without it a body that announces itself as too large is not read at all. `into` gets as much of a
    body as is wanted, and no more either; the body of an answer other than 2xx comes back as ever.
    """

    def __init__(
        self,
        *,
        resolver: Resolver | None = None,
        trust: bytes | None = None,
        clients: int = 512,
        idle: float = 60.0,
        window: float = 10.0,
    ) -> None:
        """`trust` is a PEM bundle of authorities instead of the built-in one; `window` the seconds over which a body
        must keep up the minimum rate; `clients` and `idle` bound what is kept open for hosts not asked just now."""
        self._clients = Clients(resolver or Resolver(), trust=trust, most=clients, idle=idle)
        self._window = window

    async def fetch(
        self,
        url: str,
        options: RequestOptions,
        *,
        max_body: int | None = None,
        validators: Validators = Validators(),  # noqa: B008 (frozen)
        into: Callable[[bytes], bool] | None = None,
    ) -> Response:
        exchange = _Exchange(options, _Wanted(max_body, into), self._window)
        error = await exchange.run(url, self._clients, _conditions(validators))
        return exchange.response(error)

    async def close(self) -> None:
        self._clients.close()


class _Wanted(NamedTuple):
    """How much of a body is wanted (None: all of it, or nothing), and who takes it."""

    max_body: int | None
    into: Callable[[bytes], bool] | None


class _Exchange:
    """One request under way: what has come so far, and when patience ends."""

    def __init__(self, options: RequestOptions, wanted: _Wanted, window: float) -> None:
        self._loop = asyncio.get_running_loop()
        self._started = self._loop.time()
        self._options = options
        self._cap = options.max_body if wanted.max_body is None else wanted.max_body
        self._beginning_wanted = wanted.max_body is not None
        self._into = wanted.into
        self._window = window if options.min_rate else math.inf
        self._waiting_for = "DNS"
        self._status: int | None = None
        self._headers: tuple[tuple[str, str], ...] = ()
        self._address: str | None = None
        self._chunks: list[memoryview] = []
        self._size = 0

    async def run(self, url: str, clients: Clients, conditions: dict[str, str]) -> Error | None:
        options = self._options
        try:
            async with asyncio.timeout(min(options.first_byte_timeout, options.total_timeout)) as deadline:
                pinned = await clients.client(host_of(url), options)
                self._waiting_for = "the first byte"
                response = await (pinned.client.get(url, headers=conditions) if conditions else pinned.client.get(url))
                return self._read_head(response, pinned) or await self._read_body(response, deadline)
        except TimeoutError:
            return self._out_of_time()
        except RefusedError as error:
            return Error(fault=Fault.ADDRESS, text=str(error))
        except UnresolvedError as error:
            return Error(fault=Fault.DNS, text=str(error))
        except CLIENT_ERRORS as error:
            return error_of(error, options)

    def response(self, error: Error | None) -> Response:
        body = b"".join(self._chunks)[: self._cap]
        return Response(
            status=self._status,
            headers=self._headers,
            body=body,
            wire_bytes=self._size,
            error=error,
            address=self._address,
            elapsed=self._loop.time() - self._started,
        )

    def _read_head(self, response: wreq.Response, pinned: Pinned) -> Error | None:
        remote = response.remote_addr and response.remote_addr.ip()
        self._address = str(remote)
        if remote not in pinned.addresses:
            return Error(fault=Fault.ADDRESS, text=f"connected to {remote}, which is not an address of this host")
        self._status = response.status.as_int()
        self._headers = _pairs(response.headers)
        failpoint("connected")
        if self._into and not 200 <= self._status < 300:
            self._into, self._cap = None, min(self._cap, self._options.max_body)
        encoding = next((value for name, value in self._headers if name == "content-encoding"), "")
        if encoding.lower() not in PLAIN:
            return Error(fault=Fault.ENCODING, text=f"the body is encoded as {encoding[:80]!r}, which nobody asked for")
        if not self._beginning_wanted and (response.content_length or 0) > self._cap:
            return self._too_large(f", it says {response.content_length}")
        return None

    async def _read_body(self, response: wreq.Response, deadline: asyncio.Timeout) -> Error | None:
        quota = self._options.min_rate * self._window if self._options.min_rate else math.inf
        due = quota
        moved = self._move(deadline)
        with response.stream() as stream:
            async for chunk in stream:
                if not isinstance(chunk, memoryview):
                    continue  # trailers
                self._size += len(chunk)
                if self._into is None:
                    self._chunks.append(chunk)
                elif not await self._hand_on(chunk, self._into):
                    return None
                if self._size == len(chunk):
                    failpoint("mid-body")
                if self._size > self._cap:
                    return self._too_large()
                # Most bodies are over before it would be worth the while to move their deadline.
                if self._size >= due and self._loop.time() > moved + self._window / 10:
                    due = self._size + quota
                    moved = self._move(deadline)
        return None

    async def _hand_on(self, chunk: memoryview, into: Callable[[bytes], bool]) -> bool:
        """Whether more is wanted."""
        fitting = len(chunk) - max(self._size - self._cap, 0)
        for start in range(0, fitting, _PIECE):
            if not into(bytes(chunk[start : min(start + _PIECE, fitting)])):
                return False
            await asyncio.sleep(0)
        return True

    def _move(self, deadline: asyncio.Timeout) -> float:
        """The next bytes that the minimum rate asks for have one window of time to come."""
        now = self._loop.time()
        end, window_end = self._started + self._options.total_timeout, now + self._window
        self._waiting_for = "faster bytes" if window_end < end else "the rest of the body"
        deadline.reschedule(min(end, window_end))
        return now

    def _too_large(self, more: str = "") -> Error:
        return Error(fault=Fault.TOO_LARGE, text=f"the body is larger than {self._cap} bytes{more}")

    def _out_of_time(self) -> Error:
        spent = self._loop.time() - self._started
        if self._waiting_for == "DNS":
            return Error(fault=Fault.DNS, text=f"no answer from DNS within {spent:.1f} s")
        if self._waiting_for == "faster bytes":
            text = f"the body came at less than {self._options.min_rate} bytes a second for {self._window:g} s"
            return Error(fault=Fault.SLOW, text=text)
        return Error(fault=Fault.TIMEOUT, text=f"gave up after {spent:.1f} s, waiting for {self._waiting_for}")


def _conditions(validators: Validators) -> dict[str, str]:
    """What the server once said of a page, said back. A value that could not be repeated as it was is not sent."""
    headers = {"if-none-match": validators.etag, "if-modified-since": validators.last_modified}
    return {name: value for name, value in headers.items() if value and value.isascii() and value.isprintable()}


def _pairs(headers: wreq.HeaderMap) -> tuple[tuple[str, str], ...]:
    try:
        return tuple([(str(name, "ascii"), str(value, "utf-8")) for name, value in headers])
    except UnicodeDecodeError:
        return tuple([(str(name, "latin-1"), _text(value)) for name, value in headers])


def _text(value: memoryview) -> str:
    try:
        return str(value, "utf-8")
    except UnicodeDecodeError:
        return str(value, "latin-1")
