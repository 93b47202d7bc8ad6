"""A crawl that goes nowhere, for the command line to run and show."""

from __future__ import annotations

import asyncio
import sys
import types
from collections.abc import AsyncGenerator, Callable, Collection, Sequence

from gossamer.config import Settings
from gossamer.model import ChangeCounts, ChangeEntry, Counts, EndReason, HostStatus, Stats, Summary
from gossamer.ports import StorageError

Step = Callable[[], None]


def summary(reason: EndReason = EndReason.FINISHED, changes: ChangeCounts | None = None, **counted: int) -> Summary:
    counts = {"completed": 0, "failed": 0, "skipped": 0, "pending": 0, "bytes": 0, "tokens": 0, "hosts": 1} | counted
    return Summary(reason=reason, seconds=2.0, pages_per_second=4.0, changes=changes, **counts)


class FakeCrawl:
    """Pretends to fetch `pages` pages, `tick` seconds each; 0 makes it end at once."""

    def __init__(
        self,
        pages: int = 3,
        tick: float = 0.0,
        error: str | None = None,
        stubborn: bool = False,
        changes: ChangeCounts | None = None,
    ) -> None:
        self.pages, self.tick, self.error, self.stubborn, self.changes = pages, tick, error, stubborn, changes
        self.done = 0
        self.stopped = False

    @property
    def stats(self) -> Stats:
        failed = self.done // 40
        skipped = self.done // 8
        left = self.pages - self.done
        return Stats(
            counts=Counts(
                pending=max(left - 6, 0),
                processing=min(left, 6),
                completed=self.done - failed - skipped,
                failed=failed,
                skipped=skipped,
                bytes=self.done * 31_000,
            ),
            in_flight=min(left, 6),
            hosts=5,
            seconds=self.done * self.tick,
            fetched=self.done,
            pages_per_second=1 / self.tick if self.tick else 0.0,
            eta=left * self.tick,
            busiest=self._hosts(left),
            errors=tuple((f"https://docs.site.test/broken/{n}", "status: 500 Server Error") for n in range(failed)),
        )

    def _hosts(self, left: int) -> tuple[HostStatus, ...]:
        wait = 10 - self.done % 100 / 10
        return (
            HostStatus(key="https://docs.site.test", queued=left, in_flight=min(left, 5)),
            HostStatus(key="http://slow.site.test:8080", queued=left // 3, waiting_for="Crawl-delay", wait=wait),
            HostStatus(key="https://down.site.test", queued=2, waiting_for="backoff", wait=wait * 2, failures=3),
        )

    def stop(self) -> None:
        self.stopped = not self.stubborn

    async def run(self) -> Summary:
        if self.error:
            raise StorageError(self.error)
        while self.done < self.pages and not self.stopped:
            await asyncio.sleep(self.tick)
            self.done += 1
        reason = EndReason.INTERRUPTED if self.stopped else EndReason.FINISHED
        counts = self.stats.counts
        return summary(
            reason,
            completed=counts.completed,
            failed=counts.failed,
            skipped=counts.skipped,
            pending=self.pages - self.done,
            bytes=counts.bytes,
            changes=self.changes,
        )


class FakeApi(types.ModuleType):
    """Stands where `gossamer.api` is and remembers what it was asked for."""

    def __init__(self, crawl: FakeCrawl) -> None:
        super().__init__("gossamer.api")
        self.crawl = crawl
        self.seeds: tuple[str, ...] = ()
        self.settings = Settings()
        self.changed: frozenset[str] = frozenset()
        self.due = False
        self.sources: tuple[int, ...] = ()
        self.since: str | None = None
        self.feed: list[ChangeEntry] = []

    def start(self, seeds: Sequence[str], settings: Settings) -> FakeCrawl:
        self.seeds, self.settings = tuple(seeds), settings
        return self.crawl

    def resume(self, settings: Settings, changed: Collection[str] = ()) -> FakeCrawl:
        self.settings, self.changed = settings, frozenset(changed)
        return self.crawl

    def visit_again(
        self, settings: Settings, changed: Collection[str] = (), *, due: bool = False, sources: Collection[int] = ()
    ) -> FakeCrawl:
        self.settings, self.changed, self.due, self.sources = settings, frozenset(changed), due, tuple(sources)
        return self.crawl

    async def changes(
        self, data: str, *, since: str | None = None, sources: Collection[int] = ()
    ) -> AsyncGenerator[ChangeEntry, None]:
        self.since, self.sources = since, tuple(sources)
        for entry in self.feed:
            yield entry


if __name__ == "__main__":
    # `python fake_crawl.py PAGES TICK STUBBORN gossamer-arguments...`: the real command line around a fake crawl.
    from gossamer.cli import main

    pages, tick, stubborn, *arguments = sys.argv[1:]
    sys.modules["gossamer.api"] = FakeApi(FakeCrawl(int(pages), float(tick), stubborn=stubborn == "stubborn"))
    main(arguments)
