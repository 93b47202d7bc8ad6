"""The invariants of a store, each as a question that has no rows for an answer when all is well."""

from __future__ import annotations

import apsw

_MOST_EXAMPLES = 3

_RULES = {
    "is final but has no row in the outbox": (
        "SELECT id FROM pages WHERE coalesce(was, state) >= 2 AND kind = 0 AND id NOT IN (SELECT page FROM outbox)"
    ),
    "is in the outbox but not final": (
        "SELECT page FROM outbox JOIN pages ON pages.id = page WHERE state < 2 AND was IS NULL"
    ),
    "is in the outbox but no page of a site": ("SELECT page FROM outbox JOIN pages ON pages.id = page WHERE kind > 0"),
    "is in the outbox of a source that is not its own": (
        "SELECT page FROM outbox JOIN pages ON pages.id = page WHERE pages.source <> outbox.source"
    ),
    "is processing without a lease": "SELECT id FROM pages WHERE state = 1 AND (token IS NULL OR deadline IS NULL)",
    "holds a lease but is not processing": "SELECT id FROM pages WHERE state <> 1 AND token IS NOT NULL",
    "has a state that does not exist": "SELECT id FROM pages WHERE state NOT BETWEEN 0 AND 4",
    "is of a kind that does not exist": "SELECT id FROM pages WHERE kind NOT BETWEEN 0 AND 5",
    "is final but said to be visited again": "SELECT id FROM pages WHERE state >= 2 AND was IS NOT NULL",
    "is visited again but was never final": "SELECT id FROM pages WHERE was NOT BETWEEN 2 AND 4",
    "failed without an error": "SELECT id FROM pages WHERE state = 3 AND kind = 0 AND coalesce(error, '') = ''",
    "was skipped without a reason": "SELECT id FROM pages WHERE state = 4 AND kind = 0 AND coalesce(reason, '') = ''",
    "has a document but was never fetched": (
        "SELECT page FROM documents JOIN pages ON pages.id = page WHERE status IS NULL"
    ),
    "is final but has a draft": "SELECT page FROM drafts JOIN pages ON pages.id = page WHERE state >= 2",
    "has a fingerprint but is neither completed nor deferred with a draft": (
        "SELECT page FROM fingerprints JOIN pages ON pages.id = page "
        "WHERE coalesce(was, state) <> 2 AND page NOT IN (SELECT page FROM drafts)"
    ),
    "is found by likeness but has no fingerprint": (
        "SELECT DISTINCT page FROM bands WHERE page NOT IN (SELECT page FROM fingerprints)"
    ),
    "has a fingerprint of another source": (
        "SELECT page FROM fingerprints f JOIN pages ON pages.id = page WHERE f.source <> pages.source"
    ),
    "has an id that nobody reserved": (
        "SELECT id FROM pages WHERE id >= (SELECT value FROM meta WHERE key = 'next_page')"
    ),
}

_TALLIES = """
SELECT source FROM (
    SELECT source, count(*), sum(state = 2), sum(state = 3), sum(state = 4),
           sum(iif(state >= 2, size, 0)), sum(iif(state >= 2, tokens, 0))
    FROM pages WHERE kind = 0 GROUP BY source
    EXCEPT SELECT source, total, completed, failed, skipped, bytes, tokens FROM tallies)
UNION SELECT source FROM tallies WHERE total > 0 AND source NOT IN (SELECT source FROM pages WHERE kind = 0)
"""

_CURSORS = "SELECT consumer FROM cursors WHERE sequence > (SELECT coalesce(max(sequence), 0) FROM outbox)"


def verify(db: apsw.Connection) -> list[str]:
    found = _damage(db)
    if found:
        return found
    for sentence, sql in _RULES.items():
        found += _violations(db, sentence, sql)
    found += [f"The tally of source {source} does not equal its pages." for (source,) in db.execute(_TALLIES)]
    found += [f"The cursor of {name} is beyond the end of the outbox." for (name,) in db.execute(_CURSORS)]
    return found + _dangling(db)


def _damage(db: apsw.Connection) -> list[str]:
    found = []
    try:
        found += [line for (line,) in db.execute("PRAGMA integrity_check(20)") if line != "ok"]
    except apsw.CorruptError as error:
        found.append(str(error))
    return [f"The file is damaged: {line}." for line in found]


def _violations(db: apsw.Connection, sentence: str, sql: str) -> list[str]:
    """The first few pages by name, the rest as a number."""
    broken = [page for (page,) in db.execute(sql)]
    found = [f"Page {page} {sentence}." for page in broken[:_MOST_EXAMPLES]]
    rest = len(broken) - _MOST_EXAMPLES
    return [*found, f"So do {rest} more pages: each {sentence}."] if rest > 0 else found


def _dangling(db: apsw.Connection) -> list[str]:
    return [
        f"Row {row} of {table} refers to a row of {parent} that does not exist."
        for table, row, parent, _ in db.execute("PRAGMA foreign_key_check")
    ]
