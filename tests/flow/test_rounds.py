"""Visiting a source again, on a real store, and what a reader of its pages is given then."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from gossamer.adapters.store_sqlite import SqliteStore
from gossamer.flow.reader import Reader
from gossamer.flow.rounds import next_round
from gossamer.model import (
    Batch,
    EndReason,
    NewPage,
    RequestOptions,
    Source,
    SourceSpec,
    SourceState,
    SourceUpdate,
    State,
    Why,
)

SPEC = SourceSpec(seeds=("https://a.test/",), request=RequestOptions(user_agent="gossamer/1"), out="pages.jsonl")
NOW = 1_700_000_000.0


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    store = await SqliteStore.open(tmp_path)
    await store.claim()
    yield store
    await store.close()


async def ended(store: SqliteStore, state: SourceState, reason: EndReason) -> Source:
    source = await store.add_source(SPEC, NOW)
    await store.commit(Batch(sources=[SourceUpdate(id=source.id, state=state, reason=reason, granted=5)]))
    return (await store.sources())[-1]


async def skip_pages(store: SqliteStore, source: int, count: int) -> None:
    """Final pages, which is all that an outbox needs."""
    first = await store.reserve(count)
    await store.commit(
        Batch(
            new=[
                NewPage(
                    id=first + number,
                    source=source,
                    url=f"https://a.test/{first + number}",
                    host="https://a.test",
                    shard=0,
                    state=State.SKIPPED,
                    depth=1,
                    rank=1000,
                    reason=Why.SCOPE,
                )
                for number in range(count)
            ]
        )
    )


@pytest.mark.parametrize(
    ("state", "reason"),
    [(SourceState.COMPLETED, EndReason.FINISHED), (SourceState.STOPPED, EndReason.MAX_PAGES)],
)
async def test_a_source_that_came_to_its_end_or_its_limit_begins_a_new_round_without_its_output(
    store: SqliteStore, state: SourceState, reason: EndReason
) -> None:
    source = await ended(store, state, reason)
    begun = await next_round(store, source, NOW + 9)
    assert (begun.round, begun.round_began_at, begun.granted) == (2, NOW + 9, 0)
    assert begun.spec == msgspec.structs.replace(SPEC, out=None)
    assert await store.sources() == [begun]


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        (SourceState.STOPPED, EndReason.INTERRUPTED),
        (SourceState.STOPPED, EndReason.DURATION),
        (SourceState.RUNNING, None),
    ],
)
async def test_a_source_whose_round_is_not_over_goes_on_as_it_was(
    store: SqliteStore, state: SourceState, reason: EndReason
) -> None:
    source = await ended(store, state, reason)
    assert await next_round(store, source, NOW + 9) == source
    assert await store.sources() == [source]


@pytest.mark.parametrize("due", [False, True])
async def test_only_a_visit_to_what_is_due_asks_for_that(
    store: SqliteStore, due: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[float | None] = []

    async def begin_round(source: int, at: float, due: float | None = None) -> Source:
        asked.append(due)
        return (await store.sources())[0]

    source = await ended(store, SourceState.COMPLETED, EndReason.FINISHED)
    monkeypatch.setattr(store, "begin_round", begin_round)
    await next_round(store, source, NOW, due=due)
    assert asked == [NOW if due else None]


@pytest.mark.parametrize("pages", [0, 1, 2, 3, 7, 8, 9, 100])
async def test_a_reader_who_never_read_can_begin_with_what_comes_from_now(store: SqliteStore, pages: int) -> None:
    ours, theirs = [(await store.add_source(SPEC, NOW)).id for _ in range(2)]
    await skip_pages(store, theirs, 3)
    await skip_pages(store, ours, pages)
    await skip_pages(store, theirs, 2)
    reader = await Reader.open(store, [ours], from_now=True)
    assert await reader.more() == []
    await skip_pages(store, ours, 2)
    assert len(await reader.more()) == 2


async def test_a_reader_who_read_before_goes_on_where_it_was(store: SqliteStore) -> None:
    source = (await store.add_source(SPEC, NOW)).id
    await skip_pages(store, source, 4)
    first = await Reader.open(store, [source])
    first.acknowledge((await first.more())[1])
    await first.close()
    again = await Reader.open(store, [source], from_now=True)
    assert len(await again.more()) == 2
