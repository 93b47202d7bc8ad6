"""The nouns that two rooms or more share.

All are frozen msgspec structs: cheap to make, and the same bytes on a pipe, on a bus and in a file.
"""

from __future__ import annotations

import re
from collections.abc import Container
from enum import StrEnum
from functools import lru_cache

import msgspec

from gossamer.url import TRACKING

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


class Fault(StrEnum):
    """The class of what went wrong in a fetch. The text beside it tells the rest."""

    DNS = "dns"
    CONNECT = "connect"
    TLS = "tls"
    TIMEOUT = "timeout"
    RESET = "reset"
    PROTOCOL = "protocol"
    SLOW = "slow"
    TOO_LARGE = "too-large"
    ENCODING = "encoding"
    ADDRESS = "address"
    STATUS = "status"
    PARSE = "parse"
    WORKER = "worker"
    RETURNED = "returned"
    BLOCKED = "host-blocked"


class ScopeMode(StrEnum):
    PREFIX = "prefix"
    HOST = "host"
    SITE = "site"
    ANY = "any"


class SourceState(StrEnum):
    RUNNING = "running"
    PAUSED = "paused"
    COMPLETED = "completed"
    STOPPED = "stopped"
    FAILED = "failed"


class EndReason(StrEnum):
    FINISHED = "finished"
    MAX_PAGES = "max-pages"
    DURATION = "duration"
    INTERRUPTED = "interrupted"
    FAILED = "failed"


class Scope(msgspec.Struct, frozen=True, kw_only=True):
    mode: ScopeMode = ScopeMode.PREFIX
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    max_depth: int | None = None
    skip_types: tuple[str, ...] = ()
    max_url_length: int = 2_048
    drop_parameters: tuple[str, ...] | None = None


class Politeness(msgspec.Struct, frozen=True, kw_only=True):
    delay: float | None = 1.0
    """Seconds from the end of a request to the start of the next; None adapts to the response time."""
    max_delay: float = 60.0
    """The most that a Crawl-delay may ask for, and the bound of an adaptive delay."""
    per_host: int = 16
    """Requests at once to one host, when the delay is 0."""
    ignore_robots: bool = False


class RequestOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How to ask: all that a worker needs to know of a source."""

    user_agent: str
    headers: tuple[tuple[str, str], ...] = ()
    auth: tuple[str, str] | None = None
    auth_hosts: tuple[str, ...] = ()
    """Hosts (scheme, host and port) that may see `auth` and `headers`: those of the seeds. Nobody else's business."""
    proxy: str | None = None
    cookies: bool = False
    allow_private: tuple[str, ...] = ()
    """Networks (CIDR) that would otherwise be refused."""
    max_body: int = 10 * 1024 * 1024
    max_headers: int = 64 * 1024
    connect_timeout: float = 10.0
    first_byte_timeout: float = 30.0
    total_timeout: float = 60.0
    min_rate: int = 256
    """Bytes a second, over any 10 seconds of a body; a server slower than that is let go."""
    content: bool = True
    drop_parameters: tuple[str, ...] | None = None

    @property
    def dropped(self) -> frozenset[str]:
        """The query parameters that are no part of a URL's identity."""
        return TRACKING if self.drop_parameters is None else frozenset(map(str.lower, self.drop_parameters))


_PRODUCT = re.compile(r"(?:Mozilla/[\d.]+ \(compatible; *)?([A-Za-z0-9_-]+)", re.IGNORECASE)


@lru_cache(maxsize=64)
def product_token(user_agent: str) -> str:
    """The name that robots files and robots tags know a crawler by.

    It is what stands before the version: `gossamer` of `gossamer/1.0` and of `Mozilla/5.0 (compatible; gossamer/1.0)`.
    """
    match = _PRODUCT.match(user_agent.strip())
    return match[1] if match else "*"


class SourceSpec(msgspec.Struct, frozen=True, kw_only=True):
    """What a person asked for."""

    seeds: tuple[str, ...]
    scope: Scope = Scope()
    politeness: Politeness = Politeness()
    request: RequestOptions
    max_pages: int | None = None
    max_attempts: int = 3
    """How often one page is tried when its own errors could pass."""
    out: str | None = None
    """The file that its pages are written to, by absolute path: a resumed crawl goes on with it."""


class Source(msgspec.Struct, frozen=True, kw_only=True):
    id: int
    spec: SourceSpec
    state: SourceState = SourceState.RUNNING
    reason: str | None = None
    granted: int = 0
    """Pages that were given a first lease: what max_pages counts."""
    created_at: float = 0.0


class LeaseKind(StrEnum):
    PAGE = "page"
    ROBOTS = "robots"


class Lease(msgspec.Struct, frozen=True, kw_only=True):
    """Permission to fetch one URL, once."""

    token: int
    kind: LeaseKind
    source: int
    page: int
    url: str
    host: str
    deadline: float
    exclusive: bool
    """Nobody else holds a lease on this host: keep its connection in one worker."""
    request: RequestOptions


class Error(msgspec.Struct, frozen=True, kw_only=True):
    fault: Fault
    text: str

    def __str__(self) -> str:
        return f"{self.fault.value}: {self.text}"


class Response(msgspec.Struct, frozen=True, kw_only=True):
    """What came back for one request, or what went wrong. Remote faults are values."""

    status: int | None = None
    headers: tuple[tuple[str, str], ...] = ()
    """Lower-case names, in the order received."""
    body: bytes = b""
    wire_bytes: int = 0
    error: Error | None = None
    address: str | None = None
    elapsed: float = 0.0

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key == name), None)


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """What a page says, read from its bytes."""

    title: str | None = None
    description: str | None = None
    language: str | None = None
    canonical: str | None = None
    markdown: str | None = None
    tokens: int = 0
    hash: str | None = None
    charset: str | None = None
    links: tuple[str, ...] = ()
    """Absolute, normalised, in order, unique."""
    nofollow: tuple[str, ...] = ()
    """Those of the links that are not to be followed from here."""


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """A document, and what the page asks of a crawler."""

    document: Document = Document()
    nofollow_links: tuple[str, ...] = ()
    """Those of the document's links that every mention of marks as nofollow."""
    noindex: bool = False
    nofollow: bool = False
    refresh: str | None = None
    """Target of an immediate meta refresh: a redirect by other means."""
    error: Error | None = None


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker found for one lease."""

    token: int
    status: int | None = None
    error: Error | None = None
    location: str | None = None
    """Where a redirect leads, absolute and normalised."""
    retry_after: float | None = None
    content_type: str | None = None
    etag: str | None = None
    last_modified: str | None = None
    size: int = 0
    """Of the body, after decoding."""
    elapsed: float = 0.0
    address: str | None = None
    body: bytes = b""
    """Of robots only: pages travel as readings."""
    reading: Reading | None = None


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


class HostStatus(msgspec.Struct, frozen=True, kw_only=True):
    """A host as people see it: what it is doing, or what it waits for."""

    key: str
    queued: int = 0
    in_flight: int = 0
    delay: float = 0.0
    waiting_for: str | None = None
    """In words: `delay`, `Crawl-delay`, `robots`, `Retry-After`, `backoff`, `blocked`."""
    wait: float = 0.0
    """Seconds still to go."""
    failures: int = 0
    last_error: str | None = None


class Stats(msgspec.Struct, frozen=True, kw_only=True):
    """A crawl at one moment."""

    counts: Counts = Counts()
    in_flight: int = 0
    permits: int = 0
    hosts: int = 0
    seconds: float = 0.0
    fetched: int = 0
    """Pages settled by this process since it began; the rate counts these."""
    pages_per_second: float = 0.0
    eta: float | None = None
    """Seconds, at the present rate; None while there is nothing to judge by."""
    busiest: tuple[HostStatus, ...] = ()
    errors: tuple[tuple[str, str], ...] = ()
    """The last few failed pages: URL and error."""
    waiting: str | None = None
    """Why nothing is being fetched right now, where that is so."""
    undelivered: int = 0


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """How a crawl ended: the object that `--json` prints."""

    reason: EndReason
    completed: int
    failed: int
    skipped: int
    pending: int
    bytes: int
    tokens: int
    hosts: int
    seconds: float
    pages_per_second: float
