"""Guides that mean harm. Whatever they hold, reading them ends, in bounded memory, and nothing is raised."""

from __future__ import annotations

import gzip
import itertools
import tracemalloc
from collections.abc import Iterable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.model import Guide, LeaseKind
from gossamer.parse.guides import GuideReader
from gossamer.parse.guides.listing import MAX_ENTRIES
from gossamer.testing.bombs import MEBIBYTE, billion_laughs, external_entity, gzip_bomb
from tests.parse.guides import OPTIONS, URL, many, read, read_pieces, urls

GUIDES = [kind for kind in LeaseKind if kind.guide]


def blocks(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The same bytes in pieces as a network gives them."""
    pieces = iter(pieces)
    while some := b"".join(itertools.islice(pieces, 1_000)):
        yield some


def peak_of(pieces: Iterable[bytes], kind: LeaseKind = LeaseKind.SITEMAP, url: str = URL) -> tuple[int, Guide]:
    tracemalloc.start()
    try:
        guide = read_pieces(pieces, kind, url)
        return tracemalloc.get_traced_memory()[1], guide
    finally:
        tracemalloc.stop()


def test_a_million_urls_are_cut_at_fifty_thousand() -> None:
    reader = GuideReader(URL, LeaseKind.SITEMAP, OPTIONS)
    fed = sum(1 for _ in itertools.takewhile(reader.feed, blocks(many(1_000_000))))
    guide = reader.close()
    assert (len(guide.entries), guide.note) == (MAX_ENTRIES, "cut at 50,000 URLs")
    assert guide.entries[-1].url == f"https://example.org/{MAX_ENTRIES - 1}"
    assert fed < 60, "nothing is read behind the last that counts"


def test_exactly_fifty_thousand_urls_are_a_whole_sitemap() -> None:
    guide = read_pieces(blocks(many(MAX_ENTRIES)))
    assert (len(guide.entries), guide.note) == (MAX_ENTRIES, None)


def test_the_same_url_for_ever_takes_no_memory() -> None:
    again = b"<url><loc>https://example.org/</loc></url>" * 1_000
    peak, guide = peak_of(itertools.chain([b"<urlset>"], itertools.repeat(again)))
    assert (urls(guide), guide.note) == (["https://example.org/"], "cut at 50,000 URLs")
    assert peak < MEBIBYTE


def test_alternates_do_not_crowd_out_what_is_listed() -> None:
    def body() -> Iterator[bytes]:
        yield b"<urlset>"
        for number in range(1_000):
            links = (b'<x:link rel="alternate" hreflang="de" href="/%d/%d"/>' % (number, lang) for lang in range(100))
            yield b"<url><loc>/%d</loc>%s</url>" % (number, b"".join(links))
        yield b"</urlset>"

    guide = read_pieces(body())
    assert guide.note == "cut at 50,000 alternates"
    assert urls(guide)[:1_000] == [f"https://example.org/{number}" for number in range(1_000)]
    assert len(guide.entries) == 1_000 + MAX_ENTRIES


def test_elements_without_end_are_cut() -> None:
    guide = read_pieces(itertools.chain([b"<urlset>"], itertools.repeat(b"<a/>" * 10_000)))
    assert guide == Guide(note="cut at 1,000,000 elements")


def test_objects_without_end_are_cut() -> None:
    guide = read_pieces(itertools.repeat(b"{}" * 10_000), LeaseKind.CT, f"{URL}?q=example.org")
    assert guide == Guide(note="cut at 500,000 objects")


def test_an_endless_index_is_cut() -> None:
    sitemaps = (b"<sitemap><loc>/%d.xml</loc></sitemap>" % number for number in itertools.count())
    guide = read_pieces(blocks(itertools.chain([b"<sitemapindex>"], sitemaps)))
    assert (len(guide.guides), guide.note) == (MAX_ENTRIES, "cut at 50,000 URLs")


@pytest.mark.parametrize(
    ("body", "note"),
    [
        (itertools.repeat(b"x" * MEBIBYTE), "cut at 50 MiB"),
        (itertools.repeat(b" " * MEBIBYTE), "cut at 50 MiB"),
        (itertools.repeat(b"no URL\n" * 100_000), "it is neither XML nor a list of URLs"),
        (itertools.chain([b"<urlset>"], itertools.repeat(b" " * MEBIBYTE)), "cut at 50 MiB"),
        (itertools.chain([b"<urlset><url><loc>"], itertools.repeat(b"x" * MEBIBYTE)), "cut at 50 MiB"),
        (
            itertools.chain([b"<urlset><!--"], itertools.repeat(b"x" * 10_000)),
            "a single tag or comment is larger than 256 KiB",
        ),
        (
            itertools.chain([b"<urlset><url a='"], itertools.repeat(b"x")),
            "a single tag or comment is larger than 256 KiB",
        ),
        (itertools.chain([b"<urlset>"], itertools.repeat(b"<a>")), "elements are nested more than 100 deep"),
        (
            itertools.chain([b"<urlset>"], (b"<a%d/>" % number for number in itertools.count())),
            "more than 1,000 different names of elements",
        ),
        (itertools.repeat(gzip.compress(b"")), "cut at 10,000 gzip members"),
    ],
    ids=[
        "line",
        "blanks",
        "lines",
        "xml blanks",
        "loc",
        "comment",
        "attribute",
        "depth",
        "names",
        "members",
    ],
)
def test_what_has_no_end_is_cut_and_takes_no_memory(body: Iterable[bytes], note: str) -> None:
    peak, guide = peak_of(body)
    assert (guide.entries, guide.note) == ((), note)
    assert peak < 4 * MEBIBYTE


@pytest.mark.parametrize("kind", [LeaseKind.SITEMAP, LeaseKind.LLMS])
def test_lines_without_end_are_cut(kind: LeaseKind) -> None:
    guide = read_pieces(itertools.chain([b"https://example.org/\n"], itertools.repeat(b"\n" * 60_000)), kind)
    assert guide.note == "cut at 1,000,000 lines"


@pytest.mark.parametrize("kind", GUIDES)
def test_a_line_of_ten_megabytes_takes_no_memory(kind: LeaseKind) -> None:
    peak, guide = peak_of(itertools.repeat(b"[a] { " * 1_000, 1_700), kind, f"{URL}?q=example.org")
    assert guide.entries == ()
    assert peak < 2 * MEBIBYTE


def test_a_gzip_bomb_of_nothing_is_cut_at_fifty_mebibytes() -> None:
    guide = read_pieces(gzip_bomb(1_024))
    assert guide == Guide(note="cut at 50 MiB")


def test_a_gzip_bomb_of_good_xml_is_cut_at_fifty_mebibytes() -> None:
    bomb = gzip.compress(b"<urlset><url><loc>/a</loc></url>" + b"\n" * 60 * MEBIBYTE)
    peak, guide = peak_of([bomb])
    assert (urls(guide), guide.note) == (["https://example.org/a"], "cut at 50 MiB")
    assert peak < 4 * MEBIBYTE


def test_a_billion_laughs_are_refused_before_the_first() -> None:
    guide = read(billion_laughs())
    assert guide == Guide(note="refused: it declares entities or other things of its own (an internal DTD)")


@pytest.mark.parametrize("place", ["file:///etc/hostname", "http://127.0.0.1:1/", "/etc/hostname"])
def test_external_entities_are_refused(place: str) -> None:
    guide = read(external_entity(place))
    assert guide == Guide(note="refused: it declares entities or other things of its own (an internal DTD)")


@pytest.mark.parametrize("encoding", ["rot13", "zlib_codec", "utf-7", "no-such", "idna", "punycode"])
def test_a_strange_encoding_is_a_note(encoding: str) -> None:
    guide = read(f"<?xml version='1.0' encoding='{encoding}'?><urlset><url><loc>/a</loc></url></urlset>")
    assert guide.note


SCRAPS = st.lists(
    st.sampled_from(
        [b"<", b">",
         b"<url>", b"</url>", b"<loc>", b"</loc>", b"<urlset>", b"<!--", b"]]>", b"<![CDATA[", b"&amp;", b"&x;",
         b"<!DOCTYPE", b" [",
         b"<!ENTITY a 'b'>", b"\0", b"\xff\xfe", b"\x1f\x8b\x08", b"{", b"}", b'"', b"\\", b"[a](/b)",
         b"https://example.org/", b"\n",
         b'"url":', b'"name_value":', b'"cdx-api":', b'"pages":', b"12345678901234567890123",
         b"https://[", b"%%%", b"\xf0\x9f", b"\xed\xa0\x80"]
    )
    | st.binary(max_size=8)
).map(b"".join)  # fmt: skip


@given(
    body=SCRAPS,
    kind=st.sampled_from(GUIDES),
    about=st.sampled_from(["", "#a/*", "?q=example.org", "?a&showNumPages=true"]),
)
def test_whatever_the_bytes_nothing_is_raised(body: bytes, kind: LeaseKind, about: str) -> None:
    for opening in (b"", b"<urlset>", b"\x1f\x8b\x08\0\0\0\0\0\0\xff"):
        guide = read(opening + body, kind, URL + about)
        assert "could not be read further" not in (guide.note or "")
