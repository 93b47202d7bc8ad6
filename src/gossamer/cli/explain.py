from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator

import click
import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gossamer.cli.display import FAINT
from gossamer.cli.options import GroupedCommand, setting_flags
from gossamer.cli.running import ReadableStore, reading
from gossamer.cli.wording import STATE_STYLES, plural, size, skipped, span
from gossamer.config import Loaded, Settings
from gossamer.model import (
    MAX_RANK,
    HostRecord,
    PageInfo,
    RobotsRecord,
    RobotsVerdict,
    Source,
    State,
    product_token,
)
from gossamer.url import path_of

CHAIN_SHOWN = 12


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a URL in one source."""

    source: int
    url: str
    state: State
    why: str
    """In words."""
    reason: str | None
    error: str | None
    http_status: int | None
    depth: int
    attempts: int
    parents: list[str]
    """Nearest first; the last one is a seed."""
    found_at: float
    fetched_at: str | None
    robots: str | None
    next_try: str | None


@click.command("explain", cls=GroupedCommand)
@click.argument("url")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object.")
@setting_flags(["data"])
def command(loaded: Loaded, url: str, as_json: bool) -> None:
    """Tell for any URL what became of it and why: state, reason, the links that led there, the robots.txt rule that
    decided, the next try.
    """
    (spelling,) = loaded.settings.seeds([url])
    explanations = asyncio.run(explain(loaded.settings, spelling, time.time()))
    if as_json:
        known = {"url": spelling, "known": bool(explanations), "sources": explanations}
        click.echo(msgspec.json.encode(known).decode())
    elif not explanations:
        click.echo(f"{spelling} is unknown: no page or redirect in {loaded.settings.data} led to it")
    else:
        _print(spelling, explanations)


async def explain(settings: Settings, url: str, now: float) -> list[Explanation]:
    async with reading(settings) as store:
        sources = {source.id: source for source in await store.sources()}
        return [await _explain(store, sources[page.record.source], page, now) for page in await store.find(url)]


async def _explain(store: ReadableStore, source: Source, page: PageInfo, now: float) -> Explanation:
    record = page.record
    hosts = await store.hosts([page.host])
    host, robots = hosts[0] if hosts else (None, None)
    return Explanation(
        source=source.id,
        url=record.url,
        state=record.state,
        why=_why(page),
        reason=record.reason,
        error=record.error,
        http_status=record.http_status,
        depth=record.depth,
        attempts=page.attempts,
        parents=[parent.record.url for parent in await store.ancestors(page.id)],
        found_at=page.created_at,
        fetched_at=record.fetched_at,
        robots=_robots(source, robots, record.url),
        next_try=_next_try(source, host, now) if record.state is State.PENDING and page.rank < MAX_RANK else None,
    )


def _why(page: PageInfo) -> str:
    record = page.record
    match record.state:
        case State.COMPLETED:
            took = f" in {record.elapsed_ms:,.0f} ms" if record.elapsed_ms is not None else ""
            kind = f" {record.content_type}" if record.content_type else ""
            return f"fetched: {record.http_status},{kind} {size(record.bytes)}{took}"
        case State.SKIPPED:
            target = f": {page.target}" if page.target else f" ({record.error})" if record.error else ""
            return f"{skipped(record.reason)}{target}"
        case State.FAILED:
            return record.error or "it failed"
        case State.PROCESSING:
            return "it is being fetched"
        case State.PENDING if page.rank >= MAX_RANK:
            reason = record.error or (skipped(record.reason) if record.reason else "it lies beyond a limit")
            return f"refused for now, unless a better way to it turns up: {reason}"
        case _:
            return f"it waits for its turn; last try: {record.error}" if record.error else "it waits for its turn"


def _robots(source: Source, robots: RobotsRecord | None, url: str) -> str | None:
    if source.spec.politeness.ignore_robots:
        return "not asked: robots.txt is ignored for this source"
    if robots is None:
        return None
    if robots.verdict is RobotsVerdict.UNREACHABLE:
        return f"could not be fetched, so nothing is allowed for now: {robots.error or robots.status}"
    if robots.verdict is RobotsVerdict.ALLOW_ALL:
        return f"allows everything ({robots.status})"
    return _rule(robots, product_token(source.spec.request.user_agent), path_of(url))


def _rule(robots: RobotsRecord, token: str, path: str) -> str:
    from gossamer.frontier.robots import parse_robots

    allowed, rule = parse_robots(robots.body).verdict(token, path)
    verdict = "allows it" if allowed else "does not allow it"
    return f"{verdict}, by {rule}" if rule else f"{verdict}: no rule for {token} speaks of it"


def _next_try(source: Source, host: HostRecord | None, now: float) -> str:
    if host is not None and host.blocked:
        return f"not now: the host is blocked after {plural(host.failures, 'failure')} ({host.last_error})"
    if host is not None and host.ready_at > now:
        waits = f", waiting for {host.waiting_for}" if host.waiting_for else ""
        return f"not before {span(host.ready_at - now)} from now{waits}"
    if source.state.value in ("stopped", "paused"):
        return "when the crawl is resumed"
    return "when it is its turn"


def _print(url: str, explanations: list[Explanation]) -> None:
    console = Console(highlight=False)
    console.print(Text(url, "bold"))
    for each in explanations:
        table = Table.grid(padding=(0, 2))
        table.add_column(style=FAINT)
        table.add_column(overflow="fold")
        for label, value in _rows(each):
            table.add_row(f"  {label}", value)
        console.print(table)


def _rows(each: Explanation) -> Iterator[tuple[str, Text]]:
    yield "source", Text(str(each.source))
    yield "state", Text.assemble((each.state.value, STATE_STYLES[each.state]), f": {each.why}")
    if each.robots:
        yield "robots.txt", Text(each.robots)
    if each.next_try:
        yield "next try", Text(each.next_try)
    if each.attempts:
        yield "tries", Text(str(each.attempts))
    yield "found", Text(time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(each.found_at)))
    if each.fetched_at:
        yield "fetched", Text(each.fetched_at)
    yield "depth", Text(str(each.depth) if each.parents else f"{each.depth}, a seed")
    for number, parent in enumerate(each.parents[:CHAIN_SHOWN]):
        yield "from" if number == 0 else "", Text(parent + (" (seed)" if number == len(each.parents) - 1 else ""))
    if len(each.parents) > CHAIN_SHOWN:
        yield "", Text(f"and {len(each.parents) - CHAIN_SHOWN:,} more, up to {each.parents[-1]} (seed)", FAINT)
