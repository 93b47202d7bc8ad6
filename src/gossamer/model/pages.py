"""A page on its way: found, waiting, and as people see it in the end."""

from __future__ import annotations

from collections.abc import Container, Mapping
from enum import IntEnum, StrEnum

import msgspec

from gossamer.model.guide import Entry
from gossamer.model.work import LeaseKind

MAX_RANK = 1 << 20
"""Pages of this rank or above are deferred: they wait for something other than their turn, which `Deferral` tells."""


class Deferral(IntEnum):
    """What a deferred page waits for. Its rank is MAX_RANK plus this."""

    DEPTH = 0
    """Too deep by the roads found so far."""
    NOFOLLOW = 1
    """Only links that are not to be followed lead to it."""
    UNLISTED = 2
    """Only links lead to it while the sitemaps of its host are still being read."""
    BUDGET = 3
    """Its pattern has used up its budget and must first prove its worth."""
    CANONICAL = 4
    """Fetched; its canonical page is not known to exist yet."""
    MISSING = 5
    """Fetched; looks like `not found`, and how its host says so is not known yet."""

    @property
    def fetched(self) -> bool:
        return self >= Deferral.CANONICAL

    @property
    def rank(self) -> int:
        return MAX_RANK + self


class State(StrEnum):
    PENDING = "pending"
    PROCESSING = "processing"
    COMPLETED = "completed"
    FAILED = "failed"
    SKIPPED = "skipped"

    @property
    def final(self) -> bool:
        return self in (State.COMPLETED, State.FAILED, State.SKIPPED)


class Why(StrEnum):
    """Why a page was skipped."""

    ROBOTS = "robots"
    SCOPE = "scope"
    INCLUDE = "include"
    EXCLUDE = "exclude"
    DEPTH = "depth"
    TYPE = "type"
    NOFOLLOW = "nofollow"
    NOINDEX = "noindex"
    REDIRECT = "redirect"
    ADDRESS = "address"
    LENGTH = "length"
    CANONICAL = "canonical"
    DUPLICATE = "duplicate"
    NEAR_DUPLICATE = "near-duplicate"
    SOFT_404 = "soft-404"
    TRAP = "trap"
    UNLISTED = "unlisted"
    """Found by a link only, where sitemaps or other lists are the crawl."""


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A URL that knocks at the door."""

    source: int
    url: str
    depth: int = 0
    parent: int | None = None
    position: int = 0
    hops: int = 0
    """Redirects behind it."""
    nofollow: bool = False
    kind: LeaseKind = LeaseKind.PAGE
    listed: bool = False
    """A seed, or named by a guide, a redirect or a canonical link: not found by a mere link."""
    priority: float | None = None
    """From a sitemap: 0 to 1."""
    lastmod: float | None = None
    """From a sitemap: seconds since 1970."""
    mentions: int = 1
    """How many pages lead to it, as far as they were seen together."""
    about: str | None = None
    """Of a guide: the host of the seed that it was asked for."""


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """Where a page leads."""

    source: int
    urls: tuple[str, ...]
    depth: int
    parent: int | None = None
    hops: int = 0
    nofollow: frozenset[str] = frozenset()
    kind: LeaseKind = LeaseKind.PAGE
    listed: bool = False
    hints: Mapping[str, Entry] = {}
    """What a guide says of its URLs."""
    about: str | None = None

    def candidates(self, wanted: Container[str]) -> list[Candidate]:
        return [
            Candidate(
                source=self.source,
                url=url,
                depth=self.depth,
                parent=self.parent,
                position=position,
                hops=self.hops,
                nofollow=url in self.nofollow,
                kind=self.kind,
                listed=self.listed,
                about=self.about,
                priority=hint.priority if (hint := self.hints.get(url)) else None,
                lastmod=hint.lastmod if hint else None,
            )
            for position, url in enumerate(self.urls)
            if url in wanted
        ]


class Previous(msgspec.Struct, frozen=True, kw_only=True):
    """A page as the last round left it."""

    state: State
    reason: str | None = None
    hash: str | None = None
    etag: str | None = None
    last_modified: str | None = None
    target: str | None = None
    read_at: float = 0.0
    """When its body was last read, on the wall clock; likewise the next."""
    checked_at: float = 0.0
    since: float = 0.0
    """When it was read for the first time."""
    visits: int = 0
    """Since then."""
    changes: int = 0
    """Of those that found it changed."""
    misses: int = 0
    """Answers in a row, in this round, that said that it is gone."""


class PendingPage(msgspec.Struct, frozen=True, kw_only=True):
    """A page that waits in a queue."""

    id: int
    source: int
    url: str
    host: str
    depth: int
    rank: int
    hops: int = 0
    attempts: int = 0
    kind: LeaseKind = LeaseKind.PAGE
    target: str | None = None
    """The canonical page that a deferred one waits for; or the host that a guide is about."""
    previous: Previous | None = None


class Detour(msgspec.Struct, frozen=True, kw_only=True):
    """A page that stands deeper than a road just found: the depth of what lies behind it is wrong too."""

    page: int
    url: str
    rank: int
    final: bool
    links: tuple[str, ...] = ()
    nofollow: tuple[str, ...] = ()
    target: str | None = None
    """Where it redirects to."""


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    pending: int = 0
    processing: int = 0
    completed: int = 0
    failed: int = 0
    skipped: int = 0
    bytes: int = 0
    tokens: int = 0

    @property
    def total(self) -> int:
        return self.pending + self.processing + self.completed + self.failed + self.skipped

    @property
    def final(self) -> int:
        return self.completed + self.failed + self.skipped


class Workload(msgspec.Struct, frozen=True, kw_only=True):
    """What of a source waits in the store."""

    queued: int = 0
    """Pages and guides that may be leased."""
    deferred: int = 0
    improvable: int = 0
    """Of the deferred ones, those that a better road would help."""
    guides: int = 0
    """Of the queued ones, those that are no pages."""


class Twin(msgspec.Struct, frozen=True, kw_only=True):
    """A completed page that may say the same as another."""

    page: int
    url: str
    exact: bool
    sketch: bytes = b""


class FoldEnd(msgspec.Struct, frozen=True, kw_only=True):
    """Where the road of redirects and folds that begins at a URL ends."""

    url: str
    state: State


class GuideInfo(msgspec.Struct, frozen=True, kw_only=True):
    url: str
    kind: LeaseKind
    host: str
    state: State
    about: str | None = None
    listed: int = 0
    """URLs that it listed and that are in scope."""
    error: str | None = None


class PageRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A page as users see it: the line of a JSONL file, the item of an API, what the library yields."""

    url: str
    source: int
    state: State
    http_status: int | None = None
    depth: int = 0
    parent: str | None = None
    position: int = 0
    title: str | None = None
    description: str | None = None
    language: str | None = None
    canonical: str | None = None
    content_type: str | None = None
    bytes: int = 0
    hash: str | None = None
    tokens: int = 0
    links: tuple[str, ...] = ()
    markdown: str | None = None
    fetched_at: str | None = None
    """ISO 8601, UTC."""
    elapsed_ms: float | None = None
    reason: str | None = None
    error: str | None = None


class Delivery(msgspec.Struct, frozen=True, kw_only=True):
    """A committed page on its way out."""

    sequence: int
    record: PageRecord


class PageInfo(msgspec.Struct, frozen=True, kw_only=True):
    """All that the store knows of one page, for `explain`."""

    id: int
    record: PageRecord
    host: str
    rank: int
    attempts: int
    target: str | None = None
    created_at: float = 0.0
    visits: int = 0
    changes: int = 0
    due_at: float | None = None
    """When to come back to it, on the wall clock."""
    lastmod: float | None = None
    checked_at: float | None = None
    """When it was last visited, whatever came of it; likewise on the wall clock."""
