"""The hours of a day in which to crawl."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo

from gossamer.model import Hours

_DAY = 24 * 60


def opens_in(hours: Hours, wall: float) -> float:
    """Seconds until the hours begin; 0.0 while they last."""
    # UTC needs no time zone database, which not every machine has.
    zone = UTC if hours.zone == "UTC" else ZoneInfo(hours.zone)
    moment = wall
    # Minute by minute, by the clock on the wall there: a day may lack an hour, or have one twice.
    while not _open(hours, moment, zone):
        moment = (moment // 60 + 1) * 60
    return moment - wall


def _open(hours: Hours, wall: float, zone: tzinfo) -> bool:
    here = datetime.fromtimestamp(wall, zone)
    since_start = (here.hour * 60 + here.minute - hours.start) % _DAY
    return since_start < ((hours.end - hours.start) % _DAY or _DAY)
