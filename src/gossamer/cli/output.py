"""Where results go: a file or stdout, and a word on stderr while that takes time."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from rich.console import Console
from rich.live import Live
from rich.text import Text

from gossamer.ports import StorageError


@contextmanager
def target(out: Path | None) -> Iterator[BinaryIO]:
    """A file that takes its name when it is whole, or stdout."""
    if out is None:
        yield sys.stdout.buffer
        return
    partial = out.with_name(f"{out.name}.partial")
    try:
        with partial.open("wb") as file:
            yield file
        partial.replace(out)
    except OSError as error:
        raise StorageError(f"{out}: cannot be written: {error.strerror}") from error
    finally:
        partial.unlink(missing_ok=True)


class LateProgress:
    """A line on the terminal that shows only where work takes longer than a second."""

    def __init__(self, *, wanted: bool = True) -> None:
        console = Console(stderr=True, highlight=False)
        self._live = Live(console=console, transient=True, auto_refresh=False)
        self._wanted = wanted and console.is_terminal
        self._due = time.monotonic() + 1.0

    def show(self, line: str) -> None:
        if self._wanted and time.monotonic() >= self._due:
            self._due = time.monotonic() + 0.1
            self._live.start()
            self._live.update(Text(line), refresh=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()
