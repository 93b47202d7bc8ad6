from __future__ import annotations

import re
from collections.abc import Sequence
from typing import BinaryIO

import click

from gossamer.cli.options import GroupedCommand, setting_flags
from gossamer.config import Loaded

EXAMPLES = """\b
Examples:
  gossamer crawl https://example.org/docs/
  gossamer crawl https://example.org/docs/ --out pages.jsonl --max-depth 3
  gossamer crawl https://example.org/ --scope site --exclude '/archive/' --duration 10m
  gossamer crawl https://example.org/ --seed-from sitemap,links --order best --max-pages 1000
  gossamer crawl --seeds urls.txt --delay auto --concurrency 200 --json > summary.json
  GOSSAMER_AUTH=me:secret gossamer crawl https://intranet.example/ --allow-private 10.0.0.0/8

\b
Every setting can also stand in gossamer.toml (max_pages = 100) or in the environment
(GOSSAMER_MAX_PAGES=100); flags are strongest. `gossamer config` shows what holds.
Ctrl+C stops cleanly, and `gossamer resume` continues. Later, `gossamer recrawl` visits what changed.
"""

_COMMENT = re.compile(r"(?:^|\s)#.*")


@click.command("crawl", cls=GroupedCommand, epilog=EXAMPLES)
@click.argument("urls", nargs=-1, metavar="URL...")
@click.option(
    "--seeds",
    type=click.File("rb"),
    metavar="FILE",
    help="More URLs, one on a line, with # comments if you like; - is stdin.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the summary as one JSON object on stdout.")
@setting_flags()
def command(loaded: Loaded, urls: Sequence[str], seeds: BinaryIO | None, as_json: bool) -> int:
    """Crawl from each URL and keep every page, its links and its text in a data directory.

    Polite by default: robots.txt is obeyed, one request at a time to each host, a second apart. A crawl that was
    stopped, or killed, continues where it was.
    """
    given = [*urls, *seed_lines(seeds)]
    if not given:
        raise click.UsageError("name at least one URL, or a file of them with --seeds.", click.get_current_context())
    settings = loaded.settings
    wanted = settings.seeds(given)

    from gossamer.api import start
    from gossamer.cli.running import run_crawl

    title = f"crawling {wanted[0]}" + (f" and {len(wanted) - 1:,} more" if len(wanted) > 1 else "")
    return run_crawl(lambda: start(wanted, settings), settings, title, as_json=as_json)


def seed_lines(file: BinaryIO | None) -> list[str]:
    """The URLs of a seeds file. Blank lines, and all from a # that begins a line or follows a space, say nothing."""
    if file is None:
        return []
    try:
        text = file.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise click.UsageError(
            f"the seeds in {file.name} are not UTF-8 text: see line {line}.", click.get_current_context()
        ) from None
    lines = (_COMMENT.sub("", line).strip() for line in text.splitlines())
    return [line for line in lines if line]
