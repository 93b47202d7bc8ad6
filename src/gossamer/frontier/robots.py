"""What a robots.txt allows: RFC 9309, pure.

Rules of one product token are merged over the whole file; `*` speaks for tokens that no group names. Of the rules that
match a path the longest decides, and Allow wins a tie. A pattern is matched piece by piece with `str.find`, never by a
regular expression, so that a hostile file cannot make a verdict slow.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import NamedTuple

from gossamer.model import Error, Fault, RobotsVerdict, product_token

__all__ = [
    "MAX_HOPS",
    "MAX_ROBOTS",
    "RobotsRules",
    "judge_robots",
    "parse_robots",
    "product_token",
]

MAX_ROBOTS = 512 * 1024
"""Bytes of a robots.txt that are read. RFC 9309 2.5 asks for at least 500 KiB."""
MAX_HOPS = 5
"""Redirects that a robots.txt is followed through."""

_BOM = b"\xef\xbb\xbf"
_TOKEN = re.compile(rb"[A-Za-z0-9_-]+")
# Misspellings that are common enough in the wild for Google's parser to accept them.
_KEYS = {
    **dict.fromkeys((b"user-agent", b"useragent", b"user agent"), "user-agent"),
    **dict.fromkeys((b"disallow", b"dissallow", b"dissalow", b"disalow", b"diasllow", b"disallaw"), "disallow"),
    **dict.fromkeys((b"sitemap", b"site-map"), "sitemap"),
    b"allow": "allow",
    b"crawl-delay": "crawl-delay",
}

# All that may stand in a path as it is. `*` and `$` are not among them: in a URL they are plain characters, which a
# pattern spells %2A and %24 (RFC 9309 2.2.3).
_SPELT = re.compile(r"[A-Za-z0-9\-._~/?#\[\]@!&'()+,;=:]*")
_TO_SPELL = re.compile(r"%[0-9A-Fa-f]{2}|[^A-Za-z0-9\-._~/?#\[\]@!&'()+,;=:]")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


class Rule(NamedTuple):
    """One Allow or Disallow. `pieces` are what stands between the stars of its pattern."""

    allow: bool
    text: str
    length: int
    pieces: tuple[str, ...]
    anchored: bool

    def matches(self, path: str) -> bool:
        first, *rest = self.pieces
        if not path.startswith(first):
            return False
        if self.anchored and not rest:
            return path == first
        # The leftmost place for each piece leaves the most room for the next one, so nothing is ever tried twice.
        last = rest.pop() if self.anchored else ""
        at = len(first)
        for piece in rest:
            at = path.find(piece, at)
            if at < 0:
                return False
            at += len(piece)
        return path.endswith(last) and at <= len(path) - len(last)


class Group:
    """The rules for one product token."""

    def __init__(self) -> None:
        self.rules: list[Rule] = []
        self.delay: float | None = None
        self._prefixes: dict[str, Rule] = {}
        self._lengths: list[int] = []
        self._patterns: list[Rule] = []

    def index(self) -> None:
        """Plain prefixes are looked up, one look for each length that occurs; only real patterns are walked through."""
        ranked = sorted(self.rules, key=lambda rule: (-rule.length, not rule.allow))
        for rule in ranked:
            if len(rule.pieces) == 1 and not rule.anchored:
                self._prefixes.setdefault(rule.pieces[0], rule)
            else:
                self._patterns.append(rule)
        self._lengths = sorted({len(prefix) for prefix in self._prefixes}, reverse=True)

    def decide(self, path: str) -> Rule | None:
        prefix = self._longest_prefix(path)
        for rule in self._patterns:
            if prefix and (rule.length, rule.allow) <= (prefix.length, prefix.allow):
                break
            if rule.matches(path):
                return rule
        return prefix

    def _longest_prefix(self, path: str) -> Rule | None:
        find = self._prefixes.get
        for length in self._lengths:
            rule = find(path[:length])
            if rule is not None:
                return rule
        return None


class RobotsRules:
    """A robots.txt, read. Ask it with a product token, and with path and query of a URL."""

    def __init__(self, groups: dict[str, Group], sitemaps: tuple[str, ...]) -> None:
        self._groups = groups
        self.sitemaps = sitemaps
        for group in {id(group): group for group in groups.values()}.values():
            group.index()

    def allowed(self, token: str, path: str) -> bool:
        return self.verdict(token, path)[0]

    def verdict(self, token: str, path: str) -> tuple[bool, str | None]:
        """Whether the path may be fetched, and the rule that says so, where one does."""
        group = self._group(token)
        if group is None or path.partition("?")[0] == "/robots.txt":
            return True, None
        rule = group.decide(_spell_path(path))
        return (True, None) if rule is None else (rule.allow, rule.text)

    def crawl_delay(self, token: str) -> float | None:
        group = self._group(token)
        return group.delay if group else None

    def _group(self, token: str) -> Group | None:
        return self._groups.get(token.lower()) or self._groups.get("*")


def parse_robots(body: bytes) -> RobotsRules:
    """Read a robots.txt. Lines that make no sense are passed over, as is everything beyond MAX_ROBOTS."""
    groups: dict[str, Group] = {}
    sitemaps: dict[str, None] = {}
    named: list[Group] = []
    closed = False
    for key, value in _lines(body):
        if key == "sitemap":
            sitemaps[value.decode("utf-8", "replace")] = None
        elif key == "user-agent":
            named = [] if closed else named
            closed = False
            named.extend(_group_named(value, groups))
        else:
            # Crawl-delay is no record of the RFC, but a group that has one has begun to speak: `User-agent` after it
            # opens another. Otherwise the Disallow of the next group would fall on this one too.
            closed = True
            _add(key, value, named)
    return RobotsRules(groups, tuple(sitemaps))


def judge_robots(status: int | None, error: Error | None, body: bytes) -> RobotsVerdict:
    """What an answer to a request for robots.txt means, once its redirects have been followed.

    A status of 3xx is a redirect that led nowhere, or on after MAX_HOPS: RFC 9309 2.3.1.2 lets a crawler take the file
    as unavailable then, which by 2.3.1.3 restricts nothing. Whatever leaves open what the file says (2.3.1.4) is
    UNREACHABLE, and so is 429, which is no statement on the file.
    """
    cut_short = error is not None and error.fault is Fault.TOO_LARGE and body
    if status is None or (error is not None and not cut_short):
        return RobotsVerdict.UNREACHABLE
    if 200 <= status < 300:
        return RobotsVerdict.RULES
    if 300 <= status < 500 and status != 429:
        return RobotsVerdict.ALLOW_ALL
    return RobotsVerdict.UNREACHABLE


def _lines(body: bytes) -> Iterator[tuple[str, bytes]]:
    body = body.removeprefix(_BOM)
    if len(body) > MAX_ROBOTS:
        # The line that the cut went through could say the opposite of what it meant.
        body = body[: 1 + max(body.rfind(b"\n", 0, MAX_ROBOTS), body.rfind(b"\r", 0, MAX_ROBOTS))]
    for line in body.splitlines():
        line = line.partition(b"#")[0].strip()
        name, colon, value = line.partition(b":")
        if not colon:
            name, _, value = line.partition(b" ")
        key = _KEYS.get(name.strip().lower())
        if key:
            yield key, value.strip()


def _group_named(value: bytes, groups: dict[str, Group]) -> list[Group]:
    if value[:1] == b"*":
        name = "*" if value[1:2].isspace() or len(value) == 1 else ""
    else:
        match = _TOKEN.match(value)
        name = match[0].decode().lower() if match else ""
    return [groups.setdefault(name, Group())] if name else []


def _add(key: str, value: bytes, groups: list[Group]) -> None:
    if key == "crawl-delay":
        _add_delay(value, groups)
    elif value[:1] in (b"/", b"*"):
        rule = _rule(key == "allow", value)
        for group in groups:
            group.rules.append(rule)


def _add_delay(value: bytes, groups: list[Group]) -> None:
    try:
        delay = float(value)
    except ValueError:
        return
    if math.isfinite(delay) and delay >= 0:
        for group in groups:
            group.delay = max(delay, group.delay or 0.0)


def _rule(allow: bool, value: bytes) -> Rule:
    anchored = value.endswith(b"$")
    raw = value.removesuffix(b"$").decode("latin-1").split("*")
    pieces = tuple(_spell(piece) for piece in raw)
    length = sum(map(len, pieces)) + len(pieces) - 1 + anchored
    text = f"{'Allow' if allow else 'Disallow'}: {value.decode('utf-8', 'replace')}"
    # An empty piece between two stars asks for nothing.
    kept = (pieces[0], *(piece for piece in pieces[1:-1] if piece), *pieces[1:][-1:])
    return Rule(allow, text, length, kept, anchored)


def _spell_path(path: str) -> str:
    if _SPELT.fullmatch(path):
        return path
    return _spell(path.encode("utf-8", "replace").decode("latin-1"))


def _spell(octets: str) -> str:
    """One spelling for what RFC 9309 2.2.2 compares as equal. Each character stands for one octet."""
    return octets if _SPELT.fullmatch(octets) else _TO_SPELL.sub(_spell_one, octets)


def _spell_one(match: re.Match[str]) -> str:
    text = match[0]
    if len(text) == 3:
        char = chr(int(text[1:], 16))
        return char if char in _UNRESERVED else text.upper()
    return "%" if text == "%" else f"%{ord(text):02X}"
