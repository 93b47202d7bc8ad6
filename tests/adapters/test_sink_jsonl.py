from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from gossamer.adapters.sink_jsonl import JsonlSink
from gossamer.model import Cursor, Delivery, PageRecord, State
from gossamer.ports import StorageError


def delivery(sequence: int) -> Delivery:
    record = PageRecord(url=f"https://site.test/{sequence}", source=1, state=State.COMPLETED, title="Grüße\n")
    return Delivery(sequence=sequence, record=record)


def urls(path: Path) -> list[str]:
    return [msgspec.json.decode(line, type=PageRecord).url for line in path.read_bytes().splitlines()]


async def test_every_page_is_one_line_with_every_field(tmp_path: Path) -> None:
    sink = JsonlSink(tmp_path / "deep" / "pages.jsonl")
    await sink.open(None)
    await sink.write([delivery(1), delivery(2)])
    await sink.close()
    lines = sink.path.read_bytes().splitlines()
    assert [set(msgspec.json.decode(line)) for line in lines] == [set(PageRecord.__struct_fields__)] * 2


async def test_the_cursor_says_how_far_and_how_long(tmp_path: Path) -> None:
    sink = JsonlSink(tmp_path / "pages.jsonl")
    start = await sink.open(None)
    first = await sink.write([delivery(4)])
    second = await sink.write([delivery(9)])
    assert start == Cursor(consumer=f"jsonl:{tmp_path}/pages.jsonl", sequence=0, offset=0)
    assert (first.sequence, second.sequence) == (4, 9)
    assert second.offset == sink.path.stat().st_size == 2 * first.offset
    assert await sink.write([]) == second
    await sink.close()


async def test_a_file_that_is_not_ours_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "pages.jsonl"
    path.write_text("precious\n")
    with pytest.raises(StorageError, match="choose another name or delete it"):
        await JsonlSink(path).open(None)
    assert path.read_text() == "precious\n"


async def test_an_empty_file_may_be_used(tmp_path: Path) -> None:
    path = tmp_path / "pages.jsonl"
    path.touch()
    sink = JsonlSink(path)
    assert (await sink.open(None)).sequence == 0
    await sink.close()


async def test_what_lies_beyond_the_cursor_is_cut_off(tmp_path: Path) -> None:
    sink = JsonlSink(tmp_path / "pages.jsonl")
    await sink.open(None)
    cursor = await sink.write([delivery(1)])
    await sink.write([delivery(2)])
    await sink.close()
    with sink.path.open("ab") as file:
        file.write(b'{"url": "https://site.te')
    again = JsonlSink(sink.path)
    assert await again.open(cursor) == cursor
    await again.write([delivery(2), delivery(3)])
    await again.close()
    assert urls(sink.path) == [f"https://site.test/{n}" for n in (1, 2, 3)]


@pytest.mark.parametrize("left", [None, b"{"])
async def test_a_lost_or_shortened_file_is_written_anew(
    tmp_path: Path, left: bytes | None, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "pages.jsonl"
    if left is not None:
        path.write_bytes(left)
    sink = JsonlSink(path)
    with caplog.at_level(logging.WARNING):
        cursor = await sink.open(Cursor(consumer=sink.consumer, sequence=7, offset=100))
    await sink.write([delivery(1)])
    await sink.close()
    assert (cursor.sequence, cursor.offset) == (0, 0)
    assert "writing it anew" in caplog.text
    assert urls(path) == ["https://site.test/1"]


async def test_a_full_disk_is_one_clear_error_and_leaves_whole_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink = JsonlSink(tmp_path / "pages.jsonl")
    await sink.open(None)
    await sink.write([delivery(1)])
    real, calls = os.pwrite, 0

    def fills_up(file: int, data: bytes, offset: int) -> int:
        nonlocal calls
        calls += 1
        if calls > 1:
            raise OSError(28, "No space left on device")
        return real(file, data[:10], offset)

    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", fills_up)
        with pytest.raises(StorageError, match=r"pages.jsonl: cannot be written: No space left on device; make room"):
            await sink.write([delivery(2)])
    assert urls(sink.path) == ["https://site.test/1"]
    await sink.write([delivery(2)])
    await sink.close()
    assert urls(sink.path) == ["https://site.test/1", "https://site.test/2"]


async def test_a_directory_in_the_way_is_named(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="cannot be opened for writing: Is a directory"):
        await JsonlSink(tmp_path).open(Cursor(consumer="x", sequence=0))


CRASH = """
import asyncio, sys
from gossamer.adapters.sink_jsonl import JsonlSink
from gossamer.model import Delivery, PageRecord, State

def delivery(n):
    return Delivery(sequence=n, record=PageRecord(url=f"https://site.test/{n}", source=1, state=State.COMPLETED))

async def main():
    sink = JsonlSink(sys.argv[1])
    await sink.open(None)
    cursor = await sink.write([delivery(1)])
    print(cursor.sequence, cursor.offset, flush=True)
    await sink.write([delivery(2), delivery(3)])

asyncio.run(main())
"""


def run_until_killed(path: Path, point: str) -> tuple[int, int]:
    run = subprocess.run(
        [sys.executable, "-c", CRASH, str(path)],
        env={**os.environ, "GOSSAMER_FAILPOINT": f"{point}:2"},
        capture_output=True,
        text=True,
        start_new_session=True,
    )
    assert run.returncode == -signal.SIGKILL
    sequence, offset = map(int, run.stdout.split())
    return sequence, offset


@pytest.mark.parametrize("point", ["outbox-unwritten", "outbox-half-line", "outbox-written"])
async def test_a_kill_at_any_point_costs_no_line_and_doubles_none(tmp_path: Path, point: str) -> None:
    sink = JsonlSink(tmp_path / "pages.jsonl")
    sequence, offset = run_until_killed(sink.path, point)
    await sink.open(Cursor(consumer=sink.consumer, sequence=sequence, offset=offset))
    await sink.write([delivery(2), delivery(3)])
    await sink.close()
    assert urls(sink.path) == [f"https://site.test/{n}" for n in (1, 2, 3)]
