from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.frontier.shards import SHARDS, highest, owner_of, shard_of

SITES = [f"site-{number}.example" for number in range(4_000)]
MEMBERS = ["ada", "brin", "cleo", "dov"]


def test_a_site_has_one_shard_within_range_and_keeps_it() -> None:
    first = [shard_of(site) for site in SITES]
    shard_of.cache_clear()
    assert [shard_of(site) for site in SITES] == first
    assert set(first) == set(range(SHARDS))


def test_sites_spread_evenly_over_shards() -> None:
    sizes = Counter(map(shard_of, SITES)).values()
    assert max(sizes) < 2 * len(SITES) / SHARDS


@pytest.mark.parametrize("leaver", MEMBERS)
def test_a_member_that_leaves_moves_its_own_shards_only(leaver: str) -> None:
    stayers = [member for member in MEMBERS if member != leaver]
    for shard in range(SHARDS):
        before = owner_of(shard, MEMBERS)
        assert owner_of(shard, stayers) == before or before == leaver


def test_a_member_that_joins_takes_shards_and_moves_no_others() -> None:
    moved = [shard for shard in range(SHARDS) if owner_of(shard, [*MEMBERS, "eve"]) != owner_of(shard, MEMBERS)]
    assert moved
    assert all(owner_of(shard, [*MEMBERS, "eve"]) == "eve" for shard in moved)


@given(st.text(), st.lists(st.text(), min_size=1, unique=True), st.randoms())
def test_the_order_of_members_does_not_matter(key: str, nodes: list[str], random: Random) -> None:
    shuffled = list(nodes)
    random.shuffle(shuffled)
    assert highest(key, shuffled) == highest(key, nodes)
