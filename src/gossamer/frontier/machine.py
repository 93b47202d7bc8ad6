"""The frontier: it decides what may be fetched, and when. It never waits, reads no clock and touches nothing.

Two doors: `admit` lets URLs in, `lease` lets them out. `settle` and `expire` close what `lease` opened. Every decision
becomes a fact that `collect` hands over; the caller commits it before anything leaves the process.

What always holds:
- never two leases at once on a host whose cap is one, never more than its cap on any, nor on an address;
- never a lease sooner than the host's delay, backoff or Retry-After after the end of the last one;
- no page lease before the host's robots verdict is known (unless the source ignores robots);
- `WaitUntil` means that nothing could be fetched at that moment; `DRAINED` that nothing is queued and nothing is out;
- queued + leased + deferred + final = admitted, for every source;
- a token that is not out is refused: what came late, or twice, changes nothing;
- the same commands at the same times give the same decisions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import inf
from typing import Final

import msgspec

from gossamer.frontier.admission import Admission
from gossamer.frontier.asking import Asking
from gossamer.frontier.closing import Closing, Out
from gossamer.frontier.folding import NOTHING, Known, Question, question
from gossamer.frontier.guiding import Guiding
from gossamer.frontier.host import Host
from gossamer.frontier.hours import opens_in
from gossamer.frontier.ledger import Ledger
from gossamer.frontier.policy import Judgement, Rules, judge
from gossamer.frontier.queues import Queues
from gossamer.frontier.registry import Registry
from gossamer.frontier.standing import back_off, block_if_hopeless, take_note
from gossamer.frontier.turns import SourceRun
from gossamer.model import (
    Batch,
    Candidate,
    Detour,
    Error,
    Fault,
    Fingerprint,
    FoldEnd,
    Found,
    GuideInfo,
    HostRecord,
    HostStatus,
    Lease,
    Leased,
    LeaseKind,
    Outcome,
    PatternRecord,
    PendingPage,
    Road,
    RobotsRecord,
    Source,
    SourceState,
    Validators,
    Workload,
)


class WaitUntil(msgspec.Struct, frozen=True):
    time: float


class Drained:
    """Nothing is queued and nothing is out."""


DRAINED: Final = Drained()


class Frontier:
    def __init__(self, rules: Rules, epoch: int, now: float, wall: float) -> None:
        self.rules = rules
        self._epoch = epoch
        self._ahead = wall - now
        """Of the clock that decides, how far the one on the wall is ahead."""
        self._looked_at = -inf
        self._handed_out = 0
        self._out: dict[int, Out] = {}
        self._ledger = Ledger()
        self._hosts = Registry(rules, now)
        self.queues = Queues(rules, self._hosts, self._ledger)
        self._admission = Admission(self._hosts, self.queues, self._ledger)
        self.guiding = Guiding(self.queues, self._ledger)
        self._asking = Asking(rules, self._hosts, self.queues, self._ledger)
        self._closing = Closing(rules, self._hosts, self.queues, self._ledger, self._admission)

    # -- sources and hosts

    def open_source(
        self,
        source: Source,
        workload: Workload = Workload(),  # noqa: B008 (frozen)
        guides: Iterable[GuideInfo] = (),
        roads: Iterable[Road] = (),
    ) -> SourceRun:
        """Take a source in, with what of it waits in the store."""
        run = SourceRun(source, workload)
        run.discovery.resume(guides, roads)
        self.queues.runs[source.id] = run
        self._ledger.source(run, new_spec=True)
        return run

    def end_source(self, source: int, state: SourceState, reason: str | None) -> None:
        run = self.queues.runs[source]
        run.source = msgspec.structs.replace(run.source, state=state, reason=reason)
        self._ledger.source(run)

    def runs(self) -> list[SourceRun]:
        return list(self.queues.runs.values())

    @property
    def leased(self) -> int:
        return len(self._out)

    @property
    def hosts(self) -> int:
        return len(self._hosts)

    def busiest(self, now: float, limit: int) -> list[HostStatus]:
        return self._hosts.busiest(now, limit)

    def strange_hosts(self, run: SourceRun, keys: Iterable[str]) -> list[str]:
        """Those hosts that are not in memory, or not with what the source knows of them, as far as there is room."""
        wanted = list(dict.fromkeys(keys))
        missing = [key for key in wanted if self._hosts.get(key) is None][: self._hosts.room]
        return missing + [key for key in wanted if self._hosts.get(key) is not None and key not in run.patterns]

    @property
    def full(self) -> bool:
        """There is no room for another host."""
        return not self._hosts.room

    def knows(self, key: str) -> bool:
        return self._hosts.get(key) is not None

    def homeless(self) -> dict[int, list[str]]:
        """For each source the hosts to `restore`: pages wait for them."""
        return self._admission.homeless()

    def restore(
        self,
        now: float,
        source: int,
        keys: Iterable[str],
        known: Iterable[tuple[HostRecord, RobotsRecord | None]],
        patterns: Iterable[PatternRecord],
    ) -> None:
        """Take hosts into memory, with what the store remembers of them, and queue the pages that waited for them."""
        run, wanted = self.queues.runs[source], list(keys)
        strangers = {key for key in wanted if self._hosts.get(key) is None}
        for key in wanted:
            self._hosts.take(key)
        for record, robots in known:
            if record.key in strangers:
                self._hosts.restore(now, now + self._ahead, record, robots, run.token)
        for key in wanted:
            self.queues.ask_for_sitemaps(now, self._hosts.take(key))
        self._admission.settle_in(now, run, wanted, patterns)

    def collect(self, now: float, wall: float) -> Batch:
        """All that was decided since the last time, to be committed before its effects are released."""
        self._ahead = wall - now
        self._admission.committed()
        self._closing.committed()
        for run in self.runs():
            self._ledger.learnt(run)
        return self._ledger.collect(now, wall, self._hosts.collect(now, wall))

    def evict_idle(self) -> None:
        """Call after a commit: the clocks of what is forgotten are in the store."""
        for key in self._hosts.evict():
            for run in self.runs():
                run.patterns.pop(key, None)

    def take_found(self) -> list[Found]:
        """Where pages lead that were ended while they waited, and which guides are to be asked for."""
        found, self.queues.found = self.queues.found, []
        return found

    # -- one door in

    def admit(self, now: float, candidates: Sequence[Candidate], first_id: int) -> dict[int, list[str]]:
        """Let in URLs that no page exists for yet, or refuse them with a reason. Page ids count up from `first_id`.

        Returns, for each source, the hosts to `restore` before anything else: their pages wait for that.
        """
        self._admission.admit(now, now + self._ahead, candidates, first_id)
        return self.homeless()

    def reopen(self, now: float, pages: Iterable[PendingPage]) -> None:
        """Pages that were final are to be visited after all."""
        self._admission.reopen(now, pages)

    def fresh(self, source: int, urls: Iterable[str], *, guides: bool = False) -> set[str]:
        """Those URLs that were let in or refused since the last commit: the store does not know them yet."""
        return self._admission.fresh(source, urls, guides=guides)

    def fresh_deferred(self, source: int, urls: Iterable[str]) -> list[PendingPage]:
        return self._admission.fresh_deferred(source, urls)

    def improve(self, now: float, candidate: Candidate, page: PendingPage) -> None:
        self._admission.improve(now, candidate, page)

    def shorten(self, candidate: Candidate, detour: Detour) -> list[Found]:
        return self._admission.shorten(candidate, detour)

    def raise_mentioned(self, now: float, candidate: Candidate, page: PendingPage) -> None:
        self._admission.raise_mentioned(now, candidate, page)

    def judge_deferred(
        self,
        now: float,
        pages: Sequence[PendingPage],
        ends: Mapping[str, FoldEnd] | None = None,
        prints: Mapping[int, Fingerprint] | None = None,
    ) -> None:
        """What these pages waited for is known, or will not come any more."""
        self._admission.judge(now, pages, ends or {}, prints or {})

    # -- one door out

    def lease(self, now: float) -> Lease | WaitUntil | Drained:
        if len(self._out) >= self.rules.concurrency:
            return WaitUntil(inf)
        self._look_at_hours(now)
        return self._lease_any(now) or self._lease_in_line(now) or self._rest(now)

    def _lease_any(self, now: float) -> Lease | None:
        # A page whose robots verdict has just expired turns into a robots lease: hence the second look.
        return self._lease_robots(now) or self._lease_page(now) or self._lease_robots(now)

    def _lease_in_line(self, now: float) -> Lease | None:
        """Whoever was called at an address may have had nothing to ask for: then it is the next one's turn."""
        lease = None
        while lease is None and (host := self._hosts.next_in_line()) is not None:
            self.queues.schedule(now, host)
            lease = self._lease_any(now)
        return lease

    def _rest(self, now: float) -> WaitUntil | Drained:
        if not self._out and all(run.drained for run in self.queues.runs.values()):
            return DRAINED
        return WaitUntil(max(now, self.queues.next_time(self._asking.has_room)))

    def _look_at_hours(self, now: float) -> None:
        if now == self._looked_at:
            return
        self._looked_at = now
        for run in self.queues.runs.values():
            hours = run.source.spec.politeness.hours
            if hours is not None and run.closed_until <= now:
                closed_for = opens_in(hours, now + self._ahead)
                run.closed_until = now + closed_for if closed_for else -inf

    def _lease_robots(self, now: float) -> Lease | None:
        asked = self._asking.next(now)
        return None if asked is None else self._hand_out(now, asked.host, asked.run, None, asked.also)

    def _lease_page(self, now: float) -> Lease | None:
        next_up = self.queues.pop_page(now)
        if next_up is None:
            return None
        host, run, page = next_up
        run.lend(page)
        if page.kind.guide:
            run.discovery.leased(now, page)
        elif not page.attempts and page.kind is LeaseKind.PAGE:
            self._grant(run)
        lease = self._hand_out(now, host, run, msgspec.structs.replace(page, attempts=page.attempts + 1), None)
        self.queues.schedule(now, host)
        return lease

    def _grant(self, run: SourceRun) -> None:
        run.granted += 1
        self._ledger.source(run)
        if run.capped:
            self.queues.cap(run)

    def _hand_out(self, now: float, host: Host, run: SourceRun, page: PendingPage | None, also: Host | None) -> Lease:
        self._handed_out += 1
        lease = Lease(
            token=self._epoch << 32 | self._handed_out,
            kind=page.kind if page else LeaseKind.ROBOTS,
            source=run.id,
            page=page.id if page else 0,
            url=page.url if page else host.robots.url,
            host=(also or host).key,
            deadline=now + self.rules.lease_time,
            exclusive=host.cap == 1,
            request=run.source.spec.request,
            validators=_validators(page),
        )
        address = host.address
        self._out[lease.token] = Out(lease, host, run, page, also, address)
        if address is not None:
            address.in_flight += 1
        for each in (host, also):
            if each is not None:
                each.in_flight += 1
                self._hosts.touch(each)
        if page:
            fact = Leased(page=page.id, token=lease.token, deadline=lease.deadline, attempts=page.attempts)
            self._ledger.batch.leased.append(fact)
        return lease

    def abandon(self, now: float) -> None:
        """Take back all leases: the crawl stops, and what is out will not be waited for."""
        for token in list(self._out):
            self._return(now, token, "the crawl stopped before a worker answered")
        self.guiding.abandon(now)

    def _return(self, now: float, token: int, text: str) -> None:
        self.settle(now, Outcome(token=token, error=Error(fault=Fault.RETURNED, text=text)))

    # -- what came of it

    def settle(self, now: float, outcome: Outcome, known: Known = NOTHING) -> list[Found] | None:
        """Take an outcome. Returns where it leads, or None if its lease is not out (any more)."""
        out = self._out.pop(outcome.token, None)
        if out is None:
            return None
        judgement = judge(outcome)
        self._take_back(now, out, outcome, judgement)
        found: list[Found] = []
        if out.page is None:
            self._asking.settle(now, out.host, out.run, outcome, judgement)
        elif not self._closing.tried_again(now, out, out.page, outcome, judgement):
            found = self._settle_for_good(now, out, out.page, outcome, judgement, known)
        if block_if_hopeless(now, out.host, self.rules):
            self.queues.judge_again(now, out.host)
        self._reschedule(now, out)
        return found

    def page_of(self, token: int) -> tuple[SourceRun, PendingPage] | None:
        """What a lease that is out was given for."""
        out = self._out.get(token)
        return None if out is None or out.page is None else (out.run, out.page)

    def question(self, outcome: Outcome) -> Question | None:
        """What must be known of the store before this outcome is settled."""
        place = self.page_of(outcome.token)
        return None if place is None or outcome.reading is None else question(*place, outcome.reading)

    def _reschedule(self, now: float, out: Out) -> None:
        self.queues.schedule(now, out.host)
        if out.also is not None:
            self.queues.schedule(now, out.also)
        if out.address is not None and (host := out.address.next_in_line()) is not None:
            self.queues.schedule(now, host)

    def _settle_for_good(
        self, now: float, out: Out, page: PendingPage, outcome: Outcome, judgement: Judgement, known: Known
    ) -> list[Found]:
        if page.kind.guide:
            return self.guiding.settle(now, out.run, page, outcome)
        out.run.take_back(page)
        if page.kind is LeaseKind.PROBE:
            self._closing.settle_probe(out, page, outcome)
            return []
        return self._closing.settle_page(now, out, page, outcome, judgement, known)

    def expire(self, now: float) -> int:
        """Take back leases whose time is up. All leases last equally long, so the oldest stand first."""
        late = []
        for token, out in self._out.items():
            if out.lease.deadline > now:
                break
            late.append(token)
        for token in late:
            self._return(now, token, "the lease expired before a worker answered")
        return len(late)

    def _take_back(self, now: float, out: Out, outcome: Outcome, judgement: Judgement) -> None:
        for host in (out.host, out.also):
            if host is not None:
                host.in_flight -= 1
                host.ended_at = now
                host.pause()
                self._hosts.touch(host)
        if out.address is not None:
            out.address.in_flight -= 1
        if outcome.address is not None and out.lease.request.proxy is None and out.also is None:
            self._hosts.locate(out.host, outcome.address)
        started = out.lease.deadline - self.rules.lease_time
        take_note(now, out.host, outcome, judgement, started)
        if judgement in (Judgement.THROTTLED, Judgement.HOST_FAULT):
            back_off(now, out.host, outcome, self.rules, started)


def _validators(page: PendingPage | None) -> Validators:
    if page is None or page.previous is None:
        return Validators()
    return Validators(page.previous.etag, page.previous.last_modified)
