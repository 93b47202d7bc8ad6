from __future__ import annotations

import asyncio
import csv
import io
import time
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import BinaryIO

import click
import msgspec
from rich.console import Console
from rich.live import Live
from rich.text import Text

from gossamer.cli.options import GroupedCommand, setting_flags
from gossamer.cli.output import target
from gossamer.cli.running import ReadableStore, reading
from gossamer.cli.wording import plural, rate, span
from gossamer.config import Loaded, Settings
from gossamer.model import PageRecord, State

BATCH = 500
COLUMNS = PageRecord.__struct_fields__
FINAL = [state.value for state in State if state.final]

EXAMPLES = """\b
Examples:
  gossamer export > pages.jsonl
  gossamer export --format csv --state failed --out broken.csv
"""


@click.command("export", cls=GroupedCommand, epilog=EXAMPLES)
@click.option(
    "--format", "form", type=click.Choice(["jsonl", "csv"]), default="jsonl", help="What to write.  [default: jsonl]"
)
@click.option("--state", type=click.Choice(FINAL), help="Only pages in this state.  [default: all final ones]")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Instead of stdout.")
@setting_flags(["data"])
def command(loaded: Loaded, form: str, state: str | None, out: Path | None) -> None:
    """Write all final pages, each once. Works beside a running crawl."""
    with target(out) as file:
        wanted = State(state) if state else None
        asyncio.run(_export(loaded.settings, FORMATS[form], wanted, file))


async def _export(settings: Settings, lines: Lines, wanted: State | None, file: BinaryIO) -> None:
    console, begun, count = Console(stderr=True, highlight=False), time.monotonic(), 0
    async with reading(settings) as store:
        file.write(lines([]))
        with Live(console=console, transient=True, auto_refresh=False) as live:
            async for records in _batches(store):
                chosen = [record for record in records if wanted in (None, record.state)]
                file.write(lines(chosen) if chosen else b"")
                count += len(chosen)
                if console.is_terminal:
                    live.update(Text(_told(count, time.monotonic() - begun)), refresh=True)
        file.flush()
    click.echo(_told(count, time.monotonic() - begun), err=True)


def _told(count: int, seconds: float) -> str:
    return f"{plural(count, 'page')} exported in {span(seconds)}, {rate(count / max(seconds, 1e-9))} a second"


async def _batches(store: ReadableStore) -> AsyncIterator[list[PageRecord]]:
    sources = [source.id for source in await store.sources()]
    after = 0
    while deliveries := await store.deliveries(sources, after, BATCH):
        yield [delivery.record for delivery in deliveries]
        after = deliveries[-1].sequence


Lines = Callable[[Sequence[PageRecord]], bytes]


def _csv(records: Sequence[PageRecord]) -> bytes:
    """Rows; for no records, the head."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerows([[_cell(getattr(record, name)) for name in COLUMNS] for record in records] or [COLUMNS])
    return text.getvalue().encode()


def _cell(value: object) -> object:
    return " ".join(value) if isinstance(value, tuple) else value


FORMATS: dict[str, Lines] = {"jsonl": msgspec.json.Encoder().encode_lines, "csv": _csv}
