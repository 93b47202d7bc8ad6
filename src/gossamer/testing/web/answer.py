"""The known answer: a plain breadth-first walk over the description, with nothing of gossamer's own machinery in it.

How a URL with several reasons is judged: scope and type look at the URL alone and come first; then the best road to it
counts, and a road that may be followed beats one that may not; depth is the shortest such road; robots come last,
because they are asked only before a fetch.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from gossamer.model import PageRecord, ScopeMode, State, Why
from gossamer.url import host_of, path_of, site_of

if TYPE_CHECKING:
    from gossamer.testing.web.site import Page
    from gossamer.testing.web.world import Web


class Expected(msgspec.Struct, frozen=True, kw_only=True):
    """The final state of one URL."""

    state: State
    reason: Why | None = None
    """Of a skipped page."""
    status: int | None = None
    """Of the answer; None where there was none, or where it was not asked for."""
    depth: int = 0


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """What is crawled, and how far."""

    seeds: tuple[str, ...]
    scope: ScopeMode = ScopeMode.PREFIX
    max_depth: int | None = None
    skip_types: tuple[str, ...] = ()
    ignore_robots: bool = False


class _Road(msgspec.Struct, frozen=True):
    url: str
    depth: int
    nofollow: bool = False


def answer(web: Web, question: Question) -> dict[str, Expected]:
    judge = _Judge(web, question)
    found: dict[str, Expected] = {}
    refused: dict[str, _Road] = {}
    roads = deque(_Road(url, 0) for url in question.seeds)
    while roads:
        road = roads.popleft()
        if road.url in found:
            continue
        if road.nofollow:
            refused.setdefault(road.url, road)
            continue
        found[road.url] = judge.expect(road)
        for onward in _onward(web, road, found[road.url]):
            # A redirect costs no depth, so its target belongs to this level, before the next one.
            (roads.appendleft if onward.depth == road.depth else roads.append)(onward)
    for road in refused.values():
        found.setdefault(road.url, judge.expect(road))
    return found


def _onward(web: Web, road: _Road, expected: Expected) -> Iterator[_Road]:
    page = web.page(road.url)
    if page is None or not _was_read(expected):
        return
    if page.location and (target := web.target(page.location)):
        yield _Road(target, road.depth)
    followed = {web.target(link) for link in page.links if not link.nofollow}
    for target in filter(None, map(web.target, page.links)):
        yield _Road(target, road.depth + 1, page.nofollow or target not in followed)


def _was_read(expected: Expected) -> bool:
    return expected.state is State.COMPLETED or expected.reason in (Why.REDIRECT, Why.NOINDEX)


class _Judge:
    """What becomes of one URL at the end of one road."""

    def __init__(self, web: Web, question: Question) -> None:
        self._web = web
        self._question = question
        self._endings = tuple(f".{ending.lstrip('.')}" for ending in question.skip_types)
        self._seeds = self._with_redirects(question.seeds)
        self._sites = {site_of(host_of(seed)) for seed in self._seeds}
        self._folders: defaultdict[str, set[str]] = defaultdict(set)
        for seed in self._seeds:
            self._folders[host_of(seed)].add(_folder(_path(seed)))

    def expect(self, road: _Road) -> Expected:
        if reason := self._refusal(road):
            return Expected(state=State.SKIPPED, reason=reason, depth=road.depth)
        host = self._web.host(road.url)
        if host is None or host.dead or (host.robots.unreachable and not self._question.ignore_robots):
            return Expected(state=State.FAILED, depth=road.depth)
        if not self._may_fetch(road.url):
            return Expected(state=State.SKIPPED, reason=Why.ROBOTS, depth=road.depth)
        page = self._web.page(road.url)
        if page and page.location and self._web.target(page.location) == road.url:
            return Expected(state=State.FAILED, status=page.status, depth=road.depth)
        return _of_page(page, road.depth)

    def _with_redirects(self, seeds: Sequence[str]) -> frozenset[str]:
        """Seeds, and where they redirect to: a person who typed the old address means the new one too."""
        known: set[str] = set()
        waiting = list(seeds)
        while waiting:
            url = waiting.pop()
            page = self._web.page(url)
            if url not in known and page and page.location and self._may_fetch(url):
                waiting += filter(None, [self._web.target(page.location)])
            known.add(url)
        return frozenset(known)

    def _may_fetch(self, url: str) -> bool:
        return self._question.ignore_robots or self._web.allows(url)

    def _refusal(self, road: _Road) -> Why | None:
        if road.url not in self._seeds and not self._inside(road.url):
            return Why.SCOPE
        if self._endings and _path(road.url).lower().endswith(self._endings) and road.url not in self._seeds:
            return Why.TYPE
        limit = self._question.max_depth
        if limit is not None and road.depth > limit:
            return Why.DEPTH
        return Why.NOFOLLOW if road.nofollow else None

    def _inside(self, url: str) -> bool:
        match self._question.scope:
            case ScopeMode.ANY:
                return True
            case ScopeMode.SITE:
                return site_of(host_of(url)) in self._sites
            case ScopeMode.HOST:
                return host_of(url) in self._folders
            case ScopeMode.PREFIX:
                return f"{_path(url)}/".startswith(tuple(self._folders.get(host_of(url), ())))


def _path(url: str) -> str:
    return path_of(url).partition("?")[0]


def _folder(path: str) -> str:
    """What lies below a seed: `/docs/` for `/docs`, `/docs/` and `/docs/index.html`."""
    parent, _, name = path.rpartition("/")
    return f"{path}/" if name and "." not in name else f"{parent}/"


def _of_page(page: Page | None, depth: int) -> Expected:
    status = page.status if page else 404
    if page is None or status >= 400:
        return Expected(state=State.FAILED, status=status, depth=depth)
    if page.location:
        return Expected(state=State.SKIPPED, reason=Why.REDIRECT, status=status, depth=depth)
    if page.noindex:
        return Expected(state=State.SKIPPED, reason=Why.NOINDEX, status=status, depth=depth)
    return Expected(state=State.COMPLETED, status=status, depth=depth)


def differences(expected: Mapping[str, Expected], records: Iterable[PageRecord], *, depth: bool = False) -> list[str]:
    """One sentence for every URL whose record is not the known answer. Empty means: equal, and one record each.

    The depth is compared only when asked for: pages that are fetched at the same time may find each other in any order.
    """
    wrong: list[str] = []
    seen: set[str] = set()
    for record in records:
        if record.url in seen:
            wrong.append(f"{record.url}: recorded more than once")
        seen.add(record.url)
        wanted = expected.get(record.url)
        if wanted is None:
            wrong.append(f"{record.url}: {_told(record)}, but no road leads there")
        elif not _equal(wanted, record, depth):
            wrong.append(f"{record.url}: {_told(record)}, should be {_meant(wanted)}")
    missing = (url for url in expected if url not in seen)
    return wrong + [f"{url}: no record, should be {_meant(expected[url])}" for url in missing]


def _equal(wanted: Expected, record: PageRecord, depth: bool) -> bool:
    if wanted.state is not record.state or (depth and wanted.depth != record.depth):
        return False
    if wanted.state is State.SKIPPED:
        return wanted.reason == record.reason
    return wanted.status is None or wanted.status == record.http_status


def _told(record: PageRecord) -> str:
    return f"{record.state.value} {record.reason or record.http_status or record.error} at depth {record.depth}"


def _meant(wanted: Expected) -> str:
    return f"{wanted.state.value} {wanted.reason or wanted.status or 'without an answer'} at depth {wanted.depth}"
