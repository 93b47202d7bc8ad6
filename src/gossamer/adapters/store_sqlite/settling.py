"""What became of pages, written to their rows.

A settled fact is one of four. It is pending again, and what was read of it, if anything, is kept as a draft. Or it is
final: by what was fetched just now; or promoted, by the draft that it had; or unchanged since the last round. While a
page is visited again its row tells what the last round knew, so that it can be delivered and compared with.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import apsw
import msgspec

from gossamer.adapters.store_sqlite import changes, likeness
from gossamer.adapters.store_sqlite.bulk import Bulk
from gossamer.adapters.store_sqlite.numbers import STATES
from gossamer.adapters.store_sqlite.packing import pack
from gossamer.adapters.store_sqlite.reading import array
from gossamer.model import Deferral, Document, Revisited, Settled, State

_NO_DOCUMENT = Document()
_FIRST_VISIT = Revisited()

_SAVE_DRAFTS = Bulk(
    "REPLACE INTO drafts (page, target, status, content_type, etag, last_modified, size, tokens, elapsed, read_at, "
    "hash, body)",
    12,
)

_RETURN_PAGES = Bulk(
    "UPDATE pages SET state = 0, attempts = new.column2, rank = coalesce(new.column3, rank), misses = new.column4, "
    "error = iif(was IS NULL, new.column5, error), status = iif(was IS NULL, new.column6, status), "
    "finished_at = iif(was IS NULL, new.column7, finished_at), token = NULL, deadline = NULL FROM (",
    7,
    ") AS new WHERE pages.id = new.column1 AND +pages.state < 2",
)

# A guide keeps its target: it is what the guide is about.
_FINISH_PAGES = Bulk(
    "UPDATE pages SET state = new.column2, attempts = new.column3, reason = new.column4, error = new.column5, "
    "target = iif(kind = 0, new.column6, target), status = new.column7, content_type = new.column8, "
    "etag = new.column9, last_modified = new.column10, size = new.column11, tokens = new.column12, "
    "elapsed = new.column13, finished_at = new.column14, hash = new.column15, "
    "since = coalesce(since, new.column16), read_at = coalesce(new.column16, read_at), "
    "checked_at = iif(new.column7 IS NULL, checked_at, new.column14), "
    "changed_at = iif(new.column18, new.column14, changed_at), visits = visits + new.column17, "
    "changes = changes + new.column18, misses = new.column19, due_at = new.column20, listed = new.column21, "
    "rank = coalesce(new.column22, rank), was = NULL, token = NULL, deadline = NULL FROM (",
    22,
    ") AS new WHERE pages.id = new.column1 AND +pages.state < 2",
)

_TAKE_DRAFTS = """
UPDATE pages SET status = d.status, content_type = d.content_type, etag = d.etag, last_modified = d.last_modified,
    size = d.size, tokens = d.tokens, elapsed = d.elapsed, hash = d.hash, since = coalesce(since, d.read_at),
    read_at = d.read_at, checked_at = d.read_at
FROM drafts d WHERE d.page = pages.id AND pages.id IN (SELECT value FROM json_each(?))
"""

_PROMOTE_PAGES = Bulk(
    "UPDATE pages SET state = new.column2, reason = new.column3, error = new.column4, target = new.column5, "
    "finished_at = new.column6, changed_at = iif(new.column8, new.column6, changed_at), "
    "visits = visits + new.column7, changes = changes + new.column8, misses = new.column9, "
    "due_at = coalesce(new.column10, due_at), was = NULL, token = NULL, deadline = NULL FROM (",
    10,
    ") AS new WHERE pages.id = new.column1 AND +pages.state < 2",
)

# Of a completed page an error says that it could not be reached this time; others are what they are by their error.
_CONFIRM_PAGES = Bulk(
    "UPDATE pages SET state = was, attempts = new.column2, "
    "error = iif(was = 2, new.column3, coalesce(new.column3, error)), "
    "target = iif(kind = 0, coalesce(new.column4, target), target), etag = coalesce(new.column5, etag), "
    "last_modified = coalesce(new.column6, last_modified), checked_at = new.column7, "
    "read_at = coalesce(new.column8, read_at), due_at = coalesce(new.column9, due_at), visits = visits + 1, "
    "rank = coalesce(new.column10, rank), misses = 0, was = NULL, token = NULL, deadline = NULL FROM (",
    10,
    ") AS new WHERE pages.id = new.column1 AND +pages.state < 2 AND pages.was IS NOT NULL",
)

_SAVE_DOCUMENTS = Bulk("REPLACE INTO documents (page, body)", 2)

_KEEP_DRAFTS = """
REPLACE INTO documents (page, body)
SELECT page, body FROM drafts WHERE page IN (SELECT value FROM json_each(?)) AND body IS NOT NULL
"""


class _Sorted(msgspec.Struct):
    """The last fact about each page, by what it is."""

    returned: list[Settled] = []
    finished: list[Settled] = []
    promoted: list[Settled] = []
    confirmed: list[Settled] = []

    @property
    def anew(self) -> list[Settled]:
        """Final, and not what they were."""
        return self.finished + self.promoted

    def take(self, fact: Settled) -> None:
        if not fact.state.final:
            self.returned.append(fact)
        elif is_unchanged(fact):
            self.confirmed.append(fact)
        elif fact.promoted:
            self.promoted.append(fact)
        else:
            self.finished.append(fact)


def is_unchanged(fact: Settled) -> bool:
    return fact.revisit is not None and fact.revisit.unchanged


def last_facts(facts: Iterable[Settled]) -> list[Settled]:
    return list({fact.page: fact for fact in facts}.values())


def settle(db: apsw.Connection, facts: Sequence[Settled]) -> int:
    """Write the last fact about each page, and drafts and fingerprints of any: a page may be deferred and promoted in
    one batch. How many pages were changed."""
    if not facts:
        return 0
    latest = _Sorted()
    for fact in last_facts(facts):
        latest.take(fact)
    _save_drafts(db, facts)
    changes.append(db, [fact for fact in latest.anew if fact.change is not None])
    changed = _return(db, latest.returned) + _finish(db, latest.finished)
    changed += _promote(db, latest.promoted) + _confirm(db, latest.confirmed)
    _save_documents(db, latest)
    _forget(db, "drafts", latest.anew + latest.confirmed)
    likeness.replace(db, facts, latest.returned, latest.anew)
    return changed


def _save_drafts(db: apsw.Connection, facts: Sequence[Settled]) -> None:
    read = last_facts(fact for fact in facts if not fact.state.final and _was_read(fact))
    _SAVE_DRAFTS.run(
        db,
        [
            (
                fact.page,
                fact.target,
                fact.status,
                fact.content_type,
                fact.etag,
                fact.last_modified,
                fact.size,
                (fact.document or _NO_DOCUMENT).tokens,
                fact.elapsed,
                fact.finished_at,
                (fact.document or _NO_DOCUMENT).hash,
                None if fact.document is None else pack(fact.document),
            )
            for fact in read
        ],
    )


def _was_read(fact: Settled) -> bool:
    return fact.document is not None or (fact.rank is not None and fact.rank >= Deferral.CANONICAL.rank)


def _return(db: apsw.Connection, facts: Sequence[Settled]) -> int:
    return _RETURN_PAGES.run(
        db,
        [
            (
                fact.page,
                fact.attempts,
                fact.rank,
                (fact.revisit or _FIRST_VISIT).misses,
                fact.error,
                fact.status,
                fact.finished_at,
            )
            for fact in facts
        ],
    )


def _finish(db: apsw.Connection, facts: Sequence[Settled]) -> int:
    return _FINISH_PAGES.run(
        db,
        [
            (
                fact.page,
                STATES[fact.state],
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
                (fact.document or _NO_DOCUMENT).hash,
                _read_at(fact),
                fact.revisit is not None,
                (fact.revisit or _FIRST_VISIT).content_changed,
                (fact.revisit or _FIRST_VISIT).misses,
                fact.due_at,
                fact.listed,
                fact.rank,
            )
            for fact in facts
        ],
    )


def _promote(db: apsw.Connection, facts: Sequence[Settled]) -> int:
    if not facts:
        return 0
    db.execute(_TAKE_DRAFTS, (_pages(facts),))
    return _PROMOTE_PAGES.run(
        db,
        [
            (
                fact.page,
                STATES[fact.state],
                fact.reason,
                fact.error,
                fact.target,
                fact.finished_at,
                fact.revisit is not None,
                (fact.revisit or _FIRST_VISIT).content_changed,
                (fact.revisit or _FIRST_VISIT).misses,
                fact.due_at,
            )
            for fact in facts
        ],
    )


def _confirm(db: apsw.Connection, facts: Sequence[Settled]) -> int:
    return _CONFIRM_PAGES.run(
        db,
        [
            (
                fact.page,
                fact.attempts,
                fact.error,
                fact.target,
                fact.etag,
                fact.last_modified,
                fact.finished_at,
                _read_at(fact),
                fact.due_at,
                fact.rank,
            )
            for fact in facts
        ],
    )


def _read_at(fact: Settled) -> float | None:
    return None if fact.document is None else fact.finished_at


def _save_documents(db: apsw.Connection, latest: _Sorted) -> None:
    """What a page says now: that of a page that says nothing any more is gone. One with the same text may have other
    links."""
    read = latest.finished + latest.confirmed
    _SAVE_DOCUMENTS.run(db, [(fact.page, pack(fact.document)) for fact in read if fact.document is not None])
    kept = [fact for fact in latest.promoted if fact.state is State.COMPLETED]
    if kept:
        db.execute(_KEEP_DRAFTS, (_pages(kept),))
    silent = [fact for fact in latest.finished if fact.document is None]
    _forget(db, "documents", silent + [fact for fact in latest.promoted if fact.state is not State.COMPLETED])


def _forget(db: apsw.Connection, table: str, facts: Sequence[Settled]) -> None:
    if facts:
        db.execute(f"DELETE FROM {table} WHERE page IN (SELECT value FROM json_each(?))", (_pages(facts),))  # noqa: S608


def _pages(facts: Sequence[Settled]) -> str:
    return array(fact.page for fact in facts)
