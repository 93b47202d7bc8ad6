"""What a page asks of crawlers, in meta robots and X-Robots-Tag.

Both speak to all crawlers or to one by its product token. Where several apply, the strictest holds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

_AGENT = re.compile(r"\s*([A-Za-z0-9_-]+)\s*:")
_WORDS = re.compile(r"[^\s,;:]+")
# These have a value after a colon, and are not the name of a crawler.
_VALUED = frozenset({"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"})


class Directives(NamedTuple):
    noindex: bool = False
    nofollow: bool = False


def directives(token: str, metas: Iterable[tuple[str, str]], headers: Iterable[str]) -> Directives:
    """What holds for the crawler called `token`, from named meta elements and from X-Robots-Tag headers."""
    token = token.lower()
    words: set[str] = set()
    for name, content in metas:
        if name in ("robots", token):
            words.update(_WORDS.findall(content.lower()))
    for header in headers:
        words |= _header_words(token, header)
    none = "none" in words
    return Directives(none or "noindex" in words, none or "nofollow" in words)


def _header_words(token: str, header: str) -> set[str]:
    words: set[str] = set()
    meant = True
    for part in header.lower().split(","):
        agent = _AGENT.match(part)
        if agent and agent[1] not in _VALUED:
            meant = agent[1] == token
            part = part[agent.end() :]
        if meant:
            words.update(_WORDS.findall(part))
    return words
