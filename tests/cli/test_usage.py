from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gossamer import __version__
from gossamer.cli.entry import COMMANDS
from gossamer.config import SETTINGS, flag_of
from gossamer.model import ChangeCounts
from tests.cli.command_line import Gossamer
from tests.cli.fake_crawl import FakeApi, FakeCrawl

Fake = Callable[[FakeCrawl], FakeApi]


def test_the_version_is_told(gossamer: Gossamer) -> None:
    result = gossamer("--version")
    assert (result.code, result.out) == (0, f"gossamer {__version__}\n")


def test_help_lists_every_command(gossamer: Gossamer) -> None:
    for arguments in ((), ("--help",), ("-h",)):
        result = gossamer(*arguments)
        assert result.code == 0
        assert all(f"  {name} " in result.out for name in COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_and_takes_data(gossamer: Gossamer, name: str) -> None:
    result = gossamer(name, "--help")
    assert result.code == 0
    assert "--data DIR" in result.out


@pytest.mark.parametrize("name", SETTINGS)
def test_every_setting_is_a_flag_of_crawl(gossamer: Gossamer, name: str) -> None:
    shown = gossamer("crawl", "--help").out
    assert f"  {flag_of(name)}" in shown or f"  --no-{flag_of(name)[2:]}" in shown


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["crawl", "--max-page", "3"], "gossamer crawl: there is no flag --max-page; did you mean --max-pages?"),
        (["status", "--jsn"], "gossamer status: there is no flag --jsn; did you mean --json?"),
        (["crawl", "--xyzzy"], "gossamer crawl: there is no flag --xyzzy; --help lists what there is"),
        (["craw"], "gossamer: there is no command craw; did you mean crawl?"),
        (["crawl"], "gossamer crawl: name at least one URL, or a file of them with --seeds."),
        (["crawl", "site.test"], "gossamer: 'site.test' is not a URL that can be fetched; did you mean https://site"),
        (["crawl", "https://a.test", "--max-pages", "x"], "gossamer: --max-pages: 'x' is not a whole number"),
        (["crawl", "https://a.test", "--scope", "hsot"], "did you mean host?"),
        (["crawl", "https://a.test", "--include", "a["], "gossamer: --include: the pattern 'a[' cannot be read"),
        (["crawl", "--seeds", "nowhere.txt"], "'nowhere.txt': No such file or directory"),
        (
            ["crawl", "https://a.test", "--seed-from", "all"],
            "--scope prefix leaves out; say --scope site, or --seed-from",
        ),
        (["recrawl", "--out", "pages.jsonl"], "gossamer recrawl: there is no flag --out"),
        (["changes", "--since", "yesterday"], "gossamer: --since: 'yesterday' is not a time, as in 2026-11-01"),
        (["changes", "--since", "2 days"], "'2 days' has no known unit; did you mean 2d?"),
        (["export", "--format", "xml"], "'xml' is not one of 'jsonl', 'csv'"),
        (["explain"], "Missing argument 'URL'."),
    ],
)
def test_a_usage_error_is_one_line_with_the_way_out(gossamer: Gossamer, arguments: list[str], line: str) -> None:
    result = gossamer(*arguments)
    assert result.code == 2
    assert line in result.err
    assert (result.err.count("\n"), result.out) == (1, "")


def test_a_mistake_in_the_file_or_the_environment_is_a_matter_of_configuration(
    gossamer: Gossamer, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("gossamer.toml").write_text("max_page = 3")
    result = gossamer("status")
    assert (result.code, result.err) == (
        3,
        "gossamer: gossamer.toml: there is no setting 'max_page'; did you mean max_pages?\n",
    )
    Path("gossamer.toml").unlink()
    monkeypatch.setenv("GOSSAMER_DELAY", "soon")
    assert gossamer("status").code == 3


def test_config_shows_every_value_and_where_it_came_from(gossamer: Gossamer, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("gossamer.toml").write_text("per_host = 4")
    monkeypatch.setenv("GOSSAMER_AUTH", "me:hunter2")
    result = gossamer("config", "--delay", "auto", "--no-content", "--json")
    told = json.loads(result.out)
    assert set(told) == set(SETTINGS)
    assert told["delay"] == {"value": "auto", "from": "--delay"}
    assert told["content"] == {"value": "false", "from": "--no-content"}
    assert told["per_host"] == {"value": "4", "from": "gossamer.toml"}
    assert told["auth"] == {"value": "***", "from": "GOSSAMER_AUTH"}
    assert told["max_pages"] == {"value": "none", "from": "default"}


def test_config_as_a_table_has_a_line_for_every_setting_and_no_secret(gossamer: Gossamer) -> None:
    result = gossamer("config", "--auth", "me:hunter2", "--proxy", "http://me:hunter2@proxy.test")
    assert result.code == 0
    assert all(f"  {name} " in result.out for name in SETTINGS)
    assert "hunter2" not in result.out


def test_seeds_come_from_arguments_and_from_a_file(gossamer: Gossamer, fake: Fake) -> None:
    api = fake(FakeCrawl())
    Path("seeds.txt").write_text("# mine\n\nhttps://b.test/x\n  https://a.test/  \n")
    result = gossamer("crawl", "https://a.test", "--seeds", "seeds.txt", "--max-pages", "7", "--no-content")
    assert result.code == 0
    assert api.seeds == ("https://a.test/", "https://b.test/x")
    assert (api.settings.max_pages, api.settings.content) == (7, False)


def test_a_seeds_file_may_hold_comments_blank_lines_and_a_byte_order_mark(gossamer: Gossamer, fake: Fake) -> None:
    api = fake(FakeCrawl())
    lines = ["\ufeffhttps://a.test/ # the first", "", "# all of b", "  https://b.test/#top\t# not the fragment", " # x"]
    Path("seeds.txt").write_text("\r\n".join(lines), "utf-8")
    assert gossamer("crawl", "--seeds", "seeds.txt").code == 0
    assert api.seeds == ("https://a.test/", "https://b.test/")


def test_a_seeds_file_that_begins_with_a_comment_after_its_mark_has_no_seed(gossamer: Gossamer) -> None:
    Path("seeds.txt").write_text("\ufeff# nothing yet\n", "utf-8")
    result = gossamer("crawl", "--seeds", "seeds.txt")
    assert result.code == 2
    assert "name at least one URL" in result.err


def test_a_seeds_file_that_is_not_text_is_named_with_the_line(gossamer: Gossamer) -> None:
    Path("seeds.txt").write_bytes(b"https://a.test/\nhttps://b.test/caf\xe9\n")
    result = gossamer("crawl", "--seeds", "seeds.txt")
    assert result.code == 2
    assert "the seeds in seeds.txt are not UTF-8 text: see line 2." in result.err


def test_seeds_come_from_stdin(tmp_path: Path) -> None:
    run = command_line(3, 0.0, "crawl", "--seeds", "-", "--json", seeds="\ufeffhttps://a.test/ # one\nbad.test\n")
    assert run.returncode == 2
    assert run.stderr == "gossamer: 'bad.test' is not a URL that can be fetched; did you mean https://bad.test/?\n"
    run = command_line(3, 0.0, "crawl", "--seeds", "-", "--json", seeds="https://a.test/\n# two\nhttps://b.test/\n")
    assert run.returncode == 0
    assert "crawling https://a.test/ and 1 more" in run.stderr


def test_resume_needs_something_to_resume(gossamer: Gossamer, fake: Fake) -> None:
    fake(FakeCrawl())
    result = gossamer("resume", "--data", "nowhere")
    assert result.code == 3
    assert result.err == "gossamer: nowhere holds no store to resume; gossamer crawl URL --data nowhere makes one\n"
    assert not Path("nowhere").exists()


def test_resume_hands_on_what_was_given_anew(
    gossamer: Gossamer, fake: Fake, filled: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    api = fake(FakeCrawl())
    monkeypatch.setenv("GOSSAMER_DELAY", "3")
    assert gossamer("resume", "--max-pages", "9", "--out", "pages.jsonl").code == 0
    assert api.changed == {"max_pages", "out"}
    assert (api.settings.max_pages, api.settings.out, api.settings.delay) == (9, "pages.jsonl", 3.0)


def test_recrawl_needs_something_to_visit(gossamer: Gossamer, fake: Fake) -> None:
    fake(FakeCrawl())
    result = gossamer("recrawl", "--data", "nowhere")
    assert result.code == 3
    assert result.err.startswith("gossamer: nowhere holds no store to visit again; gossamer crawl URL")


def test_recrawl_hands_on_what_was_asked_and_no_output_file(
    gossamer: Gossamer, fake: Fake, filled: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    api = fake(FakeCrawl(changes=ChangeCounts(added=1, changed=2)))
    monkeypatch.setenv("GOSSAMER_OUT", "pages.jsonl")
    result = gossamer("recrawl", "--due", "--source", "1", "--source", "3", "--delay", "2", "--json")
    assert result.code == 0
    assert (api.due, api.sources, set(api.changed)) == (True, (1, 3), {"delay"})
    assert api.settings.out is None
    assert "visiting 2 sources of ./gossamer-data again" in result.err
    assert json.loads(result.out)["changes"] == {"added": 1, "changed": 2, "removed": 0}


def test_the_command_answers_without_loading_the_crawler() -> None:
    code = "import sys; from gossamer.cli.entry import run; run(['--help']); print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(run.stdout.rpartition("\n  4 nothing")[2].split())
    assert loaded.isdisjoint({"gossamer.config", "gossamer.api", "gossamer.model", "rich", "asyncio", "apsw", "wreq"})


def command_line(
    pages: int, tick: float, *arguments: str, seeds: str | None = None
) -> subprocess.CompletedProcess[str]:
    script = Path(__file__).with_name("fake_crawl.py")
    return subprocess.run(
        [sys.executable, str(script), str(pages), str(tick), "no", *arguments],
        input=seeds,
        capture_output=True,
        text=True,
        env=dict(os.environ),
    )
