from __future__ import annotations

import asyncio
import io
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import BinaryIO

import click
import msgspec
from rich.console import Console
from rich.text import Text

from gossamer.cli.display import FAINT
from gossamer.cli.options import GroupedCommand, setting_flags
from gossamer.cli.output import LateProgress, target
from gossamer.cli.wording import CHANGE_STYLES, plural, told_changes
from gossamer.config import FlagError, Loaded
from gossamer.model import Change, ChangeCounts, ChangeEntry

EXAMPLES = """\b
Examples:
  gossamer changes --since last
  gossamer changes --since 2d --format text
  gossamer changes --since 2026-11-01 --out changes.jsonl
  gossamer changes | jq -r 'select(.change == "removed").url'

\b
A line is {"change", "url", "source", "at", "round", "title", "hash", "previous_hash", "diff"}.
The first crawl of a source is what later ones are compared with, and is not in the feed.
"""

Render = Callable[[ChangeEntry], bytes]


@click.command("changes", cls=GroupedCommand, epilog=EXAMPLES)
@click.option(
    "--since",
    metavar="WHEN",
    help="A date or time (UTC if no zone is given), a time ago as in 2d, or last: the beginning of the last round."
    "  [default: all]",
)
@click.option("--source", "sources", type=int, multiple=True, metavar="ID", help="Only this source. Repeatable.")
@click.option(
    "--format", "form", type=click.Choice(["jsonl", "text"]), default="jsonl", help="What to write.  [default: jsonl]"
)
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Instead of stdout.")
@setting_flags(["data"])
def command(loaded: Loaded, since: str | None, sources: Sequence[int], form: str, out: Path | None) -> None:
    """Tell which pages recrawls found added, changed (with a diff of the text) or removed, in order. Works beside a
    running crawl.
    """
    _check(since)
    shown = form == "text" and out is None and sys.stdout.isatty()
    with target(out) as file, LateProgress(wanted=not shown) as progress:
        counts = asyncio.run(_write(loaded.settings.data, since, sources, RENDERS[form], file, progress))
        file.flush()
    click.echo(told_changes(counts), err=True)


def _check(since: str | None) -> None:
    from gossamer.config.since import read_since

    try:
        read_since(since, 0.0)
    except ValueError as error:
        raise FlagError(f"--since: {error}") from None


async def _write(
    data: str, since: str | None, sources: Sequence[int], render: Render, file: BinaryIO, progress: LateProgress
) -> ChangeCounts:
    from gossamer.api import changes

    counts: Counter[Change] = Counter()
    async with aclosing(changes(data, since=since, sources=sources)) as entries:
        async for entry in entries:
            file.write(render(entry))
            counts[entry.change] += 1
            progress.show(f"{plural(counts.total(), 'change')} so far")
    return ChangeCounts(**{change.value: count for change, count in counts.items()})


def _json(entry: ChangeEntry) -> bytes:
    return msgspec.json.encode(entry) + b"\n"


def _text(entry: ChangeEntry) -> bytes:
    console = Console(file=io.StringIO(), force_terminal=sys.stdout.isatty(), highlight=False, width=10_000)
    console.print(*_lines(entry), sep="\n")
    assert isinstance(console.file, io.StringIO)  # noqa: S101 - as made above
    return console.file.getvalue().encode()


def _lines(entry: ChangeEntry) -> Iterator[Text]:
    style = CHANGE_STYLES[entry.change]
    title = f"  {entry.title}" if entry.title else ""
    yield Text.assemble((f"{entry.change.value:<8}", style), (entry.url, "bold"), title, (f"  {entry.at}", FAINT))
    for line in (entry.diff or "").splitlines()[2:]:
        yield Text(f"    {line}", _DIFF_STYLES.get(line[:1], ""))


_DIFF_STYLES = {"+": "green", "-": "red", "@": "cyan", "\\": FAINT, " ": FAINT}
RENDERS: dict[str, Render] = {"jsonl": _json, "text": _text}
