"""The egress guard: which addresses may be connected to. Everything that opens a connection asks here first.

A name is resolved here, every address it answers with is checked, and the caller connects to one of those addresses
and to no other. One forbidden answer refuses the whole name, because a name that points both outside and inside is
how DNS rebinding looks. Redirects are fetches of their own and come through here again.

`allowed` networks open what the tables refuse, except for cloud metadata services, which hand out credentials to
whoever can reach them: those stay shut whatever is allowed.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from gossamer.url import hostname_of, port_of

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network
Lookup = Callable[[str, int], Sequence[str]]
"""Blocking: the addresses of a name, or OSError. Called in a thread."""

Answer = Sequence[str] | OSError | UnicodeError

REFUSED: dict[str, str] = {
    # IANA IPv4 special-purpose registry, and what is not unicast.
    "0.0.0.0/8": "on this network (0.0.0.0/8)",
    "10.0.0.0/8": "private",
    "100.64.0.0/10": "shared by a carrier (CGNAT)",
    "127.0.0.0/8": "loopback",
    "169.254.0.0/16": "link-local",
    "172.16.0.0/12": "private",
    "192.0.0.0/24": "for protocol assignments",
    "192.0.2.0/24": "for documentation",
    "192.31.196.0/24": "for AS112 name servers",
    "192.52.193.0/24": "for multicast relays",
    "192.88.99.0/24": "for 6to4 relays",
    "192.168.0.0/16": "private",
    "192.175.48.0/24": "for AS112 name servers",
    "198.18.0.0/15": "for benchmarks",
    "198.51.100.0/24": "for documentation",
    "203.0.113.0/24": "for documentation",
    "224.0.0.0/4": "multicast",
    "255.255.255.255/32": "broadcast",
    "240.0.0.0/4": "reserved",
    # IANA IPv6 special-purpose registry. All but 2000::/3 is not global unicast, so the rest of the space follows.
    "::/128": "unspecified",
    "::1/128": "loopback",
    "64:ff9b:1::/48": "for local translation (NAT64)",
    "::/8": "reserved",
    "100::/64": "for discarding",
    "100:0:0:1::/64": "a dummy prefix",
    "100::/8": "unassigned",
    "200::/7": "unassigned",
    "400::/6": "unassigned",
    "800::/5": "unassigned",
    "1000::/4": "unassigned",
    "2001::/32": "a Teredo tunnel",
    "2001:2::/48": "for benchmarks",
    "2001:db8::/32": "for documentation",
    "2001::/23": "for protocol assignments",
    "2002::/16": "a 6to4 tunnel",
    "2620:4f:8000::/48": "for AS112 name servers",
    "3fff::/20": "for documentation",
    "4000::/2": "unassigned",
    "5f00::/16": "for segment routing",
    "8000::/2": "unassigned",
    "c000::/3": "unassigned",
    "e000::/4": "unassigned",
    "f000::/5": "unassigned",
    "f800::/6": "unassigned",
    "fc00::/7": "private (unique local)",
    "fe00::/9": "unassigned",
    "fe80::/10": "link-local",
    "fec0::/10": "private (site-local)",
    "ff00::/8": "multicast",
}
"""Network and what it is, as in "10.0.0.1 is private". The first that holds an address names it."""

METADATA: dict[str, str] = {
    "169.254.169.254": "AWS, Azure, Google Cloud, OpenStack and others",
    "169.254.169.253": "the AWS resolver",
    "169.254.169.123": "the AWS clock",
    "169.254.170.2": "AWS ECS task credentials",
    "169.254.170.23": "AWS EKS pod credentials",
    "fd00:ec2::254": "AWS",
    "fd00:ec2::253": "the AWS resolver",
    "fd00:ec2::123": "the AWS clock",
    "fd00:ec2::23": "AWS EKS pod credentials",
    "fd20:ce::254": "Google Cloud",
    "fe80::a9fe:a9fe": "OpenStack",
    "168.63.129.16": "the Azure host agent",
    "100.100.100.200": "Alibaba Cloud",
    "192.0.0.192": "Oracle Cloud",
    "169.254.0.23": "Tencent Cloud",
    "169.254.42.42": "Scaleway",
    "fd00:42::42": "Scaleway",
}


def _table(version: int) -> tuple[tuple[int, int, str], ...]:
    # As plain numbers: every request asks for every address.
    networks = ((ip_network(text), what) for text, what in REFUSED.items())
    return tuple((int(n.network_address), int(n.netmask), what) for n, what in networks if n.version == version)


_TABLE = {4: _table(4), 6: _table(6)}
_METADATA = {ip_address(address): what for address, what in METADATA.items()}
_MAPPED = IPv6Network("::ffff:0:0/96")
_NAT64 = IPv6Network("64:ff9b::/96")
_NAT64_LOCAL = IPv6Network("64:ff9b:1::/48")
_TRANSLATED = IPv6Network("::ffff:0:0:0/96")
_COMPATIBLE = IPv6Network("::/96")
_TEREDO = IPv6Network("2001::/32")
_6TO4 = IPv6Network("2002::/16")
_ISATAP = frozenset({0x00005EFE, 0x02005EFE})


class RefusedError(Exception):
    """The guard said no. The text says why, and what to do."""


class UnresolvedError(Exception):
    """A name has no address. The text says why."""


def faces(address: Address) -> Iterator[Address]:
    """All addresses that a packet to this one may really go to: itself, and every IPv4 address inside it.

    Where the IPv6 form is only another spelling (mapped, NAT64) the IPv4 address is its one face: a public IPv4 site
    has such an address behind every IPv6-only network.
    """
    if isinstance(address, IPv4Address):
        yield address
    elif address in _MAPPED or address in _NAT64:
        yield _bits(address, 0)
    else:
        # A zone (fe80::1%eth0) tells the way, not the place.
        yield IPv6Address(int(address))
        yield from _embedded(address)


def _special(face: Address) -> str | None:
    """What a refused address is, where the tables refuse it."""
    number = int(face)
    for network, mask, what in _TABLE[face.version]:
        if number & mask == network:
            return what
    return None


def _embedded(address: IPv6Address) -> Iterator[IPv4Address]:
    number = int(address)
    if address in _6TO4:
        yield _bits(address, 80)
    elif address in _TEREDO:
        yield _bits(address, 64)
        yield IPv4Address(~number & 0xFFFFFFFF)
    elif address in _NAT64_LOCAL:
        yield _bits(address, 0)
        # RFC 6052 splits the address around bits 64 to 71 of a /48.
        yield IPv4Address((number >> 64 & 0xFFFF) << 16 | number >> 40 & 0xFFFF)
    elif address in _TRANSLATED or (address in _COMPATIBLE and number > 1):
        yield _bits(address, 0)
    if number >> 32 & 0xFFFFFFFF in _ISATAP:
        yield _bits(address, 0)


def _bits(address: IPv6Address, shift: int) -> IPv4Address:
    return IPv4Address(int(address) >> shift & 0xFFFFFFFF)


class Resolver:
    """Names to addresses: remembered for a while, asked once at a time, never for longer than `timeout` seconds."""

    def __init__(
        self,
        lookup: Lookup | None = None,
        *,
        ttl: float = 60.0,
        timeout: float = 10.0,
        size: int = 10_000,
        at_once: int = 64,
    ) -> None:
        self._lookup = lookup or _getaddrinfo
        self.ttl = ttl
        self._timeout = timeout
        self._size = size
        self._slots = asyncio.Semaphore(at_once)
        self._known: dict[tuple[str, int], tuple[float, tuple[Address, ...]]] = {}
        self._asked: dict[tuple[str, int], asyncio.Task[tuple[Address, ...]]] = {}

    async def addresses(self, name: str, port: int) -> tuple[Address, ...]:
        """All addresses of a name, unchecked. Raises UnresolvedError."""
        known = self._known.get((name, port))
        if known is not None and known[0] > time.monotonic():
            return known[1]
        question = self._asked.get((name, port)) or self._ask(name, port)
        # Many may wait for one answer; one that gives up must not take it from the others.
        return await asyncio.shield(question)

    def _ask(self, name: str, port: int) -> asyncio.Task[tuple[Address, ...]]:
        task = asyncio.get_running_loop().create_task(self._answer(name, port))
        self._asked[name, port] = task
        task.add_done_callback(partial(self._answered, (name, port)))
        return task

    def _answered(self, key: tuple[str, int], task: asyncio.Task[tuple[Address, ...]]) -> None:
        del self._asked[key]
        if not task.cancelled() and task.exception() is None:
            self._known.pop(key, None)
            self._known[key] = (time.monotonic() + self.ttl, task.result())
            if len(self._known) > self._size:
                del self._known[next(iter(self._known))]

    async def _answer(self, name: str, port: int) -> tuple[Address, ...]:
        try:
            async with asyncio.timeout(self._timeout):
                answers = await self._in_a_thread(name, port)
        except TimeoutError:
            raise UnresolvedError(f"{name}: no answer from DNS within {self._timeout:g} s") from None
        except (OSError, UnicodeError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise UnresolvedError(
                f"{name}: {reason}; check the spelling of the name, and DNS on this machine"
            ) from None
        if not answers:
            raise UnresolvedError(f"{name}: DNS knows no address for it")
        return tuple(sorted({ip_address(answer) for answer in answers}, key=_family_first))

    async def _in_a_thread(self, name: str, port: int) -> Sequence[str]:
        # Not an executor: its threads are joined at exit, and a lookup cannot be interrupted. A slot is held until the
        # thread ends, not until we stop waiting for it, so slow name servers cannot pile up threads.
        await self._slots.acquire()
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Sequence[str]] = loop.create_future()

        def tell(result: Answer) -> None:
            loop.call_soon_threadsafe(self._settle, future, result)

        threading.Thread(target=_look_up, args=(self._lookup, name, port, tell), name="dns", daemon=True).start()
        return await future

    def _settle(self, future: asyncio.Future[Sequence[str]], result: Answer) -> None:
        self._slots.release()
        if future.done():
            return
        if isinstance(result, Exception):
            future.set_exception(result)
        else:
            future.set_result(result)


def _look_up(lookup: Lookup, name: str, port: int, tell: Callable[[Answer], None]) -> None:
    result: Answer
    try:
        result = lookup(name, port)
    except (OSError, UnicodeError) as error:
        result = error
    with contextlib.suppress(RuntimeError):  # The loop is closed: nobody waits any more.
        tell(result)


def _getaddrinfo(name: str, port: int) -> list[str]:
    return [str(entry[4][0]) for entry in socket.getaddrinfo(name, port, type=socket.SOCK_STREAM)]


def _family_first(address: Address) -> tuple[int, int]:
    return address.version, int(address)


class Guard:
    """Says for an address, or for all addresses of a name, whether gossamer may connect to it."""

    def __init__(self, allowed: Iterable[str] = (), resolver: Resolver | None = None) -> None:
        self._allowed = tuple(parse_network(text) for text in allowed)
        self._resolver = resolver or Resolver()

    def refusal(self, address: Address) -> str | None:
        """Why this address is refused, or None where it may be connected to."""
        for face in faces(address):
            refusal = self._refusal(face)
            if refusal is not None:
                return f"{face} {refusal}" if face == address else f"{face} (inside {address}) {refusal}"
        return None

    def _refusal(self, face: Address) -> str | None:
        service = _METADATA.get(face)
        if service is not None:
            return f"is a cloud metadata address ({service}); those are never fetched"
        what = _special(face)
        if what is None or any(face in network for network in self._allowed):
            return None
        return f"is {what}; if you mean to crawl it, allow it with --allow-private {_single(face)}"

    async def resolve(self, name: str, port: int) -> tuple[Address, ...]:
        """The addresses of a name or of an IP literal, IPv4 first, every one of them checked.

        Raises RefusedError or UnresolvedError.
        """
        addresses = await _addresses(name, port, self._resolver)
        for address in addresses:
            refusal = self.refusal(address)
            if refusal is not None:
                raise RefusedError(refusal if name == str(address) else f"{name}: {refusal}")
        return addresses


async def _addresses(name: str, port: int, resolver: Resolver) -> tuple[Address, ...]:
    literal = _literal(name)
    return (literal,) if literal is not None else await resolver.addresses(name, port)


@lru_cache(maxsize=4096)
def _literal(name: str) -> Address | None:
    try:
        return ip_address(name)
    except ValueError:
        return None


def parse_network(text: str) -> Network:
    """The network that a person wrote. A bare address is a network of one."""
    try:
        return ip_network(text.strip())
    except ValueError:
        pass
    try:
        wider = ip_network(text.strip(), strict=False)
    except ValueError:
        raise ValueError(f"{text!r} is not a network; write one like 10.0.0.0/8, fd00::/8 or 127.0.0.1") from None
    raise ValueError(f"{text!r} names an address inside a network; write {_single(wider.network_address)} or {wider}")


def _single(address: Address) -> str:
    return f"{address}/{address.max_prefixlen}"


async def own_networks(hosts: Iterable[str], resolver: Resolver | None = None) -> tuple[str, ...]:
    """What the seeds at these hosts (scheme, host and port) need allowed to be fetched: their own refused addresses,
    each as a network of one. Public hosts need nothing, unknown names get nothing, metadata is never among them.
    """
    resolver = resolver or Resolver()
    found = await asyncio.gather(*(_own_addresses(host, resolver) for host in dict.fromkeys(hosts)))
    return tuple(dict.fromkeys(_single(address) for addresses in found for address in addresses))


async def _own_addresses(host: str, resolver: Resolver) -> list[Address]:
    try:
        addresses = await _addresses(hostname_of(host), port_of(host), resolver)
    except UnresolvedError:
        return []
    every_face = (face for address in addresses for face in faces(address))
    return [face for face in every_face if face not in _METADATA and _special(face)]
