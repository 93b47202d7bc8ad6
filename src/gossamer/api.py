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
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar, Unpack

import msgspec

from gossamer.adapters.egress import own_networks
from gossamer.adapters.store_sqlite import InUseError
from gossamer.config import Settings
from gossamer.config.change import changed_spec, output_path
from gossamer.config.options import Options, settings_from
from gossamer.flow.reader import Reader, is_owed
from gossamer.flow.run import Run
from gossamer.model import PageRecord, Source, SourceSpec, SourceState, State, Stats, Summary
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
            crawling = asyncio.create_task(run.run(sources, make_ingests(self._settings, store, sources)))
            try:
                async with aclosing(self._pages(store, run, [source.id for source in sources], crawling)) as pages:
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
        self, store: Store, run: Run, sources: Sequence[int], crawling: asyncio.Task[Summary]
    ) -> AsyncGenerator[PageRecord, None]:
        """Pages of the wanted states, as they are committed, until the crawl is over and all were asked for."""
        reader = await Reader.open(store, sources)
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
                self._run = make_run(settings, store)
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
    settings.seeds(seeds)

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
        known = await store.sources()
        if not known:
            raise StorageError(
                f"{settings.data} has no crawl to resume: it was cut off before it began; start it again"
            )
        return [msgspec.structs.replace(source, spec=changed_spec(source.spec, settings, changed)) for source in known]

    return Crawl(settings, sources, calls or Callbacks())


def crawl(
    *seeds: str,
    data: str | Path | None = None,
    states: Collection[str] = ("completed",),
    on_page: OnPage | None = None,
    on_done: OnDone | None = None,
    trust_seeds: bool = True,
    **options: Unpack[Options],
) -> Crawl:
    """Crawl some seeds: `async for page in crawl("https://example.com/docs/", max_pages=100)`.

    Pages come as they are committed; `states` chooses which (failed and skipped ones carry their error or reason).
    All settings of the command line are keyword arguments. The work is done in this process unless `processes` asks
    for children. A private address may be crawled if it is a seed's own; say `trust_seeds=False` when the seeds come
    from somebody else, and only `allow_private` counts.
    """
    settings = msgspec.structs.replace(settings_from({"processes": 0, **options}), data=str(data or ""))
    calls = Callbacks(states=frozenset(map(State, states)), on_page=on_page, on_done=on_done)
    return start(seeds, settings, calls, trust_seeds=trust_seeds)


def collect(*seeds: str, data: str | Path | None = None, **options: Unpack[Options]) -> list[PageRecord]:
    """All completed pages, for scripts that do not want to know of asyncio."""

    async def gather() -> list[PageRecord]:
        return [page async for page in crawl(*seeds, data=data, **options)]

    return asyncio.run(gather())
