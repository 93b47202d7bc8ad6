"""A maze, left by SIGKILL again and again: what was folded, cut off or listed must not depend on how often one died."""

from __future__ import annotations

import random
import signal

import pytest

from gossamer.testing.maze import BAIT, FOLDS, TRAPS, Maze, Sitemap
from tests.crash.conftest import Rehearsal
from tests.crash.mazes import MazeInquest

KILLED = -signal.SIGKILL
EVERYWHERE = ("parsed", "page-uncommitted", "page-committed", "lease-committed", "outbox-half-line", "outbox-written")
"""Points that a crawl comes by again and again, whatever road it takes."""
GUIDED = ("guide-read:3", "guide-half-listed", "guide-half-listed:4", "guide-read", "guide-half-listed:2")
"""Sitemaps are read first, and so they are killed first."""


def by_links(seed: int) -> Maze:
    return Maze(seed, pages=8, sections=FOLDS | TRAPS)


def by_sitemaps(seed: int) -> Maze:
    return Maze(seed, pages=8, posts=5, list_pages=12, sections=FOLDS | BAIT, sitemap=Sitemap.ALL, slow=0.1)


def die_at(inquest: MazeInquest, point: str) -> None:
    with inquest.next_life(failpoint=point) as life:
        assert life.wait() == KILLED, f"never came to {point}: {life.stderr}"


def die_at_random(inquest: MazeInquest, chance: random.Random, times: int) -> None:
    for _ in range(times):
        with inquest.next_life() as life:
            life.wait_for_requests(chance.randint(0, 50))
            life.wait_for_time(chance.uniform(0.0, 0.03))
            life.kill()


@pytest.mark.parametrize("seed", [1, 2])
def test_a_maze_is_solved_by_links_in_many_lives(rehearsal: Rehearsal, seed: int) -> None:
    chance = random.Random(seed)
    inquest = rehearsal.lost(by_links(seed))
    for point in chance.sample(EVERYWHERE, len(EVERYWHERE)):
        die_at(inquest, f"{point}:{chance.randint(1, 15)}")
    inquest.to_the_end()
    assert not inquest.problems
    assert inquest.crawler.verify()[0] == 0


def test_a_maze_is_solved_by_sitemaps_in_many_lives(rehearsal: Rehearsal) -> None:
    chance = random.Random(3)
    inquest = rehearsal.lost(by_sitemaps(3))
    for point in GUIDED:
        die_at(inquest, point)
    for point in chance.sample(EVERYWHERE, len(EVERYWHERE)):
        die_at(inquest, f"{point}:{chance.randint(1, 15)}")
    inquest.to_the_end()
    assert not inquest.problems
    assert inquest.crawler.verify()[0] == 0


@pytest.mark.parametrize("maze", [by_links(4), by_sitemaps(5)], ids=["links", "sitemaps"])
def test_a_maze_is_solved_whenever_one_dies(rehearsal: Rehearsal, maze: Maze) -> None:
    inquest = rehearsal.lost(maze)
    die_at_random(inquest, random.Random(maze.seed), 5)
    inquest.to_the_end()
    assert not inquest.problems


def test_a_guessed_place_stays_unneeded_after_a_death(rehearsal: Rehearsal) -> None:
    """What robots.txt named is known to every life, not only to the one that read it."""
    inquest = rehearsal.lost(Maze(6, pages=3, sections=(), sitemap=Sitemap.INDEX))
    die_at(inquest, "robots-committed")
    inquest.to_the_end()
    assert not inquest.problems
