"""What was decided, in the past tense: the contents of one commit."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from gossamer.model.fingerprint import Fingerprint
from gossamer.model.pages import State, Why
from gossamer.model.spec import SourceSpec, SourceState
from gossamer.model.work import Document, LeaseKind


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
    kind: LeaseKind = LeaseKind.PAGE
    target: str | None = None
    """Of a guide: the host that it is about."""
    lastmod: float | None = None


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
    change: Change | None = None
    """What the change feed is told."""
    kind: LeaseKind = LeaseKind.PAGE
    fingerprint: Fingerprint | None = None
    """Of a page that is completed, or will be if nothing better turns up."""
    promoted: bool = False
    """It was read while it was deferred: it keeps its document and all that is known of its answer."""
    listed: int = 0
    """Of a guide: the URLs that it listed and that are in scope."""
    rank: int | None = None
    """Its new place, where that is another: in the queue, if it is pending again, or in the next round."""
    revisit: Revisited | None = None
    """Of a page that was visited before."""
    due_at: float | None = None
    """When to come back, on the wall clock."""


class Change(StrEnum):
    ADDED = "added"
    CHANGED = "changed"
    REMOVED = "removed"


class Revisited(msgspec.Struct, frozen=True, kw_only=True):
    """What a visit after the first one came to."""

    unchanged: bool = False
    """State, reason and content are what they were: the page keeps all it had, and is not delivered again."""
    content_changed: bool = False
    misses: int = 0


class Moved(msgspec.Struct, frozen=True, kw_only=True):
    """Fact: a pending page has another place, and maybe a better road leads to it."""

    page: int
    depth: int
    rank: int
    parent: int | None = None
    position: int | None = None
    """None where the road is the same as before: then the parent stays too."""


class ChangeRecord(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of the change feed, with both texts so that they can be compared."""

    sequence: int
    source: int
    url: str
    change: Change
    at: float
    round: int
    title: str | None = None
    hash: str | None = None
    previous_hash: str | None = None
    before: str | None = None
    """The text that it had; None where it is new."""
    after: str | None = None
    """The text that it got; None where it is gone."""


class PatternRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What must survive about a pattern of URLs on a host."""

    source: int
    host: str
    pattern: str
    admitted: int = 0
    allowed: int = 0
    useful: int = 0
    """Pages of it that brought something new."""
    useless: int = 0
    """Pages of it that were another page, or none."""
    thin: int = 0
    """Pages of it that said hardly anything."""


class Road(msgspec.Struct, frozen=True, kw_only=True):
    """Fact: how the pages of a host are found was settled."""

    source: int
    host: str
    links: bool
    """By links; or else by what guides list alone."""


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
    address: str | None = None
    pace: PaceRecord | None = None
    learnt: Learnt | None = None


class PaceRecord(msgspec.Struct, frozen=True, kw_only=True):
    """How much a host was found to bear."""

    load: float
    """Requests that it works on for us at a time, on average; below 1 it rests between them."""
    ceiling: float | None = None
    """The load above which it was in trouble."""
    least_latency: float | None = None


class Learnt(msgspec.Struct, frozen=True, kw_only=True):
    """What a host taught about its URLs. Counts are of cases that speak for and against."""

    parameters: dict[str, tuple[int, int]] = {}
    """Name of a query parameter: pages that were the same, and not, with another value or without it."""
    order: tuple[int, int] = (0, 0)
    """The same for the order of parameters."""
    missing: Fingerprint | None = None
    """How the host says `not found` with a status of 200."""
    probed: bool = False
    """Whether that is known."""


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
    patterns: list[PatternRecord] = []
    roads: list[Road] = []

    def __bool__(self) -> bool:
        return any(getattr(self, name) for name in self.__struct_fields__)
