"""How a database file is opened, and what its errors mean to a person."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

import apsw

from gossamer.adapters.store_sqlite.migrations import migrate, newest_version, version_of
from gossamer.adapters.store_sqlite.place import DATABASE
from gossamer.ports import StorageError

Durability = Literal["normal", "full"]

APPLICATION = 0x676F7373
"""In the file's header: says that a database is gossamer's."""

_OLDEST_SQLITE = (3, 51, 3)
"""Before this, several connections in WAL mode could damage a file."""

_MEANINGS: list[tuple[type[apsw.Error], str]] = [
    (apsw.FullError, "the disk is full; free some space and start again: nothing that was stored is lost"),
    (apsw.NotADBError, "this is not a database; move it away, or name another data directory"),
    (apsw.CorruptError, "the database is damaged; restore it from a copy, or name another data directory"),
    (apsw.ReadOnlyError, "the database may not be written; check its permissions, or name another data directory"),
    (apsw.CantOpenError, "the database cannot be opened; check the permissions of the file and of its directory"),
    (apsw.BusyError, "another program keeps the database locked; close it and start again"),
    (apsw.IOError, "the disk failed; what the last commit wrote is not certain: check the disk and start again"),
]


def in_words(error: apsw.Error, directory: Path) -> StorageError:
    """An error of SQLite as one line that says what to do."""
    meaning = next((text for kind, text in _MEANINGS if isinstance(error, kind)), "the database refused")
    return StorageError(f"{directory / DATABASE}: {meaning} ({error})")


@contextmanager
def errors_in_words(directory: Path) -> Iterator[None]:
    try:
        yield
    except apsw.Error as error:
        raise in_words(error, directory) from error


def _private(file: Path) -> None:
    """A new store is its owner's alone: what a person asked for may hold a password. SQLite's other files follow it."""
    with suppress(OSError):
        os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def open_to_write(directory: Path, durability: Durability) -> apsw.Connection:
    _private(directory / DATABASE)
    db = apsw.Connection(str(directory / DATABASE), statementcachesize=200)
    try:
        _check(db, directory)
        db.set_busy_timeout(5_000)
        db.pragma("journal_mode", "WAL")
        db.pragma("synchronous", durability.upper())
        db.pragma("wal_autocheckpoint", 8_000)
        db.pragma("journal_size_limit", 64 * 1024 * 1024)
        db.pragma("cache_size", -16_384)
        # A statement of many rows keeps a journal of its own to undo itself; on disk that costs more than the rows.
        db.pragma("temp_store", "MEMORY")
        if version_of(db) == 0:
            db.pragma("application_id", APPLICATION)
        migrate(db)
    except BaseException:
        db.close()
        raise
    return db


def open_to_read(directory: Path) -> apsw.Connection:
    """Open beside a running writer, or after one."""
    file = directory / DATABASE
    if not file.is_file():
        raise _no_store(directory)
    db = apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        _check(db, directory)
        db.set_busy_timeout(5_000)
        _check_current(db, directory)
    except BaseException:
        db.close()
        raise
    return db


def _no_store(directory: Path) -> StorageError:
    return StorageError(f"{directory} has no store; crawl something first, or name another data directory")


def _check_current(db: apsw.Connection, directory: Path) -> None:
    if not _tables(db):
        # Its maker was killed before the first tables were there.
        raise _no_store(directory)
    if version_of(db) < newest_version():
        raise StorageError(
            f"{directory / DATABASE} was written by an older gossamer (version {version_of(db)} of its tables, "
            f"this one reads {newest_version()}); resume a crawl once, which brings it up to date"
        )


def _check(db: apsw.Connection, directory: Path) -> None:
    """Refuse what is not ours or newer than we know, before anything is changed."""
    version = apsw.sqlite_lib_version()
    if tuple(map(int, version.split("."))) < _OLDEST_SQLITE:
        raise StorageError(f"SQLite {version} can damage a store; install apsw 3.54 or later, which brings its own")
    file = directory / DATABASE
    if _tables(db) and db.pragma("application_id") != APPLICATION:
        raise StorageError(f"{file} belongs to another program; name another data directory")
    if version_of(db) > newest_version():
        raise StorageError(
            f"{file} was written by a newer gossamer (version {version_of(db)} of its tables, "
            f"this one knows {newest_version()}); upgrade gossamer, or name another data directory"
        )


def _tables(db: apsw.Connection) -> int:
    return int(db.execute("SELECT count(*) FROM sqlite_schema").get)
