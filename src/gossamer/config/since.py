"""From when on: `2026-11-01`, `2026-11-01T12:30Z`, `2d` ago, or `last`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from gossamer.config.units import read_duration
from gossamer.model import Source

Since = Callable[[Source], float]
"""A moment on the wall clock, for each source."""


def read_since(given: str | datetime | None, now: float) -> Since:
    """Text that a person gave, or a time; None is the beginning. `last` is the beginning of a source's last round."""
    if given == "last":
        return lambda source: source.round_began_at
    moment = _moment(given, now) if given is not None else 0.0
    return lambda source: moment


def _moment(given: str | datetime, now: float) -> float:
    if isinstance(given, str) and "-" not in given:
        return now - _ago(given)
    try:
        time = datetime.fromisoformat(given) if isinstance(given, str) else given
    except ValueError:
        raise ValueError(_not_a_time(given)) from None
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()


def _ago(given: str) -> float:
    try:
        return read_duration(given)
    except ValueError as error:
        raise ValueError(str(error) if str(error).endswith("?") else _not_a_time(given)) from None


def _not_a_time(given: object) -> str:
    return f"{given!r} is not a time, as in 2026-11-01, 2026-11-01T12:30Z, 2d (two days ago) or last"
