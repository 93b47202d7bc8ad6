"""In or out: whether a source wants a URL, and if not, why."""

from __future__ import annotations

from collections.abc import Iterable

import re2

from gossamer.model import Scope, ScopeMode, Why
from gossamer.url import host_of, path_of, site_of


class ScopeJudge:
    """The scope of one source, compiled."""

    def __init__(self, scope: Scope, seeds: Iterable[str]) -> None:
        self.scope = scope
        self._seeds = frozenset(seeds)
        self._prefixes = tuple(f"{_authority(url)}{_folder(url)}" for url in self._seeds)
        self._authorities = frozenset(_authority(url) for url in self._seeds)
        self._sites = frozenset(site_of(host_of(url)) for url in self._seeds)
        self._include = tuple(re2.compile(pattern) for pattern in scope.include)
        self._exclude = tuple(re2.compile(pattern) for pattern in scope.exclude)
        self._skip_types = frozenset(scope.skip_types)

    def refusal(self, url: str) -> tuple[Why, str] | None:
        """Why a URL is not wanted, with a text that names the rule; None if it is wanted."""
        if len(url) > self.scope.max_url_length:
            return Why.LENGTH, f"longer than {self.scope.max_url_length} characters"
        if not self._inside(url):
            return Why.SCOPE, f"outside the scope ({self.scope.mode.value})"
        return self._pattern_refusal(url) or self._type_refusal(url)

    @property
    def limits_depth(self) -> bool:
        return self.scope.max_depth is not None

    def too_deep(self, depth: int) -> bool:
        return self.scope.max_depth is not None and depth > self.scope.max_depth

    def _inside(self, url: str) -> bool:
        match self.scope.mode:
            case ScopeMode.ANY:
                return True
            case ScopeMode.SITE:
                return site_of(host_of(url)) in self._sites
            case ScopeMode.HOST:
                return _authority(url) in self._authorities
            case ScopeMode.PREFIX:
                return url in self._seeds or any(map(_below(url), self._prefixes))

    def _pattern_refusal(self, url: str) -> tuple[Why, str] | None:
        for pattern in self._exclude:
            if pattern.search(url):
                return Why.EXCLUDE, f"matches the exclude pattern {pattern.pattern}"
        # A seed is where a crawl begins even if only what lies behind it is wanted.
        if self._include and url not in self._seeds and not any(pattern.search(url) for pattern in self._include):
            return Why.INCLUDE, "matches no include pattern"
        return None

    def _type_refusal(self, url: str) -> tuple[Why, str] | None:
        name = path_of(url).partition("?")[0].rpartition("/")[2]
        extension = name.rpartition(".")[2].lower() if "." in name else ""
        if extension in self._skip_types and url not in self._seeds:
            return Why.TYPE, f"files of type .{extension} are not wanted"
        return None


def _authority(url: str) -> str:
    # http and https on their default ports are one place to a person, so scope does not tell them apart.
    return host_of(url).partition("://")[2]


def _folder(url: str) -> str:
    """The path below which a prefix scope lies: `/docs/` for `/docs/`, `/docs` and `/docs/index.html`."""
    path = path_of(url).partition("?")[0]
    parent, _, name = path.rpartition("/")
    return f"{parent}/" if "." in name or not name else f"{path}/"


def _below(url: str) -> _Below:
    return _Below(url.partition("://")[2].partition("?")[0])


class _Below:
    def __init__(self, place: str) -> None:
        self._place = place if place.endswith("/") else f"{place}/"

    def __call__(self, prefix: str) -> bool:
        return self._place.startswith(prefix)
