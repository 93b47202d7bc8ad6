"""One batch as one transaction.

The order within a batch: new pages, better roads, settled pages, leases. So a page may be admitted and handed out, or
returned and handed out again, in one batch; a page that is handed out cannot be settled in the same one, because its
lease has not left the process yet.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import apsw
import msgspec

from gossamer.adapters.store_sqlite import hosts
from gossamer.adapters.store_sqlite.bulk import Bulk, Row
from gossamer.adapters.store_sqlite.migrations import transaction
from gossamer.adapters.store_sqlite.numbers import KINDS, STATES
from gossamer.adapters.store_sqlite.reading import array
from gossamer.adapters.store_sqlite.settling import is_unchanged, last_facts, settle
from gossamer.model import Batch, Cursor, Leased, LeaseKind, Moved, NewPage, Settled, SourceUpdate, State
from gossamer.ports import StorageError

_FINAL = frozenset(state for state in State if state.final)

_json = msgspec.json.Encoder()

_COMMON = "id, source, host, shard, state, depth, rank, parent, position, hops, url, created_at"

# Nearly all new pages are queued and no more is known of them: what need not be bound is not.
_INSERT_QUEUED = Bulk(f"INSERT INTO pages ({_COMMON})", 12)

_INSERT_OTHERS = Bulk(f"INSERT INTO pages ({_COMMON}, kind, lastmod, reason, error, target)", 17)

_MOVE_PAGES = Bulk(
    "UPDATE pages SET depth = new.column2, rank = new.column3, "
    "parent = iif(new.column5 IS NULL, parent, new.column4), position = coalesce(new.column5, position) FROM (",
    5,
    ") AS new WHERE pages.id = new.column1 AND +pages.state < 2",
)

_LEASE_PAGES = Bulk(
    "UPDATE pages SET state = 1, token = new.column2, deadline = new.column3, attempts = new.column4 FROM (",
    4,
    ") AS new WHERE pages.id = new.column1 AND +pages.state = 0",
)

# A row that takes the place of another gets a higher sequence, since it is numbered before that one is removed.
_APPEND_OUTBOX = Bulk("REPLACE INTO outbox (source, page)", 2)

_MORE = (
    "ON CONFLICT (source) DO UPDATE SET total = total + excluded.total, completed = completed + excluded.completed, "
    "failed = failed + excluded.failed, skipped = skipped + excluded.skipped, bytes = bytes + excluded.bytes, "
    "tokens = tokens + excluded.tokens"
)

_TALLY_NEW = Bulk("INSERT INTO tallies (source, total, failed, skipped)", 4, _MORE)

_TALLY_SETTLED = f"""
INSERT INTO tallies (source, completed, failed, skipped, bytes, tokens)
SELECT source, sum(state = 2), sum(state = 3), sum(state = 4), sum(size), sum(tokens) FROM pages
WHERE id IN (SELECT value FROM json_each(?)) AND +state >= 2 AND kind = 0 GROUP BY source {_MORE}
"""  # noqa: S608 -- put together from constants

_UPDATE_SOURCES = Bulk(
    "UPDATE sources SET state = new.column2, reason = new.column3, granted = new.column4, "
    "spec = coalesce(new.column5, spec) FROM (",
    5,
    ") AS new WHERE sources.id = new.column1",
)

_SAVE_CURSORS = Bulk('REPLACE INTO cursors (consumer, sequence, "offset")', 3)


def write(db: apsw.Connection, batch: Batch, now: float) -> None:
    settled = last_facts(batch.settled)
    with transaction(db):
        if batch.new:
            _insert_pages(db, batch.new, now)
        _move_pages(db, batch.moved)
        _expect(settle(db, batch.settled), len(settled), "settled", "final already")
        _lease_pages(db, batch.leased)
        _append_outbox(db, settled, batch.new)
        _tally(db, settled, batch.new)
        hosts.save_hosts(db, batch.hosts)
        hosts.save_robots(db, batch.robots)
        hosts.save_patterns(db, batch.patterns)
        hosts.save_roads(db, batch.roads)
        _update_sources(db, batch.sources)
        _save_cursors(db, batch.cursors)


def _insert_pages(db: apsw.Connection, new: Sequence[NewPage], now: float) -> None:
    ids = hosts.host_ids(db, {page.host for page in new})
    queued: list[Row] = []
    others: list[Row] = []
    for page in new:
        row = (
            page.id,
            page.source,
            ids[page.host],
            page.shard,
            STATES[page.state],
            page.depth,
            page.rank,
            page.parent,
            page.position,
            page.hops,
            page.url,
            now,
        )
        if page.state is State.PENDING and page.kind is LeaseKind.PAGE and page.lastmod is None:
            queued.append(row)
        else:
            others.append((*row, KINDS[page.kind], page.lastmod, page.reason, page.error, page.target))
    _INSERT_QUEUED.run(db, queued)
    _INSERT_OTHERS.run(db, others)


def _move_pages(db: apsw.Connection, moved: Sequence[Moved]) -> None:
    _MOVE_PAGES.run(db, [(fact.page, fact.depth, fact.rank, fact.parent, fact.position) for fact in moved])


def _lease_pages(db: apsw.Connection, leased: Sequence[Leased]) -> None:
    changed = _LEASE_PAGES.run(db, [(fact.page, fact.token, fact.deadline, fact.attempts) for fact in leased])
    _expect(changed, len(leased), "handed out", "not pending")


def _expect(changed: int, asked: int, what: str, otherwise: str) -> None:
    """A fact about a page that is elsewhere in its life would be recorded twice, or lost: refuse the batch."""
    if changed != asked:
        raise StorageError(
            f"{asked - changed} of {asked} pages to be {what} are unknown or {otherwise}; nothing of the batch was "
            "stored: start again, which reads the pages as they are"
        )


def _append_outbox(db: apsw.Connection, settled: Sequence[Settled], new: Sequence[NewPage]) -> None:
    anew = (fact for fact in settled if fact.state in _FINAL and fact.kind is LeaseKind.PAGE)
    rows: list[Row] = [(fact.source, fact.page) for fact in anew if not is_unchanged(fact)]
    rows += [(page.source, page.id) for page in new if page.state in _FINAL and page.kind is LeaseKind.PAGE]
    _APPEND_OUTBOX.run(db, rows)


def _tally(db: apsw.Connection, settled: Sequence[Settled], new: Sequence[NewPage]) -> None:
    _TALLY_NEW.run(db, _new_tallies(new))
    final = [fact.page for fact in settled if fact.state in _FINAL]
    if final:
        db.execute(_TALLY_SETTLED, (array(final),))


def _new_tallies(new: Sequence[NewPage]) -> list[Row]:
    """What new pages add: source, total, failed, skipped."""
    sums: dict[int, list[int]] = defaultdict(lambda: [0, 0, 0])
    for page in new:
        if page.kind is LeaseKind.PAGE:
            row = sums[page.source]
            row[0] += 1
            if page.state in _FINAL:
                row[STATES[page.state] - 2] += 1
    return [(source, *row) for source, row in sums.items()]


def _update_sources(db: apsw.Connection, sources: Sequence[SourceUpdate]) -> None:
    for update in sources:
        spec = None if update.spec is None else _json.encode(update.spec).decode()
        _UPDATE_SOURCES.run(db, [(update.id, update.state, update.reason, update.granted, spec)])


def _save_cursors(db: apsw.Connection, cursors: Sequence[Cursor]) -> None:
    _SAVE_CURSORS.run(db, [(cursor.consumer, cursor.sequence, cursor.offset) for cursor in cursors])
