from __future__ import annotations

import pytest

from gossamer.adapters.bus_processes.watch import Cause, Limits, Watch, died

LIMITS = Limits(parse_timeout=10.0, hang_timeout=30.0, memory=1024**3)


def looks(watch: Watch, times: int, *, token: int = 0, beat: int = 1, memory: int = 0) -> list[Cause | None]:
    """Two looks a second."""
    return [watch.look(0.5, token=token, beat=beat, memory=memory) for _ in range(times)]


def test_a_child_may_read_for_as_long_as_the_limit_and_no_longer() -> None:
    *before, last = looks(Watch(LIMITS), 22, token=7)
    assert before == [None] * 21
    assert last is not None
    assert last.blame == "took longer than 10 s to read"


def test_reading_one_page_after_the_other_is_not_reading_one_page_for_long() -> None:
    watch = Watch(LIMITS)
    assert [looks(watch, 20, token=token, beat=token) for token in range(1, 10)] == [[None] * 20] * 9


def test_a_child_without_a_beat_is_given_up_after_the_limit() -> None:
    *before, last = looks(Watch(LIMITS), 62)
    assert before == [None] * 61
    assert last is not None
    assert last.returned == "the worker gave no sign of life for 30 s"


def test_a_child_that_never_came_up_is_given_up_too() -> None:
    assert looks(Watch(LIMITS), 61, beat=0)[-1] is not None


def test_a_child_that_reads_has_no_time_for_a_beat() -> None:
    watch = Watch(Limits(parse_timeout=100.0, hang_timeout=1.0))
    assert looks(watch, 50, token=7) == [None] * 50


def test_a_child_that_beats_lives_for_ever() -> None:
    watch = Watch(LIMITS)
    assert [looks(watch, 60, beat=beat) for beat in range(1, 10)] == [[None] * 60] * 9


@pytest.mark.parametrize("token", [0, 7])
def test_a_family_that_was_stopped_together_holds_nothing_against_its_children(token: int) -> None:
    watch = Watch(LIMITS)
    looks(watch, 1, token=token)
    assert watch.look(3600.0, token=token, beat=1, memory=0) is None


def test_a_child_that_eats_too_much_goes_at_once() -> None:
    watch = Watch(LIMITS)
    assert looks(watch, 1, memory=1024**3) == [None]
    assert looks(watch, 1, memory=1024**3 + 1) == [Cause.of_worker("used more than 1024 MiB of memory")]


def test_a_child_is_responsive_from_its_first_beat_until_it_misses_some() -> None:
    watch = Watch(LIMITS)
    seen = []
    for beat in (0, 1, 1, 1, 2):
        looks(watch, 2, beat=beat)
        seen.append(watch.responsive)
    assert seen == [False, True, True, False, True]


@pytest.mark.parametrize(
    ("returncode", "says"),
    [(1, "exit code 1"), (0, "exit code 0"), (-9, "signal 9, SIGKILL"), (-300, "signal 300")],
)
def test_a_death_is_told_by_its_name(returncode: int, says: str) -> None:
    assert died(returncode).returned == f"the worker died ({says})"
