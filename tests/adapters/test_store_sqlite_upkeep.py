from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gossamer.adapters.store_sqlite import DATABASE, SqliteStore, wipe
from gossamer.model import Batch, Fingerprint
from gossamer.ports import StorageError
from gossamer.testing.contracts.store_makers import DOCUMENT, SPEC, new_pages, settled


def names(directory: Path) -> list[str]:
    return [file.name for file in directory.iterdir()]


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    store = await SqliteStore.open(tmp_path)
    yield store
    await store.close()


DAMAGE: list[tuple[str, str]] = [
    ("UPDATE pages SET state = 1", "is processing without a lease"),
    ("UPDATE pages SET token = 3, state = 0; DELETE FROM outbox", "holds a lease but is not processing"),
    ("DELETE FROM outbox", "is final but has no row in the outbox"),
    ("UPDATE pages SET state = 0", "is in the outbox but not final"),
    ("UPDATE outbox SET source = 2", "is in the outbox of a source that is not its own"),
    ("UPDATE pages SET status = NULL", "has a document but was never fetched"),
    ("UPDATE pages SET state = 9", "has a state that does not exist"),
    ("UPDATE tallies SET completed = 4", "tally of source 1 does not equal its pages"),
    (
        "DELETE FROM pages; DELETE FROM outbox; DELETE FROM documents; DELETE FROM bands",
        "tally of source 1 does not equal its pages",
    ),
    ("UPDATE pages SET parent = 77", "refers to a row of pages that does not exist"),
    ("UPDATE pages SET was = 2", "is final but said to be visited again"),
    ("UPDATE pages SET was = 1, state = 0", "is visited again but was never final"),
    ("UPDATE pages SET was = 2, state = 0; DELETE FROM outbox", "is final but has no row in the outbox"),
    ("UPDATE pages SET kind = 1", "is in the outbox but no page of a site"),
    ("UPDATE pages SET kind = 9", "is of a kind that does not exist"),
    ("UPDATE pages SET state = 4", "has a fingerprint but is neither completed nor deferred with a draft"),
    ("DELETE FROM fingerprints", "is found by likeness but has no fingerprint"),
    ("UPDATE fingerprints SET source = 2", "has a fingerprint of another source"),
    ("INSERT INTO drafts (page, size, tokens, elapsed, read_at) SELECT id, 0, 0, 0, 0 FROM pages", "has a draft"),
    ("UPDATE meta SET value = 1 WHERE key = 'next_page'", "has an id that nobody reserved"),
]


@pytest.mark.parametrize(("sql", "sentence"), DAMAGE)
async def test_verify_finds_every_kind_of_damage(store: SqliteStore, sql: str, sentence: str) -> None:
    source = (await store.add_source(SPEC, 1.0)).id
    await store.add_source(SPEC, 2.0)
    (page,) = await new_pages(store, source, "/a")
    mark = Fingerprint(body=b"a", sketch=b"12345678", bands=(1, 2))
    await store.commit(Batch(settled=[settled(page, document=DOCUMENT, fingerprint=mark)]))
    assert await store.verify() == []
    await store._run(lambda db: db.execute(sql).fetchall())
    found = await store.verify()
    assert [line for line in found if sentence in line], found


async def test_verify_names_a_few_pages_and_counts_the_rest(store: SqliteStore) -> None:
    source = (await store.add_source(SPEC, 1.0)).id
    pages = await new_pages(store, source, *(f"/{n}" for n in range(10)))
    await store.commit(Batch(settled=[settled(page) for page in pages]))
    await store._run(lambda db: db.execute("DELETE FROM outbox").fetchall())
    assert len(await store.verify()) == 4


async def test_pages_are_listed_by_id_and_state(store: SqliteStore) -> None:
    source = (await store.add_source(SPEC, 1.0)).id
    one, two, three = await new_pages(store, source, "/1", "/2", "/3")
    await store.commit(Batch(settled=[settled(two)]))
    assert [info.id for info in await store.pages(source)] == [one.id, two.id, three.id]
    assert [info.id for info in await store.pages(source, after=one.id, limit=1)] == [two.id]
    assert [info.id for info in await store.pages(source, state=settled(two).state)] == [two.id]
    assert await store.pages(source + 1) == []


async def test_a_page_was_created_when_the_clock_said(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path, wall=lambda: 1234.5)
    (page,) = await new_pages(store, (await store.add_source(SPEC, 1.0)).id, "/a")
    assert [info.created_at for info in await store.find(page.url)] == [1234.5]
    await store.close()


async def test_wiping_takes_only_the_files_of_the_store(tmp_path: Path) -> None:
    await (await SqliteStore.open(tmp_path)).close()
    (tmp_path / "pages.jsonl").write_text("{}\n")
    assert tmp_path / DATABASE in wipe(tmp_path)
    assert names(tmp_path) == ["pages.jsonl"]
    assert wipe(tmp_path) == []
    assert wipe(tmp_path / "nowhere") == []


async def test_wiping_is_refused_while_the_store_is_in_use(store: SqliteStore, tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="in use by process"):
        wipe(tmp_path)
    assert (tmp_path / DATABASE).exists()
