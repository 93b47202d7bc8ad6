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
from gossamer.cli.wording import (
    FOLDS,
    GUIDES,
    STATE_STYLES,
    deferred,
    moment,
    number,
    plural,
    size,
    skipped,
    span,
    told_guides,
)
from gossamer.config import Loaded, Settings
from gossamer.model import (
    MAX_RANK,
    GuideInfo,
    HostRecord,
    PageInfo,
    RobotsRecord,
    RobotsVerdict,
    Source,
    State,
    Why,
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
    """Nearest first; the last one is a seed, or what listed the page."""
    begins_at: str
    """What the last of them is: `seed`, or `listed here`."""
    found_at: float
    fetched_at: str | None
    robots: str | None
    next_try: str | None
    target: str | None
    """The page that it was folded into, or leads to."""
    visits: int
    """After the first one."""
    changes: int
    """Of those visits that found it changed."""
    due_at: float | None
    checked_at: float | None
    """When it was last visited."""
    lastmod: float | None
    """What the sitemap says."""


class Told(msgspec.Struct, frozen=True, kw_only=True):
    url: str
    known: bool
    sources: list[Explanation]
    guides: list[GuideInfo]
    """Where it was read for the URLs that it lists, as a sitemap is."""


@click.command("explain", cls=GroupedCommand)
@click.argument("url")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object.")
@setting_flags(["data"])
def command(loaded: Loaded, url: str, as_json: bool) -> None:
    """Tell for any URL what became of it and why: state, reason, the page it was folded into, the links that led
    there, the robots.txt rule that decided, the next try or visit.
    """
    (spelling,) = loaded.settings.seeds([url])
    told = asyncio.run(explain(loaded.settings, spelling, time.time()))
    if as_json:
        click.echo(msgspec.json.encode(told).decode())
    elif not told.known:
        click.echo(f"{spelling} is unknown: no page, redirect or sitemap in {loaded.settings.data} led to it")
    else:
        _print(told)


async def explain(settings: Settings, url: str, now: float) -> Told:
    async with reading(settings) as store:
        sources = {source.id: source for source in await store.sources()}
        pages = [await _explain(store, sources[page.record.source], page, now) for page in await store.find(url)]
        guides = [guide for source in sources for guide in await store.guides(source) if guide.url == url]
        return Told(url=url, known=bool(pages or guides), sources=pages, guides=guides)


async def _explain(store: ReadableStore, source: Source, page: PageInfo, now: float) -> Explanation:
    record = page.record
    hosts = await store.hosts([page.host])
    host, robots = hosts[0] if hosts else (None, None)
    parents = [parent.record.url for parent in await store.ancestors(page.id)]
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
        parents=parents,
        begins_at="seed" if not parents or parents[-1] in source.spec.seeds else "listed here",
        found_at=page.created_at,
        fetched_at=record.fetched_at,
        robots=_robots(source, robots, record.url),
        next_try=_next_try(source, host, now) if record.state is State.PENDING and page.rank < MAX_RANK else None,
        target=page.target,
        visits=page.visits,
        changes=page.changes,
        due_at=page.due_at,
        checked_at=page.checked_at,
        lastmod=page.lastmod,
    )


def _why(page: PageInfo) -> str:
    record = page.record
    match record.state:
        case State.COMPLETED:
            took = f" in {record.elapsed_ms:,.0f} ms" if record.elapsed_ms is not None else ""
            kind = f" {record.content_type}" if record.content_type else ""
            missed = f"; could not be reached at the last visit: {record.error}" if record.error else ""
            return f"fetched: {record.http_status},{kind} {size(record.bytes)}{took}{missed}"
        case State.SKIPPED:
            return _why_skipped(page)
        case State.FAILED:
            return record.error or "it failed"
        case State.PROCESSING:
            return "it is being fetched"
        case State.PENDING if page.rank >= MAX_RANK:
            detail = f": {page.target or record.error}" if page.target or record.error else ""
            return f"put aside: {deferred(page.rank)}{detail}"
        case _:
            return f"it waits for its turn; last try: {record.error}" if record.error else "it waits for its turn"


def _why_skipped(page: PageInfo) -> str:
    reason, error = page.record.reason, page.record.error
    if page.target and reason in FOLDS:
        likeness = f", {error}" if reason == Why.NEAR_DUPLICATE and error else ""
        return f"folded into {page.target}: {FOLDS[Why(reason)]}{likeness}"
    if error and not page.target:
        return f"{skipped(reason)}: {error}" if reason == Why.TRAP else f"{skipped(reason)} ({error})"
    return f"{skipped(reason)}: {page.target}" if page.target else skipped(reason)


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


def _print(told: Told) -> None:
    console = Console(highlight=False)
    console.print(Text(told.url, "bold"))
    for guide in told.guides:
        note = f" ({guide.error})" if guide.state is State.COMPLETED and guide.error else ""
        console.print(Text(f"  {GUIDES[guide.kind]}: {', '.join(told_guides([guide]))}{note}"))
    for each in told.sources:
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
    yield "found", Text(moment(each.found_at))
    if each.fetched_at:
        yield "fetched", Text(each.fetched_at)
    if each.visits:
        last = f"; last {moment(each.checked_at)}" if each.checked_at else ""
        yield "revisited", Text(f"{plural(each.visits, 'time')}, changed in {number(each.changes)} of them{last}")
    if each.due_at is not None and each.state.final:
        yield "due again", Text(moment(each.due_at))
    if each.lastmod is not None:
        yield "lastmod", Text(f"{moment(each.lastmod)}, by the sitemap")
    yield "depth", Text(str(each.depth) if each.parents else f"{each.depth}, a seed")
    begin = f" ({each.begins_at})"
    for step, parent in enumerate(each.parents[:CHAIN_SHOWN]):
        yield "from" if step == 0 else "", Text(parent + (begin if step == len(each.parents) - 1 else ""))
    if len(each.parents) > CHAIN_SHOWN:
        yield "", Text(f"and {len(each.parents) - CHAIN_SHOWN:,} more, up to {each.parents[-1]}{begin}", FAINT)
