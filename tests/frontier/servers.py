"""Servers and a crawler of one host, in virtual time: an hour is rehearsed in a moment, the same way every time."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from math import inf
from random import Random
from typing import Protocol

import msgspec


class Reply(msgspec.Struct, frozen=True):
    latency: float
    status: int = 200
    retry_after: float = 0.0


class Server(Protocol):
    def reply(self, now: float, in_flight: int) -> Reply:
        """To a request that begins now, as one of so many."""


class Driver(Protocol):
    """What decides when the next request may start: a `Pace`, or a fixed setting."""

    @property
    def cap(self) -> int: ...

    @property
    def delay(self) -> float: ...

    def answered(self, now: float, started: float, latency: float, in_flight: int) -> None: ...

    def throttled(self, now: float, started: float) -> None: ...

    def failed(self, now: float, started: float) -> None: ...


class Fixed:
    """So many requests at once, whatever happens."""

    delay = 0.0

    def __init__(self, cap: int) -> None:
        self.cap = cap

    def answered(self, now: float, started: float, latency: float, in_flight: int) -> None: ...

    def throttled(self, now: float, started: float) -> None: ...

    def failed(self, now: float, started: float) -> None: ...


# -- latency by load


Shape = Callable[[float], float]
"""How many times the base response time, by the load as a share of the knee."""


def linear(share: float) -> float:
    return max(1.0, share)


def quadratic(share: float) -> float:
    return max(1.0, share * share)


def no_noise(random: Random) -> float:
    return 1.0


def jitter(random: Random) -> float:
    return random.lognormvariate(0.0, 0.3)


def slow_pages(random: Random) -> float:
    """One page of twenty takes ten times as long."""
    return random.uniform(0.8, 1.2) * (10.0 if random.random() < 0.05 else 1.0)


def exponential(random: Random) -> float:
    return random.expovariate(1.0)


Noise = Callable[[Random], float]


class Curve:
    """Answers slower the more it has to do at once, beyond a knee."""

    def __init__(
        self, shape: Shape, *, base: float = 0.05, knee: int = 4, noise: Noise = no_noise, seed: int = 1
    ) -> None:
        self.base = base
        self.knee = knee
        self._shape = shape
        self._noise = noise
        self._random = Random(seed)

    def reply(self, now: float, in_flight: int) -> Reply:
        return Reply(self.base * self._shape(in_flight / self.knee) * self._noise(self._random))


class Queue:
    """So many workers, first come, first served."""

    def __init__(self, *, base: float = 0.05, knee: int = 4, noise: Noise = exponential, seed: int = 1) -> None:
        self.base = base
        self.knee = knee
        self._noise = noise
        self._random = Random(seed)
        self._free_at = [0.0] * knee

    def reply(self, now: float, in_flight: int) -> Reply:
        begins = max(now, heapq.heappop(self._free_at))
        ends = begins + self.base * self._noise(self._random)
        heapq.heappush(self._free_at, ends)
        return Reply(ends - now)


class Slowed:
    """Another server, so many times slower for a while."""

    def __init__(self, server: Server, *, since: float, until: float, factor: float) -> None:
        self._server = server
        self._since, self._until, self._factor = since, until, factor

    def reply(self, now: float, in_flight: int) -> Reply:
        reply = self._server.reply(now, in_flight)
        slow = self._since <= now < self._until
        return Reply(reply.latency * (self._factor if slow else 1.0))


# -- refusals


class TokenBucket:
    """Grants `rate` requests a second, and `burst` of them at once after a rest; refuses the others with 429."""

    def __init__(self, *, rate: float, burst: float, base: float = 0.05, retry_after: float = 0.0) -> None:
        self._rate, self._burst, self._base, self._retry_after = rate, burst, base, retry_after
        self._tokens = burst
        self._at = 0.0

    def reply(self, now: float, in_flight: int) -> Reply:
        self._tokens = min(self._tokens + (now - self._at) * self._rate, self._burst)
        self._at = now
        if self._tokens < 1.0:
            return Reply(self._base, 429, self._retry_after)
        self._tokens -= 1.0
        return Reply(self._base)


class Window:
    """Grants so many requests in each minute of its clock."""

    def __init__(self, *, quota: int, seconds: float = 60.0, base: float = 0.05) -> None:
        self._quota, self._seconds, self._base = quota, seconds, base
        self._window, self._used = 0, 0

    def reply(self, now: float, in_flight: int) -> Reply:
        window = int(now / self._seconds)
        self._used = self._used + 1 if window == self._window else 1
        self._window = window
        return Reply(self._base, 429 if self._used > self._quota else 200)


class Crowded:
    """Refuses with 503 whoever comes while it has its hands full."""

    def __init__(self, *, most: int, base: float = 0.05) -> None:
        self._most, self._base = most, base

    def reply(self, now: float, in_flight: int) -> Reply:
        return Reply(self._base, 503 if in_flight > self._most else 200)


class Down:
    """Another server that does not answer for a while: status 0."""

    def __init__(self, server: Server, *, since: float, until: float) -> None:
        self._server, self._since, self._until = server, since, until

    def reply(self, now: float, in_flight: int) -> Reply:
        return Reply(0.01, 0) if self._since <= now < self._until else self._server.reply(now, in_flight)


# -- the crawl of one host


class Visit(msgspec.Struct, frozen=True):
    started: float
    ended: float
    status: int
    in_flight: int
    """At its start, itself included."""


class Log(msgspec.Struct, frozen=True):
    visits: list[Visit]
    until: float

    def between(self, since: float, until: float = inf) -> Log:
        """What began in that time."""
        return Log([v for v in self.visits if since <= v.started < until], min(until, self.until))

    @property
    def refusals(self) -> list[Visit]:
        return [visit for visit in self.visits if visit.status != 200]

    @property
    def latency(self) -> float:
        return sum(visit.ended - visit.started for visit in self.visits) / max(len(self.visits), 1)

    def rate(self, since: float) -> float:
        """Pages a second from then on."""
        served = sum(visit.status == 200 for visit in self.visits if since <= visit.ended < self.until)
        return served / (self.until - since)

    def load(self, since: float) -> float:
        """Requests at the server, on average over time."""
        busy = sum(max(min(v.ended, self.until) - max(v.started, since), 0.0) for v in self.visits)
        return busy / (self.until - since)

    def share_above(self, load: float, since: float) -> float:
        """The share of the time in which more requests than that were at the server."""
        moments = sorted([(v.started, 1) for v in self.visits] + [(v.ended, -1) for v in self.visits])
        above, now, last = 0.0, 0, since
        for moment, change in moments:
            if since <= moment < self.until:
                above += (moment - last) if now > load else 0.0
                last = moment
            now += change
        return above / (self.until - since)

    def volleys(self) -> list[int]:
        """How many refusals were under way together, each time."""
        found: list[int] = []
        end = -inf
        for visit in sorted(self.refusals, key=lambda visit: visit.started):
            if visit.started <= end:
                found[-1] += 1
            else:
                found.append(1)
            end = max(end, visit.ended)
        return found


def crawl(server: Server, driver: Driver, until: float) -> Log:
    """Ask as often as the driver allows, with an endless queue, and rest like the frontier after refusals."""
    host = _Host(server, driver)
    while host.now < until:
        host.step()
    return Log(host.visits, until)


class _Host:
    def __init__(self, server: Server, driver: Driver) -> None:
        self.now = 0.0
        self.visits: list[Visit] = []
        self._server, self._driver = server, driver
        self._out: list[tuple[float, int, Visit, Reply]] = []
        self._ready_at = 0.0
        self._failures = 0
        self._refused_at = -inf
        self._count = 0

    def step(self) -> None:
        """Start what may start, then go on to the next moment at which anything happens."""
        while self.now >= self._ready_at and len(self._out) < self._driver.cap:
            self._start()
        waiting = len(self._out) < self._driver.cap
        ends = self._out[0][0] if self._out else inf
        self.now = min(self._ready_at, ends) if waiting else ends
        if self.now == ends:
            self._end()

    def _start(self) -> None:
        in_flight = len(self._out) + 1
        reply = self._server.reply(self.now, in_flight)
        visit = Visit(self.now, self.now + reply.latency, reply.status, in_flight)
        self._count += 1
        heapq.heappush(self._out, (visit.ended, self._count, visit, reply))

    def _end(self) -> None:
        in_flight = len(self._out)
        _, _, visit, reply = heapq.heappop(self._out)
        self.visits.append(visit)
        if reply.status == 200:
            self._failures = 0
            self._driver.answered(self.now, visit.started, reply.latency, in_flight)
            rest = 0.0
        else:
            # What was under way when the first was refused is the same refusal.
            self._failures += visit.started > self._refused_at
            self._refused_at = self.now if visit.started > self._refused_at else self._refused_at
            report = self._driver.throttled if reply.status else self._driver.failed
            report(self.now, visit.started)
            rest = max(reply.retry_after, min(2.0**self._failures, 3600.0))
        self._ready_at = max(self._ready_at, self.now + max(rest, self._driver.delay))
