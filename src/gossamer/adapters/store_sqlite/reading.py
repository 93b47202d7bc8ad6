"""What the frontier asks of the tables: sources, seen URLs, queues, counts.

Lists that the frontier waits for come as one row of JSON, for the reason that `bulk` tells.
"""

# ruff: noqa: S608 -- the queries are put together from constants of this module.

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import apsw
import msgspec

from gossamer.adapters.store_sqlite.numbers import KIND_NAMES, STATE_NAMES, spelt
from gossamer.model import (
    Counts,
    Cursor,
    Deferral,
    GuideInfo,
    PendingPage,
    Source,
    SourceSpec,
    SourceState,
    Workload,
)

_json = msgspec.json.Encoder()
_pending_pages = msgspec.json.Decoder(list[PendingPage])
_guides = msgspec.json.Decoder(list[GuideInfo])
_texts = msgspec.json.Decoder(list[str])
_spec = msgspec.json.Decoder(SourceSpec)


def array(values: Iterable[str | int]) -> str:
    """Values as SQLite's json_each takes them."""
    return _json.encode(list(values)).decode()


def sources(db: apsw.Connection) -> list[Source]:
    rows = db.execute(
        "SELECT id, spec, state, reason, granted, created_at, round, round_began_at FROM sources ORDER BY id"
    )
    return [
        Source(
            id=number,
            spec=_spec.decode(spec),
            state=SourceState(state),
            reason=reason,
            granted=granted,
            created_at=created_at,
            round=round_,
            round_began_at=round_began_at,
        )
        for number, spec, state, reason, granted, created_at, round_, round_began_at in rows
    ]


def page_total(db: apsw.Connection, source: int) -> int:
    return int(db.execute("SELECT coalesce(sum(total), 0) FROM tallies WHERE source = ?", (source,)).get)


def urls(db: apsw.Connection, source: int) -> Iterator[str]:
    return (url for (url,) in db.execute("SELECT url FROM pages WHERE source = ? AND kind = 0", (source,)))


_STORED = """
SELECT json_group_array(url) FROM pages
WHERE source = ? AND url IN (SELECT value FROM json_each(?)) AND (kind > 0) = ?
"""


def stored(db: apsw.Connection, source: int, asked: Sequence[str], guides: bool = False) -> set[str]:
    """Those URLs that the source has a page for, or a guide or probe."""
    return set(_texts.decode(db.execute(_STORED, (source, array(asked), guides)).get))


# Inside json() because a CASE forgets that its value is JSON.
_PREVIOUS = f"""
json(CASE WHEN p.was IS NOT NULL THEN json_object(
    'state', {spelt("p.was", STATE_NAMES)}, 'reason', p.reason, 'hash', p.hash, 'etag', p.etag,
    'last_modified', p.last_modified, 'target', p.target, 'read_at', coalesce(p.read_at, 0.0),
    'checked_at', coalesce(p.checked_at, 0.0), 'since', coalesce(p.since, 0.0), 'visits', p.visits,
    'changes', p.changes, 'misses', p.misses) END)
"""
_TARGET = """
CASE WHEN p.kind > 0 THEN p.target WHEN p.rank >= 1048576 THEN (SELECT target FROM drafts WHERE page = p.id) END
"""
_WAITING = f"""
'id', p.id, 'source', p.source, 'url', p.url, 'depth', p.depth, 'rank', p.rank, 'hops', p.hops, 'attempts', p.attempts,
'kind', {spelt("p.kind", KIND_NAMES)}, 'target', {_TARGET}, 'previous', {_PREVIOUS}
"""

_PENDING = f"""
SELECT json_group_array(json_object({_WAITING}, 'host', ?2) ORDER BY rank, id)
FROM (SELECT * FROM pages
      WHERE source = ?1 AND host = (SELECT id FROM hosts WHERE key = ?2) AND (rank, id) > (?3, ?4)
            AND state = 0 AND rank < 1048576 AND attempts >= ?5
      ORDER BY rank, id LIMIT ?6) AS p
"""


def pending(
    db: apsw.Connection, source: int, host: str, after: tuple[int, int], limit: int, tried: int
) -> list[PendingPage]:
    return _pending_pages.decode(db.execute(_PENDING, (source, host, *after, tried, limit)).get)


# Left to itself SQLite would rather read all pages once than ask an index for each host.
_PENDING_HOSTS = """
SELECT json_group_array(key ORDER BY key)
FROM (SELECT key FROM hosts
      WHERE key > ?2 AND EXISTS (SELECT 1 FROM pages INDEXED BY pages_pending
                                 WHERE source IN (SELECT value FROM json_each(?1)) AND host = hosts.id
                                 AND state = 0 AND rank < 1048576 AND attempts >= ?4)
      ORDER BY key LIMIT ?3)
"""


def pending_hosts(db: apsw.Connection, of: Sequence[int], after: str, limit: int, tried: int) -> list[str]:
    return _texts.decode(db.execute(_PENDING_HOSTS, (array(of), after, limit, tried)).get)


_BY_ID = f"""
SELECT json_group_array(json_object({_WAITING}, 'host', h.key) ORDER BY p.id)
FROM pages p JOIN hosts h ON h.id = p.host
WHERE p.id IN (SELECT value FROM json_each(?))
"""
_BY_URL = """
SELECT json_group_array(id) FROM pages
WHERE source = ? AND url IN (SELECT value FROM json_each(?)) AND kind = 0 AND +state = 0 AND rank
"""
_UNREAD_BY_URL = f"{_BY_URL} BETWEEN 1048576 AND {Deferral.CANONICAL.rank - 1}"
_QUEUED_BY_URL = f"{_BY_URL} < 1048576"


def pending_by_id(db: apsw.Connection, ids: Sequence[int]) -> list[PendingPage]:
    return _pending_pages.decode(db.execute(_BY_ID, (array(ids),)).get)


def deferred(db: apsw.Connection, source: int, asked: Sequence[str]) -> list[PendingPage]:
    ids = db.execute(_UNREAD_BY_URL, (source, array(asked))).get
    return _pending_pages.decode(db.execute(_BY_ID, (ids,)).get)


def mentioned(db: apsw.Connection, source: int, asked: Sequence[str]) -> list[PendingPage]:
    ids = db.execute(_QUEUED_BY_URL, (source, array(asked))).get
    return _pending_pages.decode(db.execute(_BY_ID, (ids,)).get)


def some_deferred(
    db: apsw.Connection, source: int, limit: int, host: str | None, kind: Deferral | None, after: int
) -> list[PendingPage]:
    kinds = list(Deferral) if kind is None else [kind]
    ids = db.execute(_some_deferred(kinds, of_host=host is not None), (source, after, limit, host)).get
    return _pending_pages.decode(db.execute(_BY_ID, (ids,)).get)


def _some_deferred(kinds: Sequence[Deferral], *, of_host: bool) -> str:
    """The first few of each kind, which an index has in order, and of these the first."""
    host = "host = (SELECT id FROM hosts WHERE key = ?4)" if of_host else "?4 IS NULL"
    parts = [
        "SELECT id FROM (SELECT id FROM pages WHERE source = ?1 AND state = 0 AND rank >= 1048576 "
        f"AND rank = {kind.rank} AND id > ?2 AND {host} ORDER BY id LIMIT ?3)"
        for kind in kinds
    ]
    return f"SELECT json_group_array(id) FROM ({' UNION ALL '.join(parts)} ORDER BY id LIMIT ?3)"


_COUNTS = """
SELECT total, completed, failed, skipped, bytes, tokens,
       (SELECT count(*) FROM pages WHERE pages.source = tallies.source AND state = 1 AND kind = 0)
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


_REASONS = """
SELECT reason, count(*) FROM pages WHERE source = ? AND kind = 0 AND state = 4 GROUP BY reason ORDER BY 2 DESC, 1
"""


def reasons(db: apsw.Connection, source: int) -> dict[str, int]:
    return dict(db.execute(_REASONS, (source,)))


_DEFERRED_COUNT = f"""
SELECT count(*), coalesce(sum(rank < {Deferral.BUDGET.rank}), 0) FROM pages
WHERE source = ? AND state = 0 AND rank >= 1048576
"""
_GUIDE_COUNT = "SELECT count(*) FROM pages WHERE source = ? AND state = 0 AND kind > 0"


def workload(db: apsw.Connection, source: int) -> Workload:
    """The queue is never counted: there may be millions in it."""
    deferred, improvable = next(db.execute(_DEFERRED_COUNT, (source,)))
    guides = int(db.execute(_GUIDE_COUNT, (source,)).get)
    queued = counts(db, source).pending - deferred + guides
    return Workload(queued=queued, deferred=deferred, improvable=improvable, guides=guides)


_GUIDES = f"""
SELECT json_group_array(json_object('url', p.url, 'kind', {spelt("p.kind", KIND_NAMES)}, 'host', h.key,
                                    'state', {spelt("p.state", STATE_NAMES)}, 'about', p.target, 'listed', p.listed,
                                    'error', p.error) ORDER BY p.id)
FROM pages p JOIN hosts h ON h.id = p.host
WHERE p.source = ? AND p.kind > 0 AND p.kind < 5
"""


def guides(db: apsw.Connection, source: int) -> list[GuideInfo]:
    return _guides.decode(db.execute(_GUIDES, (source,)).get)


def cursor(db: apsw.Connection, consumer: str) -> Cursor | None:
    sql = 'SELECT consumer, sequence, "offset" FROM cursors WHERE consumer = ?'
    row = db.execute(sql, (consumer,)).fetchone()
    return None if row is None else msgspec.convert(dict(zip(Cursor.__struct_fields__, row, strict=True)), Cursor)
