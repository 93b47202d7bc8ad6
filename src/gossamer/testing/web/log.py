"""What a server saw, and whether it was treated politely. The checks are pure functions over a list of requests.

The server stamps the end of an answer before it sends it and the start of a request when it arrives, so a gap in the
log is never shorter than the gap that the client kept.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, BinaryIO, Self

import msgspec

if TYPE_CHECKING:
    from gossamer.testing.web.world import Web


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One request, as the server saw it. Times are of the monotonic clock."""

    host: str
    """Scheme, address and port."""
    path: str
    method: str = "GET"
    started: float
    ended: float
    status: int | None = None
    """None where the client went away, or never got an answer."""
    in_flight: int = 1
    """Requests at the host when this one began, itself included."""
    robots: bool = False
    retry_after: float | None = None
    headers: tuple[tuple[str, str], ...] = ()
    sent: int = 0
    """Bytes of the body; of an answer without an end, those of its beginning."""

    @property
    def conditional(self) -> bool:
        """The client knew the page, and asked whether it is another now."""
        return any(name in ("if-none-match", "if-modified-since") for name, _ in self.headers)

    @property
    def url(self) -> str:
        return self.host + self.path

    @property
    def user_agent(self) -> str:
        return dict(self.headers).get("user-agent", "")

    def __str__(self) -> str:
        return f"{self.method} {self.url} {self.started:.3f}-{self.ended:.3f} -> {self.status or 'no answer'}"


class Log:
    """The requests that are over; safe to read from any thread. As a context it writes them to a file too."""

    def __init__(self, file: Path | None = None) -> None:
        self._requests: list[Request] = []
        self._lock = threading.Lock()
        self._path = file
        self._file: BinaryIO | None = None

    def add(self, request: Request) -> None:
        with self._lock:
            self._requests.append(request)
            if self._file:
                self._file.write(msgspec.json.encode(request) + b"\n")

    def snapshot(self) -> list[Request]:
        """All requests so far, in the order in which they began."""
        with self._lock:
            return sorted(self._requests, key=lambda request: request.started)

    def clear(self) -> None:
        with self._lock:
            self._requests.clear()

    def __len__(self) -> int:
        return len(self._requests)

    def __enter__(self) -> Self:
        self._file = self._path.open("ab", buffering=0) if self._path else None
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if self._file:
            self._file.close()


def read_log(file: Path) -> list[Request]:
    """The requests of a log file, in the order in which they began."""
    lines = file.read_bytes().splitlines()
    return sorted((msgspec.json.decode(line, type=Request) for line in lines), key=lambda request: request.started)


def hosts(log: Iterable[Request]) -> list[str]:
    return sorted({request.host for request in log})


def of_host(log: Iterable[Request], host: str) -> list[Request]:
    return sorted((request for request in log if request.host == host), key=lambda request: request.started)


def gaps(log: Iterable[Request], host: str) -> list[float]:
    """Seconds from the end of all that came before to the start of each next request; below 0 they overlapped."""
    return [request.started - end for end, request in _after_ends(of_host(log, host))]


def peak_concurrency(log: Iterable[Request], host: str) -> int:
    """The most requests that were at the host at once."""
    moments = [(request.started, 1) for request in of_host(log, host)]
    moments += [(request.ended, -1) for request in of_host(log, host)]
    peak = now = 0
    # At the same instant an end sorts before a start.
    for _, change in sorted(moments):
        now += change
        peak = max(peak, now)
    return peak


def fetch_counts(log: Iterable[Request]) -> Counter[str]:
    """How often each URL was asked for."""
    return Counter(request.url for request in log)


def assert_polite(
    log: Sequence[Request], host: str, *, delay: float, concurrency: int = 1, tolerance: float = 0.002
) -> None:
    """Never more than `concurrency` at once and, where that is 1, `delay` seconds from every end to the next start."""
    peak = peak_concurrency(log, host)
    if peak > concurrency:
        raise AssertionError(f"{host}: {peak} requests at once, allowed are {concurrency}:\n{_crowd(log, host)}")
    if concurrency > 1:
        return
    for end, request in _after_ends(of_host(log, host)):
        gap = request.started - end
        if gap < delay - tolerance:
            raise AssertionError(f"{host}: {gap:.4f} s after the request before, should be {delay:g} s: {request}")


def assert_robots_first(log: Sequence[Request]) -> None:
    """No page was asked for before the host's robots file had been answered, in a way that says something."""
    for host in hosts(log):
        pages = [request for request in of_host(log, host) if not request.robots]
        if not pages:
            continue
        verdict = _verdict(of_host(log, host))
        if verdict is None:
            raise AssertionError(f"{host}: pages were fetched without any verdict of robots, first {pages[0]}")
        if pages[0].started < verdict.ended:
            raise AssertionError(f"{host}: {pages[0]} came before the verdict of robots, {verdict}")


def assert_no_disallowed(log: Sequence[Request], web: Web) -> None:
    """Nothing was asked for that the robots file of its host forbids. `web` is the one that was served."""
    for request in log:
        if not request.robots and not web.allows(request.url):
            raise AssertionError(f"robots.txt of {request.host} disallows {request}")


def assert_retry_after(log: Sequence[Request], *, tolerance: float = 0.002) -> None:
    """After an answer with Retry-After, nothing was asked of that host until the time was over."""
    for told in (request for request in log if request.retry_after is not None):
        until = told.ended + (told.retry_after or 0.0) - tolerance
        for request in of_host(log, told.host):
            if told.ended <= request.started < until:
                early = until + tolerance - request.started
                raise AssertionError(f"{early:.3f} s too early after Retry-After: {told.retry_after:g}: {request}")


def _after_ends(requests: list[Request]) -> list[tuple[float, Request]]:
    """Each request but the first, with the latest end among those that began before it."""
    found: list[tuple[float, Request]] = []
    latest = requests[0].ended if requests else 0.0
    for request in requests[1:]:
        found.append((latest, request))
        latest = max(latest, request.ended)
    return found


def _verdict(requests: list[Request]) -> Request | None:
    """The first answer to robots that settles it; a redirect does where the rest happens elsewhere."""
    answers = [request for request in requests if request.robots and request.status]
    settled = [request for request in answers if _settles(request.status or 0)]
    redirected = [request for request in answers if 300 <= (request.status or 0) < 400]
    return next(iter(settled or redirected), None)


def _settles(status: int) -> bool:
    return 200 <= status < 300 or (400 <= status < 500 and status != 429)


def _crowd(log: Sequence[Request], host: str) -> str:
    busiest = max(of_host(log, host), key=lambda request: request.in_flight)
    around = [
        request
        for request in of_host(log, host)
        if request.started <= busiest.started and request.ended > busiest.started
    ]
    return "\n".join(map(str, around))
