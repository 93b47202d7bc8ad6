"""A second, small reader of robots files (RFC 9309): the known answer must not rest on the parser that it judges."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache


def allows(rules: str, path: str, agent: str = "gossamer") -> bool:
    """Whether `agent` may fetch `path` (with its query): the longest match decides, and Allow wins a tie."""
    matches = [(length, allow) for length, allow, pattern in _rules_for(rules, agent.lower()) if pattern.match(path)]
    return max(matches, default=(0, True))[1]


@lru_cache(maxsize=1024)
def _rules_for(rules: str, agent: str) -> list[tuple[int, bool, re.Pattern[str]]]:
    groups = list(_groups(rules))
    name = agent if any(agent in agents for agents, _ in groups) else "*"
    own = [rule for agents, found in groups if name in agents for rule in found]
    return [(len(pattern), allow, _compiled(pattern)) for allow, pattern in own]


def _groups(rules: str) -> Iterator[tuple[set[str], list[tuple[bool, str]]]]:
    agents: set[str] = set()
    found: list[tuple[bool, str]] = []
    open_head = False
    for key, value in _lines(rules):
        if key == "user-agent":
            if not open_head:
                yield agents, found
                agents, found = set(), []
            agents.add(value.lower())
            open_head = True
        elif key in ("allow", "disallow"):
            open_head = False
            if value:
                found.append((key == "allow", value))
    yield agents, found


def _lines(rules: str) -> Iterator[tuple[str, str]]:
    for line in rules.splitlines():
        key, colon, value = line.partition("#")[0].partition(":")
        if colon:
            yield key.strip().lower(), value.strip()


def _compiled(pattern: str) -> re.Pattern[str]:
    ending = "$" if pattern.endswith("$") else ""
    pieces = pattern.removesuffix("$").split("*")
    return re.compile(".*".join(map(re.escape, pieces)) + ending)
