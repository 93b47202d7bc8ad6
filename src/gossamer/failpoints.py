"""Named points at which a test may kill the process, to prove that nothing is lost there.

`GOSSAMER_FAILPOINT=name` or `name:3` kills the whole process group with SIGKILL the first, or the third, time that
the point is reached. Without the variable a point costs one look at a dictionary.
"""

from __future__ import annotations

import os
import signal

NAMES = frozenset(
    [
        "lease-committed",
        "connected",
        "mid-body",
        "parsed",
        "page-uncommitted",
        "page-committed",
        "robots-fetched",
        "robots-committed",
        "guide-read",
        "outbox-unwritten",
        "outbox-half-line",
        "outbox-written",
        "guide-half-listed",
        "migration",
    ]
)

_name, _, _count = os.environ.get("GOSSAMER_FAILPOINT", "").partition(":")
_left = {_name: int(_count or 1)} if _name else {}

if _name and _name not in NAMES:
    raise SystemExit(f"GOSSAMER_FAILPOINT={_name}: no such point; there are {', '.join(sorted(NAMES))}")


def failpoint(name: str) -> None:
    if name in _left:
        _left[name] -= 1
        if _left[name] == 0:
            os.killpg(os.getpgrp(), signal.SIGKILL)
