"""Storage pressure slows fetching: when commits take long, fewer leases may be out; when they are quick, more again."""

from __future__ import annotations

_WEIGHT = 0.2
_SHRINK = 0.75
_LEAST = 4


class Governor:
    def __init__(self, most: int, target: float) -> None:
        self._most = most
        self._target = target
        self._permits = float(most)
        self._latency = 0.0

    @property
    def permits(self) -> int:
        return int(self._permits)

    @property
    def latency(self) -> float:
        """Smoothed seconds per commit."""
        return self._latency

    def observe(self, seconds: float) -> None:
        self._latency += _WEIGHT * (seconds - self._latency)
        if self._latency > self._target:
            self._permits = max(self._permits * _SHRINK, min(_LEAST, self._most))
        else:
            self._permits = min(self._permits + 1, self._most)
