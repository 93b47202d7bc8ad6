from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from gossamer.adapters.store_sqlite.packing import pack, unpack
from gossamer.model import Document


def test_a_document_comes_back_as_it_was() -> None:
    document = Document(
        title="Größe", markdown="x\0y" * 1000, links=("https://a.test/",), nofollow=("https://a.test/",)
    )
    assert unpack(pack(document)) == document
    assert len(pack(document)) < 200


def test_stores_in_several_threads_do_not_mix_up_their_documents() -> None:
    documents = [Document(title=f"{number}", markdown=f"{number} " * 20_000) for number in range(200)]
    with ThreadPoolExecutor(8) as threads:
        packed = list(threads.map(pack, documents))
        assert list(threads.map(unpack, packed)) == documents
