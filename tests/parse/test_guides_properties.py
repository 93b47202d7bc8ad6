"""What is written as a sitemap is read as it was written, whatever the form and wherever the bytes are cut."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from datetime import UTC, datetime
from xml.sax.saxutils import escape

from hypothesis import given
from hypothesis import strategies as st

from gossamer.model import Entry, Guide, LeaseKind
from gossamer.parse.guides import GuideReader
from gossamer.url import normalise
from tests.parse.guides import OPTIONS, URL

LETTERS = "abcXYZ019-._~!$&'()*+,;=:@/äß漢 <>\""
PATHS = st.text(LETTERS, max_size=30)


def written(path: str) -> str:
    url = normalise("https://example.org/" + path)
    assert url is not None
    return url


ENTRIES = st.lists(
    st.builds(
        Entry,
        PATHS.map(written),
        st.none() | st.integers(0, 4_000_000_000).map(float),
        st.none() | st.integers(0, 10).map(lambda tenths: tenths / 10),
    ),
    unique_by=lambda entry: entry.url,
)
CUTS = st.lists(st.integers(1, 40), min_size=1)


def as_xml(entries: list[Entry]) -> bytes:
    records = (
        "<loc>"
        + escape(entry.url)
        + "</loc>"
        + (
            ""
            if entry.lastmod is None
            else f"<lastmod>{datetime.fromtimestamp(entry.lastmod, UTC).isoformat()}</lastmod>"
        )
        + ("" if entry.priority is None else f"<priority>{entry.priority}</priority>")
        for entry in entries
    )
    return "<urlset>{}</urlset>".format("".join(f"<url>{record}</url>" for record in records)).encode()


def as_text(entries: list[Entry]) -> bytes:
    return "".join(f"{entry.url}\n" for entry in entries).encode()


def read_cut(body: bytes, cuts: list[int]) -> Guide:
    # The smallest pieces go straight to what lies behind the gathering of bytes, too.
    reader = GuideReader(URL, LeaseKind.SITEMAP, OPTIONS)
    for piece in pieces(body, cuts):
        assert reader.feed(piece)
        reader._guarded(reader._read)
    return reader.close()


def pieces(body: bytes, cuts: list[int]) -> Iterator[bytes]:
    start = number = 0
    while start < len(body):
        yield body[start : start + cuts[number % len(cuts)]]
        start += cuts[number % len(cuts)]
        number += 1


@given(entries=ENTRIES, cuts=CUTS)
def test_an_xml_sitemap_is_read_as_written(entries: list[Entry], cuts: list[int]) -> None:
    assert read_cut(as_xml(entries), cuts) == Guide(entries=tuple(entries))


@given(entries=ENTRIES, cuts=CUTS, half=st.integers(0, 200))
def test_a_gzipped_sitemap_is_read_as_written(entries: list[Entry], cuts: list[int], half: int) -> None:
    body = as_xml(entries)
    zipped = gzip.compress(body[:half], mtime=0) + gzip.compress(body[half:], mtime=0)
    assert read_cut(zipped, cuts) == Guide(entries=tuple(entries))


@given(entries=ENTRIES.filter(bool), cuts=CUTS)
def test_a_text_sitemap_is_read_as_written(entries: list[Entry], cuts: list[int]) -> None:
    assert read_cut(as_text(entries), cuts) == Guide(entries=tuple(Entry(entry.url) for entry in entries))


@given(entries=ENTRIES, cuts=CUTS, end=st.integers(0, 2_000))
def test_a_sitemap_that_is_cut_off_gives_all_that_is_whole(entries: list[Entry], cuts: list[int], end: int) -> None:
    body = as_xml(entries)[:end]
    guide = read_cut(body, cuts)
    assert guide.entries == tuple(entries[: body.count(b"</url>")])
