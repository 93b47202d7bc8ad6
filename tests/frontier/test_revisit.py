"""When to come back: between the bounds, sooner to what changes, and in the end about as often as a page changes."""

from __future__ import annotations

from math import exp
from random import Random
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.frontier.revisit import interval
from gossamer.model import Revisit

HOUR, DAY = 3_600.0, 86_400.0
POLICY = Revisit()
COUNTS = st.integers(min_value=0, max_value=10_000)
SPANS = st.floats(min_value=0, max_value=1e9)


def test_a_page_that_was_never_visited_again_waits_the_first_interval() -> None:
    assert interval(POLICY, 0, 0, 0.0) == POLICY.first


@given(COUNTS, COUNTS, st.floats(min_value=-1e9, max_value=1e12))
def test_the_interval_is_within_the_bounds_whatever_the_history_says(
    visits: int, changes: int, observed: float
) -> None:
    assert POLICY.least <= interval(POLICY, visits, changes, observed) <= POLICY.most


@given(st.integers(min_value=1, max_value=1_000), st.data(), SPANS)
def test_more_changes_never_mean_a_longer_wait(visits: int, data: st.DataObject, observed: float) -> None:
    changes = data.draw(st.integers(min_value=0, max_value=visits - 1))
    assert interval(POLICY, visits, changes + 1, observed) <= interval(POLICY, visits, changes, observed)


def test_a_page_that_never_changes_is_left_alone_for_the_longest_time() -> None:
    waits = follow(0.0, visits=30)
    assert waits == sorted(waits)
    assert waits[-1] == POLICY.most


@given(st.floats(min_value=HOUR, max_value=30 * DAY))
def test_a_page_that_changed_at_every_visit_is_visited_sooner_each_time(first: float) -> None:
    policy = Revisit(first=first, least=1.0)
    observed, wait = 0.0, first
    for visits in range(1, 200):
        observed += wait
        sooner = interval(policy, visits, visits, observed)
        assert sooner < wait
        wait = sooner


@pytest.mark.parametrize("mean", [2 * HOUR, 6 * HOUR, DAY, 3 * DAY, 7 * DAY, 20 * DAY, 60 * DAY])
def test_the_wait_comes_near_the_time_between_two_changes(mean: float) -> None:
    finals = [follow(1 / mean, visits=150, seed=seed)[-1] for seed in range(40)]
    wanted = min(max(mean, POLICY.least), POLICY.most)
    near = [wait for wait in finals if wanted / 3 <= wait <= wanted * 3]
    assert len(near) >= 38
    assert wanted / 2 <= median(finals) <= wanted * 2


def follow(rate: float, visits: int, seed: int = 0) -> list[float]:
    """The waits of a page that changes by chance, so many times a second, and is visited as the policy says."""
    random, observed, changes = Random(seed), 0.0, 0
    waits = [POLICY.first]
    for visit in range(1, visits + 1):
        observed += waits[-1]
        changes += random.random() < 1 - exp(-rate * waits[-1])
        waits.append(interval(POLICY, visit, changes, observed))
    return waits
