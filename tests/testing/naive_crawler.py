"""A crawler for tests, as simple as can be: one request at a time, level by level, with the standard library."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable
from html.parser import HTMLParser
from http.client import HTTPConnection, HTTPException, HTTPMessage

from protego import Protego

from gossamer.model import PageRecord, State, Why
from gossamer.url import host_of, path_of, resolve_one

InScope = Callable[[str], bool]


class _Reader(HTMLParser):
    def __init__(self, url: str) -> None:
        super().__init__()
        self.base = url
        self.links: list[tuple[str, bool]] = []
        self.robots = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        if tag == "base":
            self.base = found["href"]
        elif tag == "meta" and found.get("name") == "robots":
            self.robots = found["content"]
        elif tag == "a" and (url := resolve_one(self.base, found.get("href", ""))):
            self.links.append((url, "nofollow" in found.get("rel", "")))


class NaiveCrawler:
    def __init__(self, in_scope: InScope, max_depth: int | None = None) -> None:
        self._in_scope = in_scope
        self._max_depth = max_depth
        self._connections: dict[str, HTTPConnection] = {}
        self._robots: dict[str, Protego | None] = {}
        self.records: dict[str, PageRecord] = {}
        self._nofollow: dict[str, int] = {}

    def crawl(self, seeds: tuple[str, ...]) -> list[PageRecord]:
        level, depth = list(seeds), 0
        while level:
            level = [link for url in level for link in self._visit(url, depth)]
            depth += 1
        for url, depth in self._nofollow.items():
            if url not in self.records:
                why = Why.SCOPE if not self._in_scope(url) else Why.DEPTH if self._too_deep(depth) else Why.NOFOLLOW
                self._record(url, depth, State.SKIPPED, reason=why)
        for connection in self._connections.values():
            connection.close()
        return list(self.records.values())

    def _visit(self, url: str, depth: int) -> list[str]:
        if url in self.records:
            return []
        if refusal := self._refusal(url, depth):
            self._record(url, depth, State.SKIPPED, reason=refusal)
            return []
        try:
            robots = self._robots_of(host_of(url))
            if robots is not None and not robots.can_fetch(url, "gossamer"):
                self._record(url, depth, State.SKIPPED, reason=Why.ROBOTS)
                return []
            return self._take(url, depth, *self._get(url))
        except (OSError, HTTPException) as error:
            self._record(url, depth, State.FAILED, error=str(error))
            return []

    def _take(self, url: str, depth: int, status: int, headers: HTTPMessage, body: bytes) -> list[str]:
        if location := headers["Location"]:
            target = resolve_one(url, location)
            assert target
            if target == url:
                self._record(url, depth, State.FAILED, status)
                return []
            self._record(url, depth, State.SKIPPED, status, Why.REDIRECT)
            return self._visit(target, depth)
        if status >= 400:
            self._record(url, depth, State.FAILED, status)
            return []
        if headers.get_content_type() != "text/html":
            self._record(url, depth, State.COMPLETED, status)
            return []
        return self._read(url, depth, headers, body)

    def _read(self, url: str, depth: int, headers: HTTPMessage, body: bytes) -> list[str]:
        meta = re.search(rb'<meta charset="([^"]+)"', body)
        reader = _Reader(url)
        reader.feed(body.decode(headers.get_content_charset() or (meta[1].decode() if meta else "utf-8")))
        wishes = f"{reader.robots} {headers.get('X-Robots-Tag', '')}".replace("none", "noindex nofollow")
        noindex = "noindex" in wishes
        self._record(url, depth, State.SKIPPED if noindex else State.COMPLETED, 200, Why.NOINDEX if noindex else None)
        followed = {link for link, nofollow in reader.links if not nofollow and "nofollow" not in wishes}
        for link, _ in reader.links:
            if link not in followed:
                self._nofollow.setdefault(link, depth + 1)
        return sorted(followed)

    def _refusal(self, url: str, depth: int) -> Why | None:
        if not self._in_scope(url):
            return Why.SCOPE
        return Why.DEPTH if self._too_deep(depth) else None

    def _too_deep(self, depth: int) -> bool:
        return self._max_depth is not None and depth > self._max_depth

    def _record(
        self,
        url: str,
        depth: int,
        state: State,
        status: int | None = None,
        reason: Why | None = None,
        error: str | None = None,
    ) -> None:
        assert url not in self.records
        self.records[url] = PageRecord(
            url=url, source=1, state=state, http_status=status, depth=depth, reason=reason, error=error
        )

    def _robots_of(self, host: str) -> Protego | None:
        if host not in self._robots:
            status, _, body = self._get(f"{host}/robots.txt")
            if status >= 500:
                raise HTTPException("robots: unreachable")
            self._robots[host] = Protego.parse(body.decode()) if status == 200 else None
        return self._robots[host]

    def _get(self, url: str) -> tuple[int, HTTPMessage, bytes]:
        status, headers, body = self._ask(url)
        for _ in range(2):
            if status == 503:
                status, headers, body = self._ask(url)
        return status, headers, gzip.decompress(body) if headers["Content-Encoding"] == "gzip" else body

    def _ask(self, url: str) -> tuple[int, HTTPMessage, bytes]:
        host = host_of(url)
        connection = self._connections.setdefault(host, HTTPConnection(host.partition("://")[2], timeout=5))
        connection.request("GET", path_of(url), headers={"Accept-Encoding": "gzip", "User-Agent": "naive/1"})
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()
