"""Crawls that are killed again and again, each held against its known answer, for as long as one likes: `make soak`.

The rounds take turns: a web, a maze, and a second visit to a site that changed or to a maze that did not. Every one is
made from a number, its seed, and can be repeated: `python -m tests.crash.soak --first 17 --rounds 1`. (The moments of
the kills vary a little from run to run, as the machine does.)
"""

from __future__ import annotations

import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from random import Random

import click
import msgspec

from gossamer.failpoints import NAMES
from gossamer.testing.maze import Maze, MazeServer, Section, Sitemap
from gossamer.testing.web import EVERYTHING, QUICK, RULES, Behaviour, RetryAfter, Robots, Web, WebServer, make_web
from tests.crash.crawler import Crawler, Life, Server
from tests.crash.inquest import AT_FIRST, Inquest
from tests.crash.mazes import FLAGS, MazeInquest
from tests.crash.returns import Changed, Changing, MazeAgain, ReturnInquest
from tests.crash.webs import WebInquest

CUT_OFF = {130, -signal.SIGKILL, -signal.SIGINT, -signal.SIGTERM}
"""Exit codes. A signal that comes when all is over and nobody listens any more ends a process as it always does."""


class Report(msgspec.Struct):
    """What a round came to."""

    pages: int = 0
    deaths: Counter[str] = msgspec.field(default_factory=Counter)
    problems: list[str] = []
    first_request: float = 0.0
    """Of its last life, in seconds."""


@click.command()
@click.option("--minutes", default=10.0, show_default=True, help="No new round after this time.")
@click.option("--first", default=1, show_default=True, help="The seed of the first round.")
@click.option("--rounds", type=int, help="At most so many rounds.")
def main(minutes: float, first: int, rounds: int | None) -> None:
    """Kill crawls at named points and at random; exit with 1 if one invariant did not hold once."""
    until, all_deaths, pages, failed = time.monotonic() + 60 * minutes, Counter[str](), 0, []
    for seed in count(first):
        if time.monotonic() > until or seed - first == rounds:
            break
        report = play(seed)
        pages += report.pages
        all_deaths += report.deaths
        failed += [seed] if report.problems else []
    click.echo(f"{seed - first} rounds, {pages} pages, {all_deaths.total()} deaths: {_list(all_deaths)}")
    click.echo(f"did not hold with the seeds {', '.join(map(str, failed))}" if failed else "every invariant held")
    sys.exit(1 if failed else 0)


def play(seed: int) -> Report:
    """One crawl to its end. What it left behind is kept if there is something to find out."""
    began, folder = time.monotonic(), Path(tempfile.mkdtemp(prefix=f"gossamer-soak-{seed}-"))
    report = _play(Random(seed), seed, folder)
    times = f"{time.monotonic() - began:.1f} s, back at work after {report.first_request:.1f} s"
    told = f"{report.pages} pages, {report.deaths.total()} deaths ({_list(report.deaths)}), {times}"
    click.echo(f"seed {seed}: {told}: {'see below' if report.problems else 'well'}")
    if report.problems:
        click.echo("\n".join(f"  {problem}" for problem in [*report.problems, f"what it left is in {folder}"]))
    else:
        shutil.rmtree(folder)
    return report


def _play(chance: Random, seed: int, folder: Path) -> Report:
    delay = chance.choice((0.01, 0.02, 0.05))
    game = GAMES[seed % len(GAMES)]
    with game(chance, seed, folder, delay) as inquest:
        deaths = _live_and_die(chance, inquest)
        return Report(
            pages=inquest.pages, deaths=deaths, problems=inquest.problems, first_request=inquest.first_request
        )


def _crawler(chance: Random, server: Server, folder: Path, delay: float, *flags: str) -> Crawler:
    wishes = ("--delay", str(delay), "--durability", chance.choice(("normal", "full")), *flags)
    return Crawler(server, folder, *wishes, processes=chance.randint(0, 3), rules=("--backoff-first", "50ms"))


@contextmanager
def web(chance: Random, seed: int, folder: Path, delay: float) -> Iterator[Inquest]:
    with WebServer(some_web(chance, seed), log_file=folder / "requests.jsonl") as server:
        yield WebInquest(_crawler(chance, server, folder, delay), server, delay=delay)


@contextmanager
def maze(chance: Random, seed: int, folder: Path, delay: float) -> Iterator[Inquest]:
    with MazeServer(some_maze(chance, seed), log_file=folder / "requests.jsonl") as server:
        yield MazeInquest(_crawler(chance, server, folder, delay, *FLAGS), server, delay=delay)


@contextmanager
def changed_site(chance: Random, seed: int, folder: Path, delay: float) -> Iterator[Inquest]:
    with Changing(seed, pages=chance.randint(20, 150), sitemap=chance.random() < 0.5) as site:
        crawler = _crawler(chance, site, folder, delay, "--scope", "host")
        _first_visit(crawler)
        numbers = [chance.randint(0, 5) for _ in range(3)]
        changes = Changed.of(site, changed=numbers[0], removed=numbers[1], added=numbers[2])
        yield ReturnInquest(crawler, site, changes, delay=delay)


@contextmanager
def maze_again(chance: Random, seed: int, folder: Path, delay: float) -> Iterator[Inquest]:
    with MazeServer(some_maze(chance, seed), log_file=folder / "requests.jsonl") as server:
        crawler = _crawler(chance, server, folder, delay, *FLAGS)
        _first_visit(crawler)
        yield MazeAgain(crawler, server, delay=delay)


GAMES = (web, maze, changed_site, web, maze, maze_again)


def _first_visit(crawler: Crawler) -> None:
    with crawler.crawl() as life:
        if life.wait() != 0:
            raise RuntimeError(f"the first visit, in which nobody died, failed: {life.stderr}")


def some_maze(chance: Random, seed: int) -> Maze:
    sections = frozenset(chance.sample(sorted(Section), chance.randint(3, len(Section))))
    sitemap = chance.choice((Sitemap.NONE, Sitemap.ALL, *Sitemap))
    pages, posts, lists = (chance.randint(3, most) for most in (40, 20, 20))
    return Maze(seed, pages=pages, sections=sections, sitemap=sitemap, posts=posts, list_pages=lists, slow=0.3)


def some_web(chance: Random, seed: int) -> Web:
    hosts = chance.randint(1, 5)
    behaviours = {number: _behaviour(chance) for number in range(hosts)}
    features = chance.choice((QUICK, EVERYTHING))
    return make_web(seed, hosts, chance.randint(3, 40), features=features, behaviours=behaviours)


def _behaviour(chance: Random) -> Behaviour:
    return Behaviour(
        latency=chance.choice((0.0, 0.0, 0.01, 0.05)),
        robots=Robots(rules=RULES, crawl_delay=chance.choice((None, None, 0.1))),
        retry_after=RetryAfter(seconds=1) if chance.random() < 0.2 else None,
    )


def _live_and_die(chance: Random, inquest: Inquest) -> Counter[str]:
    deaths: Counter[str] = Counter()
    for number in range(chance.randint(1, 12)):
        cause = chance.choice([*WAYS, *sorted(inquest.points - AT_FIRST if number else inquest.points)])
        with inquest.next_life(failpoint=f"{cause}:{chance.randint(1, 6)}" if cause in NAMES else "") as life:
            if cause in WAYS:
                _wait(chance, life, 0 if cause == "kill" else 1)
                WAYS[cause](life)
            if life.wait() == 0:
                inquest.at_end(life)
                return deaths
            deaths[cause] += 1
            if life.wait() not in CUT_OFF:
                inquest.problems.append(f"exit code {life.wait()} after {cause}: {life.stderr}")
    inquest.to_the_end()
    return deaths


def _wait(chance: Random, life: Life, requests: int) -> None:
    """For a moment to strike; for signals not before the first request, because Python itself cannot take one yet."""
    life.wait_for_requests(chance.choice((requests, chance.randint(requests, 40))))
    life.wait_for_time(chance.uniform(0.0, 0.05 if requests else 0.5))


def _twice(life: Life) -> None:
    life.signal(signal.SIGINT, to_all=True)
    life.wait_for_time(0.05)
    life.signal(signal.SIGINT, to_all=True)


WAYS: dict[str, Callable[[Life], object]] = {
    "kill": Life.kill,
    "kill the parent": Life.kill_parent,
    "Ctrl+C": lambda life: life.signal(signal.SIGINT, to_all=True),
    "Ctrl+C twice": _twice,
    "SIGTERM": lambda life: life.signal(signal.SIGTERM),
}


def _list(deaths: Counter[str]) -> str:
    return ", ".join(f"{name} {times}" for name, times in sorted(deaths.items())) or "none"


if __name__ == "__main__":
    main()
