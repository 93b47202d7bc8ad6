"""A crawl as people see it."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from gossamer.model.facts import Change
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
    load: float | None = None
    """Where its pace adapts: the requests that it works on for us at a time, on average."""


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


class ChangeCounts(msgspec.Struct, frozen=True, kw_only=True):
    """What a visit to known pages came to."""

    added: int = 0
    changed: int = 0
    removed: int = 0


class ChangeEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A change as users see it: a line of the change feed."""

    change: Change
    url: str
    source: int
    at: str
    """ISO 8601, UTC."""
    round: int
    title: str | None = None
    hash: str | None = None
    previous_hash: str | None = None
    diff: str | None = None
    """Of a page that changed, unified, over its main text; None where there is no text to compare."""


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
    changes: ChangeCounts | None = None
    """Of a recrawl, by this process."""
