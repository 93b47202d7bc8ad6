"""The change feed on the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from gossamer.cli.output import LateProgress
from gossamer.config.since import read_since
from gossamer.config.units import DURATIONS
from gossamer.model import Change, ChangeEntry, Source
from gossamer.parse.diff import text_diff
from tests.cli.command_line import Gossamer
from tests.cli.fake_crawl import FakeApi, FakeCrawl
from tests.cli.filled_store import SITE, spec

Fake = Callable[[FakeCrawl], FakeApi]
AT = "2026-11-01T12:00:00.000Z"
FEED = [
    ChangeEntry(change=Change.ADDED, url=f"{SITE}/new", source=1, at=AT, round=2, title="New", hash="1f"),
    ChangeEntry(
        change=Change.CHANGED,
        url=f"{SITE}/guide",
        source=1,
        at=AT,
        round=2,
        title="The [guide]",
        hash="2f",
        previous_hash="2e",
        diff=text_diff("It was. It stays.", "It is. It stays."),
    ),
    ChangeEntry(change=Change.REMOVED, url=f"{SITE}/old", source=1, at=AT, round=2, previous_hash="3e"),
]


@pytest.fixture
def feed(fake: Fake) -> FakeApi:
    api = fake(FakeCrawl())
    api.feed = FEED
    return api


def test_the_feed_is_a_line_of_json_for_each_change_in_order(gossamer: Gossamer, feed: FakeApi) -> None:
    result = gossamer("changes", "--since", "last", "--source", "1")
    lines = [json.loads(line) for line in result.out.splitlines()]
    assert [line["change"] for line in lines] == ["added", "changed", "removed"]
    keys = ["change", "url", "source", "at", "round", "title", "hash", "previous_hash", "diff"]
    assert [list(line) for line in lines] == [keys] * 3
    assert (lines[0]["diff"], lines[0]["previous_hash"], lines[2]["hash"]) == (None, None, None)
    assert "-It was.\n+It is.\n It stays." in lines[1]["diff"]
    assert (feed.since, feed.sources) == ("last", (1,))
    assert (result.code, result.err) == (0, "1 added, 1 changed, 1 removed\n")


def test_as_text_it_reads_well(gossamer: Gossamer, feed: FakeApi) -> None:
    result = gossamer("changes", "--format", "text")
    assert result.out.splitlines() == [
        f"added   {SITE}/new  New  {AT}",
        f"changed {SITE}/guide  The [guide]  {AT}",
        "    @@ -1,2 +1,2 @@",
        "    -It was.",
        "    +It is.",
        "     It stays.",
        f"removed {SITE}/old  {AT}",
    ]


def test_a_file_takes_its_name_when_it_is_whole(gossamer: Gossamer, feed: FakeApi) -> None:
    result = gossamer("changes", "--out", "changes.jsonl")
    assert result.out == ""
    assert len(Path("changes.jsonl").read_text().splitlines()) == 3
    assert [path.name for path in Path().iterdir()] == ["changes.jsonl"]


def test_a_source_that_is_not_there_is_named_with_those_that_are(gossamer: Gossamer, filled: str) -> None:
    result = gossamer("changes", "--source", "9")
    assert result.code == 3
    assert result.err == "gossamer: ./gossamer-data has no source 9; its sources are: 1\n"


def test_a_first_crawl_has_no_changes(gossamer: Gossamer, filled: str) -> None:
    result = gossamer("changes", "--since", "last")
    assert (result.code, result.out, result.err) == (0, "", "0 added, 0 changed, 0 removed\n")


NOW = 1_800_000_000.0


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-11-01", 1_793_491_200.0),
        ("2026-11-01T12:30", 1_793_536_200.0),
        ("2026-11-01 12:30Z", 1_793_536_200.0),
        ("2026-11-01T12:30+02:00", 1_793_529_000.0),
        ("2d", NOW - 2 * DURATIONS["d"]),
        ("1h30m", NOW - 5400),
        ("last", 1_750_000_000.0),
        (None, 0.0),
    ],
)
def test_since_is_read_as_people_write_it(text: str | None, moment: float) -> None:
    source = Source(id=1, spec=spec(), round=3, round_began_at=1_750_000_000.0)
    assert read_since(text, NOW)(source) == moment


@pytest.mark.parametrize("text", ["soon", "2026-13-01", "", "-2d", "20-11"])
def test_what_is_no_time_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a time, as in 2026-11-01, 2026-11-01T12:30Z, 2d"):
        read_since(text, NOW)


@pytest.mark.parametrize(("seconds", "shown"), [(0.9, False), (1.1, True)])
def test_progress_shows_only_where_it_takes_longer_than_a_second(
    seconds: float, shown: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = 100.0
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr("gossamer.cli.output.time", SimpleNamespace(monotonic=lambda: now))
    with LateProgress() as progress:
        now += seconds
        progress.show("7 changes so far")
    assert ("7 changes so far" in capsys.readouterr().err) is shown
