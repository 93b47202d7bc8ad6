"""A few bytes that a child writes and its parent reads, even when the child can no longer speak."""

from __future__ import annotations

import mmap
import os
import tempfile

_WORDS = 2
_TOKEN, _BEAT = range(_WORDS)
_SIZE = 8 * _WORDS


class Pulse:
    """Shared memory of two machine words. Each is written by one store, so a reader never sees half of it."""

    def __init__(self, fd: int) -> None:
        self._words = memoryview(mmap.mmap(fd, _SIZE)).cast("q")

    @property
    def token(self) -> int:
        """The lease whose page is being read right now, or 0."""
        return self._words[_TOKEN]

    @token.setter
    def token(self, token: int) -> None:
        self._words[_TOKEN] = token

    @property
    def beat(self) -> int:
        return self._words[_BEAT]

    def advance(self) -> None:
        """I am alive."""
        self._words[_BEAT] += 1


def shared_file() -> int:
    """A descriptor to memory that a child can be handed, with no name that could be left behind."""
    fd = os.memfd_create("gossamer-pulse") if hasattr(os, "memfd_create") else _unnamed_file()
    os.ftruncate(fd, _SIZE)
    return fd


def _unnamed_file() -> int:
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())
