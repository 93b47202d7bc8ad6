"""A clock that tests move by hand, or that moves itself whenever nobody has anything else to do."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Coroutine
from itertools import count
from typing import TypeVar

T = TypeVar("T")

_SETTLING = 20
"""Turns of the loop in which woken tasks may get to their next wait."""


class FakeClock:
    """Virtual time behind `gossamer.ports.Clock`."""

    def __init__(self, now: float = 1_000.0, wall: float = 1_700_000_000.0) -> None:
        self._now = now
        self._ahead = wall - now
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._order = count()

    def now(self) -> float:
        return self._now

    def wall(self) -> float:
        return self._now + self._ahead

    def jump(self, seconds: float) -> None:
        """Move the wall clock only, as an administrator or a bad time server does."""
        self._ahead += seconds

    async def sleep(self, seconds: float) -> None:
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        woken = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._now + seconds, next(self._order), woken))
        await woken

    async def advance(self, seconds: float) -> None:
        """Let that much time pass; each sleeper wakes at its own moment, and acts before the next one does."""
        end = self._now + seconds
        await _settle()
        while (due := self._next_due()) is not None and due <= end:
            await self._wake(due)
        self._now = end

    async def run(self, work: Coroutine[None, None, T]) -> T:
        """The result of `work`, with time passing whenever all sleep. For work that waits on this clock only."""
        task = asyncio.ensure_future(work)
        try:
            await _settle()
            while not task.done():
                if (due := self._next_due()) is None:
                    raise AssertionError(f"at {self._now:g} s nothing sleeps on the clock, yet the work is not done")
                await self._wake(due)
            return task.result()
        finally:
            task.cancel()

    def _next_due(self) -> float | None:
        while self._sleepers and self._sleepers[0][2].done():
            heapq.heappop(self._sleepers)
        return self._sleepers[0][0] if self._sleepers else None

    async def _wake(self, due: float) -> None:
        self._now = max(self._now, due)
        heapq.heappop(self._sleepers)[2].set_result(None)
        await _settle()


async def _settle() -> None:
    for _ in range(_SETTLING):
        await asyncio.sleep(0)
