"""A maze from a seed, and what a crawl of it must have found."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property

import msgspec

from gossamer.model import PageRecord, State, Traps, Why
from gossamer.testing.maze import bait, folds, traps
from gossamer.testing.maze.draft import Draft
from gossamer.testing.maze.judge import Case, Docket, Place, Road, repeated, told
from gossamer.testing.maze.site import EVERY_SECTION, Host, Section, Sitemap
from gossamer.testing.maze.sitemaps import Listed, plant
from gossamer.url import host_of, path_of

_IN_LLMS = 5
_FRIENDLY = 1
"""The number of the host with soft 404s."""


class Plan(msgspec.Struct, frozen=True):
    hosts: tuple[Host, ...]
    listed: tuple[Listed, ...]


class Maze(msgspec.Struct, frozen=True, dict=True):
    """A site, the same for the same arguments, with every difficulty that was asked for.

    `pages` counts the ordinary ones, `posts` those of the date archive, `list_pages` those of the long list. `slow` is
    how many seconds a slow sitemap takes. Where soft 404s are wanted they have a host of their own.
    """

    seed: int
    pages: int = 60
    sections: Collection[Section] = EVERY_SECTION
    sitemap: Sitemap = Sitemap.NONE
    posts: int = 40
    list_pages: int = 40
    slow: float = 1.0
    origins: tuple[str, ...] = ("http://maze-0.test", "http://maze-1.test")

    def at(self, origins: Sequence[str]) -> Maze:
        """The same maze in another place."""
        return msgspec.structs.replace(self, origins=tuple(origins))

    def url(self, path: str = "/", host: int = 0) -> str:
        return self.origins[host] + path

    @property
    def seeds(self) -> tuple[str, ...]:
        """The front page of every host."""
        return tuple(self.url("/", number) for number in range(len(self.hosts)))

    @property
    def hosts(self) -> tuple[Host, ...]:
        return self._plan.hosts

    @property
    def listed(self) -> dict[str, Listed]:
        """What the sitemaps say, by URL."""
        return {self.url(entry.path): entry for entry in self._plan.listed}

    @cached_property
    def _plan(self) -> Plan:
        draft = Draft(self.seed, 0)
        bait.ordinary(draft, self.pages, llms=_IN_LLMS if Section.LLMS in self.sections else 0)
        bait.orphans(draft)
        for section in Section:
            if section in self.sections:
                self._builders[section](draft)
        listed = plant(draft, self.sitemap, self.slow)
        hosts = [draft.host()]
        if Section.SOFT_404 in self.sections:
            friendly = Draft(self.seed, _FRIENDLY)
            traps.soft_404(friendly)
            hosts.append(friendly.host())
        return Plan(tuple(hosts), listed)

    @property
    def _builders(self) -> dict[Section, Callable[[Draft], None]]:
        return {
            Section.CANONICAL: folds.canonical,
            Section.REDIRECTS: folds.redirects,
            Section.DUPLICATES: folds.duplicates,
            Section.NEAR_DUPLICATES: folds.near_duplicates,
            Section.SIMILAR: bait.similar,
            Section.SESSIONS: folds.sessions,
            Section.PARAMETER_ORDER: folds.parameter_order,
            Section.PARAMETERS: bait.parameters,
            Section.CALENDAR: traps.calendar,
            Section.DAYS: traps.days,
            Section.REPEATS: traps.repeats,
            Section.GROWING: traps.growing,
            Section.LONG: traps.long,
            Section.DESCENT: traps.descent,
            Section.NUMBERS: traps.numbers,
            Section.SOFT_404: traps.guide_to_404,
            Section.ARCHIVE: lambda draft: bait.archive(draft, self.posts),
            Section.VERSIONS: bait.versions,
            Section.LISTS: lambda draft: bait.lists(draft, self.list_pages),
            Section.DEEP: bait.deep,
            Section.LLMS: bait.llms,
        }

    def roads(self, host: int) -> frozenset[Road]:
        """What a crawl that decides by itself goes by: the sitemaps where there are any, and else links."""
        return frozenset({Road.SITEMAP if host == 0 and self.sitemap is not Sitemap.NONE else Road.LINKS})

    def expected(self, roads: Collection[Road] | None = None) -> tuple[Case, ...]:
        """The known answer, for a crawl from `seeds` that keeps to their hosts."""
        cases = (case for host in self.hosts for case in host.cases)
        return tuple(
            case if case.roads & frozenset(self.roads(case.host) if roads is None else roads) else case.unlisted()
            for case in cases
        )

    def faults(
        self,
        pages: Iterable[PageRecord],
        *,
        traps: Traps | None = None,
        roads: Collection[Road] | None = None,
        targets: Mapping[str, str | None] | None = None,
    ) -> list[str]:
        """One sentence for every way in which the records of a crawl differ from the known answer; empty is a pass.

        `traps` are the limits that the crawl ran with, `roads` what it was told to go by, and `targets` where the pages
        were folded into, as far as that is known.
        """
        records = list(pages)
        found = list(repeated(records))
        placed: dict[Place, PageRecord] = {}
        for record in records:
            place = self._place(record.url)
            if place:
                placed[place] = record
            elif record.state is not State.SKIPPED or record.reason != Why.SCOPE:
                found.append(f"{record.url}: {told(record)}, should be skipped {Why.SCOPE}")
        docket = Docket(self.expected(roads), traps or Traps())
        return found + list(docket.faults(placed, self._placed_targets(targets or {})))

    def _placed_targets(self, targets: Mapping[str, str | None]) -> dict[Place, Place | None]:
        pairs = ((self._place(url), target) for url, target in targets.items())
        return {place: self._place(target) for place, target in pairs if place and target}

    def _place(self, url: str) -> Place | None:
        origin = host_of(url)
        return (self.origins.index(origin), path_of(url)) if origin in self.origins else None
