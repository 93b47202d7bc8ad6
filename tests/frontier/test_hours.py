"""When the hours to crawl in begin, in any time zone, on any day of the year."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.frontier.hours import opens_in
from gossamer.model import Hours

NIGHT = Hours(start=22 * 60, end=6 * 60, zone="Europe/Berlin")
ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe", "Pacific/Apia")

minutes = st.integers(0, 24 * 60 - 1)
all_hours = st.builds(Hours, start=minutes, end=minutes, zone=st.sampled_from(ZONES))
moments = st.floats(1_600_000_000.0, 1_900_000_000.0)


def at(text: str, zone: str = "Europe/Berlin") -> float:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp()


def is_open(hours: Hours, wall: float) -> bool:
    """By definition: the clock there shows a time from the start, before the end."""
    clock = datetime.fromtimestamp(wall, ZoneInfo(hours.zone))
    minute = clock.hour * 60 + clock.minute
    if hours.start < hours.end:
        return hours.start <= minute < hours.end
    return minute >= hours.start or minute < hours.end


@pytest.mark.parametrize(
    ("clock", "hours_left"),
    [
        ("2024-05-01 12:00", 10.0),
        ("2024-05-01 21:59", 1 / 60),
        ("2024-05-01 22:00", 0.0),
        ("2024-05-02 00:00", 0.0),
        ("2024-05-02 05:59", 0.0),
        ("2024-05-02 06:00", 16.0),
    ],
)
def test_a_night_spans_midnight(clock: str, hours_left: float) -> None:
    assert opens_in(NIGHT, at(clock)) == pytest.approx(hours_left * 3600)


def test_the_hours_are_those_of_the_zone() -> None:
    noon_in_utc = datetime(2024, 5, 1, 12, tzinfo=UTC).timestamp()
    assert opens_in(Hours(start=9 * 60, end=17 * 60), noon_in_utc) == 0.0
    assert opens_in(Hours(start=9 * 60, end=17 * 60, zone="America/New_York"), noon_in_utc) == 3600.0


def test_a_day_without_an_hour_is_an_hour_shorter() -> None:
    morning = Hours(start=8 * 60, end=9 * 60, zone="Europe/Berlin")
    assert opens_in(morning, at("2024-03-31 00:00")) == 7 * 3600
    assert opens_in(morning, at("2024-10-27 00:00")) == 9 * 3600


def test_hours_that_begin_when_the_clock_skips_begin_after_the_skip() -> None:
    early = Hours(start=150, end=240, zone="Europe/Berlin")
    assert opens_in(early, at("2024-03-31 01:59")) == 60.0


def test_hours_that_the_clock_skips_altogether_begin_the_next_day() -> None:
    skipped = Hours(start=130, end=170, zone="Europe/Berlin")
    assert opens_in(skipped, at("2024-03-31 01:00")) == at("2024-04-01 02:10") - at("2024-03-31 01:00")


def test_an_hour_that_comes_twice_is_open_twice() -> None:
    twice = Hours(start=150, end=160, zone="Europe/Berlin")
    first = at("2024-10-27 02:45")
    assert datetime.fromtimestamp(first + opens_in(twice, first), ZoneInfo("Europe/Berlin")).fold == 1


@given(minutes, moments)
def test_hours_that_end_when_they_begin_are_the_whole_day(minute: int, wall: float) -> None:
    assert opens_in(Hours(start=minute, end=minute, zone="Europe/Berlin"), wall) == 0.0


@given(all_hours, moments)
def test_they_are_open_at_the_moment_told_and_never_before(hours: Hours, wall: float) -> None:
    left = opens_in(hours, wall)
    opening = wall + left
    assert 0.0 <= left <= timedelta(days=2).total_seconds()
    assert is_open(hours, opening + 1e-3)
    if left > 0:
        earlier = (wall + left * share / 20 for share in range(20))
        assert not any(is_open(hours, moment) for moment in (*earlier, opening - 1e-3))
