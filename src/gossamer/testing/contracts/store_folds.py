"""The side of a store that folding leans on: twins, and where redirects and folds end."""

# ruff: noqa: S101 -- a suite of tests asserts.

from __future__ import annotations

from gossamer.model import (
    Batch,
    Deferral,
    Fingerprint,
    FoldEnd,
    NewPage,
    Revisited,
    Settled,
    State,
    Twin,
    Why,
)
from gossamer.ports import Store
from gossamer.testing.contracts.store_makers import (
    HOST,
    SPEC,
    Mortal,
    changed,
    completed_pages,
    new_guide,
    new_pages,
    record_of,
    says,
    settled,
    unchanged,
    waiting,
)


def mark(body: str, *bands: int) -> Fingerprint:
    return Fingerprint(body=body.encode(), sketch=f"sketch {body}".encode(), bands=bands)


def folded(page: NewPage, target: NewPage, reason: Why = Why.CANONICAL, **more: object) -> Settled:
    return settled(page, State.SKIPPED, reason=reason, target=target.url, document=says(page.url), **more)


def folded_again(page: NewPage, target: NewPage, reason: Why, at: float) -> Settled:
    return folded(page, target, reason, finished_at=at, revisit=Revisited())


async def marked(store: Store, source: int, marks: dict[str, Fingerprint]) -> list[NewPage]:
    """Completed pages with these fingerprints."""
    pages = await new_pages(store, source, *marks)
    facts = [settled(page, fingerprint=each) for page, each in zip(pages, marks.values(), strict=True)]
    await store.commit(Batch(settled=facts))
    return pages


class StoreFoldsContract(Mortal):
    """Which pages are one."""

    async def test_a_fingerprint_comes_back_as_it_was(self, store: Store, source: int) -> None:
        given = Fingerprint(body=b"\x00\xff" * 8, sketch=b"\xff" * 1_024, bands=(0, 1, 2**63 - 1))
        (page,) = await marked(store, source, {"/a": given})
        assert await store.fingerprints([page.id, page.id + 1]) == {page.id: given}
        assert await store.verify() == []

    async def test_twins_are_found_by_body_and_by_any_shared_band(self, store: Store, source: int) -> None:
        one, two = await marked(store, source, {"/one": mark("one", 1, 2, 3), "/two": mark("two", 3, 4)})
        exact = Twin(page=one.id, url=one.url, exact=True)
        near = Twin(page=one.id, url=one.url, exact=False, sketch=b"sketch one")
        also = Twin(page=two.id, url=two.url, exact=False, sketch=b"sketch two")
        asked = [mark("one"), mark("new", 2, 3), mark("else", 9), mark("two", 4, 9)]
        exactly_two = Twin(page=two.id, url=two.url, exact=True)
        assert await store.twins(source, asked) == [[exact], [near, also], [], [exactly_two, also]]
        assert await store.twins(source, []) == []

    async def test_twins_are_of_the_same_source(self, store: Store, source: int) -> None:
        other = (await store.add_source(SPEC, 6.0)).id
        await marked(store, other, {"/a": mark("a", 1)})
        assert await store.twins(source, [mark("a", 1)]) == [[]]

    async def test_of_many_twins_those_that_share_most_bands_come_first_and_no_more_than_16(
        self, store: Store, source: int
    ) -> None:
        await marked(store, source, {f"/{n}": mark(f"{n}", 1) for n in range(40)})
        (best,) = await marked(store, source, {"/best": mark("best", 2, 3)})
        ((first, *rest),) = await store.twins(source, [mark("new", 1, 2, 3)])
        assert (first.page, len(rest)) == (best.id, 15)

    async def test_only_a_completed_page_is_a_twin(self, store: Store, source: int) -> None:
        done, waits = await new_pages(store, source, "/done", "/waits")
        deferral = {"rank": Deferral.MISSING.rank, "document": says("x"), "fingerprint": mark("a", 1)}
        await store.commit(Batch(settled=[settled(waits, State.PENDING, **deferral)]))
        assert await store.twins(source, [mark("a", 1)]) == [[]]
        await store.commit(Batch(settled=[settled(done, fingerprint=mark("a", 1))]))
        ((exact, near),) = await store.twins(source, [mark("a", 1)])
        assert (exact.page, near.page) == (done.id, done.id)

    async def test_a_page_that_is_visited_again_is_a_twin_until_it_is_not_what_it_was(
        self, store: Store, source: int
    ) -> None:
        kept, other, gone = await marked(
            store, source, {"/kept": mark("kept", 1), "/other": mark("other", 2), "/gone": mark("gone", 3)}
        )
        await store.begin_round(source, 1_500.0)
        asked = [mark("kept", 1), mark("other", 2), mark("gone", 3), mark("another", 4)]
        assert [len(twins) for twins in await store.twins(source, asked)] == [2, 2, 2, 0]
        failed = changed(gone, State.FAILED, status=404, error="status: 404")
        another = changed(other, fingerprint=mark("another", 4))
        await store.commit(Batch(settled=[unchanged(kept), another, failed]))
        assert [len(twins) for twins in await store.twins(source, asked)] == [2, 0, 0, 2]
        assert await store.verify() == []

    async def test_the_end_of_a_page_that_leads_nowhere_is_itself(self, store: Store, source: int) -> None:
        (page,) = await new_pages(store, source, "/a")
        await new_guide(store, source, "/guide")
        asked = [page.url, f"{HOST}/guide", f"{HOST}/unknown"]
        assert await store.fold_ends(source, asked) == {page.url: FoldEnd(url=page.url, state=State.PENDING)}

    async def test_redirects_and_folds_are_followed_to_their_end(self, store: Store, source: int) -> None:
        pages = await new_pages(store, source, "/1", "/2", "/3", "/4", "/5")
        reasons = [Why.REDIRECT, Why.CANONICAL, Why.DUPLICATE, Why.NEAR_DUPLICATE]
        steps = zip(pages, pages[1:], reasons, strict=False)
        facts = [folded(page, target, reason) for page, target, reason in steps]
        await store.commit(Batch(settled=[*facts, settled(pages[-1])]))
        end = FoldEnd(url=pages[-1].url, state=State.COMPLETED)
        assert await store.fold_ends(source, [page.url for page in pages]) == {page.url: end for page in pages}

    async def test_a_road_is_followed_through_a_page_that_waits_for_its_canonical_one(
        self, store: Store, source: int
    ) -> None:
        page, canonical = await new_pages(store, source, "/a", "/b")
        waits = settled(page, State.PENDING, rank=Deferral.CANONICAL.rank, target=canonical.url, document=says("a"))
        await store.commit(Batch(settled=[waits]))
        ends = await store.fold_ends(source, [page.url])
        assert ends == {page.url: FoldEnd(url=canonical.url, state=State.PENDING)}

    async def test_a_road_ends_at_the_last_page_that_there_is(self, store: Store, source: int) -> None:
        one, two = await new_pages(store, source, "/one", "/two")
        away = settled(two, State.SKIPPED, reason=Why.REDIRECT, target="https://away.test/")
        await store.commit(Batch(settled=[folded(one, two), away]))
        assert await store.fold_ends(source, [one.url]) == {one.url: FoldEnd(url=two.url, state=State.SKIPPED)}

    async def test_a_road_in_a_circle_ends_somewhere(self, store: Store, source: int) -> None:
        one, two = await new_pages(store, source, "/one", "/two")
        await store.commit(Batch(settled=[folded(one, two), folded(two, one)]))
        ends = await store.fold_ends(source, [one.url])
        assert ends[one.url].state is State.SKIPPED
        assert await store.reopen_folds(source) == 0

    async def test_a_page_that_is_skipped_for_another_reason_leads_nowhere(self, store: Store, source: int) -> None:
        one, two = await new_pages(store, source, "/one", "/two")
        await store.commit(Batch(settled=[folded(one, two, Why.NOINDEX), settled(two)]))
        assert (await store.fold_ends(source, [one.url]))[one.url].url == one.url

    async def test_a_fold_into_a_page_that_stays_is_not_opened(self, store: Store, source: int) -> None:
        (target,) = await completed_pages(store, source, "/target")
        (page,) = await new_pages(store, source, "/page")
        await store.commit(Batch(settled=[folded(page, target)]))
        assert await store.reopen_folds(source) == 0
        assert (await record_of(store, page)).state is State.SKIPPED

    async def test_a_fold_into_a_page_that_was_read_for_the_first_time_later_is_not_opened(
        self, store: Store, source: int
    ) -> None:
        page, target = await new_pages(store, source, "/page", "/target")
        facts = [folded(page, target), settled(target, document=says("target"), finished_at=2_000.0)]
        await store.commit(Batch(settled=facts))
        assert await store.reopen_folds(source) == 0

    async def test_a_fold_into_what_is_no_page_is_not_opened(self, store: Store, source: int) -> None:
        (page,) = await new_pages(store, source, "/page")
        away = settled(page, State.SKIPPED, reason=Why.CANONICAL, target="https://away.test/", document=says("page"))
        await store.commit(Batch(settled=[away]))
        assert await store.reopen_folds(source) == 0

    async def test_a_fold_into_a_page_that_changed_is_opened_once_without_validators(
        self, store: Store, source: int
    ) -> None:
        (target,) = await completed_pages(store, source, "/target")
        (page,) = await new_pages(store, source, "/page")
        await store.commit(Batch(settled=[folded(page, target, Why.DUPLICATE, etag='"e"', last_modified="now")]))
        await store.begin_round(source, 1_500.0)
        facts = [changed(target, document=says("other")), unchanged(page, State.SKIPPED, finished_at=1_999.0)]
        await store.commit(Batch(settled=facts))
        assert await store.reopen_folds(source) == 1
        previous = (await waiting(store, source))[page.url].previous
        assert previous is not None
        assert (previous.state, previous.reason, previous.target) == (State.SKIPPED, "duplicate", target.url)
        assert (previous.etag, previous.last_modified, previous.hash) == (None, None, f"hash of {page.url}")
        assert (await store.counts(source)).pending == 1
        assert await store.verify() == []
        await store.commit(Batch(settled=[folded_again(page, target, Why.DUPLICATE, 2_001.0)]))
        assert await store.reopen_folds(source) == 0
        assert await store.verify() == []

    async def test_a_fold_into_a_page_that_is_gone_is_opened(self, store: Store, source: int) -> None:
        (target,) = await completed_pages(store, source, "/target")
        near, redirected = await new_pages(store, source, "/near", "/redirected")
        folds = [folded(near, redirected, Why.NEAR_DUPLICATE), folded(redirected, target, Why.REDIRECT)]
        await store.commit(Batch(settled=folds))
        await store.begin_round(source, 1_500.0)
        gone = changed(target, State.FAILED, status=404, error="status: 404")
        await store.commit(Batch(settled=[gone, *(unchanged(page, State.SKIPPED) for page in (near, redirected))]))
        assert await store.reopen_folds(source) == 1
        assert list(await waiting(store, source)) == [near.url]

    async def test_a_fold_that_could_not_be_read_again_is_not_opened_for_ever(self, store: Store, source: int) -> None:
        (target,) = await completed_pages(store, source, "/target")
        (page,) = await new_pages(store, source, "/page")
        await store.commit(Batch(settled=[folded(page, target)]))
        await store.begin_round(source, 1_500.0)
        gone = changed(target, State.FAILED, status=404, error="status: 404")
        await store.commit(Batch(settled=[gone, unchanged(page, State.SKIPPED)]))
        assert await store.reopen_folds(source) == 1
        await store.commit(Batch(settled=[unchanged(page, State.SKIPPED, status=None, error="timeout: slow")]))
        assert await store.reopen_folds(source) == 0
        await store.begin_round(source, 2_500.0)
        back = changed(target, document=says("back"), finished_at=3_000.0)
        await store.commit(Batch(settled=[back, unchanged(page, State.SKIPPED, finished_at=3_000.0)]))
        assert await store.reopen_folds(source) == 1

    async def test_a_fold_that_was_deferred_for_its_target_waits_for_its_turn_when_it_is_opened(
        self, store: Store, source: int
    ) -> None:
        (target,) = await completed_pages(store, source, "/target")
        (page,) = await new_pages(store, source, "/page")
        waits = settled(page, State.PENDING, rank=Deferral.CANONICAL.rank, target=target.url, document=says("page"))
        await store.commit(Batch(settled=[waits]))
        fold = settled(page, State.SKIPPED, promoted=True, reason=Why.CANONICAL, target=target.url)
        await store.commit(Batch(settled=[fold]))
        await store.begin_round(source, 1_500.0)
        facts = [changed(target, document=says("other")), unchanged(page, State.SKIPPED)]
        await store.commit(Batch(settled=facts))
        assert await store.reopen_folds(source) == 1
        assert list(await waiting(store, source)) == [page.url]
