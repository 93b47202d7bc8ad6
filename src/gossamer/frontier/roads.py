"""The roads to a page: which is the shortest, when a shorter one turns up after the page itself.

A page that is final keeps the depth it was delivered with; what lies behind it is judged by the shorter road. The store
lags behind within one commit, so what was settled and what was moved since the last one is remembered here.
"""

from __future__ import annotations

import msgspec

from gossamer.frontier.settling import found_in
from gossamer.model import Candidate, Detour, Found, Moved, PendingPage


class Roads:
    def __init__(self) -> None:
        self._depths: dict[int, int] = {}
        """Of pages that stand deeper in the store or in a queue."""
        self._settled: dict[int, tuple[Found | None, int]] = {}
        self._let_in: dict[int, int] = {}

    def depth(self, page: PendingPage) -> int:
        return min(self._depths.get(page.id, page.depth), page.depth)

    def settled(self, page: PendingPage, found: Found | None) -> None:
        self._settled[page.id] = (found, page.depth)

    def let_in(self, page: PendingPage) -> None:
        """A deferred page found its road."""
        self._let_in[page.id] = page.rank

    def committed(self) -> None:
        self._settled.clear()
        self._let_in.clear()

    def shorten_let_in(self, page: PendingPage, candidate: Candidate) -> Moved | None:
        """The same page again, before the store knows that it was let in."""
        return self._moved(page.id, self._let_in[page.id], candidate) if self._is_shorter(page.id, candidate) else None

    def was_let_in(self, page: PendingPage) -> bool:
        return page.id in self._let_in

    def shorten(self, candidate: Candidate, detour: Detour) -> tuple[Moved | None, list[Found]]:
        """Take a shorter road: where the page moves to, if it still can, and where it leads from its new depth."""
        if not self._is_shorter(detour.page, candidate):
            return None, []
        if detour.final:
            return None, _behind(candidate, detour)
        found, depth = self._settled.get(detour.page, (None, 0))
        behind = [msgspec.structs.replace(found, depth=found.depth - depth + candidate.depth)] if found else []
        return self._moved(detour.page, detour.rank, candidate), behind

    def _is_shorter(self, page: int, candidate: Candidate) -> bool:
        known = self._depths.get(page)
        if known is not None and known <= candidate.depth:
            return False
        self._depths[page] = candidate.depth
        return True

    @staticmethod
    def _moved(page: int, rank: int, candidate: Candidate) -> Moved:
        return Moved(page=page, depth=candidate.depth, rank=rank, parent=candidate.parent, position=candidate.position)


def _behind(candidate: Candidate, detour: Detour) -> list[Found]:
    if detour.target is None:
        found = found_in(detour, candidate.source, detour.page, candidate.depth)
        return [found] if found else []
    urls = (detour.target,)
    return [Found(source=candidate.source, urls=urls, depth=candidate.depth, parent=detour.page, hops=1)]
