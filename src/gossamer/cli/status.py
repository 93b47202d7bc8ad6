from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence

import click
import msgspec
from rich.console import Console
from rich.text import Text

from gossamer.cli.display import FAINT, bar, flow, tally
from gossamer.cli.options import GroupedCommand, setting_flags
from gossamer.cli.running import reading
from gossamer.cli.wording import GUIDES, SOURCE_STYLES, moment, plural, size, told_guides
from gossamer.config import Loaded, Settings
from gossamer.model import Counts, GuideInfo, Source


class SourceStatus(msgspec.Struct, frozen=True):
    source: Source
    counts: Counts
    guides: Sequence[GuideInfo] = ()
    skipped: Mapping[str, int] = {}
    """Why, and how many each time."""

    @property
    def progress(self) -> float:
        return self.counts.final / self.counts.total if self.counts.total else 0.0

    def limits(self) -> dict[str, int]:
        spec = self.source.spec
        limits = {"max_pages": spec.max_pages, "max_depth": spec.scope.max_depth}
        return {name: limit for name, limit in limits.items() if limit is not None}

    def as_json(self) -> dict[str, object]:
        source = self.source
        return {
            "id": source.id,
            "seeds": source.spec.seeds,
            "scope": source.spec.scope.mode,
            "state": source.state,
            "reason": source.reason,
            "limits": self.limits(),
            "counts": {name: getattr(self.counts, name) for name in Counts.__struct_fields__},
            "progress": round(self.progress, 4),
            "created_at": source.created_at,
            "round": source.round,
            "round_began_at": source.round_began_at,
            "guides": self.guides,
            "skipped": self.skipped,
        }


@click.command("status", cls=GroupedCommand)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object.")
@setting_flags(["data"])
def command(loaded: Loaded, as_json: bool) -> None:
    """Show every source of a data directory: its state, counts, limits and progress. Works beside a running crawl."""
    sources = asyncio.run(_read(loaded.settings))
    if as_json:
        click.echo(msgspec.json.encode({"sources": [each.as_json() for each in sources]}).decode())
    elif not sources:
        click.echo(f"{loaded.settings.data} holds no source yet")
    else:
        console = Console(highlight=False)
        for status in sources:
            console.print(*_block(status, min(console.width, 100)), sep="\n")


async def _read(settings: Settings) -> list[SourceStatus]:
    async with reading(settings) as store:
        return [
            SourceStatus(
                source,
                await store.counts(source.id),
                await store.guides(source.id),
                await store.reasons(source.id),
            )
            for source in await store.sources()
        ]


def _block(status: SourceStatus, width: int) -> list[Text]:
    source, spec = status.source, status.source.spec
    more = f" and {plural(len(spec.seeds) - 1, 'more seed')}" if len(spec.seeds) > 1 else ""
    limits = "".join(f", {name.replace('_', ' ')} {limit:,}" for name, limit in status.limits().items())
    reason = f", {source.reason}" if source.reason else ""
    return [
        Text.assemble((f"{source.id}  ", FAINT), (f"{spec.seeds[0]}{more}", "bold")),
        Text.assemble((source.state.value, SOURCE_STYLES[source.state]), reason),
        bar(status.counts, width),
        *flow([*tally(status.counts), Text(size(status.counts.bytes))], width),
        Text(f"{spec.scope.mode.value} scope{limits}{_round(source)}", FAINT),
        *(Text(line, FAINT) for line in (*_guides(status.guides), *_skipped(status.skipped))),
        Text(),
    ]


def _round(source: Source) -> str:
    return f", round {source.round} since {moment(source.round_began_at)}" if source.round > 1 else ""


def _guides(guides: Sequence[GuideInfo]) -> Iterator[str]:
    """A line for each kind: what it listed, and what went wrong."""
    for kind, name in GUIDES.items():
        these = [guide for guide in guides if guide.kind is kind]
        if these:
            yield f"{name}: {', '.join(told_guides(these))}"


def _skipped(reasons: Mapping[str, int]) -> Iterator[str]:
    if reasons:
        yield f"skipped: {', '.join(f'{count:,} {reason}' for reason, count in reasons.items())}"
