from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import apsw
import pytest

from gossamer.adapters.store_sqlite import DATABASE, SqliteStore, migrations, wipe
from gossamer.adapters.store_sqlite.connection import in_words
from gossamer.model import Batch, Counts
from gossamer.ports import StorageError
from gossamer.testing.contracts.store_makers import HOST, SPEC, new_page, new_pages, settled

ADVICE = [
    (apsw.FullError, "free some space"),
    (apsw.ReadOnlyError, "check its permissions"),
    (apsw.CantOpenError, "check the permissions"),
    (apsw.BusyError, "close it and start again"),
    (apsw.IOError, "check the disk"),
    (apsw.CorruptError, "restore it from a copy"),
    (apsw.NotADBError, "move it away"),
]


def names(directory: Path) -> list[str]:
    return [file.name for file in directory.iterdir()]


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    store = await SqliteStore.open(tmp_path)
    yield store
    await store.close()


def child(program: str, *args: str | Path, **environment: str) -> subprocess.Popen[str]:
    """A Python process of its own group, which says a line when it is ready."""
    return subprocess.Popen(
        [sys.executable, "-c", program, *map(str, args)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
        start_new_session=True,
    )


def change(directory: Path, sql: str) -> None:
    db = apsw.Connection(str(directory / DATABASE))
    db.execute(sql)
    db.close()


# The lock


async def test_a_second_writer_is_told_which_process_is_in_the_way(store: SqliteStore, tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=rf"in use by process {os.getpid()}; .*name another data directory"):
        await SqliteStore.open(tmp_path)
    assert await store.sources() == []


async def test_a_directory_is_free_again_after_closing(tmp_path: Path) -> None:
    for _ in range(2):
        store = await SqliteStore.open(tmp_path)
        await store.close()


HOLD = """
import asyncio, sys, time
from gossamer.adapters.store_sqlite import SqliteStore
async def main():
    store = await SqliteStore.open(sys.argv[1])
    print("ready", flush=True)
    time.sleep(600)
asyncio.run(main())
"""


async def test_the_lock_names_another_process_and_dies_with_it(tmp_path: Path) -> None:
    holder = child(HOLD, tmp_path)
    assert holder.stdout is not None
    with holder:
        assert holder.stdout.readline() == "ready\n"
        with pytest.raises(StorageError, match=rf"in use by process {holder.pid};"):
            await SqliteStore.open(tmp_path)
        with pytest.raises(StorageError, match=rf"in use by process {holder.pid};"):
            wipe(tmp_path)
        holder.kill()
    store = await SqliteStore.open(tmp_path)
    await store.close()


FORK = """
import asyncio, os, sys, time
from gossamer.adapters.store_sqlite import SqliteStore
async def main():
    store = await SqliteStore.open(sys.argv[1])
    if os.fork() == 0:
        print("ready", flush=True)
        time.sleep(600)
    os.waitpid(-1, 0)
asyncio.run(main())
"""


async def test_a_forked_child_does_not_keep_the_lock_of_its_dead_parent(tmp_path: Path) -> None:
    holder = child(FORK, tmp_path)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "ready\n"
    holder.kill()
    holder.wait()
    try:
        store = await SqliteStore.open(tmp_path)
        await store.close()
    finally:
        os.killpg(holder.pid, signal.SIGKILL)
        holder.stdout.close()


async def test_a_failed_opening_leaves_no_lock(tmp_path: Path) -> None:
    (tmp_path / DATABASE).write_bytes(b"not a database at all, but long enough to look at" * 100)
    for _ in range(2):
        with pytest.raises(StorageError, match="not a database"):
            await SqliteStore.open(tmp_path)


# Reading beside a writer


async def test_a_reader_sees_what_a_running_writer_commits(store: SqliteStore, tmp_path: Path) -> None:
    source = (await store.add_source(SPEC, 1.0)).id
    reader = await SqliteStore.open(tmp_path, read_only=True)
    assert await reader.unseen(source, [f"{HOST}/a"]) == [f"{HOST}/a"]
    (page,) = await new_pages(store, source, "/a")
    assert await reader.counts(source) == Counts(pending=1)
    assert await reader.unseen(source, [f"{HOST}/a"]) == []
    await store.commit(Batch(settled=[settled(page)]))
    assert [delivery.record.url for delivery in await reader.deliveries([source], 0, 10)] == [page.url]
    assert await reader.verify() == []
    await reader.close()


async def test_a_reader_cannot_write(store: SqliteStore, tmp_path: Path) -> None:
    reader = await SqliteStore.open(tmp_path, read_only=True)
    with pytest.raises(StorageError, match="may not be written"):
        await reader.add_source(SPEC, 1.0)
    await reader.close()


async def test_a_reader_opens_a_store_that_nobody_writes(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path)
    source = await store.add_source(SPEC, 1.0)
    await store.close()
    reader = await SqliteStore.open(tmp_path, read_only=True)
    assert await reader.sources() == [source]
    await reader.close()


async def test_a_reader_says_when_there_is_no_store_and_makes_none(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="has no store"):
        await SqliteStore.open(tmp_path / "nothing", read_only=True)
    with pytest.raises(StorageError, match="has no store"):
        await SqliteStore.open(tmp_path, read_only=True)
    assert names(tmp_path) == []


# Files that are not as they should be


async def test_a_newer_schema_is_refused_and_left_alone(tmp_path: Path) -> None:
    await (await SqliteStore.open(tmp_path)).close()
    change(tmp_path, f"PRAGMA user_version = {migrations.newest_version() + 1}")
    before = (tmp_path / DATABASE).read_bytes()
    for read_only in (False, True):
        with pytest.raises(StorageError, match=r"newer gossamer .*; upgrade gossamer"):
            await SqliteStore.open(tmp_path, read_only=read_only)
    assert (tmp_path / DATABASE).read_bytes() == before


async def test_a_reader_refuses_an_older_schema_and_says_how_to_renew_it(tmp_path: Path) -> None:
    await (await SqliteStore.open(tmp_path)).close()
    change(tmp_path, "PRAGMA user_version = 0")
    with pytest.raises(StorageError, match=r"older gossamer .*; resume a crawl"):
        await SqliteStore.open(tmp_path, read_only=True)


async def test_a_file_that_is_no_database_is_left_alone(tmp_path: Path) -> None:
    garbage = b"something that somebody wants to keep\n" * 500
    (tmp_path / DATABASE).write_bytes(garbage)
    for read_only in (False, True):
        with pytest.raises(StorageError, match="not a database; move it away"):
            await SqliteStore.open(tmp_path, read_only=read_only)
    assert (tmp_path / DATABASE).read_bytes() == garbage


async def test_a_database_of_another_program_is_left_alone(tmp_path: Path) -> None:
    change(tmp_path, "CREATE TABLE theirs (x)")
    before = (tmp_path / DATABASE).read_bytes()
    with pytest.raises(StorageError, match="belongs to another program"):
        await SqliteStore.open(tmp_path)
    assert (tmp_path / DATABASE).read_bytes() == before


async def test_a_damaged_database_is_named_as_such_and_nothing_goes_on(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path)
    source = (await store.add_source(SPEC, 1.0)).id
    await new_pages(store, source, *(f"/{n}" for n in range(2_000)))
    await store.close()
    with (tmp_path / DATABASE).open("r+b") as file:
        file.seek(40 * 4_096)
        file.write(b"\xff" * 40 * 4_096)
    store = await SqliteStore.open(tmp_path)
    assert (await store.verify())[0].startswith("The file is damaged")
    for _ in range(2):
        with pytest.raises(StorageError, match="damaged; restore it from a copy"):
            await store.pages(source, limit=3_000)
    await store.close()


async def test_a_path_that_cannot_be_a_directory_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(StorageError, match=r"cannot write to .*; make it a directory") as caught:
            await SqliteStore.open(path)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("kind", "advice"), ADVICE)
def test_every_error_of_sqlite_says_what_to_do(kind: type[apsw.Error], advice: str, tmp_path: Path) -> None:
    text = str(in_words(kind("the words of SQLite"), tmp_path))
    assert str(tmp_path / DATABASE) in text
    assert advice in text
    assert "the words of SQLite" in text


async def test_an_sqlite_that_can_damage_files_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apsw, "sqlite_lib_version", lambda: "3.51.2")
    with pytest.raises(StorageError, match=r"SQLite 3\.51\.2 can damage a store; install apsw"):
        await SqliteStore.open(tmp_path)


# Trouble while running


async def test_a_full_disk_loses_nothing_and_the_store_goes_on_when_there_is_room(
    store: SqliteStore, tmp_path: Path
) -> None:
    source = (await store.add_source(SPEC, 1.0)).id
    (page,) = await new_pages(store, source, "/kept")
    limit = await store._run(lambda db: int(db.pragma("max_page_count", int(db.pragma("page_count")) + 2)))
    first = await store.reserve(1_000)
    assert await store.unseen(source, [f"{HOST}/0"]) == [f"{HOST}/0"]
    many = Batch(new=[new_page(first + n, source, f"{HOST}/{n}") for n in range(1_000)], settled=[settled(page)])
    with pytest.raises(StorageError, match="disk is full; free some space"):
        await store.commit(many)
    assert await store.counts(source) == Counts(pending=1)
    assert await store.unseen(source, [f"{HOST}/0", page.url]) == [f"{HOST}/0"]
    await store._run(lambda db: db.pragma("max_page_count", limit + 10_000))
    await store.commit(many)
    assert await store.counts(source) == Counts(pending=1_000, completed=1)
    assert await store.verify() == []


async def test_after_a_failing_disk_nothing_goes_on(store: SqliteStore) -> None:
    def failing(db: apsw.Connection) -> None:
        raise apsw.IOError("fsync failed")

    with pytest.raises(StorageError, match="the disk failed"):
        await store._run(failing)
    with pytest.raises(StorageError, match="the disk failed"):
        await store.sources()


async def test_a_cancelled_commit_is_either_stored_and_seen_or_neither(store: SqliteStore) -> None:
    source = (await store.add_source(SPEC, 1.0)).id
    assert await store.unseen(source, [f"{HOST}/a"]) == [f"{HOST}/a"]
    page = new_page(await store.reserve(1), source, f"{HOST}/a")
    commit = asyncio.create_task(store.commit(Batch(new=[page])))
    await asyncio.sleep(0)
    commit.cancel()
    await asyncio.gather(commit, return_exceptions=True)
    stored = (await store.counts(source)).total == 1
    assert (await store.unseen(source, [page.url]) == []) == stored


COMMITTING = """
import asyncio, sys
from gossamer.adapters.store_sqlite import SqliteStore
from gossamer.model import Batch
from gossamer.testing.contracts.store_makers import DOCUMENT, SPEC, leased, new_page, new_pages, settled
async def main():
    store = await SqliteStore.open(sys.argv[1])
    source = (await store.add_source(SPEC, 1.0)).id
    pages = await new_pages(store, source, *(f"/{n}" for n in range(100)))
    for round in range(10_000):
        await store.commit(Batch(leased=[leased(page, token=page.id) for page in pages]))
        first = await store.reserve(100)
        new = [new_page(first + n, source, f"https://a.test/{round}/{n}", parent=pages[n].id) for n in range(100)]
        await store.commit(Batch(settled=[settled(page, document=DOCUMENT) for page in pages], new=new))
        print(round, flush=True)
        pages = new
asyncio.run(main())
"""


@pytest.mark.parametrize("rounds", [1, 3, 7])
async def test_a_writer_killed_between_or_in_commits_leaves_a_whole_store(tmp_path: Path, rounds: int) -> None:
    writer = child(COMMITTING, tmp_path)
    assert writer.stdout is not None
    with writer:
        last = -1
        for _ in range(rounds):
            last = int(writer.stdout.readline())
        writer.kill()
        last = max([last, *(int(line) for line in writer.stdout.read().splitlines())])
    store = await SqliteStore.open(tmp_path)
    await store.claim()
    assert await store.verify() == []
    (source,) = await store.sources()
    counts = await store.counts(source.id)
    assert counts.completed in ((last + 1) * 100, (last + 2) * 100)
    assert (counts.pending, counts.processing) == (100, 0)
    assert len(await store.deliveries([source.id], 0, 10_000_000)) == counts.completed
    await store.close()


# Durability


@pytest.mark.parametrize(("durability", "level"), [("normal", 1), ("full", 2)])
async def test_durability_sets_how_hard_sqlite_tries(tmp_path: Path, durability: str, level: int) -> None:
    store = await SqliteStore.open(tmp_path, durability="full" if durability == "full" else "normal")
    assert await store._run(lambda db: (db.pragma("journal_mode"), db.pragma("synchronous"))) == ("wal", level)
    await store.close()


# Migrations


def test_the_migrations_add_up_to_the_schema() -> None:
    written = (Path(migrations.__file__).parent / "schema.sql").read_text("utf-8")
    assert migrations.fresh_schema() == written


def test_migrations_are_numbered_without_a_gap_and_say_what_they_are_for() -> None:
    steps = migrations.steps()
    assert [step.name[:5] for step in steps] == [f"{number:04}_" for number in range(1, len(steps) + 1)]
    assert all(step.read_text("utf-8").startswith("-- ") for step in steps)


@pytest.mark.parametrize("statement", [1, 6, 12, 24])
async def test_a_process_killed_in_a_migration_leaves_a_store_that_opens(tmp_path: Path, statement: int) -> None:
    victim = child(HOLD, tmp_path, GOSSAMER_FAILPOINT=f"migration:{statement}")
    victim.communicate()
    assert victim.returncode == -signal.SIGKILL
    store = await SqliteStore.open(tmp_path)
    assert await store.verify() == []
    assert (await store.add_source(SPEC, 1.0)).id == 1
    await store.close()


def modes(folder: Path) -> set[str]:
    return {oct(file.stat().st_mode & 0o777) for file in folder.glob("gossamer.db*")}


async def test_a_new_store_is_for_its_owner_alone(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path)
    seen = modes(tmp_path)
    await store.close()
    assert seen == {"0o600"}
