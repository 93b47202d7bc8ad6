"""A crawl as people see it."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from gossamer.model.pages import Counts


class EndReason(StrEnum):
    FINISHED = "finished"
    MAX_PAGES = "max-pages"
    DURATION = "duration"
    INTERRUPTED = "interrupted"
    FAILED = "failed"


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
