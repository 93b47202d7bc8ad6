"""The response time of a host under one load, and the least under any, as certain as it needs to be.

Response times are noisy in ways that differ from host to host, so nothing is concluded from a fixed number of answers:
the noise is measured, and as many answers make up a mean as it takes to be certain, from four where all pages take the
same time to some hundreds where they differ wildly. Requests that are under way together share their fate, a stall of
ours or of the host's, so a whole round of them is the least. All in logarithms, where twice and half are equally far.
"""

from __future__ import annotations

from math import exp, log, sqrt

RISE = log(1.15)
"""A mean that is certainly so many times the least has risen."""
CERTAINTY = 2.25
"""Standard errors."""
FEWEST, MOST = 4.0, 400.0
FEWEST_AT_FIRST = 10
"""Before that the noise itself is not known."""
SLOW_PAGE = 0.7
"""One page that takes ten times as long is a slow page, not a slow host: it counts as if it had taken twice as long."""
MOST_NOISE = 4.0
SHORTEST = 1e-4


class Latency:
    __slots__ = ("_answers", "_last", "_least", "_mean", "_needed", "_seen", "_variance", "_width")

    def __init__(self, least: float | None = None) -> None:
        self._least = log(max(least, SHORTEST)) if least else None
        self._mean: float | None = None
        self._last = 0.0
        self._variance = 0.02
        self._needed = FEWEST
        """Answers that make the mean certain to within what is a rise, if none has to do with another."""
        self._width = 1.0
        """Answers in a round."""
        self._answers = 0
        self._seen = 0
        """Answers under the present load."""

    @property
    def seconds(self) -> float | None:
        return None if self._mean is None else exp(self._mean)

    @property
    def least(self) -> float | None:
        return None if self._least is None else exp(self._least)

    @property
    def enough(self) -> float:
        """Answers after which something can be said of this load."""
        return max(self._needed, self._width)

    @property
    def settled(self) -> bool:
        return self._seen > self.enough and self._answers > FEWEST_AT_FIRST

    @property
    def rise(self) -> float:
        """Of the mean above the least, as far as anybody can tell."""
        return 0.0 if self._mean is None or self._least is None else self._mean - self._least

    @property
    def risen(self) -> bool:
        """For certain."""
        return self._seen >= max(self._needed / 4, self._width, 3) and self.rise - self._doubt > RISE

    @property
    def _doubt(self) -> float:
        """How far off the mean may be."""
        return CERTAINTY * sqrt(self._variance / min(self._seen, 4 * self._needed))

    def restart(self) -> None:
        """What follows is another load, so it is measured afresh."""
        self._seen = 0

    def take(self, seconds: float, width: float, forget: float) -> None:
        """One answer more, of so many in a round. By the share `forget` of its distance the least follows the mean."""
        value = log(max(seconds, SHORTEST))
        self._answers += 1
        if self._mean is None or self._answers == 2:
            # The first answer tells more of the connection than of the host, and is often a robots file.
            self._mean = self._last = value
            return
        self._seen += 1
        self._width = width
        self._measure_noise(value)
        self._mean += min(max(value - self._mean, -SLOW_PAGE), SLOW_PAGE) / min(self._seen, 2 * self.enough)
        if self.settled:
            # The least of many uncertain means would be too low; of what they are at most it is not.
            here = self._mean + self._doubt
            least = here if self._least is None else self._least
            self._least = min(here, least + forget * (here - least))

    def _measure_noise(self, value: float) -> None:
        # Half the square of the step between two answers is their variance, whatever the mean does meanwhile.
        square = min((value - self._last) ** 2 / 2, MOST_NOISE)
        self._last = value
        self._variance += max(0.02, 1 / self._answers) * (square - self._variance)
        self._needed = min(max(self._variance * (CERTAINTY / RISE) ** 2, FEWEST), MOST)
