"""admit: what was found goes through the frontier's door, with what the store knows of it, one question for a page."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from gossamer.failpoints import failpoint
from gossamer.frontier.machine import Frontier
from gossamer.model import Candidate, Found, LeaseKind, Order
from gossamer.ports import Store

_LISTED_AT_ONCE = 2_000


class Listed(msgspec.Struct, frozen=True):
    """What a guide leads to and was not let in yet."""

    guide: int
    rest: deque[Found]


class Admitter:
    def __init__(self, store: Store, frontier: Frontier) -> None:
        self._store = store
        self._frontier = frontier
        self._listed: deque[Listed] = deque()

    @property
    def busy(self) -> bool:
        """There is more to let in."""
        return bool(self._listed)

    def put_off(self, guide: int, found: Iterable[Found]) -> None:
        """What a guide leads to may be much: it is let in bit by bit."""
        self._listed.append(Listed(guide, deque(found)))

    async def admit(self, now: float, found: Sequence[Found]) -> None:
        """Let in what was found. A shorter road to a known page can lead on to others: then there is another round."""
        found = [*found, *self._frontier.take_found()]
        while found:
            by_source: dict[int, list[Found]] = {}
            for each in found:
                if each.kind is LeaseKind.PAGE:
                    by_source.setdefault(each.source, []).append(each)
                else:
                    await self._admit_guides(now, each)
            rounds = [await self._admit_for(now, source, group) for source, group in by_source.items()]
            found = [each for further in rounds for each in further] + self._frontier.take_found()

    async def _admit_guides(self, now: float, found: Found) -> None:
        run = self._frontier.queues.runs[found.source]
        new = await self._unseen(found.source, found.urls, guides=True)
        if found.kind.guide:
            new = new[: run.discovery.room]
            # First, because robots may end some of them at once: the others must be known to be open by then.
            run.discovery.let_in(found, len(new))
        if new:
            first_id = await self._store.reserve(len(new))
            await self.restore(now, self._frontier.admit(now, found.candidates(set(new)), first_id))

    async def admit_listed(self, now: float) -> bool:
        """Let in some of what guides list: a long list takes several rounds, and nothing else waits for it.

        True if final pages were opened again, because a guide says that they changed."""
        room, opened = _LISTED_AT_ONCE, False
        while self._listed and room > 0:
            guide, rest = self._listed[0].guide, self._listed[0].rest
            found = rest.popleft()
            if found.kind is LeaseKind.PAGE and len(found.urls) > room:
                rest.appendleft(msgspec.structs.replace(found, urls=found.urls[room:]))
                found = msgspec.structs.replace(found, urls=found.urls[:room])
            room -= len(found.urls)
            if found.kind is LeaseKind.PAGE:
                self._frontier.guiding.count(guide, found.urls)
                opened |= await self._relist(now, found)
            await self.admit(now, [found])
            failpoint("guide-half-listed")
            if not rest:
                self._listed.popleft()
                self._frontier.guiding.done(now, guide)
                await self.admit(now, [])
        return opened

    async def _relist(self, now: float, found: Found) -> bool:
        dated = ((url, found.hints[url].lastmod) for url in found.urls)
        lastmods = {url: lastmod for url, lastmod in dated if lastmod is not None}
        pages = await self._store.relist(found.source, lastmods) if lastmods else []
        self._frontier.reopen(now, pages)
        await self.restore(now, self._frontier.homeless())
        return bool(pages)

    async def _admit_for(self, now: float, source: int, found: list[Found]) -> list[Found]:
        run = self._frontier.queues.runs[source]
        urls = list(dict.fromkeys(url for each in found for url in each.urls))
        new = await self._unseen(source, urls)
        known = set(urls).difference(new)
        if known and (run.improvable or (run.deferred and run.judge.limits_depth)):
            await self._improve(now, source, found, known)
        if known and run.source.spec.order is Order.BEST:
            await self._raise(now, source, found, known)
        further = await self._shorten(source, found, known) if known and run.judge.limits_depth else []
        if new:
            first_id = await self._store.reserve(len(new))
            best = _best(found, new)
            await self.restore(now, self._frontier.admit(now, [best[url] for url in new], first_id))
        return further

    async def _unseen(self, source: int, urls: Sequence[str], *, guides: bool = False) -> list[str]:
        """Those that nobody knows: neither the store, nor the frontier since the last commit."""
        fresh = self._frontier.fresh(source, urls, guides=guides)
        return [url for url in await self._store.unseen(source, urls, guides=guides) if url not in fresh]

    async def _raise(self, now: float, source: int, found: list[Found], known: set[str]) -> None:
        pages = await self._store.mentioned(source, sorted(known))
        best = _best(found, {page.url for page in pages})
        for page in pages:
            self._frontier.raise_mentioned(now, best[page.url], page)

    async def _improve(self, now: float, source: int, found: list[Found], known: set[str]) -> None:
        pages = await self._store.deferred(source, sorted(known))
        pages += self._frontier.fresh_deferred(source, known)
        best = _best(found, {page.url for page in pages})
        for page in pages:
            self._frontier.improve(now, best[page.url], page)
        await self.restore(now, self._frontier.homeless())

    async def _shorten(self, source: int, found: list[Found], known: set[str]) -> list[Found]:
        best = {url: road for url, road in _best(found, known).items() if not road.nofollow}
        detours = await self._store.detours(source, {url: road.depth for url, road in best.items()})
        return [leads for detour in detours for leads in self._frontier.shorten(best[detour.url], detour)]

    async def restore(self, now: float, missing: Mapping[int, list[str]]) -> None:
        """Take hosts into memory, with what each source knows of them."""
        for source, hosts in missing.items():
            if hosts:
                known, patterns = await self._store.hosts(hosts), await self._store.patterns(source, hosts)
                self._frontier.restore(now, source, hosts, known, patterns)


def _best(found: Iterable[Found], wanted: Iterable[str]) -> dict[str, Candidate]:
    """For each URL the best of the roads that lead to it: one that may be followed, then the shortest."""
    wanted = set(wanted)
    best: dict[str, Candidate] = {}
    for each in found:
        for candidate in each.candidates(wanted):
            known = best.get(candidate.url)
            if known is None:
                best[candidate.url] = candidate
            else:
                better = candidate if _road(candidate) < _road(known) else known
                best[candidate.url] = msgspec.structs.replace(better, mentions=known.mentions + 1)
    return best


def _road(candidate: Candidate) -> tuple[bool, bool, int]:
    return candidate.nofollow, not candidate.listed, candidate.depth
