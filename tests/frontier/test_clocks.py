"""What a host's clock is after a restart, whatever the wall clock did meanwhile."""

from __future__ import annotations

import pytest

from gossamer.frontier.policy import Rules
from gossamer.frontier.registry import Registry
from gossamer.model import HostRecord

HOST = "http://a.example"
WALL = 1_700_000_000.0
DAY = 86_400.0


def wait_after(record: HostRecord, *, wall: float, now: float = 50.0) -> float:
    """Seconds that a new process, with its own monotonic clock, still leaves the host alone."""
    registry = Registry(Rules(), opened_at=now)
    registry.restore(now, wall, record, None, "test")
    return max(registry.take(HOST).ready_at - now, 0.0)


def resting(seconds: float, **more: object) -> HostRecord:
    return HostRecord(key=HOST, ready_at=WALL + seconds, wait=seconds, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(("passed", "left"), [(0.0, 600.0), (200.0, 400.0), (700.0, 0.0)])
def test_what_is_left_of_a_wait_is_waited_out(passed: float, left: float) -> None:
    assert wait_after(resting(600.0), wall=WALL + passed) == left


@pytest.mark.parametrize("jump", [3_600.0, DAY, 365 * DAY])
def test_a_wall_clock_set_back_cannot_make_a_wait_longer_than_it_was(jump: float) -> None:
    assert wait_after(resting(600.0), wall=WALL - jump) == 600.0


def test_a_wall_clock_set_forward_ends_a_wait_but_not_the_delay_after_a_request_under_way() -> None:
    assert wait_after(resting(600.0, delay=5.0, leased=1), wall=WALL + DAY) == 5.0


def test_a_block_lasts_as_long_as_its_wait() -> None:
    registry = Registry(Rules(), opened_at=0.0)
    registry.restore(0.0, WALL + 10, resting(600.0, blocked=True, failures=10), None, "test")
    assert registry.take(HOST).blocked
    later = Registry(Rules(), opened_at=0.0)
    later.restore(0.0, WALL + 700, resting(600.0, blocked=True, failures=10), None, "test")
    assert not later.take(HOST).blocked
    assert later.take(HOST).failures == 0


def test_collecting_and_restoring_a_host_gives_the_same_clock() -> None:
    registry = Registry(Rules(), opened_at=0.0)
    host = registry.take(HOST)
    host.rest(100.0, 40.0, "backoff")
    registry.touch(host)
    (record,) = registry.collect(110.0, WALL)
    assert wait_after(record, wall=WALL) == 30.0
    assert record.waiting_for == "backoff"


def test_idle_hosts_are_forgotten_oldest_first_but_never_before_their_clock_is_collected() -> None:
    registry = Registry(Rules(hosts_in_memory=10), opened_at=0.0)
    hosts = [registry.take(f"http://h{number}.example") for number in range(12)]
    registry.touch(hosts[0])
    registry.evict()
    assert registry.get(hosts[0].key) is hosts[0]
    assert registry.get(hosts[1].key) is None
    registry.collect(0.0, 0.0)
    registry.take("http://new.example")
    registry.evict()
    assert registry.get(hosts[0].key) is None
