"""Hosts on loopback, listening from a thread and an event loop of their own."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager

from gossamer.testing.web.log import Request
from gossamer.testing.web.protocol import Answer, Ask, Connection

_TRIES = 20


class Listener:
    """The connections of one host. `answer` says what is answered, in the server's thread; `record` takes the log."""

    def __init__(
        self, place: socket.socket, origin: str, answer: Callable[[Ask], Answer], record: Callable[[Request], None]
    ) -> None:
        self.origin = origin
        self.in_flight = 0
        self.answer = answer
        self.record = record
        self._place = place
        self._connections: set[Connection] = set()
        self._server: asyncio.Server | None = None

    async def listen(self) -> None:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: Connection(self), sock=self._place, backlog=1024)

    def opened(self, connection: Connection) -> None:
        self._connections.add(connection)

    def closed(self, connection: Connection) -> None:
        self._connections.discard(connection)

    def close(self) -> None:
        if self._server:
            self._server.close()
        for connection in tuple(self._connections):
            connection.abort()


@contextmanager
def serving(listeners: Sequence[Listener]) -> Iterator[None]:
    with _loop_in_a_thread() as loop:
        asyncio.run_coroutine_threadsafe(_listen(listeners), loop).result()
        try:
            yield
        finally:
            asyncio.run_coroutine_threadsafe(_stop(listeners), loop).result()


async def _listen(listeners: Sequence[Listener]) -> None:
    for listener in listeners:
        await listener.listen()


async def _stop(listeners: Sequence[Listener]) -> None:
    # Connections learn of their end, or are only just made, in the next turns of the loop.
    for _ in range(3):
        for listener in listeners:
            listener.close()
        await asyncio.sleep(0)


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


@contextmanager
def bound(addresses: Sequence[str], port: int = 0, *, same_port: bool = True) -> Iterator[Mapping[str, socket.socket]]:
    """A bound socket for each address, by its origin. Where one port must be free everywhere, a few are tried."""
    with ExitStack() as stack:
        places = _bind(addresses, port, same_port=same_port)
        for place in places:
            stack.enter_context(closing(place))
        yield {_origin(place): place for place in places}


def _origin(place: socket.socket) -> str:
    address, port = place.getsockname()
    return f"http://{address}:{port}"


def _bind(addresses: Sequence[str], port: int, *, same_port: bool) -> list[socket.socket]:
    for attempt in range(_TRIES):
        found: list[socket.socket] = []
        try:
            for number, address in enumerate(addresses):
                wanted = found[0].getsockname()[1] if same_port and found else port and port + number
                found.append(_bind_one(address, wanted))
        except OSError:
            for place in found:
                place.close()
            if port or attempt == _TRIES - 1:
                raise
        else:
            return found
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
