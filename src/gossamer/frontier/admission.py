"""The door in: every URL is judged here, whatever road it took.

What is refused gets its reason at once, unless it may yet turn out otherwise: then it is deferred, and judged when what
it waits for is known, at the latest when its source has run dry.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from gossamer.frontier.folding import is_missing
from gossamer.frontier.ledger import Ledger
from gossamer.frontier.patterns import Patterns, Ruling
from gossamer.frontier.policy import rank
from gossamer.frontier.queues import Queues
from gossamer.frontier.registry import Registry
from gossamer.frontier.roads import Roads
from gossamer.frontier.scoring import PageFacts, raised, rank_of, score
from gossamer.frontier.turns import SourceRun
from gossamer.model import (
    MAX_RANK,
    Candidate,
    Deferral,
    Detour,
    Fingerprint,
    FoldEnd,
    Found,
    LeaseKind,
    Moved,
    Order,
    PatternRecord,
    PendingPage,
    State,
    Why,
)
from gossamer.url import host_of

_STANDING = {Deferral.UNLISTED: 0, Deferral.BUDGET: 1, Deferral.DEPTH: 2, Deferral.NOFOLLOW: 3}
"""Of two roads that both defer a page, the one with the smaller number is the better one."""


class Admission:
    def __init__(self, hosts: Registry, queues: Queues, ledger: Ledger) -> None:
        self._hosts = hosts
        self._queues = queues
        self._ledger = ledger
        self._roads = Roads()
        self._homeless: dict[tuple[int, str], list[PendingPage]] = {}
        self._fresh: dict[tuple[int, bool, str], PendingPage | None] = {}
        """What was let in, or refused (None), since the last commit: the store does not know it yet."""

    def committed(self) -> None:
        self._roads.committed()
        self._fresh.clear()

    def fresh(self, source: int, urls: Iterable[str], *, guides: bool) -> set[str]:
        return {url for url in urls if (source, guides, url) in self._fresh} if self._fresh else set()

    def fresh_deferred(self, source: int, urls: Iterable[str]) -> list[PendingPage]:
        pages = (self._fresh.get((source, False, url)) for url in urls)
        return [page for page in pages if page is not None and page.rank >= MAX_RANK]

    @property
    def roads(self) -> Roads:
        return self._roads

    # -- new pages

    def admit(self, now: float, wall: float, candidates: Sequence[Candidate], first_id: int) -> None:
        for number, candidate in enumerate(candidates, first_id):
            run = self._queues.runs[candidate.source]
            refusal = run.refusal(candidate, wall)
            page = None
            if refusal is not None:
                self._ledger.refused(number, candidate, *refusal)
            else:
                page = self._ledger.admitted(number, candidate, self._rank(run, candidate))
                self._let_in(now, run, page)
            self._fresh[run.id, candidate.kind is not LeaseKind.PAGE, candidate.url] = page

    def _rank(self, run: SourceRun, candidate: Candidate) -> int:
        # What only this road forbids is deferred: while the source is not drained a better road may turn up.
        if candidate.kind is not LeaseKind.PAGE:
            return min(candidate.depth, 9)
        if run.judge.too_deep(candidate.depth):
            return Deferral.DEPTH.rank
        if candidate.nofollow:
            return Deferral.NOFOLLOW.rank
        if not candidate.listed and run.discovery.follows(host_of(candidate.url)) is None:
            return Deferral.UNLISTED.rank
        return self._turn(run, candidate)

    def _turn(self, run: SourceRun, candidate: Candidate) -> int:
        """Whose turn it is among those that need not wait."""
        if run.source.spec.order is Order.BREADTH and run.scorer is None:
            return rank(candidate.url, candidate.depth, candidate.priority)
        facts = PageFacts(
            url=candidate.url,
            depth=candidate.depth,
            priority=candidate.priority,
            mentions=candidate.mentions,
            listed=candidate.listed,
        )
        return rank_of((run.scorer or score)(facts))

    def _let_in(self, now: float, run: SourceRun, page: PendingPage) -> None:
        if page.rank >= MAX_RANK:
            run.deferred += 1
            run.improvable += 1
        elif not self._at_home(run, page.host) and len(self._homeless) < self._hosts.room:
            self._homeless.setdefault((run.id, page.host), []).append(page)
        else:
            self._queues.add(now, run, page)

    def reopen(self, now: float, pages: Iterable[PendingPage]) -> None:
        for page in pages:
            self._let_in(now, self._queues.runs[page.source], page)

    def _at_home(self, run: SourceRun, host: str) -> bool:
        return self._hosts.get(host) is not None and host in run.patterns

    def homeless(self) -> dict[int, list[str]]:
        """For each source, the hosts to `restore`: its pages wait for them."""
        by_source: dict[int, list[str]] = {}
        for source, host in self._homeless:
            by_source.setdefault(source, []).append(host)
        return by_source

    def settle_in(self, now: float, run: SourceRun, hosts: Iterable[str], patterns: Iterable[PatternRecord]) -> None:
        """These hosts are in memory, and so is what is known of their patterns: queue what waited for that."""
        known: dict[str, list[PatternRecord]] = {host: [] for host in hosts}
        for record in patterns:
            known[record.host].append(record)
        for host, records in known.items():
            if host not in run.patterns:
                run.patterns[host] = Patterns(run.id, host, run.source.spec.traps, records)
            for page in self._homeless.pop((run.id, host), ()):
                self._queues.add(now, run, page)

    # -- other roads to known pages

    def improve(self, now: float, candidate: Candidate, page: PendingPage) -> None:
        """Another road to a deferred page was found; if it is better, the page moves. Call before `admit`."""
        run = self._queues.runs[page.source]
        place = self._rank(run, candidate)
        if self._roads.was_let_in(page):
            self._move(self._roads.shorten_let_in(page, candidate) if place < MAX_RANK else None)
        elif page.rank == Deferral.BUDGET.rank:
            self._move(_placed(page, candidate, page.rank) if candidate.depth < page.depth else None)
        elif _is_better(place, candidate.depth, page):
            self._move(_placed(page, candidate, place))
            moved = msgspec.structs.replace(page, depth=candidate.depth, rank=place)
            if (run.id, False, page.url) in self._fresh:
                self._fresh[run.id, False, page.url] = moved
            if place < MAX_RANK:
                self._take_in(now, run, page, moved)

    def _take_in(self, now: float, run: SourceRun, page: PendingPage, moved: PendingPage) -> None:
        """A deferred page need not wait any longer."""
        self._release(run, page)
        self._roads.let_in(moved)
        self._let_in(now, run, moved)

    def _release(self, run: SourceRun, page: PendingPage) -> None:
        run.deferred -= 1
        run.improvable -= page.rank < Deferral.BUDGET.rank

    def shorten(self, candidate: Candidate, detour: Detour) -> list[Found]:
        """A shorter road to a page was found after the page itself. Returns where it leads from its new depth."""
        moved, behind = self._roads.shorten(candidate, detour)
        self._move(moved)
        return behind

    def raise_mentioned(self, now: float, candidate: Candidate, page: PendingPage) -> None:
        """Best first: more pages lead to one that still waits, so its turn comes sooner."""
        place = raised(page.rank, candidate.mentions)
        if place < page.rank and self._queues.advance(page, place):
            self._move(_moved(page, place))

    def _move(self, moved: Moved | None) -> None:
        if moved is not None:
            self._ledger.batch.moved.append(moved)

    # -- what was deferred

    def judge(
        self, now: float, pages: Sequence[PendingPage], ends: Mapping[str, FoldEnd], prints: Mapping[int, Fingerprint]
    ) -> None:
        """What these pages waited for is known, or will not come any more."""
        canonical = _Canonicals(pages, ends)
        for page in pages:
            run = self._queues.runs[page.source]
            match Deferral(page.rank - MAX_RANK):
                case Deferral.DEPTH if not run.judge.too_deep(page.depth):
                    self._requeue(now, run, page)
                case Deferral.DEPTH:
                    self._end(run, page, Why.DEPTH)
                case Deferral.NOFOLLOW:
                    self._end(run, page, Why.NOFOLLOW)
                case Deferral.UNLISTED:
                    self._judge_unlisted(now, run, page)
                case Deferral.BUDGET:
                    self._judge_budget(now, run, page)
                case Deferral.CANONICAL:
                    self._judge_canonical(run, page, canonical)
                case Deferral.MISSING:
                    self._judge_missing(run, page, prints.get(page.id))

    def _requeue(self, now: float, run: SourceRun, page: PendingPage) -> None:
        place = self._turn(run, Candidate(source=page.source, url=page.url, depth=page.depth))
        self._move(_moved(page, place))
        self._take_in(now, run, page, msgspec.structs.replace(page, rank=place))

    def _end(self, run: SourceRun, page: PendingPage, reason: Why, error: str | None = None) -> None:
        self._release(run, page)
        self._ledger.ended(run, page, State.SKIPPED, reason, error)

    def _judge_unlisted(self, now: float, run: SourceRun, page: PendingPage) -> None:
        follows = run.discovery.follows(page.host)
        if follows is False:
            self._end(run, page, Why.UNLISTED, run.discovery.why_not)
        elif follows or not run.discovery.reads:
            self._requeue(now, run, page)

    def _judge_budget(self, now: float, run: SourceRun, page: PendingPage) -> None:
        tallies = run.tallies(page.host)
        if tallies is None:
            # There is no room for its host just now: it waits until the source runs dry again.
            return
        verdict = tallies.verdict(page.url, page.depth, run.dry)
        if verdict.ruling is Ruling.REFUSE:
            self._end(run, page, Why.TRAP, verdict.text)
        elif verdict.ruling is Ruling.EXTEND:
            self._requeue(now, run, page)

    def _judge_canonical(self, run: SourceRun, page: PendingPage, canonicals: _Canonicals) -> None:
        run.deferred -= 1
        if canonicals.exists_for(page):
            self._ledger.promoted(run, page, State.SKIPPED, Why.CANONICAL, page.target)
        else:
            self._ledger.promoted(run, page, State.COMPLETED)

    def _judge_missing(self, run: SourceRun, page: PendingPage, fingerprint: Fingerprint | None) -> None:
        run.deferred -= 1
        host = self._hosts.get(page.host)
        if host is not None and fingerprint is not None and is_missing(host.learnt, fingerprint, says_so=True):
            self._ledger.promoted(run, page, State.SKIPPED, Why.SOFT_404)
        else:
            self._ledger.promoted(run, page, State.COMPLETED)


class _Canonicals:
    """Whether the canonical pages of some exist.

    Where a chain ends nowhere its last page stays, and of pages that only name each other the first one does.
    """

    def __init__(self, pages: Iterable[PendingPage], ends: Mapping[str, FoldEnd]) -> None:
        self._targets = {page.url: page.target for page in pages}
        self._ends = ends
        self._stay: set[str] = set()

    def exists_for(self, page: PendingPage) -> bool:
        if page.url in self._stay:
            return False
        chain = self._chain(page.url)
        end = self._targets[chain[-1]]
        if end in chain:
            # A circle, which the page may stand in or only lead to.
            stays = (
                page.url if end == page.url else next(url for url in self._targets if url in chain[chain.index(end) :])
            )
        elif self._is_there(end, page.url):
            return True
        else:
            stays = chain[-1]
        self._stay.add(stays)
        return stays != page.url

    def _chain(self, url: str) -> list[str]:
        """From page to page that wait for each other, as far as it goes."""
        chain = [url]
        while (target := self._targets[chain[-1]]) in self._targets and target not in chain and target is not None:
            if target in self._stay:
                break
            chain.append(target)
        return chain

    def _is_there(self, url: str | None, page: str) -> bool:
        if url in self._stay:
            return True
        end = self._ends.get(url or "")
        return end is not None and end.url != page and (end.state is State.COMPLETED or end.url in self._stay)


def _is_better(place: int, depth: int, page: PendingPage) -> bool:
    if place < MAX_RANK:
        return True
    mine, other = _STANDING[Deferral(page.rank - MAX_RANK)], _STANDING[Deferral(place - MAX_RANK)]
    return other < mine or (other == mine and depth < page.depth)


def _moved(page: PendingPage, place: int) -> Moved:
    return Moved(page=page.id, depth=page.depth, rank=place)


def _placed(page: PendingPage, candidate: Candidate, place: int) -> Moved:
    return Moved(page=page.id, depth=candidate.depth, rank=place, parent=candidate.parent, position=candidate.position)
