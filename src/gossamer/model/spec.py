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
