from __future__ import annotations

import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st

from gossamer.model import Fault, Fingerprint, Reading, RequestOptions, Response
from gossamer.parse import html
from gossamer.parse.fingerprint import fingerprint
from gossamer.parse.page import is_html, read
from gossamer.url import normalise

URL = "https://docs.example.org/guide/start.html"
OPTIONS = RequestOptions(user_agent="gossamer/1.0")


def page(markup: str | bytes, *headers: tuple[str, str], url: str = URL, options: RequestOptions = OPTIONS) -> Reading:
    body = markup.encode() if isinstance(markup, str) else markup
    response = Response(status=200, headers=headers or (("content-type", "text/html"),), body=body)
    reading = read(url, response, options)
    assert reading.error is None
    return reading


def links(markup: str) -> list[str]:
    return [link.removeprefix("https://docs.example.org") for link in page(markup).document.links]


def test_a_documentation_page_is_read() -> None:
    reading = page(
        """<!doctype html><html lang="en-GB"><head><meta charset="utf-8"><title> The
        Guide &mdash; docs </title><meta name="Description" content="How to  start.">
        <link rel="canonical" href="/guide/start.html?utm_source=x"></head>
        <body><a href="next.html">Next</a> <a href="../">Up</a></body></html>"""
    )
    document = reading.document
    assert (document.title, document.description) == ("The Guide — docs", "How to start.")
    assert (document.language, document.charset, document.canonical) == ("en-GB", "utf-8", URL)
    assert document.links == ("https://docs.example.org/guide/next.html", "https://docs.example.org/")
    assert (document.markdown, document.tokens) == (None, 0)
    assert (reading.noindex, reading.nofollow, reading.nofollow_links, reading.refresh) == (False, False, (), None)


def test_links_stand_in_document_order_and_once() -> None:
    assert links("<a href=/b>1</a><a href=/a>2</a><a href='/b#x'>3</a><a href=/c>4</a>") == ["/b", "/a", "/c"]


def test_areas_and_frames_lead_on_and_other_things_do_not() -> None:
    markup = """<map><area href=/area></map><iframe src=/iframe></iframe><a name=x>no</a>
    <a href="mailto:x@example.org">m</a>
    <link rel=stylesheet href=/s.css><script src=/s.js></script><img src=/i.png><form action=/f></form>"""
    assert links(markup) == ["/area", "/iframe"]
    assert links("<frameset><frame src=/one><frame src=/two></frameset>") == ["/one", "/two"]


def test_links_in_comments_and_scripts_are_no_links_and_those_in_noscript_are() -> None:
    assert links("<!-- <a href=/a> --><script>'<a href=/b>'</script><noscript><a href=/c></a></noscript>") == ["/c"]


@pytest.mark.parametrize(
    ("base", "target"),
    [
        ("/other/", "https://docs.example.org/other/x"),
        ("https://cdn.example.net/y/z", "https://cdn.example.net/y/x"),
        ("sub/", "https://docs.example.org/guide/sub/x"),
        ("", "https://docs.example.org/guide/x"),
        ("javascript:void(0)", "https://docs.example.org/guide/x"),
        ("data:text/html,", "https://docs.example.org/guide/x"),
        ("http://[", "https://docs.example.org/guide/x"),
    ],
)
def test_links_are_resolved_against_the_base(base: str, target: str) -> None:
    assert page(f"<base href='{base}'><base href='/second/'><a href=x>x</a>").document.links == (target,)


def test_a_link_is_nofollow_when_every_mention_of_it_is() -> None:
    reading = page(
        """<a rel=nofollow href=/a>1</a> <a rel="noopener NoFollow" href=/b>2</a> <a href=/b>3</a>
        <a rel=ugc href=/c>4</a> <area rel=nofollow href=/d> <a href=./../d>5</a>
        <a rel=nofollow href=/e>6</a> <a rel=nofollow href=/e#x>7</a> <a href=/f>8</a>
        <a rel=nofollow href=/f#x>9</a>"""
    )
    assert [link[-2:] for link in reading.document.links] == ["/a", "/b", "/c", "/d", "/e", "/f"]
    assert [link[-2:] for link in reading.nofollow_links] == ["/a", "/e"]


def test_tracking_parameters_are_dropped_from_links_as_the_source_wishes() -> None:
    markup = "<a href='/a?utm_source=x&sid=1'>a</a>"
    assert page(markup).document.links == ("https://docs.example.org/a?sid=1",)
    chosen = RequestOptions(user_agent="gossamer/1.0", drop_parameters=("SID",))
    assert page(markup, options=chosen).document.links == ("https://docs.example.org/a?utm_source=x",)


@pytest.mark.parametrize(
    ("markup", "headers", "expected"),
    [
        ("<meta name=robots content=noindex>", (), (True, False)),
        ("<meta name=ROBOTS content='NONE'>", (), (True, True)),
        ("<meta name=gossamer content=nofollow>", (), (False, True)),
        ("<meta name=otherbot content=none>", (), (False, False)),
        ("<p>", (("x-robots-tag", "noindex"),), (True, False)),
        ("<p>", (("x-robots-tag", "gossamer: nofollow"), ("x-robots-tag", "noindex")), (True, True)),
        ("<p>", (("x-robots-tag", "otherbot: none"),), (False, False)),
        ("<meta name=robots content=nofollow>", (("x-robots-tag", "noindex"),), (True, True)),
    ],
)
def test_what_a_page_asks_of_crawlers(
    markup: str, headers: tuple[tuple[str, str], ...], expected: tuple[bool, bool]
) -> None:
    reading = page(markup, ("content-type", "text/html"), *headers)
    assert (reading.noindex, reading.nofollow) == expected


def test_a_robots_header_holds_for_documents_that_are_not_html() -> None:
    reading = page("%PDF-1.4", ("content-type", "application/pdf"), ("x-robots-tag", "noindex"))
    assert reading.noindex


@pytest.mark.parametrize(
    ("content", "refresh"),
    [
        ("0;url=/next", (0, "/next")),
        ("0; URL = '/next' ignored", (0, "/next")),
        ('5, url="/next', (5, "/next")),
        ("3 /next", (3, "/next")),
        ("1.5;/next", (1, "/next")),
        (" 0 ; /next?url=x ", (0, "/next?url=x")),
        ("9" * 5_000 + ";url=/next", (999_999_999, "/next")),
        ("5", None),
        ("", None),
        (";url=/next", None),
        ("soon;url=/next", None),
    ],
)
def test_a_refresh_is_read_as_browsers_read_it(content: str, refresh: tuple[int, str] | None) -> None:
    assert html.parse_refresh(content) == refresh


def test_an_immediate_refresh_is_a_redirect_and_a_late_one_is_a_link() -> None:
    soon = page("<meta http-equiv=Refresh content='5;url=/next'><a href=/a>a</a>")
    assert (soon.refresh, soon.document.links) == ("https://docs.example.org/next", ("https://docs.example.org/a",))
    late = page("<meta http-equiv=refresh content='6;url=/next'><a href=/a>a</a>")
    assert late.refresh is None
    assert late.document.links == ("https://docs.example.org/next", "https://docs.example.org/a")


@pytest.mark.parametrize(
    "markup",
    [
        f"<meta http-equiv=refresh content='0;url={URL}'>",
        "<meta http-equiv=refresh content='0'>",
        "<meta http-equiv=refresh content='0;url=#top'>",
        "<meta http-equiv=refresh content='0;url=javascript:x()'>",
        "<noscript><meta http-equiv=refresh content='0;url=/no-script'></noscript>",
    ],
)
def test_a_refresh_that_leads_nowhere_else_is_none(markup: str) -> None:
    assert page(markup).refresh is None


@pytest.mark.parametrize(
    ("markup", "header", "canonical"),
    [
        ("<link rel=Canonical href=/c>", None, "/c"),
        ("<link rel='alternate canonical' href=c#x>", None, "/guide/c"),
        ("<base href=/b/><link rel=canonical href=c>", None, "/b/c"),
        ("<link rel=canonical href=/first><link rel=canonical href=/second>", None, "/first"),
        ("<p>", '</c>; rel="canonical"', "/c"),
        ("<p>", "</x>; rel=preload, <c>; title=\"a, b\"; rel='canonical'", None),
        ("<p>", '</x>; rel=preload; title="a, <b>", <c>; rel=canonical', "/guide/c"),
        ("<link rel=canonical href=/c>", "</h>; rel=canonical", "/c"),
        ("<link rel=canonical href=''>", "</h>; rel=canonical", "/h"),
        ("<body><p><link rel=canonical href=/c>", None, None),
        ("<link rel=canonical href='mailto:x@example.org'>", None, None),
        ("<p>", "<<<<>>>>;;;,,,", None),
        ("<p>", "<" * 60_000, None),
    ],
)
def test_the_canonical_url_is_absolute(markup: str, header: str | None, canonical: str | None) -> None:
    headers = (("content-type", "text/html"),) + ((("link", header),) if header else ())
    expected = f"https://docs.example.org{canonical}" if canonical else None
    assert page(markup, *headers).document.canonical == expected


def test_a_document_that_is_not_html_may_have_a_canonical_url() -> None:
    reading = page(
        "%PDF", ("content-type", "application/pdf"), ("link", '<https://example.org/a.pdf>; rel="canonical"')
    )
    assert reading.document.canonical == "https://example.org/a.pdf"


@pytest.mark.parametrize(
    ("markup", "header", "language"),
    [
        ("<html lang=de-AT>", "en", "de-AT"),
        ("<html xml:lang=fr>", None, "fr"),
        ("<meta http-equiv=Content-Language content='it, en'>", "en", "it"),
        ("<html lang=''>", "pt-BR, en", "pt-BR"),
        ("<html lang='{{ lang }}'>", None, None),
        ("<html lang='" + "x" * 1_000 + "'>", None, None),
        ("<p>", None, None),
    ],
)
def test_the_language_is_what_the_page_then_the_header_says(
    markup: str, header: str | None, language: str | None
) -> None:
    headers = (("content-type", "text/html"),) + ((("content-language", header),) if header else ())
    assert page(markup, *headers).document.language == language


@pytest.mark.parametrize(
    ("markup", "title"),
    [
        ("<title>A &amp; B</title>", "A & B"),
        ("<title>\n  A\t B\u00a0C </title>", "A B C"),
        ("<title>One</title><title>Two</title>", "One"),
        ("<svg><title>Picture</title></svg>", None),
        ("<title></title>", None),
        ("<meta property='og:title' content='Shared'>", "Shared"),
        ("<title>" + "x" * 100_000 + "</title>", "x" * 500),
        ("<title>unfinished", "unfinished"),
    ],
)
def test_the_title_is_one_short_line(markup: str, title: str | None) -> None:
    assert page(markup).document.title == title


def test_a_description_is_cut_and_the_first_one_counts() -> None:
    markup = f"<meta name=description content='{'a ' * 5_000}'><meta name=description content=second>"
    description = page(markup).document.description
    assert description is not None
    assert len(description) <= 2_000
    assert description.startswith("a a")
    assert page("<meta property=og:description content=Shared>").document.description == "Shared"


DOCTYPE = b"<!DOCTYPE html><a href=/a>a</a>"


@pytest.mark.parametrize(
    ("content_type", "body", "expected"),
    [
        ("text/html", b"anything", True),
        ("TEXT/HTML ; charset=utf-8", b"", True),
        ("application/xhtml+xml", b"<html/>", True),
        (None, DOCTYPE, True),
        (None, b"\xef\xbb\xbf \n<!-- x --><html>", True),
        (None, b"<?xml version='1.0'?>\n<!DOCTYPE html PUBLIC>", True),
        (None, DOCTYPE.decode().encode("utf-16"), True),
        (None, b"<div class=x>", True),
        (None, b"<divination>", False),
        (None, b"plain words <html>", False),
        (None, b"", False),
        ("application/octet-stream", DOCTYPE, True),
        ("text/plain", DOCTYPE, True),
        ("text/plain", b"<p> is an element", False),
        ("application/xml", b"<?xml version='1.0'?><html xmlns='http://www.w3.org/1999/xhtml'>", True),
        ("application/xml", b"<?xml version='1.0'?><rss>", False),
        ("application/json", DOCTYPE, False),
        ("image/png", DOCTYPE, False),
        (None, b"<!---->" * 1_000, False),
    ],
)
def test_html_is_known_by_its_type_or_by_its_first_bytes(content_type: str | None, body: bytes, expected: bool) -> None:
    headers = (("content-type", content_type),) if content_type else ()
    assert is_html(Response(status=200, headers=headers, body=body)) is expected


@pytest.mark.parametrize("kind", ["application/json", "application/rss+xml", "application/pdf", "image/png"])
def test_other_documents_have_the_hash_of_their_bytes_and_no_links_or_text(kind: str) -> None:
    reading = page("<a href=/a>a</a>", ("content-type", kind))
    document = reading.document
    assert document.links == ()
    assert (document.title, document.text) == (None, None)
    assert document.hash == xxhash.xxh3_128_hexdigest(b"<a href=/a>a</a>")
    assert reading.fingerprint == Fingerprint(body=xxhash.xxh3_128_digest(b"<a href=/a>a</a>"))


@pytest.mark.parametrize("kind", ["text/plain", "Text/Markdown; variant=GFM", "text/x-markdown"])
def test_plain_text_and_markdown_are_text_as_they_are(kind: str) -> None:
    body = "# Grüße\n\n" + "Wort " * 30
    reading = page(body, ("content-type", kind))
    assert (reading.document.text, reading.document.charset) == (body.strip(), "utf-8")
    assert reading.fingerprint is not None
    assert reading.fingerprint.sketch


def test_bytes_that_claim_to_be_text_are_none() -> None:
    document = page(b"\x7fELF\0\0\0\0", ("content-type", "text/plain")).document
    assert (document.text, document.hash) == (None, xxhash.xxh3_128_hexdigest(b"\x7fELF\0\0\0\0"))


def test_the_hash_is_that_of_title_and_text() -> None:
    said = page("<title>T</title><nav>Home</nav><p>Some <b>words").document
    assert (said.text, said.hash) == ("Some words", xxhash.xxh3_128_hexdigest(b"T\nSomewords"))
    for same in ("<title>T</title><p class=new>Some words", "<title> T </title><script>2</script><p>Some  words"):
        assert page(same).document.hash == said.hash
    for other in ("<title>U</title><p>Some words", "<title>T</title><p>Some other words"):
        assert page(other).document.hash != said.hash


def test_the_hash_of_a_page_without_text_is_that_of_its_bytes() -> None:
    empty = b"<title>T</title><script>render()</script>"
    assert page(empty).document.hash == xxhash.xxh3_128_hexdigest(empty)
    assert page(empty).document.text is None


def test_the_fingerprint_is_of_the_body_and_the_main_text() -> None:
    body = "<nav>Home</nav><main>" + " ".join(f"word{number}" for number in range(60)) + "</main>"
    reading = page(body)
    assert reading.fingerprint == fingerprint(body.encode(), reading.document.text or "")
    named = page(f"<title>T</title><h1>H</h1>{body}").fingerprint
    assert named is not None
    assert named.bands != page(f"<title>T</title><h1>I</h1>{body}").fingerprint.bands  # type: ignore[union-attr]
    stub = Fingerprint(body=xxhash.xxh3_128_digest(b"<p>Few words"), stub=True)
    assert page("<p>Few words").fingerprint == stub


@pytest.mark.parametrize("kind", ["text/html", "text/plain"])
def test_without_content_the_text_is_judged_and_not_kept(kind: str) -> None:
    body = " ".join(f"word{number}" for number in range(60))
    lean = page(body, ("content-type", kind), options=RequestOptions(user_agent="gossamer/1.0", content=False))
    full = page(body, ("content-type", kind))
    assert (lean.document.text, full.document.text) == (None, body)
    assert (lean.document.hash, lean.fingerprint) == (full.document.hash, full.fingerprint)


def test_a_very_long_text_is_cut_but_all_of_it_is_hashed() -> None:
    one, other = (page("<p>" + "x" * 1_200_000 + end).document for end in "ab")
    assert one.text == other.text == "x" * 1_000_000
    assert one.hash != other.hash


@pytest.mark.parametrize(
    ("markup", "missing"),
    [
        ("<title>Page not found</title>", True),
        ("<title>Example</title><h1>\n404 </h1>", True),
        ("<header><h1>Seite <em>nicht</em> gefunden</h1></header>", True),
        ("<title>Example</title><h1>Welcome</h1><h1>404</h1>", False),
        ("<title>Status codes</title><h1>Status codes</h1><h2>404</h2><p>Page not found", False),
        ("<p>Page not found", False),
        ("", False),
    ],
)
def test_a_page_looks_missing_when_its_title_or_first_heading_says_so(markup: str, missing: bool) -> None:
    assert page(markup).looks_missing is missing


def test_a_page_in_an_old_charset_is_read() -> None:
    document = page(b"<meta charset=windows-1251><title>\xcf\xf0\xe8\xe2\xe5\xf2</title><a href='/\xef'>x</a>").document
    assert (document.title, document.charset) == ("Привет", "windows-1251")
    assert document.links == ("https://docs.example.org/%D0%BF",)


@pytest.mark.parametrize(
    "markup",
    [
        b"<div>" * 1_000_000,
        b"<b>" * 200_000,
        b"<table>" * 200_000,
        b"\0" * 1_000_000,
        b"<a " + b" ".join(b"a%d=1" % i for i in range(100_000)) + b">",
        b"\xff\xfe\xfd" * 10_000,
        b"<!--" * 100_000,
        b"&" * 1_000_000,
        b"<meta content=" * 100_000,
    ],
    ids=["nested", "formatting", "tables", "nuls", "attributes", "bad bytes", "comments", "references", "metas"],
)
def test_a_hostile_page_is_read_like_any_other(markup: bytes) -> None:
    reading = page(b"<!doctype html><title>x</title><a href=/a>a</a>" + markup)
    assert reading.document.links[:1] == ("https://docs.example.org/a",)
    assert reading.document.title == "x"


def test_a_hundred_thousand_links_are_all_found() -> None:
    markup = "".join(f"<a href=/p/{number}>x</a>" for number in range(100_000))
    assert len(page(markup).document.links) == 100_000


def test_a_link_of_a_hundred_kilobytes_is_left_out() -> None:
    assert links(f"<a href='/{'x' * 100_000}'>x</a><a href=/a>a</a>") == ["/a"]


def test_a_page_that_breaks_the_reader_costs_only_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: str) -> html.Tree:
        raise MemoryError("no room")

    monkeypatch.setattr(html, "parse", broken)
    reading = read(URL, Response(status=200, headers=(("content-type", "text/html"),), body=b"x"), OPTIONS)
    assert reading.error is not None
    assert (reading.error.fault, "no room" in reading.error.text) == (Fault.PARSE, True)


FRAGMENTS = st.sampled_from(
    [
        "<a href='",
        "<base href=",
        "/x",
        "../",
        "'>",
        ">",
        "<meta ",
        "http-equiv=refresh ",
        "content='0;url=",
        "<link ",
        "rel=canonical ",
        "rel=nofollow ",
        "href=",
        "%",
        "é",
        "\0",
        "&#xD800;",
        "<title>",
        "</title>",
        "<svg>",
        "//[",
        "?",
    ]
)
SOUP = st.lists(FRAGMENTS | st.text(max_size=5), max_size=30).map("".join)


@given(SOUP, st.lists(st.tuples(st.sampled_from(["link", "x-robots-tag", "content-language"]), st.text(max_size=20))))
def test_whatever_the_markup_its_links_are_normalised(markup: str, headers: list[tuple[str, str]]) -> None:
    body = markup.encode("utf-8", "replace")
    reading = page(body, ("content-type", "text/html; charset=utf-8"), *headers)
    document = reading.document
    found = [*document.links, *filter(None, [document.canonical, reading.refresh])]
    assert all(normalise(link) == link for link in found)
    assert len(set(document.links)) == len(document.links)
    assert set(reading.nofollow_links) <= set(document.links)


@given(st.binary(max_size=300), st.sampled_from(["text/html", "text/plain", "", "text/html; charset=utf-16"]))
def test_no_bytes_break_the_reader(body: bytes, kind: str) -> None:
    reading = page(body, ("content-type", kind))
    assert len(reading.document.hash or "") == 32
    assert reading.fingerprint == fingerprint(body, reading.document.text or "")
