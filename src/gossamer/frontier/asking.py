"""Robots files: which host is asked for its own next, and what the answer means."""

from __future__ import annotations

import msgspec

from gossamer.frontier.host import Host
from gossamer.frontier.ledger import Ledger
from gossamer.frontier.policy import Judgement, Rules
from gossamer.frontier.queues import Queues
from gossamer.frontier.registry import Registry
from gossamer.frontier.robots import judge_robots, parse_robots
from gossamer.frontier.turns import SourceRun
from gossamer.model import Outcome, RobotsRecord, RobotsVerdict
from gossamer.url import host_of


class Asked(msgspec.Struct, frozen=True):
    host: Host
    run: SourceRun
    """In whose name."""
    also: Host | None
    """The other host that a redirected robots file lives on."""


class Asking:
    def __init__(self, rules: Rules, hosts: Registry, queues: Queues, ledger: Ledger) -> None:
        self._rules = rules
        self._hosts = hosts
        self._queues = queues
        self._ledger = ledger
        self._out = 0

    @property
    def has_room(self) -> bool:
        return self._out < self._rules.robots_at_once

    def next(self, now: float) -> Asked | None:
        """A host that is ready to be asked for its robots file."""
        while self.has_room and (next_up := self._queues.pop_robots(now)) is not None:
            host, run = next_up
            also = self._elsewhere(host)
            if also is not None and (also.in_flight or also.ready_at > now):
                host.rest(now, max(also.ready_at - now, self._rules.backoff_first), "robots")
                self._queues.put_off_robots(host)
            else:
                host.robots.fetching = True
                self._out += 1
                return Asked(host, run, also)
        return None

    def _elsewhere(self, host: Host) -> Host | None:
        key = host_of(host.robots.url)
        return None if key == host.key else self._hosts.take(key)

    def settle(self, now: float, host: Host, run: SourceRun, outcome: Outcome, judgement: Judgement) -> None:
        robots = host.robots
        robots.fetching = False
        self._out -= 1
        if judgement is Judgement.RETURNED:
            return
        if judgement is Judgement.REFUSED:
            self._queues.refuse_address(now, host, run, str(outcome.error))
        elif outcome.location is not None and robots.hops < self._rules.robots_redirects:
            robots.url = outcome.location
            robots.hops += 1
        else:
            self._learn(now, host, run, outcome)

    def _learn(self, now: float, host: Host, run: SourceRun, outcome: Outcome) -> None:
        verdict = judge_robots(outcome.status, outcome.error, outcome.body)
        expires_at = now + self._rules.robots_ttl
        rules = parse_robots(outcome.body) if verdict is RobotsVerdict.RULES else None
        host.robots.learn(verdict, rules, run.token, expires_at)
        host.robots.url, host.robots.hops = f"{host.key}/robots.txt", 0
        self._ledger.batch.robots.append(
            RobotsRecord(
                host=host.key,
                verdict=verdict,
                body=outcome.body,
                status=outcome.status,
                error=str(outcome.error) if outcome.error else None,
                fetched_at=now,
                expires_at=expires_at,
            )
        )
        if verdict is not RobotsVerdict.UNREACHABLE:
            host.pause()
            self._queues.ask_for_sitemaps(now, host)
            self._queues.judge_again(now, host)
