"""When a child has to go. Pure: the passing of time is an argument."""

from __future__ import annotations

import signal
from typing import NamedTuple

import msgspec

LOOK_EVERY = 0.25
UNRESPONSIVE = 2.0
"""Seconds without a sign of life after which others are given the work instead."""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What a child may take, before it is killed and replaced."""

    parse_timeout: float = 10.0
    """Seconds for reading one page."""
    hang_timeout: float = 30.0
    """Seconds without a sign of life."""
    memory: int = 1024**3
    """Bytes resident, where the system tells them."""


class Cause(NamedTuple):
    """Why a child ended: as the page that it was reading is told, and as its other leases are told."""

    blame: str
    returned: str

    @classmethod
    def of_worker(cls, what: str) -> Cause:
        return cls(f"the worker {what} while reading this page", f"the worker {what}")


class Watch:
    """Looks at one child again and again.

    It adds up the time between looks, and a look that came very late counts as one that came a little late: when the
    whole family was stopped (Ctrl+Z, a sleeping laptop), the child had no more chance to do anything than the parent.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._token = 0
        self._beat = 0
        self._reading = 0.0
        self._silent = 0.0

    @property
    def responsive(self) -> bool:
        return self._beat > 0 and self._silent < UNRESPONSIVE

    def look(self, passed: float, *, token: int, beat: int, memory: int) -> Cause | None:
        """Why the child must be killed now, if it must."""
        passed = min(passed, 2 * LOOK_EVERY)
        self._reading = self._reading + passed if token and token == self._token else 0.0
        self._silent = self._silent + passed if beat == self._beat else 0.0
        self._token, self._beat = token, beat
        return self._verdict(memory)

    def _verdict(self, memory: int) -> Cause | None:
        limits = self._limits
        if memory > limits.memory:
            return Cause.of_worker(f"used more than {limits.memory // 1024**2} MiB of memory")
        if self._reading > limits.parse_timeout:
            text = f"took longer than {limits.parse_timeout:g} s to read"
            return Cause(text, f"the worker was stopped: another page {text}")
        if not self._token and self._silent > limits.hang_timeout:
            return Cause.of_worker(f"gave no sign of life for {limits.hang_timeout:g} s")
        return None


def died(returncode: int) -> Cause:
    """The cause of a death that nobody ordered."""
    return Cause.of_worker(f"died ({_ending(returncode)})")


def _ending(returncode: int) -> str:
    if returncode >= 0:
        return f"exit code {returncode}"
    try:
        return f"signal {-returncode}, {signal.Signals(-returncode).name}"
    except ValueError:
        return f"signal {-returncode}"
