"""Mazes that are crawled, killed and resumed: what is folded, cut off or listed must not depend on deaths."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from gossamer.failpoints import NAMES
from gossamer.model import LeaseKind, Traps
from gossamer.testing.maze import Case, Maze, MazeServer, Sitemap
from gossamer.testing.web import Request
from gossamer.url import host_of, path_of
from tests.crash.crawler import Crawler
from tests.crash.inquest import GUIDED, Inquest, file_problems, haste, lines_of, refetches
from tests.crash.look import Look

TRAPS = Traps(path_budget=8, query_budget=8)
FLAGS = ("--scope", "host", "--path-budget", "8", "--query-budget", "8", "--thin-budget", "8")


class MazeInquest(Inquest):
    def __init__(self, crawler: Crawler, server: MazeServer, *, delay: float) -> None:
        super().__init__(crawler, delay=delay)
        self.maze = server.maze

    @property
    def points(self) -> frozenset[str]:
        return NAMES - GUIDED if self.maze.sitemap is Sitemap.NONE else NAMES

    @property
    def origins(self) -> Sequence[str]:
        return self.maze.origins

    def verdict(self, seen: Look, log: list[Request]) -> list[str]:
        return [
            *(f"I1 {fault}" for fault in self.maze.faults(lines_of(self.crawler.out), traps=TRAPS)),
            *file_problems(self.crawler.out, seen.final),
            *refetches(log, fetched(seen), self.in_flight),
            *overspent(self.maze, log, self.in_flight),
            *needless(self.maze, log),
            *curious(seen, self.deaths),
            *haste(log, dict.fromkeys(self.origins, self.delay)),
        ]


def fetched(seen: Look) -> Counter[str]:
    """What was asked for, by the word of the store: each once. A URL may be a page and a guide."""
    wanted = Counter(url for url, record in seen.final.items() if record.http_status is not None)
    wanted.update(guide.url for guide in seen.guides if guide.attempts)
    wanted.update(f"{host}/robots.txt" for host in seen.judged)
    return wanted


def overspent(maze: Maze, log: Iterable[Request], in_flight: Mapping[str, int]) -> list[str]:
    """The budget of a trap counts for all lives together."""
    urls = {request.url for request in log}
    problems = []
    for case in maze.expected():
        if case.budget is None:
            continue
        asked = {url for url in urls if _belongs(maze, case, url)}
        allowed = case.budget(TRAPS) + len(asked & in_flight.keys())
        if len(asked) > allowed:
            problems.append(f"{case.name}: {len(asked)} pages asked for, allowed are {allowed}")
    return problems


def _belongs(maze: Maze, case: Case, url: str) -> bool:
    path = path_of(url)
    inside = path in case.paths or (case.pattern is not None and re.fullmatch(case.pattern, path) is not None)
    return inside and host_of(url) == maze.origins[case.host]


def needless(maze: Maze, log: Iterable[Request]) -> list[str]:
    """Where robots.txt names sitemaps, nobody need guess at a second place, whoever read it."""
    named = maze.sitemap not in (Sitemap.NONE, Sitemap.WELL_KNOWN)
    guess = maze.url("/sitemap_index.xml")
    return [f"{request} although robots.txt names sitemaps" for request in log if named and request.url == guess]


def curious(seen: Look, deaths: int) -> list[str]:
    """One probe tells how a host says `not found`; a life that knows of none that is under way may send another."""
    probes = Counter(host_of(guide.url) for guide in seen.guides if guide.kind is LeaseKind.PROBE)
    return [f"{host}: {often} probes in {deaths + 1} lives" for host, often in probes.items() if often > 1 + deaths]
