"""A server that minds how it is asked: slower the more it has to do at once, or with 429 for whoever asks too often.

    with LoadedServer(Laden(base=0.05, knee=8), pages=500) as server:
        ...  # crawl server.url
        server.requests()

Its pages form a tree, each with a text of its own, so that a crawl from the first one finds them all. It has a thread
and an event loop of its own, and a log of what it was asked.
"""

from __future__ import annotations

import asyncio
import threading
import time
from random import Random
from types import TracebackType
from typing import Protocol, Self

import msgspec

from gossamer.testing.web.log import Log, Request
from gossamer.testing.web.protocol import Answer, Ask, Connection, plain
from gossamer.testing.web.render import answer_bytes

FANOUT = 12
"""Links from a page to further ones."""
_SYLLABLES = ("ka", "lo", "mi", "ne", "pu", "ra", "sho", "ti", "ve", "zu")


class Verdict(msgspec.Struct, frozen=True):
    """What becomes of a request."""

    delay: float
    status: int = 200
    retry_after: int | None = None


class Manner(Protocol):
    def judge(self, now: float, in_flight: int) -> Verdict:
        """A request that begins now, as one of so many."""


class Laden:
    """Answers in `base` seconds up to the knee; beyond it with the load, to the power of `growth`, longer.

    With a growth of 1 more requests at once bring nothing, with 2 they bring less and less.
    """

    def __init__(self, *, base: float = 0.05, knee: int = 8, growth: float = 1.0) -> None:
        self.base = base
        self.knee = knee
        self._growth = growth

    def judge(self, now: float, in_flight: int) -> Verdict:
        return Verdict(self.base * max(1.0, in_flight / self.knee) ** self._growth)


class Metered:
    """Grants `rate` requests a second, and after a rest a burst of them at once; answers 429 to the others."""

    def __init__(self, *, rate: float, burst: float, base: float = 0.02, retry_after: int | None = None) -> None:
        self.rate = rate
        self._burst = burst
        self._base = base
        self._retry_after = retry_after
        self._left = burst
        self._at = 0.0

    def judge(self, now: float, in_flight: int) -> Verdict:
        self._left = min(self._left + (now - self._at) * self.rate, self._burst)
        self._at = now
        if self._left < 1:
            return Verdict(self._base, 429, self._retry_after)
        self._left -= 1
        return Verdict(self._base)


class LoadedServer:
    def __init__(self, manner: Manner, *, pages: int = 500, address: str = "127.0.0.1") -> None:
        self.manner = manner
        self.pages = pages
        self.origin = ""
        self.in_flight = 0
        self._address = address
        self._log = Log()
        self._numbers = {_path(number): number for number in range(pages)}
        self._connections: set[Connection] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="gossamer-testing-loaded", daemon=True)
        self._server: asyncio.Server | None = None

    @property
    def url(self) -> str:
        """The page from which all others can be reached."""
        return self.origin + _path(0)

    @property
    def urls(self) -> frozenset[str]:
        return frozenset(self.origin + path for path in self._numbers)

    def requests(self) -> list[Request]:
        """A snapshot of the log."""
        return self._log.snapshot()

    def __enter__(self) -> Self:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _listen(self) -> None:
        self._server = await self._loop.create_server(lambda: Connection(self), self._address, 0, backlog=1024)
        address, port = self._server.sockets[0].getsockname()
        self.origin = f"http://{address}:{port}"

    async def _close(self) -> None:
        # Connections learn of their end, or are only just made, in the next turns of the loop.
        for _ in range(3):
            if self._server:
                self._server.close()
            for connection in tuple(self._connections):
                connection.abort()
            await asyncio.sleep(0)

    # -- what stands behind the connections

    def answer(self, ask: Ask) -> Answer:
        if ask.path == "/robots.txt":
            return Answer(status=404, data=plain(404, "No rules.\n"), robots=True)
        verdict = self.manner.judge(time.monotonic(), ask.in_flight)
        if verdict.status != 200:
            return _refusal(verdict)
        number = self._numbers.get(ask.path)
        if number is None:
            return Answer(status=404, data=plain(404, "There is nothing here.\n"), delay=verdict.delay)
        return Answer(status=200, data=_page(number, self.pages), delay=verdict.delay)

    def record(self, request: Request) -> None:
        self._log.add(request)

    def opened(self, connection: Connection) -> None:
        self._connections.add(connection)

    def closed(self, connection: Connection) -> None:
        self._connections.discard(connection)


def _refusal(verdict: Verdict) -> Answer:
    asked = verdict.retry_after
    headers = (("Retry-After", str(asked)),) if asked is not None else ()
    data = plain(verdict.status, "Too fast.\n", headers=headers)
    return Answer(status=verdict.status, data=data, delay=verdict.delay, retry_after=asked)


def _path(number: int) -> str:
    """A name without digits: numbered pages may look like a trap."""
    name = "".join(_SYLLABLES[int(digit)] for digit in str(number))
    return f"/{name}" if number else "/"


def _page(number: int, pages: int) -> bytes:
    random = Random(number)  # noqa: S311
    words = " ".join("".join(random.choices(_SYLLABLES, k=3)) for _ in range(200))
    children = range(FANOUT * number + 1, min(FANOUT * (number + 1) + 1, pages))
    links = "\n".join(f'<a href="{_path(child)}">{_path(child)[1:]}</a>' for child in children)
    title = _path(number)[1:] or "first"
    body = f"<!doctype html>\n<title>{title}</title>\n<main><h1>{title}</h1>\n<p>{words}</p></main>\n{links}\n"
    return answer_bytes(200, (("Content-Type", "text/html; charset=utf-8"),), body.encode())
