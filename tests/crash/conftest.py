from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from gossamer.testing.maze import Maze, MazeServer
from gossamer.testing.web import Behaviour, Feature, Web, WebServer, make_web
from tests.crash.crawler import Crawler
from tests.crash.mazes import FLAGS, MazeInquest
from tests.crash.webs import WebInquest

DELAY = 0.02
SHORT_DELAY = 0.005
"""Where there are many pages."""
FEATURES = {Feature.DISALLOWED, Feature.GZIP, Feature.MISSING, Feature.NOFOLLOW, Feature.NOINDEX, Feature.STYLES}


class Rehearsal:
    """Everything that a test of a crash needs: a web that is served, a crawler to kill, and the inquest."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._servers = ExitStack()

    def of(self, web: Web, *, delay: float = DELAY, processes: int = 2) -> WebInquest:
        server = self._servers.enter_context(WebServer(web))
        crawler = Crawler(server, self._folder, "--delay", str(delay), processes=processes)
        return WebInquest(crawler, server, delay=delay)

    def small(self, seed: int, *, processes: int = 2) -> WebInquest:
        """Three hosts of different speed, so that they do not move in step."""
        speeds = {number: Behaviour(latency=0.01 * number) for number in range(3)}
        web = make_web(seed, hosts=3, pages_per_host=8, features=FEATURES, behaviours=speeds)
        return self.of(web, processes=processes)

    def lost(self, maze: Maze) -> MazeInquest:
        """In a maze, by links or by its sitemaps."""
        server = self._servers.enter_context(MazeServer(maze))
        crawler = Crawler(server, self._folder, "--delay", str(SHORT_DELAY), *FLAGS, processes=1)
        return MazeInquest(crawler, server, delay=SHORT_DELAY)

    def close(self) -> None:
        self._servers.close()


@pytest.fixture
def rehearsal(tmp_path: Path) -> Iterator[Rehearsal]:
    rehearsal = Rehearsal(tmp_path)
    yield rehearsal
    rehearsal.close()
