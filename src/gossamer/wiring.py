"""Which product does what: the one place that chooses."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from gossamer.adapters.bus_local import LocalBus
from gossamer.adapters.bus_processes.bus import ProcessBus
from gossamer.adapters.bus_processes.watch import Limits
from gossamer.adapters.clock_system import SystemClock
from gossamer.adapters.sink_jsonl import JsonlSink
from gossamer.adapters.store_sqlite import SqliteStore
from gossamer.config import Settings
from gossamer.flow.ingest import Ingest
from gossamer.flow.run import Run, RunOptions
from gossamer.frontier.scoring import Scorer, guarded
from gossamer.model import Source
from gossamer.ports import Bus, Store, WorkerBus


async def open_store(settings: Settings, read_only: bool = False) -> SqliteStore:
    return await SqliteStore.open(settings.data, durability=settings.durability, read_only=read_only)


def make_run(settings: Settings, store: Store, scorer: Scorer | None = None) -> Run:
    options = RunOptions(
        rules=settings.rules(),
        commit_target=settings.commit_target,
        stop_grace=settings.stop_grace,
        duration=settings.duration,
        scorer=guarded(scorer) if scorer else None,
    )
    return Run(store, make_bus(settings), SystemClock(), options)


def make_bus(settings: Settings) -> Bus:
    """Children, or with no processes a worker within this one."""
    if settings.processes == 0:
        return LocalBus(_work_here)
    limits = Limits(parse_timeout=settings.parse_timeout, memory=settings.worker_memory)
    return ProcessBus([sys.executable, "-m", "gossamer.worker"], settings.processes, limits)


async def _work_here(bus: WorkerBus) -> None:
    # Loaded only here: a dispatcher with children need not know how to fetch and read.
    from gossamer.adapters.fetcher_http import HttpFetcher
    from gossamer.flow.fetch import Readers, work
    from gossamer.parse.guides import GuideReader
    from gossamer.parse.page import read

    await work(bus, HttpFetcher(), Readers(page=read, guide=GuideReader))


def make_ingests(settings: Settings, store: Store, sources: Sequence[Source]) -> list[Ingest]:
    """One for every output file that the sources ask for."""
    files: dict[str, list[int]] = {}
    for source in sources:
        if source.spec.out:
            files.setdefault(source.spec.out, []).append(source.id)
    sync = settings.durability == "full"
    sinks = [(JsonlSink(Path(path), sync=sync), ids) for path, ids in files.items()]
    return [Ingest(store, sink, sink.consumer, ids) for sink, ids in sinks]
