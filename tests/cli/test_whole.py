"""The command line as people meet it: real processes, a real store, a real site on loopback."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from gossamer.model import PageRecord, Summary
from gossamer.testing.web import QUICK, WebServer, differences, make_web

FAST = ("--delay", "0", "--processes", "1")


def gossamer(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "gossamer.cli", *arguments], capture_output=True, text=True, timeout=120
    )


@pytest.fixture(scope="module")
def site() -> Iterator[WebServer]:
    with WebServer(make_web(seed=5, hosts=1, pages_per_host=30, features=QUICK)) as server:
        yield server


def records(text: str) -> list[PageRecord]:
    return [msgspec.json.decode(line, type=PageRecord) for line in text.splitlines()]


def test_a_crawl_from_start_to_export(site: WebServer) -> None:
    run = gossamer("crawl", *site.seeds, *FAST, "--out", "pages.jsonl", "--json")
    assert run.returncode == 0, run.stderr
    told = msgspec.json.decode(run.stdout, type=Summary)
    written = records(Path("pages.jsonl").read_text())
    assert told.reason == "finished"
    assert told.completed + told.failed + told.skipped == len(written)
    assert not differences(site.web.expected(site.seeds), written)
    exported = gossamer("export")
    assert sorted(exported.stdout.splitlines()) == sorted(Path("pages.jsonl").read_text().splitlines())
    assert gossamer("verify").returncode == 0
    (source,) = json.loads(gossamer("status", "--json").stdout)["sources"]
    assert (source["state"], source["counts"]["completed"]) == ("completed", told.completed)
    explained = gossamer("explain", written[-1].url)
    assert written[-1].state.value in explained.stdout


def test_a_limit_that_was_set_is_a_good_end_and_resume_goes_on(site: WebServer) -> None:
    run = gossamer("crawl", *site.seeds, *FAST, "--max-pages", "3", "--json")
    assert run.returncode == 0, run.stderr
    told = json.loads(run.stdout)
    assert (told["reason"], told["completed"] + told["failed"] > 0, told["pending"] > 0) == ("max-pages", True, True)
    rest = gossamer("resume", "--processes", "1", "--max-pages", "none", "--json", "--out", "pages.jsonl")
    assert rest.returncode == 0, rest.stderr
    assert (json.loads(rest.stdout)["reason"], json.loads(rest.stdout)["pending"]) == ("finished", 0)
    assert not differences(site.web.expected(site.seeds), records(Path("pages.jsonl").read_text()))


def test_when_nobody_answers_the_exit_code_and_the_reason_say_so() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    run = gossamer("crawl", f"http://127.0.0.1:{port}/", *FAST, "--unreachable-after", "1", "--backoff-first", "10ms")
    assert run.returncode == 4, run.stderr
    assert f"http://127.0.0.1:{port}/: " in run.stderr.partition("nothing could be fetched:")[2]


def test_a_data_directory_that_cannot_be_made_is_one_clear_line(site: WebServer) -> None:
    Path("file").write_text("")
    run = gossamer("crawl", *site.seeds, *FAST, "--data", "file/data")
    assert run.returncode == 3
    assert "file/data" in run.stderr.splitlines()[-1]
    assert "Traceback" not in run.stderr


def test_an_output_file_of_somebody_else_is_not_touched(site: WebServer) -> None:
    Path("pages.jsonl").write_text("precious\n")
    run = gossamer("crawl", *site.seeds, *FAST, "--out", "pages.jsonl")
    assert run.returncode == 3
    assert "choose another name or delete it" in run.stderr
    assert Path("pages.jsonl").read_text() == "precious\n"


def test_an_interrupted_crawl_is_kept_and_its_directory_refused_to_others(site: WebServer) -> None:
    slowly = ("--delay", "1h", "--max-delay", "1h", "--processes", "1")
    command = [sys.executable, "-m", "gossamer.cli", "crawl", *site.seeds, *slowly]
    with Path("progress").open("w") as progress, subprocess.Popen(command, stderr=progress) as crawl:
        try:
            while gossamer("status").returncode != 0:
                assert crawl.poll() is None
            beside = gossamer("crawl", *site.seeds, *FAST)
            crawl.send_signal(signal.SIGINT)
            assert crawl.wait(timeout=60) == 130
        finally:
            crawl.kill()
    assert beside.returncode == 3
    assert "in use" in beside.stderr
    assert "gossamer resume" in Path("progress").read_text()
    assert gossamer("verify").returncode == 0
