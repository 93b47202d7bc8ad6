"""A site that changes between visits, and knows what changed; for crawls that come back.

with Evolving(seed=1, pages=1000) as site:
    ...  # crawl site.url("/")
    changed, removed, added = site.change(10), site.remove(5), site.add(5)
    site.log.clear()
    ...  # crawl again: site.requests() tells which requests were conditional, and what each of them cost
"""

from __future__ import annotations

from gossamer.testing.evolving.sheet import Validator
from gossamer.testing.evolving.site import VALIDATORS, Evolving

__all__ = ["VALIDATORS", "Evolving", "Validator"]
