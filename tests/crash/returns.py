"""Sites that change between two visits. The second one is killed and resumed, and must tell what changed, once."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager

import msgspec

from gossamer.failpoints import NAMES
from gossamer.model import Change, ChangeEntry, PageRecord, State
from gossamer.testing.evolving import Evolving
from gossamer.testing.maze import MazeServer
from gossamer.testing.web import Request
from tests.crash.crawler import Crawler, Life
from tests.crash.inquest import AT_FIRST, Inquest, file_problems, haste, refetches
from tests.crash.look import Look, look
from tests.crash.mazes import TRAPS, fetched

GONE_AFTER = 2
"""So often a page must say that it is gone."""


class Changing(Evolving):
    @property
    def seeds(self) -> Sequence[str]:
        return (self.url("/"),)


class Changed(msgspec.Struct, frozen=True, kw_only=True):
    """What happened to a site between two visits."""

    changed: frozenset[str]
    removed: frozenset[str]
    added: frozenset[str]

    @classmethod
    def of(cls, site: Evolving, *, changed: int, removed: int, added: int) -> Changed:
        return cls(
            changed=frozenset(site.change(changed)),
            removed=frozenset(site.remove(removed)),
            added=frozenset(site.add(added)),
        )

    @property
    def feed(self) -> Counter[tuple[Change, str]]:
        urls = {Change.CHANGED: self.changed, Change.REMOVED: self.removed, Change.ADDED: self.added}
        return Counter((change, url) for change, each in urls.items() for url in each)


NOTHING = Changed(changed=frozenset(), removed=frozenset(), added=frozenset())


class SecondVisit(Inquest):
    """The first one is over, and nobody died in it."""

    def __init__(self, crawler: Crawler, *, delay: float) -> None:
        super().__init__(crawler, delay=delay)
        self.before = look(crawler.data)
        self._requests = len(crawler.server.log)
        self._output = crawler.out.read_bytes()
        self.problems += file_problems(crawler.out, self.before.final)

    @abstractmethod
    def news(self, seen: Look, since: list[Request]) -> list[str]:
        """What should have been told, asked and left alone since the first visit, and was not."""

    @property
    def points(self) -> frozenset[str]:
        """It writes no file, and knows the robots; sitemaps are read if there are any."""
        return frozenset(point for point in NAMES - AT_FIRST if not point.startswith("outbox"))

    def left(self, seen: Look) -> bool:
        return seen.round == 1 or bool(seen.in_flight)

    def revived(self, seen: Look, failpoint: str) -> AbstractContextManager[Life]:
        return (self.crawler.recrawl if seen.round == 1 else self.crawler.resume)(failpoint=failpoint)

    def verdict(self, seen: Look, log: list[Request]) -> list[str]:
        return [
            *([] if seen.round == 2 else [f"it was visited {seen.round} times"]),
            *([] if self.crawler.out.read_bytes() == self._output else ["I3 the file of the first crawl was touched"]),
            *haste(log, dict.fromkeys(self.origins, self.delay)),
            *self.news(seen, log[self._requests :]),
        ]


class ReturnInquest(SecondVisit):
    """To a site that changed."""

    def __init__(self, crawler: Crawler, site: Changing, changes: Changed, *, delay: float) -> None:
        super().__init__(crawler, delay=delay)
        self._site = site
        self._changes = changes

    @property
    def origins(self) -> Sequence[str]:
        return (self._site.origin,)

    def news(self, seen: Look, since: list[Request]) -> list[str]:
        return [
            *misreported(self._changes, self.crawler.changes()),
            *misjudged(self._changes, self.before.final.values(), seen),
            *refetches(since, self._wanted(seen), self.in_flight),
            *wasted(self._changes, self._site.indices, since),
        ]

    def _wanted(self, seen: Look) -> Counter[str]:
        wanted = Counter([*seen.pages, *(guide.url for guide in seen.guides)])
        wanted.update(dict.fromkeys(self._changes.removed, GONE_AFTER - 1))
        return wanted


class MazeAgain(SecondVisit):
    """To a maze, where everything is as it was."""

    def __init__(self, crawler: Crawler, server: MazeServer, *, delay: float) -> None:
        super().__init__(crawler, delay=delay)
        self._maze = server.maze

    @property
    def origins(self) -> Sequence[str]:
        return self._maze.origins

    def news(self, seen: Look, since: list[Request]) -> list[str]:
        asked = {request.url for request in since}
        # What was folded need not be asked for again, nor robots, whose verdict is still good.
        wanted = {url: times for url, times in fetched(seen).items() if url in asked}
        return [
            *misreported(NOTHING, self.crawler.changes()),
            *(f"I1 {fault}" for fault in self._maze.faults(seen.final.values(), traps=TRAPS)),
            *(f"I1 {url}: not visited again" for url in self.before.records(State.COMPLETED).keys() - asked),
            *refetches(since, wanted, self.in_flight),
        ]


def misreported(changes: Changed, entries: Iterable[ChangeEntry]) -> list[str]:
    """The feed tells what happened, each thing once."""
    told = Counter((entry.change, entry.url) for entry in entries)
    missing, made_up = changes.feed - told, told - changes.feed
    return [f"never told: {change} {url}" for change, url in missing] + [
        f"told, or told once too often: {change} {url}" for change, url in made_up
    ]


def misjudged(changes: Changed, before: Iterable[PageRecord], seen: Look) -> list[str]:
    """I1 and I2: what did not change is as it was, what is gone has failed, and all the rest is completed."""
    touched = changes.changed | changes.removed | changes.added
    problems = [
        f"I2 {record.url}: was {record}, is {seen.final.get(record.url)}"
        for record in before
        if record.url not in touched and not _says_the_same(record, seen.final.get(record.url))
    ]
    for urls, state in ((changes.changed | changes.added, State.COMPLETED), (changes.removed, State.FAILED)):
        wrong = urls - seen.records(state).keys()
        problems += [f"I1 {url}: should be {state}" for url in sorted(wrong)]
    return problems


def _says_the_same(record: PageRecord, now: PageRecord | None) -> bool:
    return now is not None and (now.state, now.hash, now.title) == (record.state, record.hash, record.title)


def wasted(changes: Changed, indices: Sequence[str], log: Iterable[Request]) -> list[str]:
    """What was known is asked for with its validators, also after a death; only what changed is sent again."""
    new = changes.added | changes.changed | set(indices)
    problems = []
    for request in log:
        if request.path.startswith("/sitemap") or request.url in changes.added:
            continue
        if not request.conditional:
            problems.append(f"{request} without a validator")
        elif request.status == 200 and request.url not in new:
            problems.append(f"{request} although it had not changed")
    return problems
