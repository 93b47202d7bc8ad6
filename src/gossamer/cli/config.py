from __future__ import annotations

import click
import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gossamer.cli.display import FAINT
from gossamer.cli.options import GroupedCommand, default_text, redacted, setting_flags
from gossamer.config import GROUPS, SETTINGS, Loaded


@click.command("config", cls=GroupedCommand)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object.")
@setting_flags()
def command(loaded: Loaded, as_json: bool) -> None:
    """Show every setting, its value, and where that came from: default, gossamer.toml, environment or flag."""
    shown = redacted(loaded)
    if as_json:
        told = {name: {"value": shown[name], "from": loaded.origins[name]} for name in SETTINGS}
        click.echo(msgspec.json.encode(told).decode())
    else:
        Console(highlight=False).print(_table(loaded))


def _table(loaded: Loaded) -> Table:
    shown = redacted(loaded)
    table = Table(box=None, padding=(0, 2, 0, 0), header_style=FAINT)
    table.add_column("setting", no_wrap=True)
    table.add_column("value", overflow="fold")
    table.add_column("from", overflow="fold")
    for group in GROUPS:
        table.add_row(Text(group, "bold"))
        for name, setting in SETTINGS.items():
            if setting.group == group:
                changed = loaded.origins[name] != "default"
                # A long default list is better told in words.
                value = shown[name] if changed or not setting.kind.many else default_text(setting)
                table.add_row(
                    f"  {name}",
                    Text(value, "bold cyan" if changed else ""),
                    Text(loaded.origins[name], "" if changed else FAINT),
                )
    return table
