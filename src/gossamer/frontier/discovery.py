"""How the pages of a source are found: by links, or by what sitemaps and other guides list.

With `auto` every host of a seed is judged for itself. Its sitemaps are read first, and links to it wait; if they list
anything in scope, that is the crawl, else links are followed. A sitemap that keeps silent for too long is not waited
for: links are followed, and what it lists later comes on top.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from gossamer.frontier.places import certificates_of, collections_of, llms_places, sitemap_places
from gossamer.model import Found, Guide, GuideInfo, LeaseKind, PendingPage, Road, ScopeMode, SeedFrom, Source
from gossamer.url import host_of, normalise, path_of, site_of

_DEEPEST_INDEX = 4
_SERVICES = {LeaseKind.CT, LeaseKind.COMMONCRAWL}


class Discovery:
    def __init__(self, source: Source) -> None:
        self._source = source.id
        self._seeds = frozenset(source.spec.seeds)
        self._spec = source.spec.discovery
        self._scope = source.spec.scope.mode
        self._wanted = frozenset(self._spec.seed_from)
        self._hosts = tuple(dict.fromkeys(map(host_of, source.spec.seeds)))
        self._robots_ignored = source.spec.politeness.ignore_robots
        self._roads: dict[str, bool] = {}
        self._asked: set[str] = set()
        self._named: set[str] = set()
        """Hosts whose robots.txt names sitemaps: there is no need to guess further."""
        self._open: Counter[str] = Counter()
        self._listed: Counter[str] = Counter()
        self._total_open = 0
        self._taken = 0
        """URLs taken from services that list far more than a site would."""
        self._guides = 0
        self._silent: dict[int, tuple[str, float]] = {}
        """Sitemaps that were asked for and have not answered: the host that they are about, and since when."""
        self.facts: list[Road] = []
        self.decided: list[str] = []
        """Hosts whose road was settled just now: what waited for that can be judged."""
        self.services = frozenset(self._services())

    def _services(self) -> Iterable[str]:
        endpoints = {SeedFrom.CT: self._spec.ct_endpoint, SeedFrom.COMMONCRAWL: self._spec.commoncrawl_endpoint}
        return (host_of(normalise(url) or url) for where, url in endpoints.items() if where in self._wanted)

    @property
    def _by_sitemap(self) -> bool:
        return bool(self._wanted & {SeedFrom.AUTO, SeedFrom.SITEMAP})

    def adopt(self, host: str) -> None:
        """A seed led on to this host."""
        self._hosts = tuple(dict.fromkeys((*self._hosts, host)))

    def resume(self, guides: Iterable[GuideInfo], roads: Iterable[Road]) -> None:
        """What was found out before this process began."""
        self._roads = {road.host: road.links for road in roads}
        for guide in guides:
            self._guides += 1
            about = guide.about or guide.host
            if not guide.state.final:
                self._opened(guide.kind, about)
            elif guide.kind is LeaseKind.SITEMAP:
                self._listed[about] += guide.listed
            elif guide.kind in _SERVICES:
                self._taken += guide.listed
            if guide.kind is LeaseKind.SITEMAP:
                self._asked.add(about)

    # -- what is asked for

    def first(self) -> list[Found]:
        """The guides that can be asked for at once. Sitemaps wait for what robots.txt says."""
        found = []
        for host in self._hosts:
            if SeedFrom.LLMS in self._wanted:
                found.append(self._found(LeaseKind.LLMS, llms_places(host), host))
            if self._robots_ignored:
                found += self.robots_known(host, ())
        for seed in sorted(self._seeds):
            found += self._services_about(seed)
        return found

    def _services_about(self, seed: str) -> list[Found]:
        host, found = host_of(seed), []
        if SeedFrom.CT in self._wanted:
            found.append(self._found(LeaseKind.CT, certificates_of(self._spec.ct_endpoint, site_of(host)), host))
        if SeedFrom.COMMONCRAWL in self._wanted:
            endpoint, wide = self._spec.commoncrawl_endpoint, self._scope in (ScopeMode.SITE, ScopeMode.ANY)
            name = site_of(host) if wide else host.partition("://")[2]
            folder = (
                path_of(seed).partition("?")[0].rpartition("/")[0] + "/" if self._scope is ScopeMode.PREFIX else "/"
            )
            places = collections_of(endpoint, name, folder, below=wide)
            found.append(self._found(LeaseKind.COMMONCRAWL, places, host))
        return found

    def robots_known(self, host: str, sitemaps: Sequence[str]) -> list[Found]:
        """The sitemaps that robots.txt names, and the first well-known place."""
        named = list(filter(None, map(normalise, sitemaps)))
        if named:
            self._named.add(host)
        if not self._by_sitemap or host in self._asked or host not in self._hosts:
            return []
        self._asked.add(host)
        places = dict.fromkeys([*named, *sitemap_places(host)[:1]])
        return [self._found(LeaseKind.SITEMAP, tuple(places), host)]

    def _found(
        self, kind: LeaseKind, urls: Sequence[str], about: str, depth: int = 0, parent: int | None = None
    ) -> Found:
        # Held open until they are let in: nothing may be decided in between.
        self._opened(kind, about)
        return Found(
            source=self._source, urls=tuple(urls), depth=depth, parent=parent, kind=kind, about=about, listed=True
        )

    def let_in(self, found: Found, new: int) -> None:
        """So many of the guides that were asked for are new."""
        self._guides += new
        for _ in range(new):
            self._opened(found.kind, found.about or "")
        self._closed(found.kind, found.about or "")

    @property
    def room(self) -> int:
        """How many guides may still be read."""
        return max(self._spec.max_guides - self._guides, 0)

    # -- what came of it

    def leased(self, now: float, guide: PendingPage) -> None:
        if guide.kind is LeaseKind.SITEMAP and guide.target not in self._roads:
            self._silent.setdefault(guide.id, (guide.target or "", now))

    def read(self, page: PendingPage, guide: Guide) -> list[Found]:
        """What a guide lists, and where it leads on to."""
        self._silent.pop(page.id, None)
        entries = guide.entries
        if page.kind in _SERVICES:
            entries = entries[: max(self._spec.max_listed - self._taken, 0)]
            self._taken += len(entries)
        found = []
        if guide.guides and page.depth < _DEEPEST_INDEX:
            found.append(self._found(page.kind, guide.guides, page.target or "", page.depth + 1, page.id))
        if entries:
            hints = {entry.url: entry for entry in entries}
            found.append(
                Found(source=self._source, urls=tuple(hints), depth=1, parent=page.id, listed=True, hints=hints)
            )
        return found

    def failed(self, page: PendingPage) -> list[Found]:
        """Nothing came of a guide. Where a well-known place was only guessed at, the next one is asked for."""
        self._silent.pop(page.id, None)
        places = sitemap_places(page.target or "")
        guessed = page.kind is LeaseKind.SITEMAP and page.target not in self._named
        if guessed and page.url in places[:-1]:
            return [self._found(page.kind, (places[places.index(page.url) + 1],), page.target or "")]
        return []

    def count(self, page: PendingPage, listed: int) -> None:
        """So many URLs that a guide lists are in scope; there may be more."""
        if page.kind is LeaseKind.SITEMAP:
            self._listed[page.target or ""] += listed

    def closed(self, page: PendingPage) -> None:
        """A guide is done with."""
        self._closed(page.kind, page.target or "")

    def _opened(self, kind: LeaseKind, about: str) -> None:
        self._total_open += 1
        if kind is LeaseKind.SITEMAP:
            self._open[about] += 1

    def _closed(self, kind: LeaseKind, about: str) -> None:
        self._total_open -= 1
        if kind is LeaseKind.SITEMAP:
            self._open[about] -= 1
            if not self._open[about] and SeedFrom.AUTO in self._wanted:
                self._decide(about, links=not self._listed[about])
        if not self._total_open and SeedFrom.LINKS not in self._wanted:
            self.decided += (host for host in self._hosts if self.follows(host) is False)

    # -- which road is taken

    @property
    def reads(self) -> bool:
        """More may yet be listed."""
        return self._total_open > 0

    def follows(self, host: str) -> bool | None:
        """Whether a page of this host that only links lead to is wanted; None while that is open."""
        if SeedFrom.LINKS in self._wanted:
            return True
        if SeedFrom.AUTO in self._wanted:
            road = self._roads.get(host) if host in self._hosts else True
            if road is not False:
                return road
        return None if self.reads else False

    @property
    def why_not(self) -> str:
        where = "the sitemap" if SeedFrom.AUTO in self._wanted else ", ".join(sorted(self._wanted))
        return f"only links lead to it, and {where} is where pages come from"

    def look(self, now: float) -> None:
        """Lose patience with sitemaps that keep silent."""
        late = [guide for guide, (_, since) in self._silent.items() if now - since >= self._spec.sitemap_patience]
        for guide in late:
            host, _ = self._silent.pop(guide)
            if not self._listed[host] and SeedFrom.AUTO in self._wanted:
                self._decide(host, links=True)

    def _decide(self, host: str, *, links: bool) -> None:
        if host not in self._roads:
            self._roads[host] = links
            self.facts.append(Road(source=self._source, host=host, links=links))
            if links:
                self.decided.append(host)
