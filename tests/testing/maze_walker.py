"""A crawler that is told all the rules, as simple as can be: it shows that a maze can be solved, and what for."""

from __future__ import annotations

import re
from collections import Counter, defaultdict, deque
from collections.abc import Iterable
from functools import cached_property
from html.parser import HTMLParser
from http.client import HTTPConnection, HTTPMessage

from gossamer.model import PageRecord, State, Traps, Why
from gossamer.url import host_of, path_of, resolve, resolve_one, segments

_NEAR = 0.9
_SHINGLE = 5
_FEW_WORDS = 20


class Page(HTMLParser):
    def __init__(self, url: str, status: int, headers: HTTPMessage, body: bytes) -> None:
        super().__init__()
        self.url, self.status, self.headers, self.body = url, status, headers, body
        self.title = self.text = ""
        self.hrefs: list[str] = []
        named = re.search(r'<(.+)>; rel="canonical"', headers["Link"] or "")
        self._canonical = named[1] if named else ""
        self._inside: list[str] = []
        self.feed(body.decode())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        if tag == "link" and found.get("rel") == "canonical":
            self._canonical = found["href"]
        elif tag == "a":
            self.hrefs.append(found["href"])
        elif tag != "meta":
            self._inside.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in self._inside:
            self._inside.remove(tag)

    def handle_data(self, data: str) -> None:
        if "title" in self._inside:
            self.title += data
        elif "main" in self._inside:
            self.text += f"{data} "

    @property
    def links(self) -> list[str]:
        return resolve(self.url, self.hrefs)

    @property
    def canonical(self) -> str | None:
        target = resolve_one(self.url, self._canonical) if self._canonical else None
        return target if target and target != self.url and host_of(target) == host_of(self.url) else None

    @cached_property
    def shingles(self) -> frozenset[tuple[str, ...]]:
        words = self.text.split()
        return frozenset(tuple(words[at : at + _SHINGLE]) for at in range(len(words) - _SHINGLE + 1))

    def likeness(self, other: Page) -> float:
        return len(self.shingles & other.shingles) / max(1, len(self.shingles | other.shingles))


class Client:
    def __init__(self) -> None:
        self._connections: dict[str, HTTPConnection] = {}

    def get(self, url: str, **headers: str) -> tuple[int, HTTPMessage, bytes]:
        host = host_of(url)
        connection = self._connections.setdefault(host, HTTPConnection(host.partition("://")[2], timeout=20))
        connection.request("GET", path_of(url), headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()

    def page(self, url: str) -> Page:
        return Page(url, *self.get(url))

    def close(self) -> None:
        for connection in self._connections.values():
            connection.close()


class Walker:
    """Crawls from `seeds`; where a host has `lists`, it goes by them and not by links."""

    def __init__(self, seeds: Iterable[str], traps: Traps, lists: Iterable[str] = (), *, links: bool = True) -> None:
        self._traps = traps
        self._client = Client()
        self._listed = [*seeds, *lists]
        self._by_links = {host_of(seed): links or host_of(seed) not in set(map(host_of, lists)) for seed in seeds}
        self._queue = deque(self._listed)
        self.kept: list[Page] = []
        self._owners: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
        self._waiting: dict[str, Page] = {}
        self._patterns: Counter[str] = Counter()
        self._missing: dict[str, Page] = {}
        self.records: dict[str, PageRecord] = {}
        self.targets: dict[str, str | None] = {}

    def walk(self, steps: int = 10_000) -> list[PageRecord]:
        while (self._queue or self._waiting) and steps:
            steps -= 1
            if self._queue:
                self._visit(self._queue.popleft())
            else:
                self._settle_one()
        self._client.close()
        return list(self.records.values())

    @property
    def lost(self) -> bool:
        """It ran out of steps, and still sees a way on."""
        return bool(self._queue)

    def _visit(self, url: str) -> None:
        if url in self.records or url in self._waiting:
            return
        if reason := self._refusal(url):
            self._record(url, State.SKIPPED, reason)
            return
        page = self._client.page(url)
        self._patterns[_pattern(url)] += len(page.text.split()) < _FEW_WORDS
        if location := page.headers["Location"]:
            self._fold(page, Why.REDIRECT, resolve_one(url, location))
        elif page.status >= 400:
            self._record(url, State.FAILED, status=page.status)
        elif page.canonical:
            self._waiting[url] = page
            self._queue.append(page.canonical)
        else:
            self._keep(page)

    def _keep(self, page: Page) -> None:
        missing = self._missing_page(host_of(page.url))
        if missing.status == 200 and page.likeness(missing) > 0.7:
            self._record(page.url, State.SKIPPED, Why.SOFT_404, page.status)
            return
        if twin := self._twin(page):
            self._fold(page, Why.DUPLICATE if twin.body == page.body else Why.NEAR_DUPLICATE, twin.url)
            return
        self._remember(page)
        self._record(page.url, State.COMPLETED, status=page.status)
        self._follow(page)

    def _twin(self, page: Page) -> Page | None:
        alike = Counter(number for shingle in page.shingles for number in self._owners[shingle])
        close = [self.kept[number] for number, _ in alike.most_common(5)]
        return next((other for other in close if page.likeness(other) >= _NEAR), None)

    def _remember(self, page: Page) -> None:
        for shingle in page.shingles:
            self._owners[shingle].append(len(self.kept))
        self.kept.append(page)

    def _follow(self, page: Page) -> None:
        for link in page.links:
            if self._by_links[host_of(page.url)] or link in self._listed:
                self._queue.append(link)
            elif link not in self.records:
                self._record(link, State.SKIPPED, Why.UNLISTED)

    def _fold(self, page: Page, reason: Why, target: str | None) -> None:
        self._record(page.url, State.SKIPPED, reason, page.status)
        self.targets[page.url] = target
        if target and target not in self.records:
            self._queue.append(target)

    def _settle_one(self) -> None:
        """The canonical page of one that waits is known now; or all wait for each other, and one is let off."""
        ready = (page for page in self._waiting.values() if page.canonical in self.records)
        page = next(ready, None) or next(iter(self._waiting.values()), None)
        if page is None:
            return
        del self._waiting[page.url]
        target = self.records.get(page.canonical or "")
        if target is None or target.state is State.FAILED:
            self._keep(page)
        else:
            self._fold(page, Why.CANONICAL, page.canonical)

    def _refusal(self, url: str) -> Why | None:
        path, _, query = path_of(url).partition("?")
        limits = self._traps
        if len(url) > 2048:
            return Why.LENGTH
        repeats = re.search(rf"((?:/[^/]+)+)\1{{{limits.max_repeats - 1}}}/", f"{path}/")
        many = segments(url) > limits.max_segments or query.count("&") >= limits.max_parameters
        spent = self._patterns[_pattern(url)] >= limits.path_budget
        return Why.TRAP if repeats or many or spent else None

    def _missing_page(self, host: str) -> Page:
        if host not in self._missing:
            self._missing[host] = self._client.page(f"{host}/surely-not-here-{len(host)}")
        return self._missing[host]

    def _record(self, url: str, state: State, reason: Why | None = None, status: int | None = None) -> None:
        self.records[url] = PageRecord(url=url, source=1, state=state, reason=reason, http_status=status)


def _pattern(url: str) -> str:
    path, _, query = url.partition("?")
    return re.sub(r"\d+", "#", path) + "?" + "&".join(sorted(re.findall(r"(\w+)=", query)))
