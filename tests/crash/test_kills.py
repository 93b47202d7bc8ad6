"""Killed with SIGKILL, all processes at once, at every point that has a name and at random; then resumed."""

from __future__ import annotations

import random
import signal

import pytest

from gossamer.failpoints import NAMES
from gossamer.testing.web import Behaviour, RetryAfter, Robots, make_web
from tests.crash.conftest import Rehearsal
from tests.crash.inquest import AT_FIRST, GUIDED

KILLED = -signal.SIGKILL
OFTEN = sorted(NAMES - AT_FIRST - GUIDED)
"""Points that a crawl comes by again and again."""


@pytest.mark.parametrize("point", OFTEN)
def test_killed_at_a_named_point(rehearsal: Rehearsal, point: str) -> None:
    inquest = rehearsal.small(1)
    with inquest.crawler.crawl(failpoint=f"{point}:5") as life:
        assert life.wait() == KILLED, life.stderr
    inquest.to_the_end()
    assert not inquest.problems


@pytest.mark.parametrize("seed", [2, 3])
def test_killed_at_one_named_point_after_the_other(rehearsal: Rehearsal, seed: int) -> None:
    chance = random.Random(seed)
    inquest = rehearsal.small(seed)
    for point in chance.sample(OFTEN, len(OFTEN)):
        with inquest.next_life(failpoint=f"{point}:{chance.randint(1, 3)}") as life:
            assert life.wait() == KILLED, life.stderr
    inquest.to_the_end()
    assert not inquest.problems


@pytest.mark.parametrize("point", ["robots-committed", "robots-fetched"])
def test_killed_around_robots_which_are_asked_for_again_only_where_need_be(rehearsal: Rehearsal, point: str) -> None:
    inquest = rehearsal.small(1)
    for _ in range(2):
        with inquest.next_life(failpoint=point) as life:
            assert life.wait() == KILLED, life.stderr
    inquest.to_the_end()
    assert not inquest.problems


@pytest.mark.parametrize("statement", [1, 5])
def test_killed_while_the_store_is_made_there_is_nothing_to_resume_yet(rehearsal: Rehearsal, statement: int) -> None:
    inquest = rehearsal.small(1)
    with inquest.crawler.crawl(failpoint=f"migration:{statement}") as life:
        assert life.wait() == KILLED, life.stderr
    code, said = inquest.crawler.verify()
    assert (code, "has no store" in said) == (3, True)
    with inquest.crawler.resume() as life:
        assert life.wait() == 3
    assert "has no crawl to resume" in life.stderr.splitlines()[-1]
    inquest.to_the_end()
    assert not inquest.problems


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_killed_at_random_again_and_again(rehearsal: Rehearsal, seed: int) -> None:
    chance = random.Random(seed)
    inquest = rehearsal.small(seed, processes=1)
    for _ in range(4):
        with inquest.next_life() as life:
            life.wait_for_requests(chance.randint(0, 20))
            life.wait_for_time(chance.uniform(0.0, 0.03))
            life.kill()
    inquest.to_the_end()
    assert not inquest.problems


def test_waits_outlive_a_crash(rehearsal: Rehearsal) -> None:
    """All of them longer than it takes to resume: what the server asked for, and the delay after a cut request."""
    slow = {
        0: Behaviour(robots=Robots(crawl_delay=2.5)),
        1: Behaviour(retry_after=RetryAfter(seconds=3)),
        2: Behaviour(latency=0.8),
    }
    inquest = rehearsal.of(make_web(1, hosts=3, pages_per_host=1, features=(), behaviours=slow), delay=2.0, processes=1)
    for point in ("robots-committed", "page-committed"):
        with inquest.next_life(failpoint=point) as life:
            assert life.wait() == KILLED, life.stderr
    inquest.to_the_end()
    assert not inquest.problems


def test_a_parent_that_dies_alone_takes_its_children_with_it(rehearsal: Rehearsal) -> None:
    inquest = rehearsal.small(1)
    with inquest.crawler.crawl() as life:
        assert life.wait_for_requests(10)
        life.kill_parent()
        inquest.to_the_end()
    assert not inquest.problems


def test_the_same_command_again_goes_on_like_resume(rehearsal: Rehearsal) -> None:
    inquest = rehearsal.small(2)
    with inquest.crawler.crawl(failpoint="page-committed:5") as life:
        assert life.wait() == KILLED, life.stderr
    inquest.after_death()
    with inquest.crawler.crawl() as life:
        life.wait()
        inquest.at_end(life)
    assert not inquest.problems
