"""The library: `async for page in crawl("https://example.com/docs/")`.

Asking for the next page acknowledges the last one. With a data directory a crawl that was cut off goes on where it
was, and pages that were not acknowledged come again; without one it lives in a temporary directory.
"""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Collection, Iterator, Sequence
from contextlib import aclosing, asynccontextmanager, contextmanager, suppress
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar, Unpack

import msgspec

from gossamer.adapters.egress import own_networks
from gossamer.adapters.store_sqlite import InUseError
from gossamer.config import Settings
from gossamer.config.change import changed_spec, output_path
from gossamer.config.options import Options, settings_from
from gossamer.config.settings import possible
from gossamer.config.since import read_since
from gossamer.flow.changes import feed
from gossamer.flow.reader import Reader, is_owed
from gossamer.flow.rounds import is_over, next_round
from gossamer.flow.run import Run
from gossamer.frontier.scoring import Scorer
from gossamer.model import (
    ChangeEntry,
    PageRecord,
    Source,
    SourceSpec,
    SourceState,
    State,
    Stats,
    Summary,
)
from gossamer.ports import StorageError, Store
from gossamer.url import host_of
from gossamer.wiring import make_ingests, make_run, open_store

OnPage = Callable[[PageRecord], Awaitable[None] | None]
OnDone = Callable[[Summary], Awaitable[None] | None]

_Value = TypeVar("_Value")


class Callbacks(msgspec.Struct, frozen=True, kw_only=True):
    states: frozenset[State] = frozenset({State.COMPLETED})
    on_page: OnPage | None = None
    on_done: OnDone | None = None
    score: Scorer | None = None
    """How much a page promises, 0 to 1: better ones go first."""
    from_now: bool = False
    """Where no page was ever asked for, begin with those that are committed from now on."""


class Crawl:
    """One crawl. Iterate over it or `run` it, once; look at `stats` and `stop` it at any time."""

    def __init__(
        self, settings: Settings, sources: Callable[[Store], Awaitable[list[Source]]], calls: Callbacks
    ) -> None:
        self._settings = settings
        self._sources = sources
        self._calls = calls
        self._run: Run | None = None
        self._stop_asked = False
        self.summary: Summary | None = None
        """How it ended, once it has."""

    @property
    def stats(self) -> Stats:
        return self._run.stats if self._run else Stats()

    def stop(self) -> None:
        """End soon and cleanly: nothing new is begun, what is under way has a moment to finish."""
        self._stop_asked = True
        if self._run:
            self._run.stop()

    async def run(self) -> Summary:
        """Crawl to the end, calling back for every page where a callback was given."""
        if self._calls.on_page is None:
            async with self._opened() as (store, run, sources):
                summary = await run.run(sources, make_ingests(self._settings, store, sources))
            return await self._done(summary)
        async for _ in self:
            pass
        assert self.summary is not None  # noqa: S101 (an iteration that ends has a summary)
        return self.summary

    async def __aiter__(self) -> AsyncIterator[PageRecord]:
        async with self._opened() as (store, run, sources):
            ids = [source.id for source in sources]
            reader = await Reader.open(store, ids, from_now=self._calls.from_now)
            crawling = asyncio.create_task(run.run(sources, make_ingests(self._settings, store, sources)))
            try:
                async with aclosing(self._pages(reader, run, crawling)) as pages:
                    async for page in pages:
                        await _call(self._calls.on_page, page)
                        yield page
                summary = await crawling
            finally:
                crawling.cancel()
                with suppress(asyncio.CancelledError):
                    await asyncio.gather(crawling, return_exceptions=True)
        await self._done(summary)

    async def _pages(
        self, reader: Reader, run: Run, crawling: asyncio.Task[Summary]
    ) -> AsyncGenerator[PageRecord, None]:
        """Pages of the wanted states, as they are committed, until the crawl is over and all were asked for."""
        try:
            with run.dispatcher.commits.listen() as news:
                more = True
                while more:
                    more = await news() if not crawling.done() else False
                    while deliveries := await reader.more():
                        for delivery in deliveries:
                            if delivery.record.state in self._calls.states:
                                yield delivery.record
                            run.dispatcher.acknowledge(reader.acknowledge(delivery))
        finally:
            await reader.close()

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator[tuple[Store, Run, list[Source]]]:
        with _place(self._settings) as settings:
            store = await _open_patiently(settings)
            try:
                sources = await self._sources(store)
                self._run = make_run(settings, store, self._calls.score)
                if self._stop_asked:
                    self._run.stop()
                yield store, self._run, sources
            finally:
                await store.close()

    async def _done(self, summary: Summary) -> Summary:
        self.summary = summary
        await _call(self._calls.on_done, summary)
        return summary


@contextmanager
def _place(settings: Settings) -> Iterator[Settings]:
    """The data directory: the one that was named, or one that lives as long as the crawl."""
    if settings.data:
        yield settings
    else:
        with TemporaryDirectory(prefix="gossamer-") as folder:
            yield msgspec.structs.replace(settings, data=folder)


async def _open_patiently(settings: Settings) -> Store:
    """An iteration that was broken off is closed by the event loop a moment later: its directory is free only then."""
    patience = time.monotonic() + settings.stop_grace
    while True:
        try:
            return await open_store(settings)
        except InUseError as error:
            if not error.by_us or time.monotonic() > patience:
                raise
        await asyncio.sleep(0.01)


async def _call(callback: Callable[[_Value], Awaitable[None] | None] | None, value: _Value) -> None:
    result = callback(value) if callback else None
    if inspect.isawaitable(result):
        await result


def start(
    seeds: Sequence[str], settings: Settings, calls: Callbacks | None = None, *, trust_seeds: bool = True
) -> Crawl:
    """A crawl of new seeds; if the data directory knows them from a crawl that did not finish, or whose pages were not
    all read, that one goes on."""
    possible(settings.source_spec(seeds))

    async def sources(store: Store) -> list[Source]:
        spec = await _spec(seeds, settings, trust_seeds=trust_seeds)
        for source in await store.sources():
            if source.spec.seeds[: len(spec.seeds)] != spec.seeds:
                continue
            if source.state is not SourceState.COMPLETED or await is_owed(store, source.id):
                wished = msgspec.structs.replace(spec, seeds=source.spec.seeds, out=spec.out or source.spec.out)
                return [msgspec.structs.replace(source, spec=wished)]
        return [await store.add_source(spec, time.time())]

    return Crawl(settings, sources, calls or Callbacks())


async def _spec(seeds: Sequence[str], settings: Settings, *, trust_seeds: bool) -> SourceSpec:
    own = await own_networks(map(host_of, settings.seeds(seeds))) if trust_seeds else ()
    return msgspec.structs.replace(settings.source_spec(seeds, own), out=output_path(settings))


def resume(settings: Settings, changed: Collection[str] = (), calls: Callbacks | None = None) -> Crawl:
    """All sources of a data directory, each where it was: finished ones only see to it that their output is whole."""

    async def sources(store: Store) -> list[Source]:
        known = await _known(store, settings.data, "resume")
        return [msgspec.structs.replace(source, spec=changed_spec(source.spec, settings, changed)) for source in known]

    return Crawl(settings, sources, calls or Callbacks())


def visit_again(
    settings: Settings,
    changed: Collection[str] = (),
    calls: Callbacks | None = None,
    *,
    due: bool = False,
    sources: Collection[int] = (),
) -> Crawl:
    """A further round for all sources of a data directory, or for some; one whose last round is not over goes on with
    that. `due`: only pages whose time has come."""

    async def rounds(store: Store) -> list[Source]:
        known = _chosen(await _known(store, settings.data, "visit again"), sources, settings.data)
        # Whatever is wrong with the new wishes must be known before the first round begins.
        specs = [changed_spec(source.spec, settings, changed) for source in known]
        for ingest in make_ingests(settings, store, [source for source in known if is_over(source)]):
            await ingest.catch_up()
        begun = [await next_round(store, source, time.time(), due=due) for source in known]
        return [
            msgspec.structs.replace(source, spec=msgspec.structs.replace(spec, out=source.spec.out))
            for source, spec in zip(begun, specs, strict=True)
        ]

    return Crawl(settings, rounds, calls or Callbacks())


async def _known(store: Store, data: str, wish: str) -> list[Source]:
    known = await store.sources()
    if not known:
        raise StorageError(f"{data} has no crawl to {wish}: it was cut off before it began; start it again")
    return known


def _chosen(known: list[Source], wanted: Collection[int], data: str) -> list[Source]:
    missing = set(wanted).difference(source.id for source in known)
    if missing:
        there = ", ".join(str(source.id) for source in known) or "none"
        raise StorageError(f"{data} has no source {min(missing)}; its sources are: {there}")
    return [source for source in known if not wanted or source.id in wanted]


def crawl(
    *seeds: str,
    data: str | Path | None = None,
    states: Collection[str] = ("completed",),
    on_page: OnPage | None = None,
    on_done: OnDone | None = None,
    score: Scorer | None = None,
    trust_seeds: bool = True,
    **options: Unpack[Options],
) -> Crawl:
    """Crawl some seeds: `async for page in crawl("https://example.com/docs/", max_pages=100)`.

    Pages come as they are committed; `states` chooses which (failed and skipped ones carry their error or reason).
    `score` puts promising pages first: it is given a `PageFacts` and answers 0 to 1.
    All settings of the command line are keyword arguments. The work is done in this process unless `processes` asks
    for children. A private address may be crawled if it is a seed's own; say `trust_seeds=False` when the seeds come
    from somebody else, and only `allow_private` counts.
    """
    calls = Callbacks(states=frozenset(map(State, states)), on_page=on_page, on_done=on_done, score=score)
    return start(seeds, _settings(data, options), calls, trust_seeds=trust_seeds)


def recrawl(
    data: str | Path,
    *,
    due: bool = False,
    sources: Collection[int] = (),
    states: Collection[str] = ("completed",),
    on_page: OnPage | None = None,
    on_done: OnDone | None = None,
    **options: Unpack[Options],
) -> Crawl:
    """Visit what a data directory holds again: `async for page in recrawl("docs-crawl", due=True)`.

    Pages that are new or that changed come as they are committed, and only those; `changes` tells of removed ones too.
    Options that are given replace those of the crawl before.
    """
    if options.get("out"):
        raise ValueError("out: a recrawl writes no file; take the pages as they come, or export them when it is done")
    calls = Callbacks(states=frozenset(map(State, states)), on_page=on_page, on_done=on_done, from_now=True)
    return visit_again(_settings(data, options), set(options), calls, due=due, sources=sources)


def _settings(data: str | Path | None, options: Options) -> Settings:
    return msgspec.structs.replace(settings_from({"processes": 0, **options}), data=str(data or ""))


async def changes(
    data: str | Path, *, since: str | datetime | None = None, sources: Collection[int] = ()
) -> AsyncGenerator[ChangeEntry, None]:
    """The change feed of a data directory: what recrawls found added, changed or removed, in order.

    `since` is a time, or text as the command line takes it: `2026-11-01`, `2d`, `last`. Works beside a running crawl.
    """
    begins = read_since(since, time.time())
    store = await open_store(_settings(data, {}), read_only=True)
    try:
        chosen = _chosen(await store.sources(), sources, str(data))
        async with aclosing(feed(store, {source.id: begins(source) for source in chosen})) as entries:
            async for entry in entries:
                yield entry
    finally:
        await store.close()


def collect(*seeds: str, data: str | Path | None = None, **options: Unpack[Options]) -> list[PageRecord]:
    """All completed pages, for scripts that do not want to know of asyncio."""

    async def gather() -> list[PageRecord]:
        return [page async for page in crawl(*seeds, data=data, **options)]

    return asyncio.run(gather())
