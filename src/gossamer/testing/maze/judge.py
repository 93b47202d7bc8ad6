"""The known answer of a maze, as judgements: which of several twins is kept, and where in a trap a crawl turns back,
depends on timing. A case says what must hold of a set of URLs whichever way it went.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum

import msgspec

from gossamer.model import PageRecord, State, Traps, Why

Place = tuple[int, str]
"""The number of a host, and path and query there."""

Budget = Callable[[Traps], int]


class Road(StrEnum):
    """How a page can be found. A redirect or a canonical link to it counts as the road of the page that has it."""

    LINKS = "links"
    SITEMAP = "sitemap"
    LLMS = "llms"


ANY_ROAD = frozenset(Road)


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """URLs of one host that are judged together."""

    name: str
    host: int = 0
    paths: tuple[str, ...] = ()
    """Each of these has a record, unless `optional`."""
    pattern: str | None = None
    """A regular expression for the paths of all that belong to it besides, which may be without end."""
    completed: tuple[int, int] = (0, 0)
    """The least and the most of them that are completed."""
    keeper: str | None = None
    """The one that is completed."""
    failed: bool = False
    """Those that are not completed have failed."""
    reasons: frozenset[Why] = frozenset()
    """Why the others were skipped: one of these."""
    into: tuple[str, ...] = ()
    """Where those that were skipped lead: one of these; empty means to others of the case."""
    budget: Budget | None = None
    """The most that may be fetched."""
    endless: bool = False
    """It leads on for ever: something of it is fetched, and something refused."""
    optional: bool = False
    roads: frozenset[Road] = frozenset({Road.LINKS})

    def unlisted(self) -> Case:
        """As it is where lists are the crawl and this is on none of them: seen by links at most, and left alone."""
        linked = Road.LINKS in self.roads
        return Case(
            name=f"{self.name}, on no list",
            host=self.host,
            paths=self.paths,
            pattern=self.pattern,
            reasons=frozenset({Why.UNLISTED} if linked else ()),
            budget=lambda _: 0,
            optional=True,
            roads=self.roads,
        )


class Docket:
    """Cases, and the records that belong to each."""

    def __init__(self, cases: Sequence[Case], traps: Traps) -> None:
        self._cases = cases
        self._traps = traps
        self._exact = {(case.host, path): index for index, case in enumerate(cases) for path in case.paths}
        self._patterns = [
            (case.host, re.compile(case.pattern), index) for index, case in enumerate(cases) if case.pattern
        ]

    def faults(
        self, records: Mapping[Place, PageRecord], targets: Mapping[Place, Place | None] | None = None
    ) -> Iterator[str]:
        """`targets` are those of folded pages, as far as they are known: they must lie within their case."""
        mine: defaultdict[int, dict[str, PageRecord]] = defaultdict(dict)
        for place, record in records.items():
            index = self._case_of(place)
            if index is None:
                yield f"{record.url}: {told(record)}, but no road leads there"
            else:
                mine[index][place[1]] = record
        for index, case in enumerate(self._cases):
            yield from _judged(case, mine[index], self._traps)
            yield from self._astray(index, mine[index], targets or {})

    def _case_of(self, place: Place) -> int | None:
        if place in self._exact:
            return self._exact[place]
        host, path = place
        return next((index for at, pattern, index in self._patterns if at == host and pattern.fullmatch(path)), None)

    def _astray(
        self, index: int, records: Mapping[str, PageRecord], targets: Mapping[Place, Place | None]
    ) -> Iterator[str]:
        case = self._cases[index]
        for path, record in records.items():
            target = targets.get((case.host, path))
            if target is None or record.state is not State.SKIPPED:
                continue
            if target[1] not in case.into if case.into else self._case_of(target) != index:
                yield f"{record.url}: folded into {target[1]}, which is not the same page ({case.name})"


def _judged(case: Case, records: Mapping[str, PageRecord], traps: Traps) -> Iterator[str]:
    yield from (fault for path, record in records.items() for fault in _one(case, path, record))
    if not case.optional:
        yield from (f"{path}: no record ({case.name})" for path in case.paths if path not in records)
    yield from _counted(case, list(records.values()), traps)


def _one(case: Case, path: str, record: PageRecord) -> Iterator[str]:
    if not record.state.final:
        yield f"{record.url}: still {record.state} ({case.name})"
    elif path == case.keeper and record.state is not State.COMPLETED:
        yield f"{record.url}: {told(record)}, should be completed ({case.name})"
    elif not _allowed(case, record):
        yield f"{record.url}: {told(record)}, should be {_meant(case)} ({case.name})"
    elif record.state is State.COMPLETED and case.keeper not in (None, path):
        yield f"{record.url}: completed, though {case.keeper} stands for it ({case.name})"


def _allowed(it: Case, record: PageRecord) -> bool:
    match record.state:
        case State.SKIPPED:
            return record.reason in it.reasons
        case State.FAILED:
            return it.failed
        case _:
            return True


def _counted(case: Case, records: Sequence[PageRecord], traps: Traps) -> Iterator[str]:
    states = Counter(record.state for record in records)
    completed = states[State.COMPLETED]
    fetched = sum(record.http_status is not None for record in records)
    least, most = case.completed
    if completed > most >= 0:
        urls = ", ".join(sorted(record.url for record in records if record.state is State.COMPLETED)[:5])
        yield f"{case.name}: {completed} completed, should be {most} at most: {urls}"
    if completed < least:
        yield f"{case.name}: {completed} completed, should be {least} at least ({_examples(case)})"
    if case.budget and fetched > (allowed := case.budget(traps)):
        yield f"{case.name}: {fetched} fetched, allowed are {allowed}"
    if case.endless and not fetched:
        yield f"{case.name}: never entered"
    if case.endless and not states[State.SKIPPED]:
        yield f"{case.name}: leads on for ever, and yet nothing of it was refused"


def _meant(case: Case) -> str:
    meant = ["completed"] * bool(case.completed[1]) + ["failed"] * case.failed
    meant += [f"skipped {reason}" for reason in sorted(case.reasons)]
    return " or ".join(meant) or "without a record"


def _examples(case: Case) -> str:
    return ", ".join(case.paths[:3]) or str(case.pattern)


def told(record: PageRecord) -> str:
    return f"{record.state} {record.reason or record.error or record.http_status or ''}".strip()


def repeated(records: Iterable[PageRecord]) -> Iterator[str]:
    counts = Counter(record.url for record in records)
    return (f"{url}: recorded more than once" for url, count in counts.items() if count > 1)
