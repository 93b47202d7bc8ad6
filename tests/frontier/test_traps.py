"""URLs that give a trap away by their looks, and many more that only look like it."""

from __future__ import annotations

from datetime import UTC, datetime
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.frontier.traps import TrapJudge
from gossamer.model import Traps, Why

NOW = datetime(2026, 11, 16, tzinfo=UTC).timestamp()
SITE = "https://example.com"
DEFAULT = Traps()


def refusal(path: str, limits: Traps = DEFAULT) -> str | None:
    found = TrapJudge(limits).refusal(SITE + path, NOW)
    if found is None:
        return None
    assert found[0] is Why.TRAP
    return found[1]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/a/a/a/", 'repeats the segment "a" 3 times in a row (limit 3)'),
        ("/x/a/a/a/a/b", 'repeats the segment "a" 4 times in a row (limit 3)'),
        ("/x/y/x/y/x/y", 'repeats the segments "x/y" 3 times in a row (limit 3)'),
        ("/en/a/b/c/a/b/c/a/b/c.html/a/b/c/a/b/c/a/b/c/d", 'repeats the segments "a/b/c" 3 times in a row (limit 3)'),
        ("/a/b/c/d/a/b/c/d/a/b/c/d", 'repeats the segments "a/b/c/d" 3 times in a row (limit 3)'),
        ("/page/1/page/1/page/1", 'repeats the segments "page/1" 3 times in a row (limit 3)'),
        ("/a////b", 'repeats the segment "" 3 times in a row (limit 3)'),
        ("/" + "/".join(map(str, range(33))), "has 33 path segments (limit 32)"),
    ],
)
def test_paths_that_repeat_themselves_or_never_end_are_refused(path: str, text: str) -> None:
    assert refusal(path) == text


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("&".join(f"p{n}=1" for n in range(17)), "has 17 parameters (limit 16)"),
        ("a=1&b=2&a=1&a=1", 'repeats the parameter "a=1" 3 times (limit 3)'),
        ("f=1&f=2&f=3&f=4&f=5", 'has the parameter "f" 5 times (limit 4)'),
        ("p=1&amp;p=2&amp;amp;p=3&amp;amp;amp;p=4&p=5", 'has the parameter "p" 5 times (limit 4)'),
        ("next=/login?next=/in?next=/out?next=/up?next=/down", 'has the parameter "next" 5 times (limit 4)'),
        ("next=%2Flogin%3Fnext%3D%252Flogin%253Fnext%253D%25252F", "is percent-encoded 3 times over (limit 2)"),
        ("filter=red,blue,red,blue,red,blue", 'repeats the values "red/blue" 3 times in a row (limit 3)'),
        ("path=%2Fimg%2Fimg%2Fimg", 'repeats the value "img" 3 times in a row (limit 3)'),
    ],
)
def test_queries_that_grow_are_refused(query: str, text: str) -> None:
    assert refusal(f"/list?{query}") == text


@pytest.mark.parametrize(
    ("path", "date"),
    [
        ("/2031/04/", "2031-04"),
        ("/2031/04", "2031-04"),
        ("/calendar/2031/4/", "2031-04"),
        ("/calendar/month/9999/12", "9999-12"),
        ("/2031/04/17/slug", "2031-04-17"),
        ("/events/2031-04-17", "2031-04-17"),
        ("/events/2031-04-17-summer-party.html", "2031-04-17"),
        ("/2031-04", "2031-04"),
        ("/calendar/20310417", "2031-04-17"),
        ("/list?date=2031-04", "2031-04"),
        ("/list?eventDate=2031-4-7T10:00", "2031-04-07"),
        ("/list?tribe-bar-date=2031-04-17&view=day", "2031-04-17"),
        ("/list?start=20310417", "2031-04-17"),
        ("/list?on=2031-04-17", "2031-04-17"),
        ("/list?date=2031%2F04%2F17", "2031-04-17"),
        ("/list?year=2031&month=4", "2031-04"),
        ("/list?cal_m=4&x=1&cal_y=2031", "2031-04"),
        ("/2020/01/02/from/2031/04", "2031-04"),
    ],
)
def test_dates_too_far_ahead_are_refused(path: str, date: str) -> None:
    assert refusal(path) == f"names the date {date}, further ahead than 400 days"


@pytest.mark.parametrize(
    ("path", "date"),
    [
        ("/calendar/1799/12/", "1799-12"),
        ("/calendar/1799-12-31", "1799-12-31"),
        ("/calendar/0512/1", "0512-01"),
        ("/list?date=1730-01", "1730-01"),
    ],
)
def test_dates_before_there_were_any_are_refused(path: str, date: str) -> None:
    assert refusal(path) == f"names the date {date}, before 1800"


def test_how_far_ahead_is_a_setting_and_today_is_an_argument() -> None:
    soon = "/events/2027-01-10"
    assert refusal(soon) is None
    assert refusal(soon, Traps(max_future=30 * 86_400.0)) == "names the date 2027-01-10, further ahead than 30 days"
    assert refusal("/events/9999-12-31", Traps(max_future=inf)) is None
    assert TrapJudge(Traps()).refusal(f"{SITE}/2031/04/", datetime(2030, 6, 1, tzinfo=UTC).timestamp()) is None


def test_the_other_limits_are_settings_too() -> None:
    assert refusal("/a/a/a/", Traps(max_repeats=4)) is None
    assert refusal("/a/a/", Traps(max_repeats=2)) == 'repeats the segment "a" 2 times in a row (limit 2)'
    assert refusal("/a/b/c", Traps(max_segments=2)) == "has 3 path segments (limit 2)"
    assert refusal("/?a=1&b=2", Traps(max_parameters=1)) == "has 2 parameters (limit 1)"
    assert refusal("/" + "a/" * 10, Traps(max_repeats=0)) is None


def test_what_is_quoted_is_cut_short() -> None:
    text = refusal(f"/{'/'.join(['a' * 100] * 3)}")
    assert text is not None
    assert len(text) < 120


REAL = [
    "/",
    "/a/a/",
    "/en/docs/en/",
    "/docs/1.0/api/2.0/",
    "/docs/1.0.0/1.0.0/1.0.0",
    "/en/latest/",
    "/v2.0.31/notes",
    "/2011/11/11/",
    "/2011/11/11/11/",
    "/1970/01/01/first-issue",
    "/1923/04/05/front-page",
    "/calendar/1969/12/",
    "/1984/06/",
    "/blog/2026/11/16/today",
    "/blog/2027/06/announced",
    "/archive/1999-12-31.html",
    "/news/1972-03-04-old-times",
    "/rfc/2068",
    "/rfc/2068/section/10",
    "/rfc/rfc2109.txt",
    "/topic/2050/3",
    "/topic/4711/12",
    "/topic/2050/3/12/reply",
    "/questions/20310417/how-to-exit-vim",
    "/items/19300405",
    "/films?year=1965",
    "/cars?year=2031",
    "/item?id=20310417",
    "/item?sku=2031-04",
    "/item?id=2031",
    "/?port=2031&month=13",
    "/isbn/2031-0417",
    "/part/2031-13",
    "/part/2031-00-12",
    "/tiles/0/0/0.png",
    "/tiles/7/7/7/7/",
    "/map/1,1/1,1/1,1",
    "/board/e4/e5/nf3/nc6/e4/e5",
    "/YWJjZGVm/YWJjZGVm/c3RyaW5n==",
    "/img/aGVsbG8gd29ybGQgaGVsbG8gd29ybGQgaGVsbG8gd29ybGQ=",
    "/api/v1/orgs/acme/teams/red/repos/acme/web/branches/main/protection/required/checks",
    "/web/20010203040506/http://example.org/a/b/",
    "/shoes?color=red&size=42&brand=acme&sort=price&page=3&per_page=24",
    "/shoes?size[]=40&size[]=41&size[]=42&size[]=43&size[]=44&size[]=45",
    "/shoes?size%5B%5D=40&size%5B%5D=41&size%5B%5D=42&size%5B%5D=43&size%5B%5D=44",
    "/search?q=100%25",
    "/login?next=https%3A%2F%2Fexample.com%2Flogin%3Fnext%3D%252Fhome",
    "/map?bbox=0,0,0,0",
    "/list?range=,,,&from=&to=",
    "/list?from=2020-01-01&to=2027-01-01",
    "/update/2031/4",
    "/holiday/2031/1",
]


@pytest.mark.parametrize("path", REAL)
def test_what_real_sites_do_is_let_in(path: str) -> None:
    assert refusal(path) is None


PIECES = st.sampled_from(
    ["a", "b", "12", "2031", "04", "2031-04-17", "20310417", "", "%2525", "?", "&", "=", "a=1", "date="]
)


@given(st.lists(st.text(max_size=12) | PIECES, max_size=40), st.floats(min_value=0, max_value=1e11))
def test_nothing_that_stands_in_a_url_raises(pieces: list[str], wall: float) -> None:
    found = TrapJudge(Traps()).refusal(f"{SITE}/{'/'.join(pieces)}", wall)
    assert found is None or found[0] is Why.TRAP


@given(st.lists(st.sampled_from("abc1"), max_size=16), st.integers(min_value=2, max_value=4))
def test_repeats_equal_those_of_a_slow_search(segments: list[str], limit: int) -> None:
    found = refusal("/" + "/".join(segments), Traps(max_repeats=limit))
    assert (found is not None) is slowly_repeats(segments, limit)


def slowly_repeats(segments: list[str], limit: int) -> bool:
    return any(
        segments[start : start + length * limit] == segments[start : start + length] * limit
        and not all(segment.isdigit() for segment in segments[start : start + length])
        for length in range(1, 5)
        for start in range(len(segments) - length * limit + 1)
    )
