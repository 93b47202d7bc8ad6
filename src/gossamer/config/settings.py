"""What was decided for one run: plain values, and what they mean for the frontier and for a source."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Literal, TypeVar

import msgspec

from gossamer import __version__
from gossamer.config.table import SETTINGS
from gossamer.frontier.policy import Rules
from gossamer.model import (
    Discovery,
    Folding,
    Hours,
    Order,
    Politeness,
    RequestOptions,
    Revisit,
    Scope,
    ScopeMode,
    SeedFrom,
    SourceSpec,
    Traps,
)
from gossamer.url import TRACKING, host_of, normalise

_SKIP_TYPES = """
    7z aac apk avi avif bin bmp bz2 cab deb dll dmg eot exe flac flv gif gz ico img iso jar jpeg jpg m4a m4v mid mkv
    mov mp3 mp4 mpeg mpg msi ogg ogv opus otf pkg png psd rar rpm so svg tar tgz tif tiff ttf wasm wav webm webp
    whl wma wmv woff woff2 xz zip zst
"""


_Part = TypeVar("_Part", Politeness, Discovery, Folding, Traps)


class SeedError(Exception):
    """Some seeds are not URLs that can be fetched."""


class WishError(Exception):
    """What was asked for cannot be had together."""


ORDERED = (("backoff_first", "backoff_max"), ("host_queue", "queue_memory"), ("revisit_least", "revisit_most"))
"""Settings of which the first may not be more than the second."""


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    data: str = "./gossamer-data"
    out: str | None = None
    durability: Literal["normal", "full"] = "normal"
    content: bool = True

    scope: ScopeMode = ScopeMode.PREFIX
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    skip_types: tuple[str, ...] = tuple(_SKIP_TYPES.split())
    max_url_length: int = 2048
    drop_parameters: tuple[str, ...] = tuple(sorted(TRACKING))

    seed_from: tuple[SeedFrom, ...] = (SeedFrom.AUTO,)
    order: Order = Order.BREADTH
    sitemap_patience: float = 10.0
    max_guides: int = 10_000
    guides_at_once: int = 16
    max_listed: int = 1_000_000
    ct_endpoint: str = "https://crt.sh/"
    commoncrawl_endpoint: str = "https://index.commoncrawl.org/"

    canonical: bool = True
    duplicates: bool = True
    near_duplicates: float | None = 0.9
    learn_parameters: bool = True

    host_budget: int = 1_000_000
    path_budget: int = 500
    query_budget: int = 500
    thin_budget: int = 100_000
    max_repeats: int = 3
    max_segments: int = 32
    max_parameters: int = 16
    max_future: float = 400 * 86_400.0
    soft_404: bool = True

    revisit_first: float = 86_400.0
    revisit_least: float = 3_600.0
    revisit_most: float = 30 * 86_400.0
    gone_after: int = 2

    max_pages: int | None = None
    max_depth: int | None = None
    duration: float | None = None

    delay: float | None = 1.0
    max_delay: float = 60.0
    per_host: int = 16
    concurrency: int = 64
    per_address: int = 32
    hours: Hours | None = None
    ignore_robots: bool = False

    user_agent: str = f"gossamer/{__version__} (+https://github.com/gossamer-crawler/gossamer)"
    headers: tuple[tuple[str, str], ...] = ()
    auth: tuple[str, str] | None = None
    proxy: str | None = None
    cookies: bool = False
    allow_private: tuple[str, ...] = ()
    max_body: int = 10 * 1024**2
    max_headers: int = 64 * 1024
    connect_timeout: float = 10.0
    first_byte_timeout: float = 30.0
    total_timeout: float = 60.0
    min_rate: int = 256
    max_attempts: int = 3

    robots_ttl: float = 86_400.0
    robots_at_once: int = 64
    backoff_first: float = 2.0
    backoff_max: float = 3600.0
    block_after: int = 10
    unreachable_after: int = 3
    block_time: float = 86_400.0
    throttled_attempts: int = 10

    processes: int = msgspec.field(default_factory=cores)
    parse_timeout: float = 10.0
    worker_memory: int = 1024**3
    host_queue: int = 256
    queue_memory: int = 200_000
    hosts_in_memory: int = 50_000
    commit_target: float = 0.05
    stop_grace: float = 3.0

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={setting.kind.show(getattr(self, name))}" for name, setting in SETTINGS.items())
        return f"Settings({shown})"

    def rules(self) -> Rules:
        shared = set(Rules.__struct_fields__) & set(SETTINGS)
        # A lease must outlive the longest fetch and parse, and the wait for a worker before them.
        lease_time = max(Rules().lease_time, self.total_timeout + self.parse_timeout + 30.0)
        return Rules(**{name: getattr(self, name) for name in shared}, lease_time=lease_time)

    def seeds(self, urls: Iterable[str]) -> tuple[str, ...]:
        """The one spelling of each seed, each once. Names every one that is no URL."""
        spelt = {url: normalise(url, drop=frozenset(self.drop_parameters)) for url in urls}
        wrong = [_wrong_seed(url) for url, spelling in spelt.items() if spelling is None]
        wrong += [_with_credentials(spelling) for url, spelling in spelt.items() if spelling and "@" in _authority(url)]
        if wrong:
            raise SeedError("; ".join(wrong))
        return tuple(dict.fromkeys(spelling for spelling in spelt.values() if spelling is not None))

    def source_spec(self, seeds: Sequence[str], allow_private: Sequence[str] = ()) -> SourceSpec:
        """What a person asked for. `allow_private`: the seeds' own addresses, on top of the networks named."""
        urls = self.seeds(seeds)
        return SourceSpec(
            seeds=urls,
            scope=self._scope(),
            politeness=self._part(Politeness),
            discovery=self._part(Discovery),
            folding=self._part(Folding),
            traps=self._part(Traps),
            order=self.order,
            revisit=self._revisit(),
            request=self._request(urls, allow_private),
            max_pages=self.max_pages,
            max_attempts=self.max_attempts,
        )

    def _part(self, kind: type[_Part]) -> _Part:
        """A part of a spec whose fields are settings by the same names."""
        return kind(**{name: getattr(self, name) for name in kind.__struct_fields__})

    def _revisit(self) -> Revisit:
        first = min(max(self.revisit_first, self.revisit_least), self.revisit_most)
        return Revisit(first=first, least=self.revisit_least, most=self.revisit_most)

    def _scope(self) -> Scope:
        return Scope(
            mode=self.scope,
            include=self.include,
            exclude=self.exclude,
            max_depth=self.max_depth,
            skip_types=self.skip_types,
            max_url_length=self.max_url_length,
            drop_parameters=self._dropped(),
        )

    def _request(self, seeds: Sequence[str], allow_private: Sequence[str]) -> RequestOptions:
        special = ("auth_hosts", "allow_private", "drop_parameters")
        plain = [name for name in RequestOptions.__struct_fields__ if name not in special]
        return RequestOptions(
            **{name: getattr(self, name) for name in plain},
            auth_hosts=tuple(dict.fromkeys(map(host_of, seeds))),
            allow_private=tuple(dict.fromkeys([*self.allow_private, *allow_private])),
            drop_parameters=self._dropped(),
        )

    def _dropped(self) -> tuple[str, ...] | None:
        return None if set(self.drop_parameters) == TRACKING else self.drop_parameters


def possible(spec: SourceSpec) -> SourceSpec:
    """The same spec, if it can lead anywhere."""
    if SeedFrom.CT in spec.discovery.seed_from and spec.scope.mode in (ScopeMode.PREFIX, ScopeMode.HOST):
        raise WishError(
            f"--seed-from ct finds other hosts of a domain, which --scope {spec.scope.mode} leaves out; "
            "say --scope site, or --seed-from sitemap,links,llms,commoncrawl"
        )
    return spec


def _wrong_seed(url: str) -> str:
    meant = None if "://" in url or "@" in url else normalise(f"https://{url.lstrip('/')}")
    return f"{url!r} is not a URL that can be fetched" + (f"; did you mean {meant}?" if meant and "." in url else "")


def _with_credentials(spelling: str) -> str:
    return (
        f"the seed for {spelling} carries credentials, which would end up in logs; give them with --auth user:password"
    )


def _authority(url: str) -> str:
    return url.partition("://")[2].partition("/")[0]


DEFAULTS = Settings()
