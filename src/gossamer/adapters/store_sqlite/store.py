"""The store on SQLite: one file in a data directory, one writer, one thread that owns the connection."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

import apsw
import msgspec

from gossamer.adapters.store_sqlite import changes, likeness, reading, records, rounds
from gossamer.adapters.store_sqlite import hosts as host_tables
from gossamer.adapters.store_sqlite.connection import (
    Durability,
    errors_in_words,
    in_words,
    open_to_read,
    open_to_write,
)
from gossamer.adapters.store_sqlite.migrations import transaction
from gossamer.adapters.store_sqlite.place import Lock, lock_directory
from gossamer.adapters.store_sqlite.seen import Seen, SeenSources
from gossamer.adapters.store_sqlite.verify import verify
from gossamer.adapters.store_sqlite.writing import write
from gossamer.model import (
    Batch,
    ChangeRecord,
    Counts,
    Cursor,
    Deferral,
    Delivery,
    Detour,
    Fingerprint,
    FoldEnd,
    GuideInfo,
    HostRecord,
    LeaseKind,
    PageInfo,
    PatternRecord,
    PendingPage,
    Road,
    RobotsRecord,
    Source,
    SourceSpec,
    State,
    Twin,
    Workload,
)
from gossamer.ports import StorageError

_P = ParamSpec("_P")
_T = TypeVar("_T")

_BLOCK = 65_536
"""Page ids are taken from the file this many at a time; a crash wastes at most so many."""


class SqliteStore:
    """`ports.Store` in a data directory. Open it with `SqliteStore.open`."""

    def __init__(self, directory: Path, *, read_only: bool, wall: Callable[[], float]) -> None:
        self._directory = directory
        self._read_only = read_only
        self._wall = wall
        self._thread = ThreadPoolExecutor(1, "gossamer-store")
        self._lock: Lock | None = None
        self._db: apsw.Connection | None = None
        self._broken: StorageError | None = None
        self._seen = SeenSources()
        self._next_page = self._last_page = 0

    @classmethod
    async def open(
        cls,
        path: str | Path,
        durability: Durability = "normal",
        read_only: bool = False,
        wall: Callable[[], float] = time.time,
    ) -> SqliteStore:
        """Open, or make, the store of a data directory.

        `normal` survives any death of the process, `full` also a power cut. `read_only` works beside a running writer.
        """
        store = cls(Path(path), read_only=read_only, wall=wall)
        try:
            await asyncio.get_running_loop().run_in_executor(store._thread, store._connect, durability)
        except BaseException:
            # Who is cancelled does not wait for the thread, and what it opens meanwhile must not stay open.
            store._thread.submit(store._disconnect)
            store._thread.shutdown(wait=False)
            raise
        return store

    def _connect(self, durability: Durability) -> None:
        with errors_in_words(self._directory):
            if self._read_only:
                self._db = open_to_read(self._directory)
                return
            self._lock = lock_directory(self._directory)
            try:
                self._db = open_to_write(self._directory, durability)
            except BaseException:
                self._lock.release()
                raise

    async def _run(
        self, job: Callable[Concatenate[apsw.Connection, _P], _T], *args: _P.args, **kwargs: _P.kwargs
    ) -> _T:
        """Do a job on the thread that owns the connection, after those that were asked for before."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, lambda: self._guard(job, *args, **kwargs))

    def _guard(self, job: Callable[Concatenate[apsw.Connection, _P], _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        if self._db is None:
            raise StorageError(f"the store in {self._directory} is closed; open it again")
        if self._broken is not None:
            raise self._broken
        try:
            return job(self._db, *args, **kwargs)
        except (apsw.IOError, apsw.CorruptError) as error:
            # What reached the disk is unknown: whoever goes on has to open the file again and read.
            self._broken = in_words(error, self._directory)
            raise self._broken from error
        except apsw.Error as error:
            raise in_words(error, self._directory) from error

    async def claim(self) -> int:
        return await self._run(_claim)

    async def add_source(self, spec: SourceSpec, created_at: float) -> Source:
        return await self._run(_add_source, spec, created_at)

    async def sources(self) -> list[Source]:
        return await self._run(reading.sources)

    async def reserve(self, pages: int) -> int:
        if self._next_page + pages > self._last_page:
            size = max(pages, _BLOCK)
            # Another call may have taken a block meanwhile; the rest of the smaller one is never used.
            first = await self._run(_reserve, size)
            self._next_page, self._last_page = first, first + size
        first = self._next_page
        self._next_page += pages
        return first

    async def unseen(self, source: int, urls: Sequence[str], *, guides: bool = False) -> list[str]:
        if self._read_only or guides:
            return _without(urls, await self._run(reading.stored, source, urls, guides))
        seen = self._seen.of(source)
        if not seen.loaded:
            await self._run(_load, seen, source)
        strangers = seen.strangers(urls)
        doubtful = seen.doubtful(strangers)
        if not doubtful:
            return strangers
        stored = await self._run(reading.stored, source, doubtful)
        seen.remember(stored)
        return _without(strangers, stored)

    async def deferred(self, source: int, urls: Sequence[str]) -> list[PendingPage]:
        return await self._run(reading.deferred, source, urls)

    async def detours(self, source: int, depths: Mapping[str, int]) -> list[Detour]:
        return await self._run(records.detours, source, depths)

    async def some_deferred(
        self, source: int, limit: int, *, host: str | None = None, kind: Deferral | None = None, after: int = 0
    ) -> list[PendingPage]:
        return await self._run(reading.some_deferred, source, limit, host, kind, after)

    async def mentioned(self, source: int, urls: Sequence[str]) -> list[PendingPage]:
        return await self._run(reading.mentioned, source, urls)

    async def hosts(self, keys: Sequence[str]) -> list[tuple[HostRecord, RobotsRecord | None]]:
        return await self._run(host_tables.hosts, keys)

    async def pending_hosts(self, sources: Sequence[int], after: str, limit: int, tried: int = 0) -> list[str]:
        return await self._run(reading.pending_hosts, sources, after, limit, tried)

    async def pending(
        self, source: int, host: str, after: tuple[int, int], limit: int, tried: int = 0
    ) -> list[PendingPage]:
        return await self._run(reading.pending, source, host, after, limit, tried)

    async def commit(self, batch: Batch) -> None:
        if not batch:
            return
        added = self._expect(batch)
        await self._run(write, batch, self._wall())
        for seen, urls in added:
            seen.remember(urls)

    def _expect(self, batch: Batch) -> list[tuple[Seen, list[str]]]:
        """Tell the filters before the table knows, so that no moment and no cancelled call leaves them behind it."""
        urls: dict[int, list[str]] = {}
        for page in batch.new:
            if page.kind is LeaseKind.PAGE:
                urls.setdefault(page.source, []).append(page.url)
        asked = [(self._seen.known(source), found) for source, found in urls.items()]
        added = [(seen, found) for seen, found in asked if seen is not None]
        for seen, found in added:
            seen.expect(found)
        return added

    async def counts(self, source: int) -> Counts:
        return await self._run(reading.counts, source)

    async def workload(self, source: int) -> Workload:
        return await self._run(reading.workload, source)

    async def guides(self, source: int) -> list[GuideInfo]:
        return await self._run(reading.guides, source)

    async def roads(self, source: int) -> list[Road]:
        return await self._run(host_tables.roads, source)

    async def patterns(self, source: int, hosts: Sequence[str]) -> list[PatternRecord]:
        return await self._run(host_tables.patterns, source, hosts)

    async def twins(self, source: int, fingerprints: Sequence[Fingerprint]) -> list[list[Twin]]:
        return await self._run(likeness.twins, source, fingerprints)

    async def fingerprints(self, pages: Sequence[int]) -> dict[int, Fingerprint]:
        return await self._run(likeness.fingerprints, pages)

    async def fold_ends(self, source: int, urls: Sequence[str]) -> dict[str, FoldEnd]:
        return await self._run(rounds.fold_ends, source, urls)

    async def begin_round(self, source: int, at: float, due: float | None = None) -> Source:
        return await self._run(rounds.begin_round, source, at, due)

    async def relist(self, source: int, lastmods: Mapping[str, float]) -> list[PendingPage]:
        return await self._run(rounds.relist, source, lastmods)

    async def reopen_folds(self, source: int) -> int:
        return await self._run(rounds.reopen_folds, source)

    async def changes(self, sources: Sequence[int], after: int, since: float, limit: int) -> list[ChangeRecord]:
        return await self._run(changes.changes, sources, after, since, limit)

    async def deliveries(self, sources: Sequence[int], after: int, limit: int) -> list[Delivery]:
        return await self._run(records.deliveries, sources, after, limit)

    async def cursor(self, consumer: str) -> Cursor | None:
        return await self._run(reading.cursor, consumer)

    async def find(self, url: str, source: int | None = None) -> list[PageInfo]:
        return await self._run(records.find, url, source)

    async def pages(self, source: int, state: State | None = None, after: int = 0, limit: int = 100) -> list[PageInfo]:
        """A source's pages with ids beyond `after`, in order of id."""
        return await self._run(records.pages, source, state, after, limit)

    async def reasons(self, source: int) -> dict[str, int]:
        """Why pages of a source were skipped, and how many each time, the most frequent first."""
        return await self._run(reading.reasons, source)

    async def ancestors(self, page: int) -> list[PageInfo]:
        return await self._run(records.ancestors, page)

    async def verify(self) -> list[str]:
        return await self._run(verify)

    async def close(self) -> None:
        """Finish what was asked for, then let go of file and lock. Closing twice is allowed."""
        await asyncio.get_running_loop().run_in_executor(self._thread, self._disconnect)

    def _disconnect(self) -> None:
        db, self._db = self._db, None
        try:
            if db is not None:
                with errors_in_words(self._directory):
                    db.close()
        finally:
            if self._lock is not None:
                self._lock.release()


def _without(urls: Sequence[str], stored: set[str]) -> list[str]:
    return list(dict.fromkeys(url for url in urls if url not in stored))


def _claim(db: apsw.Connection) -> int:
    with transaction(db):
        db.execute("UPDATE pages SET state = 0, token = NULL, deadline = NULL WHERE state = 1")
        return int(db.execute("UPDATE meta SET value = value + 1 WHERE key = 'epoch' RETURNING value").get)


def _reserve(db: apsw.Connection, pages: int) -> int:
    sql = "UPDATE meta SET value = value + ? WHERE key = 'next_page' RETURNING value"
    return int(db.execute(sql, (pages,)).get) - pages


_INSERT_SOURCE = """
INSERT INTO sources (spec, state, granted, created_at, round_began_at) VALUES (?1, 'running', 0, ?2, ?2) RETURNING id
"""


def _add_source(db: apsw.Connection, spec: SourceSpec, created_at: float) -> Source:
    text = msgspec.json.encode(spec).decode()
    with transaction(db):
        number = int(db.execute(_INSERT_SOURCE, (text, created_at)).get)
        db.execute("INSERT INTO tallies (source) VALUES (?)", (number,))
    return Source(id=number, spec=spec, created_at=created_at, round_began_at=created_at)


def _load(db: apsw.Connection, seen: Seen, source: int) -> None:
    if not seen.loaded:
        seen.load(reading.urls(db, source), reading.page_total(db, source))
