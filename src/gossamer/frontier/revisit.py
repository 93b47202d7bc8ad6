"""When to come back to a page, from how often it was found changed."""

from __future__ import annotations

from math import log

from gossamer.model import Revisit


def interval(policy: Revisit, visits: int, changes: int, observed: float) -> float:
    """Seconds until the next visit to a page that was visited `visits` times since it was first read, `observed`
    seconds before the last of them, and was found changed by `changes` of these visits.

    It is the mean time between two changes, estimated by Cho and Garcia-Molina's method: a visit that finds a change
    may have missed others, so the logarithm counts it for more than one. The 1 and `first` stand for what is believed
    before the first visit, and weigh less with every further one.
    """
    visits = max(visits, 0)
    changes = min(max(changes, 0), visits)
    seen = visits * log((visits + 0.5) / (visits - changes + 0.5))
    estimate = (max(observed, 0.0) + policy.first) / (1.0 + seen)
    return min(max(estimate, policy.least), policy.most)
