"""The fetch role: one lease in, one outcome out. It knows no depth, no limits and no other page."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable
from datetime import UTC
from email.utils import parsedate_to_datetime

import msgspec

from gossamer.failpoints import failpoint
from gossamer.model import Error, Fault, Lease, LeaseKind, Outcome, Reading, RequestOptions, Response
from gossamer.ports import Fetcher, WorkerBus
from gossamer.url import resolve_one

MAX_ROBOTS = 512 * 1024
MAX_RETRY_AFTER = 86_400.0

_SECONDS = re.compile(r"-?[0-9]+(\.[0-9]+)?")

Reader = Callable[[str, Response, RequestOptions], Reading]


async def work(bus: WorkerBus, fetcher: Fetcher, read: Reader) -> None:
    """Answer every lease, as many at once as were handed out, until there are no more or the worker is cancelled.

    The deadline of a lease is the dispatcher's business: it runs on the dispatcher's clock.
    """
    running: set[asyncio.Task[None]] = set()
    try:
        async for batch in bus.leases():
            for lease in batch:
                task = asyncio.create_task(_answer(bus, fetcher, read, lease))
                running.add(task)
                task.add_done_callback(running.discard)
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        await fetcher.close()


async def _answer(bus: WorkerBus, fetcher: Fetcher, read: Reader, lease: Lease) -> None:
    await bus.send(await _outcome(bus, fetcher, read, lease))


async def _outcome(bus: WorkerBus, fetcher: Fetcher, read: Reader, lease: Lease) -> Outcome:
    robots = lease.kind is LeaseKind.ROBOTS
    try:
        response = await fetcher.fetch(lease.url, lease.request, max_body=MAX_ROBOTS if robots else None)
    except Exception as error:
        # A fetcher answers with values. One that does not is at fault, but that must not cost more than this page.
        return Outcome(token=lease.token, error=_error(Fault.WORKER, "the fetcher failed", error))
    if robots:
        failpoint("robots-fetched")
        return robots_outcome(lease, response, time.time())
    outcome = page_outcome(lease, response, time.time())
    return _with_reading(bus, read, lease, response, outcome) if _readable(outcome) else outcome


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


def robots_outcome(lease: Lease, response: Response, now: float) -> Outcome:
    """As of a page, with the body; of a robots file that is too long, its beginning counts (RFC 9309, 2.5)."""
    outcome = page_outcome(lease, response, now)
    if response.body and response.error and response.error.fault is Fault.TOO_LARGE:
        outcome = msgspec.structs.replace(outcome, error=None)
    if not _readable(outcome):
        return outcome
    return msgspec.structs.replace(outcome, body=response.body[:MAX_ROBOTS])


def _with_reading(bus: WorkerBus, read: Reader, lease: Lease, response: Response, outcome: Outcome) -> Outcome:
    bus.parsing(lease.token)
    try:
        reading = read(lease.url, response, lease.request)
    except Exception as error:
        # Any page can surprise a parser: it costs this page, never the worker.
        return msgspec.structs.replace(outcome, error=_error(Fault.PARSE, "the page could not be read", error))
    finally:
        bus.parsing(0)
    failpoint("parsed")
    return msgspec.structs.replace(outcome, reading=reading, error=reading.error)


def _readable(outcome: Outcome) -> bool:
    return outcome.error is None and outcome.status is not None and _is_success(outcome.status)


def _is_success(status: int) -> bool:
    return 200 <= status < 300


def _redirect(lease: Lease, response: Response) -> tuple[str | None, Error | None]:
    if response.status is None or not 300 <= response.status < 400:
        return None, None
    target = response.header("location")
    if not target:
        return None, Error(fault=Fault.PROTOCOL, text=f"status {response.status} without a Location to follow")
    location = resolve_one(lease.url, target, drop=lease.request.dropped)
    if location is None:
        return None, Error(fault=Fault.PROTOCOL, text=f"redirects to {target[:200]!r}, which cannot be followed")
    return location, None


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
