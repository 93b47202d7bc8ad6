"""What a store holds after its owner died."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import apsw
import msgspec

from gossamer.adapters.store_sqlite import DATABASE, SqliteStore
from gossamer.adapters.store_sqlite.numbers import KIND_NAMES, STATE_NAMES
from gossamer.model import Counts, LeaseKind, PageInfo, PageRecord, Source, SourceState, State

_ALL = 1_000_000
_GUIDES = "SELECT url, kind, state, attempts FROM pages WHERE kind > 0 ORDER BY id"


class Guide(msgspec.Struct, frozen=True):
    """A sitemap or the like, or a probe: what is asked for and is no page."""

    url: str
    kind: LeaseKind
    state: State
    attempts: int


class Look(msgspec.Struct, frozen=True, kw_only=True):
    source: Source | None = None
    counts: Counts = Counts()
    pages: dict[str, PageInfo] = {}
    """By URL."""
    guides: tuple[Guide, ...] = ()
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
        """The URLs that were being fetched, those of robots files and guides too."""
        guides = [guide.url for guide in self.guides if guide.state is State.PROCESSING]
        return [*self.records(State.PROCESSING), *guides, *(f"{host}/robots.txt" for host in self.asking_robots)]

    @property
    def round(self) -> int:
        return self.source.round if self.source else 0

    @property
    def finished_again(self) -> bool:
        return self.finished and self.round > 1

    @property
    def finished(self) -> bool:
        return self.source is not None and self.source.state is SourceState.COMPLETED


def look(data: Path) -> Look:
    """Read a copy, because opening a store after a crash already begins to repair it."""
    with TemporaryDirectory() as folder:
        for file in data.glob(f"{DATABASE}*"):
            if not file.name.endswith("-shm"):
                shutil.copy(file, folder)
        file = Path(folder) / DATABASE
        return asyncio.run(_read(file)) if _was_made(file) else Look()


def _was_made(file: Path) -> bool:
    if not file.exists():
        return False
    db = apsw.Connection(str(file))
    try:
        return int(db.pragma("user_version")) > 0
    finally:
        db.close()


def _guides(file: Path) -> tuple[Guide, ...]:
    """Straight from the table: nobody but a test asks for probes."""
    db = apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        rows = msgspec.convert(db.execute(_GUIDES).fetchall(), list[tuple[str, int, int, int]])
        return tuple(Guide(url, KIND_NAMES[kind], STATE_NAMES[state], tries) for url, kind, state, tries in rows)
    finally:
        db.close()


async def _read(file: Path) -> Look:
    store = await SqliteStore.open(file.parent, read_only=True)
    try:
        seen = Look(violations=tuple(await store.verify()), guides=_guides(file))
        sources = await store.sources()
        return await _with_source(store, sources[0], seen) if sources else seen
    finally:
        await store.close()


async def _with_source(store: SqliteStore, source: Source, seen: Look) -> Look:
    pages = await store.pages(source.id, limit=_ALL)
    hosts = await store.hosts(sorted({page.host for page in pages}))
    return msgspec.structs.replace(
        seen,
        source=source,
        counts=await store.counts(source.id),
        pages={page.record.url: page for page in pages},
        judged=frozenset(host.key for host, robots in hosts if robots is not None),
        asking_robots=frozenset(host.key for host, robots in hosts if host.leased and robots is None),
    )
