"""The fetch role: one lease in, one outcome out. It knows no depth, no limits and no other page."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import NamedTuple, Protocol, TypeVar

import msgspec

from gossamer.failpoints import failpoint
from gossamer.model import Error, Fault, Guide, Lease, LeaseKind, Outcome, Reading, RequestOptions, Response, Validators
from gossamer.ports import Fetcher, WorkerBus
from gossamer.url import resolve_one

MAX_ROBOTS = 512 * 1024
MAX_GUIDE = 50 * 1024 * 1024
NOT_MODIFIED = 304
MAX_RETRY_AFTER = 86_400.0

_SECONDS = re.compile(r"-?[0-9]+(\.[0-9]+)?")

T = TypeVar("T")
PageReader = Callable[[str, Response, RequestOptions], Reading]


class GuideReader(Protocol):
    """Takes the body of a guide piece by piece."""

    def feed(self, data: bytes) -> bool:
        """Whether more is wanted."""

    def close(self) -> Guide:
        """What was listed, as far as it came."""


class Readers(NamedTuple):
    """Who reads what was fetched."""

    page: PageReader
    guide: Callable[[str, LeaseKind, RequestOptions], GuideReader]
    """A reader for the guide at this URL."""


class Tools(NamedTuple):
    """All that a worker has for one lease."""

    bus: WorkerBus
    fetcher: Fetcher
    readers: Readers


async def work(bus: WorkerBus, fetcher: Fetcher, readers: Readers) -> None:
    """Answer every lease, as many at once as were handed out, until there are no more or the worker is cancelled.

    The deadline of a lease is the dispatcher's business: it runs on the dispatcher's clock.
    """
    tools = Tools(bus, fetcher, readers)
    running: set[asyncio.Task[None]] = set()
    try:
        async for batch in bus.leases():
            for lease in batch:
                task = asyncio.create_task(_answer(tools, lease))
                running.add(task)
                task.add_done_callback(running.discard)
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        await fetcher.close()


async def _answer(tools: Tools, lease: Lease) -> None:
    try:
        outcome = await _outcome(tools, lease)
    except Exception as error:
        # A fetcher answers with values. One that does not is at fault, but that must not cost more than this page.
        outcome = Outcome(token=lease.token, error=_error(Fault.WORKER, "the fetcher failed", error))
    await tools.bus.send(outcome)


async def _outcome(tools: Tools, lease: Lease) -> Outcome:
    if lease.kind is LeaseKind.ROBOTS:
        return await _robots(tools, lease)
    return await (_guide if lease.kind.guide else _page)(tools, lease)


async def _robots(tools: Tools, lease: Lease) -> Outcome:
    response = await tools.fetcher.fetch(lease.url, lease.request, max_body=MAX_ROBOTS)
    failpoint("robots-fetched")
    return robots_outcome(lease, response, time.time())


async def _page(tools: Tools, lease: Lease) -> Outcome:
    response = await tools.fetcher.fetch(lease.url, lease.request, validators=lease.validators)
    outcome = page_outcome(lease, response, time.time())
    return _with_reading(tools, lease, response, outcome) if _readable(outcome) else outcome


async def _guide(tools: Tools, lease: Lease) -> Outcome:
    # A fragment tells the reader what the guide is about, and is nobody else's business.
    url = lease.url.partition("#")[0]
    reading = _GuideReading(tools, lease)
    response = await tools.fetcher.fetch(
        url, lease.request, max_body=MAX_GUIDE, validators=lease.validators, into=reading.feed
    )
    outcome = page_outcome(lease, response, time.time())
    if outcome.status is None or not _is_success(outcome.status):
        return outcome
    outcome = guide_outcome(outcome, response, reading.close())
    failpoint("guide-read")
    return outcome


class _GuideReading:
    """A guide that is read while it comes. The bus is told whose turn it is, piece by piece."""

    def __init__(self, tools: Tools, lease: Lease) -> None:
        self._bus = tools.bus
        self._token = lease.token
        self._reader = tools.readers.guide(lease.url, lease.kind, lease.request)
        self._failure: Error | None = None

    def feed(self, data: bytes) -> bool:
        return self._marked(lambda: self._reader.feed(data)) or False

    def close(self) -> Guide | Error:
        guide = None if self._failure else self._marked(self._reader.close)
        return guide or self._failure or Guide()

    def _marked(self, step: Callable[[], T]) -> T | None:
        self._bus.parsing(self._token)
        try:
            return step()
        except Exception as error:
            # Any list can surprise a parser: it costs this guide, never the worker.
            self._failure = _error(Fault.PARSE, "the guide could not be read", error)
            return None
        finally:
            self._bus.parsing(0)


def page_outcome(lease: Lease, response: Response, now: float) -> Outcome:
    """All that can be said of an answer without reading its body."""
    location, error = None, response.error
    if response.status is not None and not _is_success(response.status):
        # The status says it all: a body that broke off makes a 503 no less a 503.
        location, error = _redirect(lease, response)
    return Outcome(
        token=lease.token,
        status=response.status,
        error=error,
        location=location,
        retry_after=retry_after(response.header("retry-after"), response.header("date"), now),
        content_type=response.header("content-type"),
        etag=response.header("etag"),
        last_modified=response.header("last-modified"),
        size=len(response.body),
        elapsed=response.elapsed,
        address=response.address,
    )


def guide_outcome(outcome: Outcome, response: Response, guide: Guide | Error) -> Outcome:
    """Of a guide whose body broke off or has no end, what was listed until then counts."""
    outcome = msgspec.structs.replace(outcome, size=response.wire_bytes)
    if isinstance(guide, Error):
        return msgspec.structs.replace(outcome, error=guide)
    if response.error is None:
        return msgspec.structs.replace(outcome, guide=guide)
    endless = response.error.fault is Fault.TOO_LARGE
    if not (endless or guide.entries or guide.guides):
        return outcome
    what = f"cut at {MAX_GUIDE // 2**20} MiB" if endless else f"broke off ({response.error})"
    guide = msgspec.structs.replace(guide, note=f"{what}; {guide.note}" if guide.note else what)
    return msgspec.structs.replace(outcome, guide=guide, error=None)


def robots_outcome(lease: Lease, response: Response, now: float) -> Outcome:
    """As of a page, with the body; of a robots file that is too long, its beginning counts (RFC 9309, 2.5)."""
    outcome = page_outcome(lease, response, now)
    if response.body and response.error and response.error.fault is Fault.TOO_LARGE:
        outcome = msgspec.structs.replace(outcome, error=None)
    if not _readable(outcome):
        return outcome
    return msgspec.structs.replace(outcome, body=response.body[:MAX_ROBOTS])


def _with_reading(tools: Tools, lease: Lease, response: Response, outcome: Outcome) -> Outcome:
    tools.bus.parsing(lease.token)
    try:
        reading = tools.readers.page(lease.url, response, lease.request)
    except Exception as error:
        # Any page can surprise a parser: it costs this page, never the worker.
        return msgspec.structs.replace(outcome, error=_error(Fault.PARSE, "the page could not be read", error))
    finally:
        tools.bus.parsing(0)
    failpoint("parsed")
    return msgspec.structs.replace(outcome, reading=reading, error=reading.error)


def _readable(outcome: Outcome) -> bool:
    return outcome.error is None and outcome.status is not None and _is_success(outcome.status)


def _is_success(status: int) -> bool:
    return 200 <= status < 300


def _redirect(lease: Lease, response: Response) -> tuple[str | None, Error | None]:
    if response.status is None or not 300 <= response.status < 400:
        return None, None
    if response.status == NOT_MODIFIED and lease.validators != Validators():
        return None, None
    target = response.header("location")
    if not target:
        return None, Error(fault=Fault.PROTOCOL, text=f"status {response.status} without a Location to follow")
    location = resolve_one(lease.url, target, drop=lease.request.dropped)
    if location is None:
        return None, Error(fault=Fault.PROTOCOL, text=f"redirects to {target[:200]!r}, which cannot be followed")
    # As a browser would: a fragment goes along (RFC 9110, 10.2.2). Only guides have one.
    return location + "".join(lease.url.partition("#")[1:]), None


def retry_after(value: str | None, date: str | None, now: float) -> float | None:
    """Seconds to wait. A date is compared with the server's own clock where it tells it, else with `now`."""
    if value is None:
        return None
    value = value.strip()
    if _SECONDS.fullmatch(value):
        seconds = float(value)
    else:
        until, sent = _timestamp(value), _timestamp(date)
        if until is None:
            return None
        seconds = until - (now if sent is None else sent)
    return min(max(seconds, 0.0), MAX_RETRY_AFTER)


def _timestamp(date: str | None) -> float | None:
    try:
        moment = parsedate_to_datetime(date or "")
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def _error(fault: Fault, what: str, error: Exception) -> Error:
    return Error(fault=fault, text=f"{what}: {type(error).__name__}: {error}"[:500])
