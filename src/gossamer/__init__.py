"""Gossamer turns websites into clean, searchable text: politely, without ever losing a page."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gossamer.api import Crawl, changes, collect, crawl, recrawl
    from gossamer.frontier.scoring import PageFacts
    from gossamer.model import ChangeEntry, PageRecord, Stats, Summary
    from gossamer.ports import StorageError

__version__ = "0.1.0"

__all__ = [
    "ChangeEntry",
    "Crawl",
    "PageFacts",
    "PageRecord",
    "Stats",
    "StorageError",
    "Summary",
    "changes",
    "collect",
    "crawl",
    "recrawl",
]

_HOMES = {
    "Crawl": "api",
    "changes": "api",
    "collect": "api",
    "crawl": "api",
    "recrawl": "api",
    "PageFacts": "frontier.scoring",
    "ChangeEntry": "model",
    "PageRecord": "model",
    "Stats": "model",
    "Summary": "model",
    "StorageError": "ports",
}


def __getattr__(name: str) -> object:
    # Imported when asked for, so that `gossamer --help` and every worker start without what they do not use.
    if name not in _HOMES:
        raise AttributeError(f"module 'gossamer' has no attribute {name!r}")
    return getattr(import_module(f"gossamer.{_HOMES[name]}"), name)
