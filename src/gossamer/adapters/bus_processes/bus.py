"""The dispatcher's end of the bus."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from zlib import crc32

from gossamer.adapters.bus_local import Inbox, WorkersFailedError
from gossamer.adapters.bus_processes.slot import Slot
from gossamer.adapters.bus_processes.watch import LOOK_EVERY, Limits
from gossamer.model import Lease, Outcome
from gossamer.ports import WorkerStatus

DEFAULT_LIMITS = Limits()


class ProcessBus:
    """Hands leases to `processes` children, each started by `command` with two descriptors added to its end."""

    def __init__(self, command: Sequence[str], processes: int, limits: Limits = DEFAULT_LIMITS) -> None:
        self._inbox = Inbox()
        self._slots = [Slot(number, command, limits, self._inbox.put) for number in range(1, processes + 1)]
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        self._tasks = [asyncio.create_task(job) for job in (self._watch(), *(slot.run() for slot in self._slots))]
        for task in self._tasks:
            task.add_done_callback(self._ended)

    async def send(self, leases: Sequence[Lease]) -> None:
        for lease in leases:
            self._slot_for(lease).take(lease)
        for slot in self._slots:
            slot.flush()

    async def receive(self, patience: float) -> list[Outcome]:
        return await self._inbox.take(patience)

    def workers(self) -> list[WorkerStatus]:
        return [slot.status() for slot in self._slots]

    async def close(self) -> None:
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def _slot_for(self, lease: Lease) -> Slot:
        if lease.exclusive:
            # One host, one child: its connection is there, kept alive.
            return self._slots[crc32(lease.host.encode()) % len(self._slots)]
        return min(self._slots, key=lambda slot: slot.load)

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()):
            self._inbox.fail(error if isinstance(error, WorkersFailedError) else WorkersFailedError(repr(error)))

    async def _watch(self) -> None:
        last = time.monotonic()
        while True:
            await asyncio.sleep(LOOK_EVERY)
            now = time.monotonic()
            for slot in self._slots:
                slot.look(now - last)
            last = now
