"""llms.txt, certificates, and the Common Crawl index."""

from __future__ import annotations

import msgspec
import pytest

from gossamer.frontier.places import certificates_of, collections_of, llms_places, sitemap_places
from gossamer.model import Entry, Guide, LeaseKind
from gossamer.url import normalise
from tests.parse.guides import read, read_pieces, urls

LLMS = "https://example.org/llms.txt"
CT = "https://crt.sh/?q=%25.example.org&output=json"
COUNT = "https://index.commoncrawl.org/CC-MAIN-2026-05-index?url=example.org/docs/*&output=json&showNumPages=true"
PAGE = "https://index.commoncrawl.org/CC-MAIN-2026-05-index?url=example.org/docs/*&output=json&fl=url&page=0"


def linked(markdown: str) -> list[str]:
    found = urls(read(markdown, LeaseKind.LLMS, LLMS))
    return [url.removeprefix("https://example.org") for url in found]


@pytest.mark.parametrize(
    ("markdown", "links"),
    [
        ("- [Guide](https://example.org/guide): how to\n- [API](/api.md)", ["/guide", "/api.md"]),
        ("[a](b 'title') and [c]( <d e> )", ["/b", "/d%20e"]),
        ("[wiki](/Thing_(music)) [again](/Thing_(music))", ["/Thing_(music)"]),
        ("![logo](/logo.png) [![logo](/badge.png)](/home)", ["/home"]),
        ("[the manual][m]\n\n[m]: /manual 'The manual'\n   [n]: <https://example.org/n>", ["/manual", "/n"]),
        ("See <https://example.org/auto>, not <b>.", ["/auto"]),
        ("# Page\nSource: https://example.org/page\nurl: https://example.org/other", ["/page", "/other"]),
        ("[^1]: A footnote\n[mail](mailto:me@example.org) [top](#top) []() [x]", []),
        ("```sh\n[no](/no)\n```\n[yes](/yes)\n~~~~\n~~~\n[no](/no)\n~~~~ \n[too](/too)", ["/yes", "/too"]),
        ("\ufeff# Title\r\n[a](/a)\r\n", ["/a"]),
    ],
)
def test_the_links_of_markdown_are_entries(markdown: str, links: list[str]) -> None:
    assert linked(markdown) == links


def test_llms_that_are_a_web_page_give_nothing_and_say_so() -> None:
    body = '\n<!DOCTYPE html><a href="/">[home](/home)</a>'
    assert read(body, LeaseKind.LLMS, LLMS) == Guide(note="an HTML page, and no Markdown")
    assert read("", LeaseKind.LLMS, LLMS) == Guide(note="it is empty")


def test_a_long_line_of_markdown_is_read_in_parts() -> None:
    line = b"".join(b"[%d](/%d) " % (number, number) for number in range(100_000))
    guide = read_pieces((line[at : at + 5_000] for at in range(0, len(line), 5_000)), LeaseKind.LLMS, LLMS)
    assert guide.note == "cut at 50,000 URLs"


def certificate(common_name: str | None, *names: str) -> dict[str, object]:
    return {"issuer_name": 'C=US, O="Braces {}", CN=\\', "common_name": common_name, "name_value": "\n".join(names)}


def test_certificates_name_the_hosts_of_a_domain_and_no_others() -> None:
    body = msgspec.json.encode(
        [
            certificate("www.example.org", "www.example.org", "EXAMPLE.org", "*.dev.example.org"),
            certificate(None, "www.example.org", "badexample.org", "example.org.evil.test", "me@example.org"),
            certificate(
                "Example Ltd", "a b.example.org", "-", "", ".example.org", "?.example.org", f"{'x' * 64}.example.org"
            ),
            {"id": 17},
            {"common_name": 17},
            certificate("api.example.org", "*.example.org"),
        ]
    )
    guide = read(body, LeaseKind.CT, CT)
    hosts = ["www.example.org", "example.org", "dev.example.org", "api.example.org"]
    assert guide == Guide(entries=tuple(Entry(f"https://{host}/") for host in hosts))
    assert guide == read_pieces((body[at : at + 7] for at in range(0, len(body), 7)), LeaseKind.CT, CT)
    assert guide == read(body, LeaseKind.CT, "https://crt.sh/?output=json&q=example.org")


def test_certificates_are_read_as_a_stream_across_all_pieces() -> None:
    body = msgspec.json.encode([certificate(None, f"{number}.example.org") for number in range(3_000)])
    guide = read_pieces((body[at : at + 1_000] for at in range(0, len(body), 1_000)), LeaseKind.CT, CT)
    assert urls(guide) == [f"https://{number}.example.org/" for number in range(3_000)]


@pytest.mark.parametrize(
    ("body", "url", "note"),
    [
        ("[]", CT, None),
        ("<html>502 Bad Gateway", CT, None),
        ('[{"name_value": "www.exam', CT, "it breaks off within a certificate"),
        ("[{}]", "https://crt.sh/", "its URL does not say of which domain the certificates are"),
        ('[{"a": "' + "x" * 300_000, CT, "an object of it is larger than 256 KiB"),
        ("[{" * 200_000, CT, "an object of it is larger than 256 KiB"),
    ],
)
def test_certificates_that_are_none_give_nothing(body: str, url: str, note: str | None) -> None:
    assert read(body, LeaseKind.CT, url) == Guide(note=note)


def test_the_newest_collection_is_asked_for_its_pages() -> None:
    body = """[{"id": "no api"},
      {"id": "CC-MAIN-2026-05", "name": "January 2026", "timegate": "https://index.commoncrawl.org/CC-MAIN-2026-05/",
       "cdx-api": "https://index.commoncrawl.org/CC-MAIN-2026-05-index"},
      {"id": "CC-MAIN-2025-51", "cdx-api": "https://index.commoncrawl.org/CC-MAIN-2025-51-index"}]"""
    (first,) = collections_of("https://index.commoncrawl.org/", "example.org", "/docs/")
    assert read(body, LeaseKind.COMMONCRAWL, first) == Guide(guides=(COUNT,))


def test_every_page_of_a_collection_is_a_guide() -> None:
    guide = read('{"pages": 3, "pageSize": 5, "blocks": 11}\n', LeaseKind.COMMONCRAWL, COUNT)
    asked = COUNT.removesuffix("&showNumPages=true") + "&fl=url,status,mime,timestamp&page="
    assert guide == Guide(guides=tuple(f"{asked}{page}" for page in range(3)))


def test_more_pages_than_a_thousand_are_cut() -> None:
    guide = read('{"pages": 4567}', LeaseKind.COMMONCRAWL, COUNT)
    assert (len(guide.guides), guide.note) == (1_000, "cut at 1,000 of 4,567 pages")


@pytest.mark.parametrize(
    ("body", "url", "note"),
    [
        ("[]", "https://index.commoncrawl.org/collinfo.json#a/*", "it names no collection"),
        ("<html>", "https://index.commoncrawl.org/collinfo.json#a/*", "it names no collection"),
        ('{"pages": 0}', COUNT, None),
        ('{"pages": "many"}', COUNT, "it does not say how many pages there are"),
        ("", PAGE, None),
        ("<html>\n</html>", PAGE, "2 of its lines are not captures"),
    ],
)
def test_an_index_that_knows_nothing_gives_nothing(body: str, url: str, note: str | None) -> None:
    assert read(body, LeaseKind.COMMONCRAWL, url) == Guide(note=note)


def test_captures_that_were_found_are_entries() -> None:
    body = """{"url": "https://example.org/docs/a", "status": "200", "mime": "text/html", "timestamp": "20260101000000"}
    {"url": "https://example.org/docs/a", "status": "200", "timestamp": "20260102000000"}
    {"url": "http://example.org/docs/gone", "status": "404"}
    {"url": "http://example.org/docs/moved", "status": "301"}
    {"url": "https://example.org/docs/b"}
    {"url": "https://example.org/docs/cut"""
    assert read(body, LeaseKind.COMMONCRAWL, PAGE) == Guide(
        entries=(Entry("https://example.org/docs/a"), Entry("https://example.org/docs/b")),
        note="1 of its lines are not captures",
    )


def test_first_places_are_spelt_as_they_are_kept() -> None:
    assert sitemap_places("https://example.org") == [
        "https://example.org/sitemap.xml",
        "https://example.org/sitemap_index.xml",
    ]
    assert llms_places("http://a:81") == ["http://a:81/llms.txt", "http://a:81/llms-full.txt"]
    assert certificates_of("https://crt.sh", "example.org") == [CT]
    assert collections_of("http://a", "example.org", below=True) == ["http://a/collinfo.json#*.example.org"]
    (escaped,) = collections_of("http://a/x/", "example.org", "/a%20b/")
    assert escaped == "http://a/x/collinfo.json#example.org/a%2520b/*"
    guide = read('{"cdx-api": "/i"}', LeaseKind.COMMONCRAWL, escaped)
    assert guide.guides == ("http://a/i?url=example.org/a%2520b/*&output=json&showNumPages=true",)
    for url in (CT, COUNT, PAGE, *guide.guides):
        assert normalise(url) == url
