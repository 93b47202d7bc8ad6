"""What is remembered of hosts: clocks, pace and lessons; robots; patterns of URLs; how their pages are found."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import apsw
import msgspec

from gossamer.adapters.store_sqlite.bulk import Bulk, Row
from gossamer.adapters.store_sqlite.reading import array
from gossamer.model import HostRecord, Learnt, PaceRecord, PatternRecord, Road, RobotsRecord

_json = msgspec.json.Encoder()
_pace = msgspec.json.Decoder(PaceRecord)
_learnt = msgspec.json.Decoder(Learnt)

_NAME_HOSTS = Bulk("INSERT INTO hosts (key)", 1, "ON CONFLICT (key) DO NOTHING")

_HOST_IDS = "SELECT key, id FROM hosts WHERE key IN (SELECT value FROM json_each(?))"

_SAVE_HOSTS = Bulk(
    "INSERT INTO hosts (key, ready_at, wait, delay, failures, answered, blocked, leased, waiting_for, last_error, "
    "latency, address, pace, learnt)",
    14,
    "ON CONFLICT (key) DO UPDATE SET ready_at = excluded.ready_at, wait = excluded.wait, delay = excluded.delay, "
    "failures = excluded.failures, answered = excluded.answered, blocked = excluded.blocked, leased = excluded.leased, "
    "waiting_for = excluded.waiting_for, last_error = excluded.last_error, latency = excluded.latency, "
    "address = excluded.address, pace = excluded.pace, learnt = excluded.learnt",
)

_SAVE_ROBOTS = Bulk("REPLACE INTO robots (host, verdict, body, status, error, fetched_at, expires_at)", 7)

_SAVE_PATTERNS = Bulk("REPLACE INTO patterns (source, host, pattern, admitted, allowed, useful, useless, thin)", 8)

_SAVE_ROADS = Bulk("REPLACE INTO roads (source, host, links)", 3)


def host_ids(db: apsw.Connection, keys: Iterable[str]) -> dict[str, int]:
    """The numbers of these hosts, which are given one where they have none."""
    wanted = list(keys)
    ids: dict[str, int] = dict(db.execute(_HOST_IDS, (array(wanted),)))
    missing = [key for key in wanted if key not in ids]
    if missing:
        _NAME_HOSTS.run(db, [(key,) for key in missing])
        ids.update(db.execute(_HOST_IDS, (array(missing),)))
    return ids


def save_hosts(db: apsw.Connection, hosts: Sequence[HostRecord]) -> None:
    _SAVE_HOSTS.run(
        db,
        [
            (
                host.key,
                host.ready_at,
                host.wait,
                host.delay,
                host.failures,
                host.answered,
                host.blocked,
                host.leased,
                host.waiting_for,
                host.last_error,
                host.latency,
                host.address,
                _text(host.pace),
                _text(host.learnt),
            )
            for host in hosts
        ],
    )


def _text(value: PaceRecord | Learnt | None) -> str | None:
    return None if value is None else _json.encode(value).decode()


def save_robots(db: apsw.Connection, robots: Sequence[RobotsRecord]) -> None:
    if not robots:
        return
    ids = host_ids(db, {record.host for record in robots})
    _SAVE_ROBOTS.run(
        db,
        [
            (
                ids[record.host],
                record.verdict,
                record.body,
                record.status,
                record.error,
                record.fetched_at,
                record.expires_at,
            )
            for record in robots
        ],
    )


def save_patterns(db: apsw.Connection, patterns: Sequence[PatternRecord]) -> None:
    if not patterns:
        return
    ids = host_ids(db, {record.host for record in patterns})
    _SAVE_PATTERNS.run(
        db,
        [
            (
                record.source,
                ids[record.host],
                record.pattern,
                record.admitted,
                record.allowed,
                record.useful,
                record.useless,
                record.thin,
            )
            for record in patterns
        ],
    )


def save_roads(db: apsw.Connection, roads: Sequence[Road]) -> None:
    if roads:
        ids = host_ids(db, {road.host for road in roads})
        _SAVE_ROADS.run(db, [(road.source, ids[road.host], road.links) for road in roads])


_HOSTS = """
SELECT h.key, h.ready_at, h.wait, h.delay, h.failures, h.answered, h.blocked, h.leased, h.waiting_for, h.last_error,
       h.latency, h.address, h.pace, h.learnt, r.verdict, r.body, r.status, r.error, r.fetched_at, r.expires_at
FROM hosts h LEFT JOIN robots r ON r.host = h.id
WHERE h.key IN (SELECT value FROM json_each(?)) AND (h.ready_at IS NOT NULL OR r.host IS NOT NULL)
"""
_HOST_FIELDS = HostRecord.__struct_fields__
_ROBOTS_FIELDS = RobotsRecord.__struct_fields__


def hosts(db: apsw.Connection, keys: Sequence[str]) -> list[tuple[HostRecord, RobotsRecord | None]]:
    rows = db.execute(_HOSTS, (array(keys),)).fetchall()
    width = len(_HOST_FIELDS)
    return [(_host(row[:width]), _robots((row[0], *row[width:]))) for row in rows]


def _host(row: Row) -> HostRecord:
    *plain, pace, learnt = row
    fields = dict(zip(_HOST_FIELDS, plain, strict=False))
    if fields["ready_at"] is None:
        return msgspec.convert({"key": fields["key"]}, HostRecord)
    read = {
        "answered": bool(fields["answered"]),
        "blocked": bool(fields["blocked"]),
        "pace": _pace.decode(pace) if isinstance(pace, str) else None,
        "learnt": _learnt.decode(learnt) if isinstance(learnt, str) else None,
    }
    return msgspec.convert(fields | read, HostRecord)


def _robots(row: Row) -> RobotsRecord | None:
    fields = dict(zip(_ROBOTS_FIELDS, row, strict=True))
    return None if fields["verdict"] is None else msgspec.convert(fields, RobotsRecord)


_PATTERNS = """
SELECT p.source, h.key, p.pattern, p.admitted, p.allowed, p.useful, p.useless, p.thin
FROM hosts h CROSS JOIN patterns p ON p.source = ? AND p.host = h.id
WHERE h.key IN (SELECT value FROM json_each(?)) ORDER BY h.key, p.pattern
"""


def patterns(db: apsw.Connection, source: int, keys: Sequence[str]) -> list[PatternRecord]:
    names = PatternRecord.__struct_fields__
    rows = db.execute(_PATTERNS, (source, array(keys)))
    return [msgspec.convert(dict(zip(names, row, strict=True)), PatternRecord) for row in rows]


_ROADS = "SELECT h.key, r.links FROM roads r JOIN hosts h ON h.id = r.host WHERE r.source = ? ORDER BY h.key"


def roads(db: apsw.Connection, source: int) -> list[Road]:
    rows = db.execute(_ROADS, (source,))
    return [Road(source=source, host=host, links=bool(links)) for host, links in rows]
