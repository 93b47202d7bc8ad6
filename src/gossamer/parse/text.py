"""The main text of a page, plain: what likeness and changes are judged by."""

from __future__ import annotations

import turbohtml

from gossamer.parse.html import Tree

_ENOUGH = 50
"""Words from which a marked main part is the main text, whatever else the page says."""
_FAIR_SHARE = 0.25
"""Of the body's words, below which a marked main part with few words is not believed."""
_LOOKED_AT = 1_024

_MAIN = "main, [role=main]"
_NEVER = (
    "script, style, noscript, template, iframe, svg, nav, [role=navigation], [role=search], button, select, textarea, "
    # Some servers wrap the whole page into one form.
    "form:not(:has(h1, main, article))"
)
# Of the page, not of its parts: the header of an article is its heading, and an aside in it may be a warning.
_FURNITURE = ", ".join(
    f"body > {tag}, body > :not(article, section) > {tag}, body > :not(article) > :not(article, section) > {tag}"
    for tag in ("header", "footer", "aside", "[role=banner]", "[role=contentinfo]", "[role=complementary]")
)
# Tables are aligned and quotations indented with spaces, which one wide cell or deep nesting turns into gigabytes.
_LAID_OUT = ("table", "caption", "thead", "tbody", "tfoot", "tr", "th", "td", "blockquote")
_PLAIN = turbohtml.PlainText(layout="strict", bullet="")


def main_part(tree: Tree) -> turbohtml.Element | None:
    """The main part of a page without its furniture. It takes the tree to pieces: read everything else first."""
    tree.remove(_NEVER)
    marked = _marked(tree)
    count = len(marked.text.split(None, _ENOUGH)) if marked else 0
    if marked and count >= _ENOUGH:
        return marked
    tree.remove(_FURNITURE)
    body = tree.select_one("body")
    whole = len(body.text.split()) if body else 0
    return marked if marked and count and count >= _FAIR_SHARE * whole else body


def said(part: turbohtml.Element | None) -> str:
    """All that a part says, with the blanks of its markup: hashes and likeness need no more."""
    return part.text if part else ""


def plain_text(decoded: str) -> str:
    """The text of a body that is nothing else; empty where it is not text, whatever its type says."""
    return "" if "\0" in decoded[:_LOOKED_AT] else decoded.strip()


def _marked(tree: Tree) -> turbohtml.Element | None:
    """What the page itself calls its main part. Of several articles none is."""
    main = tree.select_one(_MAIN)
    if main:
        return main
    articles = tree.select("article")
    return articles[0] if len(articles) == 1 else None


def lines(root: turbohtml.Element | None) -> str:
    """The text of a part to be read and compared, each block on a line of its own."""
    if root is None:
        return ""
    for element in root.iter_elements(_LAID_OUT, include_self=True):
        element.tag = "div"
    text = root.to_text(_PLAIN).replace("\xa0", " ").replace("\t", " ")
    while "  " in text:
        text = text.replace("  ", " ")
    return "\n".join(filter(None, map(str.strip, text.split("\n"))))
