"""From the description of a page to the bytes of its answer."""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Sequence
from html import escape
from random import Random
from typing import TYPE_CHECKING
from urllib.parse import unquote

from gossamer.testing.web.site import Link, Page, Style, Where

if TYPE_CHECKING:
    from gossamer.testing.web.world import Web

_TEXT = """
    thread silk anchor spiral frame radius hub dew morning garden orchard lantern harbour meadow ribbon signal
    pattern weaver loom shuttle balance tension corner window bridge river stone copper quiet patient careful
    light
"""
_WORDS = _TEXT.split()

_LOCAL_TEXT = {
    "iso-8859-1": "Un été à la forêt, où naît l'écho.",
    "windows-1251": "Паук плетёт паутину.",
    "shift_jis": "蜘蛛は朝に巣を張る。",
    "utf-16": "Ιστός αράχνης στο φως.",
}

_REASONS = {
    200: "OK",
    301: "Moved Permanently",
    302: "Found",
    304: "Not Modified",
    404: "Not Found",
    429: "Too Many Requests",
}


def answer_bytes(status: int, headers: Sequence[tuple[str, str]], body: bytes = b"") -> bytes:
    lines = [f"HTTP/1.1 {status} {_REASONS.get(status, 'Answer')}"]
    length = () if status == 304 else (("Content-Length", str(len(body))),)
    lines += [f"{name}: {value}" for name, value in (*headers, *length)]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


def page_bytes(web: Web, host: int, page: Page, *, gzipped: bool) -> bytes:
    """The whole answer of a page."""
    headers = list(_headers(web, host, page))
    body = _body(web, host, page) if page.body is None else page.body.replace(b"$ORIGIN", web.origins[host].encode())
    if gzipped:
        headers.append(("Content-Encoding", "gzip"))
        body = gzip.compress(body, 6, mtime=0)
    return answer_bytes(page.status, headers, body)


def _headers(web: Web, host: int, page: Page) -> Iterator[tuple[str, str]]:
    charset = f"; charset={page.charset}" if page.charset_in is Where.HEADER and "text/" in page.content_type else ""
    yield "Content-Type", page.content_type + charset
    if page.location:
        yield "Location", href(web, host, page, page.location)
    if page.robots and page.robots_in is Where.HEADER:
        yield "X-Robots-Tag", page.robots


def href(web: Web, host: int, page: Page, link: Link) -> str:
    """The link as this page writes it."""
    if link.host is None:
        return link.path
    absolute = web.url(link.host, link.path)
    if link.host != host and link.style not in (Style.NETWORK, Style.TRACKING):
        return absolute
    return _written(link, absolute, page.base or page.path)


def _written(link: Link, absolute: str, seen_from: str) -> str:
    path = link.path
    match link.style:
        case Style.ABSOLUTE:
            return absolute
        case Style.NETWORK:
            return absolute.removeprefix("http:")
        case Style.ROOTED:
            return path
        case Style.RELATIVE:
            return _relative(path, seen_from)
        case Style.DOTTED:
            return f"/./aside/..{path}"
        case Style.FRAGMENT:
            return f"{path}#part-2"
        case Style.TRACKING:
            return f"{absolute}{'&' if '?' in path else '?'}utm_source=web&utm_campaign=spring"
        case Style.ESCAPED:
            return f"/%{ord(path[1]):02x}{path[2:]}" if path[1:2].isalpha() else path
        case Style.DECODED:
            return unquote(path)


def _relative(path: str, seen_from: str) -> str:
    folder = seen_from.partition("?")[0].rpartition("/")[0] + "/"
    if path.startswith(folder):
        return path[len(folder) :] or "./"
    return "../" * (folder.count("/") - 1) + path[1:]


def _body(web: Web, host: int, page: Page) -> bytes:
    words = Random(f"{host} {page.path}")  # noqa: S311
    if page.content_type == "text/html":
        return _html(web, host, page, words).encode(page.charset, "xmlcharrefreplace")
    if page.content_type.startswith("text/"):
        return "\n\n".join(_paragraph(words) for _ in range(3)).encode(page.charset)
    if page.content_type == "application/pdf":
        return b"%PDF-1.4\n" + words.randbytes(600) + b"\n%%EOF\n"
    return words.randbytes(600)


def _html(web: Web, host: int, page: Page, words: Random) -> str:
    title = f"{words.choice(_WORDS).title()} {words.choice(_WORDS)} {page.path}"
    links = "\n".join(f"<li>{_anchor(href(web, host, page, link), link, words)}</li>" for link in page.links)
    text = "\n".join(f"<p>{_paragraph(words)}</p>" for _ in range(3))
    return (
        f"<!doctype html>\n<html lang=en>\n<head>\n{_head(web, host, page)}<title>{escape(title)}</title>\n</head>\n"
        f"<body>\n<main>\n<h1>{escape(title)}</h1>\n{text}\n<p>{_LOCAL_TEXT.get(page.charset, '')}</p>\n"
        f"<ul>\n{links}\n</ul>\n</main>\n</body>\n</html>\n"
    )


def _head(web: Web, host: int, page: Page) -> str:
    head = f'<meta charset="{page.charset}">\n' if page.charset_in is Where.META else ""
    if page.robots and page.robots_in is Where.META:
        head += f'<meta name="robots" content="{page.robots}">\n'
    if page.base:
        head += f'<base href="{web.url(host, page.base)}">\n'
    return head


def _anchor(address: str, link: Link, words: Random) -> str:
    rel = ' rel="nofollow"' if link.nofollow else ""
    return f'<a href="{escape(address)}"{rel}>{words.choice(_WORDS)} {words.choice(_WORDS)}</a>'


def _paragraph(words: Random) -> str:
    sentences = (" ".join(words.choices(_WORDS, k=words.randint(6, 14))).capitalize() for _ in range(4))
    return ". ".join(sentences) + "."
