"""What the core needs from outside. Each port has a contract suite in `gossamer.testing` that every adapter passes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Protocol

from gossamer.model import (
    Batch,
    ChangeRecord,
    Counts,
    Cursor,
    Deferral,
    Delivery,
    Detour,
    Fingerprint,
    FoldEnd,
    GuideInfo,
    HostRecord,
    Lease,
    Outcome,
    PageInfo,
    PatternRecord,
    PendingPage,
    RequestOptions,
    Response,
    Road,
    RobotsRecord,
    Source,
    SourceSpec,
    Twin,
    Validators,
    Workload,
)


class StorageError(Exception):
    """The store could not do what it was asked; its text says what to do about it."""


class Clock(Protocol):
    def now(self) -> float:
        """Seconds that only go forward. Decisions use this."""

    def wall(self) -> float:
        """Seconds since 1970. Only what is written down uses this."""

    async def sleep(self, seconds: float) -> None: ...


class Store(Protocol):
    """The truth. One writer; every method is atomic; what `commit` returned from is durable."""

    async def claim(self) -> int:
        """Become the owner: a new epoch, and every page that a former owner left `processing` is `pending` again
        (with its attempts as they were). Hosts with `leased > 0` keep that count, so that the new owner waits."""

    async def add_source(self, spec: SourceSpec, created_at: float) -> Source: ...

    async def sources(self) -> list[Source]: ...

    async def reserve(self, pages: int) -> int:
        """The first of `pages` consecutive page ids that nobody else will use."""

    async def unseen(self, source: int, urls: Sequence[str], *, guides: bool = False) -> list[str]:
        """Those of `urls` that the source has no page for (or no guide or probe), in order. Exact. A URL may be both
        a page and a guide: they do not know of each other."""

    async def deferred(self, source: int, urls: Sequence[str]) -> list[PendingPage]:
        """Those pages among `urls` that are pending and deferred (rank >= MAX_RANK)."""

    async def detours(self, source: int, depths: Mapping[str, int]) -> list[Detour]:
        """Those pages among the URLs that stand deeper than the depth given for them, and that lead or may lead
        further (not deferred ones)."""

    async def some_deferred(
        self, source: int, limit: int, *, host: str | None = None, kind: Deferral | None = None, after: int = 0
    ) -> list[PendingPage]:
        """Up to `limit` deferred pages of a source with ids beyond `after`, by id; only those of one host, or those
        that wait for one thing, where asked."""

    async def mentioned(self, source: int, urls: Sequence[str]) -> list[PendingPage]:
        """Those pages among `urls` that are pending and not deferred."""

    async def hosts(self, keys: Sequence[str]) -> list[tuple[HostRecord, RobotsRecord | None]]:
        """What is remembered of these hosts; unknown ones are left out."""

    async def pending_hosts(self, sources: Sequence[int], after: str, limit: int, tried: int = 0) -> list[str]:
        """Hosts with pending, not deferred pages of these sources, in order of key, from beyond `after`. Only pages
        with at least `tried` attempts count."""

    async def pending(
        self, source: int, host: str, after: tuple[int, int], limit: int, tried: int = 0
    ) -> list[PendingPage]:
        """The next pending, not deferred pages of one source on one host, with (rank, id) beyond `after`, in that
        order, and with at least `tried` attempts."""

    async def commit(self, batch: Batch) -> None:
        """Make all of it true at once.

        Every page that becomes final gets an outbox row, in the order given, and loses the one it had from an earlier
        round; one that was visited and found unchanged keeps the row that it has. Guides and probes are in no outbox
        and no count. A settled page that is not completed any more loses its document and fingerprint.
        A settled page with a `change` gets a row in the change feed, with the text that it had."""

    async def counts(self, source: int) -> Counts:
        """Of its pages; guides are not counted."""

    async def workload(self, source: int) -> Workload: ...

    async def guides(self, source: int) -> list[GuideInfo]:
        """All that the source was found by, in the order found. No probes."""

    async def roads(self, source: int) -> list[Road]: ...

    async def patterns(self, source: int, hosts: Sequence[str]) -> list[PatternRecord]: ...

    async def twins(self, source: int, fingerprints: Sequence[Fingerprint]) -> list[list[Twin]]:
        """For each, the completed pages with the same body (exact, at most one), and up to 16 that share a band."""

    async def fingerprints(self, pages: Sequence[int]) -> dict[int, Fingerprint]: ...

    async def fold_ends(self, source: int, urls: Sequence[str]) -> dict[str, FoldEnd]:
        """For each URL that is a page of the source: where its redirects and folds end, after at most 10 of them."""

    async def begin_round(self, source: int, at: float, due: float | None = None) -> Source:
        """Visit a source again: its guides, and its pages that were fetched or that depend on the road to them (or
        only those due by `due`, and guides), are pending again, with nothing forgotten. Pages of the sitemap with a
        `lastmod` later than their last visit are always due. Resets `granted`, raises `round`."""

    async def relist(self, source: int, lastmods: Mapping[str, float]) -> list[PendingPage]:
        """Sitemaps say when these pages changed last. In a recrawl those that changed after their last visit, and that
        were not to be visited, are pending again. Returns these."""

    async def reopen_folds(self, source: int) -> int:
        """Pages that were folded into one that has changed or gone since then are pending again, without validators.
        Returns how many."""

    async def changes(self, sources: Sequence[int], after: int, since: float, limit: int) -> list[ChangeRecord]:
        """The change feed from beyond sequence `after`, at or later than `since`, in order."""

    async def deliveries(self, sources: Sequence[int], after: int, limit: int) -> list[Delivery]:
        """Outbox rows of these sources with sequence beyond `after`, in order, with the page as it is now."""

    async def cursor(self, consumer: str) -> Cursor | None: ...

    async def find(self, url: str, source: int | None = None) -> list[PageInfo]:
        """Every source's page with this URL (or only that source's)."""

    async def ancestors(self, page: int) -> list[PageInfo]:
        """The parents of a page, nearest first, up to a seed."""

    async def verify(self) -> list[str]:
        """One sentence for every invariant of the store that does not hold."""

    async def close(self) -> None: ...


class Fetcher(Protocol):
    """Asks one URL once. Never follows a redirect and never raises for what the network does."""

    async def fetch(
        self,
        url: str,
        options: RequestOptions,
        *,
        max_body: int | None = None,
        validators: Validators = Validators(),  # noqa: B008 (frozen)
        into: Callable[[bytes], bool] | None = None,
    ) -> Response:
        """`max_body`: the beginning of a body is wanted, and no more. `into` takes the body of a 2xx answer piece by
        piece, so that nothing of it is kept; when it says False the rest is not read, which is no error."""

    async def close(self) -> None: ...


class Bus(Protocol):
    """The dispatcher's end. A hint: what it loses, the sweeper returns."""

    async def start(self) -> None: ...

    async def send(self, leases: Sequence[Lease]) -> None: ...

    async def receive(self, patience: float) -> list[Outcome]:
        """All outcomes that are there, or after at most `patience` seconds none."""

    def workers(self) -> list[WorkerStatus]: ...

    async def close(self) -> None: ...


class WorkerStatus(Protocol):
    name: str
    in_flight: int
    restarts: int


class WorkerBus(Protocol):
    """A worker's end of the bus."""

    def leases(self) -> AsyncIterator[list[Lease]]: ...

    async def send(self, outcome: Outcome) -> None: ...

    def parsing(self, token: int) -> None:
        """The page of this lease is about to be parsed (0: parsing is over). If the worker dies or hangs meanwhile,
        that page is to blame and no other."""


class Sink(Protocol):
    """Where committed pages go. Writes, then says how far it came; told on opening how far it had come."""

    async def open(self, cursor: Cursor | None) -> Cursor: ...

    async def write(self, deliveries: Sequence[Delivery]) -> Cursor: ...

    async def close(self) -> None: ...
