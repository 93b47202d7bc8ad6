"""What it costs to find the pages that may be like another, in the real store, by how many pages it has.

Fingerprints are random numbers: the store does not know the difference, and a million pages need not be written.
"""

from __future__ import annotations

import random
import tempfile
import time

from gossamer.adapters.store_sqlite import SqliteStore
from gossamer.model import Batch, Fingerprint, HostRecord, NewPage, RequestOptions, Settled, SourceSpec, State
from gossamer.model.fingerprint import SKETCH

SEED = 1
SIZES = (1_000, 100_000, 1_000_000)
HOST = "http://site.example"
AT_ONCE = 500
LOOKED_UP = 64


def made_up(rng: random.Random) -> Fingerprint:
    """What a page with a long text has, without the text."""
    return Fingerprint(
        body=rng.randbytes(16),
        sketch=rng.randbytes(8 * SKETCH),
        bands=tuple(rng.getrandbits(63) for _ in range(4)),
    )


def near(rng: random.Random, print_: Fingerprint) -> Fingerprint:
    """Another page that shares one key with this one."""
    return Fingerprint(body=rng.randbytes(16), sketch=print_.sketch, bands=(*made_up(rng).bands[:3], print_.bands[3]))


async def fill(store: SqliteStore, source: int, rng: random.Random, count: int) -> list[Fingerprint]:
    """Complete `count` more pages; some of their fingerprints."""
    first, known = await store.reserve(count), []
    for start in range(first, first + count, AT_ONCE):
        numbers = range(start, min(start + AT_ONCE, first + count))
        prints = [made_up(rng) for _ in numbers]
        known.append(rng.choice(prints))
        new = [_new_page(source, number) for number in numbers]
        settled = [_settled(page, print_) for page, print_ in zip(new, prints, strict=True)]
        await store.commit(Batch(new=new, settled=settled, hosts=[HostRecord(key=HOST)]))
    return known


def _new_page(source: int, number: int) -> NewPage:
    url = f"{HOST}/{number}"
    return NewPage(id=number, source=source, url=url, host=HOST, shard=0, state=State.PENDING, depth=1, rank=1)


def _settled(page: NewPage, print_: Fingerprint) -> Settled:
    return Settled(
        page=page.id, source=page.source, url=page.url, state=State.COMPLETED, status=200, fingerprint=print_
    )


async def print_lookups(most: int) -> None:
    print(f"{'pages':>10}{'µs per lookup':>15}{'µs per page stored':>20}")
    with tempfile.TemporaryDirectory(prefix="gossamer-bench-") as folder:
        store = await SqliteStore.open(folder)
        try:
            await _grow(store, [size for size in SIZES if size <= most])
        finally:
            await store.close()


async def _grow(store: SqliteStore, sizes: list[int]) -> None:
    """Half of those looked up are near duplicates of a page in the store."""
    rng, known, stored = random.Random(SEED), [], 0
    spec = SourceSpec(seeds=(f"{HOST}/",), request=RequestOptions(user_agent="gossamer-bench"))
    source = (await store.add_source(spec, time.time())).id
    for size in sizes:
        began = time.perf_counter()
        known += await fill(store, source, rng, size - stored)
        filled = (time.perf_counter() - began) / (size - stored)
        looked_up = await _lookup(store, source, rng, known)
        print(f"{size:>10}{looked_up * 1e6:>15.0f}{filled * 1e6:>20.0f}", flush=True)
        stored = size


async def _lookup(store: SqliteStore, source: int, rng: random.Random, known: list[Fingerprint]) -> float:
    """Seconds for each of many fingerprints, asked for as the crawl does: those of one commit together."""
    rounds, taken = 100, 0.0
    for _ in range(rounds):
        asked = [one for _ in range(LOOKED_UP // 2) for one in (made_up(rng), near(rng, rng.choice(known)))]
        began = time.perf_counter()
        twins = await store.twins(source, asked)
        taken += time.perf_counter() - began
        if not all(twins[1::2]) or any(twins[::2]):
            raise SystemExit("The store did not find the pages that share a key.")
    return taken / (rounds * LOOKED_UP)
