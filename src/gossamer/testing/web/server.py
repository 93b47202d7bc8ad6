"""Serves a web on loopback, each host at its own address or port, from a thread of its own."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from math import ceil
from pathlib import Path
from time import time
from types import TracebackType
from typing import Self
from wsgiref.handlers import format_date_time

from gossamer.testing.web.log import Log, Request
from gossamer.testing.web.protocol import Answer, Ask, Connection, plain
from gossamer.testing.web.render import href, page_bytes
from gossamer.testing.web.site import Page
from gossamer.testing.web.world import Web

_TRIES = 20


class WebServer:
    """`with WebServer(web) as server:` and the web is there, at `server.url(0, "/path")`, with its log in `server.log`.

    Hosts have consecutive addresses from `address` on, all with the same free port; with `one_address` they share the
    address and each has a port of its own (then they are one site). `port` asks for a certain one. The server has
    its own thread and event loop: it stays up whatever happens to the crawler, and tests may run a loop of their own.
    """

    def __init__(
        self,
        web: Web,
        *,
        address: str = "127.0.1.1",
        one_address: bool = False,
        port: int = 0,
        log_file: Path | None = None,
    ) -> None:
        self.web = web
        """The web as it is served; until the server has started its origins are made up."""
        self.log = Log(log_file)
        count = len(web.hosts)
        first = ipaddress.ip_address(address)
        self._addresses = [str(first if one_address else first + number) for number in range(count)]
        self._one_address = one_address
        self._port = port
        self._running = ExitStack()

    def url(self, host: int = 0, path: str = "/") -> str:
        return self.web.url(host, path)

    @property
    def seeds(self) -> tuple[str, ...]:
        return self.web.seeds

    def requests(self) -> list[Request]:
        """A snapshot of the log."""
        return self.log.snapshot()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            sockets = _bind(self._addresses, self._port, same_port=not self._one_address)
            for place in sockets:
                stack.enter_context(closing(place))
            stack.enter_context(self.log)
            self.web = self.web.at([_origin(place) for place in sockets])
            services = [_HostService(self.web, number, self.log) for number in range(len(self.web.hosts))]
            loop = stack.enter_context(_loop_in_a_thread())
            asyncio.run_coroutine_threadsafe(_listen(services, sockets), loop).result()
            stack.callback(lambda: asyncio.run_coroutine_threadsafe(_stop(services), loop).result())
            self._running = stack.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._running.close()


@contextmanager
def _loop_in_a_thread() -> Iterator[asyncio.AbstractEventLoop]:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="gossamer-testing-web", daemon=True)
    thread.start()
    try:
        yield loop
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _listen(services: list[_HostService], sockets: list[socket.socket]) -> None:
    for service, place in zip(services, sockets, strict=True):
        if not service.host.dead:
            await service.listen(place)


async def _stop(services: list[_HostService]) -> None:
    # Connections learn of their end, or are only just made, in the next turns of the loop.
    for _ in range(3):
        for service in services:
            service.close()
        await asyncio.sleep(0)


class _HostService:
    """The answers of one host, and what it remembers: who asked how often."""

    def __init__(self, web: Web, number: int, log: Log) -> None:
        self.web = web
        self.number = number
        self.host = web.hosts[number]
        self.origin = web.origins[number]
        self.in_flight = 0
        self.record = log.add
        self._visits: Counter[str] = Counter()
        self._page_visits = 0
        self._made: dict[tuple[str, bool], bytes] = {}
        self._moved_robots = _moved_robots(web, number)
        self._connections: set[Connection] = set()
        self._server: asyncio.Server | None = None

    async def listen(self, place: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: Connection(self), sock=place, backlog=1024)

    def opened(self, connection: Connection) -> None:
        self._connections.add(connection)

    def closed(self, connection: Connection) -> None:
        self._connections.discard(connection)

    def close(self) -> None:
        if self._server:
            self._server.close()
        for connection in tuple(self._connections):
            connection.abort()

    def answer(self, ask: Ask) -> Answer:
        self._visits[ask.path] += 1
        if ask.path == "/robots.txt":
            return self._robots()
        if ask.path in self._moved_robots:
            return Answer(status=200, data=plain(200, self._moved_robots[ask.path]), robots=True)
        if ask.method not in ("GET", "HEAD"):
            return Answer(status=405, data=plain(405, "Only GET and HEAD.\n"))
        return self._come_back_later() or self._page(ask)

    def _robots(self) -> Answer:
        robots, latency = self.host.robots, self.host.latency
        if robots.times is None or self._visits["/robots.txt"] <= robots.times:
            if robots.trouble:
                return Answer(status=0, trouble=robots.trouble, delay=latency, robots=True)
            if robots.status != 200:
                return Answer(status=robots.status, data=plain(robots.status, "No.\n"), delay=latency, robots=True)
        if robots.redirect:
            place = href(self.web, self.number, Page(path="/robots.txt"), robots.redirect)
            return Answer(status=302, data=plain(302, "", headers=(("Location", place),)), delay=latency, robots=True)
        status = 200 if robots.text is not None else 404
        text = (robots.text or "").replace("$ORIGIN", self.origin)
        return Answer(status=status, data=plain(status, text), delay=latency, robots=True)

    def _come_back_later(self) -> Answer | None:
        self._page_visits += 1
        told = self.host.retry_after
        if told is None or self._page_visits > told.times:
            return None
        when = format_date_time(ceil(time()) + told.seconds) if told.as_date else str(told.seconds)
        data = plain(told.status, "Come back later.\n", headers=(("Retry-After", when),))
        return Answer(status=told.status, data=data, delay=self.host.latency, retry_after=told.seconds)

    def _page(self, ask: Ask) -> Answer:
        page = self.host.pages.get(ask.path)
        if page is None:
            return Answer(status=404, data=plain(404, "There is nothing here.\n"), delay=self.host.latency)
        if self._visits[ask.path] <= page.failures:
            return Answer(status=503, data=plain(503, "Not now.\n"), delay=self.host.latency)
        gzipped = page.gzip and "gzip" in ask.header("accept-encoding")
        return Answer(status=page.status, data=self._bytes(page, gzipped), delay=self.host.latency + page.delay)

    def _bytes(self, page: Page, gzipped: bool) -> bytes:
        key = page.path, gzipped
        if key not in self._made:
            self._made[key] = page_bytes(self.web, self.number, page, gzipped=gzipped)
        return self._made[key]


def _moved_robots(web: Web, number: int) -> dict[str, str]:
    """Robots files that are kept on this host, of this host or of others: path and text."""
    moves = (host.robots for host in web.hosts)
    return {
        robots.redirect.path: robots.text or ""
        for robots in moves
        if robots.redirect and robots.redirect.host == number
    }


def _origin(place: socket.socket) -> str:
    address, port = place.getsockname()
    return f"http://{address}:{port}"


def _bind(addresses: list[str], port: int, *, same_port: bool) -> list[socket.socket]:
    """A bound socket for each address. Where one port must be free everywhere, a few candidates are tried."""
    for attempt in range(_TRIES):
        bound: list[socket.socket] = []
        try:
            for number, address in enumerate(addresses):
                wanted = bound[0].getsockname()[1] if same_port and bound else port and port + number
                bound.append(_bind_one(address, wanted))
        except OSError:
            for place in bound:
                place.close()
            if port or attempt == _TRIES - 1:
                raise
        else:
            return bound
    raise AssertionError("unreachable")


def _bind_one(address: str, port: int) -> socket.socket:
    place = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        place.bind((address, port))
    except OSError:
        place.close()
        raise
    return place
