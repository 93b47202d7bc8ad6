"""llms.txt and llms-full.txt: the links of a Markdown file, line by line."""

from __future__ import annotations

import re

from gossamer.parse.guides.lines import Lines
from gossamer.parse.guides.listing import Enough, Listing

_INLINE = re.compile(r"(!?)\[[^\[\]]*+\]\(\s*(?:<([^<>]*)>|((?:[^\s()]|\([^\s()]*\))+))")
_AROUND_IMAGE = re.compile(r"\)\]\(\s*(?:<([^<>]*)>|((?:[^\s()]|\([^\s()]*\))+))")
_DEFINITION = re.compile(r" {0,3}\[[^\[\]^][^\[\]]*\]:\s*(?:<([^<>]*)>|(\S+))")
_AUTOLINK = re.compile(r"<(https?://[^\s<>]*)>", re.IGNORECASE)
_ORIGIN = re.compile(r"\s*(?:source|url):\s*(https?://\S+)\s*", re.IGNORECASE)
"""How llms-full.txt says where the text below it is from."""
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")


class Llms:
    def __init__(self, listing: Listing) -> None:
        self._listing = listing
        self._lines = Lines()
        self._fence = ""
        self._begun = False

    def feed(self, data: bytes) -> None:
        for line in self._lines.feed(data):
            self._read(line)

    def close(self) -> None:
        for line in self._lines.close():
            self._read(line)
        if not self._begun:
            self._listing.note("it is empty")

    def _read(self, line: str) -> None:
        if not self._begun and line.strip():
            self._begun = True
            _check_beginning(line)
        if not self._is_code(line):
            for href in _links(line):
                self._listing.add(href)

    def _is_code(self, line: str) -> bool:
        """Within a fence, or one itself. A fence ends with one of its kind, no shorter, and nothing behind it."""
        match = _FENCE.match(line)
        if not self._fence:
            self._fence = match[1] if match else ""
            return bool(match)
        if match and match[1].startswith(self._fence) and not match[2].strip():
            self._fence = ""
        return True


def _check_beginning(line: str) -> None:
    if line.lstrip().lower().startswith(("<!doctype", "<html")):
        raise Enough("an HTML page, and no Markdown")


def _links(line: str) -> list[str]:
    if "](" not in line and "]:" not in line and "://" not in line:
        return []
    found = [match[2] or match[3] for match in _INLINE.finditer(line) if not match[1]]
    found += [match[1] or match[2] for match in _AROUND_IMAGE.finditer(line)]
    definition, origin = _DEFINITION.match(line), _ORIGIN.fullmatch(line)
    found += [definition[1] or definition[2]] if definition else []
    found += [origin[1]] if origin else []
    return [href.strip() for href in (*found, *_AUTOLINK.findall(line)) if href]
