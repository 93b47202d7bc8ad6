"""A crawl from the command line in a process group of its own, there to be killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol

import msgspec

from gossamer.model import ChangeEntry, Summary
from gossamer.testing.web import Log, Request

PATIENCE = 120.0


class Server(Protocol):
    """Whatever can be crawled and remembers it."""

    log: Log

    @property
    def seeds(self) -> Sequence[str]: ...

    def requests(self) -> list[Request]: ...


class Life:
    """One process with its children, from its start to its end."""

    def __init__(self, process: subprocess.Popen[bytes], server: Server, folder: Path) -> None:
        self.began = time.monotonic()
        self._process = process
        self._server = server
        self._before = len(server.log)
        self._folder = folder

    def wait(self) -> int:
        """Until it ends by itself, or by its failpoint."""
        return self._process.wait(PATIENCE)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def over(self) -> bool:
        return self._process.poll() is not None

    def kill(self) -> int:
        """All of it, at once."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        return self.wait()

    def kill_parent(self) -> int:
        self._process.kill()
        return self.wait()

    def signal(self, number: signal.Signals, *, to_all: bool = False) -> None:
        """`to_all` is what Ctrl+C on a terminal does."""
        with suppress(ProcessLookupError):
            (os.killpg if to_all else os.kill)(self._process.pid, number)

    def children(self) -> list[int]:
        return [
            int(stat.parent.name) for stat in Path("/proc").glob("[0-9]*/stat") if _parent(stat) == self._process.pid
        ]

    def wait_for_requests(self, count: int) -> bool:
        """Until the server has answered so many of them. False if it ended before."""
        while len(self._server.log) < self._before + count:
            if self.over:
                return False
            time.sleep(0.002)
        return True

    def wait_for_time(self, seconds: float) -> None:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)

    @property
    def first_request(self) -> float | None:
        """Seconds until the server heard of it."""
        return next((each.started - self.began for each in self._server.requests() if each.started > self.began), None)

    @property
    def summary(self) -> Summary:
        return msgspec.json.decode((self._folder / "stdout").read_bytes(), type=Summary)

    @property
    def stderr(self) -> str:
        return (self._folder / "stderr").read_text()


class Crawler:
    """The same crawl, in one life after the other.

    `flags` are for its first life and kept in the store; `rules` are what the store does not keep.
    """

    def __init__(
        self, server: Server, folder: Path, *flags: str, processes: int = 2, rules: Sequence[str] = ()
    ) -> None:
        self.server = server
        self.data = folder / "data"
        self.out = folder / "pages.jsonl"
        self._folder = folder
        self._flags = ("--allow-private", "127.0.0.0/8", *flags)
        self._every_life = ("--data", str(self.data), "--json", "--processes", str(processes), *rules)

    @contextmanager
    def crawl(self, *flags: str, failpoint: str = "") -> Iterator[Life]:
        command = ("crawl", *self.server.seeds, "--out", str(self.out), *self._flags, *flags)
        with self._running(command, failpoint) as life:
            yield life

    @contextmanager
    def resume(self, *flags: str, failpoint: str = "") -> Iterator[Life]:
        with self._running(("resume", *flags), failpoint) as life:
            yield life

    @contextmanager
    def recrawl(self, *flags: str, failpoint: str = "") -> Iterator[Life]:
        with self._running(("recrawl", *flags), failpoint) as life:
            yield life

    def changes(self) -> list[ChangeEntry]:
        """The whole feed, as the command line tells it."""
        return [msgspec.json.decode(line, type=ChangeEntry) for line in self._told("changes").stdout.splitlines()]

    def verify(self) -> tuple[int, str]:
        """What the command line says of the store."""
        done = self._told("verify")
        return done.returncode, done.stdout + done.stderr

    def _told(self, command: str) -> subprocess.CompletedProcess[str]:
        words = [sys.executable, "-m", "gossamer.cli", command, "--data", str(self.data)]
        return subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE)

    @contextmanager
    def _running(self, command: tuple[str, ...], failpoint: str) -> Iterator[Life]:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("GOSSAMER_")}
        if failpoint:
            environment["GOSSAMER_FAILPOINT"] = failpoint
        words = [sys.executable, "-m", "gossamer.cli", *command, *self._every_life]
        folder = self._folder / f"{time.monotonic_ns()}-{command[0]}"
        folder.mkdir()
        with (
            (folder / "stdout").open("wb") as out,
            (folder / "stderr").open("wb") as err,
            subprocess.Popen(
                words, cwd=folder, env=environment, stdout=out, stderr=err, start_new_session=True
            ) as process,
        ):
            life = Life(process, self.server, folder)
            try:
                yield life
            finally:
                life.kill()


def _parent(stat: Path) -> int | None:
    try:
        # After the name, which is in brackets and may hold anything: state and parent.
        return int(stat.read_text().rpartition(")")[2].split()[1])
    except OSError:
        return None
