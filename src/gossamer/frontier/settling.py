"""What an outcome makes of a page: its final state, and where it leads."""

from __future__ import annotations

import msgspec

from gossamer.frontier.folding import Fold
from gossamer.frontier.policy import Judgement, Rules, status_text
from gossamer.model import (
    Detour,
    Document,
    Fault,
    Found,
    Outcome,
    PendingPage,
    Previous,
    Reading,
    Revisited,
    Settled,
    State,
    Why,
)


class PageVerdict(msgspec.Struct, frozen=True, kw_only=True):
    settled: Settled
    found: Found | None = None
    redirect: str | None = None


def page_verdict(page: PendingPage, outcome: Outcome, judgement: Judgement, rules: Rules) -> PageVerdict:
    """The end of a page that will not be tried again."""
    if outcome.status == 304 and page.previous is not None and outcome.error is None:
        return _as_before(page, outcome, page.previous)
    if judgement is Judgement.REFUSED:
        return _verdict(page, outcome, State.SKIPPED, reason=Why.ADDRESS, error=str(outcome.error))
    if outcome.error is not None:
        return _verdict(page, outcome, State.FAILED, error=str(outcome.error))
    if outcome.location is not None:
        return _redirected(page, outcome, outcome.location, rules)
    if outcome.status is None or not 200 <= outcome.status < 300:
        return _verdict(page, outcome, State.FAILED, error=f"{Fault.STATUS.value}: {status_text(outcome.status)}")
    return _read(page, outcome, outcome.reading or Reading(), rules)


def _as_before(page: PendingPage, outcome: Outcome, previous: Previous) -> PageVerdict:
    verdict = _verdict(page, outcome, previous.state)
    settled = msgspec.structs.replace(verdict.settled, revisit=Revisited(unchanged=True))
    return PageVerdict(settled=settled)


def _read(page: PendingPage, outcome: Outcome, reading: Reading, rules: Rules) -> PageVerdict:
    if reading.error is not None:
        return _verdict(page, outcome, State.FAILED, error=str(reading.error))
    if reading.refresh is not None and reading.refresh != page.url:
        return _redirected(page, outcome, reading.refresh, rules)
    nofollow = reading.document.links if reading.nofollow else reading.nofollow_links
    document = msgspec.structs.replace(reading.document, nofollow=nofollow) if nofollow else reading.document
    found = found_in(document, page.source, page.id, page.depth)
    if reading.noindex:
        links_only = Document(links=document.links, nofollow=document.nofollow)
        return _verdict(page, outcome, State.SKIPPED, reason=Why.NOINDEX, document=links_only, found=found)
    verdict = _verdict(page, outcome, State.COMPLETED, document=document, found=found)
    settled = msgspec.structs.replace(verdict.settled, fingerprint=reading.fingerprint)
    return msgspec.structs.replace(verdict, settled=settled)


def _redirected(page: PendingPage, outcome: Outcome, target: str, rules: Rules) -> PageVerdict:
    if target == page.url:
        return _verdict(page, outcome, State.FAILED, error="redirect: the page redirects to itself")
    if page.hops >= rules.max_redirects:
        error = f"redirect: more than {rules.max_redirects} redirects in a row, the next one to {target}"
        return _verdict(page, outcome, State.FAILED, error=error)
    found = Found(source=page.source, urls=(target,), depth=page.depth, parent=page.id, hops=page.hops + 1, listed=True)
    verdict = _verdict(page, outcome, State.SKIPPED, reason=Why.REDIRECT, found=found)
    settled = msgspec.structs.replace(verdict.settled, target=target)
    return msgspec.structs.replace(verdict, settled=settled, redirect=target)


def with_fold(page: PendingPage, verdict: PageVerdict, fold: Fold, rules: Rules) -> PageVerdict:
    """A page that turned out to be another one, or that waits to know whether it is."""
    settled = verdict.settled
    if fold.deferral is not None:
        settled = msgspec.structs.replace(settled, state=State.PENDING, rank=fold.deferral.rank, target=fold.target)
        return msgspec.structs.replace(verdict, settled=settled)
    document = settled.document or Document()
    settled = msgspec.structs.replace(
        settled,
        state=State.SKIPPED,
        reason=fold.reason,
        error=fold.error,
        target=fold.target,
        fingerprint=None,
        document=Document(links=document.links, nofollow=document.nofollow, hash=document.hash),
    )
    # The same page at one place after the other leads nowhere new in the end.
    found = verdict.found if page.hops < rules.max_redirects else None
    if found is not None:
        found = msgspec.structs.replace(found, hops=page.hops + 1)
    return msgspec.structs.replace(verdict, settled=settled, found=found)


def found_in(document: Document | Detour, source: int, page: int, depth: int) -> Found | None:
    """Where the links of a page lead, given its depth."""
    if not document.links:
        return None
    nofollow = frozenset(document.nofollow)
    return Found(source=source, urls=document.links, depth=depth + 1, parent=page, nofollow=nofollow)


def _verdict(
    page: PendingPage,
    outcome: Outcome,
    state: State,
    *,
    reason: Why | None = None,
    error: str | None = None,
    document: Document | None = None,
    found: Found | None = None,
) -> PageVerdict:
    settled = Settled(
        page=page.id,
        source=page.source,
        url=page.url,
        state=state,
        attempts=page.attempts,
        reason=reason,
        error=error,
        status=outcome.status,
        content_type=outcome.content_type,
        etag=outcome.etag,
        last_modified=outcome.last_modified,
        size=outcome.size,
        elapsed=outcome.elapsed,
        document=document,
        kind=page.kind,
    )
    return PageVerdict(settled=settled, found=found)
