"""The side of a store that discovery leans on: guides and probes, deferred pages, roads, patterns, lessons of hosts."""

# ruff: noqa: S101 -- a suite of tests asserts.

from __future__ import annotations

import pytest

from gossamer.model import (
    MAX_RANK,
    Batch,
    Counts,
    Deferral,
    Fingerprint,
    GuideInfo,
    HostRecord,
    Learnt,
    LeaseKind,
    Moved,
    NewPage,
    PaceRecord,
    PatternRecord,
    Road,
    Settled,
    State,
    Why,
    Workload,
)
from gossamer.ports import StorageError, Store
from gossamer.testing.contracts.store_makers import (
    HOST,
    SPEC,
    Mortal,
    delivered,
    leased,
    new_guide,
    new_page,
    new_pages,
    pending_urls,
    record_of,
    says,
    settled,
    waiting,
)


class StoreGuidesContract(Mortal):
    """How pages are found, and what those that wait are waiting for."""

    async def test_a_url_may_be_a_page_and_a_guide_at_once(self, store: Store, source: int) -> None:
        await new_guide(store, source, "/a")
        assert await store.unseen(source, [f"{HOST}/a"]) == [f"{HOST}/a"]
        assert await store.unseen(source, [f"{HOST}/a", f"{HOST}/b"], guides=True) == [f"{HOST}/b"]
        await new_pages(store, source, "/a", "/b")
        assert await store.unseen(source, [f"{HOST}/a"]) == []
        assert await store.unseen(source, [f"{HOST}/b"], guides=True) == [f"{HOST}/b"]
        assert await store.verify() == []

    async def test_a_url_is_one_guide_of_a_kind(self, store: Store, source: int) -> None:
        guide = await new_guide(store, source, "/a")
        with pytest.raises(StorageError):
            await store.commit(Batch(new=[new_page(guide.id + 1, source, guide.url, kind=guide.kind)]))

    async def test_a_guide_waits_and_is_leased_like_a_page(self, store: Store, source: int) -> None:
        guide = await new_guide(store, source, "/sitemap.xml")
        waits = (await waiting(store, source))[guide.url]
        assert (waits.kind, waits.target, waits.previous) == (LeaseKind.SITEMAP, HOST, None)
        await store.commit(Batch(leased=[leased(guide)]))
        assert await pending_urls(store, source) == []
        assert await store.counts(source) == Counts()
        async with self.crashed(store) as again:
            await again.claim()
            assert await pending_urls(again, source) == [guide.url]

    async def test_guides_are_listed_in_the_order_found_without_probes(self, store: Store, source: int) -> None:
        one = await new_guide(store, source, "/2.xml")
        two = await new_guide(store, source, "/1.txt", LeaseKind.LLMS)
        await new_guide(store, source, "/cannot-exist", LeaseKind.PROBE)
        read = settled(one, kind=LeaseKind.SITEMAP, listed=7, error="cut short")
        await store.commit(Batch(settled=[read]))
        assert await store.guides(source) == [
            GuideInfo(
                url=one.url,
                kind=LeaseKind.SITEMAP,
                host=HOST,
                state=State.COMPLETED,
                about=HOST,
                listed=7,
                error="cut short",
            ),
            GuideInfo(url=two.url, kind=LeaseKind.LLMS, host=HOST, state=State.PENDING, about=HOST),
        ]

    async def test_guides_and_probes_are_in_no_count_and_no_outbox(self, store: Store, source: int) -> None:
        guide = await new_guide(store, source, "/sitemap.xml")
        probe = await new_guide(store, source, "/cannot-exist", LeaseKind.PROBE)
        refused = new_page(await store.reserve(1), source, f"{HOST}/far.xml", State.SKIPPED, kind=LeaseKind.SITEMAP)
        facts = [settled(guide, kind=guide.kind, size=9), settled(probe, State.FAILED, kind=probe.kind)]
        await store.commit(Batch(new=[refused], settled=facts))
        assert await store.counts(source) == Counts()
        assert await delivered(store, source) == []
        assert await store.find(guide.url) == []
        assert await store.verify() == []

    async def test_a_page_knows_the_guide_that_listed_it(self, store: Store, source: int) -> None:
        guide = await new_guide(store, source, "/sitemap.xml")
        page = new_page(await store.reserve(1), source, f"{HOST}/a", parent=guide.id, lastmod=5.5)
        await store.commit(Batch(new=[page]))
        (info,) = await store.find(page.url)
        assert (info.record.parent, info.lastmod) == (guide.url, 5.5)
        assert [each.record.url for each in await store.ancestors(page.id)] == [guide.url]

    async def test_the_workload_tells_queued_deferred_and_guides_apart(self, store: Store, source: int) -> None:
        assert await store.workload(source) == Workload()
        one, *_ = await new_pages(store, source, "/1", "/2", "/3")
        await new_pages(store, source, "/deep", rank=Deferral.DEPTH.rank)
        await new_guide(store, source, "/sitemap.xml")
        out = await new_guide(store, source, "/feed.xml")
        await store.commit(Batch(leased=[leased(one), leased(out, token=2)]))
        assert await store.workload(source) == Workload(queued=3, deferred=1, improvable=1, guides=1)

    async def test_mentioned_pages_are_those_that_are_queued(self, store: Store, source: int) -> None:
        queued, done = await new_pages(store, source, "/queued", "/done", rank=MAX_RANK - 1)
        (deep,) = await new_pages(store, source, "/deep", rank=Deferral.DEPTH.rank)
        await new_guide(store, source, "/guide")
        await store.commit(Batch(settled=[settled(done)]))
        asked = [queued.url, done.url, deep.url, f"{HOST}/guide", f"{HOST}/unknown"]
        (found,) = await store.mentioned(source, asked)
        assert (found.id, found.url, found.host, found.rank) == (queued.id, queued.url, HOST, MAX_RANK - 1)

    async def test_some_deferred_are_those_of_a_host_and_of_a_kind_beyond_an_id(
        self, store: Store, source: int
    ) -> None:
        first = await store.reserve(6)
        kinds = [Deferral.UNLISTED, Deferral.DEPTH, Deferral.UNLISTED, Deferral.BUDGET, Deferral.UNLISTED]
        hosts = ["https://a.test", "https://a.test", "https://b.test", "https://b.test", "https://a.test"]
        pages = [
            new_page(first + n, source, f"{host}/{n}", rank=kind.rank)
            for n, (kind, host) in enumerate(zip(kinds, hosts, strict=True))
        ]
        queued = new_page(first + 5, source, f"{HOST}/queued")
        await store.commit(Batch(new=[*pages, queued]))

        async def some(**only: object) -> list[int]:
            found = await store.some_deferred(source, 3, **only)  # type: ignore[arg-type]
            return [page.id - first for page in found]

        assert await some() == [0, 1, 2]
        assert await some(after=first + 1) == [2, 3, 4]
        assert await some(kind=Deferral.UNLISTED) == [0, 2, 4]
        assert await some(host="https://a.test") == [0, 1, 4]
        assert await some(host="https://a.test", kind=Deferral.UNLISTED) == [0, 4]
        assert await some(host="https://a.test", kind=Deferral.UNLISTED, after=first) == [4]
        assert await some(host="https://nobody.test") == []

    async def test_a_page_that_was_read_is_deferred_with_its_target_and_no_road_matters(
        self, store: Store, source: int
    ) -> None:
        (page,) = await new_pages(store, source, "/a")
        await store.commit(Batch(settled=[_deferred(page, target=f"{HOST}/b", document=says("a"))]))
        (waits,) = await store.some_deferred(source, 10)
        assert (waits.id, waits.rank, waits.target) == (page.id, Deferral.CANONICAL.rank, f"{HOST}/b")
        assert await store.deferred(source, [page.url]) == []
        assert await store.counts(source) == Counts(pending=1)
        assert await delivered(store, source) == []
        assert await store.verify() == []

    async def test_a_promoted_page_is_what_was_read_while_it_was_deferred(self, store: Store, source: int) -> None:
        (page,) = await new_pages(store, source, "/a")
        read = _deferred(page, document=says("a"), size=9, content_type="text/html", elapsed=0.5)
        await store.commit(Batch(settled=[read]))
        await store.commit(Batch(settled=[_promoted(page, State.COMPLETED)]))
        (delivery,) = await store.deliveries([source], 0, 10)
        record = delivery.record
        assert (record.state, record.http_status, record.title, record.hash) == ("completed", 200, "A", "hash of a")
        assert (record.content_type, record.bytes, record.elapsed_ms) == ("text/html", 9, 500.0)
        assert await store.counts(source) == Counts(completed=1, bytes=9)
        assert await store.verify() == []

    async def test_a_promoted_page_leads_further_and_a_deferred_one_does_not(self, store: Store, source: int) -> None:
        page, waits = await new_pages(store, source, "/a", "/b")
        links = (f"{HOST}/c",)
        await store.commit(Batch(settled=[_deferred(each, document=says("x", links=links)) for each in (page, waits)]))
        await store.commit(Batch(settled=[_promoted(page, State.COMPLETED)]))
        (detour,) = await store.detours(source, {page.url: -1, waits.url: -1})
        assert (detour.page, detour.final, detour.links) == (page.id, True, links)

    async def test_a_page_may_be_deferred_and_promoted_in_one_commit(self, store: Store, source: int) -> None:
        (page,) = await new_pages(store, source, "/a")
        mark = Fingerprint(body=b"a", sketch=b"12345678", bands=(1, 2))
        read = _deferred(page, document=says("a"), fingerprint=mark)
        await store.commit(Batch(settled=[read, _promoted(page, State.COMPLETED)]))
        assert (await record_of(store, page)).title == "A"
        assert await store.fingerprints([page.id]) == {page.id: mark}
        assert await store.verify() == []

    async def test_a_page_that_is_folded_after_it_waited_keeps_no_text_and_no_fingerprint(
        self, store: Store, source: int
    ) -> None:
        (page,) = await new_pages(store, source, "/a")
        mark = Fingerprint(body=b"a", sketch=b"12345678", bands=(1, 2))
        await store.commit(Batch(settled=[_deferred(page, document=says("a"), fingerprint=mark)]))
        fold = _promoted(page, State.SKIPPED, reason=Why.CANONICAL, target=f"{HOST}/b")
        await store.commit(Batch(settled=[fold]))
        (info,) = await store.find(page.url)
        assert (info.record.state, info.record.reason, info.target) == (State.SKIPPED, "canonical", f"{HOST}/b")
        assert (info.record.http_status, info.record.title) == (200, None)
        assert await store.fingerprints([page.id]) == {}
        assert await store.verify() == []

    async def test_a_page_may_go_to_the_back_of_its_lane(self, store: Store, source: int) -> None:
        one, two = await new_pages(store, source, "/one", "/two")
        await store.commit(Batch(leased=[leased(one)]))
        await store.commit(Batch(settled=[settled(one, State.PENDING, rank=500, status=None)]))
        assert await pending_urls(store, source) == [two.url, one.url]

    async def test_a_page_that_moves_without_a_road_keeps_its_parent(self, store: Store, source: int) -> None:
        (parent,) = await new_pages(store, source, "/parent")
        page = new_page(await store.reserve(1), source, f"{HOST}/a", parent=parent.id, position=3)
        await store.commit(Batch(new=[page]))
        await store.commit(Batch(moved=[Moved(page=page.id, depth=2, rank=1)]))
        (info,) = await store.find(page.url)
        assert (info.record.depth, info.rank, info.record.parent, info.record.position) == (2, 1, parent.url, 3)

    async def test_what_a_host_taught_comes_back_as_it_was(self, store: Store) -> None:
        learnt = Learnt(
            parameters={"session": (3, 0), "page": (0, 9)},
            order=(2, 1),
            missing=Fingerprint(body=b"\x00\xff", sketch=b"12345678", bands=(1, 2**62)),
            probed=True,
        )
        host = HostRecord(key=HOST, address="192.0.2.7", pace=PaceRecord(load=0.5, ceiling=2.25), learnt=learnt)
        await store.commit(Batch(hosts=[host]))
        assert await store.hosts([HOST]) == [(host, None)]
        plain = HostRecord(key=HOST)
        await store.commit(Batch(hosts=[plain]))
        assert await store.hosts([HOST]) == [(plain, None)]

    async def test_patterns_are_kept_for_each_source_and_host(self, store: Store, source: int) -> None:
        other = (await store.add_source(SPEC, 6.0)).id
        old = PatternRecord(source=source, host=HOST, pattern="/#", admitted=1)
        new = PatternRecord(source=source, host=HOST, pattern="/#", admitted=5, allowed=9, useful=2, useless=1, thin=4)
        elsewhere = PatternRecord(source=source, host="https://b.test", pattern="/#")
        theirs = PatternRecord(source=other, host=HOST, pattern="/#", admitted=7)
        await store.commit(Batch(patterns=[old, elsewhere, theirs]))
        await store.commit(Batch(patterns=[new]))
        assert await store.patterns(source, [HOST, "https://nobody.test"]) == [new]
        assert await store.patterns(source, [HOST, "https://b.test"]) == [new, elsewhere]
        assert await store.patterns(other, [HOST]) == [theirs]

    async def test_roads_are_kept_and_the_last_word_counts(self, store: Store, source: int) -> None:
        listed, linked = (Road(source=source, host=HOST, links=links) for links in (False, True))
        await store.commit(Batch(roads=[listed]))
        assert await store.roads(source) == [listed]
        await store.commit(Batch(roads=[linked]))
        assert await store.roads(source) == [linked]
        assert await store.roads(source + 1) == []


def _deferred(page: NewPage, **more: object) -> Settled:
    return settled(page, State.PENDING, rank=Deferral.CANONICAL.rank, **more)


def _promoted(page: NewPage, state: State, **more: object) -> Settled:
    return settled(page, state, promoted=True, status=None, **more)
