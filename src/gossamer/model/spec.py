"""What a person asks for, and how it is asked of servers."""

from __future__ import annotations

import re
from enum import StrEnum
from functools import lru_cache

import msgspec

from gossamer.url import TRACKING


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


class Scope(msgspec.Struct, frozen=True, kw_only=True):
    mode: ScopeMode = ScopeMode.PREFIX
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    max_depth: int | None = None
    skip_types: tuple[str, ...] = ()
    max_url_length: int = 2_048
    drop_parameters: tuple[str, ...] | None = None


class Hours(msgspec.Struct, frozen=True):
    """A time of day in which to crawl: minutes since midnight, in a time zone by name. May span midnight."""

    start: int
    end: int
    zone: str = "UTC"


class Politeness(msgspec.Struct, frozen=True, kw_only=True):
    delay: float | None = 1.0
    """Seconds from the end of a request to the start of the next; None adapts to the response time."""
    max_delay: float = 60.0
    """The most that a Crawl-delay may ask for, and the bound of an adaptive delay."""
    per_host: int = 16
    """Requests at once to one host, when the delay is 0."""
    ignore_robots: bool = False
    per_address: int = 32
    """Requests at once to one IP address, however many hosts live there."""
    hours: Hours | None = None
    """Crawl only then."""


class SeedFrom(StrEnum):
    """Where URLs come from besides the seeds."""

    AUTO = "auto"
    """The sitemaps of a seed's host where they list anything in scope, else links."""
    SITEMAP = "sitemap"
    LINKS = "links"
    LLMS = "llms"
    CT = "ct"
    COMMONCRAWL = "commoncrawl"


class Discovery(msgspec.Struct, frozen=True, kw_only=True):
    seed_from: tuple[SeedFrom, ...] = (SeedFrom.AUTO,)
    sitemap_patience: float = 10.0
    """Seconds that links wait for the first listed URL of a sitemap before they are followed all the same."""
    max_guides: int = 10_000
    """Sitemaps, feeds and lists read for one source."""
    max_listed: int = 1_000_000
    """URLs taken from certificates and from Common Crawl."""
    ct_endpoint: str = "https://crt.sh/"
    commoncrawl_endpoint: str = "https://index.commoncrawl.org/"


class Folding(msgspec.Struct, frozen=True, kw_only=True):
    """Which pages count as one."""

    canonical: bool = True
    duplicates: bool = True
    near_duplicates: float | None = 0.9
    """The share of shingles that two main texts have in common from which they are one page; None: never."""
    learn_parameters: bool = True
    """Learn from each host which query parameters, and which order of them, do not change a page."""


class Traps(msgspec.Struct, frozen=True, kw_only=True):
    """How far a site may lead on without giving anything new."""

    host_budget: int = 1_000_000
    path_budget: int = 500
    """Pages of one numbered path (`/calendar/#/#`); more while they bring new content."""
    query_budget: int = 500
    """The same for one path with one set of parameters."""
    thin_budget: int = 100_000
    """The same for a pattern whose pages say hardly anything, as long as it does not lead deeper and deeper."""
    max_repeats: int = 3
    """Times in a row that a path segment, or a run of them, may not repeat: `/a/a/a/`."""
    max_segments: int = 32
    max_parameters: int = 16
    max_future: float = 400 * 86_400.0
    """How far ahead a date in a URL may lie."""
    soft_404: bool = True
    """Learn from each host how it says `not found` with a status of 200."""


class Order(StrEnum):
    BREADTH = "breadth"
    BEST = "best"


class Revisit(msgspec.Struct, frozen=True, kw_only=True):
    """When to come back to a page, in seconds."""

    first: float = 86_400.0
    """Before anything is known of how often it changes."""
    least: float = 3_600.0
    most: float = 30 * 86_400.0


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
    discovery: Discovery = Discovery()
    folding: Folding = Folding()
    traps: Traps = Traps()
    order: Order = Order.BREADTH
    revisit: Revisit = Revisit()
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
    round: int = 1
    """How many times it has been crawled, this one included."""
    round_began_at: float = 0.0
