"""Run a crawl in front of a person: progress, signals, summary, exit code."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Protocol

import click
import msgspec
from rich.console import Console

from gossamer.cli.entry import Exit
from gossamer.cli.progress import Display, display_for
from gossamer.cli.summary import summary_box
from gossamer.cli.wording import skipped
from gossamer.config import Settings
from gossamer.model import EndReason, PageInfo, State, Stats, Summary
from gossamer.ports import Store

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
REASONS_SHOWN = 5


class Running(Protocol):
    """What the command line needs of `gossamer.api.Crawl`."""

    @property
    def stats(self) -> Stats: ...

    def stop(self) -> None: ...

    async def run(self) -> Summary: ...


class ReadableStore(Store, Protocol):
    async def pages(
        self, source: int, state: State | None = None, after: int = 0, limit: int = 100
    ) -> list[PageInfo]: ...

    async def reasons(self, source: int) -> dict[str, int]: ...


def run_crawl(make: Callable[[], Running], settings: Settings, title: str, *, as_json: bool = False) -> int:
    """From the first request to the exit code."""
    # The store's thread gives the interpreter up with every statement: let it have it back soon.
    sys.setswitchinterval(0.0005)
    return asyncio.run(_run(make, settings, title, as_json=as_json))


async def _run(make: Callable[[], Running], settings: Settings, title: str, *, as_json: bool) -> int:
    console = Console(stderr=True, highlight=False)
    crawl = make()
    summary = await watch(crawl, display_for(console, title, settings.max_pages))
    console.print(summary_box(summary, settings, width=min(console.width, 76)))
    if as_json:
        click.echo(msgspec.json.encode(summary).decode())
    code = exit_code(summary)
    if code == Exit.NOTHING:
        await _tell_why(settings, crawl.stats)
    return code


async def watch(crawl: Running, display: Display) -> Summary:
    """Show a crawl until it ends. The first signal stops it cleanly, the second ends everything."""
    with _signals(crawl, display), display:
        task = asyncio.ensure_future(crawl.run())
        try:
            while not (await asyncio.wait([task], timeout=display.interval))[0]:
                display.show(crawl.stats)
        finally:
            task.cancel()
        return await task


@contextmanager
def _signals(crawl: Running, display: Display) -> Iterator[None]:
    loop, asked = asyncio.get_running_loop(), False

    def stop() -> None:
        nonlocal asked
        if asked:
            display.__exit__(None, None, None)
            sys.stderr.flush()
            # Workers end with their parent, and the store is made to be left like this.
            os._exit(Exit.INTERRUPTED)
        asked = True
        display.stopping()
        crawl.stop()

    for each in SIGNALS:
        loop.add_signal_handler(each, stop)
    try:
        yield
    finally:
        for each in SIGNALS:
            loop.remove_signal_handler(each)


def exit_code(summary: Summary) -> Exit:
    if summary.reason is EndReason.INTERRUPTED:
        return Exit.INTERRUPTED
    if summary.reason is EndReason.FAILED:
        return Exit.STORAGE
    if summary.reason is EndReason.FINISHED and summary.completed == 0:
        return Exit.NOTHING
    return Exit.DONE


@asynccontextmanager
async def reading(settings: Settings) -> AsyncIterator[ReadableStore]:
    """The store of a data directory, to look at only: also while a crawl works in it."""
    from gossamer.wiring import open_store

    store = await open_store(settings, read_only=True)
    try:
        yield store
    finally:
        await store.close()


async def _tell_why(settings: Settings, stats: Stats) -> None:
    reasons = await _reasons(settings) or [f"{url}: {error}" for url, error in stats.errors]
    click.echo("gossamer: nothing could be fetched:", err=True)
    for reason in reasons[:REASONS_SHOWN]:
        click.echo(f"  {reason}", err=True)


async def _reasons(settings: Settings) -> list[str]:
    """Of the newest source that has any."""
    async with reading(settings) as store:
        for source in reversed(await store.sources()):
            failed = await store.pages(source.id, State.FAILED, limit=REASONS_SHOWN)
            refused = await store.pages(source.id, State.SKIPPED, limit=REASONS_SHOWN)
            if failed or refused:
                return [why(page) for page in (*failed, *refused)]
    return []


def why(page: PageInfo) -> str:
    """One line about a page that was not fetched."""
    record = page.record
    if record.state is State.SKIPPED:
        detail = f" ({record.error})" if record.error else ""
        return f"{record.url}: skipped: {skipped(record.reason)}{detail}"
    return f"{record.url}: {record.error or record.state.value}"
