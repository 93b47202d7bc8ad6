"""changes: the change feed of a store, told for people and programs."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from datetime import UTC, datetime

from gossamer.model import Change, ChangeEntry, ChangeRecord
from gossamer.parse.diff import text_diff
from gossamer.ports import Store

_AT_ONCE = 50


async def feed(store: Store, since: Mapping[int, float]) -> AsyncGenerator[ChangeEntry, None]:
    """The changes of each source from a moment of its own on, in order."""
    after, earliest = 0, min(since.values(), default=0.0)
    while records := await store.changes(list(since), after, earliest, _AT_ONCE):
        for record in records:
            if record.at >= since[record.source]:
                yield _entry(record)
        after = records[-1].sequence


def _entry(record: ChangeRecord) -> ChangeEntry:
    return ChangeEntry(
        change=record.change,
        url=record.url,
        source=record.source,
        at=_iso(record.at),
        round=record.round,
        title=record.title,
        hash=record.hash,
        previous_hash=record.previous_hash,
        diff=_diff(record),
    )


def _diff(record: ChangeRecord) -> str | None:
    if record.change is not Change.CHANGED or record.before is None or record.after is None:
        return None
    return text_diff(record.before, record.after)


def _iso(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
