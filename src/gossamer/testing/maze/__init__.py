"""A site with every difficulty of finding all pages, each once, and of getting lost in no trap; with a known answer.

with MazeServer(Maze(seed=1)) as server:
    ...  # crawl server.seeds
    assert not server.maze.faults(records, traps=Traps(path_budget=30))
"""

from __future__ import annotations

from gossamer.testing.maze.judge import ANY_ROAD, Case, Road
from gossamer.testing.maze.server import MazeServer
from gossamer.testing.maze.site import BAIT, EVERY_SECTION, FOLDS, TRAPS, Section, Sitemap
from gossamer.testing.maze.sitemaps import Listed
from gossamer.testing.maze.world import Maze

__all__ = [
    "ANY_ROAD",
    "BAIT",
    "EVERY_SECTION",
    "FOLDS",
    "TRAPS",
    "Case",
    "Listed",
    "Maze",
    "MazeServer",
    "Road",
    "Section",
    "Sitemap",
]
