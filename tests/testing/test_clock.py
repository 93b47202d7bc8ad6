from __future__ import annotations

import asyncio

import pytest

from gossamer.ports import Clock
from gossamer.testing.clock import FakeClock


async def test_time_stands_still_until_it_is_moved() -> None:
    clock: Clock = FakeClock(now=5.0, wall=100.0)
    await clock.sleep(0)
    assert (clock.now(), clock.wall()) == (5.0, 100.0)


async def test_sleepers_wake_in_the_order_of_their_times() -> None:
    clock = FakeClock(now=0.0)
    woken: list[tuple[str, float]] = []

    async def sleeper(name: str, seconds: float) -> None:
        await clock.sleep(seconds)
        woken.append((name, clock.now()))

    tasks = [asyncio.create_task(sleeper(name, seconds)) for name, seconds in (("b", 2.0), ("a", 1.0), ("c", 9.0))]
    await clock.advance(5.0)
    assert woken == [("a", 1.0), ("b", 2.0)]
    assert clock.now() == 5.0
    await clock.advance(4.0)
    assert woken[-1] == ("c", 9.0)
    await asyncio.gather(*tasks)


async def test_what_a_sleeper_starts_falls_due_in_the_same_advance() -> None:
    clock = FakeClock(now=0.0)
    ticks: list[float] = []

    async def ticking() -> None:
        while True:
            await clock.sleep(1.0)
            ticks.append(clock.now())

    task = asyncio.create_task(ticking())
    await clock.advance(3.5)
    task.cancel()
    assert ticks == [1.0, 2.0, 3.0]


async def test_a_day_is_over_in_no_time() -> None:
    clock = FakeClock(now=0.0)

    async def day() -> str:
        for _ in range(24):
            await clock.sleep(3600)
        return "done"

    assert await clock.run(day()) == "done"
    assert clock.now() == 86_400


async def test_work_that_waits_for_something_else_is_named() -> None:
    clock = FakeClock()
    with pytest.raises(AssertionError, match="nothing sleeps on the clock"):
        await clock.run(asyncio.Event().wait())


async def test_a_cancelled_sleeper_is_forgotten() -> None:
    clock = FakeClock(now=0.0)
    task = asyncio.create_task(clock.sleep(1.0))
    await clock.advance(0.5)
    task.cancel()
    await clock.advance(2.0)
    assert task.cancelled()


def test_the_wall_clock_can_jump_alone() -> None:
    clock = FakeClock(now=1.0, wall=100.0)
    clock.jump(-3600.0)
    assert (clock.now(), clock.wall()) == (1.0, -3500.0)
