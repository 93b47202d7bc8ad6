"""The fetcher over HTTP/1.1 and HTTP/2, on wreq: one request out, one response back, remote faults as values."""

from __future__ import annotations

from gossamer.adapters.fetcher_http.fetcher import HttpFetcher

__all__ = ["HttpFetcher"]
