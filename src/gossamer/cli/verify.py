from __future__ import annotations

import asyncio

import click

from gossamer.cli.entry import Exit
from gossamer.cli.options import GroupedCommand, setting_flags
from gossamer.cli.running import reading
from gossamer.cli.wording import plural
from gossamer.config import Loaded, Settings


@click.command("verify", cls=GroupedCommand)
@setting_flags(["data"])
def command(loaded: Loaded) -> int:
    """Check the invariants of a store. Exit code 0 if it is sound, 3 with a sentence for each that does not hold."""
    violations = asyncio.run(_verify(loaded.settings))
    if not violations:
        click.echo(f"{loaded.settings.data} is sound")
        return Exit.DONE
    for violation in violations:
        click.echo(violation)
    click.echo(f"gossamer: {loaded.settings.data} is not sound: {plural(len(violations), 'violation')}", err=True)
    return Exit.STORAGE


async def _verify(settings: Settings) -> list[str]:
    async with reading(settings) as store:
        return await store.verify()
