"""The side of a store that people and consumers lean on: commits, ownership, the outbox, counts, explanations."""

# ruff: noqa: S101 -- a suite of tests asserts.

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.model import (
    Batch,
    Counts,
    Cursor,
    HostRecord,
    Moved,
    NewPage,
    RobotsRecord,
    RobotsVerdict,
    Settled,
    SourceState,
    SourceUpdate,
    State,
    Why,
)
from gossamer.ports import StorageError, Store
from gossamer.testing.contracts.store_makers import (
    DOCUMENT,
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


class StoreRecordContract(Mortal):
    """What was decided, once and for good."""

    async def test_a_commit_is_all_or_nothing(self, store: Store, source: int) -> None:
        one, two = await new_pages(store, source, "/one", "/two")
        before = await store.counts(source)
        bad = Batch(
            new=[new_page(await store.reserve(1), source, f"{HOST}/new"), new_page(one.id, source, f"{HOST}/taken")],
            settled=[settled(two, document=DOCUMENT)],
            hosts=[HostRecord(key=HOST, ready_at=9.0)],
            robots=[RobotsRecord(host=HOST, verdict=RobotsVerdict.ALLOW_ALL)],
            sources=[SourceUpdate(id=source, state=SourceState.STOPPED, reason="x", granted=9)],
            cursors=[Cursor(consumer="file", sequence=1)],
        )
        with pytest.raises(StorageError):
            await store.commit(bad)
        assert await store.counts(source) == before
        assert await delivered(store, source) == []
        assert await store.hosts([HOST]) == []
        assert await store.cursor("file") is None
        assert (await store.sources())[0].state == SourceState.RUNNING
        assert await pending_urls(store, source) == [one.url, two.url]
        await store.commit(Batch(settled=[settled(two)]))
        assert await store.verify() == []

    async def test_a_url_has_one_page_in_a_source(self, store: Store, source: int) -> None:
        (page,) = await new_pages(store, source, "/a")
        with pytest.raises(StorageError):
            await store.commit(Batch(new=[new_page(await store.reserve(1), source, page.url)]))

    async def test_a_page_is_final_once(self, store: Store, source: int) -> None:
        (page,) = await new_pages(store, source, "/a")
        await store.commit(Batch(settled=[settled(page)]))
        with pytest.raises(StorageError):
            await store.commit(Batch(settled=[settled(page)]))
        assert await delivered(store, source) == [page.url]

    async def test_what_was_committed_is_there_after_a_crash(self, store: Store, source: int) -> None:
        one, two = await new_pages(store, source, "/one", "/two")
        await store.commit(Batch(settled=[settled(one, document=DOCUMENT)], cursors=[Cursor(consumer="c", sequence=1)]))
        async with self.crashed(store) as again:
            assert await delivered(again, source) == [one.url]
            assert await pending_urls(again, source) == [two.url]
            assert await again.cursor("c") == Cursor(consumer="c", sequence=1)
            assert await again.verify() == []

    async def test_an_empty_batch_is_no_trouble(self, store: Store) -> None:
        await store.commit(Batch())
        assert await store.verify() == []

    async def test_a_batch_larger_than_any_chunk_is_stored_whole_and_in_order(self, store: Store, source: int) -> None:
        pages = await new_pages(store, source, *(f"/{n}" for n in range(1_111)))
        await store.commit(Batch(leased=[leased(page, token=page.id) for page in pages]))
        await store.commit(Batch(settled=[settled(page, size=2) for page in reversed(pages)]))
        urls = [delivery.record.url for delivery in await store.deliveries([source], 0, 2_000)]
        assert urls == [page.url for page in reversed(pages)]
        assert await store.counts(source) == Counts(completed=1_111, bytes=2_222)

    async def test_claim_returns_what_a_former_owner_was_processing(self, store: Store, source: int) -> None:
        one, two, three = await new_pages(store, source, "/one", "/two", "/three")
        epoch = await store.claim()
        host = HostRecord(key=HOST, leased=2)
        await store.commit(Batch(leased=[leased(one, attempts=2), leased(two)], hosts=[host]))
        await store.commit(Batch(settled=[settled(two)]))
        async with self.crashed(store) as again:
            assert (await again.counts(source)).processing == 1
            assert await again.claim() > epoch
            assert await again.counts(source) == Counts(pending=2, completed=1)
            waiting = await again.pending(source, HOST, START, 10)
            assert [(page.id, page.attempts) for page in waiting] == [(one.id, 2), (three.id, 0)]
            assert await again.hosts([HOST]) == [(host, None)]
            assert await again.verify() == []

    async def test_final_pages_reach_the_outbox_once_settled_before_new(self, store: Store, source: int) -> None:
        one, two = await new_pages(store, source, "/one", "/two")
        first = await store.reserve(2)
        refused = new_page(first, source, f"{HOST}/refused", State.SKIPPED, reason=Why.ROBOTS)
        waiting = new_page(first + 1, source, f"{HOST}/waiting")
        await store.commit(Batch(new=[refused, waiting], settled=[settled(two), settled(one)]))
        assert await delivered(store, source) == [two.url, one.url, refused.url]
        assert await store.verify() == []

    async def test_deliveries_go_on_from_beyond_a_sequence_and_keep_to_their_sources(
        self, store: Store, source: int
    ) -> None:
        other = (await store.add_source(SPEC, 6.0)).id
        mine, theirs = await new_pages(store, source, "/1", "/2", "/3"), await new_pages(store, other, "/other")
        await store.commit(Batch(settled=[settled(page) for page in [mine[0], theirs[0], *mine[1:]]]))
        first, second = await store.deliveries([source], 0, 2)
        assert [first.record.url, second.record.url] == [mine[0].url, mine[1].url]
        assert first.sequence < second.sequence
        assert await delivered(store, source, after=second.sequence) == [mine[2].url]
        assert await delivered(store, source, other) == [mine[0].url, theirs[0].url, mine[1].url, mine[2].url]
        assert await delivered(store) == []

    async def test_a_delivery_tells_all_that_is_known_of_the_page(self, store: Store, source: int) -> None:
        (parent,) = await new_pages(store, source, "/parent")
        page = new_page(await store.reserve(1), source, f"{HOST}/page", depth=1, parent=parent.id, position=3)
        fact = settled(page, size=10, elapsed=0.25, content_type="text/html", document=DOCUMENT, finished_at=0.5)
        await store.commit(Batch(new=[page]))
        await store.commit(Batch(settled=[fact]))
        (delivery,) = await store.deliveries([source], 0, 10)
        record = delivery.record
        assert (record.url, record.source, record.state) == (page.url, source, State.COMPLETED)
        assert (record.http_status, record.content_type, record.bytes) == (200, "text/html", 10)
        assert (record.depth, record.parent, record.position) == (1, parent.url, 3)
        assert (record.title, record.description, record.language) == ("Ein Titel: 題名", "What it says", "de")
        assert (record.canonical, record.hash, record.tokens) == (DOCUMENT.canonical, DOCUMENT.hash, 700)
        assert (record.links, record.markdown) == (DOCUMENT.links, DOCUMENT.markdown)
        assert (record.fetched_at, record.elapsed_ms) == ("1970-01-01T00:00:00.500Z", 250.0)
        assert (record.reason, record.error) == (None, None)

    async def test_a_page_that_was_never_fetched_has_no_time_of_fetching(self, store: Store, source: int) -> None:
        (page,) = await new_pages(store, source, "/a")
        skipped = settled(page, State.SKIPPED, status=None, reason=Why.ROBOTS, finished_at=7.0)
        await store.commit(Batch(settled=[skipped]))
        (delivery,) = await store.deliveries([source], 0, 10)
        assert (delivery.record.state, delivery.record.reason) == (State.SKIPPED, "robots")
        assert (delivery.record.fetched_at, delivery.record.elapsed_ms) == (None, None)

    async def test_a_page_that_failed_has_its_error_and_its_time(self, store: Store, source: int) -> None:
        (page,) = await new_pages(store, source, "/a")
        failed = settled(page, State.FAILED, status=None, error="dns: no such name", finished_at=7.0)
        await store.commit(Batch(settled=[failed]))
        (delivery,) = await store.deliveries([source], 0, 10)
        assert (delivery.record.state, delivery.record.error) == (State.FAILED, "dns: no such name")
        assert delivery.record.fetched_at == "1970-01-01T00:00:07.000Z"

    async def test_a_cursor_is_kept_and_replaced(self, store: Store) -> None:
        assert await store.cursor("file") is None
        for cursor in (Cursor(consumer="file", sequence=0), Cursor(consumer="file", sequence=0, offset=99)):
            await store.commit(Batch(cursors=[cursor, Cursor(consumer="other", sequence=0)]))
            assert await store.cursor("file") == cursor

    @given(data=st.data())
    @STEPS
    async def test_counts_add_up_over_any_life_of_pages(self, store: Store, data: st.DataObject) -> None:
        source = (await store.add_source(SPEC, 1.0)).id
        pages = await new_pages(store, source, *(f"/{n}" for n in range(20)))
        states: dict[int, State] = dict.fromkeys((page.id for page in pages), State.PENDING)
        bytes_ = tokens = 0
        for _ in range(data.draw(st.integers(0, 6))):
            batch = Batch()
            for page in data.draw(st.lists(st.sampled_from(pages), unique_by=lambda page: page.id)):
                if states[page.id] is State.PENDING:
                    batch.leased.append(leased(page))
                    states[page.id] = State.PROCESSING
                elif states[page.id] is State.PROCESSING:
                    fact = self._settle(
                        page, data.draw(st.sampled_from(list(State)).filter(lambda s: s != State.PROCESSING))
                    )
                    batch.settled.append(fact)
                    states[page.id] = fact.state
                    bytes_ += fact.size if fact.state.final else 0
                    tokens += fact.document.tokens if fact.document else 0
            await store.commit(batch)
        tally = {state.value: list(states.values()).count(state) for state in State}
        assert await store.counts(source) == Counts(**tally, bytes=bytes_, tokens=tokens)
        assert len(await delivered(store, source)) == sum(state.final for state in states.values())
        assert await store.verify() == []

    def _settle(self, page: NewPage, state: State) -> Settled:
        return settled(
            page,
            state,
            size=7,
            reason=Why.NOINDEX if state is State.SKIPPED else None,
            error="status: 500" if state is State.FAILED else None,
            document=DOCUMENT if state is State.COMPLETED else None,
        )

    async def test_nothing_counts_as_nothing(self, store: Store, source: int) -> None:
        assert await store.counts(source) == Counts()
        assert await store.counts(source + 1) == Counts()

    async def test_a_page_is_found_by_url_in_every_source_or_in_one(self, store: Store, source: int) -> None:
        other = (await store.add_source(SPEC, 6.0)).id
        (mine,), (theirs,) = await new_pages(store, source, "/a"), await new_pages(store, other, "/a")
        assert [info.id for info in await store.find(mine.url)] == [mine.id, theirs.id]
        assert [info.id for info in await store.find(mine.url, other)] == [theirs.id]
        assert await store.find(f"{HOST}/unknown") == []

    async def test_a_found_page_tells_its_place_and_its_target(self, store: Store, source: int) -> None:
        (page,) = await new_pages(store, source, "/a", rank=4)
        moved = settled(page, State.SKIPPED, reason=Why.REDIRECT, target=f"{HOST}/b", status=301, attempts=2)
        await store.commit(Batch(settled=[moved]))
        (info,) = await store.find(page.url)
        assert (info.host, info.rank, info.attempts, info.target) == (HOST, 4, 2, f"{HOST}/b")
        assert (info.record.state, info.record.reason, info.record.http_status) == (State.SKIPPED, "redirect", 301)
        assert info.created_at > 0

    async def test_ancestors_go_from_the_parent_to_the_seed(self, store: Store, source: int) -> None:
        first = await store.reserve(4)
        parents = [None, first, first + 1, first + 2]
        pages = [new_page(first + n, source, f"{HOST}/{n}", parent=parent) for n, parent in enumerate(parents)]
        await store.commit(Batch(new=pages))
        assert [info.id for info in await store.ancestors(first + 3)] == [first + 2, first + 1, first]
        assert await store.ancestors(first) == []
        assert await store.ancestors(first + 99) == []

    async def test_ancestors_end_where_they_would_repeat(self, store: Store, source: int) -> None:
        one, two = await new_pages(store, source, "/one", "/two")
        ring = [(one, two), (two, one)]
        moved = [Moved(page=page.id, depth=0, rank=1, parent=parent.id, position=0) for page, parent in ring]
        await store.commit(Batch(moved=moved))
        assert [info.id for info in await store.ancestors(one.id)] == [two.id]

    async def test_verify_names_a_failed_page_without_an_error_and_a_skipped_one_without_a_reason(
        self, store: Store, source: int
    ) -> None:
        first = await store.reserve(2)
        failed = new_page(first, source, f"{HOST}/failed", State.FAILED)
        skipped = new_page(first + 1, source, f"{HOST}/skipped", State.SKIPPED)
        await store.commit(Batch(new=[failed, skipped]))
        found = await store.verify()
        assert len(found) == 2
        assert any("failed without an error" in sentence for sentence in found)
        assert any("skipped without a reason" in sentence for sentence in found)

    async def test_verify_names_a_cursor_beyond_the_outbox(self, store: Store) -> None:
        await store.commit(Batch(cursors=[Cursor(consumer="file", sequence=3)]))
        assert [sentence for sentence in await store.verify() if "file" in sentence]

    async def test_a_closed_store_says_so(self, store: Store) -> None:
        await store.close()
        await store.close()
        with pytest.raises(StorageError):
            await store.sources()
