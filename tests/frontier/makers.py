"""Sources as tests want them, and a frontier with a store that lives in a dictionary."""

from __future__ import annotations

import msgspec

from gossamer.frontier.machine import Frontier
from gossamer.frontier.policy import Rules
from gossamer.frontier.turns import SourceRun
from gossamer.model import (
    Batch,
    Candidate,
    Discovery,
    Document,
    Fingerprint,
    FoldEnd,
    Folding,
    Found,
    Lease,
    Order,
    Outcome,
    PendingPage,
    Politeness,
    Reading,
    RequestOptions,
    Scope,
    ScopeMode,
    SeedFrom,
    Settled,
    Source,
    SourceSpec,
    State,
    Traps,
)

HOST = "http://a.example"
SEED = f"{HOST}/"
WALL = 1_700_000_000.0
BY_LINKS = Discovery(seed_from=(SeedFrom.LINKS,))
UNASKED = Politeness(delay=0.0, ignore_robots=True)


def source(
    *seeds: str,
    number: int = 1,
    discovery: Discovery = BY_LINKS,
    politeness: Politeness = UNASKED,
    folding: Folding = Folding(),  # noqa: B008 (frozen)
    traps: Traps = Traps(),  # noqa: B008 (frozen)
    scope: ScopeMode = ScopeMode.HOST,
    max_depth: int | None = None,
    order: Order = Order.BREADTH,
    rounds: int = 1,
) -> Source:
    spec = SourceSpec(
        seeds=seeds or (SEED,),
        scope=Scope(mode=scope, max_depth=max_depth),
        politeness=politeness,
        discovery=discovery,
        folding=folding,
        traps=traps,
        order=order,
        request=RequestOptions(user_agent="gossamer-test/1"),
    )
    return Source(id=number, spec=spec, round=rounds)


def document(*paths: str, text: str = "", canonical: str | None = None) -> Document:
    links = tuple(HOST + path for path in paths)
    return Document(links=links, hash=text or None, canonical=HOST + canonical if canonical else None)


class Play:
    """One source on one host: what was admitted, what became of it, and what waits."""

    def __init__(self, wanted: Source | None = None, rules: Rules | None = None, now: float = 0.0) -> None:
        self.now = now
        self.frontier = Frontier(rules or Rules(), 1, now, WALL + now)
        self.run: SourceRun = self.frontier.open_source(wanted or source())
        self.pages: dict[str, PendingPage] = {}
        """What the store holds, by path."""
        self.ends: dict[str, Settled] = {}
        self.refused: dict[str, str] = {}
        self._next = 1

    # -- what a dispatcher does

    def admit(
        self, *paths: str, depth: int = 1, nofollow: bool = False, listed: bool = False, parent: int | None = None
    ) -> None:
        self.let_in(
            [
                Candidate(
                    source=1, url=HOST + path, depth=depth, nofollow=nofollow, listed=listed, parent=parent, position=at
                )
                for at, path in enumerate(paths)
            ]
        )

    def let_in(self, candidates: list[Candidate]) -> None:
        missing = self.frontier.admit(self.now, candidates, self._next)
        self._next += len(candidates)
        for number, hosts in missing.items():
            self.frontier.restore(self.now, number, hosts, [], [])

    def follow(self, found: list[Found]) -> None:
        for each in found:
            self.let_in(each.candidates(set(each.urls)))

    def another_road(self, path: str, depth: int = 1, *, nofollow: bool = False, listed: bool = False) -> None:
        (page,) = [*self.frontier.fresh_deferred(1, [HOST + path])] or [self.pages[path]]
        road = Candidate(
            source=1, url=HOST + path, depth=depth, nofollow=nofollow, listed=listed, parent=77, position=5
        )
        self.frontier.improve(self.now, road, page)
        for number, hosts in self.frontier.homeless().items():
            self.frontier.restore(self.now, number, hosts, [], [])

    def judge(
        self,
        *paths: str,
        ends: dict[str, tuple[str, State]] | None = None,
        prints: dict[str, Fingerprint] | None = None,
    ) -> None:
        """Judge deferred pages, given where others end by path and state."""
        known = {HOST + path: FoldEnd(url=HOST + end, state=state) for path, (end, state) in (ends or {}).items()}
        sketches = {self.pages[path].id: each for path, each in (prints or {}).items()}
        self.frontier.judge_deferred(self.now, [self.pages[path] for path in paths], known, sketches)

    def lease(self) -> Lease:
        lease = self.frontier.lease(self.now)
        assert isinstance(lease, Lease)
        return lease

    def leased(self, count: int) -> list[str]:
        """The next pages, each settled as an empty one."""
        taken = []
        for _ in range(count):
            lease = self.lease()
            taken.append(lease.url.removeprefix(HOST))
            self.settle(lease)
        return taken

    def settle(self, lease: Lease, reading: Reading | None = None, status: int = 200) -> list[Found]:
        read = reading or (Reading() if status == 200 else None)
        found = self.frontier.settle(self.now, Outcome(token=lease.token, status=status, reading=read))
        assert found is not None
        return found

    def commit(self) -> Batch:
        batch = self.frontier.collect(self.now, WALL + self.now)
        for new in batch.new:
            path = new.url.removeprefix(HOST)
            if new.state is State.PENDING:
                self.pages[path] = PendingPage(
                    id=new.id, source=1, url=new.url, host=new.host, depth=new.depth, rank=new.rank, kind=new.kind
                )
            else:
                self.refused[path] = str(new.reason)
        for move in batch.moved:
            self._change(move.page, depth=move.depth, rank=move.rank)
        for settled in batch.settled:
            self._settled(settled)
        return batch

    def _settled(self, settled: Settled) -> None:
        path = settled.url.removeprefix(HOST)
        if settled.state.final:
            self.pages.pop(path, None)
            self.ends[path] = settled
        elif settled.rank is not None:
            self._change(settled.page, rank=settled.rank, target=settled.target)

    def _change(self, number: int, **changes: int | str | None) -> None:
        for path, page in self.pages.items():
            if page.id == number:
                self.pages[path] = msgspec.structs.replace(page, **changes)

    # -- what became of it

    def told(self, path: str) -> str:
        """`completed`, `skipped depth`, `failed`, or the rank of what waits."""
        if path in self.ends:
            end = self.ends[path]
            return f"{end.state.value} {end.reason.value}" if end.reason else end.state.value
        return str(self.pages[path].rank)

    def adds_up(self) -> bool:
        """The frontier knows how many pages wait, and what for."""
        waiting = [page.rank >= 1 << 20 for page in self.pages.values()]
        return (self.run.queued, self.run.deferred) == (waiting.count(False), waiting.count(True))
