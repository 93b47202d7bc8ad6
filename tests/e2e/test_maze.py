"""A site with every kind of double, trap and bait has a known answer, and a crawl of it equals that."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from gossamer.adapters.store_sqlite import SqliteStore
from gossamer.model import PageRecord, State, Traps, Why
from gossamer.testing.maze import Maze, MazeServer, Road, Section, Sitemap
from tests.e2e.crawling import crawled

TRAPS = Traps(path_budget=30, query_budget=30)


async def solve(server: MazeServer, **options: object) -> list[PageRecord]:
    budgets = {"path_budget": 30, "query_budget": 30, "thin_budget": 30}
    wanted = {"scope": "host", "seed_from": ["auto"], **budgets, **options}
    result = await crawled(*server.seeds, **wanted)  # type: ignore[arg-type]
    return result.records


@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_a_maze_is_solved_by_links(seed: int) -> None:
    with MazeServer(Maze(seed)) as server:
        records = await solve(server)
        assert not server.maze.faults(records, traps=TRAPS)


@pytest.mark.parametrize("sitemap", [each for each in Sitemap if each is not Sitemap.NONE])
async def test_a_maze_is_solved_by_its_sitemaps(sitemap: Sitemap) -> None:
    with MazeServer(Maze(4, sitemap=sitemap, slow=0.3)) as server:
        records = await solve(server)
        assert not server.maze.faults(records, traps=TRAPS)


async def test_sitemaps_and_links_together_find_all_there_is() -> None:
    with MazeServer(Maze(5, sitemap=Sitemap.INDEX)) as server:
        records = await solve(server, seed_from=["sitemap", "links"])
        assert not server.maze.faults(records, traps=TRAPS, roads={Road.SITEMAP, Road.LINKS})


async def test_folded_pages_name_the_page_that_stands_for_them(tmp_path: Path) -> None:
    with MazeServer(Maze(6)) as server:
        records = await solve(server, data=tmp_path)
        store = await SqliteStore.open(tmp_path, read_only=True)
        infos = [info for record in records for info in await store.find(record.url)]
        await store.close()
        targets = {info.record.url: info.target for info in infos}
        assert not server.maze.faults(records, traps=TRAPS, targets=targets)
        folded = {Why.CANONICAL, Why.DUPLICATE, Why.NEAR_DUPLICATE}
        assert all(targets[record.url] for record in records if record.reason in folded)


async def test_what_does_not_matter_in_an_address_is_learnt_and_not_fetched_any_more() -> None:
    with MazeServer(Maze(7, sections=[Section.SESSIONS], pages=5)) as server:
        records = await solve(server, query_budget=500)
        shop = [record for record in records if "/shop/" in record.url]
        learnt = [record for record in shop if "does not change pages of this host" in (record.error or "")]
        assert learnt, "every new session id was fetched"
        assert not [record.url for record in learnt if record.http_status is not None]
        assert not server.maze.faults(records, traps=Traps(path_budget=30))


async def test_a_slow_sitemap_does_not_hold_up_the_crawl() -> None:
    with MazeServer(Maze(8, sections=[], sitemap=Sitemap.SLOW, slow=1.5)) as server:
        records = await solve(server, sitemap_patience=0.2)
        log = server.requests()
        slow = next(request for request in log if request.path.startswith("/maps/"))
        meanwhile = [request for request in log if slow.started < request.started < slow.started + 1.5]
        assert len(meanwhile) > 20, "nothing was fetched while the sitemap kept everybody waiting"
        # Links were followed, and what the sitemap lists came on top.
        assert {record.url for record in records if record.state is State.COMPLETED} >= set(server.maze.listed)


async def test_what_may_not_be_folded_is_left_alone() -> None:
    sections = [Section.DUPLICATES, Section.NEAR_DUPLICATES, Section.CANONICAL]
    with MazeServer(Maze(9, sections=sections, pages=5)) as server:
        options = {"canonical": False, "duplicates": False, "near_duplicates": "off", "learn_parameters": False}
        reasons = Counter(record.reason for record in await solve(server, **options))
        assert not set(reasons) & {Why.CANONICAL, Why.DUPLICATE, Why.NEAR_DUPLICATE}
