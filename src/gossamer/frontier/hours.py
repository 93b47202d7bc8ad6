"""The hours of a day in which to crawl."""

from __future__ import annotations

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from gossamer.model import Hours

_DAY = 24 * 60


def opens_in(hours: Hours, wall: float) -> float:
    """Seconds until the hours begin; 0.0 while they last."""
    here = datetime.fromtimestamp(wall, ZoneInfo(hours.zone))
    minute = here.hour * 60 + here.minute
    since_start = (minute - hours.start) % _DAY
    if since_start < ((hours.end - hours.start) % _DAY or _DAY):
        return 0.0
    start = here.replace(hour=hours.start // 60, minute=hours.start % 60, second=0, microsecond=0)
    if start <= here:
        start += timedelta(days=1)
    return max(start.timestamp() - wall, 0.0)
