"""The files of a store, and the lock that keeps it to one writer."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from gossamer.ports import StorageError

DATABASE = "gossamer.db"
LOCK = "gossamer.lock"
_OWN_FILES = (DATABASE, f"{DATABASE}-wal", f"{DATABASE}-shm", f"{DATABASE}-journal", LOCK)

_held: set[int] = set()


class InUseError(StorageError):
    """Somebody has the data directory open."""

    def __init__(self, directory: Path, owner: str) -> None:
        super().__init__(
            f"{directory} is in use by process {owner or 'unknown'}; "
            "wait for it or stop it, or name another data directory"
        )
        # Who has only just come has not signed yet, and may be this process too.
        self.by_us = owner in ("", str(os.getpid()))


class Lock:
    """Held by one process for as long as it lives. The file stays behind, with the last owner's process id."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    @classmethod
    def take(cls, directory: Path) -> Lock:
        descriptor = os.open(directory / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = os.pread(descriptor, 32, 0).decode("ascii", "replace").strip()
            os.close(descriptor)
            raise InUseError(directory, owner) from None
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        _held.add(descriptor)
        return cls(descriptor)

    def release(self) -> None:
        if self._descriptor in _held:
            _held.discard(self._descriptor)
            os.close(self._descriptor)


def _forget_in_child() -> None:
    # A forked child shares the lock of its parent, and would keep it after the parent's death.
    for descriptor in _held:
        os.close(descriptor)
    _held.clear()


os.register_at_fork(after_in_child=_forget_in_child)


def lock_directory(directory: Path) -> Lock:
    """The lock of a data directory, which is made if need be."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        return Lock.take(directory)
    except OSError as error:
        raise StorageError(
            f"cannot write to {directory}: {error.strerror}; "
            "make it a directory that you may write to, or name another data directory"
        ) from error


def wipe(path: str | Path) -> list[Path]:
    """Remove a store: gossamer's own files in the directory, nothing else. Refuses while a process uses it."""
    directory = Path(path)
    if not any((directory / name).exists() for name in _OWN_FILES):
        return []
    lock = lock_directory(directory)
    try:
        there = [directory / name for name in _OWN_FILES if (directory / name).exists()]
        for file in there:
            file.unlink()
    except OSError as error:
        raise StorageError(f"cannot remove {error.filename}: {error.strerror}; check its permissions") from error
    finally:
        lock.release()
    return there
