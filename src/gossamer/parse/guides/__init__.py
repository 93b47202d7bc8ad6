"""Guides: sitemaps, feeds, llms.txt, certificates and the Common Crawl index, read piece by piece.

A guide is never held in memory, only what it lists; whatever its bytes are, reading it ends and raises nothing.
"""

from __future__ import annotations

from gossamer.parse.guides.reader import GuideReader

__all__ = ["GuideReader"]
