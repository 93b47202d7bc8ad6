"""The frontier against its model, over random histories; and the model against frontiers that are broken on purpose."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from random import Random

import msgspec
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from gossamer.frontier.folding import NOTHING
from gossamer.frontier.host import Host, Lane, RobotsState
from gossamer.frontier.machine import DRAINED, Drained, Frontier, WaitUntil
from gossamer.frontier.policy import Rules
from gossamer.frontier.queues import Queues
from gossamer.frontier.registry import Registry
from gossamer.frontier.standing import back_off
from gossamer.frontier.turns import SourceRun
from gossamer.model import Document, Found, Lease, LeaseKind, Outcome, PendingPage, Reading
from tests.frontier.rehearsal import ADDRESSES, HOSTS, RETURNED, ROBOTS, TIMEOUT, Rehearsal

PATHS = [f"/{name}{number}" for name in ("", "a/b/", "private/") for number in range(14)]
ANSWERS = ("page", "page", "page", "404", "500", "429", "429", "timeout", "returned", "redirect", "links")


class Histories(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.rehearsal = Rehearsal()

    @initialize(host=st.sampled_from(HOSTS), source=st.sampled_from([1, 2]))
    def begin(self, host: str, source: int) -> None:
        self.rehearsal.admit(Found(source=source, urls=(f"{host}/",), depth=0))

    @rule(
        source=st.sampled_from([1, 2]),
        host=st.sampled_from(HOSTS),
        paths=st.lists(st.sampled_from(PATHS), min_size=1, max_size=12, unique=True),
        depth=st.integers(0, 3),
    )
    def admit(self, source: int, host: str, paths: list[str], depth: int) -> None:
        urls = tuple(host + path for path in paths)
        self.rehearsal.admit(Found(source=source, urls=urls, depth=depth))

    @rule(times=st.integers(1, 8))
    def lease_some(self, times: int) -> None:
        self.lease(times)

    def lease(self, times: int) -> None:
        for _ in range(times):
            if not isinstance(self.rehearsal.lease(), Lease):
                break

    @precondition(lambda self: bool(self.rehearsal.out))
    @rule(data=st.data(), answer=st.sampled_from(ANSWERS), taken=st.sampled_from([0.0, 0.2, 5.0]))
    def settle(self, data: st.DataObject, answer: str, taken: float) -> None:
        token = data.draw(st.sampled_from(sorted(self.rehearsal.out)))
        self.rehearsal.now += taken
        lease = self.rehearsal.out[token]
        self.rehearsal.settle(token, outcome(lease, answer))

    @precondition(lambda self: bool(self.rehearsal.out))
    @rule(data=st.data(), answer=st.sampled_from(["500", "429"]))
    def trouble_and_no_patience(self, data: st.DataObject, answer: str) -> None:
        """One host fails again and again, and is asked for more as soon as its delay alone would allow it."""
        rehearsal = self.rehearsal
        host = data.draw(st.sampled_from(sorted({lease.host for lease in rehearsal.out.values()})))
        for _ in range(4):
            for lease in [lease for lease in rehearsal.out.values() if lease.host == host]:
                rehearsal.settle(lease.token, outcome(lease, answer))
            rehearsal.now += 3.5
            self.lease(8)

    @rule(seconds=st.sampled_from([0.5, 1.0, 2.0, 3.0, 30.0, 101.0]))
    def wait(self, seconds: float) -> None:
        self.rehearsal.now += seconds
        self.rehearsal.expire()

    @rule()
    def wait_as_told(self) -> None:
        answer = self.rehearsal.lease()
        if isinstance(answer, WaitUntil) and answer.time < inf:
            self.rehearsal.now = max(self.rehearsal.now, answer.time)
            self.rehearsal.expire()

    @precondition(lambda self: bool(self.rehearsal.gone))
    @rule(data=st.data())
    def an_outcome_comes_late_or_twice(self, data: st.DataObject) -> None:
        self.rehearsal.settle_again(data.draw(st.sampled_from(self.rehearsal.gone)))

    @rule()
    def crash(self) -> None:
        self.rehearsal.crash()

    @invariant()
    def tokens_are_never_reused(self) -> None:
        assert not set(self.rehearsal.gone) & set(self.rehearsal.out)

    def teardown(self) -> None:
        """Whatever happened, the crawl comes to an end, and only then says so."""
        rehearsal = self.rehearsal
        for _ in range(5_000):
            answer = rehearsal.lease()
            if answer is DRAINED:
                return
            if isinstance(answer, Lease):
                rehearsal.settle(answer.token, outcome(answer, "page"))
            elif rehearsal.out:
                token = next(iter(rehearsal.out))
                rehearsal.settle(token, outcome(rehearsal.out[token], "page"))
            else:
                # A host that became idle just now makes room for another at the next look.
                answer = rehearsal.lease() if answer == WaitUntil(inf) else answer
                if isinstance(answer, WaitUntil):
                    assert answer.time < inf, "told to wait for ever"
                    rehearsal.now = max(rehearsal.now, answer.time)
        raise AssertionError("the crawl never ends")


def outcome(lease: Lease, answer: str) -> Outcome:
    found = _outcome(lease, answer)
    return found if found.status is None else msgspec.structs.replace(found, address=ADDRESSES[lease.host])


def _outcome(lease: Lease, answer: str) -> Outcome:
    if lease.kind is LeaseKind.ROBOTS:
        return robots_outcome(lease, answer)
    match answer:
        case "404" | "500":
            return Outcome(token=lease.token, status=int(answer))
        case "429":
            return Outcome(token=lease.token, status=429, retry_after=40.0)
        case "timeout":
            return Outcome(token=lease.token, error=TIMEOUT)
        case "returned":
            return Outcome(token=lease.token, error=RETURNED)
        case "redirect":
            return Outcome(token=lease.token, status=301, location=f"{lease.url}x"[:60])
        case "links":
            links = tuple(f"{host}/deep/{len(lease.url)}" for host in HOSTS)
            return Outcome(token=lease.token, status=200, reading=Reading(document=Document(links=links)))
    return Outcome(token=lease.token, status=200, reading=Reading())


def robots_outcome(lease: Lease, answer: str) -> Outcome:
    match answer:
        case "500":
            return Outcome(token=lease.token, status=500)
        case "429":
            return Outcome(token=lease.token, status=429, retry_after=40.0)
        case "timeout":
            return Outcome(token=lease.token, error=TIMEOUT)
        case "returned":
            return Outcome(token=lease.token, error=RETURNED)
        case "404":
            return Outcome(token=lease.token, status=404)
    return Outcome(token=lease.token, status=200, body=ROBOTS)


SETTINGS = settings(
    max_examples=200,
    stateful_step_count=50,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)


def test_the_frontier_keeps_its_promises_over_random_histories() -> None:
    run_state_machine_as_test(Histories, settings=SETTINGS)


def history(seed: int) -> list[object]:
    """What a frontier answers over one random history."""
    random, rehearsal, told = Random(seed), Rehearsal(), list[object]()
    for _ in range(80):
        urls = tuple(random.choice(HOSTS) + path for path in random.sample(PATHS, 3))
        rehearsal.admit(Found(source=random.choice([1, 2]), urls=urls, depth=random.randrange(3)))
        answer = rehearsal.lease()
        told.append(answer)
        if rehearsal.out and random.random() < 0.7:
            token = random.choice(sorted(rehearsal.out))
            rehearsal.settle(token, outcome(rehearsal.out[token], random.choice(ANSWERS)))
        rehearsal.now += random.choice([0.0, 0.5, 2.0])
    return [told, rehearsal.rows, rehearsal.records]


@pytest.mark.parametrize("seed", range(5))
def test_the_same_commands_at_the_same_times_give_the_same_decisions(seed: int) -> None:
    assert history(seed) == history(seed)


# -- a test of the test: each of these frontiers is broken in one way, and must be caught


def no_delay(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Host, "delay", property(lambda self: 0.0))
    patch.setattr(Host, "cap", property(lambda self: 1))


def no_backoff(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("gossamer.frontier.standing.backoff", lambda rules, failures: 0.0)


def deaf_to_retry_after(patch: pytest.MonkeyPatch) -> None:
    def forget(now: float, host: Host, outcome: Outcome, rules: Rules, started: float) -> None:
        back_off(now, host, Outcome(token=outcome.token, status=outcome.status, error=outcome.error), rules, started)

    patch.setattr("gossamer.frontier.machine.back_off", forget)


def busy_hosts_handed_out(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Host, "cap", property(lambda self: 99))


def robots_never_asked(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Queues, "asking", lambda self, now, host: None)


def robots_never_expire(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(RobotsState, "known", lambda self, now: self.verdict is not None)


def robots_rules_unread(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(RobotsState, "allows", lambda self, token, path: True)


def retries_lost(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Queues, "add_again", lambda self, now, run, host, page: setattr(run, "queued", run.queued + 1))


def leases_lost(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Frontier, "expire", lambda self, now: 0)


def early_drain(patch: pytest.MonkeyPatch) -> None:
    def rest(self: Frontier, now: float) -> WaitUntil | Drained:
        return DRAINED if not self._out else WaitUntil(now)

    patch.setattr(Frontier, "_rest", rest)


def spilled_pages_forgotten(patch: pytest.MonkeyPatch) -> None:
    original = Lane.add

    def add(self: Lane, page: PendingPage, limit: int) -> int:
        grown = original(self, page, limit)
        self.more = False
        return grown

    patch.setattr(Lane, "add", add)


def stale_tokens_taken(patch: pytest.MonkeyPatch) -> None:
    original = Frontier.settle
    patch.setattr(Frontier, "settle", lambda self, now, outcome, known=NOTHING: original(self, now, outcome) or [])


def addresses_ignored(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Registry, "locate", lambda self, host, name: None)


def limits_ignored(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(SourceRun, "capped", property(lambda self: False))


def clocks_lost_in_a_crash(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("gossamer.frontier.registry._restore_clock", lambda *_: None)


MUTANTS = [
    no_delay,
    no_backoff,
    deaf_to_retry_after,
    busy_hosts_handed_out,
    robots_never_asked,
    robots_never_expire,
    robots_rules_unread,
    retries_lost,
    leases_lost,
    early_drain,
    spilled_pages_forgotten,
    stale_tokens_taken,
    addresses_ignored,
    limits_ignored,
    clocks_lost_in_a_crash,
]


@pytest.mark.parametrize("break_it", MUTANTS)
def test_a_broken_frontier_is_caught(break_it: Callable[[pytest.MonkeyPatch], None]) -> None:
    only_generate = settings(SETTINGS, phases=[Phase.generate], print_blob=False)
    with pytest.MonkeyPatch.context() as patch:
        break_it(patch)
        with pytest.raises(BaseException) as caught:  # noqa: PT011 (hypothesis may group several)
            run_state_machine_as_test(Histories, settings=only_generate)
    assert "AssertionError" in repr(caught.value) or caught.errisinstance(AssertionError)
