"""What a page says, in a few bytes: whether two pages say the same, or nearly so."""

from __future__ import annotations

import msgspec


class Fingerprint(msgspec.Struct, frozen=True, kw_only=True):
    body: bytes
    """Digest of the body as it came."""
    sketch: bytes = b""
    """The smallest hashes of the text's shingles, sorted, 8 bytes each; empty where there is too little text."""
    bands: tuple[int, ...] = ()
    """Keys under which like pages meet: two near duplicates share at least one, almost surely."""
