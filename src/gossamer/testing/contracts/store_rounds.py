"""The side of a store that coming back leans on: rounds, pages that are as they were or not, the change feed."""

# ruff: noqa: S101 -- a suite of tests asserts.

from __future__ import annotations

import pytest

from gossamer.model import (
    Batch,
    Change,
    ChangeRecord,
    Counts,
    Deferral,
    LeaseKind,
    Previous,
    Revisited,
    SourceState,
    SourceUpdate,
    State,
    Why,
)
from gossamer.ports import StorageError, Store
from gossamer.testing.contracts.store_makers import (
    HOST,
    Mortal,
    changed,
    completed_pages,
    delivered,
    leased,
    new_guide,
    new_page,
    new_pages,
    pending_urls,
    record_of,
    says,
    settled,
    unchanged,
    waiting,
)


async def feed(store: Store, source: int, after: int = 0, since: float = 0.0) -> list[ChangeRecord]:
    return await store.changes([source], after, since, 100)


class StoreRoundsContract(Mortal):
    """What is asked again, what is kept meanwhile, and what came of it."""

    async def test_a_round_begins_a_source_anew(self, store: Store, source: int) -> None:
        await store.commit(
            Batch(sources=[SourceUpdate(id=source, state=SourceState.COMPLETED, reason="finished", granted=9)])
        )
        again = await store.begin_round(source, 77.5)
        assert (again.round, again.round_began_at) == (2, 77.5)
        assert (again.state, again.reason, again.granted) == (SourceState.RUNNING, None, 0)
        assert await store.sources() == [again]

    async def test_a_round_of_no_source_is_refused(self, store: Store, source: int) -> None:
        with pytest.raises(StorageError):
            await store.begin_round(source + 1, 1.0)

    async def test_what_was_fetched_is_pending_again_with_nothing_forgotten(self, store: Store, source: int) -> None:
        done, failed, moved = await new_pages(store, source, "/done", "/failed", "/moved")
        facts = [
            settled(done, document=says("done"), etag='"e"', last_modified="now", attempts=2),
            settled(failed, State.FAILED, status=None, error="dns: none", attempts=3),
            settled(moved, State.SKIPPED, reason=Why.REDIRECT, status=301, target=done.url),
        ]
        await store.commit(Batch(settled=facts))
        await store.begin_round(source, 1_500.0)
        pages = await waiting(store, source)
        assert {page.attempts for page in pages.values()} == {0}
        assert pages[done.url].previous == Previous(
            state=State.COMPLETED,
            hash="hash of done",
            etag='"e"',
            last_modified="now",
            read_at=1_000.5,
            checked_at=1_000.5,
            since=1_000.5,
        )
        assert pages[failed.url].previous == Previous(state=State.FAILED)
        redirect = pages[moved.url].previous
        assert redirect is not None
        assert (redirect.state, redirect.reason, redirect.target) == (State.SKIPPED, "redirect", done.url)
        assert await store.counts(source) == Counts(pending=3)
        assert await store.verify() == []

    async def test_a_skipped_page_is_asked_again_only_where_the_answer_may_be_another(
        self, store: Store, source: int
    ) -> None:
        first = await store.reserve(4)
        reasons = [Why.ROBOTS, Why.SCOPE, Why.EXCLUDE]
        pages = [
            new_page(first + n, source, f"{HOST}/{reason}", State.SKIPPED, reason=reason)
            for n, reason in enumerate(reasons)
        ]
        deep = new_page(first + 3, source, f"{HOST}/deep", rank=Deferral.DEPTH.rank)
        await store.commit(Batch(new=[*pages, deep]))
        await store.commit(Batch(settled=[settled(deep, State.SKIPPED, reason=Why.DEPTH, status=None)]))
        await store.begin_round(source, 1_500.0)
        assert await pending_urls(store, source) == [pages[0].url]
        assert [page.url for page in await store.some_deferred(source, 10)] == [deep.url]
        assert await store.counts(source) == Counts(pending=2, skipped=2)
        assert await store.verify() == []

    async def test_a_fetched_page_waits_for_its_turn_alone(self, store: Store, source: int) -> None:
        page = new_page(await store.reserve(1), source, f"{HOST}/a", depth=2)
        await store.commit(Batch(new=[page]))
        rank = Deferral.MISSING.rank
        await store.commit(Batch(settled=[settled(page, State.PENDING, rank=rank, document=says("a"))]))
        await store.commit(Batch(settled=[settled(page, promoted=True)]))
        await store.begin_round(source, 1_500.0)
        assert (await waiting(store, source))[page.url].rank == 2_000

    async def test_guides_are_read_again_and_probes_are_forgotten(self, store: Store, source: int) -> None:
        guide = await new_guide(store, source, "/sitemap.xml")
        probe = await new_guide(store, source, "/cannot-exist", LeaseKind.PROBE)
        read = settled(guide, kind=guide.kind, etag='"e"', listed=7)
        await store.commit(Batch(settled=[read, settled(probe, kind=probe.kind)]))
        await store.begin_round(source, 1_500.0, due=0.0)
        waits = (await waiting(store, source))[guide.url]
        assert (waits.kind, waits.target) == (LeaseKind.SITEMAP, HOST)
        assert waits.previous is not None
        assert waits.previous.etag == '"e"'
        assert await store.unseen(source, [probe.url], guides=True) == [probe.url]
        await store.commit(Batch(settled=[unchanged(guide, kind=guide.kind)]))
        (info,) = await store.guides(source)
        assert (info.state, info.listed, info.about) == (State.COMPLETED, 7, HOST)
        assert await store.verify() == []

    async def test_only_what_is_due_is_asked_again_where_that_is_wanted(self, store: Store, source: int) -> None:
        first = await store.reserve(5)
        names = ["due", "later", "fresh", "stale", "deep"]
        lastmods = {"fresh": 1_200.0, "stale": 900.0}
        pages = [
            new_page(first + n, source, f"{HOST}/{name}", lastmod=lastmods.get(name), rank=n)
            for n, name in enumerate(names)
        ]
        *fetched, deep = pages
        await store.commit(Batch(new=pages))
        facts = [settled(page, document=says("x"), due_at=3_000.0) for page in fetched]
        facts[0] = settled(fetched[0], document=says("x"), due_at=2_000.0)
        unread = settled(deep, State.SKIPPED, reason=Why.SCOPE, status=None)
        await store.commit(Batch(settled=[*facts, unread]))
        await store.begin_round(source, 2_500.0, due=2_000.0)
        assert await pending_urls(store, source) == [f"{HOST}/due", f"{HOST}/fresh"]
        assert (await store.counts(source)).completed == 2

    async def test_a_round_that_was_interrupted_goes_on(self, store: Store, source: int) -> None:
        one, two = await completed_pages(store, source, "/one", "/two")
        await store.begin_round(source, 1_500.0)
        await store.commit(Batch(leased=[leased(one), leased(two, token=2)]))
        await store.commit(Batch(settled=[unchanged(two)]))
        async with self.crashed(store) as again:
            await again.claim()
            page = (await waiting(again, source))[one.url]
            assert page.previous is not None
            assert page.previous.hash == "hash of /one"
            assert await again.counts(source) == Counts(pending=1, completed=1, bytes=7)
            assert await again.verify() == []

    async def test_a_page_is_delivered_as_it_was_while_it_is_visited_again(self, store: Store, source: int) -> None:
        (page,) = await completed_pages(store, source, "/a")
        (before,) = await store.deliveries([source], 0, 10)
        await store.begin_round(source, 1_500.0)
        assert await store.deliveries([source], 0, 10) == [before]
        await store.commit(Batch(leased=[leased(page)]))
        missed = settled(page, State.PENDING, status=404, error="status: 404", revisit=Revisited(misses=1))
        await store.commit(Batch(settled=[missed]))
        assert await store.deliveries([source], 0, 10) == [before]
        rank = Deferral.CANONICAL.rank
        await store.commit(Batch(settled=[settled(page, State.PENDING, rank=rank, document=says("new"))]))
        assert await store.deliveries([source], 0, 10) == [before]
        record = await record_of(store, page)
        assert (record.state, record.title) == (State.PENDING, before.record.title)

    async def test_misses_are_counted_until_the_page_answers(self, store: Store, source: int) -> None:
        (page,) = await completed_pages(store, source, "/a")
        await store.begin_round(source, 1_500.0)
        missed = settled(page, State.PENDING, status=404, error="status: 404", revisit=Revisited(misses=1))
        await store.commit(Batch(settled=[missed]))
        previous = (await waiting(store, source))[page.url].previous
        assert previous is not None
        assert (previous.state, previous.misses, previous.hash) == (State.COMPLETED, 1, "hash of /a")
        await store.commit(Batch(settled=[unchanged(page)]))
        await store.begin_round(source, 2_500.0)
        previous = (await waiting(store, source))[page.url].previous
        assert previous is not None
        assert previous.misses == 0

    async def test_an_unchanged_page_keeps_all_it_had_and_is_not_delivered_again(
        self, store: Store, source: int
    ) -> None:
        (page,) = await new_pages(store, source, "/a")
        first = settled(page, document=says("a"), size=7, content_type="text/html", etag='"1"', last_modified="then")
        await store.commit(Batch(settled=[first]))
        before = await store.deliveries([source], 0, 10)
        await store.begin_round(source, 1_500.0)
        await store.commit(Batch(settled=[unchanged(page, etag='"2"', due_at=9_000.0)]))
        assert await store.deliveries([source], 0, 10) == before
        assert await store.counts(source) == Counts(completed=1, bytes=7)
        (info,) = await store.find(page.url)
        assert (info.visits, info.changes, info.due_at) == (1, 0, 9_000.0)
        await store.begin_round(source, 2_500.0)
        previous = (await waiting(store, source))[page.url].previous
        assert previous is not None
        assert (previous.etag, previous.last_modified) == ('"2"', "then")
        assert (previous.read_at, previous.checked_at, previous.since) == (1_000.5, 2_000.5, 1_000.5)
        assert await store.verify() == []

    async def test_a_page_that_was_read_and_is_the_same_was_read_then(self, store: Store, source: int) -> None:
        (page,) = await completed_pages(store, source, "/a")
        await store.begin_round(source, 1_500.0)
        await store.commit(Batch(settled=[unchanged(page, status=200, document=says("/a"))]))
        await store.begin_round(source, 2_500.0)
        previous = (await waiting(store, source))[page.url].previous
        assert previous is not None
        assert (previous.read_at, previous.since) == (2_000.5, 1_000.5)

    async def test_a_page_that_could_not_be_reached_keeps_its_content_and_says_so_until_it_can(
        self, store: Store, source: int
    ) -> None:
        (page,) = await completed_pages(store, source, "/a")
        await store.begin_round(source, 1_500.0)
        await store.commit(Batch(settled=[unchanged(page, status=None, error="timeout: slow")]))
        record = await record_of(store, page)
        assert (record.state, record.title, record.error) == (State.COMPLETED, "/A", "timeout: slow")
        await store.begin_round(source, 2_500.0)
        await store.commit(Batch(settled=[unchanged(page)]))
        assert (await record_of(store, page)).error is None

    async def test_a_page_that_still_fails_still_has_its_error(self, store: Store, source: int) -> None:
        (page,) = await new_pages(store, source, "/a")
        await store.commit(Batch(settled=[settled(page, State.FAILED, status=410, error="status: 410")]))
        await store.begin_round(source, 1_500.0)
        await store.commit(Batch(settled=[unchanged(page, State.FAILED, status=410)]))
        record = await record_of(store, page)
        assert (record.state, record.error) == (State.FAILED, "status: 410")
        assert await store.verify() == []

    async def test_only_a_page_that_was_visited_before_can_be_unchanged(self, store: Store, source: int) -> None:
        (page,) = await new_pages(store, source, "/a")
        with pytest.raises(StorageError):
            await store.commit(Batch(settled=[unchanged(page)]))

    async def test_a_changed_page_is_delivered_again_in_place_of_the_old(self, store: Store, source: int) -> None:
        one, two = await completed_pages(store, source, "/one", "/two")
        *_, last = await store.deliveries([source], 0, 10)
        await store.begin_round(source, 1_500.0)
        news = changed(one, document=says("news"), size=3)
        await store.commit(Batch(settled=[unchanged(two), news]))
        assert await delivered(store, source) == [two.url, one.url]
        (again,) = await store.deliveries([source], last.sequence, 10)
        assert (again.record.title, again.record.hash) == ("News", "hash of news")
        assert await store.counts(source) == Counts(completed=2, bytes=10)
        (info,) = await store.find(one.url)
        assert (info.visits, info.changes) == (1, 1)
        assert await store.verify() == []

    async def test_the_last_row_of_the_outbox_is_never_numbered_again(self, store: Store, source: int) -> None:
        (page,) = await completed_pages(store, source, "/a")
        sequence = 0
        for round_ in range(2, 5):
            (delivery,) = await store.deliveries([source], sequence, 10)
            sequence = delivery.sequence
            await store.begin_round(source, 1_000.0 * round_)
            await store.commit(Batch(settled=[changed(page, document=says(f"round {round_}"))]))
        assert len(await store.deliveries([source], sequence, 10)) == 1

    async def test_a_page_that_is_gone_loses_its_text(self, store: Store, source: int) -> None:
        (page,) = await completed_pages(store, source, "/a")
        await store.begin_round(source, 1_500.0)
        gone = changed(page, State.FAILED, status=404, error="status: 404", change=Change.REMOVED)
        await store.commit(Batch(settled=[gone]))
        assert await store.detours(source, {page.url: -1}) == []
        assert await store.counts(source) == Counts(failed=1)
        (entry,) = await feed(store, source)
        assert (entry.change, entry.url, entry.title) == (Change.REMOVED, page.url, "/A")
        assert (entry.before, entry.after) == ("/a", None)
        assert (entry.hash, entry.previous_hash) == (None, "hash of /a")
        assert await store.verify() == []

    async def test_the_feed_tells_each_change_with_the_texts_around_it(self, store: Store, source: int) -> None:
        (page,) = await completed_pages(store, source, "/a")
        texts = ["second", "third", "fourth"]
        for round_, text in enumerate(texts, start=2):
            await store.begin_round(source, 1_000.0 * round_)
            fact = changed(page, document=says(text), change=Change.CHANGED, finished_at=1_000.0 * round_)
            await store.commit(Batch(settled=[fact]))
        second, third, fourth = await feed(store, source)
        assert (second.before, second.after, second.title, second.round) == ("/a", "second", "Second", 2)
        assert (third.before, third.after, third.title, third.round) == ("second", "third", "Third", 3)
        assert (third.hash, third.previous_hash, third.at) == ("hash of third", "hash of second", 3_000.0)
        assert (fourth.before, fourth.after) == ("third", "fourth")
        assert await feed(store, source, after=second.sequence) == [third, fourth]
        assert await feed(store, source, since=3_500.0) == [fourth]
        assert await store.changes([source], 0, 0.0, 1) == [second]
        assert await feed(store, source + 1) == []

    async def test_a_new_page_is_added_with_its_text(self, store: Store, source: int) -> None:
        await store.begin_round(source, 1_500.0)
        (page,) = await new_pages(store, source, "/new")
        await store.commit(Batch(settled=[settled(page, document=says("new"), change=Change.ADDED)]))
        (entry,) = await feed(store, source)
        assert (entry.change, entry.round, entry.at) == (Change.ADDED, 2, 1_000.5)
        assert (entry.before, entry.after, entry.hash, entry.previous_hash) == (None, "new", "hash of new", None)

    async def test_a_page_that_is_promoted_in_a_later_round_changes_from_what_it_was(
        self, store: Store, source: int
    ) -> None:
        (page,) = await completed_pages(store, source, "/a")
        await store.begin_round(source, 1_500.0)
        rank = Deferral.CANONICAL.rank
        await store.commit(Batch(settled=[settled(page, State.PENDING, rank=rank, document=says("new"), size=3)]))
        (waits,) = await store.some_deferred(source, 10)
        assert waits.previous is not None
        assert waits.previous.hash == "hash of /a"
        promoted = changed(page, promoted=True, change=Change.CHANGED)
        await store.commit(Batch(settled=[promoted]))
        (entry,) = await feed(store, source)
        assert (entry.before, entry.after, entry.title) == ("/a", "new", "New")
        assert (entry.hash, entry.previous_hash) == ("hash of new", "hash of /a")
        assert (await record_of(store, page)).title == "New"
        assert await store.counts(source) == Counts(completed=1, bytes=3)
        assert await store.verify() == []
