from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from urllib.error import HTTPError
from urllib.request import urlopen
from xml.etree import ElementTree

import pytest

from gossamer.model import State, Why
from gossamer.testing.example import ExampleSite, example_web
from gossamer.testing.example.markup import to_html
from gossamer.testing.web import WebServer, differences
from gossamer.url import path_of
from tests.testing.naive_crawler import NaiveCrawler


@pytest.fixture(scope="module")
def site() -> Iterator[ExampleSite]:
    with ExampleSite(slow=0.02) as running:
        yield running


def _read(site: WebServer, path: str) -> str:
    with urlopen(site.url(0, path), timeout=10) as answer:
        text: str = answer.read().decode()
    return text


def test_the_site_is_on_this_machine_only(site: ExampleSite) -> None:
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", site.url())
    assert site.seeds == (site.url(),)


def test_the_site_has_something_of_everything() -> None:
    web = example_web()
    answer = web.expected(web.seeds)
    kinds = Counter(found.reason or found.state for found in answer.values())
    assert kinds.pop(State.COMPLETED) >= 25
    assert kinds == {Why.REDIRECT: 1, Why.NOINDEX: 1, Why.ROBOTS: 1, Why.SCOPE: 1, State.FAILED: 1}
    assert answer[web.url(0, "/guide/winter.html")].status == 404
    assert answer[web.url(0, "/hidden-chapter.html")].state is State.COMPLETED
    assert 2 <= max(page.delay for page in web.hosts[0].pages.values()) <= 3


def test_a_walk_over_the_served_site_finds_its_known_answer(site: ExampleSite) -> None:
    records = NaiveCrawler(lambda url: url.startswith(site.url())).crawl(site.seeds)
    assert differences(site.web.expected(site.seeds), records, depth=True) == []


def test_robots_name_a_delay_the_drafts_and_the_sitemap(site: ExampleSite) -> None:
    robots = _read(site, "/robots.txt")
    assert "Crawl-delay: 0.2" in robots
    assert "Disallow: /drafts/" in robots
    assert f"Sitemap: {site.url(0, '/sitemap.xml')}" in robots


def test_the_sitemap_lists_every_page_that_a_crawl_completes_but_files(site: ExampleSite) -> None:
    tree = ElementTree.fromstring(_read(site, "/sitemap.xml"))
    listed = {place.text for place in tree.iter("{http://www.sitemaps.org/schemas/sitemap/0.9}loc")}
    answer = site.web.expected(site.seeds)
    completed = {url for url, found in answer.items() if found.state is State.COMPLETED}
    assert listed == completed - {site.url(0, "/files/field-notes.txt")}


def test_pages_are_whole_and_bring_their_own_style(site: ExampleSite) -> None:
    page = _read(site, "/changelog.html")
    assert "<h1>Changelog</h1>" in page
    assert page.count("<tr>") > 5
    assert not re.findall(r'(?:src|<link[^>]*href)="https?:', page)
    assert "body {" in _read(site, "/style.css")


def test_code_comes_in_several_languages() -> None:
    bodies = b"".join(page.body or b"" for page in example_web().hosts[0].pages.values())
    languages = set(re.findall(rb'class="language-(\w+)"', bodies))
    assert languages >= {b"python", b"rust", b"sql", b"sh", b"json", b"toml", b"javascript"}


def test_only_the_broken_link_is_broken() -> None:
    web = example_web()
    targets = {link.path for page in web.hosts[0].pages.values() for link in page.links if link.host == 0}
    assert targets - web.hosts[0].pages.keys() == {"/guide/winter.html"}


def test_the_redirect_leads_to_a_page(site: ExampleSite) -> None:
    with urlopen(site.url(0, "/start"), timeout=10) as answer:
        assert path_of(answer.url) == "/guide/first-web.html"
    with pytest.raises(HTTPError, match="404") as missing:
        _read(site, "/guide/winter.html")
    missing.value.close()


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("one\ntwo", "<p>one two</p>"),
        ("## A *b* & c", '<h2 id="a-b-c">A <em>b</em> &amp; c</h2>'),
        ("- a\n  b\n- c", "<ul>\n<li>a b</li>\n<li>c</li>\n</ul>"),
        ("1. a\n2. b", "<ol>\n<li>a</li>\n<li>b</li>\n</ol>"),
        ("> so", "<blockquote><p>so</p></blockquote>"),
        ("```sh\na < b\n\nc\n```", '<pre><code class="language-sh">a &lt; b\n\nc</code></pre>'),
        ("`*a*` **b** [c](/d)", '<p><code>*a*</code> <strong>b</strong> <a href="/d">c</a></p>'),
        (
            "| a | b |\n|---|---|\n| 1 | 2 |",
            "<table>\n<thead><tr><th>a</th><th>b</th></tr></thead>\n<tbody>\n<tr><td>1</td><td>2</td></tr>\n"
            "</tbody>\n</table>",
        ),
    ],
)
def test_marks_become_html(text: str, html: str) -> None:
    assert to_html(text) == html
