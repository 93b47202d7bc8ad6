"""Which shard a site belongs to, and which dispatcher owns a shard: rendezvous hashing, twice.

Every (key, node) pair has a weight and the highest wins, so that a node that comes or goes moves only its own share.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import xxhash

SHARDS = 64
"""Fixed for the life of a store: sites keep their shard, shards change owners."""


def highest(key: str, nodes: Iterable[str]) -> str:
    """The node with the highest weight for this key. There must be at least one node."""
    return max(nodes, key=lambda node: (_weight(key, node), node))


def _weight(key: str, node: str) -> int:
    return xxhash.xxh3_64_intdigest(f"{node}\n{key}".encode())


_NAMES = tuple(str(number) for number in range(SHARDS))


@lru_cache(maxsize=65_536)
def shard_of(site: str) -> int:
    return int(highest(site, _NAMES))


def owner_of(shard: int, members: Iterable[str]) -> str:
    return highest(str(shard), members)
