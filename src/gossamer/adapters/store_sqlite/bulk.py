"""Many rows in one step of SQLite.

Each step lets go of the interpreter's lock and has to win it back from a busy event loop, which can take far longer
than the step. So one statement takes as many rows as there are, in a few sizes that stay prepared.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import apsw

Row = tuple[str | int | float | bytes | None, ...]

_SIZES = (256, 128, 64, 32, 16, 8, 4, 2, 1)


class Bulk:
    """A statement around a VALUES clause of `width` columns."""

    def __init__(self, before: str, width: int, after: str = "") -> None:
        row = f"({','.join('?' * width)})"
        self._texts = {size: f"{before} VALUES {','.join([row] * size)} {after}" for size in _SIZES}

    def run(self, db: apsw.Connection, rows: Sequence[Row]) -> int:
        """Run it over all rows, in order; how many rows of the table were changed."""
        changed = start = 0
        for size in _SIZES:
            while len(rows) - start >= size:
                db.execute(self._texts[size], tuple(chain.from_iterable(rows[start : start + size])))
                changed += db.changes()
                start += size
        return changed
