"""ingest: takes committed pages from the outbox and hands them to a sink. It never holds up discovery.

Each sink has a cursor in the store. A sink writes first and the cursor follows; after a crash the sink is told how far
the cursor had come and undoes what it wrote beyond.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from gossamer.flow.commits import Commits
from gossamer.model import Batch, Cursor
from gossamer.ports import Sink, Store

_AT_ONCE = 500
_BREATH = 0.02


class Ingest:
    def __init__(self, store: Store, sink: Sink, consumer: str, sources: Sequence[int]) -> None:
        self._store = store
        self._sink = sink
        self._consumer = consumer
        self._sources = sources
        self._cursor = Cursor(consumer=consumer, sequence=0)

    async def open(self) -> None:
        self._cursor = await self._sink.open(await self._store.cursor(self._consumer))
        # From here on what the sink holds is known to be ours.
        await self._store.commit(Batch(cursors=[self._cursor]))

    async def follow(self, commits: Commits, acknowledge: Callable[[Cursor], None]) -> None:
        """Deliver what is committed, as it is committed, and what is left once there are no more commits."""
        try:
            with commits.listen() as news:
                more = True
                while more:
                    await self._deliver()
                    acknowledge(self._cursor)
                    # Files are in no hurry: a few commits together cost as much as one.
                    await asyncio.sleep(_BREATH)
                    more = await news()
            await self._deliver_the_rest()
        finally:
            await self._sink.close()

    async def catch_up(self) -> None:
        """Deliver what a crash left behind after the last commit, if there is any: else the sink is not touched."""
        cursor = await self._store.cursor(self._consumer)
        if cursor is None or not await self._store.deliveries(self._sources, cursor.sequence, 1):
            return
        await self.open()
        try:
            await self._deliver_the_rest()
        finally:
            await self._sink.close()

    async def _deliver_the_rest(self) -> None:
        await self._deliver()
        await self._store.commit(Batch(cursors=[self._cursor]))

    async def _deliver(self) -> None:
        full = True
        while full:
            deliveries = await self._store.deliveries(self._sources, self._cursor.sequence, _AT_ONCE)
            if deliveries:
                self._cursor = await self._sink.write(deliveries)
            full = len(deliveries) == _AT_ONCE
