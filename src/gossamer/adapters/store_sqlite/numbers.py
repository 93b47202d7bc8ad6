"""States and kinds as the small integers that the tables hold."""

from __future__ import annotations

from collections.abc import Mapping

from gossamer.model import LeaseKind, State

STATES = {State.PENDING: 0, State.PROCESSING: 1, State.COMPLETED: 2, State.FAILED: 3, State.SKIPPED: 4}

KINDS = {
    LeaseKind.PAGE: 0,
    LeaseKind.SITEMAP: 1,
    LeaseKind.LLMS: 2,
    LeaseKind.CT: 3,
    LeaseKind.COMMONCRAWL: 4,
    LeaseKind.PROBE: 5,
}

STATE_NAMES = {number: state for state, number in STATES.items()}
KIND_NAMES = {number: kind for kind, number in KINDS.items()}


def spelt(column: str, names: Mapping[int, str]) -> str:
    """An SQL expression: the name of the number in a column."""
    cases = " ".join(f"WHEN {number} THEN '{name}'" for number, name in names.items())
    return f"CASE {column} {cases} END"
