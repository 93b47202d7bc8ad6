"""What a guide lists: a sitemap, a feed, llms.txt, certificates of a domain, an index of known URLs."""

from __future__ import annotations

import msgspec


class Entry(msgspec.Struct, frozen=True):
    """One listed URL, absolute and normalised, with what the guide says of it."""

    url: str
    lastmod: float | None = None
    """Seconds since 1970."""
    priority: float | None = None
    """0 to 1."""


class Guide(msgspec.Struct, frozen=True, kw_only=True):
    """A guide, read as far as it could be."""

    entries: tuple[Entry, ...] = ()
    guides: tuple[str, ...] = ()
    """Further guides of the same kind that it names. May carry a fragment, which tells the reader what it is about."""
    note: str | None = None
    """What was cut short, broken or refused, in words; None where all is well."""
