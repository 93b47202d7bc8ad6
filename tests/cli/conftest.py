from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gossamer.cli.entry import run
from tests.cli import filled_store, returned_store
from tests.cli.command_line import Gossamer, Result
from tests.cli.fake_crawl import FakeApi, FakeCrawl


@pytest.fixture(autouse=True)
def place_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in os.environ:
        if name.startswith("GOSSAMER_"):
            monkeypatch.delenv(name)


@pytest.fixture
def gossamer(capsys: pytest.CaptureFixture[str]) -> Gossamer:
    """Run a command line in this process."""

    def call(*arguments: str) -> Result:
        capsys.readouterr()
        code = run(arguments)
        captured = capsys.readouterr()
        return Result(int(code), captured.out, captured.err)

    return call


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Callable[[FakeCrawl], FakeApi]:
    """Put a fake crawl where the real one is."""

    def install(crawl: FakeCrawl) -> FakeApi:
        api = FakeApi(crawl)
        monkeypatch.setitem(sys.modules, "gossamer.api", api)
        return api

    return install


@pytest.fixture
def filled() -> str:
    """A data directory with pages of every state."""
    filled_store.fill("gossamer-data")
    return "gossamer-data"


@pytest.fixture
def returned() -> str:
    """A data directory with a source that was found by sitemaps and visited again."""
    returned_store.fill("gossamer-data")
    return "gossamer-data"
