"""A time of day to crawl in, as people write it: `22:00-06:00`, `9:00-17:30 Europe/Berlin`."""

from __future__ import annotations

import re
from zoneinfo import ZoneInfo, available_timezones

from gossamer.config.kinds import Kind, nearest
from gossamer.model import Hours

_WRITTEN = re.compile(r"(\d{1,2}):(\d{2})\s*-\s*(\d{1,2}):(\d{2})(?:\s+(\S+))?")
_UTC = "UTC"


def _read(raw: object) -> Hours:
    match = _WRITTEN.fullmatch(str(raw).strip())
    if match is None:
        raise ValueError(f"{raw!r} is not a time of day, as in 22:00-06:00 or 22:00-06:00 Europe/Berlin")
    start, end = _minutes(match[1], match[2]), _minutes(match[3], match[4])
    if start == end:
        raise ValueError(f"{raw!r} begins when it ends; leave it out to crawl at any time")
    return Hours(start, end, _zone(match[5] or _UTC))


def _minutes(hour: str, minute: str) -> int:
    minutes = int(hour) * 60 + int(minute)
    if int(minute) > 59 or minutes > 24 * 60:
        raise ValueError(f"{hour}:{minute} is no time of day")
    return minutes


def _zone(name: str) -> str:
    if name.upper() in (_UTC, "Z"):
        return _UTC
    try:
        return ZoneInfo(name).key
    # Some names that are no zones are directories of the database.
    except (KeyError, ValueError, OSError):
        raise ValueError(_unknown_zone(name)) from None


def _unknown_zone(name: str) -> str:
    zones = sorted(available_timezones())
    if not zones:
        return f"{name} cannot be looked up: this machine has no time zone database; install tzdata, or give UTC"
    return f"{name} is no time zone, as in Europe/Berlin{nearest(name, zones)}"


def _show(value: object) -> str:
    assert isinstance(value, Hours)  # noqa: S101 - what read returned
    written = f"{value.start // 60:02}:{value.start % 60:02}-{value.end // 60:02}:{value.end % 60:02}"
    return written if value.zone == _UTC else f"{written} {value.zone}"


HOURS = Kind(metavar="HH:MM-HH:MM", read=_read, show=_show)
