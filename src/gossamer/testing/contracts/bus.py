"""What every bus must do."""
# ruff: noqa: S101 (these are tests)

from __future__ import annotations

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from gossamer.model import Lease, LeaseKind, Outcome, RequestOptions
from gossamer.ports import Bus, WorkerBus

PATIENCE = 60.0
"""Seconds until a test gives up on answers that should have come."""


def lease(token: int, *, host: str = "https://example.org", path: str | None = None, exclusive: bool = False) -> Lease:
    """A lease on a page of a host, by default on a page named like its token."""
    return Lease(
        token=token,
        kind=LeaseKind.PAGE,
        source=1,
        page=token,
        url=f"{host}/{token if path is None else path}",
        host=host,
        deadline=0.0,
        exclusive=exclusive,
        request=RequestOptions(user_agent="contract"),
    )


async def echo(bus: WorkerBus) -> None:
    """The worker that the contract asks for: answers each lease at once with its own URL."""
    async for batch in bus.leases():
        for one in reversed(batch):
            await bus.send(Outcome(token=one.token, status=200, location=one.url))


async def collect(bus: Bus, count: int) -> list[Outcome]:
    """The next `count` outcomes, or what came of them in time."""
    outcomes: list[Outcome] = []
    until = time.monotonic() + PATIENCE
    while len(outcomes) < count and (left := until - time.monotonic()) > 0:
        outcomes += await bus.receive(left)
    return outcomes


class BusContract(ABC):
    """Derive from this, and say how to make a bus whose workers run `echo`."""

    @abstractmethod
    def make_bus(self) -> Bus: ...

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Bus]:
        bus = self.make_bus()
        await bus.start()
        try:
            yield bus
        finally:
            await bus.close()

    async def test_every_lease_gets_exactly_one_outcome(self) -> None:
        async with self.running() as bus:
            await bus.send([lease(token) for token in range(1, 101)])
            outcomes = await collect(bus, 100)
            assert {outcome.token: outcome.location for outcome in outcomes} == {
                token: f"https://example.org/{token}" for token in range(1, 101)
            }
            assert len(outcomes) == 100
            assert await bus.receive(0.05) == []

    async def test_a_big_batch_passes(self) -> None:
        async with self.running() as bus:
            await bus.send([lease(token) for token in range(1, 10_001)])
            assert sorted(outcome.token for outcome in await collect(bus, 10_000)) == list(range(1, 10_001))

    async def test_many_small_batches_pass_while_others_are_answered(self) -> None:
        async with self.running() as bus:
            receiving = asyncio.create_task(collect(bus, 500))
            for token in range(1, 501):
                await bus.send([lease(token)])
                await asyncio.sleep(0)
            assert sorted(outcome.token for outcome in await receiving) == list(range(1, 501))

    async def test_exclusive_leases_of_many_hosts_are_answered_like_others(self) -> None:
        async with self.running() as bus:
            await bus.send([lease(token, host=f"https://h{token}.example", exclusive=True) for token in range(1, 51)])
            assert {outcome.token for outcome in await collect(bus, 50)} == set(range(1, 51))

    async def test_an_empty_batch_is_nothing(self) -> None:
        async with self.running() as bus:
            await bus.send([])
            assert await bus.receive(0.05) == []

    async def test_receive_comes_back_empty_handed_when_its_time_is_over(self) -> None:
        async with self.running() as bus:
            assert await bus.receive(0) == []
            async with asyncio.timeout(PATIENCE):
                assert await bus.receive(0.01) == []

    async def test_receive_wakes_when_an_outcome_arrives(self) -> None:
        async with self.running() as bus:
            waiting = asyncio.create_task(bus.receive(10 * PATIENCE))
            await asyncio.sleep(0)
            await bus.send([lease(1)])
            async with asyncio.timeout(PATIENCE):
                assert [outcome.token for outcome in await waiting] == [1]

    async def test_a_cancelled_receive_loses_nothing(self) -> None:
        async with self.running() as bus:
            waiting = asyncio.create_task(bus.receive(PATIENCE))
            await asyncio.sleep(0)
            waiting.cancel()
            await asyncio.wait([waiting])
            await bus.send([lease(1)])
            assert [outcome.token for outcome in await collect(bus, 1)] == [1]

    async def test_workers_tell_what_they_have_in_hand(self) -> None:
        async with self.running() as bus:
            await bus.send([lease(token) for token in range(1, 11)])
            assert sum(worker.in_flight for worker in bus.workers()) == 10
            await collect(bus, 10)
            assert [(worker.in_flight, worker.restarts) for worker in bus.workers()] == [(0, 0)] * len(bus.workers())
            assert all(worker.name for worker in bus.workers())

    async def test_closing_twice_is_closing_once(self) -> None:
        async with self.running() as bus:
            await bus.send([lease(1)])
            await bus.close()
            await bus.close()

    async def test_a_bus_that_was_never_started_can_be_closed(self) -> None:
        await self.make_bus().close()
