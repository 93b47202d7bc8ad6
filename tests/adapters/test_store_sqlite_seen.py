from __future__ import annotations

import asyncio
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from gossamer.adapters.store_sqlite import SqliteStore, seen
from gossamer.adapters.store_sqlite.seen import Seen, SeenSources
from gossamer.testing.contracts.store_makers import HOST, SPEC, new_pages


def urls(*numbers: int) -> list[str]:
    return [f"{HOST}/{number}" for number in numbers]


def test_every_expected_url_is_doubtful_however_the_filter_grew() -> None:
    filter_ = Seen()
    filter_.load(urls(*range(100)), 100)
    for start in range(100, 200_000, 10_000):
        filter_.expect(urls(*range(start, start + 10_000)))
    assert len(filter_.doubtful(urls(*range(100_000)))) == 100_000
    strangers = urls(*range(1_000_000, 1_010_000))
    assert len(filter_.doubtful(strangers)) < 100


def test_a_batch_larger_than_a_layer_gets_a_layer_of_its_size() -> None:
    filter_ = Seen()
    filter_.expect(urls(*range(100_000)))
    assert len(filter_.doubtful(urls(*range(100_000, 110_000)))) < 100


def test_an_expected_url_is_still_a_stranger() -> None:
    filter_ = Seen()
    filter_.expect(urls(1))
    assert filter_.strangers(urls(1)) == urls(1)


def test_what_is_asked_for_again_is_remembered_and_the_rest_forgotten() -> None:
    filter_ = Seen()
    filter_.remember(urls(0, 1))
    for start in range(10, 10 + 4 * seen.RECENT, seen.RECENT // 4):
        filter_.remember(urls(*range(start, start + seen.RECENT // 4)))
        assert filter_.strangers(urls(0)) == []
    assert filter_.strangers(urls(1)) == urls(1)


@given(remembered=st.sets(st.integers(0, 50)), asked=st.lists(st.integers(0, 50)))
def test_strangers_are_those_not_remembered_in_order_and_once(remembered: set[int], asked: list[int]) -> None:
    filter_ = Seen()
    filter_.remember(urls(*remembered))
    assert filter_.strangers(urls(*asked)) == urls(*(n for n in dict.fromkeys(asked) if n not in remembered))


def test_only_so_many_sources_are_remembered() -> None:
    sources = SeenSources()
    first = sources.of(1)
    assert sources.of(1) is first
    for source in range(2, 200):
        sources.of(source)
    assert sources.known(1) is None
    assert sources.known(199) is sources.of(199)


async def test_a_bloom_yes_is_always_verified(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path)
    source = (await store.add_source(SPEC, 1.0)).id
    await store.unseen(source, urls(1))
    store._seen.of(source).expect(urls(1, 2, 3))
    await new_pages(store, source, "/2")
    assert await store.unseen(source, urls(1, 2, 3)) == urls(1, 3)
    await store.close()


async def test_a_known_link_costs_no_query(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path)
    source = (await store.add_source(SPEC, 1.0)).id
    await store.unseen(source, [])
    await new_pages(store, source, "/1", "/2")
    queries: list[str] = []
    await store._run(lambda db: db.trace_v2(1, lambda event: queries.append(str(event))))
    assert await store.unseen(source, urls(1, 2)) == []
    assert await store.unseen(source, urls(3)) == urls(3)
    assert queries == []
    await store.close()


async def test_a_filter_is_filled_from_the_table_when_a_store_is_opened_again(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path)
    source = (await store.add_source(SPEC, 1.0)).id
    await new_pages(store, source, *(f"/{n}" for n in range(5_000)))
    await store.close()
    store = await SqliteStore.open(tmp_path)
    assert await store.unseen(source, urls(*range(0, 10_000, 7))) == urls(
        *(n for n in range(0, 10_000, 7) if n >= 5_000)
    )
    await store.close()


async def test_pages_committed_while_a_filter_is_being_filled_are_in_it(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path)
    source = (await store.add_source(SPEC, 1.0)).id
    await store.reserve(1)
    asked = asyncio.create_task(store.unseen(source, urls(1)))
    committed = asyncio.create_task(new_pages(store, source, "/1", "/2"))
    await asyncio.gather(asked, committed)
    assert await store.unseen(source, urls(1, 2, 3)) == urls(3)
    await store.close()


def test_urls_that_came_while_the_filter_was_being_filled_stay_in_it() -> None:
    filter_ = Seen()
    filter_.expect(urls(1))
    filter_.load(urls(2), 1)
    filter_.expect(urls(3))
    assert filter_.doubtful(urls(1, 2, 3)) == urls(1, 2, 3)
