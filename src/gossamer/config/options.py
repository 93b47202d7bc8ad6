"""The settings as keyword arguments of the library, each with its type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypedDict

import msgspec

from gossamer.config.kinds import nearest
from gossamer.config.settings import DEFAULTS, ORDERED, Settings
from gossamer.config.table import SETTINGS


class Options(TypedDict, total=False):
    out: str | None
    durability: Literal["normal", "full"]
    content: bool
    scope: Literal["prefix", "host", "site", "any"]
    include: list[str]
    exclude: list[str]
    skip_types: list[str]
    max_url_length: int
    drop_parameters: list[str]
    seed_from: list[Literal["auto", "sitemap", "links", "llms", "ct", "commoncrawl", "all"]]
    order: Literal["breadth", "best"]
    sitemap_patience: float
    max_guides: int
    guides_at_once: int
    max_listed: int
    ct_endpoint: str
    commoncrawl_endpoint: str
    canonical: bool
    duplicates: bool
    near_duplicates: float | None
    learn_parameters: bool
    host_budget: int
    path_budget: int
    query_budget: int
    thin_budget: int
    max_repeats: int
    max_segments: int
    max_parameters: int
    max_future: float | str
    soft_404: bool
    revisit_first: float | str
    revisit_least: float | str
    revisit_most: float | str
    gone_after: int
    max_pages: int | None
    max_depth: int | None
    duration: float | str | None
    delay: float | Literal["auto"]
    max_delay: float
    per_host: int
    concurrency: int
    per_address: int
    hours: str | None
    ignore_robots: bool
    user_agent: str
    headers: list[str]
    auth: str | None
    proxy: str | None
    cookies: bool
    allow_private: list[str]
    max_body: int | str
    max_headers: int | str
    connect_timeout: float
    first_byte_timeout: float
    total_timeout: float
    min_rate: int
    max_attempts: int
    robots_ttl: float | str
    robots_at_once: int
    backoff_first: float
    backoff_max: float | str
    block_after: int
    unreachable_after: int
    block_time: float | str
    throttled_attempts: int
    processes: int
    parse_timeout: float
    worker_memory: int | str
    host_queue: int
    queue_memory: int
    hosts_in_memory: int
    commit_target: float | str
    stop_grace: float


def settings_from(options: Mapping[str, object]) -> Settings:
    """Settings from keyword arguments alone: a library reads neither files nor the environment behind one's back."""
    for name in options:
        if name not in SETTINGS:
            raise TypeError(f"there is no option {name!r}{nearest(name, list(SETTINGS))}")
    return _checked(msgspec.structs.replace(DEFAULTS, **{name: _read(name, value) for name, value in options.items()}))


def _checked(settings: Settings) -> Settings:
    for less, more in ORDERED:
        if getattr(settings, less) > getattr(settings, more):
            raise ValueError(f"{less}: {getattr(settings, less)} is more than {more}: {getattr(settings, more)}")
    return settings


def _read(name: str, value: object) -> object:
    if value is None:
        return None
    try:
        return SETTINGS[name].kind.read(value)
    except ValueError as wrong:
        raise ValueError(f"{name}: {wrong}") from None
