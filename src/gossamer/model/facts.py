"""What was decided, in the past tense: the contents of one commit."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from gossamer.model.pages import State, Why
from gossamer.model.spec import SourceSpec, SourceState
from gossamer.model.work import Document


class NewPage(msgspec.Struct, frozen=True, kw_only=True):
    """Fact: a URL was let in, or refused with its reason."""

    id: int
    source: int
    url: str
    host: str
    shard: int
    state: State
    depth: int
    rank: int
    parent: int | None = None
    position: int = 0
    hops: int = 0
    reason: Why | None = None
    error: str | None = None


class Leased(msgspec.Struct, frozen=True, kw_only=True):
    """Fact: a page was handed out."""

    page: int
    token: int
    deadline: float
    attempts: int


class Settled(msgspec.Struct, frozen=True, kw_only=True):
    """Fact: what became of a lease or of a queued page: final, or pending again."""

    page: int
    source: int
    url: str
    state: State
    attempts: int = 0
    reason: Why | None = None
    error: str | None = None
    target: str | None = None
    """Where a skipped redirect led."""
    status: int | None = None
    content_type: str | None = None
    etag: str | None = None
    last_modified: str | None = None
    size: int = 0
    """Of the body, after decoding."""
    elapsed: float = 0.0
    finished_at: float = 0.0
    document: Document | None = None


class Moved(msgspec.Struct, frozen=True, kw_only=True):
    """Fact: a better road to a page was found, and its place changed with it."""

    page: int
    depth: int
    rank: int
    parent: int | None
    position: int


class HostRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What must survive about a host. Times are wall clock."""

    key: str
    ready_at: float = 0.0
    wait: float = 0.0
    """How long the wait was when it began; a clock that jumped cannot make it longer."""
    delay: float = 0.0
    failures: int = 0
    answered: bool = False
    blocked: bool = False
    leased: int = 0
    waiting_for: str | None = None
    last_error: str | None = None
    latency: float | None = None


class RobotsVerdict(StrEnum):
    RULES = "rules"
    ALLOW_ALL = "allow-all"
    UNREACHABLE = "unreachable"


class RobotsRecord(msgspec.Struct, frozen=True, kw_only=True):
    host: str
    verdict: RobotsVerdict
    body: bytes = b""
    status: int | None = None
    error: str | None = None
    fetched_at: float = 0.0
    expires_at: float = 0.0


class Cursor(msgspec.Struct, frozen=True, kw_only=True):
    """How far a consumer of the outbox has come, and how long its file was then."""

    consumer: str
    sequence: int
    offset: int = 0


class SourceUpdate(msgspec.Struct, frozen=True, kw_only=True):
    id: int
    state: SourceState
    reason: str | None
    granted: int
    spec: SourceSpec | None = None
    """Only where the spec itself changed: new limits, or a seed that redirected."""


class Batch(msgspec.Struct, kw_only=True):
    """One group commit: all of it becomes true, or none."""

    new: list[NewPage] = []
    moved: list[Moved] = []
    leased: list[Leased] = []
    settled: list[Settled] = []
    hosts: list[HostRecord] = []
    robots: list[RobotsRecord] = []
    sources: list[SourceUpdate] = []
    cursors: list[Cursor] = []

    def __bool__(self) -> bool:
        return any(getattr(self, name) for name in self.__struct_fields__)
