"""A store with a page of every kind, for the commands that look into one."""

from __future__ import annotations

import asyncio
from typing import TypedDict, Unpack

from gossamer.adapters.store_sqlite import SqliteStore
from gossamer.config import Settings
from gossamer.model import (
    Batch,
    Document,
    HostRecord,
    Leased,
    NewPage,
    RobotsRecord,
    RobotsVerdict,
    Settled,
    SourceSpec,
    SourceState,
    SourceUpdate,
    State,
    Why,
)

SITE = "https://site.test"
SOON = 4_000_000_000.0
ROBOTS = b"User-agent: *\nDisallow: /private\n"


def fill(data: str) -> None:
    asyncio.run(_fill(data))


async def _fill(data: str) -> None:
    store = await SqliteStore.open(data)
    try:
        await store.claim()
        source = await store.add_source(spec(), 1_700_000_000.0)
        first = await store.reserve(6)
        for batch in _batches(source.id, first):
            await store.commit(batch)
    finally:
        await store.close()


def spec() -> SourceSpec:
    return Settings(max_pages=100).source_spec([f"{SITE}/"])


def _batches(source: int, first: int) -> list[Batch]:
    leased = [Leased(page=first + number, token=number + 1, deadline=9.0, attempts=1) for number in (0, 1, 2, 5)]
    host = HostRecord(key=SITE, ready_at=SOON, wait=60, failures=2, waiting_for="Retry-After", answered=True)
    robots = RobotsRecord(host=SITE, verdict=RobotsVerdict.RULES, body=ROBOTS, status=200, expires_at=SOON)
    stopped = SourceUpdate(id=source, state=SourceState.STOPPED, reason="interrupted", granted=4)
    return [
        Batch(new=_new(source, first)),
        Batch(leased=leased),
        Batch(settled=_settled(source, first), hosts=[host], robots=[robots], sources=[stopped]),
    ]


def _new(source: int, first: int) -> list[NewPage]:
    def new(number: int, path: str, state: State = State.PENDING, reason: Why | None = None) -> NewPage:
        return NewPage(
            id=first + number,
            source=source,
            url=SITE + path,
            host=SITE,
            shard=0,
            state=state,
            depth=min(number, 2),
            rank=number,
            parent=first + min(number, 2) - 1 if number else None,
            reason=reason,
        )

    return [
        new(0, "/"),
        new(1, "/guide"),
        new(2, "/broken"),
        new(3, "/private/x", State.SKIPPED, Why.ROBOTS),
        new(4, "/later"),
        new(5, "/old"),
    ]


def _settled(source: int, first: int) -> list[Settled]:
    def settled(number: int, path: str, state: State, **more: Unpack[More]) -> Settled:
        return Settled(page=first + number, source=source, url=SITE + path, state=state, finished_at=1.7e9, **more)

    links = (f"{SITE}/guide", f"{SITE}/broken")
    home = Document(title="Home, sweet “home”", markdown="# Home\n\nText.", tokens=3, hash="00ff", links=links)
    return [
        settled(0, "/", State.COMPLETED, status=200, content_type="text/html", size=2048, elapsed=0.123, document=home),
        settled(1, "/guide", State.COMPLETED, status=200, document=Document(title="Guide"), size=512),
        settled(2, "/broken", State.FAILED, status=500, error="status: 500 Server Error", attempts=3),
        settled(5, "/old", State.SKIPPED, status=301, reason=Why.REDIRECT, target=f"{SITE}/new", attempts=1),
    ]


class More(TypedDict, total=False):
    status: int
    content_type: str
    attempts: int
    size: int
    elapsed: float
    document: Document
    error: str
    reason: Why
    target: str
