from __future__ import annotations

import asyncio

import pytest

from gossamer.adapters.bus_local import LocalBus, WorkersFailedError
from gossamer.ports import Bus, WorkerBus
from gossamer.testing.contracts.bus import PATIENCE, BusContract, echo, lease


class TestLocalBus(BusContract):
    def make_bus(self) -> Bus:
        return LocalBus(echo)


async def test_a_worker_that_raises_is_heard_of() -> None:
    async def broken(bus: WorkerBus) -> None:
        async for _ in bus.leases():
            raise ValueError("no idea")

    bus = LocalBus(broken)
    await bus.start()
    await bus.send([lease(1)])
    with pytest.raises(WorkersFailedError, match="ValueError: no idea"):
        await bus.receive(PATIENCE)
    await bus.close()


async def test_a_worker_that_just_ends_is_heard_of() -> None:
    async def lazy(_: WorkerBus) -> None:
        await asyncio.sleep(0)

    bus = LocalBus(lazy)
    await bus.start()
    with pytest.raises(WorkersFailedError, match="ended"):
        await bus.receive(PATIENCE)
    await bus.close()


async def test_closing_cancels_the_worker_and_waits_for_it() -> None:
    ended = asyncio.Event()

    async def tidy(bus: WorkerBus) -> None:
        try:
            async for _ in bus.leases():
                pass
        finally:
            await asyncio.sleep(0)
            ended.set()

    bus = LocalBus(tidy)
    await bus.start()
    await asyncio.sleep(0)
    await bus.close()
    assert ended.is_set()
