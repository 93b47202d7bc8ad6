"""A host of a maze in the making."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from random import Random

import msgspec

from gossamer.model import Why
from gossamer.testing.maze.judge import ANY_ROAD, Budget, Case, Road
from gossamer.testing.maze.prose import prose, random_for, title, word
from gossamer.testing.maze.site import Endless, Host, Spot

MANY = -1
"""As many completed pages as the budget allows."""
_LINKED = frozenset({Road.LINKS})
LISTED = frozenset({Road.LINKS, Road.SITEMAP})


class Draft:
    def __init__(self, seed: int, number: int) -> None:
        self.seed = seed
        self.number = number
        self.random = self.random_for("draft")
        self.spots: dict[str, Spot] = {}
        self.links: dict[str, list[str]] = {}
        self.endless: list[Endless] = []
        self.cases: list[Case] = []
        self.listed: dict[str, None] = {}
        """What sitemaps name."""
        self.missing: Callable[[str], Spot] | None = None
        self.real("/", roads=ANY_ROAD)

    def random_for(self, *key: object) -> Random:
        return random_for(self.seed, self.number, *key)

    def spot(self, key: str, words: int | None = None) -> Spot:
        """An ordinary page with a text of its own."""
        random = self.random_for("text", key)
        return Spot(title=title(random), text=prose(random, words or random.randint(60, 300)))

    def slugs(self, count: int) -> list[str]:
        """Names that are not numbers."""
        names: dict[str, None] = {}
        while len(names) < count:
            names[f"{word(self.random)}-{word(self.random)}"] = None
        return list(names)

    def add(self, path: str, spot: Spot | None = None, *, under: str | None = None) -> str:
        """A page, with a text of its own where none is given, linked from the page `under`."""
        self.spots[path] = spot or self.spot(path)
        self.links.setdefault(path, [])
        if under is not None:
            self.links[under].append(path)
        return path

    def real(
        self,
        path: str,
        spot: Spot | None = None,
        *,
        under: str | None = None,
        name: str = "a real page",
        roads: frozenset[Road] = LISTED,
    ) -> str:
        """A page that must be completed."""
        self.add(path, spot, under=under)
        self.case(name, [path], completed=(1, 1), keeper=path, roads=roads)
        return path

    def hub(self, name: str, *, trap: bool = False) -> str:
        """The page at which a section begins. Those of traps are on no list."""
        return self.real(f"/{name}/", under="/", name=f"the way into {name}", roads=_LINKED if trap else LISTED)

    def twins(self, name: str, paths: Sequence[str], reasons: Iterable[Why], *, keeper: str | None = None) -> None:
        """Pages of which one is completed."""
        self.case(name, paths, completed=(1, 1), keeper=keeper, reasons=frozenset(reasons), roads=LISTED)

    def hide(self, *paths: str) -> None:
        """On no list, though a page that is on one leads there by itself."""
        for path in paths:
            del self.listed[path]

    def case(
        self,
        name: str,
        paths: Sequence[str],
        *,
        completed: tuple[int, int] = (0, 0),
        keeper: str | None = None,
        reasons: frozenset[Why] = frozenset(),
        failed: bool = False,
        into: tuple[str, ...] = (),
        roads: frozenset[Road] = _LINKED,
    ) -> None:
        self.cases.append(
            Case(
                name=name,
                host=self.number,
                paths=tuple(paths),
                completed=completed,
                keeper=keeper,
                reasons=reasons,
                failed=failed,
                into=into,
                roads=roads,
            )
        )
        if Road.SITEMAP in roads:
            self.listed |= dict.fromkeys(paths)

    def trap(self, name: str, pattern: str, budget: Budget, make: Callable[[re.Match[str], int], Spot]) -> None:
        """An endless part, which a crawl enters and leaves within its budget."""
        self.endless.append(Endless(re.compile(pattern), make))
        reasons = frozenset({Why.TRAP, Why.DUPLICATE, Why.NEAR_DUPLICATE, Why.SOFT_404, Why.LENGTH})
        self.cases.append(
            Case(
                name=name,
                host=self.number,
                pattern=pattern,
                completed=(0, MANY),
                reasons=reasons,
                budget=budget,
                endless=True,
            )
        )

    def host(self) -> Host:
        spots = {
            path: msgspec.structs.replace(spot, links=(*spot.links, *self.links[path]))
            for path, spot in self.spots.items()
        }
        return Host(spots=spots, endless=tuple(self.endless), missing=self.missing, cases=tuple(self.cases))
