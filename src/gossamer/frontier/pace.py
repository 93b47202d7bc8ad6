"""How much of a host's attention to take: learnt from how it answers, and only slowly trusted.

One number says it all: the load, the requests that the host works on for us at a time, on average. Below 1 it rests
between two requests, `latency * (1 / load - 1)` seconds; from 1 on it has `int(load)` of them at once.

- Growth is additive: about one more request for each round trip until the first trouble, below 1 in proportion.
- Trouble is a response time well above the least that was seen, a 429 or 503, a reset, a timeout. It lowers the load
  at once by a factor, and once for all requests that were under way when it began.
- The ceiling is the load at which trouble began. Afterwards the load returns in a minute to a plateau below it, stays
  there with a patience that doubles whenever the ceiling proves true, and only then creeps on, a hundredth a second.
- A host that throttles counts requests, not load, and may grant a burst first. What it served from one refusal to the
  next, pauses included, is what it can have granted for good, so that is the ceiling then; and it is approached from
  below one request at a time, so that finding it costs one refusal and not a volley.
- Response times are smoothed in logarithms, over as many requests as their noise makes necessary: a few where all pages
  take the same time, a hundred where they differ wildly. The least is forgotten slowly, sooner when we hardly ask.

A host that was asked for full speed (`adaptive` is false) starts there, and only refusals and failures slow it down.
"""

from __future__ import annotations

from math import exp, inf, log, sqrt

import msgspec

from gossamer.model import PaceRecord

FIRST_LOAD = 1 / 3
"""Where an adaptive host starts: it rests for twice its response time. No slower for response times alone."""
FIRST_DELAY = 1.0
"""The rest while no response time is known."""
ROUND = 0.05
"""One more request at once takes at least this long: a host that answers in a millisecond is not overrun in a few."""
TROUBLE = log(1.15)
"""A response time that is certainly so many times the least is trouble."""
CERTAINTY = 2.5
"""Standard errors."""
PLATEAU = 0.8
"""Of the ceiling: where to stay."""
WINDOW = 60.0
"""Seconds of which it is known how much was served."""
MOST_PATIENCE = 3600.0


class Caution(msgspec.Struct, frozen=True, kw_only=True):
    """What trouble of a kind teaches."""

    factor: float
    """By which the load falls."""
    recovery: float
    """Seconds until it is back on the plateau."""
    patience: float
    """Seconds before it looks beyond, to begin with."""
    creep: float
    """Share by which it grows in a second then."""


LIGHT = Caution(factor=0.7, recovery=15.0, patience=60.0, creep=0.02)
"""Slow answers."""
GRAVE = Caution(factor=0.5, recovery=60.0, patience=300.0, creep=0.005)
"""None, or refusals."""


class Latency:
    """The response time under one load, and the least under any: in logarithms, where twice and half are as far."""

    __slots__ = ("_answers", "_last", "_least", "_mean", "_seen", "_variance")

    def __init__(self, least: float | None) -> None:
        self._least = log(least) if least else None
        self._mean: float | None = None
        self._last = 0.0
        self._answers = 1
        self._variance = 0.02
        self._seen = 0

    @property
    def seconds(self) -> float | None:
        return None if self._mean is None else exp(self._mean)

    @property
    def least(self) -> float | None:
        return None if self._least is None else exp(self._least)

    @property
    def enough(self) -> float:
        """Answers that make the mean as certain as trouble needs it."""
        return min(max(self._variance * (CERTAINTY / TROUBLE) ** 2, 4.0), 400.0)

    @property
    def settled(self) -> bool:
        return self._seen >= self.enough

    @property
    def _doubt(self) -> float:
        """How far off the mean may be."""
        return CERTAINTY * sqrt(self._variance / min(self._seen, 4 * self.enough))

    @property
    def risen(self) -> bool:
        if self._mean is None or self._least is None or self._seen < max(self.enough / 4, 3):
            return False
        return self._mean - self._doubt > self._least + TROUBLE

    def take(self, seconds: float, forget: float) -> None:
        """One answer more. `forget` is the share of the distance by which the least follows."""
        value = log(max(seconds, 1e-4))
        if self._mean is None:
            self._mean = self._last = value
        self._seen += 1
        self._answers += 1
        # Half the square of the step between two answers is their variance, whatever the mean does meanwhile.
        square = min((value - self._last) ** 2 / 2, 9.0)
        self._variance += max(0.02, 1 / self._answers) * (square - self._variance)
        self._last = value
        # One page that takes ten times as long is a slow page, not a slow host.
        self._mean += min(max(value - self._mean, -0.7), 0.7) / min(self._seen, 2 * self.enough)
        if self.settled:
            here = self._mean + self._doubt
            least = here if self._least is None else self._least
            self._least = min(here, least + min(forget, 1.0) * (here - least))

    def restart(self) -> None:
        """What follows is another load, so it is measured afresh."""
        self._seen = 0


class Pace:
    __slots__ = (
        "_calm",
        "_caution",
        "_ceiling",
        "_fresh_from",
        "_last",
        "_latency",
        "_load",
        "_patience",
        "_peak",
        "_served",
        "_since",
        "_slope",
        "_troubled_at",
        "adaptive",
        "max_delay",
        "most",
    )

    def __init__(self, most: int, max_delay: float, *, adaptive: bool, record: PaceRecord | None = None) -> None:
        self.most = most
        self.max_delay = max_delay
        self.adaptive = adaptive
        self._load = FIRST_LOAD if adaptive else float(most)
        self._ceiling: float | None = None
        self._caution = GRAVE
        self._patience = GRAVE.patience
        self._slope = 0.0
        self._calm = True
        """Whether it has been well since the last trouble."""
        self._troubled_at = -inf
        self._fresh_from = -inf
        """Requests that began later tell of the load as it is now."""
        self._last = self._since = -inf
        self._served = 0.0
        self._peak = 1.0
        self._latency = Latency(record.least_latency if record else None)
        if record:
            self._restore(record)

    def _restore(self, record: PaceRecord) -> None:
        # Without a least response time nobody has looked at it: the load was asked for, not found.
        found = record.load if record.least_latency or not self.adaptive else min(record.load, FIRST_LOAD)
        self._load = min(found, self.most)
        self._ceiling = record.ceiling
        self._aim()

    @property
    def record(self) -> PaceRecord:
        return PaceRecord(load=self._load, ceiling=self._ceiling, least_latency=self._latency.least)

    @property
    def cap(self) -> int:
        """Requests at once."""
        return max(min(int(self._load), self.most), 1)

    @property
    def delay(self) -> float:
        """Seconds from the end of one request to the start of the next."""
        if self._load >= 1:
            return 0.0
        latency = self._latency.seconds
        return min(FIRST_DELAY if latency is None else latency * (1 / self._load - 1), self.max_delay)

    def answered(self, now: float, started: float, latency: float, in_flight: int) -> None:
        """A request ended well, with so many of them out, itself included."""
        elapsed = min(max(now - self._last, 0.0), 1.0)
        self._last = now
        self._peak = max(in_flight, self._peak + 0.05 * (in_flight - self._peak))
        self._count(now, started)
        if started <= self._fresh_from:
            return
        # What it takes with hardly any load is what it takes.
        self._latency.take(latency, 1.0 if self._load <= FIRST_LOAD else elapsed / 600)
        if self.adaptive and self._latency.risen:
            self._slowed(now)
            return
        self._calm = self._calm or self._latency.settled
        if self._peak >= 0.8 * self.cap:
            self._grow(now, elapsed)

    def throttled(self, now: float, started: float) -> None:
        """The host asked for less."""
        if started <= self._troubled_at:
            return
        served = self._served / max(now - self._since, 1e-3) * (self._latency.seconds or 0.0)
        self._trouble(now, GRAVE, min(self._load, self._peak, served or inf))
        self._served, self._since = 0.0, now
        self._lower(now, min(GRAVE.factor * min(self._load, self._ceiling or inf), FIRST_LOAD))

    def failed(self, now: float, started: float) -> None:
        """The host broke off, or did not answer in time."""
        if started > self._troubled_at:
            self._trouble(now, GRAVE, self._borne)
            self._lower(now, GRAVE.factor * self._load)

    def _slowed(self, now: float) -> None:
        if self._load > FIRST_LOAD:
            self._trouble(now, LIGHT, self._borne)
            self._lower(now, max(LIGHT.factor * self._load, FIRST_LOAD))

    @property
    def _borne(self) -> float:
        """The ceiling, after trouble that need not be our doing: one that held before is not given up at once."""
        return max(min(self._load, self._peak), 0.9 * (self._ceiling or 0.0))

    def _count(self, now: float, started: float) -> None:
        """How much was served since when; of more than a minute half is forgotten."""
        if self._since == -inf:
            self._since = started
        self._served += 1
        if now - self._since > WINDOW:
            self._served, self._since = self._served / 2, (self._since + now) / 2

    def _grow(self, now: float, elapsed: float) -> None:
        cap = self.cap
        self._load = min(self._load + self._growth(now, elapsed), self.most)
        if self._ceiling is not None and self._load > self._ceiling:
            self._ceiling, self._patience = self._load, self._caution.patience
        if self.cap != cap:
            self._measure_afresh(now)

    def _growth(self, now: float, elapsed: float) -> float:
        step = 1 / self._latency.enough
        if self._ceiling is None:
            return 0.15 * self._load if self._load < 1 else min(elapsed / ROUND, step)
        below = PLATEAU * self._ceiling - self._load
        if below > 0:
            return min(self._slope * elapsed, below)
        if now - self._troubled_at < self._patience:
            return 0.0
        return self._load * min(self._caution.creep * elapsed, step)

    def _trouble(self, now: float, caution: Caution, ceiling: float) -> None:
        if self._calm:
            proved = self._ceiling is not None and self._load >= PLATEAU * self._ceiling
            self._patience = min(2 * self._patience, MOST_PATIENCE) if proved else caution.patience
            self._ceiling = ceiling
        self._calm = False
        self._caution = caution
        self._troubled_at = now

    def _lower(self, now: float, load: float) -> None:
        latency = self._latency.seconds or ROUND
        self._load = max(load, latency / (latency + self.max_delay))
        self._aim()
        self._measure_afresh(now)

    def _measure_afresh(self, now: float) -> None:
        self._fresh_from = now
        self._latency.restart()

    def _aim(self) -> None:
        if self._ceiling is not None:
            self._slope = max(PLATEAU * self._ceiling - self._load, 0.0) / self._caution.recovery
