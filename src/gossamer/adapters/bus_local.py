"""The bus within one process: queues between the dispatcher and a worker that runs beside it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from gossamer.model import Lease, Outcome
from gossamer.ports import WorkerBus, WorkerStatus


class WorkersFailedError(RuntimeError):
    """No worker is left that could do anything, and starting more would not help."""


class Inbox:
    """Outcomes on their way to the dispatcher."""

    def __init__(self) -> None:
        self._outcomes: list[Outcome] = []
        self._failure: WorkersFailedError | None = None
        self._something = asyncio.Event()

    def put(self, outcomes: Iterable[Outcome]) -> None:
        self._outcomes.extend(outcomes)
        if self._outcomes:
            self._something.set()

    def fail(self, failure: WorkersFailedError) -> None:
        """From now on, taking raises this."""
        self._failure = failure
        self._something.set()

    async def take(self, patience: float) -> list[Outcome]:
        if not self._something.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(patience):
                    await self._something.wait()
        if self._failure:
            raise self._failure
        self._something.clear()
        outcomes, self._outcomes = self._outcomes, []
        return outcomes


@dataclass
class Status:
    """What people see of one worker."""

    name: str
    in_flight: int
    restarts: int


class LocalBus:
    """Runs `work` as a task of this loop. A page that hangs its parser hangs the loop: children are for that."""

    def __init__(self, work: Callable[[WorkerBus], Awaitable[None]]) -> None:
        self._work = work
        self._inbox = Inbox()
        self._end = _WorkerEnd(self._inbox)
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        self._task = asyncio.create_task(self._run())

    async def send(self, leases: Sequence[Lease]) -> None:
        self._end.offer(leases)

    async def receive(self, patience: float) -> list[Outcome]:
        return await self._inbox.take(patience)

    def workers(self) -> list[WorkerStatus]:
        return [Status("local", self._end.in_flight, 0)]

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _run(self) -> None:
        try:
            await self._work(self._end)
        except Exception as error:
            failure = WorkersFailedError(f"the worker failed: {type(error).__name__}: {error}")
            failure.__cause__ = error
            self._inbox.fail(failure)
        else:
            self._inbox.fail(WorkersFailedError("the worker ended although there could be more to do"))


class _WorkerEnd:
    """The worker's end."""

    def __init__(self, inbox: Inbox) -> None:
        self.in_flight = 0
        self._inbox = inbox
        self._batches: asyncio.Queue[list[Lease]] = asyncio.Queue()

    def offer(self, leases: Sequence[Lease]) -> None:
        if leases:
            self.in_flight += len(leases)
            self._batches.put_nowait(list(leases))

    async def leases(self) -> AsyncIterator[list[Lease]]:
        while True:
            yield await self._batches.get()

    async def send(self, outcome: Outcome) -> None:
        self.in_flight -= 1
        self._inbox.put((outcome,))

    def parsing(self, token: int) -> None:
        """Nobody watches: one process has nobody who could."""
