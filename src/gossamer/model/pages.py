"""A page on its way: found, waiting, and as people see it in the end."""

from __future__ import annotations

from collections.abc import Container
from enum import StrEnum

import msgspec

MAX_RANK = 1 << 20
"""Pages of this rank or above are deferred: refused by the road that found them, unless a better road turns up."""


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


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A URL that knocks at the door."""

    source: int
    url: str
    depth: int = 0
    parent: int | None = None
    position: int = 0
    hops: int = 0
    """Redirects behind it."""
    priority: float | None = None
    """From a sitemap: 0 to 1."""
    nofollow: bool = False


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """Where a page leads."""

    source: int
    urls: tuple[str, ...]
    depth: int
    parent: int | None = None
    hops: int = 0
    nofollow: frozenset[str] = frozenset()

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
            )
            for position, url in enumerate(self.urls)
            if url in wanted
        ]


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
