"""The place of one worker: there is a child in it, or one on its way."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Sequence

import msgspec

from gossamer.adapters.bus_local import Status, WorkersFailedError
from gossamer.adapters.bus_processes.child import Child, spawn
from gossamer.adapters.bus_processes.watch import Cause, Limits
from gossamer.model import Error, Fault, Lease, Outcome

MAX_STILLBORN = 5
"""Children in a row that ended young and had answered nothing: the next would do no better."""
YOUNG = 10.0

_encoder = msgspec.msgpack.Encoder()
_log = logging.getLogger(__name__)


class Slot:
    def __init__(
        self, number: int, command: Sequence[str], limits: Limits, deliver: Callable[[list[Outcome]], None]
    ) -> None:
        self._number = number
        self._command = command
        self._limits = limits
        self._deliver = deliver
        self._child: Child | None = None
        self._in_flight: set[int] = set()
        self._backlog: list[bytes] = []
        self._restarts = 0
        self._stillborn = 0

    @property
    def load(self) -> tuple[bool, int]:
        """To be compared: who has least gets the next lease, and who does not answer gets it last."""
        return self._child is None or not self._child.responsive, len(self._in_flight)

    def status(self) -> Status:
        pid = f" (pid {self._child.process.pid})" if self._child else ""
        return Status(f"worker {self._number}{pid}", len(self._in_flight), self._restarts)

    def take(self, lease: Lease) -> None:
        self._in_flight.add(lease.token)
        self._backlog.append(_encoder.encode(lease))

    def flush(self) -> None:
        """Hand the child what was taken."""
        if self._child is not None and self._backlog:
            self._child.link.post(self._backlog)
            self._backlog = []

    def look(self, passed: float) -> None:
        if self._child is not None:
            self._child.look(passed)

    async def run(self) -> None:
        """One child after the other, until cancelled, or until there is no hope left."""
        while True:
            last_words = await self._one_life()
            if self._stillborn >= MAX_STILLBORN:
                raise WorkersFailedError(_no_hope(self._command, self._stillborn, last_words))
            self._restarts += 1
            await asyncio.sleep(0.1 * self._stillborn)

    async def _one_life(self) -> str:
        self._stillborn += 1
        try:
            child = self._child = await spawn(self._command, self._limits, self._receive)
        except OSError as error:
            return str(error)
        born = time.monotonic()
        self.flush()
        try:
            cause, blamed = await child.ended()
        finally:
            self._child = None
        if time.monotonic() - born > YOUNG:
            self._stillborn = 0
        _log.warning("worker %d ended: %s", self._number, cause.blame if blamed else cause.returned)
        self._bury(cause, blamed)
        return child.last_words

    def _receive(self, outcomes: Iterable[Outcome]) -> None:
        known = [outcome for outcome in outcomes if outcome.token in self._in_flight]
        self._in_flight.difference_update(outcome.token for outcome in known)
        if known:
            self._stillborn = 0
            self._deliver(known)

    def _bury(self, cause: Cause, blamed: int) -> None:
        """Every lease of a dead child is answered."""
        if blamed in self._in_flight:
            self._receive([_failed(blamed, Fault.WORKER, cause.blame)])
        returned = [_failed(token, Fault.RETURNED, cause.returned) for token in sorted(self._in_flight)]
        self._in_flight.clear()
        self._deliver(returned)


def _failed(token: int, fault: Fault, text: str) -> Outcome:
    return Outcome(token=token, error=Error(fault=fault, text=text))


def _no_hope(command: Sequence[str], times: int, last_words: str) -> str:
    said = f"; it said:\n{last_words}" if last_words else " and said nothing"
    return f"a worker ended {times} times in a row before it had done anything ({' '.join(command)}){said}"
