from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gossamer.adapters.egress import (
    METADATA,
    REFUSED,
    Guard,
    RefusedError,
    Resolver,
    UnresolvedError,
    own_networks,
    parse_network,
)

EVERYTHING = ("0.0.0.0/0", "::/0")
JUDGED_BY_THE_ADDRESS_INSIDE = (ip_network("::ffff:0:0/96"), ip_network("64:ff9b::/96"))


def embed(high: int, inside: IPv4Address, shift: int = 0) -> IPv6Address:
    return IPv6Address(high | int(inside) << shift)


def prefix(text: str) -> int:
    return int(IPv6Address(text))


EMBEDDINGS: dict[str, Callable[[IPv4Address], IPv6Address]] = {
    "mapped": lambda inside: embed(prefix("::ffff:0:0"), inside),
    "compatible": lambda inside: embed(0, inside),
    "translated": lambda inside: embed(prefix("::ffff:0:0:0"), inside),
    "NAT64": lambda inside: embed(prefix("64:ff9b::"), inside),
    "local NAT64": lambda inside: embed(prefix("64:ff9b:1::"), inside),
    "local NAT64 of 48 bits": lambda inside: IPv6Address(
        prefix("64:ff9b:1::") | int(inside) >> 16 << 64 | (int(inside) & 0xFFFF) << 40
    ),
    "6to4": lambda inside: embed(prefix("2002::"), inside, 80),
    "Teredo client": lambda inside: IPv6Address(prefix("2001::") | ~int(inside) & 0xFFFFFFFF),
    "Teredo server": lambda inside: embed(prefix("2001::"), inside, 64),
    "ISATAP": lambda inside: embed(prefix("2a00:1450::5efe:0:0"), inside),
    "global ISATAP": lambda inside: embed(prefix("2a00:1450::200:5efe:0:0"), inside),
}

PUBLIC = (
    "1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0 169.253.255.255 "
    "172.15.255.255 172.32.0.0 192.167.255.255 192.169.0.0 198.17.255.255 198.20.0.0 223.255.255.255 "
    "2606:4700:4700::1111 2a00:1450:4001::8a 2001:4860:4860::8888 2003:: 64:ff9b::808:808 ::ffff:8.8.8.8"
)

FORBIDDEN_IPV4 = st.sampled_from([n for n in REFUSED if ":" not in n]).flatmap(lambda n: st.ip_addresses(network=n))


@pytest.mark.parametrize("network", REFUSED)
def test_the_ends_of_every_refused_network_are_refused(network: str) -> None:
    first, last = ip_network(network)[0], ip_network(network)[-1]
    for address in (first, last):
        if not any(address in inside for inside in JUDGED_BY_THE_ADDRESS_INSIDE):
            assert Guard().refusal(address)


@given(st.sampled_from(sorted(REFUSED)).flatmap(lambda network: st.ip_addresses(network=network)))
def test_any_address_of_a_refused_network_is_refused(address: IPv4Address | IPv6Address) -> None:
    assume(not any(address in network for network in JUDGED_BY_THE_ADDRESS_INSIDE))
    assert Guard().refusal(address)


@pytest.mark.parametrize("kind", EMBEDDINGS)
@given(inside=FORBIDDEN_IPV4)
def test_a_refused_address_is_refused_also_inside_another(kind: str, inside: IPv4Address) -> None:
    assert Guard().refusal(EMBEDDINGS[kind](inside))


@pytest.mark.parametrize("kind", EMBEDDINGS)
def test_an_address_inside_another_is_told_apart(kind: str) -> None:
    guard = Guard(("::/0", "0.0.0.0/8"))
    assert "10.1.2.3 (inside " in (guard.refusal(EMBEDDINGS[kind](IPv4Address("10.1.2.3"))) or "")


@given(st.ip_addresses(v=4))
def test_what_python_knows_not_to_be_global_is_refused(address: IPv4Address) -> None:
    if not address.is_global or address.is_multicast or address.is_reserved:
        assert Guard().refusal(address)


@given(st.ip_addresses(v=6))
def test_nothing_outside_global_unicast_is_fetched(address: IPv6Address) -> None:
    assume(not any(address in network for network in JUDGED_BY_THE_ADDRESS_INSIDE))
    if address not in ip_network("2000::/3") or not address.is_global:
        assert Guard().refusal(address)


@pytest.mark.parametrize("address", PUBLIC.split())
def test_public_addresses_may_be_fetched(address: str) -> None:
    assert Guard().refusal(ip_address(address)) is None


@pytest.mark.parametrize("address", METADATA)
def test_metadata_is_refused_whatever_is_allowed(address: str) -> None:
    for allowed in ((), EVERYTHING, (address,)):
        assert "never fetched" in (Guard(allowed).refusal(ip_address(address)) or "")


@pytest.mark.parametrize("kind", EMBEDDINGS)
@pytest.mark.parametrize("address", [address for address in METADATA if ":" not in address])
def test_metadata_is_refused_also_inside_another_address(kind: str, address: str) -> None:
    hidden = EMBEDDINGS[kind](IPv4Address(address))
    assert "never fetched" in (Guard(EVERYTHING).refusal(hidden) or "")


def test_an_allowed_network_opens_itself_and_nothing_else() -> None:
    guard = Guard(("10.1.0.0/16", "::1"))
    assert guard.refusal(ip_address("10.1.255.255")) is None
    assert guard.refusal(ip_address("::1")) is None
    assert guard.refusal(ip_address("::ffff:10.1.0.1")) is None
    assert guard.refusal(ip_address("10.2.0.0"))
    assert guard.refusal(ip_address("127.0.0.1"))


def test_a_tunnel_that_is_allowed_does_not_allow_what_is_inside() -> None:
    guard = Guard(("2002::/16",))
    assert guard.refusal(ip_address("2002:808:808::1")) is None
    assert "10.0.0.1 (inside 2002:a00:1::1) is private" in (guard.refusal(ip_address("2002:a00:1::1")) or "")


def test_a_zone_does_not_hide_an_address() -> None:
    assert Guard().refusal(ip_address("fe80::1%eth0"))
    assert "never fetched" in (Guard(EVERYTHING).refusal(ip_address("fe80::a9fe:a9fe%eth0")) or "")


def test_a_refusal_says_what_to_do() -> None:
    assert Guard().refusal(ip_address("192.168.0.7")) == (
        "192.168.0.7 is private; if you mean to crawl it, allow it with --allow-private 192.168.0.7/32"
    )


@pytest.mark.parametrize("text", ["", "ten", "10.0.0.0/33", "10.0.0", "fd00::/129", "10.0.0.0-10.0.0.9"])
def test_a_network_that_is_none_is_a_clear_error(text: str) -> None:
    with pytest.raises(ValueError, match="is not a network; write one like"):
        Guard((text,))


def test_an_address_with_a_prefix_is_asked_what_it_means() -> None:
    with pytest.raises(ValueError, match=r"write 10\.0\.0\.0/32 or 10\.0\.0\.0/8"):
        parse_network("10.0.0.1/8")


class Names:
    """A name server of our own that counts its questions."""

    def __init__(self, **answers: list[str]) -> None:
        self.answers = answers
        self.asked: list[str] = []

    def __call__(self, name: str, port: int) -> list[str]:
        self.asked.append(name)
        if name not in self.answers:
            raise OSError(-2, "Name or service not known")
        return self.answers[name]


async def test_a_name_resolves_to_all_its_addresses() -> None:
    names = Names(web=["2606:4700::1", "1.1.1.1", "1.1.1.1"])
    assert await Guard((), Resolver(names)).resolve("web", 80) == (ip_address("1.1.1.1"), ip_address("2606:4700::1"))


@pytest.mark.parametrize("forbidden", ["127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "::ffff:127.0.0.1"])
async def test_one_forbidden_answer_refuses_the_name(forbidden: str) -> None:
    guard = Guard((), Resolver(Names(evil=["1.1.1.1", forbidden])))
    with pytest.raises(RefusedError, match="evil: "):
        await guard.resolve("evil", 80)


async def test_a_name_that_turns_inward_is_refused_when_it_is_asked_for_again() -> None:
    names = Names(evil=["1.1.1.1"])
    guard = Guard((), Resolver(names, ttl=0))
    await guard.resolve("evil", 80)
    names.answers["evil"] = ["127.0.0.1"]
    with pytest.raises(RefusedError):
        await guard.resolve("evil", 80)


@pytest.mark.parametrize("literal", ["127.0.0.1", "::1", "169.254.169.254", "::ffff:7f00:1"])
async def test_addresses_are_checked_and_never_looked_up(literal: str) -> None:
    names = Names()
    with pytest.raises(RefusedError):
        await Guard((), Resolver(names)).resolve(literal, 80)
    assert not names.asked


async def test_an_unknown_name_is_told_plainly() -> None:
    with pytest.raises(UnresolvedError, match="nowhere: Name or service not known"):
        await Guard((), Resolver(Names())).resolve("nowhere", 80)


async def test_a_name_without_addresses_is_told_plainly() -> None:
    with pytest.raises(UnresolvedError, match="knows no address"):
        await Guard((), Resolver(Names(empty=[]))).resolve("empty", 80)


async def test_a_name_that_cannot_be_encoded_is_told_plainly() -> None:
    with pytest.raises(UnresolvedError):
        await Guard().resolve("a" * 64 + ".invalid", 80)


async def test_an_answer_is_remembered() -> None:
    names = Names(web=["1.1.1.1"])
    resolver = Resolver(names)
    for allowed in ((), EVERYTHING):
        await Guard(allowed, resolver).resolve("web", 80)
    assert names.asked == ["web"]


async def test_a_failure_is_not_remembered() -> None:
    names = Names()
    resolver = Resolver(names)
    with pytest.raises(UnresolvedError):
        await resolver.addresses("web", 80)
    names.answers["web"] = ["1.1.1.1"]
    assert await resolver.addresses("web", 80) == (ip_address("1.1.1.1"),)


async def test_only_so_many_answers_are_remembered() -> None:
    names = Names(a=["1.1.1.1"], b=["1.1.1.2"], c=["1.1.1.3"])
    resolver = Resolver(names, size=2)
    for name in "abca":
        await resolver.addresses(name, 80)
    assert names.asked == list("abca")


class SlowNames(Names):
    """Answers when it is told to."""

    def __init__(self, **answers: list[str]) -> None:
        super().__init__(**answers)
        self.answer = threading.Event()

    def __call__(self, name: str, port: int) -> list[str]:
        found = super().__call__(name, port)
        self.answer.wait(10)
        return found


async def test_many_who_ask_at_once_ask_once() -> None:
    names = SlowNames(web=["1.1.1.1"])
    resolver = Resolver(names)
    waiting = [asyncio.create_task(resolver.addresses("web", 80)) for _ in range(50)]
    await asyncio.sleep(0)
    waiting[0].cancel()
    names.answer.set()
    answers = await asyncio.gather(*waiting, return_exceptions=True)
    assert isinstance(answers[0], asyncio.CancelledError)
    assert answers[1:] == [(ip_address("1.1.1.1"),)] * 49
    assert names.asked == ["web"]


async def test_a_name_server_that_does_not_answer_is_given_up() -> None:
    names = SlowNames(web=["1.1.1.1"])
    with pytest.raises(UnresolvedError, match="no answer from DNS within"):
        await Resolver(names, timeout=0.01).addresses("web", 80)
    names.answer.set()


async def test_lookups_that_hang_do_not_pile_up_threads() -> None:
    names = SlowNames(a=["1.1.1.1"], b=["1.1.1.2"])
    resolver = Resolver(names, timeout=0.01, at_once=1)
    for name in "ab":
        with pytest.raises(UnresolvedError):
            await resolver.addresses(name, 80)
    assert names.asked == ["a"]
    names.answer.set()
    assert await Resolver(names).addresses("b", 80)


async def test_seeds_open_their_own_private_addresses_and_nothing_more() -> None:
    names = Names(inside=["10.0.0.5", "fd00::5"], outside=["1.1.1.1"], cloud=["169.254.169.254"])
    seeds = [
        "http://127.0.0.1:8000",
        "http://inside",
        "https://outside",
        "http://cloud",
        "http://unknown",
        "http://[::1]",
    ]
    assert await own_networks(seeds, Resolver(names)) == ("127.0.0.1/32", "10.0.0.5/32", "fd00::5/128", "::1/128")


async def test_what_seeds_open_is_enough_to_fetch_them() -> None:
    for literal in ("127.0.0.1", "::1", "::ffff:7f00:1", "2002:a00:1::"):
        allowed = await own_networks([f"http://[{literal}]" if ":" in literal else f"http://{literal}"])
        assert await Guard(allowed).resolve(literal, 80) == (ip_address(literal),)
