"""Pages as users see them: with the address of the parent, and with what the document says."""

# ruff: noqa: S608 -- the queries are put together from constants of this module.

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

import apsw
import msgspec

from gossamer.adapters.store_sqlite.bulk import Row
from gossamer.adapters.store_sqlite.numbers import STATE_NAMES, STATES
from gossamer.adapters.store_sqlite.packing import unpack
from gossamer.adapters.store_sqlite.reading import array
from gossamer.model import Delivery, Detour, Document, PageInfo, PageRecord, State

_MOST_ANCESTORS = 10_000
_NO_DOCUMENT = Document()


class _Page(NamedTuple):
    """A number (of the page, or of its place in the outbox) and the columns of `_PAGE`."""

    number: int
    url: str
    source: int
    state: int
    shown: int
    """The state that its document is of: while it is visited again, that of the last round."""
    status: int | None
    depth: int
    parent: str | None
    position: int
    content_type: str | None
    size: int
    tokens: int
    finished_at: float | None
    elapsed: float
    reason: str | None
    error: str | None
    document: bytes | None


_DETOURS = """
SELECT p.id, p.url, p.rank, p.state, p.target, d.body
FROM json_each(?2) AS road
CROSS JOIN pages p ON p.source = ?1 AND p.url = road.key AND p.kind = 0 AND p.depth > road.value
LEFT JOIN documents d ON d.page = p.id
WHERE (p.state > 0 OR p.rank < 1048576) AND (p.state < 3 OR d.page IS NOT NULL OR p.target IS NOT NULL)
"""


def detours(db: apsw.Connection, source: int, depths: Mapping[str, int]) -> list[Detour]:
    found = []
    for page, url, rank, state, target, body in db.execute(_DETOURS, (source, msgspec.json.encode(depths).decode())):
        document = _NO_DOCUMENT if body is None else unpack(body)
        found.append(
            Detour(
                page=page,
                url=url,
                rank=rank,
                final=STATE_NAMES[state].final,
                links=document.links,
                nofollow=document.nofollow,
                target=target,
            )
        )
    return found


class _Place(NamedTuple):
    """The rest of a row of `_INFO`."""

    host: str
    rank: int
    attempts: int
    target: str | None
    created_at: float
    visits: int
    changes: int
    due_at: float | None
    lastmod: float | None
    checked_at: float | None


_PAGE = """
coalesce(p.was, p.state), p.status, p.depth, q.url, p.position, p.content_type, p.size, p.tokens, p.finished_at,
p.elapsed, p.reason, p.error, d.body
"""
_FROM = "pages p LEFT JOIN pages q ON q.id = p.parent LEFT JOIN documents d ON d.page = p.id"

_DELIVERIES = f"""
SELECT o.sequence, p.url, p.source, coalesce(p.was, p.state), {_PAGE}
FROM outbox o CROSS JOIN {_FROM}
WHERE p.id = o.page AND o.sequence > ?2 AND o.source IN (SELECT value FROM json_each(?1))
ORDER BY o.sequence LIMIT ?3
"""
_INFO = f"""
SELECT p.id, p.url, p.source, p.state, {_PAGE}, h.key, p.rank, p.attempts, p.target, p.created_at, p.visits, p.changes,
       p.due_at, p.lastmod, p.checked_at
FROM {_FROM} JOIN hosts h ON h.id = p.host
"""
_FIND = f"""
{_INFO} WHERE p.source IN (SELECT id FROM sources WHERE id = ?2 OR ?2 IS NULL) AND p.url = ?1 AND p.kind = 0
ORDER BY p.id
"""
_LIST = f"""
{_INFO} WHERE +p.source = ?1 AND +p.kind = 0 AND p.id > ?2 AND (?3 IS NULL OR p.state = ?3) ORDER BY p.id LIMIT ?4
"""
_ANCESTORS = f"""
WITH RECURSIVE line (page, step) AS (
    SELECT parent, 1 FROM pages WHERE id = ?1
    UNION ALL
    SELECT pages.parent, step + 1 FROM line JOIN pages ON pages.id = line.page WHERE step < ?2
)
{_INFO} JOIN line ON line.page = p.id ORDER BY line.step
"""


def deliveries(db: apsw.Connection, of: Sequence[int], after: int, limit: int) -> list[Delivery]:
    rows = db.execute(_DELIVERIES, (array(of), after, limit)).fetchall()
    return [_delivery(_Page._make(row)) for row in rows]


def find(db: apsw.Connection, url: str, source: int | None) -> list[PageInfo]:
    return [_info(row) for row in db.execute(_FIND, (url, source)).fetchall()]


def pages(db: apsw.Connection, source: int, state: State | None, after: int, limit: int) -> list[PageInfo]:
    number = None if state is None else STATES[state]
    return [_info(row) for row in db.execute(_LIST, (source, after, number, limit)).fetchall()]


def ancestors(db: apsw.Connection, page: int) -> list[PageInfo]:
    """Nearest first. A page that is its own ancestor ends the line."""
    met = {page}
    line = []
    for info in map(_info, db.execute(_ANCESTORS, (page, _MOST_ANCESTORS))):
        if info.id in met:
            break
        met.add(info.id)
        line.append(info)
    return line


def _delivery(page: _Page) -> Delivery:
    return Delivery(sequence=page.number, record=_record(page))


def _info(row: Row) -> PageInfo:
    width = len(_Page._fields)
    page, place = _Page._make(row[:width]), _Place._make(row[width:])
    return PageInfo(
        id=page.number,
        record=_record(page),
        host=place.host,
        rank=place.rank,
        attempts=place.attempts,
        target=place.target,
        created_at=place.created_at,
        visits=place.visits,
        changes=place.changes,
        due_at=place.due_at,
        lastmod=place.lastmod,
        checked_at=place.checked_at,
    )


def _record(page: _Page) -> PageRecord:
    # What a skipped page says is kept for its links alone.
    hidden = page.document is None or STATE_NAMES[page.shown] is not State.COMPLETED
    document = _NO_DOCUMENT if hidden else unpack(page.document or b"")
    fetched_at = page.finished_at if page.status is not None or page.error is not None else None
    return PageRecord(
        url=page.url,
        source=page.source,
        state=STATE_NAMES[page.state],
        http_status=page.status,
        depth=page.depth,
        parent=page.parent,
        position=page.position,
        title=document.title,
        description=document.description,
        language=document.language,
        canonical=document.canonical,
        content_type=page.content_type,
        bytes=page.size,
        hash=document.hash,
        tokens=page.tokens,
        links=document.links,
        markdown=document.markdown,
        fetched_at=_iso(fetched_at) if fetched_at else None,
        elapsed_ms=round(page.elapsed * 1_000, 3) if fetched_at else None,
        reason=page.reason,
        error=page.error,
    )


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
