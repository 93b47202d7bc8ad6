from __future__ import annotations

import shlex
from pathlib import Path

import click

from gossamer.cli.options import GroupedCommand, setting_flags
from gossamer.config import Loaded
from gossamer.ports import StorageError

EXAMPLES = """\b
Examples:
  gossamer resume
  gossamer resume --data ./docs-crawl --max-pages 5000 --out pages.jsonl
"""


@click.command("resume", cls=GroupedCommand, epilog=EXAMPLES)
@click.option("--json", "as_json", is_flag=True, help="Print the summary as one JSON object on stdout.")
@setting_flags()
def command(loaded: Loaded, as_json: bool) -> int:
    """Continue every unfinished crawl of a data directory, each as it was asked for.

    Limits given here replace those of before.
    """
    settings = loaded.settings
    require_store(settings.data, "resume")

    from gossamer.api import resume
    from gossamer.cli.running import run_crawl

    title = f"resuming what is in {settings.data}"
    return run_crawl(lambda: resume(settings, loaded.from_flags), settings, title, as_json=as_json)


def require_store(data: str, wish: str) -> None:
    """To continue what never began would make an empty store and call it done."""
    from gossamer.adapters.store_sqlite import DATABASE

    if not Path(data, DATABASE).exists():
        raise StorageError(f"{data} holds no store to {wish}; gossamer crawl URL --data {shlex.quote(data)} makes one")
