"""Dates as sitemaps and feeds write them."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

_LONGEST = 64
_REST_OF_DATE = {len("2026"): "-01-01", len("2026-01"): "-01"}


def moment(text: str | None) -> float | None:
    """Seconds since 1970 of a W3C datetime of any precision, or of a date as in mail; None where it is neither.

    What is not said counts as the earliest: 2026 is its first second. Without a zone it is UTC. Dates before 1970 are
    what programs write that know of none.
    """
    text = (text or "").strip()
    if not text or len(text) > _LONGEST:
        return None
    try:
        return _seconds(datetime.fromisoformat(text + _REST_OF_DATE.get(len(text), "")))
    except (ValueError, OverflowError):
        return _mail_date(text)


def _mail_date(text: str) -> float | None:
    try:
        return _seconds(parsedate_to_datetime(text))
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def _seconds(date: datetime) -> float | None:
    seconds = (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
    return seconds if seconds >= 0 else None
