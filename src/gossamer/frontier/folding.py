"""Which pages are one: by their own word (canonical), because they say the same, or nearly so; and which are none,
although their status says otherwise.

A page is only folded into one that is there. While that is not known it is deferred with what was read. The store lags
behind within one commit, so what was completed since the last one is remembered here.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2s

import msgspec

from gossamer.frontier.host import Host
from gossamer.frontier.turns import SourceRun
from gossamer.model import (
    Deferral,
    Fingerprint,
    FoldEnd,
    Found,
    Learnt,
    LeaseKind,
    PendingPage,
    Reading,
    Settled,
    State,
    Twin,
    Why,
)
from gossamer.url import host_of

_ALIKE = 0.9
"""How like the host's own `not found` a page must be to be one."""
_ALIKE_IF_IT_SAYS_SO = 0.5
"""The same for a page whose title says so: the rest may name the address, the time, or what else there is."""


class Known(msgspec.Struct, frozen=True, kw_only=True):
    """What the store knows that bears on one page."""

    twins: tuple[Twin, ...] = ()
    canonical: FoldEnd | None = None


NOTHING = Known()


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """What must be asked of the store before a page can be judged."""

    source: int
    fingerprint: Fingerprint | None = None
    canonical: str | None = None


class Fold(msgspec.Struct, frozen=True, kw_only=True):
    """A page that is not simply completed."""

    reason: Why | None = None
    deferral: Deferral | None = None
    target: str | None = None
    error: str | None = None
    found: Found | None = None
    """What must be known first."""


class Folds:
    def __init__(self) -> None:
        self._urls: set[tuple[int, str]] = set()
        self._bodies: dict[tuple[int, bytes], Twin] = {}
        self._bands: dict[tuple[int, int], list[Twin]] = {}

    def committed(self) -> None:
        self._urls.clear()
        self._bodies.clear()
        self._bands.clear()

    def completed(self, settled: Settled) -> None:
        """From now on other pages may be folded into this one."""
        self._urls.add((settled.source, settled.url))
        fingerprint = settled.fingerprint
        if fingerprint is None or fingerprint.stub:
            return
        twin = Twin(page=settled.page, url=settled.url, exact=True)
        self._bodies.setdefault((settled.source, fingerprint.body), twin)
        near = Twin(page=settled.page, url=settled.url, exact=False, sketch=fingerprint.sketch)
        for band in fingerprint.bands:
            self._bands.setdefault((settled.source, band), []).append(near)

    def judge(self, run: SourceRun, host: Host, page: PendingPage, reading: Reading, known: Known) -> Fold | None:
        return (
            self._by_canonical(run, page, reading, known.canonical)
            or self._by_missing(run, host, page, reading)
            or self._by_twin(run, page, reading.fingerprint, known.twins)
        )

    def _by_canonical(self, run: SourceRun, page: PendingPage, reading: Reading, end: FoldEnd | None) -> Fold | None:
        target = canonical_of(run, page, reading)
        if target is None or (end is not None and end.url == page.url):
            return None
        if (page.source, target) in self._urls or (end is not None and end.state is State.COMPLETED):
            return Fold(reason=Why.CANONICAL, target=target)
        if end is not None and end.state.final:
            return None
        return Fold(deferral=Deferral.CANONICAL, target=target, found=_leads_to(page, target))

    def _by_missing(self, run: SourceRun, host: Host, page: PendingPage, reading: Reading) -> Fold | None:
        fingerprint = reading.fingerprint
        if not run.source.spec.traps.soft_404 or fingerprint is None:
            return None
        if is_missing(host.learnt, fingerprint, says_so=reading.looks_missing):
            return Fold(reason=Why.SOFT_404, error="says what this host says of pages that do not exist")
        if not reading.looks_missing or host.learnt.probed:
            return None
        probe = None if host.probing else _probe(page)
        host.probing = True
        return Fold(deferral=Deferral.MISSING, found=probe)

    def _by_twin(
        self, run: SourceRun, page: PendingPage, fingerprint: Fingerprint | None, twins: Iterable[Twin]
    ) -> Fold | None:
        if fingerprint is None or fingerprint.stub:
            return None
        wishes = run.source.spec.folding
        alike = [*twins, *self._in_this_commit(page.source, fingerprint)]
        for twin in alike:
            if twin.exact and twin.page != page.id and wishes.duplicates:
                return Fold(reason=Why.DUPLICATE, target=twin.url, error="the same content as the target")
        return _nearest(page, fingerprint, alike, wishes.near_duplicates)

    def _in_this_commit(self, source: int, fingerprint: Fingerprint) -> Iterable[Twin]:
        same = self._bodies.get((source, fingerprint.body))
        if same is not None:
            yield same
        for band in fingerprint.bands:
            yield from self._bands.get((source, band), ())


def canonical_of(run: SourceRun, page: PendingPage, reading: Reading) -> str | None:
    """The page that this one says it is a copy of, where the source would want that one."""
    target = reading.document.canonical
    if target is None or target == page.url or not run.source.spec.folding.canonical:
        return None
    return target if run.judge.refusal(target) is None else None


def question(run: SourceRun, page: PendingPage, reading: Reading) -> Question | None:
    if page.kind is not LeaseKind.PAGE or reading.noindex or reading.refresh is not None:
        return None
    wishes, fingerprint = run.source.spec.folding, reading.fingerprint
    if (fingerprint is not None and fingerprint.stub) or not (wishes.duplicates or wishes.near_duplicates):
        fingerprint = None
    canonical = canonical_of(run, page, reading)
    if fingerprint is None and canonical is None:
        return None
    return Question(source=page.source, fingerprint=fingerprint, canonical=canonical)


def is_missing(learnt: Learnt, fingerprint: Fingerprint, *, says_so: bool) -> bool:
    """Whether a page is what its host says when there is none."""
    missing = learnt.missing
    if missing is None:
        return False
    if missing.body == fingerprint.body:
        return True
    if not missing.sketch or not fingerprint.sketch:
        return says_so and not missing.sketch and not fingerprint.sketch
    return fingerprint.similarity(missing.sketch) >= (_ALIKE_IF_IT_SAYS_SO if says_so else _ALIKE)


def _nearest(page: PendingPage, fingerprint: Fingerprint, alike: list[Twin], threshold: float | None) -> Fold | None:
    if threshold is None or not fingerprint.sketch:
        return None
    others = {twin.page: twin for twin in alike if twin.page != page.id and twin.sketch}
    likeness, url = max(
        ((fingerprint.similarity(twin.sketch), twin.url) for twin in others.values()), default=(0.0, "")
    )
    if likeness < threshold:
        return None
    error = f"{likeness:.0%} the same as the target (limit {threshold:.0%})"
    return Fold(reason=Why.NEAR_DUPLICATE, target=url, error=error)


def _leads_to(page: PendingPage, target: str) -> Found:
    return Found(source=page.source, urls=(target,), depth=page.depth, parent=page.id, hops=page.hops + 1, listed=True)


def _probe(page: PendingPage) -> Found:
    """Something in the same folder that surely does not exist."""
    folder = page.url.partition("?")[0].rpartition("/")[0]
    name = blake2s(host_of(page.url).encode(), digest_size=6).hexdigest()
    return Found(
        source=page.source, urls=(f"{folder}/no-such-page-{name}",), depth=0, parent=page.id, kind=LeaseKind.PROBE
    )
