"""reader: how far a program has come with the pages that the library gives it.

Each source has a cursor of its own, because sources are crawled together today and apart tomorrow.
"""

from __future__ import annotations

from collections.abc import Iterable

from gossamer.model import Batch, Cursor, Delivery
from gossamer.ports import Store

_AT_ONCE = 100


class Reader:
    def __init__(self, store: Store, cursors: dict[int, Cursor]) -> None:
        self._store = store
        self._cursors = cursors
        self._given = min((cursor.sequence for cursor in cursors.values()), default=0)

    @classmethod
    async def open(cls, store: Store, sources: Iterable[int], *, from_now: bool = False) -> Reader:
        """Where the program stopped reading; for one that never read, at the beginning, or with what comes from now."""
        cursors = {
            source: await store.cursor(_consumer(source))
            or _cursor(source, await _end(store, source) if from_now else 0)
            for source in sources
        }
        # Written down before the first page: from now on what was not acknowledged is owed.
        await store.commit(Batch(cursors=list(cursors.values())))
        return cls(store, cursors)

    async def more(self) -> list[Delivery]:
        """The next pages that were not acknowledged; none where there are no more for now."""
        while deliveries := await self._store.deliveries(list(self._cursors), self._given, _AT_ONCE):
            self._given = deliveries[-1].sequence
            unread = [each for each in deliveries if each.sequence > self._cursors[each.record.source].sequence]
            if unread:
                return unread
        return []

    def acknowledge(self, delivery: Delivery) -> Cursor:
        cursor = self._cursors[delivery.record.source] = _cursor(delivery.record.source, delivery.sequence)
        return cursor

    async def close(self) -> None:
        await self._store.commit(Batch(cursors=list(self._cursors.values())))


async def is_owed(store: Store, source: int) -> bool:
    """A program began to read the pages of this source and has not come to the end."""
    cursor = await store.cursor(_consumer(source))
    return cursor is not None and bool(await store.deliveries([source], cursor.sequence, 1))


async def _end(store: Store, source: int) -> int:
    """The place in the outbox after which a source has nothing, found by halving: its pages may be millions."""
    below, end = -1, 0
    while await store.deliveries([source], end, 1):
        below, end = end, end * 2 + 1
    while end - below > 1:
        middle = (below + end) // 2
        if await store.deliveries([source], middle, 1):
            below = middle
        else:
            end = middle
    return end


def _cursor(source: int, sequence: int) -> Cursor:
    return Cursor(consumer=_consumer(source), sequence=sequence)


def _consumer(source: int) -> str:
    return f"library {source}"
