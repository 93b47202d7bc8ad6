"""The tree of an HTML page, and what stands in it. Values are raw: as written, not resolved and not judged.

Only this module, `text` and `charset` know the parser.
"""

from __future__ import annotations

import re
from typing import NamedTuple, TypeAlias

import turbohtml

Tree: TypeAlias = turbohtml.Document

_LINKING = ("a", "area", "iframe", "frame")
_REFRESH = re.compile(
    r"""\s*(?P<delay>\d+)?(?:\.[\d.]*)?\s*(?:[;,\s]\s*)?(?:url\s*=\s*)?(?P<quote>["']?)(?P<url>.*)""",
    re.IGNORECASE | re.DOTALL,
)


class Refresh(NamedTuple):
    delay: int
    href: str


def parse(text: str) -> Tree:
    return turbohtml.parse(text, positions=False)


def title(tree: Tree) -> str | None:
    # Pictures have titles too.
    return next((e.text for e in tree.select("title") if e.namespace is turbohtml.Namespace.HTML), None)


def heading(tree: Tree) -> str | None:
    element = tree.select_one("h1")
    return element.text if element else None


def language(tree: Tree) -> str | None:
    root = tree.root
    declared = root and (root.attr("lang") or root.attr("xml:lang"))
    if declared:
        return declared
    pragma = tree.select_one('meta[http-equiv="content-language" i][content]')
    return pragma.attr("content") if pragma else None


def base(tree: Tree) -> str | None:
    element = tree.select_one("base[href]")
    return element.attr("href") if element else None


def canonical(tree: Tree) -> str | None:
    # Of the head only: what stands in the body may have been written by a visitor.
    element = tree.select_one('head link[rel~="canonical" i][href]')
    return element.attr("href") if element else None


def metas(tree: Tree) -> list[tuple[str, str]]:
    """Name (or property) in lower case, and content, of each meta element that has both."""
    found = [
        (e.attr("name") or e.attr("property") or "", e.attr("content") or "") for e in tree.select("meta[content]")
    ]
    return [(name.strip().lower(), content) for name, content in found if name and content]


def refresh(tree: Tree) -> Refresh | None:
    for element in tree.select('meta[http-equiv="refresh" i][content]'):
        # The one in a noscript sends away those who cannot run scripts, although the content is mostly there.
        if element.closest("noscript") is None:
            return parse_refresh(element.attr("content") or "")
    return None


def parse_refresh(content: str) -> Refresh | None:
    """Seconds and target of a refresh, read as browsers read it."""
    match = _REFRESH.match(content)
    if match is None or match["delay"] is None:
        return None
    href = match["url"]
    if match["quote"]:
        href = href.partition(match["quote"])[0]
    # A number with too many digits is a long time.
    return Refresh(int(match["delay"][:9]), href.strip()) if href.strip() else None


def mentions(tree: Tree) -> dict[str, bool]:
    """The hrefs of all links in document order, each with whether some mention of it may be followed."""
    found: dict[str, bool] = {}
    for element in tree.iter_elements(_LINKING):
        href = element.attr("href") or element.attr("src")
        if href:
            rel = element.attr("rel")
            found[href] = rel is None or "nofollow" not in rel.lower().split() or found.get(href, False)
    return found
