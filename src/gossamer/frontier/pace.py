"""How much of a host's attention to take: learnt from how it answers, and only slowly trusted.

One number says it all: the load, the requests that the host works on for us at a time, on average. Below 1 it rests
between two requests, `latency * (1 / load - 1)` seconds; from 1 on it has `int(load)` of them at once.

- Until the first trouble the load grows by one request at a time, as soon as the last one is known to do no harm.
- Trouble is a response time that has risen above the least, a 429 or 503, a reset, a timeout. It lowers the load, once
  for all requests that were under way when it began.
- The ceiling is the load at which trouble began. Afterwards the load returns gradually to a plateau below it, stays
  there with a patience that doubles whenever the ceiling proves true, and only then creeps on.
- A host that throttles counts requests, not load, and may have granted a burst first. What it served in the last
  minute, pauses included, is close to what it grants for good: that is the ceiling then. It is approached slowly, from
  one request at a time, so that meeting it costs one refusal and not a volley.

There is no least delay: a host that answers in a millisecond and rests for two is idle two thirds of the time. A host
that was asked for full speed (`adaptive` is false) starts there, and only refusals and failures slow it down.
"""

from __future__ import annotations

from math import inf

import msgspec

from gossamer.frontier.latency import RISE, Latency
from gossamer.model import PaceRecord

FIRST_LOAD = 1 / 3
"""Where an adaptive host starts, resting twice its response time. Response times alone make it no slower."""
ROUND = 0.05
"""One more request at once takes at least these seconds, however fast the answers are."""
PLATEAU = 0.8  # of the ceiling
WINDOW, MEMORY = 60.0, 1200.0
"""Seconds after which what was served, and the least response time, are half and mostly forgotten."""
MOST_PATIENCE = 3600.0


class Caution(msgspec.Struct, frozen=True):
    """What trouble of a kind teaches."""

    factor: float  # by which the load falls
    recovery: float  # seconds until it is back on the plateau
    patience: float  # seconds until it looks beyond, the first time
    creep: float  # share by which it grows in a second then


LIGHT = Caution(factor=0.7, recovery=8.0, patience=60.0, creep=0.02)
"""Slow answers."""
GRAVE = Caution(factor=0.5, recovery=60.0, patience=300.0, creep=0.005)
"""Refusals, or no answers."""


class Pace:
    def __init__(self, most: int, max_delay: float, *, adaptive: bool, record: PaceRecord | None = None) -> None:
        self.most = most
        self.max_delay = max_delay
        self.adaptive = adaptive
        self._load = _first_load(most, record, adaptive=adaptive)
        self._ceiling = record.ceiling if record else None
        self._caution = GRAVE
        self._patience = GRAVE.patience
        self._patient_until = inf
        self._calm = True  # it has been well since the last trouble
        self._suspicious = False
        self._troubled_at = -inf
        self._fresh_from = -inf  # requests that began later tell of the load as it is now
        self._latency = Latency(record.least_latency if record and adaptive else None)
        self._last_answer = -inf
        self._peak = max(self._load, 1.0)
        self._served, self._since = 0.0, inf
        self._aim()

    @property
    def record(self) -> PaceRecord:
        least = self._latency.least if self.adaptive else None
        return PaceRecord(load=self._load, ceiling=self._ceiling, least_latency=least)

    @property
    def cap(self) -> int:
        """Requests at once."""
        return max(min(int(self._load), self.most), 1)

    @property
    def delay(self) -> float:
        """Seconds from the end of one request to the start of the next."""
        latency = self._latency.seconds
        return min(latency * (1 / self._load - 1), self.max_delay) if latency and self._load < 1 else 0.0

    def answered(self, now: float, started: float, latency: float, in_flight: int) -> None:
        """A request ended well, with so many of them out, itself included."""
        elapsed = min(max(now - self._last_answer, 0.0), 1.0)
        self._last_answer = now
        self._peak = max(in_flight, self._peak + 0.05 * (in_flight - self._peak))
        self._count(now, started)
        if started <= self._fresh_from:
            return
        # What it takes with hardly any load is what it takes.
        self._latency.take(latency, self._peak, 1.0 if self._load <= FIRST_LOAD else elapsed / MEMORY)
        if self.adaptive and self._load > FIRST_LOAD and self._has_slowed(now):
            self._trouble(now, LIGHT, self._borne)
            self._lower(now, max(LIGHT.factor * self._load, FIRST_LOAD))
            return
        self._calm = self._calm or (self._latency.settled and not self._suspicious)
        if self._calm and not self._suspicious and self._peak >= PLATEAU * self.cap:
            self._grow(now, elapsed)

    def _has_slowed(self, now: float) -> bool:
        """Everybody stalls now and then: a rise must show twice, in requests that share nothing."""
        if self._suspicious and self._latency.settled:
            self._suspicious = False
            return self._latency.rise > RISE
        if self._latency.risen and not self._suspicious:
            self._suspicious = True
            self._measure_afresh(now)
        return False

    def throttled(self, now: float, started: float) -> None:
        """The host asked for less."""
        if started <= self._troubled_at:
            return
        served = self._served / max(now - self._since, 1e-3) * (self._latency.seconds or 0.0) or inf
        self._trouble(now, GRAVE, min(self._load, self._peak))
        self._ceiling = min(self._ceiling or inf, served)
        self._served, self._since = 0.0, now
        self._lower(now, min(GRAVE.factor * min(self._load, self._ceiling), FIRST_LOAD))

    def failed(self, now: float, started: float) -> None:
        """The host broke off, or did not answer in time."""
        if started > self._troubled_at:
            self._trouble(now, GRAVE, self._borne)
            self._lower(now, GRAVE.factor * self._load)

    def _count(self, now: float, started: float) -> None:
        """How much was served since when; of more than a minute half is forgotten."""
        if self._since == inf:
            self._since = started
            self._patient_until = now + self._patience
        self._served += 1
        if now - self._since > WINDOW:
            self._served, self._since = self._served / 2, (self._since + now) / 2

    @property
    def _probing(self) -> bool:
        return self._ceiling is not None and self._load > 1.01 * PLATEAU * self._ceiling

    @property
    def _borne(self) -> float:
        """The ceiling, after trouble that need not be our doing: one that held so far is not given up at once."""
        here = min(self._load, self._peak)
        return here if self._ceiling is None or self._probing else max(here, 0.9 * self._ceiling)

    def _trouble(self, now: float, caution: Caution, ceiling: float) -> None:
        if self._calm:
            self._patience = min(2 * self._patience, MOST_PATIENCE) if self._probing else caution.patience
            self._ceiling = ceiling
        self._calm = False
        self._caution = caution
        self._troubled_at = now
        self._patient_until = now + self._patience

    def _lower(self, now: float, load: float) -> None:
        latency = self._latency.seconds or ROUND
        self._load = max(load, latency / (latency + self.max_delay))
        self._aim()
        self._measure_afresh(now)

    def _aim(self) -> None:
        below = PLATEAU * self._ceiling - self._load if self._ceiling is not None else 0.0
        self._slope = max(below, 0.0) / self._caution.recovery

    def _grow(self, now: float, elapsed: float) -> None:
        cap = self.cap
        self._load = min(self._load + self._growth(now, elapsed), self.most)
        if self._ceiling is not None and self._load > self._ceiling:
            self._ceiling, self._patience = self._load, self._caution.patience
        if self.cap != cap:
            self._measure_afresh(now)

    def _growth(self, now: float, elapsed: float) -> float:
        step = 1 / self._latency.enough
        if self._load < 1 and self._ceiling is None:
            return 0.2 * self._load
        if self._latency.least is None:
            return 0.0
        if self._ceiling is None:
            return min(elapsed / ROUND, step)
        below = PLATEAU * self._ceiling - self._load
        if below > 0:
            return min(self._slope * elapsed, below)
        return self._load * min(self._caution.creep * elapsed, step) if now > self._patient_until else 0.0

    def _measure_afresh(self, now: float) -> None:
        self._fresh_from = now
        self._latency.restart()


def _first_load(most: int, record: PaceRecord | None, *, adaptive: bool) -> float:
    # Without a least response time nobody listened to it: that load was asked for, not found.
    unheard = adaptive and (record is None or record.least_latency is None)
    return min(record.load if record else inf, FIRST_LOAD if unheard else most)
