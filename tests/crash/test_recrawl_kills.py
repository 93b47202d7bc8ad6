"""A recrawl that is killed with SIGKILL: what changed is told once, and what did not change costs no bodies."""

from __future__ import annotations

import random
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from gossamer.testing.maze import FOLDS, TRAPS, Maze, MazeServer
from tests.crash.crawler import Crawler
from tests.crash.inquest import file_problems
from tests.crash.look import look
from tests.crash.mazes import FLAGS
from tests.crash.returns import Changed, Changing, MazeAgain, ReturnInquest, SecondVisit

KILLED = -signal.SIGKILL
DELAY = 0.005
POINTS = ("parsed", "page-uncommitted", "lease-committed", "connected", "page-committed")
GUIDED = ("guide-read", "guide-half-listed")


@pytest.fixture
def site() -> Iterator[Changing]:
    with Changing(1, pages=80) as site:
        yield site


@pytest.fixture
def listed() -> Iterator[Changing]:
    """A site with a sitemap, that is crawled by it."""
    with Changing(2, pages=80, sitemap=True) as site:
        yield site


def crawler_of(site: Changing, folder: Path) -> Crawler:
    return Crawler(site, folder, "--delay", str(DELAY), "--scope", "host", processes=1)


def changed(site: Changing, folder: Path) -> ReturnInquest:
    """It was crawled, and is not any more as it was."""
    crawler = crawler_of(site, folder)
    with crawler.crawl() as life:
        assert life.wait() == 0, life.stderr
    return ReturnInquest(crawler, site, Changed.of(site, changed=4, removed=3, added=3), delay=DELAY)


def die_at(inquest: SecondVisit, point: str) -> None:
    with inquest.next_life(failpoint=point) as life:
        assert life.wait() == KILLED, f"never came to {point}: {life.stderr}"


def test_killed_at_one_named_point_after_the_other(site: Changing, tmp_path: Path) -> None:
    chance, inquest = random.Random(1), changed(site, tmp_path)
    for point in POINTS:
        die_at(inquest, f"{point}:{chance.randint(1, 4)}")
    inquest.to_the_end()
    assert not inquest.problems
    assert inquest.crawler.verify()[0] == 0


def test_killed_while_the_sitemap_is_read_again_and_after(listed: Changing, tmp_path: Path) -> None:
    chance, inquest = random.Random(2), changed(listed, tmp_path)
    for point in GUIDED:
        die_at(inquest, point)
    for point in POINTS:
        die_at(inquest, f"{point}:{chance.randint(1, 4)}")
    inquest.to_the_end()
    assert not inquest.problems
    assert inquest.crawler.verify()[0] == 0


@pytest.mark.parametrize("seed", [3, 4])
def test_killed_at_random_and_resumed(site: Changing, tmp_path: Path, seed: int) -> None:
    chance, inquest = random.Random(seed), changed(site, tmp_path)
    for _ in range(4):
        with inquest.next_life() as life:
            life.wait_for_requests(chance.randint(0, 20))
            life.wait_for_time(chance.uniform(0.0, 0.03))
            life.kill()
    inquest.to_the_end()
    assert not inquest.problems


@pytest.mark.parametrize("seed", [5, 6])
def test_killed_as_it_begins_the_same_command_begins_or_goes_on(site: Changing, tmp_path: Path, seed: int) -> None:
    """However often it is cut off, it is one visit, and the site was changed for it once."""
    chance, inquest = random.Random(seed), changed(site, tmp_path)
    for _ in range(6):
        if inquest.after_death().finished_again:
            break
        with inquest.crawler.recrawl() as life:
            life.wait_for_time(chance.uniform(0.1, 0.8))
            life.kill()
    seen = inquest.after_death()
    with (inquest.crawler.resume if seen.finished_again else inquest.crawler.recrawl)() as life:
        life.wait()
        inquest.at_end(life)
    assert not inquest.problems


def test_a_maze_that_did_not_change_has_nothing_to_tell_however_often_one_dies(tmp_path: Path) -> None:
    chance = random.Random(8)
    with MazeServer(Maze(8, pages=8, sections=FOLDS | TRAPS)) as server:
        crawler = Crawler(server, tmp_path, "--delay", str(DELAY), *FLAGS, processes=1)
        with crawler.crawl() as life:
            assert life.wait() == 0, life.stderr
        inquest = MazeAgain(crawler, server, delay=DELAY)
        for point in (*POINTS, *POINTS):
            die_at(inquest, f"{point}:{chance.randint(1, 10)}")
        inquest.to_the_end()
    assert not inquest.problems


def test_a_file_that_was_not_whole_when_the_first_crawl_died_is_whole_before_the_next_visit(tmp_path: Path) -> None:
    """The last page is committed together with the end of the crawl; its line comes after that."""
    with Changing(7, pages=1) as site:
        crawler = crawler_of(site, tmp_path)
        for _ in range(10):
            with crawler.crawl(failpoint="page-committed") as life:
                assert life.wait() == KILLED, life.stderr
            if (seen := look(crawler.data)).finished:
                break
        assert file_problems(crawler.out, seen.final)
        with crawler.recrawl() as life:
            assert life.wait() == 0, life.stderr
        assert not file_problems(crawler.out, seen.final)
