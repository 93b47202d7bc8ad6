"""Webs that are crawled, killed and resumed: every page has a known end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from gossamer.failpoints import NAMES
from gossamer.testing.web import (
    Expected,
    Request,
    Web,
    WebServer,
    assert_no_disallowed,
    differences,
)
from tests.crash.crawler import Crawler
from tests.crash.inquest import GUIDED, Inquest, failure, file_problems, haste, refetches
from tests.crash.look import Look

GUIDES = ("/sitemap.xml", "/sitemap_index.xml")
"""Where sitemaps are looked for. A web has none: it is asked, once, and then links are followed."""
_TRIES = 3


class WebInquest(Inquest):
    def __init__(self, crawler: Crawler, server: WebServer, *, delay: float) -> None:
        super().__init__(crawler, delay=delay)
        self.web = server.web

    @property
    def expected(self) -> dict[str, Expected]:
        return self.web.expected(self.web.seeds)

    @property
    def points(self) -> frozenset[str]:
        return NAMES - GUIDED

    @property
    def origins(self) -> Sequence[str]:
        return self.web.origins

    def left(self, seen: Look) -> bool:
        return any(each.status and url not in seen.final for url, each in self.expected.items())

    def verdict(self, seen: Look, log: list[Request]) -> list[str]:
        return [
            *differences(self.expected, seen.final.values()),
            *file_problems(self.crawler.out, seen.final),
            *fetch_problems(self.web, self.expected, log, self.in_flight),
            *impoliteness(self.web, log, self.delay),
        ]


def fetch_problems(
    web: Web, expected: Mapping[str, Expected], log: Iterable[Request], in_flight: Mapping[str, int]
) -> list[str]:
    """I4, with what a web makes of it: some pages take more than one try."""
    wanted = {url: tries(web, url) for url, each in expected.items() if each.status}
    wanted |= {f"{origin}/robots.txt": 1 for origin in web.origins}
    guides = (origin + path for origin in web.origins for path in GUIDES)
    wanted |= {url: tries(web, url) for url in guides if web.allows(url)}
    return refetches(log, wanted, in_flight)


def tries(web: Web, url: str) -> int:
    """How often a page is asked for when nobody dies."""
    host, page = web.host(url), web.page(url)
    told_to_wait = host.retry_after.times if host and host.retry_after else 0
    if page is None:
        return 1 + told_to_wait
    return told_to_wait + (_TRIES if page.status >= 500 else 1 + page.failures)


def impoliteness(web: Web, log: list[Request], delay: float) -> list[str]:
    """I5 and I6"""
    pairs = zip(web.origins, web.hosts, strict=True)
    delays = {origin: max(delay, host.robots.crawl_delay or 0.0) for origin, host in pairs}
    disallowed = failure(lambda: assert_no_disallowed(log, web))
    return haste(log, delays) + ([f"I6 {disallowed}"] if disallowed else [])
