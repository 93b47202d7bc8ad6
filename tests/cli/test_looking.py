"""The commands that look into a store, on a real one."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import re
from pathlib import Path

import pytest

from gossamer.adapters.store_sqlite import SqliteStore
from gossamer.cli.wording import WAITS, deferred
from gossamer.model import Deferral, PageRecord
from tests.cli.command_line import Gossamer
from tests.cli.filled_store import SITE
from tests.cli.returned_store import SECOND


def test_status_shows_state_counts_and_limits(gossamer: Gossamer, filled: str) -> None:
    result = gossamer("status")
    assert result.code == 0
    for word in (f"{SITE}/", "stopped", "interrupted", "max pages 100", "prefix scope", "83%", "2.5 KiB"):
        assert word in result.out


def test_status_as_json_adds_up(gossamer: Gossamer, filled: str) -> None:
    (source,) = json.loads(gossamer("status", "--json").out)["sources"]
    counts = source["counts"]
    assert (counts["completed"], counts["failed"], counts["skipped"], counts["pending"]) == (2, 1, 2, 1)
    assert source["limits"] == {"max_pages": 100}
    assert source["state"] == "stopped"


def test_status_tells_why_pages_were_skipped(gossamer: Gossamer, filled: str) -> None:
    (source,) = json.loads(gossamer("status", "--json").out)["sources"]
    assert sum(source["skipped"].values()) == source["counts"]["skipped"]
    told = ", ".join(f"{count} {reason}" for reason, count in source["skipped"].items())
    assert f"skipped: {told}" in gossamer("status").out


@pytest.mark.parametrize("command", ["status", "verify", "export"])
def test_a_directory_without_a_store_is_one_clear_line(gossamer: Gossamer, command: str) -> None:
    result = gossamer(command, "--data", "nowhere")
    assert result.code == 3
    assert result.err.count("\n") == 1
    assert "nowhere" in result.err
    assert not Path("nowhere").exists()


def test_an_unknown_url_is_said_to_be_unknown(gossamer: Gossamer, filled: str) -> None:
    result = gossamer("explain", f"{SITE}/nobody")
    assert result.code == 0
    assert f"{SITE}/nobody is unknown" in result.out


def test_something_that_is_no_url_is_a_usage_error(gossamer: Gossamer, filled: str) -> None:
    result = gossamer("explain", "site.test/x")
    assert result.code == 2
    assert "did you mean https://site.test/x?" in result.err


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("", ["completed: fetched: 200, text/html 2.0 KiB in 123 ms", "0, a seed", "allows it"]),
        ("guide#part", ["completed", f"{SITE}/ (seed)"]),
        ("broken", ["failed: status: 500 Server Error", f"from        {SITE}/guide", "tries       3"]),
        ("private/x", ["robots.txt of the host does not allow it", "does not allow it, by Disallow: /private"]),
        ("old", [f"it redirects to another page: {SITE}/new"]),
        ("later", ["pending: it waits for its turn", "waiting for Retry-After", "not before"]),
    ],
)
def test_explain_tells_what_became_of_a_page_and_why(
    gossamer: Gossamer, filled: str, path: str, told: list[str]
) -> None:
    result = gossamer("explain", f"HTTPS://site.test/{path}")
    assert result.code == 0
    for words in told:
        assert words in result.out


@pytest.mark.parametrize(
    ("path", "told"),
    [
        (
            "",
            [
                "completed: fetched",
                "revisited  1 time, changed in 0 of them; last 2023-11-16 02:00:01 UTC",
                "due again  2023-11-17 02:00:00 UTC",
            ],
        ),
        ("guide", ["revisited  1 time, changed in 1 of them"]),
        ("copy", [f"skipped: folded into {SITE}/guide: same content\n"]),
        ("like", [f"skipped: folded into {SITE}/guide: near duplicate, 93% the same (limit 90%)"]),
        ("print", [f"skipped: folded into {SITE}/guide: canonical link\n"]),
        ("none", ["skipped: it looks like `not found`, whatever its status says (says what this host says"]),
        ("soon", ["pending: put aside: pages like it have used up their budget"]),
        ("calendar/2099/01", ["skipped: its URL looks like a trap: names the date 2099-01, further ahead than 400"]),
        ("unlisted", ["only links lead to it, and the sitemap is the crawl", "--seed-from sitemap,links"]),
        ("sitemap.xml", ["sitemaps: 1 read, 1,204 URLs listed\n"]),
        ("news.xml", [f"sitemaps: 0 read, 0 URLs listed, 1 failed: {SITE}/news.xml status: 404 Not Found"]),
    ],
)
def test_explain_tells_of_folds_traps_guides_and_visits(
    gossamer: Gossamer, returned: str, path: str, told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    result = gossamer("explain", f"{SITE}/{path}")
    assert result.code == 0
    for words in told:
        assert words in re.sub(r" +\n", "\n", result.out)


def test_explain_as_json_tells_a_program_the_same(gossamer: Gossamer, returned: str) -> None:
    (copy,) = json.loads(gossamer("explain", "--json", f"{SITE}/copy").out)["sources"]
    assert (copy["reason"], copy["target"]) == ("duplicate", f"{SITE}/guide")
    (guide,) = json.loads(gossamer("explain", "--json", f"{SITE}/guide").out)["sources"]
    assert (guide["visits"], guide["changes"], guide["due_at"]) == (1, 1, SECOND + 3_600)
    sitemap = json.loads(gossamer("explain", "--json", f"{SITE}/sitemap.xml").out)
    assert (sitemap["known"], sitemap["sources"], sitemap["guides"][0]["listed"]) == (True, [], 1204)


@pytest.mark.parametrize("deferral", Deferral)
def test_whatever_a_page_waits_for_has_words(deferral: Deferral) -> None:
    assert deferred(deferral.rank) == WAITS[deferral]


def test_status_tells_of_guides_and_rounds(gossamer: Gossamer, returned: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    result = gossamer("status")
    assert f"sitemaps: 1 read, 1,204 URLs listed, 1 failed: {SITE}/news.xml status: 404 Not Found" in result.out
    assert "round 2 since 2023-11-16 02:00:00 UTC" in result.out
    (source,) = json.loads(gossamer("status", "--json").out)["sources"]
    assert (source["round"], source["round_began_at"]) == (2, SECOND)
    assert [(guide["state"], guide["listed"]) for guide in source["guides"]] == [("completed", 1204), ("failed", 0)]


def test_changes_come_from_the_store_with_a_diff(gossamer: Gossamer, returned: str) -> None:
    result = gossamer("changes", "--since", "last")
    (change,) = map(json.loads, result.out.splitlines())
    assert (change["change"], change["url"], change["round"]) == ("changed", f"{SITE}/guide", 2)
    assert (change["hash"], change["previous_hash"], change["at"]) == ("11", "10", "2023-11-16T02:00:01.000Z")
    assert change["diff"].splitlines()[3:] == ["-It was.", "+It is.", " It stays."]
    assert gossamer("changes", "--since", "1h").out == ""


def test_explain_as_json_has_the_chain_of_parents(gossamer: Gossamer, filled: str) -> None:
    told = json.loads(gossamer("explain", "--json", f"{SITE}/broken").out)
    assert told["known"] is True
    assert told["sources"][0]["parents"] == [f"{SITE}/guide", f"{SITE}/"]


def test_export_writes_every_final_page_once(gossamer: Gossamer, filled: str) -> None:
    result = gossamer("export")
    urls = [json.loads(line)["url"] for line in result.out.splitlines()]
    assert sorted(urls) == [f"{SITE}/", f"{SITE}/broken", f"{SITE}/guide", f"{SITE}/old", f"{SITE}/private/x"]
    assert "5 pages exported" in result.err


def test_export_to_csv_has_a_head_and_a_row_for_each_page_of_a_state(gossamer: Gossamer, filled: str) -> None:
    gossamer("export", "--format", "csv", "--state", "completed", "--out", "pages.csv")
    rows = list(csv.DictReader(io.StringIO(Path("pages.csv").read_bytes().decode(), newline="")))
    assert [row["url"] for row in rows] == [f"{SITE}/", f"{SITE}/guide"]
    assert tuple(rows[0]) == PageRecord.__struct_fields__
    assert rows[0]["links"] == f"{SITE}/guide {SITE}/broken"
    assert rows[0]["markdown"] == "# Home\n\nText."


def test_an_export_that_fails_leaves_the_old_file_alone(gossamer: Gossamer) -> None:
    Path("pages.jsonl").write_text("old\n")
    result = gossamer("export", "--data", "nowhere", "--out", "pages.jsonl")
    assert result.code == 3
    assert [path.name for path in Path().iterdir()] == ["pages.jsonl"]
    assert Path("pages.jsonl").read_text() == "old\n"


def test_verify_says_that_a_store_is_sound(gossamer: Gossamer, filled: str) -> None:
    result = gossamer("verify")
    assert (result.code, result.out) == (0, "./gossamer-data is sound\n")


def test_verify_names_each_violation(gossamer: Gossamer, filled: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def verify(self: SqliteStore) -> list[str]:
        return ["page 3 has no source", "page 4 has no source"]

    monkeypatch.setattr(SqliteStore, "verify", verify)
    result = gossamer("verify")
    assert result.code == 3
    assert result.out == "page 3 has no source\npage 4 has no source\n"
    assert "2 violations" in result.err


def test_wipe_does_not_delete_without_a_yes(gossamer: Gossamer, filled: str) -> None:
    result = gossamer("wipe")
    assert result.code == 2
    assert "say --yes" in result.err
    assert gossamer("status").code == 0


def test_wipe_deletes_the_store_and_nothing_else(gossamer: Gossamer, filled: str) -> None:
    other = Path(filled, "notes.txt")
    other.write_text("mine")
    result = gossamer("wipe", "--yes")
    assert result.code == 0
    assert result.out.startswith("deleted gossamer-data/")
    assert gossamer("status").code == 3
    assert other.read_text() == "mine"


def test_wipe_refuses_while_a_process_works_in_the_directory(gossamer: Gossamer, filled: str) -> None:
    async def beside_a_writer() -> int:
        store = await SqliteStore.open(filled)
        try:
            return (await asyncio.to_thread(gossamer, "wipe", "--yes")).code
        finally:
            await store.close()

    assert asyncio.run(beside_a_writer()) == 3
    assert gossamer("status").code == 0


def test_wiping_what_is_not_there_deletes_nothing(gossamer: Gossamer) -> None:
    result = gossamer("wipe", "--yes", "--data", "nowhere")
    assert (result.code, result.out) == (0, "nowhere does not exist; nothing was deleted\n")
