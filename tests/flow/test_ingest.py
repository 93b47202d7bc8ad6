"""Committed pages on their way to a sink: all of them, in order, once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence

import pytest

from gossamer.flow.commits import Commits
from gossamer.flow.ingest import Ingest
from gossamer.model import Batch, Cursor, Delivery, Settled, State
from gossamer.ports import StorageError
from gossamer.testing.contracts.store_makers import new_page
from tests.flow.rehearsed import HOST, Stage


class ListSink:
    """Keeps what it is given; its offset is the number of pages."""

    def __init__(self) -> None:
        self.urls: list[str] = []
        self.opened: list[Cursor | None] = []
        self.closed = False
        self.fails = False

    async def open(self, cursor: Cursor | None) -> Cursor:
        self.opened.append(cursor)
        self.urls = self.urls[: cursor.offset if cursor else 0]
        return cursor or Cursor(consumer="list", sequence=0)

    async def write(self, deliveries: Sequence[Delivery]) -> Cursor:
        if self.fails:
            raise StorageError("the file cannot be written; make room")
        self.urls += [delivery.record.url for delivery in deliveries]
        return Cursor(consumer="list", sequence=deliveries[-1].sequence, offset=len(self.urls))

    async def close(self) -> None:
        self.closed = True


class Outbox:
    """A source whose pages become final when a test says so."""

    def __init__(self, stage: Stage) -> None:
        self.store = stage.store
        self.commits = Commits()
        self.acknowledged: list[Cursor] = []
        self.urls: list[str] = []

    async def finish(self, count: int) -> None:
        first = len(self.urls) + 1
        pages = [new_page(number, 1, f"{HOST}/{number}") for number in range(first, first + count)]
        done = [Settled(page=page.id, source=1, url=page.url, state=State.COMPLETED, attempts=1) for page in pages]
        await self.store.commit(Batch(new=pages, settled=done))
        self.urls += [page.url for page in pages]
        self.commits.tell()

    def follow(self, ingest: Ingest) -> asyncio.Task[None]:
        return asyncio.create_task(ingest.follow(self.commits, self.acknowledged.append))

    async def until(self, sink: ListSink, count: int) -> None:
        async with asyncio.timeout(10):
            while len(sink.urls) < count:  # noqa: ASYNC110 (the sink is a stranger to events)
                await asyncio.sleep(0.001)


@pytest.fixture
async def outbox(stage: Stage) -> Outbox:
    await stage.source()
    return Outbox(stage)


def ingest(outbox: Outbox, sink: ListSink) -> Ingest:
    return Ingest(outbox.store, sink, "list", [1])


async def test_pages_are_delivered_as_they_are_committed_and_acknowledged_after(outbox: Outbox) -> None:
    sink = ListSink()
    worker = ingest(outbox, sink)
    await worker.open()
    task = outbox.follow(worker)
    await outbox.finish(3)
    await outbox.until(sink, 3)
    await outbox.finish(1200)
    await outbox.until(sink, 1203)
    outbox.commits.end()
    await task
    assert sink.urls == outbox.urls
    assert sink.closed
    last = await outbox.store.cursor("list")
    assert last is not None
    assert last.offset == 1203
    sequences = [cursor.sequence for cursor in outbox.acknowledged]
    assert sequences == sorted(sequences)
    assert all(cursor.offset <= 1203 for cursor in outbox.acknowledged)


async def test_what_is_left_at_the_end_is_still_delivered(outbox: Outbox) -> None:
    sink = ListSink()
    worker = ingest(outbox, sink)
    await worker.open()
    await outbox.finish(700)
    outbox.commits.end()
    await outbox.follow(worker)
    assert sink.urls == outbox.urls


async def test_a_second_run_goes_on_behind_the_cursor(outbox: Outbox) -> None:
    sink = ListSink()
    for count in (5, 0, 7):
        worker = ingest(outbox, sink)
        await worker.open()
        await outbox.finish(count)
        outbox.commits.end()
        await outbox.follow(worker)
    assert sink.urls == outbox.urls
    assert [cursor and cursor.offset for cursor in sink.opened] == [None, 5, 5]


async def test_what_was_written_beyond_the_cursor_is_undone_and_written_again(outbox: Outbox) -> None:
    sink = ListSink()
    worker = ingest(outbox, sink)
    await worker.open()
    task = outbox.follow(worker)
    await outbox.finish(4)
    await outbox.until(sink, 4)
    # The process dies: the sink has four pages, the store knows of none.
    task.cancel()
    await asyncio.wait([task])
    again = ingest(outbox, sink)
    await again.open()
    assert sink.urls == []
    outbox.commits.end()
    await outbox.follow(again)
    assert sink.urls == outbox.urls


async def test_the_cursor_is_in_the_store_before_the_first_page_is_written(outbox: Outbox) -> None:
    await ingest(outbox, ListSink()).open()
    assert await outbox.store.cursor("list") == Cursor(consumer="list", sequence=0)


async def test_a_sink_that_fails_ends_the_delivery_with_its_error(outbox: Outbox) -> None:
    sink = ListSink()
    worker = ingest(outbox, sink)
    await worker.open()
    sink.fails = True
    await outbox.finish(1)
    with pytest.raises(StorageError, match="make room"):
        await outbox.follow(worker)
    assert await outbox.store.cursor("list") == Cursor(consumer="list", sequence=0)


# -- word of commits


async def test_a_listener_hears_of_a_commit_that_came_before_it_asked() -> None:
    commits = Commits()
    with commits.listen() as news:
        commits.tell()
        commits.tell()
        assert await news()
        waiting = asyncio.ensure_future(_answer(news()))
        await asyncio.sleep(0)
        assert not waiting.done(), "two commits before one question are one piece of news"
        commits.tell()
        assert await waiting


async def test_the_end_is_heard_by_all_also_by_those_who_come_later() -> None:
    commits = Commits()
    with commits.listen() as one, commits.listen() as two:
        waiting = [asyncio.ensure_future(_answer(news())) for news in (one, two)]
        await asyncio.sleep(0)
        commits.end()
        assert await asyncio.gather(*waiting) == [False, False]
    with commits.listen() as late:
        assert not await late()


async def _answer(question: Awaitable[bool]) -> bool:
    return await question
