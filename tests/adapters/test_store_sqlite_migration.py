"""A store of version 1, with pages in every state, brought up to date."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import apsw
import msgspec
import pytest

from gossamer.adapters.store_sqlite import DATABASE, SqliteStore, migrations
from gossamer.adapters.store_sqlite.connection import APPLICATION
from gossamer.adapters.store_sqlite.packing import pack
from gossamer.model import Counts, Cursor, HostRecord, SourceState, State
from gossamer.ports import StorageError
from gossamer.testing.contracts.store_makers import DOCUMENT, HOST, SPEC, pending_urls, waiting

# id, state, rank, url, reason, error, target, status, etag, size, tokens, finished_at, token
PAGES: list[tuple[int | float | str | None, ...]] = [
    (1, 2, 0, "/", None, None, None, 200, '"e"', 9, 700, 50.5, None),
    (2, 0, 1_000, "/pending", None, "timeout: slow", None, None, None, 0, 0, 40.5, None),
    (3, 0, 1_048_576, "/deferred", None, None, None, None, None, 0, 0, None, None),
    (4, 1, 1_001, "/processing", None, None, None, None, None, 0, 0, None, 7),
    (5, 3, 1_002, "/failed", None, "dns: none", None, None, None, 0, 0, 51.5, None),
    (6, 4, 1_003, "/moved", "redirect", None, f"{HOST}/", 301, None, 0, 0, 52.5, None),
    (7, 4, 1_048_577, "/nofollow", "nofollow", None, None, None, None, 0, 0, 53.5, None),
]


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A data directory as version 1 left it."""
    db = apsw.Connection(str(tmp_path / DATABASE))
    db.pragma("application_id", APPLICATION)
    for statement in migrations.statements(migrations.steps()[0].read_text("utf-8")):
        db.execute(statement)
    db.execute(
        "INSERT INTO sources VALUES (1, ?, 'stopped', 'max-pages', 3, 5.0)", (msgspec.json.encode(SPEC).decode(),)
    )
    db.execute("INSERT INTO hosts (id, key, ready_at, wait, delay, failures, answered, blocked, leased) "
               "VALUES (1, ?, 1.5, 2.5, 3.5, 1, 1, 0, 1)", (HOST,))  # fmt: skip
    for number, state, rank, path, *rest in PAGES:
        parent = None if number == 1 else 1
        db.execute(
            "INSERT INTO pages (id, source, host, shard, state, depth, rank, parent, position, hops, attempts, url, "
            "created_at, reason, error, target, status, etag, size, tokens, finished_at, token, deadline) "
            "VALUES (?1, 1, 1, 0, ?2, 1, ?3, ?4, ?1, 0, 1, ?5, 4.5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?14)",
            (number, state, rank, parent, f"{HOST}{path}", *rest),
        )
    db.execute("INSERT INTO documents VALUES (1, ?)", (pack(DOCUMENT),))
    db.execute("INSERT INTO outbox VALUES (1, 1, 5), (2, 1, 1), (3, 1, 7), (4, 1, 6)")
    db.execute("INSERT INTO tallies VALUES (1, 7, 1, 1, 2, 9, 700)")
    db.execute("INSERT INTO cursors VALUES ('file', 2, 99)")
    db.execute("UPDATE meta SET value = 100 WHERE key = 'next_page'")
    db.pragma("user_version", 1)
    db.close()
    return tmp_path


async def test_nothing_of_an_old_store_is_lost(old: Path) -> None:
    store = await SqliteStore.open(old)
    assert await store.verify() == []
    (source,) = await store.sources()
    assert (source.spec, source.state, source.granted) == (SPEC, SourceState.STOPPED, 3)
    assert (source.round, source.round_began_at) == (1, 5.0)
    assert await store.counts(1) == Counts(
        pending=2, processing=1, completed=1, failed=1, skipped=2, bytes=9, tokens=700
    )
    assert [each.record.url for each in await store.deliveries([1], 0, 10)] == [
        f"{HOST}{path}" for path in ("/failed", "/", "/nofollow", "/moved")
    ]
    assert await store.cursor("file") == Cursor(consumer="file", sequence=2, offset=99)
    assert await store.hosts([HOST]) == [
        (HostRecord(key=HOST, ready_at=1.5, wait=2.5, delay=3.5, failures=1, answered=True, leased=1), None)
    ]
    await store.close()


async def test_pages_of_an_old_store_are_what_they_were(old: Path) -> None:
    store = await SqliteStore.open(old)
    await store.claim()
    assert await pending_urls(store, 1) == [f"{HOST}/pending", f"{HOST}/processing"]
    assert [page.url for page in await store.some_deferred(1, 10)] == [f"{HOST}/deferred"]
    assert [page.id for page in await store.deferred(1, [f"{HOST}/deferred"])] == [3]
    (seed,) = await store.find(f"{HOST}/")
    assert (seed.record.title, seed.record.links, seed.created_at) == (DOCUMENT.title, DOCUMENT.links, 4.5)
    (moved,) = await store.find(f"{HOST}/moved")
    assert (moved.target, moved.record.parent, moved.record.position) == (f"{HOST}/", f"{HOST}/", 6)
    assert await store.unseen(1, [f"{HOST}/failed", f"{HOST}/new"]) == [f"{HOST}/new"]
    await store.close()


async def test_all_that_an_old_store_fetched_is_due_at_once(old: Path) -> None:
    store = await SqliteStore.open(old)
    await store.claim()
    await store.begin_round(1, 60.0, due=60.0)
    pages = await waiting(store, 1)
    assert sorted(page.id for page in pages.values()) == [1, 2, 4, 5, 6]
    assert [page.id for page in await store.some_deferred(1, 10)] == [3, 7]
    previous = pages[f"{HOST}/"].previous
    assert previous is not None
    assert (previous.state, previous.etag, previous.since) == (State.COMPLETED, '"e"', 50.5)
    assert (previous.read_at, previous.checked_at) == (50.5, 50.5)
    assert await store.verify() == []
    await store.close()


async def test_a_reader_does_not_bring_an_old_store_up_to_date(old: Path) -> None:
    with pytest.raises(StorageError, match="older gossamer"):
        await SqliteStore.open(old, read_only=True)


OPEN = """
import asyncio, sys
from gossamer.adapters.store_sqlite import SqliteStore
asyncio.run(SqliteStore.open(sys.argv[1]))
"""


def killed_at(statement: int, directory: Path) -> int:
    victim = subprocess.run(
        [sys.executable, "-c", OPEN, str(directory)],
        env={**os.environ, "GOSSAMER_FAILPOINT": f"migration:{statement}"},
        start_new_session=True,
        check=False,
    )
    return victim.returncode


@pytest.mark.parametrize("statement", [1, 8, 10, 20])
async def test_a_process_killed_while_it_brings_a_store_up_to_date_loses_nothing(old: Path, statement: int) -> None:
    assert killed_at(statement, old) == -signal.SIGKILL
    store = await SqliteStore.open(old)
    assert await store.verify() == []
    assert (await store.counts(1)).total == 7
    await store.close()
