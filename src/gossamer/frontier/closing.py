"""What becomes of a page that was out: tried again, final, or read and waiting to know whether it is one of its own."""

from __future__ import annotations

import msgspec

from gossamer.frontier.admission import Admission
from gossamer.frontier.folding import Folds, Known
from gossamer.frontier.host import Address, Host
from gossamer.frontier.ledger import Ledger
from gossamer.frontier.parameters import Parameters
from gossamer.frontier.patterns import Worth
from gossamer.frontier.policy import Judgement, Rules
from gossamer.frontier.queues import Queues
from gossamer.frontier.registry import Registry
from gossamer.frontier.returning import GONE
from gossamer.frontier.settling import PageVerdict, page_verdict, with_fold
from gossamer.frontier.turns import SourceRun
from gossamer.model import MAX_RANK, Fingerprint, Found, Lease, Outcome, PendingPage, Revisited, Settled, State, Why
from gossamer.url import host_of

_COPIES = {Why.CANONICAL, Why.DUPLICATE, Why.NEAR_DUPLICATE, Why.SOFT_404}


class Out(msgspec.Struct, frozen=True):
    """A lease that is out."""

    lease: Lease
    host: Host
    run: SourceRun
    page: PendingPage | None
    also: Host | None
    """The other host that a redirected robots file lives on."""
    address: Address | None


class Closing:
    def __init__(self, rules: Rules, hosts: Registry, queues: Queues, ledger: Ledger, admission: Admission) -> None:
        self._rules = rules
        self._hosts = hosts
        self._queues = queues
        self._ledger = ledger
        self._roads = admission.roads
        self._folds = Folds()

    def committed(self) -> None:
        self._folds.committed()

    def settle_page(
        self, now: float, out: Out, page: PendingPage, outcome: Outcome, judgement: Judgement, known: Known
    ) -> list[Found]:
        run, host = out.run, out.host
        page = msgspec.structs.replace(page, depth=self._roads.depth(page))
        verdict = page_verdict(page, outcome, judgement, self._rules)
        found: list[Found] = []
        if (
            verdict.settled.state is State.COMPLETED
            and outcome.reading is not None
            and not _says_the_same(page, verdict)
        ):
            fold = self._folds.judge(run, host, page, outcome.reading, known)
            if fold is not None:
                verdict = with_fold(page, verdict, fold, self._rules)
                found = [fold.found] if fold.found else []
        self._learn(now, run, host, page, outcome, verdict)
        self._close(run, page, verdict)
        if verdict.redirect is not None and page.depth == 0:
            self._adopt_seed(now, run, verdict.redirect)
        return [*found, *([verdict.found] if verdict.found else [])]

    def _close(self, run: SourceRun, page: PendingPage, verdict: PageVerdict) -> None:
        settled = verdict.settled
        self._ledger.settled(run, page, settled)
        self._roads.settled(page, verdict.found)
        if settled.state is State.COMPLETED:
            self._folds.completed(settled)
        if not settled.state.final:
            run.deferred += 1

    def _learn(
        self, now: float, run: SourceRun, host: Host, page: PendingPage, outcome: Outcome, verdict: PageVerdict
    ) -> None:
        """What the page tells of its pattern, and of the parameters of its host."""
        fingerprint, settled = verdict.settled.fingerprint, verdict.settled
        if page.depth > 0 and page.previous is None and (tallies := run.tallies(page.host)) is not None:
            tallies.settled(page.url, _worth(settled, fingerprint))
        if outcome.reading is None or not run.learns or ("?" not in page.url and ";" not in page.url):
            return
        if host.parameters is None:
            host.parameters = Parameters(host.learnt)
        if host.parameters.observe(page.url, outcome.reading.document.hash or ""):
            self._queues.judge_again(now, host)

    def settle_probe(self, out: Out, page: PendingPage, outcome: Outcome) -> None:
        """How the host says that there is nothing: by its status, or else by a page that is remembered."""
        host, reading = out.host, outcome.reading
        missing = reading.fingerprint if reading is not None and outcome.error is None else None
        host.learnt = msgspec.structs.replace(host.learnt, missing=missing, probed=True)
        host.probing = False
        self._ledger.ended(out.run, page, State.COMPLETED, None)
        out.run.judge_missing.append(host.key)

    def tried_again(self, now: float, out: Out, page: PendingPage, outcome: Outcome, judgement: Judgement) -> bool:
        if self._worth_another_try(out.run, page, judgement):
            self._requeue(now, out, page, outcome)
            return True
        if page.previous is not None and _seems_gone(page, outcome, self._rules):
            self._ask_once_more(now, out, page, outcome)
            return True
        return False

    def _worth_another_try(self, run: SourceRun, page: PendingPage, judgement: Judgement) -> bool:
        if judgement in (Judgement.THROTTLED, Judgement.RETURNED):
            return page.attempts < self._rules.throttled_attempts
        return judgement is Judgement.HOST_FAULT and page.attempts < run.source.spec.max_attempts

    def _requeue(self, now: float, out: Out, page: PendingPage, outcome: Outcome) -> None:
        self._back_in_line(now, out, page, outcome, None)
        self._queues.add_again(now, out.run, out.host, page)

    def _ask_once_more(self, now: float, out: Out, page: PendingPage, outcome: Outcome) -> None:
        """A page that was there says that it is gone: it is believed when it says so again, after all the others."""
        assert page.previous is not None  # noqa: S101 (only pages that were there can be gone)
        previous = msgspec.structs.replace(page.previous, misses=page.previous.misses + 1)
        page = msgspec.structs.replace(page, previous=previous, rank=MAX_RANK - 1)
        self._back_in_line(now, out, page, outcome, Revisited(misses=previous.misses))
        self._queues.add(now, out.run, page)

    def _back_in_line(
        self, now: float, out: Out, page: PendingPage, outcome: Outcome, revisit: Revisited | None
    ) -> None:
        out.run.take_back(page)
        if page.kind.guide:
            self._queues.guide_done(now)
        fact = Settled(
            page=page.id,
            source=page.source,
            url=page.url,
            kind=page.kind,
            state=State.PENDING,
            attempts=page.attempts,
            status=outcome.status,
            error=str(outcome.error) if outcome.error else None,
            rank=page.rank if revisit else None,
            revisit=revisit,
        )
        self._ledger.settled(out.run, page, fact)

    def _adopt_seed(self, now: float, run: SourceRun, url: str) -> None:
        """Where a seed redirects to is what the person meant."""
        refusal = run.judge.refusal(url)
        if (refusal is not None and refusal[0] is Why.SCOPE) or (refusal is None and not run.is_seed_host(url)):
            run.adopt(url)
            self._ledger.source(run, new_spec=True)
            if (host := self._hosts.get(host_of(url))) is not None:
                self._queues.ask_for_sitemaps(now, host)


def _worth(settled: Settled, fingerprint: Fingerprint | None) -> Worth:
    if settled.reason in _COPIES or settled.status in GONE:
        return Worth.USELESS
    return Worth.USEFUL if fingerprint is not None and fingerprint.sketch else Worth.THIN


def _says_the_same(page: PendingPage, verdict: PageVerdict) -> bool:
    """A page that was completed before, and has not changed, stays so."""
    before, document = page.previous, verdict.settled.document
    same = before is not None and document is not None and before.hash == document.hash
    return same and before is not None and before.state is State.COMPLETED


def _seems_gone(page: PendingPage, outcome: Outcome, rules: Rules) -> bool:
    before = page.previous
    was_there = before is not None and before.state is State.COMPLETED
    return was_there and outcome.status in GONE and before is not None and before.misses + 1 < rules.gone_after
