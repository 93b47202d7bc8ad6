from __future__ import annotations

import gzip
import zlib

import pytest

from gossamer.model import Entry, Guide, LeaseKind, RequestOptions
from gossamer.parse.guides import GuideReader
from gossamer.parse.guides.dates import moment
from tests.parse.guides import URL, many, pages, read, read_pieces, urls

NEW_YEAR = 1_767_225_600.0
NS = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
ONE = Guide(entries=(Entry("https://example.org/a"),))


def test_a_sitemap_lists_urls_with_what_it_says_of_them() -> None:
    guide = read(
        f"""<?xml version="1.0" encoding="UTF-8"?>
        <urlset {NS}>
          <url>
            <loc> https://example.org/a?x=1&amp;y=2 </loc><lastmod>2026-01-01</lastmod>
            <changefreq>daily</changefreq><priority>0.8</priority>
          </url>
          <url><loc><![CDATA[https://example.org/b?x=1&y=2]]></loc></url>
        </urlset>"""
    )
    assert guide == Guide(
        entries=(
            Entry("https://example.org/a?x=1&y=2", NEW_YEAR, 0.8),
            Entry("https://example.org/b?x=1&y=2"),
        )
    )


def test_an_index_lists_guides() -> None:
    guide = read(
        f"""<sitemapindex {NS}><sitemap><loc>https://example.org/1.xml.gz</loc><lastmod>2026</lastmod></sitemap>
        <sitemap><loc>/2.xml</loc></sitemap><sitemap><loc>{URL}</loc></sitemap></sitemapindex>"""
    )
    assert guide == Guide(guides=("https://example.org/1.xml.gz", "https://example.org/2.xml", URL))


def test_a_url_in_an_index_and_a_sitemap_in_a_sitemap_count_as_what_they_are() -> None:
    guide = read("<sitemapindex><url><loc>/a</loc></url><sitemap><loc>/b</loc></sitemap></sitemapindex>")
    assert guide == Guide(entries=ONE.entries, guides=("https://example.org/b",))


def test_locations_are_resolved_normalised_and_listed_once() -> None:
    body = "<urlset>{}</urlset>".format(
        "".join(
            f"<url><loc>{loc}</loc></url>"
            for loc in ("HTTPS://Example.org:443/a/../b", "/b", "c?utm_source=x", "mailto:me@example.org", "", "#top")
        )
    )
    assert urls(read(body)) == ["https://example.org/b", "https://example.org/maps/c"]


def test_the_parameters_that_a_source_drops_are_dropped() -> None:
    reader = GuideReader(URL, LeaseKind.SITEMAP, RequestOptions(user_agent="t", drop_parameters=("sid",)))
    reader.feed(b"https://example.org/?sid=1&utm_id=2")
    assert urls(reader.close()) == ["https://example.org/?utm_id=2"]


@pytest.mark.parametrize(
    "body",
    [
        "<urlset><url><loc>/a</loc></url></urlset>",
        f"<urlset {NS}><url><loc>/a</loc></url></urlset>",
        '<s:urlset xmlns:s="http://www.sitemaps.org/schemas/sitemap/0.9"><s:url><s:loc>/a</s:loc></s:url></s:urlset>',
        '<urlset xmlns="https://WWW.sitemap.org/0.84"><URL><Loc>/a</Loc></URL></urlset>',
        "\n\n \ufeff\n<?xml version='1.0'?><urlset><url><loc>/a</loc></url></urlset>\n",
        "<!-- made by hand --><urlset><url><loc>/a</loc></url></urlset>",
        '<!DOCTYPE urlset SYSTEM "https://example.org/sitemap.dtd"><urlset><url><loc>/a</loc></url></urlset>',
        "<urlset><url><image:image><image:loc>/i</image:loc></image:image><loc>/a</loc></url></urlset>",
        "<urlset><url><image:loc>/i</image:loc><loc>/a</loc><loc>/second</loc></url></urlset>",
        "<urlset><url><video:video><loc>/v</loc></video:video><loc>/a</loc></url></urlset>",
    ],
)
def test_namespaces_prologues_and_extensions_make_no_difference(body: str) -> None:
    assert read(body) == ONE


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "latin-1", "windows-1252"])
def test_a_sitemap_is_read_in_the_encoding_that_it_declares(encoding: str) -> None:
    body = f"<?xml version='1.0' encoding='{encoding}'?><urlset><url><loc>https://example.org/ü</loc></url></urlset>"
    assert urls(read(body.encode(encoding))) == ["https://example.org/%C3%BC"]


def test_other_languages_of_a_page_are_entries_too() -> None:
    guide = read(
        """<urlset xmlns:xhtml="http://www.w3.org/1999/xhtml"><url><loc>/en</loc>
        <xhtml:link rel="alternate" hreflang="de" href="https://example.org/de"/>
        <xhtml:link rel="alternate" hreflang="en" href="https://example.org/en"/>
        <xhtml:link rel="alternate" media="only screen" href="https://m.example.org/"/>
        <xhtml:link rel="canonical" hreflang="fr" href="https://example.org/fr"/>
        </url><url><loc>/de</loc><priority>1.0</priority></url></urlset>"""
    )
    assert guide.entries == (Entry("https://example.org/en"), Entry("https://example.org/de", None, 1.0))


@pytest.mark.parametrize(
    ("text", "priority"),
    [("0.5", 0.5), ("7", 1.0), ("-1", 0.0), ("inf", 1.0), ("nan", None), ("high", None), ("", None)],
)
def test_a_priority_is_between_0_and_1_or_nothing(text: str, priority: float | None) -> None:
    guide = read(f"<urlset><url><loc>/a</loc><priority>{text}</priority></url></urlset>")
    assert guide.entries == (Entry("https://example.org/a", None, priority),)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2026", NEW_YEAR),
        ("2026-01", NEW_YEAR),
        ("2026-01-01", NEW_YEAR),
        ("2026-01-01T00:00Z", NEW_YEAR),
        ("2026-01-01T00:00:00Z", NEW_YEAR),
        ("2026-01-01T00:00:00.5Z", NEW_YEAR + 0.5),
        ("2026-01-01T01:00:00+01:00", NEW_YEAR),
        ("2025-12-31T19:00:00-05:00", NEW_YEAR),
        (" 2026-01-01 00:00:00\n", NEW_YEAR),
        ("Thu, 01 Jan 2026 00:00:00 GMT", NEW_YEAR),
        ("1 Jan 26 00:00:00 +0000", NEW_YEAR),
        ("Thu, 01 Jan 2026 00:00:00 -0000", NEW_YEAR),
        ("Wed, 31 Dec 2025 19:00:00 EST", NEW_YEAR),
        ("0001-01-01T00:00:00+00:00", None),
        ("0001-01-01T00:00:00+14:00", None),
        ("2026-13-01", None),
        ("2026-01-01T25:00:00Z", None),
        ("yesterday", None),
        ("2026-01-01" * 100, None),
        ("", None),
        (None, None),
    ],
)
def test_a_date_is_read_at_any_precision_and_nonsense_is_none(text: str | None, seconds: float | None) -> None:
    assert moment(text) == seconds


def test_rss_lists_its_items() -> None:
    guide = read(
        """<?xml version="1.0"?><rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom"><channel>
        <link>https://example.org/</link><atom:link href="https://example.org/feed" rel="self"/>
        <image><url>https://example.org/logo.png</url><link>https://example.org/</link></image>
        <item><title>A</title><link>https://example.org/a</link><pubDate>Thu, 01 Jan 2026 00:00:00 GMT</pubDate>
          <enclosure url="https://example.org/a.mp3"/><guid isPermaLink="false">17</guid></item>
        <item><guid>https://example.org/b</guid></item>
        <item><guid isPermaLink="false">https://example.org/c</guid></item>
        </channel></rss>"""
    )
    assert guide == Guide(entries=(Entry("https://example.org/a", NEW_YEAR), Entry("https://example.org/b")))


def test_rss_1_lists_its_items() -> None:
    guide = read(
        """<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/">
        <channel rdf:about="https://example.org/"><link>https://example.org/</link></channel>
        <item rdf:about="x"><link>https://example.org/a</link><dc:date>2026-01-01</dc:date></item></rdf:RDF>"""
    )
    assert guide == Guide(entries=(Entry("https://example.org/a", NEW_YEAR),))


def test_atom_lists_its_entries() -> None:
    guide = read(
        """<feed xmlns="http://www.w3.org/2005/Atom"><link href="https://example.org/"/><updated>2020</updated>
        <entry><link rel="self" href="/self"/><link href="/a"/><published>2025</published><updated>2026</updated>
          <source><link href="/elsewhere"/></source></entry>
        <entry><link rel="alternate" type="text/html" href="/b"/><published>2026-01-01T00:00:00Z</published></entry>
        </feed>"""
    )
    assert guide == Guide(
        entries=(Entry("https://example.org/a", NEW_YEAR), Entry("https://example.org/b", NEW_YEAR)),
    )


def test_a_text_file_lists_a_url_a_line() -> None:
    body = "\ufeffhttps://example.org/0\r\nHTTPS://example.org/1\n\n# no URL\n/nor this\r  https://example.org/2"
    assert read(body) == Guide(entries=tuple(pages(3)))
    assert read(body[1:].encode("utf-16")) == Guide(entries=tuple(pages(3)))


def test_gzip_is_known_by_its_first_bytes_also_in_several_members() -> None:
    body = b"".join(many(300))
    halves = gzip.compress(body[:5_000]) + gzip.compress(body[5_000:]) + bytes(512)
    assert read(gzip.compress(body)) == read(halves) == Guide(entries=tuple(pages(300)))
    assert read_pieces(halves[at : at + 1] for at in range(len(halves))) == Guide(entries=tuple(pages(300)))


@pytest.mark.parametrize(
    ("body", "note"),
    [
        (b"", "it is empty"),
        (b" \n", "it is empty"),
        (b"x", "it is neither XML nor a list of URLs"),
        (b"404 Not found", "it is neither XML nor a list of URLs"),
        (b'{"error": "not found"}', "it is neither XML nor a list of URLs"),
        (b"<!DOCTYPE html><title>Not found</title>", "an HTML page, and no sitemap"),
        (b"\n<html lang=en><p>", "an HTML page, and no sitemap"),
        (b"<svg/>", "an XML document of another kind (<svg>)"),
        (b"<", "broken XML in line 1 (unclosed token); what came before it counts"),
        (b"<urlset/>", None),
    ],
)
def test_what_is_no_sitemap_gives_nothing_and_says_so(body: bytes, note: str | None) -> None:
    assert read(body) == Guide(note=note)


def test_broken_xml_gives_what_was_complete() -> None:
    body = "<urlset><url><loc>/a</loc></url>\n<url><loc>/b</loc><lastmod></url><url><loc>/c</loc></url></urlset>"
    assert read(body) == Guide(
        entries=ONE.entries, note="broken XML in line 2 (mismatched tag); what came before it counts"
    )


def test_xml_that_breaks_off_gives_what_was_complete() -> None:
    guide = read("<urlset><url><loc>/a</loc></url><url><loc>/b</loc>")
    assert guide == Guide(
        entries=ONE.entries, note="broken XML in line 1 (no element found); what came before it counts"
    )


def test_gzip_that_breaks_off_gives_what_could_be_read() -> None:
    whole = gzip.compress(b"".join(many(20_000)))
    guide = read(whole[: len(whole) // 2])
    assert guide.note is not None
    assert guide.note.startswith("the gzip data breaks off; broken XML")
    assert 5_000 < len(guide.entries) < 15_000
    assert list(guide.entries) == pages(len(guide.entries))


def test_gzip_that_is_broken_gives_what_could_be_read() -> None:
    squeezer = zlib.compressobj(wbits=31)
    start = squeezer.compress(b"".join(many(100))) + squeezer.flush(zlib.Z_FULL_FLUSH)
    guide = read(start + b"\xff" * 20_000)
    assert guide == Guide(
        entries=tuple(pages(100)),
        note="the gzip data is broken (Error -3 while decompressing data: invalid block type)",
    )
