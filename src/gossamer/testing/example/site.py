"""The Orb Weaver Handbook: a small documentation site with all that a crawler meets on a good day."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape
from importlib.resources import files
from importlib.resources.abc import Traversable

import msgspec

from gossamer.testing.example.markup import to_html
from gossamer.testing.web import Host, Link, Page, Robots, Web, Where
from gossamer.url import host_of, path_of, resolve

_ORIGIN = "http://handbook.test"
_CRAWL_DELAY = 0.2
_SECTIONS = {"guide": "Guide", "reference": "Reference", "recipes": "Recipes", "blog": "Blog"}
_RULES = """\
# The drafts are not ready to be read.
Sitemap: $ORIGIN/sitemap.xml

User-agent: *
Disallow: /drafts/
"""


class Article(msgspec.Struct, frozen=True, kw_only=True):
    """A page as it was written: a head of `key: value` lines, a blank line, and the text."""

    path: str
    text: str
    title: str
    description: str = ""
    date: str = ""
    author: str = ""
    robots: str = ""
    pace: str = ""
    order: str = "50"

    @property
    def section(self) -> str:
        return self.path.split("/")[1] if self.path.count("/") > 1 else ""

    @property
    def listed(self) -> bool:
        return not self.robots and self.section != "drafts"


def example_web(slow: float = 2.5) -> Web:
    """The site as a web of one host, with its known answer. Its one slow page takes `slow` seconds."""
    articles = sorted(_articles(), key=lambda article: (article.section, article.order, article.path))
    pages = [_page(article, articles, slow) for article in articles]
    pages += [
        Page(path="/start", status=301, location=Link(0, "/guide/first-web.html")),
        Page(path="/style.css", content_type="text/css", body=_file("style.css")),
        Page(path="/files/field-notes.txt", content_type="text/plain", body=_file("field-notes.txt")),
        Page(path="/sitemap.xml", content_type="application/xml", body=_sitemap(articles)),
    ]
    host = Host(pages={page.path: page for page in pages}, robots=Robots(rules=_RULES, crawl_delay=_CRAWL_DELAY))
    return Web(hosts=(host,), origins=(_ORIGIN,))


def _articles() -> Iterator[Article]:
    for name, file in _walk(_root() / "pages", "/"):
        path = name.removesuffix("index.md") if name.endswith("/index.md") else name.removesuffix(".md") + ".html"
        yield _article(path, file.read_text(encoding="utf-8"))


def _walk(folder: Traversable, path: str) -> Iterator[tuple[str, Traversable]]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _walk(entry, f"{path}{entry.name}/")
        elif entry.name.endswith(".md"):
            yield path + entry.name, entry


def _article(path: str, source: str) -> Article:
    head, _, text = source.partition("\n\n")
    fields = dict(line.split(": ", 1) for line in head.splitlines())
    return msgspec.convert({"path": path, "text": text, **fields}, Article)


def _page(article: Article, articles: list[Article], slow: float) -> Page:
    html = _html(article, articles)
    return Page(
        path=article.path,
        body=html.encode(),
        links=tuple(_links(article.path, html)),
        robots=article.robots,
        robots_in=Where.META,
        delay=slow if article.pace == "slow" else 0.0,
    )


def _links(path: str, html: str) -> Iterator[Link]:
    for url in resolve(_ORIGIN + path, re.findall(r'<a [^>]*?href="([^"]+)"', html)):
        yield Link(0, path_of(url)) if host_of(url) == _ORIGIN else Link(None, url)


def _html(article: Article, articles: list[Article]) -> str:
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{_title(article)}</title>
<meta name="description" content="{escape(article.description)}">
{f'<meta name="robots" content="{article.robots}">' if article.robots else ""}
<link rel="stylesheet" href="/style.css">
</head>
<body>
<header><a class="brand" href="/">Orb Weaver</a>
<nav>{_menu(article)}</nav></header>
<div class="page">
{_sidebar(article, articles)}
<main><article>
<h1>{escape(article.title)}</h1>
{_byline(article)}
{to_html(article.text)}
</article></main>
</div>
<footer>The Orb Weaver Handbook describes a program that does not exist, for the pleasure of crawlers.
<a href="/about.html">About</a> · <a href="/changelog.html">Changelog</a></footer>
</body>
</html>
"""


def _title(article: Article) -> str:
    return escape(article.title if article.path == "/" else f"{article.title} · Orb Weaver Handbook")


def _menu(article: Article) -> str:
    return " ".join(
        f'<a href="/{name}/"{_current(name == article.section)}>{title}</a>' for name, title in _SECTIONS.items()
    )


def _sidebar(article: Article, articles: list[Article]) -> str:
    """The pages of the same section. Pages that are not for everybody are found on other roads."""
    if article.section not in _SECTIONS:
        return ""
    entries = "\n".join(
        f'<li><a href="{other.path}"{_current(other is article)}>{escape(other.title)}</a></li>'
        for other in articles
        if other.section == article.section and other.listed
    )
    return f'<aside><p class="label">{_SECTIONS[article.section]}</p>\n<ul>\n{entries}\n</ul></aside>'


def _current(here: bool) -> str:
    return ' aria-current="page"' if here else ""


def _byline(article: Article) -> str:
    if not article.date:
        return f'<p class="lead">{escape(article.description)}</p>'
    return f'<p class="byline"><time datetime="{article.date}">{article.date}</time> · {escape(article.author)}</p>'


def _sitemap(articles: list[Article]) -> bytes:
    head = '<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
    entries = "\n".join(_sitemap_entry(article) for article in articles if article.listed)
    return f"{head}\n{entries}\n</urlset>\n".encode()


def _sitemap_entry(article: Article) -> str:
    changed = f"<lastmod>{article.date}</lastmod>" if article.date else ""
    priority = 1.0 if article.path == "/" else 0.8 if article.path.endswith("/") else 0.5
    return f"<url><loc>$ORIGIN{article.path}</loc>{changed}<priority>{priority}</priority></url>"


def _root() -> Traversable:
    return files("gossamer.testing.example")


def _file(name: str) -> bytes:
    return (_root() / name).read_bytes()
