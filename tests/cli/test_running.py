from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gossamer.cli.running import exit_code
from gossamer.cli.summary import next_steps
from gossamer.config import Settings
from gossamer.model import ChangeCounts, EndReason, Summary
from tests.cli.command_line import Gossamer
from tests.cli.fake_crawl import FakeApi, FakeCrawl, summary
from tests.cli.filled_store import SITE

Fake = Callable[[FakeCrawl], FakeApi]
SCRIPT = Path(__file__).with_name("fake_crawl.py")


@pytest.mark.parametrize(
    ("ended", "code"),
    [
        (summary(completed=3), 0),
        (summary(EndReason.MAX_PAGES, completed=3), 0),
        (summary(EndReason.DURATION), 0),
        (summary(), 4),
        (summary(failed=3), 4),
        (summary(EndReason.INTERRUPTED, completed=3), 130),
        (summary(EndReason.FAILED, completed=3), 3),
    ],
)
def test_exit_codes_tell_ends_apart(ended: Summary, code: int) -> None:
    assert exit_code(ended) == code


def test_json_is_one_object_on_stdout_and_the_rest_is_on_stderr(gossamer: Gossamer, fake: Fake) -> None:
    fake(FakeCrawl(pages=10))
    result = gossamer("crawl", "https://site.test", "--json")
    assert result.code == 0
    told = json.loads(result.out)
    assert set(told) == set(Summary.__struct_fields__)
    assert (told["reason"], told["completed"], told["skipped"]) == ("finished", 9, 1)
    assert "Finished" in result.err


def test_the_box_tells_what_came_and_what_to_do_next(gossamer: Gossamer, fake: Fake) -> None:
    fake(FakeCrawl(pages=10))
    result = gossamer("crawl", "https://site.test", "--data", "my data", "--out", "pages.jsonl")
    for words in ("Finished", "9 completed", "1 skipped", "pages/s over 1 host", "my data", "pages.jsonl", "tokens"):
        assert words in result.err
    assert "gossamer status --data 'my data'" in result.err
    assert result.out == ""


@pytest.mark.parametrize(
    ("ended", "steps"),
    [
        (summary(EndReason.INTERRUPTED, completed=1, pending=4), ["resume", "export --out pages.jsonl"]),
        (summary(EndReason.MAX_PAGES, pending=4, failed=1), ["resume --max-pages N", "export --state failed"]),
        (summary(EndReason.DURATION, pending=4), ["resume --duration TIME"]),
        (summary(completed=1, changes=ChangeCounts(added=1)), ["changes --since last", "export --out pages.jsonl"]),
        (summary(completed=1, changes=ChangeCounts()), ["export --out pages.jsonl"]),
        (summary(), ["status"]),
    ],
)
def test_the_next_steps_fit_the_end(ended: Summary, steps: list[str]) -> None:
    assert next_steps(ended, Settings()) == [f"gossamer {step}" for step in steps]


def test_the_box_of_a_recrawl_tells_what_changed(gossamer: Gossamer, fake: Fake, filled: str) -> None:
    fake(FakeCrawl(pages=10, changes=ChangeCounts(added=5, changed=1200, removed=7)))
    result = gossamer("recrawl")
    assert "5 added, 1,200 changed, 7 removed" in result.err
    assert "gossamer changes --since last" in result.err


def test_outside_a_recrawl_there_is_no_word_of_changes(gossamer: Gossamer, fake: Fake) -> None:
    fake(FakeCrawl(pages=10))
    result = gossamer("crawl", "https://site.test", "--json")
    assert json.loads(result.out)["changes"] is None
    assert "changed" not in result.err


def test_trouble_with_the_store_is_one_line_and_exit_code_3(gossamer: Gossamer, fake: Fake) -> None:
    fake(FakeCrawl(error="./gossamer-data is in use by process 7; wait, or name another with --data"))
    result = gossamer("crawl", "https://site.test")
    assert result.code == 3
    assert result.err.splitlines()[-1] == (
        "gossamer: ./gossamer-data is in use by process 7; wait, or name another with --data"
    )


def test_when_nothing_could_be_fetched_the_reasons_are_told(gossamer: Gossamer, fake: Fake, filled: str) -> None:
    fake(FakeCrawl(pages=0))
    result = gossamer("crawl", "https://site.test")
    assert result.code == 4
    assert "gossamer: nothing could be fetched:" in result.err
    assert f"{SITE}/broken: status: 500 Server Error" in result.err
    assert f"{SITE}/private/x: skipped: robots.txt of the host does not allow it" in result.err


class Started:
    """The real command in a process of its own, around a fake crawl that takes its time."""

    def __init__(self, *, stubborn: bool = False, terminal: bool = False) -> None:
        self.ours, theirs = pty.openpty() if terminal else os.pipe()
        self.process = subprocess.Popen(
            [
                sys.executable,
                str(SCRIPT),
                "100000",
                "0.01",
                "stubborn" if stubborn else "no",
                "crawl",
                "https://a.test",
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=theirs,
            env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "90", "LINES": "30"},
        )
        os.close(theirs)
        self.seen = ""

    def read_until(self, words: str) -> None:
        while words not in self.seen:
            self.seen += self._chunk()

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def end(self) -> int:
        while chunk := self._chunk():
            self.seen += chunk
        os.close(self.ours)
        return self.process.wait()

    def _chunk(self) -> str:
        try:
            return os.read(self.ours, 65_536).decode(errors="replace")
        except OSError:  # how a terminal says that nobody is left at its other end
            return ""


@pytest.fixture
def started() -> Iterator[Callable[..., Started]]:
    processes: list[Started] = []

    def start(*, stubborn: bool = False, terminal: bool = False) -> Started:
        processes.append(Started(stubborn=stubborn, terminal=terminal))
        return processes[-1]

    yield start
    for each in processes:
        if each.process.poll() is None:
            each.process.kill()
            each.process.wait()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_cleanly_and_says_how_to_go_on(started: Callable[..., Started], number: signal.Signals) -> None:
    crawl = started()
    crawl.read_until("crawling https://a.test/")
    crawl.signal(number)
    assert crawl.end() == 130
    assert "gossamer: stopping" in crawl.seen
    assert "Interrupted: everything so far is kept" in crawl.seen
    assert "gossamer resume" in crawl.seen


def test_a_second_signal_ends_at_once(started: Callable[..., Started]) -> None:
    crawl = started(stubborn=True)
    crawl.read_until("crawling https://a.test/")
    crawl.signal(signal.SIGINT)
    crawl.read_until("gossamer: stopping")
    crawl.signal(signal.SIGINT)
    assert crawl.end() == 130
    assert "Interrupted" not in crawl.seen


@pytest.mark.parametrize("stubborn", [False, True])
def test_the_terminal_is_given_back_as_it_was(started: Callable[..., Started], stubborn: bool) -> None:
    crawl = started(stubborn=stubborn, terminal=True)
    crawl.read_until("docs.site.test")
    crawl.signal(signal.SIGINT)
    if stubborn:
        crawl.read_until("Stopping")
        crawl.signal(signal.SIGINT)
    assert crawl.end() == 130
    hidden = [match.start() for match in re.finditer(re.escape("\x1b[?25l"), crawl.seen)]
    assert hidden
    assert crawl.seen.rindex("\x1b[?25h") > hidden[-1]
