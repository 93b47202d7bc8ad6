"""What adaptive pace does to servers, rehearsed in virtual time."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.frontier.pace import FIRST_LOAD, Pace
from gossamer.model import PaceRecord
from tests.frontier.servers import (
    Crowded,
    Curve,
    Down,
    Fixed,
    Log,
    Noise,
    Queue,
    Server,
    Slowed,
    TokenBucket,
    Window,
    crawl,
    exponential,
    jitter,
    linear,
    no_noise,
    quadratic,
    slow_pages,
)

MOST = 16
SHAPES = ("linear", "quadratic", "queue")


def auto(record: PaceRecord | None = None) -> Pace:
    return Pace(MOST, 60.0, adaptive=True, record=record)


def full_speed(record: PaceRecord | None = None) -> Pace:
    return Pace(MOST, 60.0, adaptive=False, record=record)


PACES = pytest.mark.parametrize("pace", [auto, full_speed])


def server_of(shape: str, base: float, knee: int, noise: Noise = no_noise, seed: int = 1) -> Server:
    if shape == "queue":
        return Queue(base=base, knee=knee, noise=noise, seed=seed)
    return Curve(linear if shape == "linear" else quadratic, base=base, knee=knee, noise=noise, seed=seed)


@cache
def best_fixed_rate(shape: str, base: float, knee: int, noise: Noise = no_noise) -> float:
    """The fastest of all fixed settings that keep the mean response time within 1.5 times the least."""
    until = 200 * base
    logs = [crawl(server_of(shape, base, knee, noise), Fixed(count), until) for count in range(1, MOST + 1)]
    least = min(log.latency for log in logs)
    return max(log.rate(20 * base) for log in logs if log.latency <= 1.5 * least)


def assert_at_the_knee(log: Log, since: float, best: float, knee: int) -> None:
    assert log.rate(since) >= 0.7 * best
    assert log.load(since) <= 1.1 * knee


# -- latency that rises with load


@pytest.mark.parametrize(
    ("base", "knee"), [(0.005, 1), (0.005, 3), (0.05, 1), (0.05, 4), (0.05, 12), (0.5, 2), (0.5, 8)]
)
@pytest.mark.parametrize("shape", SHAPES)
def test_auto_finds_the_knee_untold(shape: str, base: float, knee: int) -> None:
    warm_up = 30.0 if base < 0.1 else 100.0
    log = crawl(server_of(shape, base, knee), auto(), warm_up + (30.0 if base < 0.01 else 200.0))
    assert_at_the_knee(log, warm_up, best_fixed_rate(shape, base, knee), knee)
    assert log.share_above(knee, warm_up) < 0.2


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("noise", [jitter, slow_pages])
@pytest.mark.parametrize("shape", SHAPES)
def test_noise_neither_hides_the_knee_nor_looks_like_one(shape: str, noise: Noise, seed: int) -> None:
    log = crawl(server_of(shape, 0.05, 6, noise, seed), auto(), 240.0)
    assert_at_the_knee(log, 60.0, best_fixed_rate(shape, 0.05, 6, noise), 6)


@pytest.mark.parametrize("seed", [1, 2])
def test_it_finds_the_knee_of_a_queue_with_random_service_times(seed: int) -> None:
    log = crawl(server_of("queue", 0.02, 5, exponential, seed), auto(), 300.0)
    assert_at_the_knee(log, 150.0, best_fixed_rate("queue", 0.02, 5, exponential), 5)


def test_a_few_hundred_pages_are_enough_to_get_up_to_speed() -> None:
    log = crawl(server_of("linear", 0.05, 8), auto(), 60.0)
    thousandth = log.visits[999].ended
    assert 1000 / thousandth >= 0.7 * best_fixed_rate("linear", 0.05, 8)


def test_it_begins_with_a_rest_of_twice_the_response_time() -> None:
    log = crawl(server_of("linear", 0.3, 1), auto(), 2.0)
    first, second = log.visits[:2]
    assert second.started - first.ended == pytest.approx(2 * 0.3, rel=0.3)
    assert {visit.in_flight for visit in log.visits} == {1}


def test_a_load_that_is_not_used_does_not_grow() -> None:
    pace = auto()
    for number in range(1000):
        pace.answered(number, number - 0.05, 0.05, 1)
    assert pace.cap <= 2


@pytest.mark.parametrize("factor", [2.0, 5.0, 20.0])
def test_a_server_that_slows_down_is_spared_and_regained_when_it_recovers(factor: float) -> None:
    steady = server_of("linear", 0.05, 8, jitter)
    log = crawl(Slowed(steady, since=100.0, until=200.0, factor=factor), auto(), 420.0)
    best = best_fixed_rate("linear", 0.05, 8, jitter)
    assert min(Log(log.visits, moment + 5.0).load(moment) for moment in range(100, 200, 5)) <= 2
    assert log.rate(300.0) >= 0.7 * best


def test_a_server_that_stays_slower_is_learnt_anew() -> None:
    log = crawl(Slowed(server_of("linear", 0.05, 8), since=100.0, until=inf, factor=3.0), auto(), 500.0)
    assert log.rate(300.0) >= 0.7 * best_fixed_rate("linear", 0.05, 8) / 3


def test_full_speed_does_not_mind_slow_answers() -> None:
    log = crawl(server_of("linear", 0.05, 2), full_speed(), 60.0)
    assert log.load(1.0) == pytest.approx(MOST, rel=0.01)


# -- refusals


BUCKETS: dict[str, Callable[[], Server]] = {
    "far below one at a time": lambda: TokenBucket(rate=2.0, burst=2.0, base=0.005),
    "below one at a time": lambda: TokenBucket(rate=50.0, burst=50.0, base=0.005),
    "several at a time": lambda: TokenBucket(rate=100.0, burst=100.0, base=0.05),
    "slow answers": lambda: TokenBucket(rate=10.0, burst=10.0, base=0.3),
    "with Retry-After": lambda: TokenBucket(rate=10.0, burst=20.0, retry_after=5.0),
    "with a long Retry-After": lambda: TokenBucket(rate=10.0, burst=20.0, retry_after=60.0),
    "a large burst": lambda: TokenBucket(rate=30.0, burst=300.0, base=0.05),
}


@PACES
@pytest.mark.parametrize("bucket", BUCKETS)
def test_a_host_that_throttles_is_not_driven_into_a_second_storm(bucket: str, pace: Callable[[], Pace]) -> None:
    log = crawl(BUCKETS[bucket](), pace(), 900.0)
    storm, *later = log.volleys()
    assert storm <= MOST
    assert sum(later) <= 0.01 * len(log.visits)
    assert sum(volley > 1 for volley in later) <= 1
    assert max(later, default=0) <= 2


@PACES
def test_a_limit_is_used_after_all(pace: Callable[[], Pace]) -> None:
    log = crawl(TokenBucket(rate=10.0, burst=10.0), pace(), 900.0)
    assert log.rate(300.0) >= 0.6 * 10.0


@PACES
def test_a_quota_by_the_minute_is_spread_over_it(pace: Callable[[], Pace]) -> None:
    log = crawl(Window(quota=300), pace(), 900.0)
    late = log.between(120.0)
    assert len(late.refusals) <= 0.01 * len(late.visits)
    assert late.rate(120.0) >= 0.6 * 300 / 60


@PACES
def test_a_server_that_refuses_a_crowd_is_asked_by_fewer(pace: Callable[[], Pace]) -> None:
    log = crawl(Crowded(most=4), pace(), 600.0).between(60.0)
    assert len(log.refusals) <= 0.001 * len(log.visits)
    assert log.load(60.0) <= 4


def test_volleys_count_once() -> None:
    one, many = full_speed(), full_speed()
    for pace, count in ((one, 1), (many, MOST)):
        pace.answered(1.0, 0.0, 1.0, MOST)
        for number in range(count):
            pace.throttled(2.0 + number / 100, 1.0)
    assert one.record == many.record


def test_each_further_refusal_lowers_the_load() -> None:
    pace = full_speed()
    loads = [pace.record.load]
    for number in range(1, 5):
        pace.throttled(10.0 * number, 10.0 * number - 1)
        loads.append(pace.record.load)
    assert loads == sorted(set(loads), reverse=True)


# -- failures


@PACES
def test_recovery_after_an_outage_is_gradual_and_complete(pace: Callable[[], Pace]) -> None:
    log = crawl(Down(server_of("linear", 0.05, 8), since=100.0, until=130.0), pace(), 420.0)
    back = next(visit.started for visit in log.visits if visit.started > 130.0 and visit.status == 200)
    assert log.between(back, back + 2.0).load(back) <= 4
    assert log.rate(300.0) >= 0.7 * best_fixed_rate("linear", 0.05, 8)


def test_one_failure_in_a_long_crawl_costs_little_speed() -> None:
    log = crawl(Down(server_of("linear", 0.05, 16), since=50.0, until=50.001), full_speed(), 300.0)
    assert log.rate(51.0) >= 0.7 * 16 / 0.05


# -- bounds and memory


def test_the_delay_never_exceeds_its_bound() -> None:
    pace = Pace(MOST, 7.0, adaptive=True)
    pace.answered(1.0, 0.0, 1.0, 1)
    for number in range(2, 40):
        pace.throttled(number, number - 0.5)
    assert pace.delay == 7.0


signals = st.lists(
    st.tuples(st.sampled_from(["answered", "throttled", "failed"]), st.floats(0.001, 30.0), st.floats(0.0, 120.0)),
    max_size=60,
)


def feed(pace: Pace, events: list[tuple[str, float, float]]) -> float:
    now = 1000.0
    for kind, latency, gap in events:
        now += gap
        if kind == "answered":
            pace.answered(now, now - latency, latency, pace.cap)
        elif kind == "throttled":
            pace.throttled(now, now - latency)
        else:
            pace.failed(now, now - latency)
    return now


@given(signals, st.booleans(), st.integers(1, 64), st.floats(0.0, 120.0))
def test_whatever_happens_it_stays_within_its_bounds(
    events: list[tuple[str, float, float]], adaptive: bool, most: int, max_delay: float
) -> None:
    pace = Pace(most, max_delay, adaptive=adaptive)
    feed(pace, events)
    assert 1 <= pace.cap <= most
    assert 0.0 <= pace.delay <= max_delay
    assert pace.cap == 1 or pace.delay == 0.0
    assert 0.0 < pace.record.load <= most


@given(signals, st.booleans(), st.booleans())
def test_a_restart_never_makes_it_faster(
    events: list[tuple[str, float, float]], adaptive: bool, adaptive_later: bool
) -> None:
    pace = Pace(MOST, 60.0, adaptive=adaptive)
    feed(pace, events)
    again = Pace(MOST, 60.0, adaptive=adaptive_later, record=pace.record)
    assert again.cap <= pace.cap
    assert again.record.load <= pace.record.load
    assert again.record.ceiling == pace.record.ceiling


def test_what_was_learnt_survives_a_restart() -> None:
    server = TokenBucket(rate=10.0, burst=10.0)
    pace = auto()
    crawl(server, pace, 300.0)
    log = crawl(TokenBucket(rate=10.0, burst=10.0), auto(pace.record), 300.0)
    assert not log.refusals
    assert log.rate(10.0) >= 0.6 * 10.0


def test_a_load_that_was_asked_for_and_not_found_counts_for_nothing_in_auto() -> None:
    pace = full_speed()
    crawl(server_of("linear", 0.05, 2), pace, 10.0)
    assert auto(pace.record).record.load == FIRST_LOAD
    assert full_speed(pace.record).cap == MOST


def test_a_smaller_bound_after_a_restart_holds_at_once() -> None:
    assert Pace(4, 60.0, adaptive=False, record=PaceRecord(load=12.0)).cap == 4
