from __future__ import annotations

import json
from pathlib import Path

import pytest

import gossamer.testing.example
from gossamer.testing.web import QUICK, WebServer, make_web
from tests.cli.command_line import Gossamer


class SmallSite(WebServer):
    def __init__(self) -> None:
        super().__init__(make_web(seed=3, hosts=1, pages_per_host=8, features=QUICK))


@pytest.fixture(autouse=True)
def small_site(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gossamer.testing.example, "ExampleSite", SmallSite)


def test_without_a_terminal_the_demo_ends_by_itself_and_leaves_nothing(gossamer: Gossamer) -> None:
    result = gossamer("demo")
    assert result.code == 0
    for words in (
        "What became of every URL",
        "completed",
        "skipped",
        "robots.txt of the host",
        "Some of what was found",
    ):
        assert words in result.out
    assert "crawling the example site at http://127.0." in result.err
    assert list(Path().iterdir()) == []


def test_the_demo_keeps_its_store_where_it_is_told(gossamer: Gossamer) -> None:
    assert gossamer("demo", "--data", "here").code == 0
    (source,) = json.loads(gossamer("status", "--data", "here", "--json").out)["sources"]
    assert source["state"] == "completed"
