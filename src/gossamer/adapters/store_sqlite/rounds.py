"""Visiting a source again, and following pages that were folded into others."""

# ruff: noqa: S608 -- the queries are put together from constants of this module.

from __future__ import annotations

from collections.abc import Mapping, Sequence

import apsw
import msgspec

from gossamer.adapters.store_sqlite.migrations import transaction
from gossamer.adapters.store_sqlite.numbers import STATE_NAMES
from gossamer.adapters.store_sqlite.reading import array, pending_by_id, sources
from gossamer.model import Deferral, FoldEnd, PendingPage, Source, Why
from gossamer.ports import StorageError

_MOST_STEPS = 10

# The rank of a page that nothing but its turn has to be waited for.
_OWN_RANK = "min(depth, 1023) * 1000"

_DUE = "(?2 IS NULL OR due_at <= ?2 OR lastmod > coalesce(checked_at, read_at))"

# Guides; pages that were never fetched because of the road that led to them; pages that were, and robots may have
# changed their mind.
_OPEN_PAGES = f"""
UPDATE pages SET was = state, state = 0, attempts = 0, misses = 0, token = NULL, deadline = NULL,
    rank = iif(rank >= 1048576 AND (status IS NOT NULL OR state = 3), {_OWN_RANK}, rank)
WHERE source = ?1 AND state >= 2 AND (
    kind > 0
    OR (state = 4 AND status IS NULL AND rank >= 1048576)
    OR ((status IS NOT NULL OR state = 3 OR reason = 'robots') AND {_DUE}))
"""

_FORGET_PROBES = "DELETE FROM pages WHERE source = ? AND kind = 5"

_RECOUNT = """
REPLACE INTO tallies (source, total, completed, failed, skipped, bytes, tokens)
SELECT ?1, count(*), coalesce(sum(state = 2), 0), coalesce(sum(state = 3), 0), coalesce(sum(state = 4), 0),
       coalesce(sum(iif(state >= 2, size, 0)), 0), coalesce(sum(iif(state >= 2, tokens, 0)), 0)
FROM pages WHERE source = ?1 AND kind = 0
"""

_NEXT_ROUND = """
UPDATE sources SET state = 'running', reason = NULL, granted = 0, round = round + 1, round_began_at = ? WHERE id = ?
"""


def begin_round(db: apsw.Connection, source: int, at: float, due: float | None) -> Source:
    with transaction(db):
        db.execute(_NEXT_ROUND, (at, source))
        if not db.changes():
            raise StorageError(f"there is no source {source} to visit again; `gossamer status` lists those there are")
        db.execute(_FORGET_PROBES, (source,))
        db.execute(_OPEN_PAGES, (source, due))
        db.execute(_RECOUNT, (source,))
        return next(each for each in sources(db) if each.id == source)


_RELIST = """
UPDATE pages SET lastmod = listed.value FROM json_each(?2) AS listed
WHERE source = ?1 AND url = listed.key AND kind = 0 AND lastmod IS NOT listed.value
"""

_OPEN_LISTED = f"""
UPDATE pages SET was = state, state = 0, attempts = 0, misses = 0,
    rank = iif(rank >= 1048576, {_OWN_RANK}, rank)
FROM json_each(?2) AS listed
WHERE source = ?1 AND url = listed.key AND kind = 0 AND state >= 2 AND lastmod > coalesce(checked_at, read_at)
    AND EXISTS (SELECT 1 FROM sources WHERE id = ?1 AND round > 1)
RETURNING pages.id
"""


def relist(db: apsw.Connection, source: int, lastmods: Mapping[str, float]) -> list[PendingPage]:
    listed = msgspec.json.encode(lastmods).decode()
    with transaction(db):
        db.execute(_RELIST, (source, listed))
        opened = [page for (page,) in db.execute(_OPEN_LISTED, (source, listed))]
        if opened:
            db.execute(_RECOUNT, (source,))
        return pending_by_id(db, opened)


_FOLDS = f"('{Why.CANONICAL}', '{Why.DUPLICATE}', '{Why.NEAR_DUPLICATE}')"

# Where page p leads on to: the page that it was folded into or redirects to, or the canonical one that it waits for.
_NEXT = f"""
n.source = p.source AND n.kind = 0 AND n.url = CASE
    WHEN p.state = 4 AND (p.reason = '{Why.REDIRECT}' OR p.reason IN {_FOLDS}) THEN p.target
    WHEN p.state = 0 AND p.rank = {Deferral.CANONICAL.rank} THEN (SELECT target FROM drafts WHERE page = p.id) END
"""

_ROAD = f"""
SELECT road.start, n.id, road.step + 1
FROM road CROSS JOIN pages p ON p.id = road.page CROSS JOIN pages n ON {_NEXT}
WHERE road.step < {_MOST_STEPS}
"""

_FOLD_ENDS = f"""
WITH RECURSIVE road (start, page, step) AS (
    SELECT asked.value, p.id, 0
    FROM json_each(?2) AS asked CROSS JOIN pages p ON p.source = ?1 AND p.url = asked.value AND p.kind = 0
    UNION ALL {_ROAD}
), ends AS MATERIALIZED (SELECT start, page, max(step) FROM road GROUP BY start)
SELECT ends.start, p.url, p.state FROM ends CROSS JOIN pages p ON p.id = ends.page
"""


def fold_ends(db: apsw.Connection, source: int, asked: Sequence[str]) -> dict[str, FoldEnd]:
    rows = db.execute(_FOLD_ENDS, (source, array(asked)))
    return {start: FoldEnd(url=url, state=STATE_NAMES[state]) for start, url, state in rows}


# A fold is stale when a page on its road has changed since the folded one was read, or when the road ends at a page
# that is not there. It is opened once for the newest of these facts: where nothing better turns up, it stays a fold.
_STALE = f"""
WITH RECURSIVE road (start, page, step) AS (
    SELECT id, id, 0 FROM pages WHERE source = ?1 AND kind = 0 AND state = 4 AND reason IN {_FOLDS}
    UNION {_ROAD}
)
SELECT f.id AS page, max(coalesce(p.finished_at, 0.0)) AS newest
FROM road CROSS JOIN pages f ON f.id = road.start CROSS JOIN pages p ON p.id = road.page
WHERE p.id <> f.id
GROUP BY f.id
HAVING newest > coalesce(f.reopened_for, -1.0)
    AND max(coalesce(p.changed_at > f.read_at, 0)
            OR (p.state IN (3, 4) AND NOT EXISTS (SELECT 1 FROM pages n WHERE {_NEXT})))
"""

_REOPEN = f"""
UPDATE pages SET was = state, state = 0, attempts = 0, misses = 0, etag = NULL, last_modified = NULL,
    rank = iif(rank >= 1048576, {_OWN_RANK}, rank), reopened_for = stale.newest
FROM ({_STALE}) AS stale WHERE pages.id = stale.page
"""


def reopen_folds(db: apsw.Connection, source: int) -> int:
    with transaction(db):
        db.execute(_REOPEN, (source,))
        opened = db.changes()
        if opened:
            db.execute(_RECOUNT, (source,))
        return opened
