"""How a host stands: what an answer, a refusal or a failure makes of it."""

from __future__ import annotations

from gossamer.frontier.host import Host
from gossamer.frontier.policy import Judgement, Rules, backoff
from gossamer.model import Outcome


def take_note(now: float, host: Host, outcome: Outcome, judgement: Judgement, started: float) -> None:
    """An outcome of a request that began at `started`."""
    host.answered = host.answered or outcome.status is not None
    if judgement is Judgement.ANSWER:
        host.failures = 0
        host.observe(outcome.elapsed)
    if host.pace is not None:
        _set_pace(now, host, outcome, judgement, started)
    host.pause()


def _set_pace(now: float, host: Host, outcome: Outcome, judgement: Judgement, started: float) -> None:
    assert host.pace is not None  # noqa: S101 (the caller looked)
    match judgement:
        case Judgement.ANSWER:
            host.pace.answered(now, started, outcome.elapsed, host.in_flight + 1)
        case Judgement.THROTTLED:
            host.pace.throttled(now, started)
        case Judgement.HOST_FAULT:
            host.pace.failed(now, started)


def back_off(now: float, host: Host, outcome: Outcome, rules: Rules, started: float) -> None:
    """Leave the whole host alone for as long as it asks, or longer with every failure.

    Requests that were under way together fail together: that is one failure.
    """
    if started >= host.failed_at:
        host.failures += 1
        host.failed_at = now
    host.last_error = str(outcome.error or f"status {outcome.status}")
    wait = backoff(rules, host.failures)
    asked = min(outcome.retry_after or 0.0, rules.backoff_max)
    host.rest(now, max(wait, asked), "Retry-After" if asked >= wait else "backoff")


def block_if_hopeless(now: float, host: Host, rules: Rules) -> bool:
    """Give a host up after too many failures in a row. True if that happened just now."""
    limit = rules.block_after if host.answered else rules.unreachable_after
    if host.blocked or host.failures < limit:
        return False
    host.blocked = True
    host.rest(now, rules.block_time, "blocked")
    return True
