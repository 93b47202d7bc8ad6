"""What a page says, in a few bytes: a digest of its body, and a sketch of its text that like texts nearly share.

The text is a set of shingles: every run of three words or, of a long text, the runs between words that begin with
certain letters, which an edit elsewhere does not move. Its sketch is the smallest of their hashes, a fair sample of the
set: how much two samples overlap tells how much the sets do. From the sketch come keys that two like texts almost
surely have one of in common, so that like pages are found without comparing with all.
"""

from __future__ import annotations

import re
import struct

from xxhash import xxh3_64_intdigest, xxh3_128_digest

from gossamer.model.fingerprint import SKETCH, Fingerprint

_STUB = 8
"""Words below which even the same text may be chance: `Loading`, `Coming soon`."""
_FEWEST = 20
"""Words below which a text says too little to be like another."""
_LONG_TEXT, _VERY_LONG_TEXT = 4_500, 12_000
"""Characters from which a part of the runs is enough, and from which a smaller part is."""
_ANCHOR = b" t"


def _letters(like_t: bytes) -> bytes:
    """Small letters, one kind of blank, and `t` for these letters: so all anchors are found in one go."""
    table = bytes.maketrans(like_t + b"\n\t", b"t" * len(like_t) + b"  ")
    return bytes(table[byte] for byte in bytes(range(256)).lower())


_MANY_ANCHORS, _FEW_ANCHORS = _letters(b"aoi"), _letters(b"")
_LONG_RUN = 60
"""Characters of a run on average, from which hardly a word begins like that: another alphabet."""
_MOST = 5_000
_MOST_CHARACTERS = 100_000
_BANDS = 4
_ROWS = 3
_BUCKETS = _BANDS * _ROWS
_HASHES = 1 << 64

_LONG = 10
"""Characters per word on average, from which a text may be in a script without spaces."""
# Thai and Lao, kana, and the Chinese characters.
_SPACELESS = re.compile("[\u0e00-\u0eff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]")


def fingerprint(body: bytes, text: str, name: str = "") -> Fingerprint:
    """`name` is what the page calls itself: pages that give themselves different names never meet."""
    text = text[:_MOST_CHARACTERS]
    shingles = _long_shingles(text) if len(text) >= _LONG_TEXT else []
    words = [] if shingles else _words(text.lower())
    if len(words) >= _FEWEST:
        shingles = _shingles(words)
    smallest = _smallest(list(map(xxh3_64_intdigest, shingles))) if shingles else []
    return Fingerprint(
        body=xxh3_128_digest(body),
        stub=0 < len(words) < _STUB,
        sketch=struct.pack(f"<{len(smallest)}Q", *smallest),
        bands=_bands(smallest, name) if smallest else (),
    )


def _long_shingles(text: str) -> list[bytes]:
    """The runs between anchors; none where there are too few anchors."""
    letters = _FEW_ANCHORS if len(text) >= _VERY_LONG_TEXT else _MANY_ANCHORS
    line = text.encode("utf-8", "replace").translate(letters)
    runs = line.split(_ANCHOR)
    return runs if len(runs) * _LONG_RUN >= len(line) else []


def _shingles(words: list[bytes]) -> list[bytes]:
    return list(map(b" ".join, zip(words, words[1:], words[2:], strict=False)))


def _words(text: str) -> list[bytes]:
    """The first words; where a script has no spaces, its characters."""
    words = _split(text)
    if len(text) > _LONG * len(words) and not text.isascii():
        return _split(_SPACELESS.sub(r" \g<0> ", text))
    return words


def _split(text: str) -> list[bytes]:
    return text.encode("utf-8", "replace").split(None, _MOST)[:_MOST]


def _smallest(hashes: list[int]) -> list[int]:
    """Sorted. Looks at the lowest part of the range first: sorting all of it is most of the work."""
    bound = 3 * SKETCH * _HASHES // 2 // len(hashes)
    low = sorted({value for value in hashes if value < bound})
    return (low if len(low) >= SKETCH else sorted(set(hashes)))[:SKETCH]


def _bands(smallest: list[int], name: str) -> tuple[int, ...]:
    """One-permutation MinHash: the least hash of each bucket, or of the next bucket that has one; three to a key."""
    least: dict[int, int] = {}
    for value in smallest:
        least.setdefault(value % _BUCKETS, value)
        if len(least) == _BUCKETS:
            break
    row = least[min(least)]
    rows = [row := least.get(bucket, row) for bucket in reversed(range(_BUCKETS))]
    seed = xxh3_64_intdigest(name.encode("utf-8", "replace")) if name else 0
    return tuple(_key(seed ^ band, rows[band::_BANDS]) for band in range(_BANDS))


def _key(seed: int, rows: list[int]) -> int:
    """63 bits, since databases know no unsigned numbers."""
    return xxh3_64_intdigest(struct.pack(f"<{1 + _ROWS}Q", seed, *rows)) >> 1
