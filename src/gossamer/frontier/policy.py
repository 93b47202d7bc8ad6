"""The numbers that politeness is made of, and the small decisions that follow from them alone."""

from __future__ import annotations

from enum import StrEnum
from http import HTTPStatus

import msgspec

from gossamer.model import Fault, Outcome
from gossamer.url import segments


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    concurrency: int = 64
    """Leases out at once, over all hosts."""
    robots_at_once: int = 64
    robots_ttl: float = 24 * 3600.0
    backoff_first: float = 2.0
    backoff_max: float = 3600.0
    block_after: int = 10
    """Failures in a row after which a host is blocked."""
    unreachable_after: int = 3
    """The same for a host that has never answered at all."""
    block_time: float = 24 * 3600.0
    lease_time: float = 120.0
    """After this the sweeper takes a lease back: longer than a fetch and a parse may take together."""
    throttled_attempts: int = 10
    """How often one page is tried when its host says 429 or 503."""
    host_queue: int = 256
    """Pages of one host and source in memory; the rest waits in the store."""
    queue_memory: int = 200_000
    """Pages in memory over all hosts."""
    hosts_in_memory: int = 50_000
    max_redirects: int = 10
    robots_redirects: int = 5
    guides_at_once: int = 16
    """Sitemaps and other lists that are fetched, or let in, at a time."""
    gone_after: int = 2
    """Answers in a row that say that a page is gone, after which a recrawl believes it."""


class Judgement(StrEnum):
    """What an outcome says of the page, and of its host."""

    ANSWER = "answer"
    """The host answered: a page, a redirect, or a plain no."""
    THROTTLED = "throttled"
    """The host asks for less."""
    HOST_FAULT = "host-fault"
    """The host could not answer; another time it may."""
    PAGE_FAULT = "page-fault"
    """This page is at fault and would be again."""
    REFUSED = "refused"
    """The egress guard refused the address: nothing was asked."""
    RETURNED = "returned"
    """Nobody is to blame: the worker was lost with other work in its hands."""


_HOST_FAULTS = frozenset({Fault.DNS, Fault.CONNECT, Fault.TLS, Fault.TIMEOUT, Fault.RESET})


def judge(outcome: Outcome) -> Judgement:
    if outcome.error is not None:
        return _judge_fault(outcome.error.fault)
    if outcome.status in (429, 503):
        return Judgement.THROTTLED
    if outcome.status is None or outcome.status >= 500 or outcome.status == 408:
        return Judgement.HOST_FAULT
    return Judgement.ANSWER


def _judge_fault(fault: Fault) -> Judgement:
    if fault is Fault.RETURNED:
        return Judgement.RETURNED
    if fault is Fault.ADDRESS:
        return Judgement.REFUSED
    return Judgement.HOST_FAULT if fault in _HOST_FAULTS else Judgement.PAGE_FAULT


def backoff(rules: Rules, failures: int) -> float:
    """How long to leave a host alone after so many failures in a row."""
    return min(rules.backoff_first * 2.0 ** min(max(failures - 1, 0), 32), rules.backoff_max)


def status_text(status: int | None) -> str:
    try:
        return f"{status} {HTTPStatus(status or 0).phrase}"
    except ValueError:
        return str(status)


def rank(url: str, depth: int, priority: float | None) -> int:
    """The place in a lane: breadth first, then what a sitemap thinks important, then short paths."""
    standing = 0.5 if priority is None else min(max(priority, 0.0), 1.0)
    return min(depth, 1023) * 1000 + round((1.0 - standing) * 16) * 32 + min(segments(url), 31)
