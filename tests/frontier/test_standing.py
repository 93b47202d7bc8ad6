"""What an answer, a refusal or a failure makes of a host; and the hours in which it is left alone altogether."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from gossamer.frontier.host import Host
from gossamer.frontier.machine import Frontier, WaitUntil
from gossamer.frontier.policy import Judgement, Rules, judge
from gossamer.frontier.standing import back_off, block_if_hopeless, take_note
from gossamer.model import (
    Candidate,
    Error,
    Fault,
    Hours,
    Lease,
    LeaseKind,
    Outcome,
    Politeness,
)
from tests.frontier.makers import HOST, SEED, source

OTHER = "http://b.example"
RULES = Rules(block_after=4, unreachable_after=2)


def outcome(status: int | None = None, fault: Fault | None = None, retry_after: float | None = None) -> Outcome:
    error = Error(fault=fault, text="it went wrong") if fault else None
    return Outcome(token=1, status=status, error=error, retry_after=retry_after, elapsed=0.5)


def host(delay: float | None = 0.0) -> Host:
    each = Host(HOST)
    each.obey(Politeness(delay=delay, per_host=4))
    return each


def failed(now: float, each: Host, came: Outcome) -> bool:
    take_note(now, each, came, judge(came), now)
    back_off(now, each, came, RULES, now)
    return block_if_hopeless(now, each, RULES)


def test_an_answer_ends_a_row_of_failures_and_tells_how_fast_the_host_is() -> None:
    each = host()
    failed(0.0, each, outcome(503))
    take_note(10.0, each, outcome(404), Judgement.ANSWER, 9.5)
    assert (each.failures, each.answered, each.latency) == (0, True, 0.5)


def test_a_throttle_is_an_answer_but_no_success() -> None:
    each = host()
    failed(0.0, each, outcome(429))
    assert (each.failures, each.answered, each.latency) == (1, True, None)


def test_a_page_at_fault_says_nothing_of_its_host() -> None:
    each = host()
    failed(0.0, each, outcome(503))
    take_note(1.0, each, outcome(200, Fault.PARSE), Judgement.PAGE_FAULT, 0.5)
    assert each.failures == 1


@pytest.mark.parametrize(
    ("retry_after", "wait", "why"),
    [(None, 2.0, "backoff"), (1.0, 2.0, "backoff"), (30.0, 30.0, "Retry-After"), (1e9, 3600.0, "Retry-After")],
)
def test_a_host_is_left_alone_for_as_long_as_it_asks_or_as_it_must(
    retry_after: float | None, wait: float, why: str
) -> None:
    each = host()
    back_off(100.0, each, outcome(503, retry_after=retry_after), RULES, 99.5)
    assert (each.ready_at, each.wait, each.waiting_for) == (100.0 + wait, wait, why)


def test_every_further_failure_doubles_the_wait_and_a_shorter_one_never_replaces_a_longer() -> None:
    each = host()
    waits = []
    for _ in range(3):
        back_off(0.0, each, outcome(500), RULES, 0.0)
        waits.append(each.ready_at)
    assert waits == [2.0, 4.0, 8.0]
    back_off(0.0, each, outcome(503, retry_after=600.0), RULES, 0.0)
    back_off(1.0, each, outcome(500), RULES, 0.5)
    assert each.ready_at == 600.0


def test_a_host_is_blocked_after_failures_in_a_row_sooner_if_it_never_answered() -> None:
    silent, known = host(), host()
    assert [failed(0.0, silent, outcome(fault=Fault.CONNECT)) for _ in range(3)] == [False, True, False]
    assert [failed(0.0, known, outcome(500)) for _ in range(4)] == [False, False, False, True]
    assert silent.blocked
    assert silent.waiting_for == "blocked"
    assert silent.last_error == "connect: it went wrong"
    assert known.last_error == "status 500"


def test_requests_that_were_under_way_together_and_fail_together_are_one_failure() -> None:
    each = host()
    for _ in range(16):
        back_off(10.0, each, outcome(429), RULES, 9.0)
    assert (each.failures, each.ready_at) == (1, 12.0)
    back_off(20.0, each, outcome(429), RULES, 19.0)
    assert each.failures == 2


def test_full_speed_that_becomes_adaptive_begins_anew() -> None:
    each = host(delay=0.0)
    assert each.cap == 4
    each.obey(Politeness(delay=None, per_host=4))
    assert each.cap == 1


def test_a_host_in_trouble_is_asked_for_less_at_a_time() -> None:
    each = host()
    before = each.cap
    each.in_flight = before
    take_note(10.0, each, outcome(429), Judgement.THROTTLED, 9.5)
    assert each.cap < before or each.delay > 0


# -- hours of the day

DAY_WORK = Hours(9 * 60, 17 * 60)
AT_EIGHT = datetime(2026, 3, 2, 8, 0, tzinfo=UTC).timestamp()
HOUR = 3600.0


def frontier(wall: float, *, ignore_robots: bool = True) -> Frontier:
    """Source 1 works by day, source 2 at any time; the clock that decides begins at 50."""
    made = Frontier(Rules(), 1, 50.0, wall)
    for number, hours in ((1, DAY_WORK), (2, None)):
        politeness = Politeness(delay=0.0, hours=hours, ignore_robots=ignore_robots)
        made.open_source(source(SEED, f"{OTHER}/", number=number, politeness=politeness))
    return made


def admit(made: Frontier, number: int, url: str, first_id: int, now: float = 50.0) -> None:
    for each, hosts in made.admit(now, [Candidate(source=number, url=url)], first_id).items():
        made.restore(now, each, hosts, [], [])


def test_outside_its_hours_a_source_leases_nothing_and_waits_for_them_to_begin() -> None:
    made = frontier(AT_EIGHT)
    admit(made, 1, SEED, 1)
    assert made.lease(50.0) == WaitUntil(50.0 + HOUR)
    assert made.lease(50.0 + HOUR - 1) == WaitUntil(50.0 + HOUR)
    lease = made.lease(50.0 + HOUR)
    assert isinstance(lease, Lease)
    assert lease.url == SEED


def test_another_source_goes_on_meanwhile_also_on_the_same_host() -> None:
    made = frontier(AT_EIGHT)
    admit(made, 1, SEED, 1)
    admit(made, 2, f"{HOST}/of-the-other", 2)
    lease = made.lease(50.0)
    assert isinstance(lease, Lease)
    assert (lease.source, lease.url) == (2, f"{HOST}/of-the-other")
    made.settle(50.0, Outcome(token=lease.token, status=404))
    assert made.lease(50.0) == WaitUntil(50.0 + HOUR)


def test_robots_are_not_asked_outside_the_hours_either() -> None:
    made = frontier(AT_EIGHT, ignore_robots=False)
    admit(made, 1, SEED, 1)
    waits = made.lease(50.0)
    assert isinstance(waits, WaitUntil)
    assert 50.0 < waits.time <= 50.0 + HOUR
    lease = made.lease(50.0 + HOUR)
    assert isinstance(lease, Lease)
    assert lease.kind is LeaseKind.ROBOTS


def test_robots_are_asked_for_in_the_name_of_a_source_that_may_and_serve_both() -> None:
    made = frontier(AT_EIGHT, ignore_robots=False)
    admit(made, 1, SEED, 1)
    admit(made, 2, f"{HOST}/of-the-other", 2)
    robots = made.lease(50.0)
    assert isinstance(robots, Lease)
    assert (robots.kind, robots.source) == (LeaseKind.ROBOTS, 2)
    made.settle(50.0, Outcome(token=robots.token, status=404))
    page = made.lease(50.0)
    assert isinstance(page, Lease)
    assert page.source == 2
    made.settle(50.0, Outcome(token=page.token, status=404))
    own = made.lease(50.0 + HOUR)
    assert isinstance(own, Lease)
    assert (own.kind, own.source) == (LeaseKind.PAGE, 1)


def test_when_its_hours_end_what_is_out_may_come_home_and_nothing_more_is_handed_out() -> None:
    made = frontier(AT_EIGHT + 8.5 * HOUR)
    admit(made, 1, SEED, 1)
    admit(made, 1, f"{HOST}/next", 2)
    lease = made.lease(50.0)
    assert isinstance(lease, Lease)
    after_work = 50.0 + 0.6 * HOUR
    assert made.settle(after_work, Outcome(token=lease.token, status=404)) == []
    waits = made.lease(after_work)
    assert isinstance(waits, WaitUntil)
    assert waits.time == pytest.approx(50.0 + 16.5 * HOUR)


def test_a_wall_clock_that_is_set_right_moves_the_hours() -> None:
    made = frontier(AT_EIGHT)
    admit(made, 1, SEED, 1)
    made.collect(50.0, AT_EIGHT - HOUR)
    assert made.lease(51.0) == WaitUntil(50.0 + 2 * HOUR)
