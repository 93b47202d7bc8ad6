from __future__ import annotations

from collections.abc import Sequence

import click
import msgspec

from gossamer.cli.options import GroupedCommand, setting_flags
from gossamer.cli.resume import require_store
from gossamer.cli.wording import plural
from gossamer.config import SETTINGS, Loaded

EXAMPLES = """\b
Examples:
  gossamer recrawl
  gossamer recrawl --due --duration 1h
  gossamer recrawl --data ./docs-crawl --source 2 --json
  gossamer recrawl && gossamer changes --since last
  gossamer recrawl && gossamer export --out pages.jsonl

\b
Servers are asked whether a page has changed (ETag, Last-Modified); one that has not is neither
sent nor read again. The output file of the first crawl is left alone.
Ctrl+C stops cleanly; `gossamer resume`, or recrawl again, goes on with the same round.
"""


@click.command("recrawl", cls=GroupedCommand, epilog=EXAMPLES)
@click.option("--due", is_flag=True, help="Only pages whose time has come, by how often each was seen to change.")
@click.option("--source", "sources", type=int, multiple=True, metavar="ID", help="Only this source. Repeatable.")
@click.option("--json", "as_json", is_flag=True, help="Print the summary as one JSON object on stdout.")
@setting_flags([name for name in SETTINGS if name != "out"])
def command(loaded: Loaded, due: bool, sources: Sequence[int], as_json: bool) -> int:
    """Visit every finished crawl of a data directory again, and keep what is new, changed or gone.

    A source whose last round was interrupted goes on with it first. Settings given here replace those of before.
    """
    settings = msgspec.structs.replace(loaded.settings, out=None)
    require_store(settings.data, "visit again")

    from gossamer.api import visit_again
    from gossamer.cli.running import run_crawl

    which = plural(len(set(sources)), "source") + " of" if sources else "what is in"
    return run_crawl(
        lambda: visit_again(settings, loaded.from_flags, due=due, sources=sources),
        settings,
        f"visiting {which} {settings.data} again",
        as_json=as_json,
    )
