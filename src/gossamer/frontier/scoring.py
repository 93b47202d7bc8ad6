"""Best first: how much a page promises, and the place that gives it in a lane.

The score is a weighted sum of signals between 0 and 1, so that every weight says what its signal can move at most.
Breadth first, the default, does not come here: see `policy.rank`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from math import isnan, log2

import msgspec

from gossamer.model import MAX_RANK
from gossamer.url import segments

_log = logging.getLogger(__name__)

DEPTH = 0.35
"""Near the seeds: 1 at a seed, a half one link away, a third two links away."""
PRIORITY = 0.20
"""What a sitemap says; a half where none says anything, as the protocol has it."""
PATH = 0.15
"""Short paths: 1 at the root, a half one segment below."""
MENTIONS = 0.15
"""Pages seen to lead to it: nothing for one, 1 from 1,024 on, each doubling a tenth."""
CHANGES = 0.10
"""The share of visits that found it changed; a half where it was never visited again."""
LISTED = 0.05
"""A seed, or named by a guide, a redirect or a canonical link."""

_CLOSER = 1 - 1 / 32


class PageFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a page before it is read."""

    url: str
    depth: int = 0
    priority: float | None = None
    """From a sitemap: 0 to 1."""
    mentions: int = 1
    change_rate: float | None = None
    """The share of earlier visits that found it changed: 0 to 1."""
    listed: bool = False


Scorer = Callable[[PageFacts], float]
"""From 0 to 1; the more, the sooner."""


def score(facts: PageFacts) -> float:
    return (
        DEPTH / (1 + max(facts.depth, 0))
        + PRIORITY * _share(facts.priority)
        + PATH / (1 + segments(facts.url))
        + MENTIONS * min(log2(max(facts.mentions, 1)) / 10, 1.0)
        + CHANGES * _share(facts.change_rate)
        + LISTED * facts.listed
    )


def _share(value: float | None) -> float:
    return 0.5 if value is None or isnan(value) else min(max(value, 0.0), 1.0)


def guarded(scorer: Scorer) -> Scorer:
    """A user's function that can harm nobody: what it gives is brought to 0..1, and where it fails the default score
    stands in. The log tells of the first failure."""
    told = False

    def score_or_default(facts: PageFacts) -> float:
        nonlocal told
        try:
            value = float(scorer(facts))
            if not isnan(value):
                return min(max(value, 0.0), 1.0)
            error: Exception = ValueError("it is not a number")
        except Exception as raised:
            error = raised
        if not told:
            told = True
            _log.warning("The scoring function failed for %s (%r): the default score stands in.", facts.url, error)
        return score(facts)

    return score_or_default


def rank_of(value: float) -> int:
    """The place in a lane of a page with this score: from 0, the best, to MAX_RANK - 1."""
    return round((1.0 - min(max(value, 0.0), 1.0)) * (MAX_RANK - 1))


def raised(rank: int, mentions: int) -> int:
    """The better place of a pending page after so many more mentions: each brings it 1/32 of its way to the front.

    What waits for something other than its turn stays where it is.
    """
    return rank if rank >= MAX_RANK else int(rank * _CLOSER ** max(mentions, 0))


def changing(rank: int, before: float | None, now: float) -> int:
    """The place of a page in the next round, when the share of visits that found it changed is another than before."""
    moved = rank - round(CHANGES * (_share(now) - _share(before)) * (MAX_RANK - 1))
    return min(max(moved, 0), MAX_RANK - 1)
