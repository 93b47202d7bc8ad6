"""Coming back to a site: only what changed is fetched, and the feed tells exactly that."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import gossamer
from gossamer.model import Change, ChangeEntry, PageRecord, Summary
from gossamer.testing.evolving import VALIDATORS, Evolving, Validator
from tests.e2e.crawling import QUICKLY, crawled


async def first(site: Evolving, data: Path) -> None:
    await crawled(site.url("/"), data=data, scope="host", seed_from=["auto"])


async def again(data: Path, *, due: bool = False) -> tuple[list[PageRecord], Summary]:
    run = gossamer.recrawl(data, due=due, delay=QUICKLY["delay"], backoff_first=0.02)
    pages = [page async for page in run]
    assert run.summary is not None
    return pages, run.summary


async def feed(data: Path) -> dict[Change, set[str]]:
    told: dict[Change, set[str]] = {change: set() for change in Change}
    async for entry in gossamer.changes(data):
        assert entry.url not in told[entry.change], "told twice"
        told[entry.change].add(entry.url)
    return told


async def test_of_a_thousand_pages_exactly_those_that_changed_are_told(tmp_path: Path) -> None:
    with Evolving(1, pages=1000, sitemap=True) as site:
        await first(site, tmp_path)
        before = len(site.requests())
        indices = set(site.indices)
        changed, removed, added = site.change(10), site.remove(5), site.add(5)
        # The last five stand on a shelf of their own.
        (shelf,) = set(site.indices) - indices
        pages, summary = await again(tmp_path)
        log = site.requests()[before:]
    told = await feed(tmp_path)
    assert told[Change.CHANGED] == set(changed)
    assert told[Change.REMOVED] == set(removed)
    assert told[Change.ADDED] == {*added, shelf}
    assert summary.changes is not None
    assert (summary.changes.added, summary.changes.changed, summary.changes.removed) == (6, 10, 5)
    assert {page.url for page in pages} == {*changed, *added, shelf}
    unchanged = [request for request in log if request.status == 304]
    assert len(unchanged) >= 1000 - 10 - 5
    assert all(request.conditional and request.sent == 0 for request in unchanged)
    assert {request.path for request in log if not request.conditional} <= {
        "/robots.txt",
        "/sitemap.xml",
        *(url.removeprefix(site.url("")) for url in (*added, shelf)),
    }


@pytest.mark.parametrize("validator", VALIDATORS)
async def test_an_unchanged_site_costs_no_bodies(tmp_path: Path, validator: Validator) -> None:
    with Evolving(2, pages=40, validators=[validator]) as site:
        await first(site, tmp_path)
        before = len(site.requests())
        pages, summary = await again(tmp_path)
        log = [request for request in site.requests()[before:] if not request.path.startswith("/sitemap")]
    assert not pages
    assert summary.changes is not None
    assert not any((summary.changes.added, summary.changes.changed, summary.changes.removed))
    assert {(request.status, request.sent) for request in log} == {(304, 0)}


async def test_without_validators_the_content_decides_and_noise_around_it_does_not(tmp_path: Path) -> None:
    with Evolving(3, pages=30, validators=[Validator.NONE], noise=True) as site:
        await first(site, tmp_path)
        changed = site.change(3)
        await again(tmp_path)
    told = await feed(tmp_path)
    assert told == {Change.CHANGED: set(changed), Change.ADDED: set(), Change.REMOVED: set()}


async def test_a_page_that_was_away_for_a_moment_is_not_gone(tmp_path: Path) -> None:
    with Evolving(4, pages=30) as site:
        await first(site, tmp_path)
        flickering, removed = site.flicker(2), site.remove(2, status=410)
        await again(tmp_path)
        asked = Counter(request.path for request in site.requests())
    told = await feed(tmp_path)
    assert told[Change.REMOVED] == set(removed)
    assert not told[Change.REMOVED] & set(flickering)
    # Once in the first crawl, and twice until it was believed.
    assert {asked[url.removeprefix(site.url(""))] for url in removed} == {3}


async def test_a_page_that_comes_back_is_added_and_its_diff_tells_what_changed(tmp_path: Path) -> None:
    with Evolving(5, pages=20) as site:
        await first(site, tmp_path)
        (url,) = site.change(1)
        await again(tmp_path)
        entries = [entry async for entry in gossamer.changes(tmp_path)]
    assert [(entry.change, entry.url) for entry in entries] == [(Change.CHANGED, url)]
    assert_is_diff(entries[0])


def assert_is_diff(entry: ChangeEntry) -> None:
    lines = (entry.diff or "").splitlines()
    assert any(line.startswith("-") and not line.startswith("---") for line in lines)
    assert any(line.startswith("+") and not line.startswith("+++") for line in lines)
    assert entry.hash != entry.previous_hash


async def test_only_what_is_due_is_visited_where_that_is_asked_for(tmp_path: Path) -> None:
    with Evolving(6, pages=30, sitemap=True) as site:
        await first(site, tmp_path)
        before = len(site.requests())
        await again(tmp_path, due=True)
        assert {request.path for request in site.requests()[before:]} <= {"/robots.txt", "/sitemap.xml"}


async def test_a_page_that_its_sitemap_calls_changed_is_due_at_once(tmp_path: Path) -> None:
    with Evolving(8, pages=30, sitemap=True) as site:
        await first(site, tmp_path)
        before = len(site.requests())
        changed = site.change(2)
        await again(tmp_path, due=True)
        asked = {site.url(request.path) for request in site.requests()[before:]}
    assert asked <= {site.url("/robots.txt"), site.url("/sitemap.xml"), *changed}
    assert (await feed(tmp_path))[Change.CHANGED] == set(changed)


async def test_a_second_recrawl_tells_only_what_is_new_since_the_first(tmp_path: Path) -> None:
    with Evolving(7, pages=30) as site:
        await first(site, tmp_path)
        site.change(2)
        await again(tmp_path)
        later = site.change(1)
        await again(tmp_path)
        since_last = [entry.url async for entry in gossamer.changes(tmp_path, since="last")]
    assert since_last == later
