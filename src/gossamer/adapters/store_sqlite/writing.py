"""One batch as one transaction.

The order within a batch: new pages, better roads, settled pages, leases. So a page may be admitted and handed out, or
returned and handed out again, in one batch; a page that is handed out cannot be settled in the same one, because its
lease has not left the process yet.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

import apsw
import msgspec

from gossamer.adapters.store_sqlite.bulk import Bulk, Row
from gossamer.adapters.store_sqlite.migrations import transaction
from gossamer.adapters.store_sqlite.packing import pack
from gossamer.model import (
    Batch,
    Cursor,
    Document,
    HostRecord,
    Leased,
    Moved,
    NewPage,
    RobotsRecord,
    Settled,
    SourceUpdate,
    State,
)
from gossamer.ports import StorageError

NUMBERS = {State.PENDING: 0, State.PROCESSING: 1, State.COMPLETED: 2, State.FAILED: 3, State.SKIPPED: 4}
_FINAL = frozenset(state for state in State if state.final)
_NO_DOCUMENT = Document()

_json = msgspec.json.Encoder()

_NAME_HOSTS = Bulk("INSERT INTO hosts (key)", 1, "ON CONFLICT (key) DO NOTHING")

_HOST_IDS = "SELECT key, id FROM hosts WHERE key IN (SELECT value FROM json_each(?))"

_INSERT_PAGES = Bulk(
    "INSERT INTO pages (id, source, host, shard, state, depth, rank, parent, position, hops, url, created_at, "
    "reason, error)",
    14,
)

_MOVE_PAGES = Bulk(
    "UPDATE pages SET depth = new.column2, rank = new.column3, parent = new.column4, position = new.column5 FROM (",
    5,
    ") AS new WHERE pages.id = new.column1 AND +pages.state < 2",
)

_SETTLE_PAGES = Bulk(
    "UPDATE pages SET state = new.column2, attempts = new.column3, reason = new.column4, error = new.column5, "
    "target = new.column6, status = new.column7, content_type = new.column8, etag = new.column9, "
    "last_modified = new.column10, size = new.column11, tokens = new.column12, elapsed = new.column13, "
    "finished_at = new.column14, token = NULL, deadline = NULL FROM (",
    14,
    ") AS new WHERE pages.id = new.column1 AND +pages.state < 2",
)

_LEASE_PAGES = Bulk(
    "UPDATE pages SET state = 1, token = new.column2, deadline = new.column3, attempts = new.column4 FROM (",
    4,
    ") AS new WHERE pages.id = new.column1 AND +pages.state = 0",
)

_INSERT_DOCUMENTS = Bulk(
    "INSERT INTO documents (page, body)", 2, "ON CONFLICT (page) DO UPDATE SET body = excluded.body"
)

_APPEND_OUTBOX = Bulk("INSERT INTO outbox (source, page)", 2)

_ADD_TALLIES = Bulk(
    "INSERT INTO tallies (source, total, completed, failed, skipped, bytes, tokens)",
    7,
    "ON CONFLICT (source) DO UPDATE SET total = total + excluded.total, completed = completed + excluded.completed, "
    "failed = failed + excluded.failed, skipped = skipped + excluded.skipped, bytes = bytes + excluded.bytes, "
    "tokens = tokens + excluded.tokens",
)

_SAVE_HOSTS = Bulk(
    "INSERT INTO hosts (key, ready_at, wait, delay, failures, answered, blocked, leased, waiting_for, last_error, "
    "latency)",
    11,
    "ON CONFLICT (key) DO UPDATE SET ready_at = excluded.ready_at, wait = excluded.wait, delay = excluded.delay, "
    "failures = excluded.failures, answered = excluded.answered, blocked = excluded.blocked, leased = excluded.leased, "
    "waiting_for = excluded.waiting_for, last_error = excluded.last_error, latency = excluded.latency",
)

_SAVE_ROBOTS = Bulk("REPLACE INTO robots (host, verdict, body, status, error, fetched_at, expires_at)", 7)

_UPDATE_SOURCES = Bulk(
    "UPDATE sources SET state = new.column2, reason = new.column3, granted = new.column4, "
    "spec = coalesce(new.column5, spec) FROM (",
    5,
    ") AS new WHERE sources.id = new.column1",
)

_SAVE_CURSORS = Bulk('REPLACE INTO cursors (consumer, sequence, "offset")', 3)


def write(db: apsw.Connection, batch: Batch, now: float) -> None:
    settled = list({fact.page: fact for fact in batch.settled}.values())
    with transaction(db):
        if batch.new:
            _insert_pages(db, batch.new, now)
        _move_pages(db, batch.moved)
        _settle_pages(db, settled)
        _lease_pages(db, batch.leased)
        _append_outbox(db, settled, batch.new)
        _ADD_TALLIES.run(db, _tallies(settled, batch.new))
        _save_hosts(db, batch.hosts)
        _save_robots(db, batch.robots)
        _update_sources(db, batch.sources)
        _save_cursors(db, batch.cursors)


def _insert_pages(db: apsw.Connection, new: Sequence[NewPage], now: float) -> None:
    ids = _host_ids(db, {page.host for page in new})
    _INSERT_PAGES.run(
        db,
        [
            (
                page.id,
                page.source,
                ids[page.host],
                page.shard,
                NUMBERS[page.state],
                page.depth,
                page.rank,
                page.parent,
                page.position,
                page.hops,
                page.url,
                now,
                page.reason,
                page.error,
            )
            for page in new
        ],
    )


def _host_ids(db: apsw.Connection, keys: Iterable[str]) -> dict[str, int]:
    """The numbers of these hosts, which are given one where they have none."""
    wanted = list(keys)
    ids: dict[str, int] = dict(db.execute(_HOST_IDS, (_json.encode(wanted).decode(),)))
    missing = [key for key in wanted if key not in ids]
    if missing:
        _NAME_HOSTS.run(db, [(key,) for key in missing])
        ids.update(db.execute(_HOST_IDS, (_json.encode(missing).decode(),)))
    return ids


def _move_pages(db: apsw.Connection, moved: Sequence[Moved]) -> None:
    latest = {fact.page: fact for fact in moved}.values()
    _MOVE_PAGES.run(db, [(fact.page, fact.depth, fact.rank, fact.parent, fact.position) for fact in latest])


def _settle_pages(db: apsw.Connection, settled: Sequence[Settled]) -> None:
    changed = _SETTLE_PAGES.run(
        db,
        [
            (
                fact.page,
                NUMBERS[fact.state],
                fact.attempts,
                fact.reason,
                fact.error,
                fact.target,
                fact.status,
                fact.content_type,
                fact.etag,
                fact.last_modified,
                fact.size,
                (fact.document or _NO_DOCUMENT).tokens,
                fact.elapsed,
                fact.finished_at,
            )
            for fact in settled
        ],
    )
    _expect(changed, len(settled), "settled", "final already")
    _INSERT_DOCUMENTS.run(db, [(fact.page, pack(fact.document)) for fact in settled if fact.document is not None])


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
    rows = [(fact.source, fact.page) for fact in settled if fact.state in _FINAL]
    rows += [(page.source, page.id) for page in new if page.state in _FINAL]
    _APPEND_OUTBOX.run(db, rows)


def _tallies(settled: Sequence[Settled], new: Sequence[NewPage]) -> list[Row]:
    """What this batch adds: source, total, completed, failed, skipped, bytes, tokens."""
    sums: dict[int, list[int]] = defaultdict(lambda: [0] * 6)
    for page in new:
        row = sums[page.source]
        row[0] += 1
        if page.state in _FINAL:
            row[NUMBERS[page.state] - 1] += 1
    for fact in settled:
        if fact.state in _FINAL:
            row = sums[fact.source]
            row[NUMBERS[fact.state] - 1] += 1
            row[4] += fact.size
            row[5] += fact.document.tokens if fact.document is not None else 0
    return [(source, *row) for source, row in sums.items()]


def _save_hosts(db: apsw.Connection, hosts: Sequence[HostRecord]) -> None:
    _SAVE_HOSTS.run(
        db,
        [
            (
                host.key,
                host.ready_at,
                host.wait,
                host.delay,
                host.failures,
                host.answered,
                host.blocked,
                host.leased,
                host.waiting_for,
                host.last_error,
                host.latency,
            )
            for host in hosts
        ],
    )


def _save_robots(db: apsw.Connection, robots: Sequence[RobotsRecord]) -> None:
    if not robots:
        return
    ids = _host_ids(db, {record.host for record in robots})
    _SAVE_ROBOTS.run(
        db,
        [
            (
                ids[record.host],
                record.verdict,
                record.body,
                record.status,
                record.error,
                record.fetched_at,
                record.expires_at,
            )
            for record in robots
        ],
    )


def _update_sources(db: apsw.Connection, sources: Sequence[SourceUpdate]) -> None:
    for update in sources:
        spec = None if update.spec is None else _json.encode(update.spec).decode()
        _UPDATE_SOURCES.run(db, [(update.id, update.state, update.reason, update.granted, spec)])


def _save_cursors(db: apsw.Connection, cursors: Sequence[Cursor]) -> None:
    _SAVE_CURSORS.run(db, [(cursor.consumer, cursor.sequence, cursor.offset) for cursor in cursors])
