"""The side of a store that the frontier leans on: sources, ids, seen URLs, queues, hosts."""

# ruff: noqa: S101 -- a suite of tests asserts.

from __future__ import annotations

from itertools import count, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.model import (
    MAX_RANK,
    Batch,
    Counts,
    HostRecord,
    Moved,
    RobotsRecord,
    RobotsVerdict,
    Source,
    SourceSpec,
    SourceState,
    SourceUpdate,
    State,
)
from gossamer.ports import StorageError, Store
from gossamer.testing.contracts.store_makers import (
    HOST,
    SPEC,
    START,
    STEPS,
    Mortal,
    delivered,
    leased,
    new_page,
    new_pages,
    pending_urls,
    settled,
)


class StoreQueueContract(Mortal):
    """What is known, what waits, and for whom."""

    async def test_a_source_comes_back_as_it_was_given(self, store: Store) -> None:
        source = await store.add_source(SPEC, 5.0)
        assert source == Source(id=source.id, spec=SPEC, state=SourceState.RUNNING, created_at=5.0, round_began_at=5.0)
        assert await store.sources() == [source]

    async def test_a_source_changes_with_a_commit_and_keeps_its_spec_unless_told(self, store: Store) -> None:
        one, two = await store.add_source(SPEC, 1.0), await store.add_source(SPEC, 2.0)
        other = SourceSpec(seeds=("https://b.test/",), request=SPEC.request)
        stopped = SourceUpdate(id=one.id, state=SourceState.STOPPED, reason="max-pages", granted=7)
        renewed = SourceUpdate(id=two.id, state=SourceState.RUNNING, reason=None, granted=2, spec=other)
        await store.commit(Batch(sources=[stopped, renewed]))
        first, second = await store.sources()
        assert (first.spec, first.state, first.reason, first.granted) == (SPEC, SourceState.STOPPED, "max-pages", 7)
        assert (second.spec, second.state, second.reason, second.granted) == (other, SourceState.RUNNING, None, 2)

    @given(sizes=st.lists(st.integers(1, 40_000), min_size=1, max_size=8))
    @STEPS
    async def test_reserved_ids_never_overlap(self, store: Store, sizes: list[int]) -> None:
        starts = [(await store.reserve(size), size) for size in sizes]
        ordered = sorted(starts)
        assert all(start + size <= after for (start, size), (after, _) in pairwise(ordered))

    async def test_reserved_ids_are_not_used_again_after_a_crash(self, store: Store) -> None:
        first = await store.reserve(100)
        async with self.crashed(store) as again:
            assert await again.reserve(1) >= first + 100

    async def test_unseen_are_those_without_a_page_in_order(self, store: Store, source: int) -> None:
        await new_pages(store, source, "/b", "/d")
        asked = [f"{HOST}/{letter}" for letter in "abcde"]
        assert await store.unseen(source, asked) == [f"{HOST}/{letter}" for letter in "ace"]

    async def test_each_unseen_url_is_named_once(self, store: Store, source: int) -> None:
        assert await store.unseen(source, [f"{HOST}/a", f"{HOST}/b", f"{HOST}/a"]) == [f"{HOST}/a", f"{HOST}/b"]

    async def test_a_page_of_one_source_is_unseen_by_another(self, store: Store, source: int) -> None:
        other = (await store.add_source(SPEC, 6.0)).id
        await new_pages(store, source, "/a")
        assert await store.unseen(source, [f"{HOST}/a"]) == []
        assert await store.unseen(other, [f"{HOST}/a"]) == [f"{HOST}/a"]

    async def test_a_url_is_unseen_after_a_commit_that_failed(self, store: Store, source: int) -> None:
        (page,) = await new_pages(store, source, "/a")
        assert await store.unseen(source, [f"{HOST}/b"]) == [f"{HOST}/b"]
        b, repeated = new_page(await store.reserve(1), source, f"{HOST}/b"), new_page(page.id, source, f"{HOST}/c")
        with pytest.raises(StorageError):
            await store.commit(Batch(new=[b, repeated]))
        assert await store.unseen(source, [f"{HOST}/b", f"{HOST}/c"]) == [f"{HOST}/b", f"{HOST}/c"]

    async def test_what_was_seen_is_seen_after_a_crash(self, store: Store, source: int) -> None:
        await new_pages(store, source, "/a")
        async with self.crashed(store) as again:
            assert await again.unseen(source, [f"{HOST}/a", f"{HOST}/b"]) == [f"{HOST}/b"]

    @given(rounds=st.lists(st.lists(st.integers(0, 300), max_size=60), max_size=10))
    @STEPS
    async def test_unseen_is_exact_over_any_run_of_batches(self, store: Store, rounds: list[list[int]]) -> None:
        source = (await store.add_source(SPEC, 1.0)).id
        model: set[str] = set()
        for numbers in rounds:
            asked = [f"{HOST}/{number}" for number in numbers]
            fresh = await store.unseen(source, asked)
            assert fresh == [url for url in dict.fromkeys(asked) if url not in model]
            if fresh:
                ids = count(await store.reserve(len(fresh)))
                await store.commit(Batch(new=[new_page(next(ids), source, url) for url in fresh]))
            model.update(fresh)

    async def test_pending_pages_come_by_rank_then_id_from_beyond_a_place(self, store: Store, source: int) -> None:
        first = await store.reserve(4)
        ranks = [5, 1, 5, MAX_RANK - 1]
        pages = [new_page(first + n, source, f"{HOST}/{n}", rank=rank, depth=n, hops=n) for n, rank in enumerate(ranks)]
        await store.commit(Batch(new=pages))
        assert await pending_urls(store, source) == [f"{HOST}/{n}" for n in (1, 0, 2, 3)]
        (page,) = await store.pending(source, HOST, (5, first), 1)
        assert (page.id, page.source, page.url, page.host) == (first + 2, source, f"{HOST}/2", HOST)
        assert (page.depth, page.rank, page.hops, page.attempts) == (2, 5, 2, 0)

    async def test_pending_pages_are_those_of_one_source_and_host(self, store: Store, source: int) -> None:
        other = (await store.add_source(SPEC, 6.0)).id
        first = await store.reserve(3)
        mine, elsewhere = new_page(first, source, f"{HOST}/"), new_page(first + 1, source, "https://b.test/")
        theirs = new_page(first + 2, other, f"{HOST}/other")
        await store.commit(Batch(new=[mine, elsewhere, theirs]))
        assert await pending_urls(store, source) == [mine.url]
        assert await pending_urls(store, other) == [theirs.url]
        assert await store.pending(source, "https://nobody.test", START, 10) == []

    async def test_pending_hosts_come_by_key_from_beyond_one(self, store: Store, source: int) -> None:
        other = (await store.add_source(SPEC, 6.0)).id
        urls = ["https://c.test/", "https://a.test/", "https://b.test/", "https://a.test/2"]
        first = await store.reserve(6)
        pages = [new_page(first + n, source, url) for n, url in enumerate(urls)]
        theirs = new_page(first + 4, other, "https://d.test/")
        late = new_page(first + 5, source, "https://e.test/", rank=MAX_RANK)
        await store.commit(Batch(new=[*pages, theirs, late]))
        assert await store.pending_hosts([source], "", 10) == ["https://a.test", "https://b.test", "https://c.test"]
        assert await store.pending_hosts([source, other], "https://b.test", 10) == ["https://c.test", "https://d.test"]
        assert await store.pending_hosts([source], "", 1) == ["https://a.test"]
        await store.commit(Batch(leased=[leased(page) for page in pages]))
        assert await store.pending_hosts([source], "", 10) == []

    async def test_a_leased_page_is_not_pending_until_it_is_returned(self, store: Store, source: int) -> None:
        (page,) = await new_pages(store, source, "/a")
        await store.commit(Batch(leased=[leased(page)]))
        assert await pending_urls(store, source) == []
        again = settled(page, State.PENDING, attempts=1, error="timeout: slow")
        await store.commit(Batch(settled=[again]))
        (back,) = await store.pending(source, HOST, START, 10)
        assert (back.id, back.attempts) == (page.id, 1)
        assert await delivered(store, source) == []

    async def test_a_page_may_be_admitted_and_leased_or_returned_and_leased_at_once(
        self, store: Store, source: int
    ) -> None:
        page = new_page(await store.reserve(1), source, f"{HOST}/a")
        await store.commit(Batch(new=[page], leased=[leased(page)]))
        assert (await store.counts(source)).processing == 1
        back = settled(page, State.PENDING, attempts=1)
        await store.commit(Batch(settled=[back], leased=[leased(page, token=2, attempts=2)]))
        assert await store.counts(source) == Counts(processing=1)
        assert await store.verify() == []

    async def test_only_a_pending_page_can_be_leased(self, store: Store, source: int) -> None:
        (page,) = await new_pages(store, source, "/a")
        await store.commit(Batch(leased=[leased(page)]))
        with pytest.raises(StorageError):
            await store.commit(Batch(leased=[leased(page, token=2)]))

    async def test_deferred_pages_wait_apart_until_a_better_road_is_found(self, store: Store, source: int) -> None:
        (parent,) = await new_pages(store, source, "/parent")
        one, two = await new_pages(store, source, "/one", "/two", rank=MAX_RANK)
        assert await pending_urls(store, source) == [parent.url]
        assert [page.id for page in await store.some_deferred(source, 10)] == [one.id, two.id]
        assert [page.id for page in await store.some_deferred(source, 1)] == [one.id]
        asked = [two.url, parent.url, f"{HOST}/unknown"]
        assert [(page.id, page.host) for page in await store.deferred(source, asked)] == [(two.id, HOST)]
        assert (await store.workload(source)).deferred == 2
        await store.commit(Batch(moved=[Moved(page=two.id, depth=1, rank=3, parent=parent.id, position=4)]))
        assert await pending_urls(store, source) == [two.url, parent.url]
        assert (await store.workload(source)).deferred == 1
        (info,) = await store.find(two.url)
        assert (info.record.depth, info.rank, info.record.parent, info.record.position) == (1, 3, parent.url, 4)

    async def test_hosts_and_robots_come_back_as_they_were(self, store: Store) -> None:
        host = HostRecord(
            key=HOST,
            ready_at=12.5,
            wait=3.5,
            delay=1.0,
            failures=2,
            answered=True,
            blocked=True,
            leased=1,
            waiting_for="Retry-After",
            last_error="timeout: slow",
            latency=0.125,
        )
        robots = RobotsRecord(
            host=HOST,
            verdict=RobotsVerdict.RULES,
            body=b"User-agent: *\nDisallow: /\xff\x00",
            status=200,
            fetched_at=1.0,
            expires_at=2.0,
        )
        plain = HostRecord(key="https://b.test")
        unreachable = RobotsRecord(host="https://c.test", verdict=RobotsVerdict.UNREACHABLE, error="dns: none")
        await store.commit(Batch(hosts=[host, plain], robots=[robots, unreachable]))
        known = {
            record.key: (record, rules) for record, rules in await store.hosts([HOST, plain.key, "https://c.test"])
        }
        assert known == {
            HOST: (host, robots),
            plain.key: (plain, None),
            "https://c.test": (HostRecord(key="https://c.test"), unreachable),
        }

    async def test_the_last_word_on_a_host_counts(self, store: Store) -> None:
        first, last = HostRecord(key=HOST, failures=1, latency=0.5), HostRecord(key=HOST, failures=2)
        robots = RobotsRecord(host=HOST, verdict=RobotsVerdict.UNREACHABLE, error="dns: none", expires_at=1.0)
        allowed = RobotsRecord(host=HOST, verdict=RobotsVerdict.ALLOW_ALL, status=404, expires_at=2.0)
        await store.commit(Batch(hosts=[first], robots=[robots]))
        await store.commit(Batch(hosts=[first, last], robots=[robots, allowed]))
        assert await store.hosts([HOST]) == [(last, allowed)]

    async def test_a_host_that_only_pages_name_is_unknown(self, store: Store, source: int) -> None:
        await new_pages(store, source, "/a")
        assert await store.hosts([HOST, "https://nobody.test"]) == []
