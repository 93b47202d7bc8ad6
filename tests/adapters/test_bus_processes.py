"""The bus against real children. What they do with a page is written in `worker_for_tests.py`."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from gossamer.adapters.bus_local import WorkersFailedError
from gossamer.adapters.bus_processes.bus import ProcessBus
from gossamer.adapters.bus_processes.watch import Limits
from gossamer.model import Fault, Outcome, RequestOptions
from gossamer.ports import Bus
from gossamer.testing.contracts.bus import PATIENCE, BusContract, collect, lease

COMMAND = [sys.executable, str(Path(__file__).with_name("worker_for_tests.py"))]
ECHO = """
import sys
from gossamer.adapters.bus_processes.inside import serve
from gossamer.testing.contracts.bus import echo

serve(echo, sys.argv[1:])
"""
PATIENT = Limits(parse_timeout=PATIENCE, hang_timeout=PATIENCE)
BYSTANDERS = range(100, 110)


class TestProcessBus(BusContract):
    def make_bus(self) -> Bus:
        return ProcessBus([sys.executable, "-c", ECHO], 2)


@asynccontextmanager
async def children(processes: int, limits: Limits = PATIENT) -> AsyncIterator[ProcessBus]:
    bus = ProcessBus(COMMAND, processes, limits)
    await bus.start()
    try:
        yield bus
    finally:
        await bus.close()


async def pids(bus: ProcessBus) -> list[int]:
    """Of all children, as soon as there is one in every place."""
    async with asyncio.timeout(PATIENCE):
        while True:
            found = [re.search(r"pid (\d+)", worker.name) for worker in bus.workers()]
            if all(found):
                return [int(match[1]) for match in found if match]
            await asyncio.sleep(0.01)


async def one_answer(bus: ProcessBus, token: int) -> Outcome:
    """Of a page that is fine. By then a child is up and about."""
    await bus.send([lease(token)])
    (outcome,) = await collect(bus, 1)
    return outcome


def faults(outcomes: list[Outcome]) -> dict[int, Fault | None]:
    return {outcome.token: outcome.error.fault if outcome.error else None for outcome in outcomes}


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


async def gone(pid: int) -> None:
    async with asyncio.timeout(PATIENCE):
        while alive(pid):  # noqa: ASYNC110 (it is nobody's child here)
            await asyncio.sleep(0.02)


@pytest.mark.parametrize(
    ("page", "limits", "says"),
    [
        ("segfault", PATIENT, r"the worker died \(signal 11, SIGSEGV\) while reading this page"),
        ("exit", PATIENT, r"the worker died \(exit code 3\) while reading this page"),
        ("hang", Limits(parse_timeout=1.0), r"took longer than 1 s to read"),
        (
            "greedy",
            Limits(memory=256 * 1024**2),
            r"the worker used more than 256 MiB of memory while reading this page",
        ),
    ],
)
async def test_a_poisoned_page_costs_itself_and_no_other(page: str, limits: Limits, says: str) -> None:
    async with children(1, limits) as bus:
        await bus.send([lease(token, path="never") for token in BYSTANDERS])
        await one_answer(bus, 1)
        await bus.send([lease(2, path=page)])
        outcomes = await collect(bus, 1 + len(BYSTANDERS))
        assert faults(outcomes) == {2: Fault.WORKER, **dict.fromkeys(BYSTANDERS, Fault.RETURNED)}
        assert re.fullmatch(f"worker: {says}", str(next(one.error for one in outcomes if one.token == 2)))
        assert (await one_answer(bus, 3)).error is None
        assert [(worker.in_flight, worker.restarts) for worker in bus.workers()] == [(0, 1)]


async def test_what_a_killed_child_had_in_hand_comes_back_without_blame_and_others_notice_nothing() -> None:
    async with children(2) as bus:
        await bus.send([lease(token, path="never") for token in BYSTANDERS])
        await one_answer(bus, 1)
        victim, other = await pids(bus)
        os.kill(victim, signal.SIGKILL)
        outcomes = await collect(bus, len(BYSTANDERS) // 2)
        assert {one.error.fault for one in outcomes if one.error} == {Fault.RETURNED}
        assert len(outcomes) == len(BYSTANDERS) // 2
        assert [worker.restarts for worker in bus.workers()] == [1, 0]
        assert (await pids(bus))[1] == other


async def test_a_stopped_child_is_replaced_and_its_late_results_are_never_delivered() -> None:
    async with children(1, Limits(hang_timeout=2.0)) as bus:
        await one_answer(bus, 1)
        (victim,) = await pids(bus)
        os.kill(victim, signal.SIGSTOP)
        await bus.send([lease(token) for token in BYSTANDERS])
        outcomes = await collect(bus, len(BYSTANDERS))
        assert faults(outcomes) == dict.fromkeys(BYSTANDERS, Fault.RETURNED)
        assert "no sign of life for 2 s" in str(outcomes[0].error)
        await gone(victim)
        assert (await one_answer(bus, 2)).address != str(victim)
        assert await bus.receive(0.05) == []


async def test_a_child_that_hangs_outside_of_reading_is_replaced() -> None:
    async with children(1, Limits(hang_timeout=2.0)) as bus:
        await bus.send([lease(1, path="block")])
        assert faults(await collect(bus, 1)) == {1: Fault.RETURNED}
        assert (await one_answer(bus, 2)).error is None


async def test_an_interrupt_is_for_the_parent_to_decide() -> None:
    async with children(1) as bus:
        before = await one_answer(bus, 1)
        (child,) = await pids(bus)
        os.kill(child, signal.SIGINT)
        os.kill(child, signal.SIGTERM)
        assert (await one_answer(bus, 2)).address == before.address == str(child)


async def test_the_leases_of_an_exclusive_host_stay_with_one_child() -> None:
    async with children(3) as bus:
        hosts = [f"https://h{number}.example" for number in range(20)]
        leases = [lease(10 * n + i, host=host, exclusive=True) for i in range(5) for n, host in enumerate(hosts, 1)]
        await bus.send(leases)
        answers = await collect(bus, len(leases))
        who = {(one.token // 10, one.address) for one in answers}
        assert len(who) == len(hosts)
        assert len({child for _, child in who}) > 1


async def test_the_leases_of_other_hosts_go_to_all_children_alike() -> None:
    async with children(2) as bus:
        await bus.send([lease(token) for token in range(1, 101)])
        assert [worker.in_flight for worker in bus.workers()] == [50, 50]


async def test_a_reading_that_cannot_be_encoded_costs_its_page() -> None:
    async with children(1) as bus:
        await bus.send([lease(1, path="surrogate"), lease(2)])
        assert faults(await collect(bus, 2)) == {1: Fault.PARSE, 2: None}
        assert [worker.restarts for worker in bus.workers()] == [0]


async def test_children_that_cannot_start_are_told_of_with_their_last_words() -> None:
    bus = ProcessBus([sys.executable, "-c", "import no_such_module"], 1)
    await bus.start()
    await bus.send([lease(1)])
    with pytest.raises(WorkersFailedError, match=r"(?s)5 times in a row.*No module named 'no_such_module'"):
        await collect(bus, 2)
    await bus.close()


async def test_a_command_that_is_not_there_is_told_of() -> None:
    bus = ProcessBus(["/nonexistent/python"], 1)
    await bus.start()
    with pytest.raises(WorkersFailedError, match="/nonexistent/python"):
        await collect(bus, 1)
    await bus.close()


async def test_children_that_fail_at_every_lease_are_told_of() -> None:
    async with children(1) as bus:
        for token in range(1, 5):
            await bus.send([lease(token, path="raise")])
            assert faults(await collect(bus, 1)) == {token: Fault.RETURNED}
        await bus.send([lease(5, path="raise")])
        with pytest.raises(WorkersFailedError, match="ValueError: a worker with a bug"):
            await collect(bus, 2)


async def test_closing_ends_children_that_hang_and_children_that_are_stopped() -> None:
    async with children(2) as bus:
        await one_answer(bus, 1)
        hanging, stopped = await pids(bus)
        os.kill(stopped, signal.SIGSTOP)
        await bus.send([lease(token, path="hang") for token in (2, 3)])
        await bus.close()
        assert not alive(hanging)
        assert not alive(stopped)


async def serve_a_page(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    body = b"<title>Hello</title><a href='/b'>b</a>"
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: %d\r\n\r\n" % len(body) + body)
    await writer.drain()
    writer.close()


async def test_the_real_worker_fetches_and_reads() -> None:
    bus = ProcessBus([sys.executable, "-m", "gossamer.worker"], 1)
    async with await asyncio.start_server(serve_a_page, "127.0.0.1", 0) as server:
        host = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        request = RequestOptions(user_agent="test", allow_private=("127.0.0.0/8",))
        await bus.start()
        await bus.send([msgspec.structs.replace(lease(1, host=host), request=request)])
        (outcome,) = await collect(bus, 1)
        await bus.close()
    assert (outcome.status, outcome.error) == (200, None)
    assert outcome.reading is not None
    assert (outcome.reading.document.title, outcome.reading.document.links) == ("Hello", (f"{host}/b",))


PARENT = """
import asyncio, sys
from gossamer.adapters.bus_processes.bus import ProcessBus
from gossamer.testing.contracts.bus import collect, lease

async def main():
    bus = ProcessBus(sys.argv[1:], 3)
    await bus.start()
    await bus.send([lease(token) for token in range(1, 31)])
    await collect(bus, 30)
    print(*(worker.name.partition("pid ")[2].rstrip(")") for worker in bus.workers()), flush=True)
    await bus.send([lease(token, path="hang") for token in range(1, 3)])
    await asyncio.sleep(3600)

asyncio.run(main())
"""


async def test_no_child_outlives_a_killed_parent() -> None:
    parent = await asyncio.create_subprocess_exec(sys.executable, "-c", PARENT, *COMMAND, stdout=PIPE)
    assert parent.stdout is not None
    family = [int(pid) for pid in (await parent.stdout.readline()).split()]
    assert len(family) == 3
    assert all(map(alive, family))
    os.kill(family[-1], signal.SIGSTOP)
    parent.kill()
    await parent.wait()
    for pid in family:
        await gone(pid)
