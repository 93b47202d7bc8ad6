"""What a child runs in the tests of the bus: the path of a lease's URL says what becomes of it."""

from __future__ import annotations

import asyncio
import ctypes
import os
import sys
import time

from gossamer.adapters.bus_processes.inside import serve
from gossamer.model import Document, Lease, Outcome, Reading
from gossamer.ports import WorkerBus
from gossamer.url import path_of

LINKS = tuple(f"https://example.org/{'a' * 36}/{number:03}" for number in range(100))


def read(path: str) -> Reading:
    """Read a page, good or poisoned."""
    if path == "/segfault":
        ctypes.string_at(0)
    if path == "/exit":
        os._exit(3)
    if path == "/hang":
        time.sleep(3600)
    if path == "/greedy":
        hoard = b"x" * 2**29
        time.sleep(3600)
        return Reading(document=Document(hash=str(len(hoard))))
    return Reading(document=Document(links=LINKS))


async def answer(bus: WorkerBus, lease: Lease) -> None:
    path = path_of(lease.url)
    if path == "/never":
        await asyncio.sleep(3600)
    if path == "/block":
        time.sleep(3600)  # noqa: ASYNC251 (a child that hangs outside of reading)
    bus.parsing(lease.token)
    reading = read(path)
    bus.parsing(0)
    etag = "\ud800" if path == "/surrogate" else None
    who = str(os.getpid())
    await bus.send(Outcome(token=lease.token, location=lease.url, address=who, etag=etag, reading=reading))


async def work(bus: WorkerBus) -> None:
    tasks = set()
    async for batch in bus.leases():
        for lease in batch:
            if path_of(lease.url) == "/raise":
                raise ValueError("a worker with a bug")
            tasks.add(asyncio.create_task(answer(bus, lease)))


if __name__ == "__main__":
    serve(work, sys.argv[1:])
