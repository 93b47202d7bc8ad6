"""The box at the end of a crawl."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from rich import box
from rich.console import Group
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from gossamer.cli.display import FAINT, flow
from gossamer.cli.wording import ENDED, number, plural, rate, size, span, told_changes
from gossamer.config import DEFAULTS, Settings
from gossamer.model import ChangeCounts, EndReason, Summary

_STYLES = {EndReason.FINISHED: "green", EndReason.FAILED: "red"}


def summary_box(summary: Summary, settings: Settings, steps: Sequence[str] | None = None, width: int = 76) -> Panel:
    steps = next_steps(summary, settings) if steps is None else steps
    style = _STYLES.get(summary.reason, "yellow")
    if summary.reason is EndReason.FINISHED and summary.completed == 0:
        style = "red"
    return Panel(
        Group(*flow(_counts(summary), width - 6), Text(), _figures(summary, settings, steps)),
        title=Text(_ended(summary, settings), f"bold {style}"),
        title_align="left",
        border_style=style,
        box=box.ROUNDED,
        padding=(1, 2),
        width=width,
    )


def _ended(summary: Summary, settings: Settings) -> str:
    if summary.reason is EndReason.FINISHED and summary.completed == 0:
        return "Nothing could be fetched"
    if summary.reason is EndReason.MAX_PAGES and settings.max_pages:
        return f"{ENDED[summary.reason]}: {plural(settings.max_pages, 'page')}"
    if summary.reason is EndReason.DURATION and settings.duration:
        return f"{ENDED[summary.reason]}: {span(settings.duration)}"
    kept = ": everything so far is kept" if summary.reason is EndReason.INTERRUPTED else ""
    return ENDED[summary.reason] + kept


def _counts(summary: Summary) -> list[Text]:
    return [
        Text.assemble(("● ", style), (number(count), "bold"), (f" {word}", FAINT))
        for count, word, style in (
            (summary.completed, "completed", "green"),
            (summary.failed, "failed", "red"),
            (summary.skipped, "skipped", "yellow"),
            (summary.pending, "waiting", FAINT),
        )
    ]


def _figures(summary: Summary, settings: Settings, steps: Sequence[str]) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(style=FAINT)
    table.add_column(overflow="fold")
    hosts = plural(summary.hosts, "host")
    table.add_row("time", f"{span(summary.seconds)}, {rate(summary.pages_per_second)} pages/s over {hosts}")
    table.add_row("content", f"{size(summary.bytes)}, {plural(summary.tokens, 'token')}")
    if summary.changes:
        table.add_row("changes", told_changes(summary.changes))
    table.add_row("store", Text(settings.data))
    if settings.out:
        table.add_row("output", Text(settings.out))
    for label, command in zip(("next", ""), steps, strict=False):
        table.add_row(label, Text(command, "cyan"))
    return table


def next_steps(summary: Summary, settings: Settings) -> list[str]:
    """One or two commands that make sense now."""
    data = "" if settings.data == DEFAULTS.data else f" --data {shlex.quote(settings.data)}"
    steps = []
    if summary.pending:
        new_limit = {EndReason.MAX_PAGES: " --max-pages N", EndReason.DURATION: " --duration TIME"}
        steps.append(f"gossamer resume{data}{new_limit.get(summary.reason, '')}")
    if summary.changes and summary.changes != ChangeCounts():
        steps.append(f"gossamer changes{data} --since last")
    if summary.failed:
        steps.append(f"gossamer export{data} --state failed")
    if summary.completed and not settings.out:
        steps.append(f"gossamer export{data} --out pages.jsonl")
    return (steps or [f"gossamer status{data}"])[:2]
