"""What a store holds after its owner died."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import apsw
import msgspec

from gossamer.adapters.store_sqlite import DATABASE, SqliteStore
from gossamer.model import Counts, PageInfo, PageRecord, Source, SourceState, State

_ALL = 1_000_000


class Look(msgspec.Struct, frozen=True, kw_only=True):
    source: Source | None = None
    counts: Counts = Counts()
    pages: dict[str, PageInfo] = {}
    """By URL."""
    judged: frozenset[str] = frozenset()
    """Hosts whose robots verdict is known."""
    asking_robots: frozenset[str] = frozenset()
    """Hosts with a request under way and no verdict yet."""
    violations: tuple[str, ...] = ()

    def records(self, *states: State) -> dict[str, PageRecord]:
        return {url: page.record for url, page in self.pages.items() if page.record.state in states}

    @property
    def final(self) -> dict[str, PageRecord]:
        return self.records(State.COMPLETED, State.FAILED, State.SKIPPED)

    @property
    def in_flight(self) -> list[str]:
        """The URLs that were being fetched, those of robots files too."""
        return [*self.records(State.PROCESSING), *(f"{host}/robots.txt" for host in self.asking_robots)]

    @property
    def finished(self) -> bool:
        return self.source is not None and self.source.state is SourceState.COMPLETED


def look(data: Path) -> Look:
    """Read a copy, because opening a store after a crash already begins to repair it."""
    with TemporaryDirectory() as folder:
        for file in data.glob(f"{DATABASE}*"):
            if not file.name.endswith("-shm"):
                shutil.copy(file, folder)
        return asyncio.run(_read(Path(folder))) if _was_made(Path(folder) / DATABASE) else Look()


def _was_made(file: Path) -> bool:
    if not file.exists():
        return False
    db = apsw.Connection(str(file))
    try:
        return int(db.pragma("user_version")) > 0
    finally:
        db.close()


async def _read(folder: Path) -> Look:
    store = await SqliteStore.open(folder, read_only=True)
    try:
        violations = tuple(await store.verify())
        sources = await store.sources()
        return await _read_source(store, sources[0], violations) if sources else Look(violations=violations)
    finally:
        await store.close()


async def _read_source(store: SqliteStore, source: Source, violations: tuple[str, ...]) -> Look:
    pages = await store.pages(source.id, limit=_ALL)
    hosts = await store.hosts(sorted({page.host for page in pages}))
    return Look(
        source=source,
        counts=await store.counts(source.id),
        pages={page.record.url: page for page in pages},
        judged=frozenset(host.key for host, robots in hosts if robots is not None),
        asking_robots=frozenset(host.key for host, robots in hosts if host.leased and robots is None),
        violations=violations,
    )
