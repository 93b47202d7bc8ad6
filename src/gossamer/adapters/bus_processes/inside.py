"""A child's end of the bus."""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

import msgspec

from gossamer.adapters.bus_processes.link import Link
from gossamer.adapters.bus_processes.pulse import Pulse
from gossamer.model import Error, Fault, Lease, Outcome
from gossamer.ports import WorkerBus

BEAT = 0.5
_PR_SET_PDEATHSIG = 1
_PARENT_DECIDES = {signal.SIGINT, signal.SIGTERM}

_decoder = msgspec.msgpack.Decoder(list[Lease])
_encoder = msgspec.msgpack.Encoder()


def serve(work: Callable[[WorkerBus], Awaitable[None]], descriptors: Sequence[str]) -> None:
    """The whole life of a child: `descriptors` are the last arguments of its command line."""
    _obey_only_the_parent()
    socket_fd, pulse_fd = map(int, descriptors)
    pulse = Pulse(pulse_fd)
    os.close(pulse_fd)
    os.set_inheritable(socket_fd, False)
    asyncio.run(_live(work, socket.socket(fileno=socket_fd), pulse))


def _obey_only_the_parent() -> None:
    for number in _PARENT_DECIDES:
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _PARENT_DECIDES)
    if sys.platform == "linux":
        # The end of the socket tells the same, but not to a child that hangs or is stopped.
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


async def _live(work: Callable[[WorkerBus], Awaitable[None]], sock: socket.socket, pulse: Pulse) -> None:
    bus = _ChildBus(pulse)
    await asyncio.get_running_loop().create_unix_connection(lambda: bus.link, sock=sock)
    # Without a parent there is nobody to answer to, and nothing here is worth a goodbye.
    bus.link.lost.add_done_callback(lambda _: os._exit(0))
    _beat(asyncio.get_running_loop(), pulse)
    await work(bus)


def _beat(loop: asyncio.AbstractEventLoop, pulse: Pulse) -> None:
    pulse.advance()
    loop.call_later(BEAT, _beat, loop, pulse)


class _ChildBus:
    def __init__(self, pulse: Pulse) -> None:
        self._pulse = pulse
        self._batches: asyncio.Queue[list[Lease]] = asyncio.Queue()
        self.link = Link(_decoder, self._batches.put_nowait)

    async def leases(self) -> AsyncIterator[list[Lease]]:
        while True:
            yield await self._batches.get()

    async def send(self, outcome: Outcome) -> None:
        await self.link.writable.wait()
        self.link.post([_encoded(outcome)])

    def parsing(self, token: int) -> None:
        self._pulse.token = token


def _encoded(outcome: Outcome) -> bytes:
    try:
        return _encoder.encode(outcome)
    except (UnicodeEncodeError, OverflowError, ValueError) as error:
        text = f"what was read cannot be passed on: {error.__class__.__name__}: {error}"
        return _encoder.encode(Outcome(token=outcome.token, error=Error(fault=Fault.PARSE, text=text)))
