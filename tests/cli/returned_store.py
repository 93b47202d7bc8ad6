"""A store of a site that was found by sitemaps, with pages that are one, traps, and a second visit."""

from __future__ import annotations

import asyncio

import msgspec

from gossamer.adapters.store_sqlite import SqliteStore
from gossamer.model import (
    Batch,
    Change,
    Deferral,
    Document,
    EndReason,
    Leased,
    LeaseKind,
    NewPage,
    Revisited,
    Settled,
    SourceState,
    SourceUpdate,
    State,
    Why,
)
from tests.cli.filled_store import SITE, spec

FIRST, SECOND = 1_700_000_000.0, 1_700_100_000.0
PAGES = ("/", "/guide", "/copy", "/like", "/print", "/none", "/soon")
SITEMAPS = ("/sitemap.xml", "/news.xml")


def fill(data: str) -> None:
    asyncio.run(_fill(data))


async def _fill(data: str) -> None:
    store = await SqliteStore.open(data)
    try:
        await store.claim()
        source = (await store.add_source(spec(), FIRST)).id
        first = await store.reserve(20)
        await store.commit(Batch(new=_new(source, first)))
        await store.commit(_leases(first))
        await store.commit(Batch(settled=_first_round(source, first)))
        await store.commit(Batch(sources=[_ended(source)]))
        await store.begin_round(source, SECOND)
        await store.commit(_leases(first))
        await store.commit(Batch(settled=_second_round(source, first)))
        await store.commit(Batch(sources=[_ended(source)]))
    finally:
        await store.close()


def _ended(source: int) -> SourceUpdate:
    return SourceUpdate(id=source, state=SourceState.COMPLETED, reason=EndReason.FINISHED, granted=7)


def _leases(first: int) -> Batch:
    fetched = [*range(len(PAGES) - 1), 10, 11]
    return Batch(leased=[Leased(page=first + n, token=n + 1, deadline=9.0, attempts=1) for n in fetched])


def _new(source: int, first: int) -> list[NewPage]:
    def new(number: int, path: str, **more: object) -> NewPage:
        page = NewPage(
            id=first + number,
            source=source,
            url=SITE + path,
            host=SITE,
            shard=0,
            state=State.PENDING,
            depth=1,
            rank=1000 + number,
        )
        return msgspec.structs.replace(page, **more)

    date = "names the date 2099-01, further ahead than 400 days"
    return [
        *(new(number, path) for number, path in enumerate(PAGES[:-1])),
        new(6, "/soon", rank=Deferral.BUDGET.rank),
        new(7, "/calendar/2099/01", state=State.SKIPPED, reason=Why.TRAP, error=date),
        new(8, "/unlisted", state=State.SKIPPED, reason=Why.UNLISTED),
        *(new(10 + number, path, kind=LeaseKind.SITEMAP, target=SITE) for number, path in enumerate(SITEMAPS)),
    ]


def _first_round(source: int, first: int) -> list[Settled]:
    def settled(number: int, state: State, **more: object) -> Settled:
        url = SITE + (SITEMAPS[number - 10] if number >= 10 else PAGES[number])
        fact = Settled(page=first + number, source=source, url=url, state=state, status=200, finished_at=FIRST + 1)
        return msgspec.structs.replace(fact, **more)

    return [
        settled(0, State.COMPLETED, document=Document(title="Home", text="Home.", hash="00"), due_at=SECOND),
        settled(1, State.COMPLETED, document=Document(title="Guide", text="It was. It stays.", hash="10")),
        settled(2, State.SKIPPED, reason=Why.DUPLICATE, target=f"{SITE}/guide", error="the same content as the target"),
        settled(3, State.SKIPPED, reason=Why.NEAR_DUPLICATE, target=f"{SITE}/guide", error="93% the same (limit 90%)"),
        settled(4, State.SKIPPED, reason=Why.CANONICAL, target=f"{SITE}/guide"),
        settled(5, State.SKIPPED, reason=Why.SOFT_404, error="says what this host says of pages that do not exist"),
        settled(10, State.COMPLETED, kind=LeaseKind.SITEMAP, listed=1204),
        settled(11, State.FAILED, kind=LeaseKind.SITEMAP, status=404, error="status: 404 Not Found"),
    ]


def _second_round(source: int, first: int) -> list[Settled]:
    again = [settled for settled in _first_round(source, first) if settled.page - first not in (0, 1)]
    home, guide = _first_round(source, first)[:2]
    return [
        _revisited(home, document=None, status=304, revisit=Revisited(unchanged=True), due_at=SECOND + 86_400),
        _revisited(
            guide,
            document=Document(title="Guide", text="It is. It stays.", hash="11"),
            revisit=Revisited(content_changed=True),
            change=Change.CHANGED,
            due_at=SECOND + 3_600,
        ),
        *(_revisited(settled, revisit=Revisited(unchanged=True)) for settled in again if settled.page - first < 10),
        *(_revisited(settled) for settled in again if settled.page - first >= 10),
    ]


def _revisited(settled: Settled, **changes: object) -> Settled:
    return msgspec.structs.replace(settled, finished_at=SECOND + 1, **changes)
