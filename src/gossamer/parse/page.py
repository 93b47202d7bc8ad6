"""One response in, one reading out: what a page says, where it leads, and what it asks of a crawler."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

import xxhash

from gossamer.model import Document, Error, Fault, Reading, RequestOptions, Response, product_token
from gossamer.parse import charset, html
from gossamer.parse.directives import directives
from gossamer.parse.fingerprint import fingerprint
from gossamer.parse.missing import says_missing
from gossamer.parse.text import lines, main_part, plain_text, said
from gossamer.url import resolve_each, resolve_one

_IMMEDIATE = 5
"""Seconds up to which a meta refresh is a redirect, and not a page that renews itself."""
_MAX_TITLE = 500
_MAX_DESCRIPTION = 2_000
_MAX_LANGUAGE = 35
_BLANKS = b" \t\n\r\f\v"
_MAX_TEXT = 1_000_000
_HEAD = 2_048

_HTML_TYPES = frozenset({"text/html", "application/xhtml+xml", "application/vnd.wap.xhtml+xml"})
_VAGUE_TYPES = frozenset({"", "*/*", "unknown/unknown", "application/unknown", "application/octet-stream"})
_PLAIN_TYPES = frozenset({"text/plain", "text/xml", "application/xml"})
_TEXT_TYPES = frozenset({"text/plain", "text/markdown", "text/x-markdown"})

_PROLOGUE = rb"\s*(?:(?:<\?.*?\?>|<!--.*?-->)\s*)*+"
_IS_HTML = re.compile(_PROLOGUE + rb"<(?:!doctype\s+html|html)[\s>]", re.IGNORECASE | re.DOTALL)
_STARTS = rb"!doctype\s+html|html|head|body|title|meta|link|base|script|style|div|table|iframe|font|h1|p|a|br|b"
_LOOKS_LIKE_HTML = re.compile(_PROLOGUE + rb"<(?:" + _STARTS + rb")[\s/>]", re.IGNORECASE | re.DOTALL)
_LINK = re.compile(r"""<([^<>]*)>((?:[^,"<]|"[^"]*")*+)""")
_REL = re.compile(r""";\s*rel\s*=\s*(?:"([^"]*)"|([^\s;,"]+))""", re.IGNORECASE)


def read(url: str, response: Response, options: RequestOptions) -> Reading:
    """Read the body of a response to `url`, a normalised URL. Never raises: a page that cannot be read says so."""
    try:
        if is_html(response):
            return _read_html(url, response, options)
        return _read_other(url, response, options)
    except Exception as error:
        text = f"The page could not be read ({type(error).__name__}: {error})."
        return Reading(error=Error(fault=Fault.PARSE, text=text))


def is_html(response: Response) -> bool:
    """Whether the body is HTML by its type or, where the type says little or is often wrong, by its first bytes."""
    kind = _kind(response)
    if kind in _HTML_TYPES:
        return True
    head = response.body[:_HEAD].removeprefix(b"\xef\xbb\xbf")
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        head = head[2:].replace(b"\0", b"")
    if kind in _VAGUE_TYPES:
        return _LOOKS_LIKE_HTML.match(head) is not None
    return kind in _PLAIN_TYPES and _IS_HTML.match(head) is not None


def _kind(response: Response) -> str:
    return (response.header("content-type") or "").partition(";")[0].strip().lower()


def _read_other(url: str, response: Response, options: RequestOptions) -> Reading:
    text, encoding = _text(response)
    asked = directives(product_token(options.user_agent), (), _all(response, "x-robots-tag"))
    document = Document(
        language=_language(response.header("content-language")),
        canonical=_linked_canonical(url, response, options.dropped),
        text=_kept(text) if options.content else None,
        hash=_hash(None, text, response.body),
        charset=encoding,
    )
    return Reading(
        document=document,
        noindex=asked.noindex,
        nofollow=asked.nofollow,
        fingerprint=fingerprint(response.body, text),
    )


def _text(response: Response) -> tuple[str, str | None]:
    """The text of a body that is nothing else, and the charset, if it is known."""
    content_type = response.header("content-type")
    if _kind(response) not in _TEXT_TYPES:
        return "", charset.charset_of(content_type)
    decoded, encoding = charset.decode(response.body, content_type)
    return plain_text(decoded), encoding


def _read_html(url: str, response: Response, options: RequestOptions) -> Reading:
    markup, encoding = charset.decode(response.body, response.header("content-type"))
    tree = html.parse(markup)
    metas = html.metas(tree)
    named = dict(reversed(metas))
    drop = options.dropped
    base = resolve_one(url, html.base(tree) or "") or url
    refresh, later = _refreshed(url, base, html.refresh(tree), drop)
    links, nofollow_links = _links(base, later | html.mentions(tree), drop)
    asked = directives(product_token(options.user_agent), metas, _all(response, "x-robots-tag"))
    title = _short(html.title(tree) or named.get("og:title"), _MAX_TITLE)
    heading = _short(html.heading(tree), _MAX_TITLE)
    canonical = resolve_one(base, html.canonical(tree) or "", drop=drop) or _linked_canonical(url, response, drop)
    language = _language(html.language(tree)) or _language(response.header("content-language"))
    part = main_part(tree)
    text = said(part)
    document = Document(
        title=title,
        description=_short(named.get("description") or named.get("og:description"), _MAX_DESCRIPTION),
        language=language,
        canonical=canonical,
        text=_kept(lines(part)) if options.content else None,
        hash=_hash(title, text, response.body),
        charset=encoding,
        links=links,
    )
    return Reading(
        document=document,
        nofollow_links=nofollow_links,
        noindex=asked.noindex,
        nofollow=asked.nofollow,
        refresh=refresh,
        fingerprint=fingerprint(response.body, text, "\n".join(filter(None, [title, heading]))),
        looks_missing=says_missing(title) or says_missing(heading),
    )


def _links(base: str, mentions: dict[str, bool], drop: frozenset[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """All targets in order, and those that no mention lets us follow: two hrefs may spell one URL."""
    found: dict[str, bool] = {}
    for href, target in resolve_each(base, mentions, drop=drop).items():
        found[target] = mentions[href] or found.get(target, False)
    return tuple(found), tuple(target for target, follow in found.items() if not follow)


def _refreshed(
    url: str, base: str, refresh: html.Refresh | None, drop: frozenset[str]
) -> tuple[str | None, dict[str, bool]]:
    """Where a meta refresh leads at once, or else the link that it is."""
    if refresh is None:
        return None, {}
    if refresh.delay > _IMMEDIATE:
        return None, {refresh.href: True}
    target = resolve_one(base, refresh.href, drop=drop)
    return (target if target != url else None), {}


def _linked_canonical(url: str, response: Response, drop: frozenset[str]) -> str | None:
    for header in _all(response, "link"):
        for href, parameters in _LINK.findall(header):
            rel = _REL.search(parameters)
            if rel and "canonical" in (rel[1] or rel[2]).lower().split():
                return resolve_one(url, href, drop=drop)
    return None


def _all(response: Response, name: str) -> Iterator[str]:
    return (value for key, value in response.headers if key == name)


def _kept(text: str) -> str | None:
    return text[:_MAX_TEXT] or None


def _hash(title: str | None, text: str, body: bytes) -> str:
    """Of all of the text, also where only a part of it is kept, but not of the blanks in it."""
    said = text.encode("utf-8", "replace").translate(None, _BLANKS)
    return xxhash.xxh3_128_hexdigest((title or "").encode("utf-8", "replace") + b"\n" + said if said else body)


@lru_cache(maxsize=512)
def _language(value: str | None) -> str | None:
    """The first language of a list, if it could be one."""
    first = (value or "").partition(",")[0].strip()
    return first if 0 < len(first) <= _MAX_LANGUAGE and first.replace("-", "").replace("_", "").isalnum() else None


def _short(text: str | None, limit: int) -> str | None:
    """On one line, and no longer than a person would read."""
    line = " ".join((text or "")[: 32 * limit].split())
    return line[:limit].rstrip() or None
