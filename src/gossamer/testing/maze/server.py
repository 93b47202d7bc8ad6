"""Serves a maze on loopback, from a thread of its own."""

from __future__ import annotations

import ipaddress
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from gossamer.testing.maze.site import Host
from gossamer.testing.maze.world import Maze
from gossamer.testing.web.listener import Listener, bound, serving
from gossamer.testing.web.log import Log, Request
from gossamer.testing.web.protocol import Answer, Ask, plain


class MazeServer:
    """`with MazeServer(maze) as server:` and it is there, at `server.url("/")`; `server.maze` knows the answer."""

    def __init__(self, maze: Maze, *, address: str = "127.0.2.1", port: int = 0, log_file: Path | None = None) -> None:
        self.maze = maze
        """The maze as it is served; until the server has started its origins are made up."""
        self.log = Log(log_file)
        self._address = ipaddress.ip_address(address)
        self._port = port
        self._running = ExitStack()

    def url(self, path: str = "/", host: int = 0) -> str:
        return self.maze.url(path, host)

    @property
    def seeds(self) -> tuple[str, ...]:
        return self.maze.seeds

    def requests(self) -> list[Request]:
        """A snapshot of the log."""
        return self.log.snapshot()

    def __enter__(self) -> Self:
        addresses = [str(self._address + number) for number in range(len(self.maze.hosts))]
        with ExitStack() as stack:
            stack.enter_context(self.log)
            places = stack.enter_context(bound(addresses, self._port))
            self.maze = self.maze.at(list(places))
            answers = [_Answers(*pair) for pair in zip(self.maze.hosts, places, strict=True)]
            listeners = [Listener(places[it.origin], it.origin, it.answer, self.log.add) for it in answers]
            stack.enter_context(serving(listeners))
            self._running = stack.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._running.close()


class _Answers:
    """What one host says."""

    def __init__(self, host: Host, origin: str) -> None:
        self.origin = origin
        self._host = host
        self._visits = count(1)

    def answer(self, ask: Ask) -> Answer:
        if ask.method not in ("GET", "HEAD"):
            return Answer(status=405, data=plain(405, "Only GET and HEAD.\n"))
        answer = self._host.spot(ask.path, next(self._visits)).answer(self.origin)
        return msgspec.structs.replace(answer, robots=ask.path == "/robots.txt")
