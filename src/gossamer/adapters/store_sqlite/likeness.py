"""Which pages say the same, or may say nearly the same: by the digest of their body, and by the bands they share."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

import apsw
import msgspec

from gossamer.adapters.store_sqlite.bulk import Bulk, Row
from gossamer.adapters.store_sqlite.reading import array
from gossamer.model import Fingerprint, Settled, State, Twin

_MOST_TWINS = 16

_SAVE = Bulk("INSERT INTO fingerprints (page, source, body, sketch, bands)", 5)

_SAVE_BANDS = Bulk("INSERT OR IGNORE INTO bands (source, key, page)", 3)

_FORGET_BANDS = Bulk("DELETE FROM bands WHERE (source, key, page) IN (", 3, ")")

_BANDS_OF = "SELECT source, page, bands FROM fingerprints WHERE page IN (SELECT value FROM json_each(?))"

_FORGET = "DELETE FROM fingerprints WHERE page IN (SELECT value FROM json_each(?))"


def replace(
    db: apsw.Connection, facts: Sequence[Settled], returned: Sequence[Settled], anew: Sequence[Settled]
) -> None:
    """Take the newest fingerprint of each page that is completed or may be, and drop that of any other page.

    `returned` and `anew` are the last facts about pages that are pending again, and about those that became final."""
    given = {fact.page: fact for fact in facts if fact.fingerprint is not None}
    completed = [fact for fact in anew if fact.state is State.COMPLETED]
    wanted = [given[fact.page] for fact in [*returned, *completed] if fact.page in given]
    kept = {fact.page for fact in completed if fact.promoted and fact.page not in given}
    _drop(db, [fact.page for fact in wanted] + [fact.page for fact in anew if fact.page not in kept])
    _save(db, wanted)


def _drop(db: apsw.Connection, pages: Sequence[int]) -> None:
    asked = array(pages)
    old = list(db.execute(_BANDS_OF, (asked,)))
    if old:
        _FORGET_BANDS.run(db, [(source, key, page) for source, page, bands in old for key in _unpack(bands)])
        db.execute(_FORGET, (asked,))


def _save(db: apsw.Connection, facts: Sequence[Settled]) -> None:
    _SAVE.run(db, [_row(fact.page, fact.source, fact.fingerprint) for fact in facts if fact.fingerprint is not None])
    # In the order of the table: neighbours go to the same leaf.
    _SAVE_BANDS.run(db, sorted(_band_rows(facts)))


def _row(page: int, source: int, fingerprint: Fingerprint) -> Row:
    return (page, source, fingerprint.body, fingerprint.sketch, _pack(fingerprint.bands))


def _band_rows(facts: Sequence[Settled]) -> Iterator[tuple[int, int, int]]:
    for fact in facts:
        if fact.fingerprint is not None:
            yield from ((fact.source, key, fact.page) for key in fact.fingerprint.bands)


def _pack(bands: Sequence[int]) -> bytes:
    return struct.pack(f"<{len(bands)}q", *bands)


def _unpack(bands: bytes) -> tuple[int, ...]:
    return struct.unpack(f"<{len(bands) // 8}q", bands)


# Completed now, or in the last round and about to be visited again.
_EXACT = """
SELECT asked.key, p.id, p.url
FROM json_each(?2) AS asked CROSS JOIN pages p ON p.id = (
    SELECT min(f.page) FROM fingerprints f CROSS JOIN pages q ON q.id = f.page
    WHERE f.source = ?1 AND f.body = unhex(asked.value) AND coalesce(q.was, q.state) = 2)
"""

# So many of each band at most, however many pages share it, and of these the ones that share the most bands.
_ALIKE = """
WITH met AS MATERIALIZED (
    SELECT asked.key AS number, p.id AS page, count(*) AS shared
    FROM json_each(?2) AS asked CROSS JOIN json_each(asked.value) AS band CROSS JOIN pages p ON p.id IN (
        SELECT b.page FROM bands b CROSS JOIN pages q ON q.id = b.page
        WHERE b.source = ?1 AND b.key = band.value AND coalesce(q.was, q.state) = 2
        ORDER BY b.page LIMIT ?3)
    GROUP BY asked.key, p.id
), best AS MATERIALIZED (
    SELECT number, page, row_number() OVER (PARTITION BY number ORDER BY shared DESC, page) AS place FROM met
)
SELECT best.number, best.page, p.url, f.sketch
FROM best CROSS JOIN pages p ON p.id = best.page CROSS JOIN fingerprints f ON f.page = best.page
WHERE best.place <= ?3 ORDER BY best.number, best.place
"""


def twins(db: apsw.Connection, source: int, asked: Sequence[Fingerprint]) -> list[list[Twin]]:
    found: list[list[Twin]] = [[] for _ in asked]
    bodies = array(fingerprint.body.hex() for fingerprint in asked)
    for number, page, url in db.execute(_EXACT, (source, bodies)):
        found[number].append(Twin(page=page, url=url, exact=True))
    bands = msgspec.json.encode([fingerprint.bands for fingerprint in asked]).decode()
    for number, page, url, sketch in db.execute(_ALIKE, (source, bands, _MOST_TWINS)):
        found[number].append(Twin(page=page, url=url, exact=False, sketch=sketch))
    return found


_OF_PAGES = "SELECT page, body, sketch, bands FROM fingerprints WHERE page IN (SELECT value FROM json_each(?))"


def fingerprints(db: apsw.Connection, pages: Sequence[int]) -> dict[int, Fingerprint]:
    rows = db.execute(_OF_PAGES, (array(pages),))
    return {page: Fingerprint(body=body, sketch=sketch, bands=_unpack(bands)) for page, body, sketch, bands in rows}
