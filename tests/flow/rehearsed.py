"""A store and a bus that keep an account of what happens, and a web that lives in a dictionary."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from gossamer.adapters.store_sqlite import SqliteStore
from gossamer.flow.dispatch import Dispatcher
from gossamer.flow.governor import Governor
from gossamer.frontier.policy import Rules
from gossamer.model import (
    Batch,
    Discovery,
    Document,
    Lease,
    LeaseKind,
    Outcome,
    Politeness,
    Reading,
    RequestOptions,
    Scope,
    ScopeMode,
    SeedFrom,
    Source,
    SourceSpec,
)
from gossamer.ports import StorageError, WorkerStatus
from gossamer.testing.clock import FakeClock

HOST = "http://a.test"
SEED = f"{HOST}/"


class Committed(msgspec.Struct, frozen=True):
    batch: Batch
    at: float


class Sent(msgspec.Struct, frozen=True):
    leases: tuple[Lease, ...]
    at: float


Event = Committed | Sent


class RestlessClock(FakeClock):
    """Whoever sleeps has slept at once: the dispatcher is the only one who does."""

    async def sleep(self, seconds: float) -> None:
        await self.advance(seconds)


class RecordingStore(SqliteStore):
    """A real store that tells when it commits, and fails when it is told to."""

    events: list[Event]
    clock: FakeClock
    commits_left: int | None = None
    commit_takes = 0.0

    async def commit(self, batch: Batch) -> None:
        if self.commits_left == 0:
            raise StorageError("the disk is full; make room and resume")
        if self.commits_left is not None:
            self.commits_left -= 1
        await self.clock.advance(self.commit_takes)
        await super().commit(batch)
        self.events.append(Committed(batch, self.clock.now()))


Answer = Callable[[Lease], Sequence[Outcome]]


class FakeBus:
    """Answers every lease at once; where nothing is to be had, it lets the time pass that one would wait for it."""

    def __init__(self, clock: FakeClock, events: list[Event], answer: Answer) -> None:
        self.answer = answer
        self._clock = clock
        self._events = events
        self._outcomes: list[Outcome] = []

    async def start(self) -> None: ...

    async def close(self) -> None: ...

    async def send(self, leases: Sequence[Lease]) -> None:
        self._events.append(Sent(tuple(leases), self._clock.now()))
        for lease in leases:
            self._outcomes.extend(self.answer(lease))

    async def receive(self, timeout: float) -> list[Outcome]:  # noqa: ASYNC109 (the port says so)
        if not self._outcomes:
            await self._clock.advance(timeout)
        outcomes, self._outcomes = self._outcomes, []
        return outcomes

    def workers(self) -> list[WorkerStatus]:
        return []


def site(pages: Mapping[str, Sequence[str]]) -> Answer:
    """A web without robots files: paths and where they link to. What is not among them is 404."""

    def answer(lease: Lease) -> list[Outcome]:
        path = lease.url.removeprefix(HOST)
        if lease.kind is LeaseKind.ROBOTS or path not in pages:
            return [Outcome(token=lease.token, status=404)]
        document = Document(links=tuple(HOST + link for link in pages[path]))
        return [Outcome(token=lease.token, status=200, reading=Reading(document=document))]

    return answer


def spec(
    max_pages: int | None = None,
    max_depth: int | None = None,
    delay: float = 0.0,
    seed_from: SeedFrom = SeedFrom.LINKS,
) -> SourceSpec:
    return SourceSpec(
        seeds=(SEED,),
        discovery=Discovery(seed_from=(seed_from,)),
        scope=Scope(mode=ScopeMode.HOST, max_depth=max_depth),
        politeness=Politeness(delay=delay),
        request=RequestOptions(user_agent="gossamer-test/1"),
        max_pages=max_pages,
    )


class Stage:
    """All that a dispatcher needs, and the account of what it did with it."""

    def __init__(self, store: RecordingStore, clock: FakeClock, events: list[Event]) -> None:
        self.store = store
        self.clock = clock
        self.events = events
        self.bus = FakeBus(clock, events, site({"/": ()}))
        self.governor = Governor(64, 0.05)

    @classmethod
    async def open(cls, directory: Path) -> Stage:
        clock = RestlessClock()
        store = await RecordingStore.open(directory, wall=clock.wall)
        assert isinstance(store, RecordingStore)
        store.events, store.clock = [], clock
        return cls(store, clock, store.events)

    async def source(self, wanted: SourceSpec | None = None) -> Source:
        return await self.store.add_source(wanted or spec(), self.clock.wall())

    async def dispatcher(self, *sources: Source, rules: Rules | None = None) -> Dispatcher:
        made = Dispatcher(self.store, self.bus, self.clock, rules or Rules(), self.governor)
        await made.open(sources)
        return made

    async def run(self, dispatcher: Dispatcher, cycles: int = 10_000) -> None:
        """Cycle until there is nothing left to do."""
        for _ in range(cycles):
            if not await dispatcher.cycle():
                return
        raise AssertionError(f"not done after {cycles} cycles")

    @property
    def sent(self) -> list[Lease]:
        return [lease for event in self.events if isinstance(event, Sent) for lease in event.leases]

    @property
    def pages_sent(self) -> list[str]:
        return [lease.url.removeprefix(HOST) for lease in self.sent if lease.kind is LeaseKind.PAGE]

    async def states(self, source: int = 1) -> dict[str, str]:
        """How every final page of a source ended."""
        deliveries = await self.store.deliveries([source], 0, 10_000)
        return {each.record.url.removeprefix(HOST): each.record.state.value for each in deliveries}
