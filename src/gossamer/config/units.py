"""Durations and sizes as people write them, and back."""

from __future__ import annotations

import math
import re

DURATIONS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
SIZES = {
    "B": 1,
    "kB": 1000,
    "KiB": 1024,
    "MB": 1000**2,
    "MiB": 1024**2,
    "GB": 1000**3,
    "GiB": 1024**3,
    "TB": 1000**4,
    "TiB": 1024**4,
}

_PART = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([a-zA-Zµ]*)")
_MEANT = {"mil": "ms", "ms": "ms", "m": "m", "h": "h", "d": "d"}
_SIZES_BY_LOWER = {unit.lower(): factor for unit, factor in SIZES.items()}


def read_duration(text: str) -> float:
    """Seconds of `10m`, `1h30m`, `250ms`, `30`."""
    parts = _parts(text)
    if not parts or (len(parts) > 1 and any(not unit for _, unit in parts)):
        raise ValueError(f"{text!r} is not a duration, as in 30, 250ms, 10m or 1h30m")
    return sum(number * _duration_unit(unit, number, text) for number, unit in parts)


def read_size(text: str) -> int:
    """Bytes of `10MiB`, `1GB`, `4096`."""
    parts = _parts(text)
    if len(parts) != 1:
        raise ValueError(f"{text!r} is not a size, as in 4096, 500kB or 10MiB")
    number, unit = parts[0]
    factor = _SIZES_BY_LOWER.get(unit.lower() or "b")
    if factor is None:
        raise ValueError(f"{text!r} has no known unit; did you mean {number:g}{_nearest_size(unit)}?")
    return round(number * factor)


def show_duration(seconds: float) -> str:
    if 0 < seconds < 1:
        return f"{seconds * 1000:g}ms"
    if seconds < 60 or seconds != int(seconds):
        return f"{seconds:g}s"
    shown, rest = "", int(seconds)
    for unit in "dhms":
        count, rest = divmod(rest, int(DURATIONS[unit]))
        shown += f"{count}{unit}" if count else ""
    return shown


def show_size(size: int) -> str:
    exact = [(size // factor, unit) for unit, factor in SIZES.items() if size >= factor and size % factor == 0]
    count, unit = min(exact, default=(size, "B"))
    return f"{count}{unit}"


def _parts(text: str) -> list[tuple[float, str]]:
    parts, end = [], 0
    while end < len(text.rstrip()):
        match = _PART.match(text, end)
        if match is None:
            return []
        parts.append((float(match[1]), match[2]))
        end = match.end()
    return parts


def _duration_unit(unit: str, number: float, text: str) -> float:
    factor = DURATIONS.get(unit.lower() or "s")
    if factor is None:
        meant = next((known for start, known in _MEANT.items() if unit.lower().startswith(start)), "s")
        raise ValueError(f"{text!r} has no known unit; did you mean {number:g}{meant}?")
    return factor


def _nearest_size(unit: str) -> str:
    return next((known for known in ("KiB", "MiB", "GiB", "TiB") if known[0] == unit[0].upper()), "B")


def finite(seconds: float) -> float:
    if not math.isfinite(seconds):
        raise ValueError(f"{seconds} is not a duration")
    return seconds
