"""The few marks that the example site is written with, as HTML: headings, lists, tables, fences, quotes, links."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from html import escape

_LINK = re.compile(r"\[([^\]]+)\]\(([^)\s]+)\)")
_STRONG = re.compile(r"\*\*([^*]+)\*\*")
_EMPHASIS = re.compile(r"\*([^*]+)\*")
_FENCE = "```"


def to_html(text: str) -> str:
    return "\n".join(_render(block) for block in _blocks(text))


def _blocks(text: str) -> Iterator[list[str]]:
    """Runs of lines between blank ones; a fenced block is one run, blank lines and all."""
    block: list[str] = []
    fenced = False
    for line in [*text.splitlines(), ""]:
        if line.startswith(_FENCE):
            fenced = not fenced
        if line.strip() or fenced:
            block.append(line)
        elif block:
            yield block
            block = []


def _render(lines: list[str]) -> str:
    return next((render(lines) for mark, render in _KINDS if re.match(mark, lines[0])), f"<p>{_joined(lines)}</p>")


def _fence(lines: list[str]) -> str:
    language = lines[0].removeprefix(_FENCE).strip()
    code = escape("\n".join(lines[1:-1]))
    return f'<pre><code class="language-{language}">{code}</code></pre>'


def _heading(lines: list[str]) -> str:
    marks, _, text = lines[0].partition(" ")
    return f'<h{len(marks)} id="{_slug(text)}">{inline(text)}</h{len(marks)}>'


def _bullets(lines: list[str]) -> str:
    return f"<ul>\n{_items(lines, '- ')}\n</ul>"


def _numbers(lines: list[str]) -> str:
    return f"<ol>\n{_items(lines, r'[0-9]+[.] ')}\n</ol>"


def _items(lines: list[str], mark: str) -> str:
    items = re.split(f"(?m)^{mark}", "\n".join(lines))[1:]
    return "\n".join(f"<li>{_joined(item.splitlines())}</li>" for item in items)


def _quote(lines: list[str]) -> str:
    return f"<blockquote><p>{_joined([line.removeprefix('>') for line in lines])}</p></blockquote>"


def _table(lines: list[str]) -> str:
    head, _, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)
    body = "\n".join(_row(row, "td") for row in rows)
    return f"<table>\n<thead>{_row(head, 'th')}</thead>\n<tbody>\n{body}\n</tbody>\n</table>"


def _row(cells: list[str], tag: str) -> str:
    return "<tr>" + "".join(f"<{tag}>{inline(cell)}</{tag}>" for cell in cells) + "</tr>"


def _joined(lines: list[str]) -> str:
    return inline(" ".join(line.strip() for line in lines))


def inline(text: str) -> str:
    """Code, links, strong and emphasis within a line. What stands between backticks is left alone."""
    pieces = text.split("`")
    return "".join(
        f"<code>{escape(piece)}</code>" if number % 2 else _marks(piece) for number, piece in enumerate(pieces)
    )


def _marks(text: str) -> str:
    text = _LINK.sub(r'<a href="\2">\1</a>', escape(text, quote=False))
    return _EMPHASIS.sub(r"<em>\1</em>", _STRONG.sub(r"<strong>\1</strong>", text))


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


_KINDS: tuple[tuple[str, Callable[[list[str]], str]], ...] = (
    (_FENCE, _fence),
    (r"#+ ", _heading),
    (r"- ", _bullets),
    (r"[0-9]+\. ", _numbers),
    (r"> ", _quote),
    (r"\|", _table),
)
