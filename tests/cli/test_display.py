from __future__ import annotations

import io

import pytest
from rich.cells import cell_len
from rich.console import Console

from gossamer.cli.display import Frame, sparkline
from gossamer.cli.picture import MOMENT, RATES, picture
from gossamer.cli.progress import LineDisplay, LiveDisplay, Rates, display_for, line
from gossamer.cli.wording import clock, host_activity, plural, size, span
from gossamer.model import Counts, HostStatus, Stats

FRAME = Frame(title="crawling https://docs.example.org/ and 3 more", stats=MOMENT, rates=RATES, limit=5000)


def text(frame: Frame, width: int = 100, height: int = 40) -> str:
    return "\n".join(each.plain for each in frame.lines(width, height))


@pytest.mark.parametrize("width", [20, 30, 47, 60, 80, 100, 200])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    console = Console(width=width, file=io.StringIO(), force_terminal=False)
    console.print(FRAME)
    assert isinstance(console.file, io.StringIO)
    assert max(cell_len(each) for each in console.file.getvalue().splitlines()) <= max(width, 22)


@pytest.mark.parametrize("width", [40, 80, 120])
def test_the_figures_are_there_at_every_width(width: int) -> None:
    shown = text(FRAME, width)
    for words in ("3,483 of 4,510 known", "23.1 pages/s", "about 44 s left", "91.9 MiB", "9 in flight", "77%"):
        assert words in shown
    for words in ("3,240 completed", "12 failed", "231 skipped", "1,018 waiting", "stops at 5,000 pages", "2:31"):
        assert words in shown


def test_every_host_says_what_it_does_or_waits_for() -> None:
    shown = text(FRAME)
    assert "docs.example.org   612 queued  6 active   fetching" in shown
    assert "Crawl-delay, next in 6.4 s" in shown
    assert "Retry-After, next in 1 min 27 s" in shown
    assert "backoff after 3 failures, next in 14 s" in shown
    assert "and 9 more hosts" in shown


def test_the_last_errors_are_shown_with_their_pages() -> None:
    assert "✗ docs.example.org/guide/removed   status: 404 Not Found" in text(FRAME)


def test_a_low_terminal_shows_fewer_hosts_but_the_rest() -> None:
    shown = text(FRAME, 100, height=14)
    assert len(shown.splitlines()) <= 14
    assert "Ctrl+C" in shown
    assert "old.example.net  " not in shown


def test_what_comes_from_a_server_cannot_speak_to_the_terminal() -> None:
    stats = Stats(errors=(("https://a.test/\x1b[2J", "status: \x1b]0;pwned\x07 \u202e"),))
    shown = text(Frame(title="t", stats=stats))
    assert "\x1b" not in shown
    assert "\x07" not in shown
    assert "\u202e" not in shown


def test_wide_letters_do_not_break_the_lines() -> None:
    stats = Stats(busiest=(HostStatus(key="https://例え.テスト", waiting_for="blocked", last_error="拒否" * 40),))
    assert all(cell_len(each.plain) <= 60 for each in Frame(title="爬" * 80, stats=stats).lines(60))


def test_before_anything_is_known_there_is_a_picture_too() -> None:
    shown = text(Frame(title="crawling", stats=Stats()))
    assert "0 of 0 known" in shown
    assert "0%" in shown


def test_the_foot_says_why_nothing_moves() -> None:
    waiting = Stats(waiting="Crawl-delay of blog.example.com, 6 s")
    assert "Waiting: Crawl-delay of blog.example.com, 6 s" in text(Frame(title="t", stats=waiting))
    assert "Ctrl+C again ends it now" in text(Frame(title="t", stats=waiting, stopping=True))


def test_the_bar_has_a_part_for_every_state() -> None:
    counts = Counts(completed=50, failed=10, skipped=20, processing=10, pending=10)
    bar = Frame(title="t", stats=Stats(counts=counts)).lines(107)[1]
    lengths = {str(span.style): span.end - span.start for span in bar.spans}
    assert lengths == {"green": 50, "red": 10, "yellow": 20, "bright_cyan": 10, "bright_black": 10, "bold": 5}


def test_a_line_for_logs_says_how_far_and_why_it_waits() -> None:
    told = line(
        Stats(counts=Counts(completed=3, pending=4), seconds=21, hosts=1, waiting="Retry-After of a.test, 20 s")
    )
    assert told.startswith("21 s: 3 of 7 pages done, 0 failed, ")
    assert told.endswith("in flight on 1 host, waiting: Retry-After of a.test, 20 s")


def test_rates_are_taken_once_a_second() -> None:
    rates = Rates(length=2)
    assert rates.with_moment(0.5, 10) == ()
    assert rates.with_moment(1.0, 20) == (20.0,)
    assert rates.with_moment(1.5, 25) == (20.0,)
    assert rates.with_moment(3.0, 40) == (20.0, 10.0)
    assert rates.with_moment(4.0, 40) == (10.0, 0.0)


def test_a_sparkline_is_as_high_as_its_highest() -> None:
    assert sparkline([0, 4, 8]) == "▁▅█"
    assert sparkline([0, 0]) == ""


def test_the_display_fits_where_it_goes() -> None:
    assert isinstance(display_for(Console(file=io.StringIO()), "t"), LineDisplay)
    assert isinstance(display_for(Console(file=io.StringIO(), force_terminal=True), "t"), LiveDisplay)


def test_the_live_display_leaves_nothing_behind_and_the_cursor_on() -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=80)
    with LiveDisplay(console, "crawling") as display:
        display.show(MOMENT)
        display.stopping()
        display.show(MOMENT)
    assert isinstance(console.file, io.StringIO)
    written = console.file.getvalue()
    assert "Stopping" in written
    assert written.rindex("\x1b[?25h") > written.rindex("\x1b[?25l")


def test_the_picture_is_always_the_same_and_asks_nobody_for_a_font() -> None:
    drawn = picture(FRAME)
    assert drawn == picture(FRAME)
    assert "@font-face" not in drawn
    assert drawn.startswith("<svg")


@pytest.mark.parametrize(
    ("host", "told"),
    [
        (HostStatus(key="h"), "ready"),
        (HostStatus(key="h", in_flight=1, waiting_for="delay"), "fetching"),
        (HostStatus(key="h", in_flight=1, waiting_for="robots"), "asking robots.txt"),
        (HostStatus(key="h", waiting_for="delay", wait=0.5), "delay, next in 0.5 s"),
        (HostStatus(key="h", waiting_for="backoff", wait=4, failures=1), "backoff after 1 failure, next in 4.0 s"),
        (HostStatus(key="h", waiting_for="blocked", last_error="dns: no such name"), "blocked: dns: no such name"),
    ],
)
def test_a_host_in_words(host: HostStatus, told: str) -> None:
    assert host_activity(host) == told


def test_numbers_in_words() -> None:
    sizes = [size(n) for n in (0, 999, 1000, 1024, 102_400, 10**9)]
    assert sizes == ["0 B", "999 B", "1.0 KiB", "1.0 KiB", "100 KiB", "954 MiB"]
    assert [span(s) for s in (0, 9.94, 9.96, 59.4, 59.6, 200, 7500, 90_000)] == [
        "0.0 s", "9.9 s", "10 s", "59 s", "1 min 0 s", "3 min 20 s", "2 h 5 min", "1 d 1 h",
    ]  # fmt: skip
    assert [clock(s) for s in (5, 151, 3723)] == ["0:05", "2:31", "1:02:03"]
    assert [plural(n, "page") for n in (0, 1, 1200)] == ["0 pages", "1 page", "1,200 pages"]
