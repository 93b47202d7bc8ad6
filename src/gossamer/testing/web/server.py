"""Serves a web on loopback, each host at its own address or port, from a thread of its own."""

from __future__ import annotations

import ipaddress
import socket
from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack
from math import ceil
from pathlib import Path
from time import time
from types import TracebackType
from typing import Self
from wsgiref.handlers import format_date_time

from gossamer.testing.web.listener import Listener, bound, serving
from gossamer.testing.web.log import Log, Request
from gossamer.testing.web.protocol import Answer, Ask, plain
from gossamer.testing.web.render import href, page_bytes
from gossamer.testing.web.site import Page
from gossamer.testing.web.world import Web


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
            stack.enter_context(self.log)
            places = stack.enter_context(bound(self._addresses, self._port, same_port=not self._one_address))
            self.web = self.web.at(list(places))
            stack.enter_context(serving(self._listeners(places)))
            self._running = stack.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._running.close()

    def _listeners(self, places: Mapping[str, socket.socket]) -> list[Listener]:
        hosts = [_HostAnswers(self.web, number) for number in range(len(self.web.hosts))]
        return [Listener(places[it.origin], it.origin, it.answer, self.log.add) for it in hosts if not it.host.dead]


class _HostAnswers:
    """The answers of one host, and what it remembers: who asked how often."""

    def __init__(self, web: Web, number: int) -> None:
        self.web = web
        self.number = number
        self.host = web.hosts[number]
        self.origin = web.origins[number]
        self._visits: Counter[str] = Counter()
        self._page_visits = 0
        self._made: dict[tuple[str, bool], bytes] = {}
        self._moved_robots = _moved_robots(web, number)

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
