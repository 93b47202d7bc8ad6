"""A page with a version, and its answer to one who may know it already."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from email.utils import parsedate_to_datetime
from enum import StrEnum
from html import escape
from math import ceil
from wsgiref.handlers import format_date_time

import msgspec

from gossamer.testing.web.protocol import Answer, Ask
from gossamer.testing.web.render import answer_bytes


class Validator(StrEnum):
    """What a page says of its version. A strong tag stands for its bytes, a weak one and a date for what it says."""

    STRONG = "strong"
    WEAK = "weak"
    DATE = "date"
    BOTH = "both"
    """A strong tag and a date."""
    NONE = "none"


class Sheet(msgspec.Struct, frozen=True, kw_only=True):
    """A page as it is now."""

    validator: Validator
    modified: float
    title: str
    text: str
    links: tuple[str, ...] = ()

    def answer(self, ask: Ask, noise: str = "") -> Answer:
        """`noise` stands in a footer: other bytes, the same text."""
        body = self._html(noise).encode()
        versions = list(self._versions(body))
        if self._known(ask, dict(versions)):
            return Answer(status=304, data=answer_bytes(304, versions))
        headers = (("Content-Type", "text/html; charset=utf-8"), *versions)
        return Answer(status=200, data=answer_bytes(200, headers, body))

    def _versions(self, body: bytes) -> Iterator[tuple[str, str]]:
        if self.validator in (Validator.STRONG, Validator.BOTH):
            yield "ETag", f'"{_digest(body)}"'
        if self.validator is Validator.WEAK:
            yield "ETag", f'W/"{_digest(self._html("").encode())}"'
        if self.validator in (Validator.DATE, Validator.BOTH):
            yield "Last-Modified", format_date_time(ceil(self.modified))

    def _known(self, ask: Ask, versions: dict[str, str]) -> bool:
        # RFC 9110 13.2.2: where there is a tag to compare, the date is not looked at.
        if tags := ask.header("if-none-match"):
            known = {tag.strip().removeprefix("W/") for tag in tags.split(",")}
            return "*" in known or versions.get("ETag", "none").removeprefix("W/") in known
        since = _seconds(ask.header("if-modified-since"))
        return "Last-Modified" in versions and since is not None and since >= ceil(self.modified)

    def _html(self, noise: str) -> str:
        links = "\n".join(f'<li><a href="{escape(path)}">{escape(path)}</a></li>' for path in self.links)
        footer = f"<footer>{escape(noise)}</footer>\n" if noise else ""
        return (
            f"<!doctype html>\n<html lang=en>\n<head>\n<meta charset=utf-8>\n<title>{escape(self.title)}</title>\n"
            f"</head>\n<body>\n<nav>\n<ul>\n{links}\n</ul>\n</nav>\n"
            f"<main>\n<h1>{escape(self.title)}</h1>\n<p>{escape(self.text)}</p>\n</main>\n{footer}</body>\n</html>\n"
        )


def _digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=12).hexdigest()


def _seconds(date: str) -> float | None:
    try:
        return parsedate_to_datetime(date).timestamp()
    except ValueError:
        return None
