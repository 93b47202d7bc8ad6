"""Bytes to text, by the encoding standard.

The order of belief: byte order mark, Content-Type header, a meta element or XML declaration at the start of the bytes,
and then a guess. Names are those of the standard in lower case, decoders are the standard's too: `latin1` is
windows-1252, whatever Python's codec of that name does.
"""

from __future__ import annotations

import codecs
import re
from functools import lru_cache

import turbohtml
import turbohtml.detect

_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_BE, "utf-16be"), (codecs.BOM_UTF16_LE, "utf-16le"))
_FALLBACK = "windows-1252"
_PRESCAN = 1_024
_LATE = 65_536
"""How far a guess looks: enough to tell, and bounded."""

_CHARSET = re.compile(r"""charset\s*=\s*["']?\s*([^\s"';,]+)""", re.IGNORECASE)
# What is never closed reaches to the end: else each start of a hostile page would be followed there again.
_META = re.compile(rb"""<!--(?s:.*?)(?:-->|\Z)|<meta(?=[\s/])((?:"[^"]*"|'[^']*'|[^>])*+)(?:>|\Z)""", re.IGNORECASE)
_ATTRIBUTE = re.compile(rb"""([^\s=/"']+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"']+))""")
_XML = re.compile(rb"""<\?xml\s[^>]*?encoding\s*=\s*["']([^"'>]+)["']""")


def decode(body: bytes, content_type: str | None = None) -> tuple[str, str]:
    """The text of a body, and the name of the charset it was read in. Bytes that make no sense become U+FFFD."""
    for mark, name in _BOMS:
        if body.startswith(mark):
            return _decode(body[len(mark) :], name), name
    name = charset_of(content_type) or _declared(body[:_PRESCAN]) or _guess(body)
    return _decode(body, name), name


def charset_of(content_type: str | None) -> str | None:
    """The charset that a Content-Type names, if it is one that exists."""
    match = _CHARSET.search(content_type) if content_type else None
    return name_of(match[1]) if match else None


@lru_cache(maxsize=512)
def name_of(label: str) -> str | None:
    """The name of the charset that a label stands for in the encoding standard, in lower case."""
    try:
        name = turbohtml.parse(b"", encoding=label).encoding
    except (LookupError, ValueError):
        return None
    return name.lower() if name else None


def _decode(body: bytes, name: str) -> str:
    if name == "utf-8":
        return body.decode("utf-8", "replace")
    return body.decode(f"whatwg-{name}", "replace")


def _declared(head: bytes) -> str | None:
    if head.startswith(b"<\0?\0x\0"):
        return "utf-16le"
    if head.startswith(b"\0<\0?\0x"):
        return "utf-16be"
    return _declared_by_meta(head) or _declared_by_xml(head)


def _declared_by_meta(head: bytes) -> str | None:
    for match in _META.finditer(head):
        closed = match[1] and match[0].endswith(b">")
        name = _as_read(_meta_label(match[1][:_PRESCAN])) if closed else None
        if name:
            return name
    return None


@lru_cache(maxsize=512)
def _meta_label(markup: bytes) -> str | None:
    attributes: dict[bytes, str] = {}
    for key, *values in _ATTRIBUTE.findall(markup):
        attributes.setdefault(key.lower(), b"".join(values).decode("latin-1"))
    if b"charset" in attributes:
        return attributes[b"charset"]
    if attributes.get(b"http-equiv", "").strip().lower() != "content-type":
        return None
    match = _CHARSET.search(attributes.get(b"content", ""))
    return match[1] if match else None


def _declared_by_xml(head: bytes) -> str | None:
    match = _XML.match(head)
    return _as_read(match[1].decode("latin-1")) if match else None


def _as_read(label: str | None) -> str | None:
    """A declaration that could be read as ASCII cannot be in UTF-16, and x-user-defined is never meant."""
    name = name_of(label) if label else None
    if name in ("utf-16le", "utf-16be"):
        return "utf-8"
    return _FALLBACK if name == "x-user-defined" else name


def _guess(body: bytes) -> str:
    if _is_utf8(body):
        return "utf-8"
    # Browsers start again when they meet a late declaration; it still knows better than any statistics.
    late = _declared_by_meta(body[:_LATE])
    if late:
        return late
    found = turbohtml.detect.detect(body[:_LATE]).encoding
    return (name_of(found) if found else None) or _FALLBACK


def _is_utf8(body: bytes) -> bool:
    try:
        # A body that was cut off may end in the middle of a character.
        codecs.utf_8_decode(body, "strict", False)
    except UnicodeDecodeError:
        return False
    return True
