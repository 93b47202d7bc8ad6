from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec

from gossamer.adapters.bus_processes.link import FRAME_BYTES, Link

PATIENCE = 60.0


async def link_on(sock: socket.socket, batches: list[list[int]]) -> Link[int]:
    loop = asyncio.get_running_loop()
    decoder = msgspec.msgpack.Decoder(list[int])
    _, link = await loop.create_unix_connection(lambda: Link(decoder, batches.append), sock=sock)
    return link


@asynccontextmanager
async def one_end() -> AsyncIterator[tuple[Link[int], socket.socket, list[list[int]]]]:
    """A link, the raw socket at its other end, and what the link received."""
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)
    batches: list[list[int]] = []
    link = await link_on(ours, batches)
    with theirs:
        yield link, theirs, batches
        link.abort()
        await link.lost


async def until(batches: list[list[int]], count: int) -> list[int]:
    async with asyncio.timeout(PATIENCE):
        while sum(map(len, batches)) < count:  # noqa: ASYNC110 (there is no event to wait for)
            await asyncio.sleep(0)
    return [number for batch in batches for number in batch]


def frame(numbers: list[int]) -> bytes:
    payload = msgspec.msgpack.encode(numbers)
    return len(payload).to_bytes(4, "big") + payload


async def test_what_is_posted_in_one_turn_leaves_as_one_frame() -> None:
    async with one_end() as (link, theirs, _):
        link.post([b"\x01"])
        link.post([b"\x02", b"\x03"])
        received = await asyncio.get_running_loop().sock_recv(theirs, 1000)
        assert int.from_bytes(received[:4], "big") == len(received) - 4
        assert msgspec.msgpack.decode(received[4:]) == [1, 2, 3]


async def test_frames_that_arrive_in_pieces_or_together_are_taken_apart() -> None:
    async with one_end() as (_, theirs, batches):
        stream = frame([1, 2]) + frame([]) + frame([3])
        for byte in stream[:-7]:
            theirs.send(bytes([byte]))
            await asyncio.sleep(0)
        theirs.send(stream[-7:] + frame([4]))
        assert await until(batches, 4) == [1, 2, 3, 4]


async def test_a_reader_that_does_not_keep_up_is_waited_for_and_nothing_is_lost() -> None:
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)
    writer = await link_on(ours, [])
    item = msgspec.msgpack.encode(2**40)
    count = 8 * FRAME_BYTES // len(item)
    writer.post([item] * count)
    await asyncio.sleep(0)
    assert not writer.writable.is_set()
    batches: list[list[int]] = []
    reader = await link_on(theirs, batches)
    assert await until(batches, count) == [2**40] * count
    assert writer.writable.is_set()
    writer.abort()
    await reader.lost


async def test_an_end_that_sends_nonsense_is_left() -> None:
    async with one_end() as (link, theirs, batches):
        theirs.send(b"\0\0\0\1\xc1")
        async with asyncio.timeout(PATIENCE):
            await link.lost
        assert [number for batch in batches for number in batch] == []
