"""The resident memory of the dispatcher: the real frontier and the real SQLite store, with a bus that answers at once.

Two crawls, each in a process of its own: 100,000 URLs on one host, all known early, and 10,000 hosts with 10 URLs
each. No network and no parsing, so that what grows is what gossamer keeps. Memory is looked at when a tenth of the
pages is done and from then to the end: flat means that the two are close.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from gossamer.adapters.clock_system import SystemClock
from gossamer.adapters.store_sqlite import SqliteStore
from gossamer.flow.run import Run, RunOptions
from gossamer.model import (
    Counts,
    Document,
    Lease,
    LeaseKind,
    Outcome,
    Politeness,
    Reading,
    RequestOptions,
    Scope,
    ScopeMode,
    SourceSpec,
)
from gossamer.ports import WorkerStatus
from gossamer.url import host_of, path_of

FAN = 100

Links = Callable[[str], tuple[str, ...]]


class EchoBus:
    """Answers every lease at once, with the links that the made-up web has there."""

    def __init__(self, links: Links) -> None:
        self._links = links
        self._ready: list[Outcome] = []

    async def start(self) -> None: ...

    async def send(self, leases: Sequence[Lease]) -> None:
        self._ready += [self._answer(lease) for lease in leases]

    async def receive(self, timeout: float) -> list[Outcome]:  # noqa: ASYNC109 (the port asks for it)
        if not self._ready:
            await asyncio.sleep(timeout)
        outcomes, self._ready = self._ready, []
        return outcomes

    def workers(self) -> list[WorkerStatus]:
        return []

    async def close(self) -> None: ...

    def _answer(self, lease: Lease) -> Outcome:
        if lease.kind is LeaseKind.ROBOTS:
            return Outcome(token=lease.token, status=404)
        document = Document(title=lease.url, links=self._links(lease.url))
        reading = Reading(document=document)
        return Outcome(token=lease.token, status=200, content_type="text/html", size=36_000, reading=reading)


def one_host(pages: int) -> tuple[SourceSpec, Links]:
    """A seed, its index pages, and on each of them links to a hundred pages: known long before they are fetched."""
    root = "http://one.example"
    indexes = pages // FAN

    def links(url: str) -> tuple[str, ...]:
        path = path_of(url)
        if path == "/":
            return tuple(f"{root}/index/{number}/" for number in range(indexes))
        if path.startswith("/index/"):
            return tuple(f"{root}/page/{path.split('/')[2]}/{number}" for number in range(FAN - 1))
        return ()

    return _spec(f"{root}/", Politeness(delay=0.0, per_host=64)), links


def many_hosts(pages: int) -> tuple[SourceSpec, Links]:
    """Hosts with ten pages each, asked a second apart; the first page of a host leads to a hundred other hosts."""
    hosts = pages // 10

    def links(url: str) -> tuple[str, ...]:
        if path_of(url) != "/":
            return ()
        host = host_of(url)
        first = int(host.removeprefix("http://h").removesuffix(".example")) * FAN + 1
        own = tuple(f"{host}/page/{number}" for number in range(9))
        return own + tuple(f"http://h{number}.example/" for number in range(first, min(first + FAN, hosts)))

    return _spec("http://h0.example/", Politeness(delay=1.0)), links


def _spec(seed: str, politeness: Politeness) -> SourceSpec:
    return SourceSpec(
        seeds=(seed,),
        scope=Scope(mode=ScopeMode.ANY),
        politeness=politeness,
        request=RequestOptions(user_agent="gossamer-bench", content=False),
    )


WEBS = {"one-host": one_host, "many-hosts": many_hosts}


@dataclass(frozen=True, kw_only=True)
class Usage:
    """What one crawl needed. Memory in MiB."""

    web: str
    pages: int
    most_waiting: int
    hosts: int
    seconds: float
    start: float
    early: float
    """The most until a tenth of the pages was done."""
    peak: float
    end: float

    @property
    def growth(self) -> float:
        return self.peak - self.early


class Watch:
    """Looks at memory and counts a few times a second, from a thread so that the crawl does not notice."""

    def __init__(self, run: Run, expected: int) -> None:
        self._run = run
        self._tenth = expected // 10
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self.start = self.early = self.peak = resident()
        self.most_waiting = 0

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._over.wait(0.05):
            now, counts = resident(), self._counts()
            self.peak = max(self.peak, now)
            self.most_waiting = max(self.most_waiting, counts.pending)
            if counts.completed <= self._tenth:
                self.early = max(self.early, now)

    def _counts(self) -> Counts:
        return self._run.dispatcher.tally.counts(self._run.dispatcher.frontier.runs())


def resident() -> float:
    """MiB of this process in memory."""
    status = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return int(next(line for line in status if line.startswith("VmRSS:")).split()[1]) / 1024


async def measure(web: str, pages: int) -> Usage:
    spec, links = WEBS[web](pages)
    with tempfile.TemporaryDirectory(prefix="gossamer-bench-") as folder:
        store = await SqliteStore.open(folder)
        try:
            run = Run(store, EchoBus(links), SystemClock(), RunOptions())
            source = await store.add_source(spec, time.time())
            with Watch(run, pages) as watch:
                summary = await run.run([source])
        finally:
            await store.close()
    if summary.failed or summary.skipped or summary.pending:
        raise SystemExit(f"{web}: the crawl did not complete every page: {summary}")
    return Usage(
        web=web,
        pages=summary.completed,
        most_waiting=watch.most_waiting,
        hosts=summary.hosts,
        seconds=round(summary.seconds, 1),
        start=round(watch.start, 1),
        early=round(watch.early, 1),
        peak=round(watch.peak, 1),
        end=round(resident(), 1),
    )


def in_own_process(web: str, pages: int) -> Usage:
    command = [sys.executable, "-m", "benchmarks.memory", "--only", web, "--pages", str(pages), "--json"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return Usage(**json.loads(done.stdout)["usages"][0])


HEADER = (
    f"{'web':<12}{'pages':>9}{'hosts':>8}{'most waiting':>14}{'seconds':>9}"
    f"{'start':>8}{'early':>8}{'peak':>8}{'end':>8}{'growth':>8}  (MiB)"
)


def line(usage: Usage) -> str:
    return (
        f"{usage.web:<12}{usage.pages:>9}{usage.hosts:>8}{usage.most_waiting:>14}{usage.seconds:>9.1f}"
        f"{usage.start:>8.1f}{usage.early:>8.1f}{usage.peak:>8.1f}{usage.end:>8.1f}{usage.growth:>8.1f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=100_000)
    parser.add_argument("--only", choices=sorted(WEBS), help="one of the crawls, in this process")
    parser.add_argument("--json", action="store_true", help="print one JSON object on standard output")
    options = parser.parse_args()
    if not options.json:
        print(HEADER, flush=True)
    usages = []
    for web in [options.only] if options.only else WEBS:
        usage = asyncio.run(measure(web, options.pages)) if options.only else in_own_process(web, options.pages)
        usages.append(usage)
        if not options.json:
            print(line(usage), flush=True)
    if options.json:
        print(json.dumps({"usages": [asdict(usage) for usage in usages]}))


if __name__ == "__main__":
    main()
