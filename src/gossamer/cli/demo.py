from __future__ import annotations

import asyncio
import shlex
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gossamer.cli.display import FAINT
from gossamer.cli.entry import Exit
from gossamer.cli.options import GroupedCommand, setting_flags
from gossamer.cli.progress import display_for
from gossamer.cli.running import exit_code, reading, watch
from gossamer.cli.summary import summary_box
from gossamer.cli.wording import STATE_STYLES, number, size, skipped
from gossamer.config import Loaded, Settings
from gossamer.model import PageRecord, SeedFrom, State, Summary

TITLES_SHOWN = 6


@click.command("demo", cls=GroupedCommand)
@setting_flags(["data"])
def command(loaded: Loaded) -> int:
    """Serve a small example site on loopback, crawl it, and show what came of it.

    On a terminal the site stays up, so that you can look around, until Ctrl+C. The crawl goes into a temporary
    directory unless --data names one.
    """
    from gossamer.testing.example import ExampleSite

    console = Console(highlight=False)
    with _directory(loaded) as data, ExampleSite() as site:
        # Links as well, since they lead to all the endings that a page can have.
        settings = Settings(data=data, delay=0.1, seed_from=(SeedFrom.SITEMAP, SeedFrom.LINKS))
        summary, pages = asyncio.run(_crawl(site.url(), settings))
        code = exit_code(summary)
        if code == Exit.INTERRUPTED:
            return code
        _show(console, pages, site.url().rstrip("/"))
        if sys.stdin.isatty() and console.is_terminal:
            _stay(console, site.url(), settings.data, pages)
        elif "data" not in loaded.from_flags:
            click.echo("Run `gossamer demo` on a terminal, or with --data DIR, to keep the store and look into it.")
    return code


@contextmanager
def _directory(loaded: Loaded) -> Iterator[str]:
    if loaded.origins["data"] != "default":
        yield loaded.settings.data
        return
    with tempfile.TemporaryDirectory(prefix="gossamer-demo-") as directory:
        yield directory


async def _crawl(url: str, settings: Settings) -> tuple[Summary, list[PageRecord]]:
    from gossamer.api import start

    console = Console(stderr=True, highlight=False)
    crawl = start(settings.seeds([url]), settings)
    summary = await watch(crawl, display_for(console, f"crawling the example site at {url}"))
    console.print(summary_box(summary, settings, steps=(), width=min(console.width, 76)))
    async with reading(settings) as store:
        sources = [source.id for source in await store.sources()]
        return summary, [each.record for each in await store.deliveries(sources, 0, 1000)]


def _show(console: Console, pages: Sequence[PageRecord], site: str) -> None:
    console.print(Text("\nWhat became of every URL", "bold"))
    console.print(_outcomes(pages, site))
    titled = [page for page in pages if page.state is State.COMPLETED and page.title]
    console.print(Text("\nSome of what was found", "bold"))
    console.print(_titles(titled[:TITLES_SHOWN], site))
    console.print()


def _outcomes(pages: Sequence[PageRecord], site: str) -> Table:
    groups: dict[tuple[State, str], list[PageRecord]] = {}
    for page in pages:
        groups.setdefault((page.state, _reason(page)), []).append(page)
    table = Table.grid(padding=(0, 2))
    table.add_column(justify="right")
    for _ in range(3):
        table.add_column(overflow="fold")
    for (state, reason), group in sorted(groups.items(), key=lambda item: (item[0][0].value, -len(item[1]))):
        example = Text(f"as {group[0].url.removeprefix(site)}", FAINT)
        table.add_row(number(len(group)), Text(state.value, STATE_STYLES[state]), Text(reason), example)
    return table


def _reason(page: PageRecord) -> str:
    if page.state is State.SKIPPED:
        return skipped(page.reason)
    return (page.error or "it failed") if page.state is State.FAILED else f"{page.http_status}, {page.content_type}"


def _titles(pages: Sequence[PageRecord], site: str) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(style=FAINT, no_wrap=True)
    table.add_column(overflow="fold")
    table.add_column(justify="right", style=FAINT)
    for page in pages:
        table.add_row(Text(page.url.removeprefix(site)), Text(page.title or ""), size(page.bytes))
    return table


def _stay(console: Console, url: str, data: str, pages: Sequence[PageRecord]) -> None:
    """Until Ctrl+C, or a polite kill."""
    odd = next((page.url for page in pages if page.state is State.SKIPPED), url)
    where = f"--data {shlex.quote(data)}"
    console.print(Text("Try in another terminal", "bold"))
    for line in (
        f"gossamer status {where}",
        f"gossamer explain {where} {odd}",
        f"gossamer export {where} --format csv",
    ):
        console.print(Text(f"  {line}", "cyan"), soft_wrap=True)
    console.print(f"\nThe site stays up at [bold]{url}[/bold]. Ctrl+C stops it.")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        while True:
            time.sleep(3600)
    except KeyboardInterrupt:
        console.print()
