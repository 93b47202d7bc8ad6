"""The change feed: what became of pages from one round to the next, with the text that each had before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import apsw

from gossamer.adapters.store_sqlite.bulk import Bulk, Row
from gossamer.adapters.store_sqlite.packing import pack_text, unpack, unpack_text
from gossamer.adapters.store_sqlite.reading import array
from gossamer.model import Change, ChangeRecord, Document, Settled

_NO_DOCUMENT = Document()

_APPEND = Bulk(
    "INSERT INTO changes (source, page, round, change, at, title, hash, previous_hash, before) "
    "SELECT column1, column2, (SELECT round FROM sources WHERE id = column1), column3, column4, column5, column6, "
    "column7, column8 FROM (",
    8,
    ")",
)

_DOCUMENTS = "SELECT page, body FROM documents WHERE page IN (SELECT value FROM json_each(?))"

_DRAFTS = "SELECT page, body FROM drafts WHERE page IN (SELECT value FROM json_each(?)) AND body IS NOT NULL"


def append(db: apsw.Connection, facts: Sequence[Settled]) -> None:
    """Tell of these, while the tables still hold what they were before."""
    if not facts:
        return
    before = _documents(db, _DOCUMENTS, facts)
    drafts = _documents(db, _DRAFTS, [fact for fact in facts if fact.promoted])
    now = {fact.page: fact.document for fact in facts if fact.document is not None} | drafts
    _APPEND.run(db, [_row(fact, before.get(fact.page), now.get(fact.page, _NO_DOCUMENT)) for fact in facts])


def _documents(db: apsw.Connection, sql: str, facts: Sequence[Settled]) -> dict[int, Document]:
    return {page: unpack(body) for page, body in db.execute(sql, (array(fact.page for fact in facts),))}


def _row(fact: Settled, before: Document | None, now: Document) -> Row:
    if fact.change is Change.ADDED or before is None:
        before = _NO_DOCUMENT
    if fact.change is Change.REMOVED:
        now = Document(title=before.title)
    text = None if before.text is None else pack_text(before.text)
    return (fact.source, fact.page, fact.change, fact.finished_at, now.title, now.hash, before.hash, text)


# What came after a change is what the next one of the page found before it, or else what the page says now.
_CHANGES = """
SELECT c.sequence, c.source, p.url, c.change, c.at, c.round, c.title, c.hash, c.previous_hash, c.before,
       n.before, d.body
FROM changes c CROSS JOIN pages p ON p.id = c.page
LEFT JOIN changes n ON n.sequence = (SELECT min(sequence) FROM changes WHERE page = c.page AND sequence > c.sequence)
LEFT JOIN documents d ON d.page = c.page AND n.sequence IS NULL AND c.change <> 'removed'
WHERE c.sequence > ?2 AND c.at >= ?3 AND c.source IN (SELECT value FROM json_each(?1))
ORDER BY c.sequence LIMIT ?4
"""


def changes(db: apsw.Connection, of: Sequence[int], after: int, since: float, limit: int) -> list[ChangeRecord]:
    return list(_records(db.execute(_CHANGES, (array(of), after, since, limit))))


def _records(rows: apsw.Cursor) -> Iterator[ChangeRecord]:
    for sequence, source, url, change, at, round_, title, hash_, previous_hash, before, later, document in rows:
        removed = change == Change.REMOVED
        yield ChangeRecord(
            sequence=sequence,
            source=source,
            url=url,
            change=Change(change),
            at=at,
            round=round_,
            title=title,
            hash=hash_,
            previous_hash=previous_hash,
            before=None if before is None else unpack_text(before),
            after=None if removed else _text(later, document),
        )


def _text(later: bytes | None, document: bytes | None) -> str | None:
    if later is not None:
        return unpack_text(later)
    return None if document is None else unpack(document).text
