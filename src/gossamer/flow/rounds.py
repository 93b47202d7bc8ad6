"""rounds: visit a source again, from its beginning."""

from __future__ import annotations

import msgspec

from gossamer.model import Batch, EndReason, Source, SourceState, SourceUpdate
from gossamer.ports import Store


def is_over(source: Source) -> bool:
    """Its last round has ended by itself."""
    return source.state is SourceState.COMPLETED or source.reason == EndReason.MAX_PAGES


async def next_round(store: Store, source: Source, now: float, *, due: bool = False) -> Source:
    """The source with a new round begun, of all its pages or of those that are `due`; if its last round is not over,
    the source as it is: that one goes on."""
    if not is_over(source):
        return source
    await _let_go_of_output(store, source)
    return await store.begin_round(source.id, now, due=now if due else None)


async def _let_go_of_output(store: Store, source: Source) -> None:
    """The file is that of the first round. Written down before a page is visited again, so that no crash brings it
    back."""
    if source.spec.out:
        spec = msgspec.structs.replace(source.spec, out=None)
        update = SourceUpdate(id=source.id, state=source.state, reason=source.reason, granted=source.granted, spec=spec)
        await store.commit(Batch(sources=[update]))
