"""The frontier: it decides what may be fetched, and when. It never waits, reads no clock and touches nothing.

Two doors: `admit` lets URLs in, `lease` lets them out. `settle` and `expire` close what `lease` opened. Every decision
becomes a fact that `collect` hands over; the caller commits it before anything leaves the process.

What always holds:
- never two leases at once on a host whose cap is one, never more than its cap on any;
- never a lease sooner than the host's delay, backoff or Retry-After after the end of the last one;
- no page lease before the host's robots verdict is known (unless the source ignores robots);
- `WaitUntil` means that nothing could be fetched at that moment; `DRAINED` that nothing is queued and nothing is out;
- queued + leased + final = admitted, for every source;
- a token that is not out is refused: what came late, or twice, changes nothing;
- the same commands at the same times give the same decisions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf
from typing import Final

import msgspec

from gossamer.frontier.host import Host
from gossamer.frontier.ledger import Ledger
from gossamer.frontier.policy import Judgement, Rules, backoff, judge, rank
from gossamer.frontier.queues import Queues
from gossamer.frontier.registry import Registry
from gossamer.frontier.roads import Roads
from gossamer.frontier.robots import judge_robots, parse_robots, product_token
from gossamer.frontier.settling import page_verdict
from gossamer.frontier.turns import SourceRun
from gossamer.model import (
    MAX_RANK,
    Batch,
    Candidate,
    Detour,
    Error,
    Fault,
    Found,
    HostRecord,
    HostStatus,
    Lease,
    Leased,
    LeaseKind,
    Moved,
    Outcome,
    PendingPage,
    RobotsRecord,
    RobotsVerdict,
    Settled,
    Source,
    SourceState,
    State,
    Why,
)
from gossamer.url import host_of


class WaitUntil(msgspec.Struct, frozen=True):
    time: float


class Drained:
    """Nothing is queued and nothing is out."""


DRAINED: Final = Drained()


class _Out(msgspec.Struct, frozen=True):
    """A lease that is out."""

    lease: Lease
    host: Host
    run: SourceRun
    page: PendingPage | None
    also: Host | None
    """The other host that a redirected robots file lives on."""


class Frontier:
    def __init__(self, rules: Rules, epoch: int, opened_at: float) -> None:
        self.rules = rules
        self._epoch = epoch
        self._handed_out = 0
        self._out: dict[int, _Out] = {}
        self._robots_out = 0
        self._homeless: dict[str, list[PendingPage]] = {}
        self._roads = Roads()
        self._ledger = Ledger()
        self._hosts = Registry(rules, opened_at)
        self.queues = Queues(rules, self._hosts, self._ledger)

    # -- sources and hosts

    def open_source(self, source: Source, queued: int = 0, deferred: int = 0) -> None:
        """Take a source in, with how many of its pages wait in the store."""
        run = SourceRun(source, product_token(source.spec.request.user_agent), queued, deferred)
        self.queues.runs[source.id] = run
        self._ledger.source(run, new_spec=True)

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

    def unknown_hosts(self, keys: Iterable[str]) -> list[str]:
        """Those hosts that are not in memory, as far as there is room for them."""
        return self._hosts.missing(keys)

    def knows(self, key: str) -> bool:
        return self._hosts.get(key) is not None

    def homeless(self) -> list[str]:
        """Hosts to `restore`: pages wait for them."""
        return list(self._homeless)

    def restore(
        self, now: float, wall: float, keys: Iterable[str], known: Iterable[tuple[HostRecord, RobotsRecord | None]]
    ) -> None:
        """Take hosts into memory, with what the store remembers of them, and queue the pages that waited for them."""
        token = next((run.token for run in self.runs()), "")
        for key in keys:
            self._hosts.take(key)
        for record, robots in known:
            self._hosts.restore(now, wall, record, robots, token)
        homeless, self._homeless = self._homeless, {}
        for page in (page for pages in homeless.values() for page in pages):
            self.queues.add(now, self.queues.runs[page.source], page)

    def collect(self, now: float, wall: float) -> Batch:
        """All that was decided since the last time, to be committed before its effects are released."""
        self._roads.committed()
        return self._ledger.collect(now, wall, self._hosts.collect(now, wall))

    def evict_idle(self) -> None:
        """Call after a commit: the clocks of what is forgotten are in the store."""
        self._hosts.evict()

    # -- one door in

    def admit(self, now: float, candidates: Sequence[Candidate], first_id: int) -> list[str]:
        """Let in URLs that no page exists for yet, or refuse them with a reason. Page ids count up from `first_id`.

        Returns the hosts to `restore` before anything else: their pages wait for that.
        """
        for number, candidate in enumerate(candidates, first_id):
            run = self.queues.runs[candidate.source]
            refusal = run.judge.refusal(candidate.url)
            if refusal is not None:
                self._ledger.refused(number, candidate, *refusal)
            else:
                self._let_in(now, run, self._ledger.admitted(number, candidate, self._rank(run, candidate)))
        return self.homeless()

    def _let_in(self, now: float, run: SourceRun, page: PendingPage) -> None:
        if page.rank >= MAX_RANK:
            run.deferred += 1
        elif self._hosts.get(page.host) is None and len(self._homeless) < self._hosts.room:
            self._homeless.setdefault(page.host, []).append(page)
        else:
            self.queues.add(now, run, page)

    def _rank(self, run: SourceRun, candidate: Candidate) -> int:
        # What only this road forbids is deferred: while the source is not drained a better road may turn up.
        if run.judge.too_deep(candidate.depth):
            return MAX_RANK
        return MAX_RANK + 1 if candidate.nofollow else rank(candidate.url, candidate.depth, candidate.priority)

    def improve(self, now: float, candidate: Candidate, page: PendingPage) -> None:
        """Another road to a deferred page was found; if it is better, the page moves. Call before `admit`."""
        run = self.queues.runs[page.source]
        place = self._rank(run, candidate)
        if self._roads.was_let_in(page):
            self._move(self._roads.shorten_let_in(page, candidate) if place < MAX_RANK else None)
        elif place < page.rank:
            moved = msgspec.structs.replace(page, depth=candidate.depth, rank=place)
            self._move(
                Moved(
                    page=page.id,
                    depth=candidate.depth,
                    rank=place,
                    parent=candidate.parent,
                    position=candidate.position,
                )
            )
            if place < MAX_RANK:
                run.deferred -= 1
                self._roads.let_in(moved)
                self._let_in(now, run, moved)

    def shorten(self, candidate: Candidate, detour: Detour) -> list[Found]:
        """A shorter road to a page was found after the page itself. Returns where it leads from its new depth."""
        moved, behind = self._roads.shorten(candidate, detour)
        self._move(moved)
        return behind

    def _move(self, moved: Moved | None) -> None:
        if moved is not None:
            self._ledger.batch.moved.append(moved)

    def judge_deferred(self, now: float, pages: Iterable[PendingPage]) -> None:
        """The source is drained and no better road turned up: refuse them, unless its limits have changed since."""
        for page in pages:
            run = self.queues.runs[page.source]
            if page.rank == MAX_RANK and not run.judge.too_deep(page.depth):
                self.improve(now, Candidate(source=page.source, url=page.url, depth=page.depth), page)
            else:
                run.deferred -= 1
                self._ledger.ended(page, State.SKIPPED, Why.DEPTH if page.rank == MAX_RANK else Why.NOFOLLOW)

    # -- one door out

    def lease(self, now: float) -> Lease | WaitUntil | Drained:
        if len(self._out) >= self.rules.concurrency:
            return WaitUntil(inf)
        # A page whose robots verdict has just expired turns into a robots lease: hence the second look.
        return self._lease_robots(now) or self._lease_page(now) or self._lease_robots(now) or self._rest(now)

    def _rest(self, now: float) -> WaitUntil | Drained:
        if not self._out and all(run.drained for run in self.queues.runs.values()):
            return DRAINED
        robots_too = self._robots_out < self.rules.robots_at_once
        return WaitUntil(max(now, self.queues.next_time(robots_too)))

    def _lease_robots(self, now: float) -> Lease | None:
        while self._robots_out < self.rules.robots_at_once and (next_up := self.queues.pop_robots(now)) is not None:
            host, run = next_up
            also = self._robots_elsewhere(host)
            if also is not None and (also.in_flight or also.ready_at > now):
                host.rest(now, max(also.ready_at - now, self.rules.backoff_first), "robots")
                self.queues.put_off_robots(host)
            else:
                host.robots.fetching = True
                self._robots_out += 1
                return self._hand_out(now, host, run, None, also)
        return None

    def _robots_elsewhere(self, host: Host) -> Host | None:
        key = host_of(host.robots.url)
        return None if key == host.key else self._hosts.take(key)

    def _lease_page(self, now: float) -> Lease | None:
        next_up = self.queues.pop_page(now)
        if next_up is None:
            return None
        host, run, page = next_up
        run.leased += 1
        if not page.attempts:
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
            kind=LeaseKind.PAGE if page else LeaseKind.ROBOTS,
            source=run.id,
            page=page.id if page else 0,
            url=page.url if page else host.robots.url,
            host=(also or host).key,
            deadline=now + self.rules.lease_time,
            exclusive=host.cap == 1,
            request=run.source.spec.request,
        )
        self._out[lease.token] = _Out(lease, host, run, page, also)
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

    def _return(self, now: float, token: int, text: str) -> None:
        self.settle(now, Outcome(token=token, error=Error(fault=Fault.RETURNED, text=text)))

    # -- what came of it

    def settle(self, now: float, outcome: Outcome) -> list[Found] | None:
        """Take an outcome. Returns where it leads, or None if its lease is not out (any more)."""
        out = self._out.pop(outcome.token, None)
        if out is None:
            return None
        judgement = judge(outcome)
        self._take_back(now, out, outcome, judgement)
        found = None
        if out.page is None:
            self._settle_robots(now, out, outcome, judgement)
        else:
            found = self._settle_page(now, out, out.page, outcome, judgement)
        self._block_if_hopeless(now, out.host)
        self.queues.schedule(now, out.host)
        if out.also is not None:
            self.queues.schedule(now, out.also)
        return [found] if found else []

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

    def _take_back(self, now: float, out: _Out, outcome: Outcome, judgement: Judgement) -> None:
        for host in (out.host, out.also):
            if host is not None:
                host.in_flight -= 1
                host.ended_at = now
                host.pause()
                self._hosts.touch(host)
        host = out.host
        host.answered = host.answered or outcome.status is not None
        if judgement is Judgement.ANSWER:
            host.failures = 0
            host.observe(outcome.elapsed)
            host.pause()
        elif judgement in (Judgement.THROTTLED, Judgement.HOST_FAULT):
            self._back_off(now, host, outcome)

    def _back_off(self, now: float, host: Host, outcome: Outcome) -> None:
        host.failures += 1
        host.last_error = str(outcome.error or f"status {outcome.status}")
        wait = backoff(self.rules, host.failures)
        asked = min(outcome.retry_after or 0.0, self.rules.backoff_max)
        host.rest(now, max(wait, asked), "Retry-After" if asked >= wait else "backoff")

    def _block_if_hopeless(self, now: float, host: Host) -> None:
        limit = self.rules.block_after if host.answered else self.rules.unreachable_after
        if not host.blocked and host.failures >= limit:
            host.blocked = True
            host.rest(now, self.rules.block_time, "blocked")
            self.queues.judge_again(now, host)

    def _settle_robots(self, now: float, out: _Out, outcome: Outcome, judgement: Judgement) -> None:
        robots = out.host.robots
        robots.fetching = False
        self._robots_out -= 1
        if judgement is Judgement.RETURNED:
            return
        if judgement is Judgement.REFUSED:
            self.queues.refuse_address(now, out.host, out.run, str(outcome.error))
        elif outcome.location is not None and robots.hops < self.rules.robots_redirects:
            robots.url = outcome.location
            robots.hops += 1
        else:
            self._learn_robots(now, out.host, out.run, outcome)

    def _learn_robots(self, now: float, host: Host, run: SourceRun, outcome: Outcome) -> None:
        verdict = judge_robots(outcome.status, outcome.error, outcome.body)
        expires_at = now + self.rules.robots_ttl
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
            self.queues.judge_again(now, host)

    def _settle_page(
        self, now: float, out: _Out, page: PendingPage, outcome: Outcome, judgement: Judgement
    ) -> Found | None:
        out.run.leased -= 1
        if self._worth_another_try(out.run, page, judgement):
            self._requeue(now, out.run, out.host, page, outcome)
            return None
        page = msgspec.structs.replace(page, depth=self._roads.depth(page))
        verdict = page_verdict(page, outcome, judgement, self.rules)
        self._ledger.batch.settled.append(verdict.settled)
        self._roads.settled(page, verdict.found)
        if verdict.redirect is not None and page.depth == 0:
            self._adopt_seed(out.run, verdict.redirect)
        return verdict.found

    def _worth_another_try(self, run: SourceRun, page: PendingPage, judgement: Judgement) -> bool:
        if judgement in (Judgement.THROTTLED, Judgement.RETURNED):
            return page.attempts < self.rules.throttled_attempts
        return judgement is Judgement.HOST_FAULT and page.attempts < run.source.spec.max_attempts

    def _requeue(self, now: float, run: SourceRun, host: Host, page: PendingPage, outcome: Outcome) -> None:
        error = str(outcome.error) if outcome.error else None
        fact = Settled(
            page=page.id,
            source=page.source,
            url=page.url,
            state=State.PENDING,
            attempts=page.attempts,
            status=outcome.status,
            error=error,
        )
        self._ledger.batch.settled.append(fact)
        self.queues.add_again(now, run, host, page)

    def _adopt_seed(self, run: SourceRun, url: str) -> None:
        """Where a seed redirects to is what the person meant."""
        refusal = run.judge.refusal(url)
        if refusal is not None and refusal[0] is Why.SCOPE:
            run.adopt(url)
            self._ledger.source(run, new_spec=True)
