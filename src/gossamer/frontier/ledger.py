"""Facts, as they are decided, until they are committed."""

from __future__ import annotations

import msgspec

from gossamer.frontier.returning import returned
from gossamer.frontier.shards import shard_of
from gossamer.frontier.turns import SourceRun
from gossamer.model import (
    Batch,
    Candidate,
    HostRecord,
    NewPage,
    PendingPage,
    RobotsRecord,
    Settled,
    SourceUpdate,
    State,
    Why,
)
from gossamer.url import host_of, site_of


class Ledger:
    def __init__(self) -> None:
        self.batch = Batch()
        self._settled: list[tuple[SourceRun, PendingPage, Settled]] = []
        self._sources: dict[int, SourceUpdate] = {}

    def admitted(self, number: int, candidate: Candidate, rank: int) -> PendingPage:
        host = self._new(number, candidate, State.PENDING, rank, None, None)
        return PendingPage(
            id=number,
            source=candidate.source,
            url=candidate.url,
            host=host,
            depth=candidate.depth,
            rank=rank,
            hops=candidate.hops,
            kind=candidate.kind,
            target=candidate.about,
        )

    def refused(self, number: int, candidate: Candidate, reason: Why, text: str) -> None:
        self._new(number, candidate, State.SKIPPED, 0, reason, text)

    def _new(
        self, number: int, candidate: Candidate, state: State, rank: int, reason: Why | None, text: str | None
    ) -> str:
        host = host_of(candidate.url)
        self.batch.new.append(
            NewPage(
                id=number,
                source=candidate.source,
                url=candidate.url,
                host=host,
                shard=shard_of(site_of(host)),
                state=state,
                depth=candidate.depth,
                rank=rank,
                parent=candidate.parent,
                position=candidate.position,
                hops=candidate.hops,
                reason=reason,
                error=text,
                kind=candidate.kind,
                target=candidate.about,
                lastmod=candidate.lastmod,
            )
        )
        return host

    def settled(self, run: SourceRun, page: PendingPage, fact: Settled) -> None:
        self._settled.append((run, page, fact))

    def ended(
        self,
        run: SourceRun,
        page: PendingPage,
        state: State,
        reason: Why | None,
        error: str | None = None,
        target: str | None = None,
    ) -> None:
        """A page became final without being fetched."""
        self.settled(run, page, _fact(page, state, reason, error, target))

    def promoted(
        self, run: SourceRun, page: PendingPage, state: State, reason: Why | None = None, target: str | None = None
    ) -> None:
        """A page that was fetched while it was deferred became final."""
        fact = _fact(page, state, reason, None, target)
        self.settled(run, page, msgspec.structs.replace(fact, promoted=True))

    def source(self, run: SourceRun, *, new_spec: bool = False) -> None:
        last = self._sources.get(run.id)
        self._sources[run.id] = SourceUpdate(
            id=run.id,
            state=run.source.state,
            reason=run.source.reason,
            granted=run.granted,
            spec=run.source.spec if new_spec else last.spec if last else None,
        )

    def learnt(self, run: SourceRun) -> None:
        """What is known of patterns and roads since the last time."""
        for patterns in run.counted.values():
            self.batch.patterns += patterns.collect()
        run.counted = {}
        self.batch.roads += run.discovery.facts
        run.discovery.facts = []

    def collect(self, now: float, wall: float, hosts: list[HostRecord]) -> Batch:
        """All facts since the last time, with their times on the wall clock."""
        batch, self.batch = self.batch, Batch()
        batch.settled = [returned(run, page, fact, wall) for run, page, fact in self._settled]
        self._settled = []
        batch.robots = [_on_wall(record, wall - now) for record in batch.robots]
        batch.hosts = hosts
        batch.sources = list(self._sources.values())
        self._sources = {}
        return batch


def _fact(page: PendingPage, state: State, reason: Why | None, error: str | None, target: str | None) -> Settled:
    return Settled(
        page=page.id,
        source=page.source,
        url=page.url,
        kind=page.kind,
        state=state,
        attempts=page.attempts,
        reason=reason,
        error=error,
        target=target,
    )


def _on_wall(record: RobotsRecord, offset: float) -> RobotsRecord:
    return msgspec.structs.replace(record, fetched_at=record.fetched_at + offset, expires_at=record.expires_at + offset)
