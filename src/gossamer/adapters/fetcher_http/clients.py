"""HTTP clients: one for each host and way of asking, tied to addresses that the guard has checked.

A wreq client is cheap to build (65 µs) but its pins are fixed when it is built, so other addresses mean another
client. Dropping a client closes its idle connections; a fetch under way keeps its own alive.
"""

from __future__ import annotations

import base64
import time
from collections import OrderedDict
from datetime import timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from wreq import CertStore, Client, DnsOptions, HeaderMap, Http1Options, Http2Options, Jar, Proxy
from wreq.redirect import Policy

from gossamer.adapters.egress import Address, Guard, Resolver
from gossamer.model import RequestOptions
from gossamer.url import hostname_of, port_of

if TYPE_CHECKING:
    from wreq.wreq import ClientConfig

ACCEPT = "text/html,application/xhtml+xml,application/xml;q=0.9,text/plain;q=0.8,*/*;q=0.5"

_MOST_HEADERS = 256
_SMALLEST_BUFFER = 16 * 1024


class Pinned(NamedTuple):
    client: Client
    addresses: frozenset[Address]
    """Where its connections may end: the host's own addresses, or those of the proxy."""


class _Route(NamedTuple):
    addresses: tuple[Address, ...]
    proxy_addresses: tuple[Address, ...]


class _Known:
    """A client, when it was used last, and until when its name need not be looked up again."""

    __slots__ = ("fresh_until", "pinned", "route", "used_at")

    def __init__(self, route: _Route, pinned: Pinned) -> None:
        self.route = route
        self.pinned = pinned
        self.used_at = self.fresh_until = 0.0


class Clients:
    def __init__(self, resolver: Resolver, *, trust: bytes | None, most: int, idle: float) -> None:
        self._resolver = resolver
        self._trust = CertStore.from_pem_stack(trust) if trust else None
        self._most = most
        self._idle = idle
        self._known: OrderedDict[tuple[str, RequestOptions], _Known] = OrderedDict()
        self._guard = lru_cache(maxsize=1024)(lambda allowed: Guard(allowed, resolver))
        self._jar = lru_cache(maxsize=1024)(lambda _options: Jar())

    async def client(self, host: str, options: RequestOptions) -> Pinned:
        """The client for a host. Raises RefusedError or UnresolvedError where the host may or can not be reached."""
        now = time.monotonic()
        key = (host, options)
        known = self._known.get(key)
        if known is None or known.fresh_until <= now:
            known = await self._look_again(host, options)
            known.fresh_until = now + self._resolver.ttl
        known.used_at = now
        self._known[key] = known
        self._known.move_to_end(key)
        self._drop(now)
        return known.pinned

    async def _look_again(self, host: str, options: RequestOptions) -> _Known:
        """The same client as before where the addresses are the same, else a new one."""
        route = await self._route(host, options)
        known = self._known.get((host, options))
        return known if known and known.route == route else _Known(route, self._build(host, options, route))

    def close(self) -> None:
        self._known.clear()

    def _drop(self, now: float) -> None:
        while len(self._known) > self._most or next(iter(self._known.values())).used_at < now - self._idle:
            self._known.popitem(last=False)

    async def _route(self, host: str, options: RequestOptions) -> _Route:
        addresses = await self._guard(options.allow_private).resolve(hostname_of(host), port_of(host))
        return _Route(addresses, await self._proxy_addresses(options.proxy))

    async def _proxy_addresses(self, proxy: str | None) -> tuple[Address, ...]:
        """A person chose the proxy, so it may be anywhere but at a metadata address. What is asked of it is checked as
        if there were no proxy: the target's name is resolved on this side too."""
        if proxy is None:
            return ()
        name, port = _proxy_authority(proxy)
        return await self._guard(("0.0.0.0/0", "::/0")).resolve(name, port)

    def _build(self, host: str, options: RequestOptions, route: _Route) -> Pinned:
        settings = _settings(host, options)
        settings.update(_pins(host, options.proxy, route))
        settings["pool_idle_timeout"] = timedelta(seconds=self._idle)
        if options.cookies:
            settings["cookie_provider"] = self._jar(options)
        if self._trust is not None:
            settings["tls_verify"] = self._trust
        return Pinned(Client(**settings), frozenset(route.proxy_addresses or route.addresses))


def _settings(host: str, options: RequestOptions) -> ClientConfig:
    largest = max(options.max_headers, _SMALLEST_BUFFER)
    return {
        "headers": _headers(host, options),
        "user_agent": options.user_agent,
        "redirect": Policy.none(),
        "connect_timeout": timedelta(seconds=options.connect_timeout),
        "http1_options": Http1Options(
            max_headers=_MOST_HEADERS,
            max_buf_size=largest,
            ignore_invalid_headers_in_responses=True,
            allow_obsolete_multiline_headers_in_responses=True,
        ),
        "http2_options": Http2Options(max_header_list_size=largest),
    }


def _pins(host: str, proxy: str | None, route: _Route) -> ClientConfig:
    names = DnsOptions()
    names.add_resolve(hostname_of(host), route.addresses)
    if proxy is None:
        return {"dns_options": names, "no_proxy": True}
    names.add_resolve(_proxy_authority(proxy)[0], route.proxy_addresses)
    return {"dns_options": names, "proxies": [Proxy.all(proxy)]}


def _headers(host: str, options: RequestOptions) -> HeaderMap:
    headers = HeaderMap({"accept": ACCEPT})
    if host not in options.auth_hosts:
        return headers
    if options.auth is not None:
        headers.insert("authorization", "Basic " + base64.b64encode(":".join(options.auth).encode()).decode())
    for name, _ in options.headers:
        headers.remove(name)
    for name, value in options.headers:
        headers.append(name, value)
    return headers


def _proxy_authority(proxy: str) -> tuple[str, int]:
    parts = urlsplit(proxy)
    if not parts.scheme or not parts.hostname:
        raise ValueError(f"{proxy!r} is not a proxy; write one like http://127.0.0.1:3128 or socks5://127.0.0.1:1080")
    return parts.hostname, parts.port or (1080 if parts.scheme.startswith("socks") else 80)
