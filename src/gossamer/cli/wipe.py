from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import click

from gossamer.cli.options import GroupedCommand, setting_flags
from gossamer.cli.running import reading
from gossamer.cli.wording import plural, size
from gossamer.config import Loaded, Settings
from gossamer.ports import StorageError


@click.command("wipe", cls=GroupedCommand)
@click.option("--yes", is_flag=True, help="Do not ask.")
@setting_flags(["data"])
def command(loaded: Loaded, yes: bool) -> None:
    """Delete the store of a data directory: every source, page and clock in it. Output files stay."""
    from gossamer.adapters.store_sqlite import wipe

    directory = Path(loaded.settings.data)
    if not directory.is_dir():
        click.echo(f"{directory} does not exist; nothing was deleted")
        return
    if not yes:
        _ask(directory, loaded.settings)
    deleted = wipe(directory)
    click.echo(f"deleted {', '.join(map(str, deleted))}" if deleted else f"{directory} holds no store")


def _ask(directory: Path, settings: Settings) -> None:
    if not sys.stdin.isatty():
        raise click.UsageError("this deletes data; say --yes where nobody can be asked.", click.get_current_context())
    click.confirm(f"Delete {_contents(directory, settings)}?", abort=True, err=True)


def _contents(directory: Path, settings: Settings) -> str:
    total = size(sum(file.stat().st_size for file in directory.iterdir() if file.is_file()))
    try:
        sources, pages = asyncio.run(_count(settings))
    except StorageError as error:
        return f"the store in {directory} ({total}), which cannot be read ({error})"
    return f"{plural(sources, 'source')} with {plural(pages, 'page')} in {directory} ({total})"


async def _count(settings: Settings) -> tuple[int, int]:
    async with reading(settings) as store:
        counts = [await store.counts(source.id) for source in await store.sources()]
    return len(counts), sum(each.total for each in counts)
