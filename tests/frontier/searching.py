"""A discovery, played through as the frontier and the flow do it."""

from __future__ import annotations

import msgspec

from gossamer.frontier.discovery import Discovery
from gossamer.frontier.turns import SourceRun
from gossamer.model import Discovery as Wishes
from gossamer.model import (
    Entry,
    Found,
    Guide,
    GuideInfo,
    PendingPage,
    Politeness,
    Road,
    ScopeMode,
    SeedFrom,
    Source,
    State,
    Workload,
)
from gossamer.url import host_of
from tests.frontier.makers import HOST, SEED, source

OTHER = "http://b.example"
AUTO = (SeedFrom.AUTO,)
SERVICE = "http://service.example/"


def listing(*paths: str, host: str = HOST) -> Guide:
    return Guide(entries=tuple(Entry(host + path) for path in paths))


def index(*paths: str) -> Guide:
    return Guide(guides=tuple(HOST + path for path in paths))


class Search:
    """A discovery, with guides that are asked for, let in, read and done with as the frontier and the flow do it."""

    def __init__(self, wanted: Source) -> None:
        self.source = wanted
        self.guides: dict[str, GuideInfo] = {}
        self.roads: list[Road] = []
        self.pages: list[str] = []
        self._numbers = 0
        self._open: dict[str, PendingPage] = {}
        self._robots: dict[str, tuple[str, ...]] = {}
        self._begin()

    def _begin(self) -> None:
        self.run = SourceRun(self.source, Workload())
        self.discovery: Discovery = self.run.discovery
        self.discovery.resume(self.guides.values(), self.roads)
        self._ask(self.discovery.first())

    def restart(self) -> None:
        """Another process goes on with what the store knows."""
        self._note()
        self._begin()
        for host, sitemaps in self._robots.items():
            self._ask(self.discovery.robots_known(host, sitemaps))

    def robots(self, *sitemaps: str, host: str = HOST) -> None:
        self._robots[host] = tuple(host + path if path.startswith("/") else path for path in sitemaps)
        self._ask(self.discovery.robots_known(host, self._robots[host]))

    def _ask(self, found: list[Found]) -> None:
        for each in found:
            new = [url for url in each.urls if url not in self.guides][: self.discovery.room]
            for url in new:
                self._let_in(url, each)
            self.discovery.let_in(each, len(new))
        self._note()

    def _let_in(self, url: str, found: Found) -> None:
        self._numbers += 1
        host = host_of(url)
        self._open[url] = PendingPage(
            id=self._numbers,
            source=1,
            url=url,
            host=host,
            depth=found.depth,
            rank=0,
            kind=found.kind,
            target=found.about,
        )
        self.guides[url] = GuideInfo(url=url, kind=found.kind, host=host, state=State.PENDING, about=found.about)

    def leased(self, now: float, path: str) -> None:
        self.discovery.leased(now, self._open[HOST + path])

    def answers(self, path: str, guide: Guide, host: str = HOST) -> None:
        page, listed = self._open[host + path], 0
        for found in self.discovery.read(page, guide):
            if found.kind.guide:
                self._ask([found])
            else:
                inside = [url for url in found.urls if self.run.lists(url)]
                self.pages += inside
                listed += len(inside)
                self.discovery.count(page, len(inside))
        self._close(page, State.COMPLETED, listed)

    def fails(self, path: str, host: str = HOST) -> None:
        page = self._open[host + path]
        self._ask(self.discovery.failed(page))
        self._close(page, State.FAILED, 0)

    def _close(self, page: PendingPage, state: State, listed: int) -> None:
        del self._open[page.url]
        self.discovery.closed(page)
        self.guides[page.url] = msgspec.structs.replace(self.guides[page.url], state=state, listed=listed)
        self._note()

    def _note(self) -> None:
        self.roads += self.discovery.facts
        self.discovery.facts = []

    def asked(self) -> list[str]:
        return [url.removeprefix(HOST) for url in self.guides]

    def follows(self, host: str = HOST) -> bool | None:
        return self.discovery.follows(host)

    @property
    def decided(self) -> list[str]:
        decided, self.discovery.decided = self.discovery.decided, []
        return decided


def search(
    *seeds: str,
    seed_from: tuple[SeedFrom, ...] = AUTO,
    scope: ScopeMode = ScopeMode.HOST,
    max_guides: int = 10_000,
    max_listed: int = 1_000_000,
    ignore_robots: bool = False,
) -> Search:
    wishes = Wishes(
        seed_from=seed_from,
        max_guides=max_guides,
        max_listed=max_listed,
        ct_endpoint=SERVICE,
        commoncrawl_endpoint=SERVICE,
    )
    politeness = Politeness(delay=0.0, ignore_robots=ignore_robots)
    return Search(source(*(seeds or (SEED,)), discovery=wishes, scope=scope, politeness=politeness))
