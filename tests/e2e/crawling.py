"""Crawls as tests want them: quick, to the end, with every page and how it ended."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import Unpack

import msgspec

from gossamer.api import crawl
from gossamer.config.options import Options
from gossamer.model import PageRecord, State, Summary
from gossamer.testing.web import Host, Link, Page, Request, Robots, Web

QUICKLY: Options = {"delay": 0, "backoff_first": 0.02, "seed_from": ["links"]}
"""The roads beyond links have tests of their own."""
PATIENCE = 30.0
"""Far beyond what any of these crawls takes: whoever gets there hangs."""


class Result(msgspec.Struct, frozen=True):
    records: list[PageRecord]
    summary: Summary

    def __getitem__(self, url: str) -> PageRecord:
        (record,) = [record for record in self.records if record.url == url]
        return record

    def told(self, url: str) -> str:
        """How a page ended, in two words: `completed 200`, `skipped robots`, `failed timeout`."""
        record = self[url]
        fault = (record.error or "").partition(":")[0]
        return f"{record.state.value} {record.reason or fault or record.http_status}"


async def crawled(*seeds: str, data: Path | None = None, **options: Unpack[Options]) -> Result:
    """A whole crawl, as fast as it may be unless told otherwise, and everything that came of it."""
    wanted: Options = {**QUICKLY, **options}
    run = crawl(*seeds, data=data, states=tuple(State), **wanted)
    async with asyncio.timeout(PATIENCE):
        records = [page async for page in run]
    assert run.summary is not None
    return Result(records, run.summary)


def counts_add_up(result: Result) -> bool:
    states = [record.state for record in result.records]
    told = result.summary
    counted = (told.completed, told.failed, told.skipped)
    return counted == tuple(map(states.count, (State.COMPLETED, State.FAILED, State.SKIPPED)))


def one_host(*pages: Page, robots: Robots | None = None) -> Web:
    """A web of one host with just these pages."""
    host = Host(pages={page.path: page for page in pages}, robots=robots or Robots())
    return Web(hosts=(host,), origins=("http://host-0.test",))


def page(path: str, *targets: str, delay: float = 0.0) -> Page:
    """A page that links to others of its host."""
    return Page(path=path, links=tuple(Link(0, target) for target in targets), delay=delay)


def moved(path: str, target: str, host: int | None = 0) -> Page:
    """A page that redirects; with no host, to an address as it is written."""
    return Page(path=path, status=302, location=Link(host, target))


def paths(log: Iterable[Request]) -> list[str]:
    """The pages that were asked for, in order; robots files are not pages."""
    return [request.path for request in log if not request.robots]
