"""The hosts in memory: restored from the store when they are needed, evicted when they are idle, clocks never lost."""

from __future__ import annotations

from collections import OrderedDict
from heapq import nlargest

import msgspec

from gossamer.frontier.host import Address, Host
from gossamer.frontier.parameters import Parameters
from gossamer.frontier.policy import Rules
from gossamer.frontier.robots import parse_robots
from gossamer.model import HostRecord, HostStatus, Learnt, RobotsRecord, RobotsVerdict


class Registry:
    def __init__(self, rules: Rules, opened_at: float) -> None:
        self._rules = rules
        self._opened_at = opened_at
        self._hosts: OrderedDict[str, Host] = OrderedDict()
        self._dirty: dict[str, Host] = {}
        self._addresses: dict[str, Address] = {}
        self._crowded: dict[Address, None] = {}

    def __len__(self) -> int:
        return len(self._hosts)

    def get(self, key: str) -> Host | None:
        return self._hosts.get(key)

    def take(self, key: str) -> Host:
        """The host, new if it is not in memory."""
        host = self._hosts.get(key)
        if host is None:
            host = self._hosts[key] = Host(key)
        self._hosts.move_to_end(key)
        return host

    def touch(self, host: Host) -> None:
        """Its record must go into the next commit."""
        self._dirty[host.key] = host

    def locate(self, host: Host, name: str) -> None:
        """The host was found at this address, which others may share."""
        if host.address_name != name:
            host.address_name = name
            host.address = self._addresses.setdefault(name, Address(self._crowded))

    def next_in_line(self) -> Host | None:
        """A host that stands in line at an address that has room."""
        return next(filter(None, (address.next_in_line() for address in list(self._crowded))), None)

    @property
    def room(self) -> int:
        return max(self._rules.hosts_in_memory - len(self._hosts), 0)

    def evict(self) -> list[str]:
        """Forget idle hosts, the longest unused first, when the registry is nearly full. Returns which."""
        excess = len(self._hosts) - self._rules.hosts_in_memory * 9 // 10
        if excess <= 0:
            return []
        gone = [key for key, host in self._hosts.items() if host.idle and key not in self._dirty][:excess]
        for key in gone:
            del self._hosts[key]
        if gone:
            used = {host.address_name for host in self._hosts.values()}
            self._addresses = {name: address for name, address in self._addresses.items() if name in used}
        return gone

    def restore(self, now: float, wall: float, record: HostRecord, robots: RobotsRecord | None, token: str) -> None:
        host = self.take(record.key)
        _restore_clock(host, now, wall, record, self._opened_at)
        _restore_knowledge(host, record)
        if record.address is not None:
            self.locate(host, record.address)
        if record.leased:
            self.touch(host)
        if robots is not None:
            self._restore_robots(host, now, wall, robots, token)

    def _restore_robots(self, host: Host, now: float, wall: float, record: RobotsRecord, token: str) -> None:
        left = min(record.expires_at - wall, self._rules.robots_ttl)
        if left > 0 and record.verdict is not RobotsVerdict.UNREACHABLE:
            rules = parse_robots(record.body) if record.verdict is RobotsVerdict.RULES else None
            host.robots.learn(record.verdict, rules, token, now + left)

    def collect(self, now: float, wall: float) -> list[HostRecord]:
        """The records of all hosts that changed since the last time."""
        records = [_record(host, now, wall) for host in self._dirty.values()]
        self._dirty.clear()
        return records

    def busiest(self, now: float, limit: int) -> list[HostStatus]:
        active = [host for host in self._hosts.values() if not host.idle]
        first = nlargest(limit, active, key=lambda host: (host.in_flight, _queued(host), host.key))
        return [_status(host, now) for host in first]


def _restore_clock(host: Host, now: float, wall: float, record: HostRecord, opened_at: float) -> None:
    # A wall clock that jumped can make a wait neither longer than it was nor shorter than nothing.
    left = min(max(record.ready_at - wall, 0.0), record.wait)
    if left > 0:
        host.ready_at, host.wait, host.waiting_for = now + left, record.wait, record.waiting_for
    # A request may have been under way when the last owner stopped: it ended before this one began.
    host.ended_at = opened_at if record.leased else min(now - wall + record.ready_at - record.wait, now)
    host.rest(host.ended_at, record.delay, "delay")
    host.blocked = record.blocked and left > 0
    host.failures = 0 if record.blocked and not host.blocked else record.failures
    host.answered = record.answered
    host.last_error = record.last_error
    host.latency = record.latency


def _restore_knowledge(host: Host, record: HostRecord) -> None:
    host.pace_record = record.pace
    if record.learnt is not None:
        host.learnt = record.learnt
        host.parameters = Parameters(record.learnt)


def _record(host: Host, now: float, wall: float) -> HostRecord:
    return HostRecord(
        key=host.key,
        ready_at=wall - now + host.ready_at,
        wait=host.wait,
        delay=host.delay,
        failures=host.failures,
        answered=host.answered,
        blocked=host.blocked,
        leased=host.in_flight,
        waiting_for=host.waiting_for,
        last_error=host.last_error,
        latency=host.latency,
        address=host.address_name,
        pace=host.pace.record if host.pace else host.pace_record,
        learnt=_learnt(host),
    )


def _learnt(host: Host) -> Learnt | None:
    known = host.learnt
    if host.parameters is not None:
        learnt = host.parameters.learnt()
        known = msgspec.structs.replace(known, parameters=learnt.parameters, order=learnt.order)
    return None if known == Learnt() else known


def _queued(host: Host) -> int:
    return sum(len(lane) for lane in host.lanes.values())


def _status(host: Host, now: float) -> HostStatus:
    wait = max(host.ready_at - now, 0.0)
    fetching_robots = host.robots.fetching
    return HostStatus(
        key=host.key,
        queued=_queued(host),
        in_flight=host.in_flight,
        delay=host.delay,
        waiting_for="robots" if fetching_robots else host.waiting_for if wait and not host.in_flight else None,
        wait=wait,
        failures=host.failures,
        last_error=host.last_error if host.failures else None,
        load=host.pace.record.load if host.pace and host.pace.adaptive else None,
    )
