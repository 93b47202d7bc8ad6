"""One child process, as its parent sees it."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from gossamer.adapters.bus_processes.link import Link
from gossamer.adapters.bus_processes.pulse import Pulse, shared_file
from gossamer.adapters.bus_processes.watch import Cause, Limits, Watch, died
from gossamer.model import Outcome

GRACE = 1.0
"""Seconds between the end of a child's socket and the end of the child, or the other way round."""
_STDERR_BYTES = 4096
_PAGE = os.sysconf("SC_PAGE_SIZE")

_decoder = msgspec.msgpack.Decoder(list[Outcome])


class Child:
    def __init__(self, process: Process, link: Link[Outcome], pulse: Pulse, limits: Limits) -> None:
        self.process = process
        self.link = link
        self._pulse = pulse
        self._watch = Watch(limits)
        self._sentence: tuple[Cause, int] | None = None
        self._last_words = b""

    @property
    def responsive(self) -> bool:
        return self._watch.responsive

    @property
    def last_words(self) -> str:
        """The end of what the child wrote to stderr."""
        return self._last_words.decode(errors="replace").strip()

    def look(self, passed: float) -> None:
        """Kill it if it must go."""
        token, beat = self._pulse.token, self._pulse.beat
        cause = self._watch.look(passed, token=token, beat=beat, memory=_resident(self.process.pid))
        if cause is not None and self._sentence is None:
            self._sentence = (cause, token)
            self.kill()

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            self.process.kill()

    async def ended(self) -> tuple[Cause, int]:
        """Wait for the end, and for all that was said before. Returns the cause, and the lease to blame or 0.

        Whoever stops waiting ends the child.
        """
        exited, listening = asyncio.create_task(self._exited()), asyncio.create_task(self._listen())
        try:
            await asyncio.wait({exited, self.link.lost}, return_when=asyncio.FIRST_COMPLETED)
            await asyncio.wait({exited, self.link.lost, listening}, timeout=GRACE)
        finally:
            self.kill()
            self.link.abort()
            await asyncio.wait({exited, self.link.lost, listening}, timeout=GRACE)
            listening.cancel()
        return self._autopsy()

    async def _exited(self) -> None:
        await self.process.wait()

    def _autopsy(self) -> tuple[Cause, int]:
        token = self._pulse.token
        if self._sentence is None:
            return died(self.process.returncode or 0), token
        cause, suspect = self._sentence
        # It may have turned to another page in its last moment: that one is innocent.
        return cause, token if token == suspect else 0

    async def _listen(self) -> None:
        assert self.process.stderr is not None  # noqa: S101 (for mypy: it is a pipe)
        while words := await self.process.stderr.read(_STDERR_BYTES):
            self._last_words = (self._last_words + words)[-_STDERR_BYTES:]


async def spawn(command: Sequence[str], limits: Limits, on_batch: Callable[[list[Outcome]], None]) -> Child:
    """Start a child; the descriptors of its socket and its pulse are added to the command."""
    ours, theirs = socket.socketpair()
    shared = shared_file()
    _, link = await asyncio.get_running_loop().create_unix_connection(lambda: Link(_decoder, on_batch), sock=ours)
    try:
        process = await _execute(command, theirs.fileno(), shared)
        return Child(process, link, Pulse(shared), limits)
    except BaseException:
        link.abort()
        raise
    finally:
        theirs.close()
        os.close(shared)


async def _execute(command: Sequence[str], *descriptors: int) -> Process:
    arguments = [*command, *map(str, descriptors)]
    with _signals_held():
        return await asyncio.create_subprocess_exec(
            *arguments, stdin=DEVNULL, stdout=DEVNULL, stderr=PIPE, pass_fds=descriptors
        )


@contextmanager
def _signals_held() -> Iterator[None]:
    """A child is born with the mask of its parent, so a Ctrl+C cannot hit it before it has learnt to ignore it."""
    held = {signal.SIGINT, signal.SIGTERM}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, held)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, held - before)


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE
    except (OSError, IndexError):
        return 0
