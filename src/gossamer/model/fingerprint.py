"""What a page says, in a few bytes: whether two pages say the same, or nearly so."""

from __future__ import annotations

import struct
from bisect import bisect_right

import msgspec

SKETCH = 128
"""The most hashes that a sketch has. One that has fewer knows all shingles of its text."""
_LAST = (1 << 64) - 1


class Fingerprint(msgspec.Struct, frozen=True, kw_only=True):
    body: bytes
    """Digest of the body as it came."""
    stub: bool = False
    """It says so little that another may say the same by chance."""
    sketch: bytes = b""
    """The smallest hashes of the text's shingles, sorted, 8 bytes each; empty where there is too little text."""
    bands: tuple[int, ...] = ()
    """Keys under which like pages meet: two near duplicates share at least one, almost surely."""

    def similarity(self, sketch: bytes) -> float:
        """The share of shingles that two texts have in common: exact for short texts, else estimated from a sample.

        A full sketch knows every shingle of its text up to its last hash. As far as both know all, they are compared;
        what they share lies within that by itself."""
        if not self.sketch or not sketch:
            return 0.0
        mine, theirs = _hashes(self.sketch), _hashes(sketch)
        end = min(_reach(mine), _reach(theirs))
        both = len(set(mine).intersection(theirs))
        return both / (bisect_right(mine, end) + bisect_right(theirs, end) - both)


def _hashes(sketch: bytes) -> tuple[int, ...]:
    return struct.unpack(f"<{len(sketch) // 8}Q", sketch)


def _reach(hashes: tuple[int, ...]) -> int:
    return hashes[-1] if len(hashes) >= SKETCH else _LAST
