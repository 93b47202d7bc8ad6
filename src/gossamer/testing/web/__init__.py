"""A synthetic web with a known answer, a server for it that keeps a log, and checks over that log.

web = make_web(seed=1, hosts=3, pages_per_host=50)
with WebServer(web) as server:
    ...  # crawl server.seeds
    assert not differences(server.web.expected(server.seeds), records)
    assert_polite(server.requests(), server.web.origins[0], delay=1.0)
"""

from __future__ import annotations

from gossamer.testing.web.answer import Expected, differences
from gossamer.testing.web.log import (
    Log,
    Request,
    assert_no_disallowed,
    assert_polite,
    assert_retry_after,
    assert_robots_first,
    fetch_counts,
    gaps,
    hosts,
    of_host,
    peak_concurrency,
    read_log,
)
from gossamer.testing.web.make import EVERYTHING, QUICK, RULES, Feature, make_web
from gossamer.testing.web.server import WebServer
from gossamer.testing.web.site import Behaviour, Host, Link, Page, RetryAfter, Robots, Style, Trouble, Where
from gossamer.testing.web.world import Web

__all__ = [
    "EVERYTHING",
    "QUICK",
    "RULES",
    "Behaviour",
    "Expected",
    "Feature",
    "Host",
    "Link",
    "Log",
    "Page",
    "Request",
    "RetryAfter",
    "Robots",
    "Style",
    "Trouble",
    "Web",
    "WebServer",
    "Where",
    "assert_no_disallowed",
    "assert_polite",
    "assert_retry_after",
    "assert_robots_first",
    "differences",
    "fetch_counts",
    "gaps",
    "hosts",
    "make_web",
    "of_host",
    "peak_concurrency",
    "read_log",
]
