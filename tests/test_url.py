from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gossamer import url as urls
from gossamer.url import (
    host_of,
    hostname_of,
    normalise,
    path_of,
    port_of,
    resolve,
    resolve_one,
    segments,
    site_of,
)

BASE = "https://docs.example.org/guide/intro/start.html?v=2"


@pytest.mark.parametrize(
    ("written", "spelling"),
    [
        ("HTTP://EXAMPLE.com", "http://example.com/"),
        ("https://example.com:443/a", "https://example.com/a"),
        ("http://example.com:80/a", "http://example.com/a"),
        ("http://example.com:443/a", "http://example.com:443/a"),
        ("https://example.com/a/./b/../c", "https://example.com/a/c"),
        ("https://example.com/a/%2e%2E/c", "https://example.com/c"),
        ("https://example.com/../../x", "https://example.com/x"),
        ("https://example.com/a#part", "https://example.com/a"),
        ("https://example.com/A/b?Q=R", "https://example.com/A/b?Q=R"),
        ("https://example.com/%7euser/%41", "https://example.com/~user/A"),
        ("https://example.com/a%2fb%3a", "https://example.com/a%2Fb%3A"),
        ("https://example.com/é b", "https://example.com/%C3%A9%20b"),
        ("https://user:secret@example.com/a@b", "https://example.com/a@b"),
        ("https://example.com/a?", "https://example.com/a"),
        ("https://example.com/a?b=1&b=2", "https://example.com/a?b=1&b=2"),
        ("https://münchen.example/", "https://xn--mnchen-3ya.example/"),
        ("http://0x7f.1/", "http://127.0.0.1/"),
        ("http://[2001:DB8:0:0::1]:8080/", "http://[2001:db8::1]:8080/"),
        ("https:\\\\example.com\\a", "https://example.com/a"),
        ("  https://example.com/a\n", "https://example.com/a"),
        ("https://example.com/a%", "https://example.com/a%"),
    ],
)
def test_a_url_has_one_spelling(written: str, spelling: str) -> None:
    assert normalise(written) == spelling


@pytest.mark.parametrize(
    "written",
    [
        "",
        "example.com",
        "/a",
        "ftp://example.com/",
        "mailto:a@example.com",
        "javascript:void(0)",
        "http://",
        "http://a b/",
        "http://example.com:99999/",
        "https://[::1",
        "about:blank",
        "file:///etc/passwd",
        "https://exa\ud800mple.com/",
    ],
)
def test_what_cannot_be_fetched_has_no_spelling(written: str) -> None:
    assert normalise(written) is None


@pytest.mark.parametrize(
    ("href", "target"),
    [
        ("next.html", "https://docs.example.org/guide/intro/next.html"),
        ("./next.html", "https://docs.example.org/guide/intro/next.html"),
        ("../", "https://docs.example.org/guide/"),
        ("../../api/x", "https://docs.example.org/api/x"),
        ("../../../../api", "https://docs.example.org/api"),
        ("/api", "https://docs.example.org/api"),
        ("/", "https://docs.example.org/"),
        (".", "https://docs.example.org/guide/intro/"),
        ("?page=2", "https://docs.example.org/guide/intro/start.html?page=2"),
        ("next.html#part", "https://docs.example.org/guide/intro/next.html"),
        ("//other.example.org/a", "https://other.example.org/a"),
        ("HTTPS://Docs.Example.org/a", "https://docs.example.org/a"),
        ("https://docs.example.org/a/b", "https://docs.example.org/a/b"),
        ("https://docs.example.org", "https://docs.example.org/"),
        ("https://docs.example.org//a", "https://docs.example.org//a"),
        ("https://docs.example.organic/a", "https://docs.example.organic/a"),
        ("a//b", "https://docs.example.org/guide/intro/a//b"),
        (".hidden/..x", "https://docs.example.org/guide/intro/.hidden/..x"),
        ("a/../b", "https://docs.example.org/guide/intro/b"),
        (" next.html\n", "https://docs.example.org/guide/intro/next.html"),
        ("next.html\u00a0", "https://docs.example.org/guide/intro/next.html%C2%A0"),
        ("\x01 next.html\x1f", "https://docs.example.org/guide/intro/next.html"),
        ("ne\nxt.html", "https://docs.example.org/guide/intro/next.html"),
    ],
)
def test_a_href_is_resolved_as_a_browser_would(href: str, target: str) -> None:
    assert resolve_one(BASE, href) == target


@pytest.mark.parametrize(
    "href",
    [
        "",
        "  ",
        "#",
        "#top",
        "mailto:a@example.org",
        "MAILTO:a@example.org",
        "javascript:void(0)",
        " JavaScript:x()",
        "tel:+49123",
        "data:text/html,x",
        "ftp://example.org/",
        "java\nscript:x()",
        "http://[",
        "x" * 100_000,
    ],
)
def test_a_href_that_leads_nowhere_is_none(href: str) -> None:
    assert resolve_one(BASE, href) is None


def test_links_are_resolved_in_order_and_once() -> None:
    hrefs = ["b", "a", "./b", "mailto:x@example.org", "a#x", "b", "/c?utm_source=x"]
    assert resolve("https://example.org/d/", hrefs) == [
        "https://example.org/d/b",
        "https://example.org/d/a",
        "https://example.org/c",
    ]


@pytest.mark.parametrize(
    ("query", "kept"),
    [
        ("?utm_source=a&id=1", "?id=1"),
        ("?id=1&UTM_Medium=a", "?id=1"),
        ("?utm_source=a&fbclid=b", ""),
        ("?utm%5Fsource=a&id=1", "?id=1"),
        ("?my_utm_source=a", "?my_utm_source=a"),
        ("?gclid", ""),
        ("?id=1&&x", "?id=1&&x"),
    ],
)
def test_tracking_parameters_are_dropped(query: str, kept: str) -> None:
    assert normalise(f"https://example.com/a{query}") == f"https://example.com/a{kept}"


def test_which_parameters_are_dropped_can_be_said() -> None:
    assert normalise("https://example.com/?sid=1&gclid=2", drop=frozenset({"sid"})) == "https://example.com/?gclid=2"
    assert resolve("https://example.com/", ["?sid=1"], drop=frozenset({"sid"})) == ["https://example.com/"]


@pytest.mark.parametrize("base", ["not a url", "mailto:x@example.org", ""])
def test_without_a_base_only_absolute_links_lead_anywhere(base: str) -> None:
    assert resolve(base, ["a", "/b", "https://example.org/c"]) in (["https://example.org/c"], [])


def test_the_parts_of_a_url() -> None:
    url = "https://www.example.co.uk:8443/a/b?c=d"
    host = host_of(url)
    assert host == "https://www.example.co.uk:8443"
    assert (hostname_of(host), port_of(host), site_of(host)) == ("www.example.co.uk", 8443, "example.co.uk")
    assert (path_of(url), segments(url)) == ("/a/b?c=d", 2)


@pytest.mark.parametrize(
    ("host", "name", "port", "site"),
    [
        ("http://localhost", "localhost", 80, "localhost"),
        ("https://127.0.0.1", "127.0.0.1", 443, "127.0.0.1"),
        ("http://[2001:db8::1]:81", "2001:db8::1", 81, "2001:db8::1"),
        ("http://[2001:db8::1]", "2001:db8::1", 80, "2001:db8::1"),
    ],
)
def test_addresses_and_single_words_are_their_own_site(host: str, name: str, port: int, site: str) -> None:
    assert (hostname_of(host), port_of(host), site_of(host)) == (name, port, site)


def test_the_root_has_no_segments() -> None:
    assert [segments(f"https://example.com{path}") for path in ("/", "/a", "/a/", "/a/b?c=/d/e")] == [0, 1, 1, 2]


AWKWARD = st.text(alphabet=st.sampled_from("ab./%#?&=:@~_-2eEfF34 \\\t\xe9é😀[]|^*$;,"), max_size=40)
HREFS = st.one_of(AWKWARD, st.text(max_size=40), AWKWARD.map("https://docs.example.org/".__add__))


@given(AWKWARD)
@example("%%34%31")
@example("%4%35")
@example("?&utm_source=a&%75tm_id=1")
def test_a_spelling_is_spelt_as_itself(tail: str) -> None:
    url = normalise("https://example.com/" + tail)
    assert url is not None
    assert normalise(url) == url
    assert resolve(BASE, [url]) == [url]


@given(HREFS)
def test_what_is_resolved_is_normalised(href: str) -> None:
    url = resolve_one(BASE, href)
    if url is not None:
        assert url == normalise(url)
        assert url.isascii()
        assert "#" not in url
        assert path_of(url).startswith("/")


BASES = AWKWARD.map("https://docs.example.org/".__add__) | st.just(BASE) | st.just("https://u:p@a.example//b//c")
PLAIN = st.lists(st.sampled_from(["a", "..", ".", "x.html", "~b_c-1", ".h", "%2e", ""]), max_size=10).map("/".join)


@given(BASES, PLAIN | HREFS)
@example("https://docs.example.org//a//b", "../../../x")
@example("https://docs.example.org/" + "a/" * 30, "../" * 20 + "x")
@example("https://docs.example.org/a/b", "#x/y")
def test_a_link_resolves_against_what_it_looks_at_as_it_does_against_the_page(base: str, href: str) -> None:
    href = href.strip(urls._BLANK)
    if href and href[0] != "#":
        seen_from = urls._seen_from(base, href)
        assert urls._spell(href, seen_from, urls.TRACKING) == urls._spell(href, base, urls.TRACKING)


@given(AWKWARD, st.sampled_from(sorted(urls.TRACKING)))
def test_no_tracking_parameter_survives(query: str, name: str) -> None:
    url = normalise(f"https://example.com/?{name}=1&{query}".replace("#", ""))
    assert url is not None
    assert not url.partition("?")[2].startswith(f"{name}=")
