"""What a guide was found to list, within bounds."""

from __future__ import annotations

from gossamer.model import Entry, Guide
from gossamer.url import normalise, resolve_one

MAX_ENTRIES = 50_000
"""URLs in one guide, as the sitemap protocol has it. Alternates and further guides have each as many again."""
MAX_MENTIONS = 10 * MAX_ENTRIES
"""In a guide of free form, where the same URL may stand in many places."""
MAX_HREF = 32_768
_MAX_NOTE = 500


class Enough(Exception):  # noqa: N818 (no error: the way out of a parser's callbacks)
    """Nothing more is to be read; the text says why, where somebody should know."""


class Listing:
    def __init__(self, url: str, drop: frozenset[str], most: int) -> None:
        """`url` is the guide's own, without a fragment; `most` what it may mention, the same again and again or not."""
        self.url = url
        self._drop = drop
        self._left = self._most = most
        self._entries: dict[str, Entry] = {}
        self._alternates: dict[str, None] = {}
        self._guides: dict[str, None] = {}
        self._notes: dict[str, None] = {}

    def __len__(self) -> int:
        return len(self._entries) + len(self._alternates) + len(self._guides)

    def add(self, href: str, lastmod: float | None = None, priority: float | None = None) -> None:
        """An entry; of several for one URL the first counts. Raises `Enough` at one too many."""
        self._count()
        url = self.resolve(href)
        if url is None or url in self._entries:
            return
        if len(self._entries) >= MAX_ENTRIES:
            raise Enough(f"cut at {MAX_ENTRIES:,} URLs")
        self._entries[url] = Entry(url, lastmod, priority)

    def add_alternate(self, href: str) -> None:
        """Another language of an entry. Those that do not fit are left out; they must not cost real entries."""
        url = self.resolve(href)
        if url is None:
            return
        if len(self._alternates) < MAX_ENTRIES:
            self._alternates[url] = None
        elif url not in self._alternates:
            self.note(f"cut at {MAX_ENTRIES:,} alternates")

    def lead_to(self, href: str) -> None:
        """A further guide. Raises `Enough` at one too many."""
        self._count()
        url = self.resolve(href)
        if url is not None:
            self.lead_straight_to(url)

    def lead_straight_to(self, guide: str) -> None:
        """A further guide whose URL was made here."""
        self._guides[guide] = None

    def resolve(self, href: str) -> str | None:
        if href.startswith(("https://", "http://")):
            # Without the memory that `resolve_one` has: these are seen once, and would push out what is seen often.
            return normalise(href, drop=self._drop) if len(href) <= MAX_HREF else None
        return resolve_one(self.url, href, drop=self._drop)

    def _count(self) -> None:
        if self._left == 0:
            raise Enough(f"cut at {self._most:,} URLs")
        self._left -= 1

    def note(self, text: str) -> None:
        if text:
            self._notes[text] = None

    def guide(self) -> Guide:
        alternates = (Entry(url) for url in self._alternates if url not in self._entries)
        return Guide(
            entries=(*self._entries.values(), *alternates),
            guides=tuple(self._guides),
            note="; ".join(self._notes)[:_MAX_NOTE] or None,
        )
