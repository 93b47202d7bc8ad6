"""What is asked of the tables.

Lists that the frontier waits for come as one row of JSON, for the reason that `bulk` tells.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import apsw
import msgspec

from gossamer.adapters.store_sqlite.bulk import Row
from gossamer.model import Counts, Cursor, HostRecord, PendingPage, RobotsRecord, Source, SourceSpec, SourceState

_json = msgspec.json.Encoder()
_pending_pages = msgspec.json.Decoder(list[PendingPage])
_texts = msgspec.json.Decoder(list[str])
_spec = msgspec.json.Decoder(SourceSpec)


def array(values: Iterable[str | int]) -> str:
    """Values as SQLite's json_each takes them."""
    return _json.encode(list(values)).decode()


def sources(db: apsw.Connection) -> list[Source]:
    rows = db.execute("SELECT id, spec, state, reason, granted, created_at FROM sources ORDER BY id")
    return [
        Source(
            id=number,
            spec=_spec.decode(spec),
            state=SourceState(state),
            reason=reason,
            granted=granted,
            created_at=created_at,
        )
        for number, spec, state, reason, granted, created_at in rows
    ]


def page_total(db: apsw.Connection, source: int) -> int:
    return int(db.execute("SELECT coalesce(sum(total), 0) FROM tallies WHERE source = ?", (source,)).get)


def urls(db: apsw.Connection, source: int) -> Iterator[str]:
    return (url for (url,) in db.execute("SELECT url FROM pages WHERE source = ?", (source,)))


_STORED = """
SELECT json_group_array(url) FROM pages WHERE source = ? AND url IN (SELECT value FROM json_each(?))
"""


def stored(db: apsw.Connection, source: int, asked: Sequence[str]) -> set[str]:
    """Those URLs that the source has a page for."""
    return set(_texts.decode(db.execute(_STORED, (source, array(asked))).get))


_PENDING = """
SELECT json_group_array(json_object('id', id, 'source', source, 'url', url, 'host', ?2, 'depth', depth, 'rank', rank,
                                    'hops', hops, 'attempts', attempts) ORDER BY rank, id)
FROM (SELECT * FROM pages
      WHERE source = ?1 AND host = (SELECT id FROM hosts WHERE key = ?2) AND (rank, id) > (?3, ?4)
            AND state = 0 AND rank < 1048576 AND attempts >= ?5
      ORDER BY rank, id LIMIT ?6)
"""


def pending(
    db: apsw.Connection, source: int, host: str, after: tuple[int, int], limit: int, tried: int
) -> list[PendingPage]:
    return _pending_pages.decode(db.execute(_PENDING, (source, host, *after, tried, limit)).get)


_PENDING_HOSTS = """
SELECT json_group_array(key ORDER BY key)
FROM (SELECT key FROM hosts
      WHERE key > ?2 AND EXISTS (SELECT 1 FROM pages WHERE source IN (SELECT value FROM json_each(?1))
                                 AND host = hosts.id AND state = 0 AND rank < 1048576 AND attempts >= ?4)
      ORDER BY key LIMIT ?3)
"""


def pending_hosts(db: apsw.Connection, of: Sequence[int], after: str, limit: int, tried: int) -> list[str]:
    return _texts.decode(db.execute(_PENDING_HOSTS, (array(of), after, limit, tried)).get)


_DEFERRED = """
SELECT json_group_array(json_object('id', p.id, 'source', p.source, 'url', p.url, 'host', h.key, 'depth', p.depth,
                                    'rank', p.rank, 'hops', p.hops, 'attempts', p.attempts) ORDER BY p.id)
FROM pages p JOIN hosts h ON h.id = p.host
WHERE p.id IN (SELECT value FROM json_each(?))
"""
_DEFERRED_URLS = """
SELECT json_group_array(id) FROM pages
WHERE source = ? AND url IN (SELECT value FROM json_each(?)) AND +state = 0 AND rank >= 1048576
"""
_SOME_DEFERRED = """
SELECT json_group_array(id) FROM (
    SELECT id FROM pages WHERE source = ? AND state = 0 AND rank >= 1048576 ORDER BY id LIMIT ?)
"""


def deferred(db: apsw.Connection, source: int, asked: Sequence[str]) -> list[PendingPage]:
    ids = db.execute(_DEFERRED_URLS, (source, array(asked))).get
    return _pending_pages.decode(db.execute(_DEFERRED, (ids,)).get)


def some_deferred(db: apsw.Connection, source: int, limit: int) -> list[PendingPage]:
    ids = db.execute(_SOME_DEFERRED, (source, limit)).get
    return _pending_pages.decode(db.execute(_DEFERRED, (ids,)).get)


def deferred_count(db: apsw.Connection, source: int) -> int:
    sql = "SELECT count(*) FROM pages WHERE source = ? AND state = 0 AND rank >= 1048576"
    return int(db.execute(sql, (source,)).get)


_COUNTS = """
SELECT total, completed, failed, skipped, bytes, tokens,
       (SELECT count(*) FROM pages WHERE pages.source = tallies.source AND state = 1)
FROM tallies WHERE source = ?
"""


def counts(db: apsw.Connection, source: int) -> Counts:
    row = db.execute(_COUNTS, (source,)).fetchone()
    if row is None:
        return Counts()
    total, completed, failed, skipped, size, tokens, processing = row
    return Counts(
        pending=total - completed - failed - skipped - processing,
        processing=processing,
        completed=completed,
        failed=failed,
        skipped=skipped,
        bytes=size,
        tokens=tokens,
    )


_HOSTS = """
SELECT h.key, h.ready_at, h.wait, h.delay, h.failures, h.answered, h.blocked, h.leased, h.waiting_for, h.last_error,
       h.latency, r.verdict, r.body, r.status, r.error, r.fetched_at, r.expires_at
FROM hosts h LEFT JOIN robots r ON r.host = h.id
WHERE h.key IN (SELECT value FROM json_each(?)) AND (h.ready_at IS NOT NULL OR r.host IS NOT NULL)
"""
_HOST_FIELDS = HostRecord.__struct_fields__
_ROBOTS_FIELDS = RobotsRecord.__struct_fields__


def hosts(db: apsw.Connection, keys: Sequence[str]) -> list[tuple[HostRecord, RobotsRecord | None]]:
    rows = db.execute(_HOSTS, (array(keys),)).fetchall()
    width = len(_HOST_FIELDS)
    return [(_host(row[:width]), _robots((row[0], *row[width:]))) for row in rows]


def _host(row: Row) -> HostRecord:
    fields = dict(zip(_HOST_FIELDS, row, strict=True))
    if fields["ready_at"] is None:
        return msgspec.convert({"key": fields["key"]}, HostRecord)
    truths = {name: bool(fields[name]) for name in ("answered", "blocked")}
    return msgspec.convert(fields | truths, HostRecord)


def _robots(row: Row) -> RobotsRecord | None:
    fields = dict(zip(_ROBOTS_FIELDS, row, strict=True))
    return None if fields["verdict"] is None else msgspec.convert(fields, RobotsRecord)


def cursor(db: apsw.Connection, consumer: str) -> Cursor | None:
    sql = 'SELECT consumer, sequence, "offset" FROM cursors WHERE consumer = ?'
    row = db.execute(sql, (consumer,)).fetchone()
    return None if row is None else msgspec.convert(dict(zip(Cursor.__struct_fields__, row, strict=True)), Cursor)
