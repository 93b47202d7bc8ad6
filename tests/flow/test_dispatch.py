"""The cycle: facts before effects, and the store is the truth."""

from __future__ import annotations

from itertools import pairwise

import msgspec
import pytest

from gossamer.frontier.policy import Rules
from gossamer.model import Cursor, EndReason, Error, Fault, Lease, LeaseKind, Outcome, SourceState
from gossamer.ports import StorageError
from tests.flow.rehearsed import HOST, Committed, Sent, Stage, site, spec

TREE = {"/": ("/a", "/b"), "/a": ("/c", "/"), "/b": ("/c", "/d"), "/c": (), "/d": ("/missing",)}
KNOWN = {**dict.fromkeys(TREE, "completed"), "/missing": "failed"}


async def test_a_crawl_reaches_the_known_answer(stage: Stage) -> None:
    stage.bus.answer = site(TREE)
    dispatcher = await stage.dispatcher(await stage.source())
    await stage.run(dispatcher)
    assert await stage.states() == KNOWN
    assert sorted(stage.pages_sent) == sorted(KNOWN)
    (source,) = await stage.store.sources()
    assert (source.state, source.reason) == (SourceState.COMPLETED, EndReason.FINISHED)
    assert not await stage.store.verify()


async def test_a_lease_is_sent_only_after_it_is_committed(stage: Stage) -> None:
    stage.bus.answer = site(TREE)
    await stage.run(await stage.dispatcher(await stage.source()))
    committed: set[int] = set()
    for event in stage.events:
        if isinstance(event, Committed):
            committed |= {fact.token for fact in event.batch.leased}
            busy = {record.key for record in event.batch.hosts if record.leased}
        else:
            pages = {lease.token for lease in event.leases if lease.kind is LeaseKind.PAGE}
            assert pages <= committed
            assert {lease.host for lease in event.leases} <= busy, "the host's clock is committed with the lease"
    assert len(committed) == len(KNOWN)


async def test_what_a_page_leads_to_is_committed_with_the_page(stage: Stage) -> None:
    stage.bus.answer = site(TREE)
    await stage.run(await stage.dispatcher(await stage.source()))
    for event in stage.events:
        if isinstance(event, Committed) and any(fact.url == f"{HOST}/" for fact in event.batch.settled):
            assert {page.url for page in event.batch.new} == {f"{HOST}/a", f"{HOST}/b"}
            return
    pytest.fail("the seed was never settled")


@pytest.mark.parametrize("good", range(6))
async def test_a_commit_that_fails_sends_nothing_and_ends_the_run(stage: Stage, good: int) -> None:
    stage.bus.answer = site(TREE)
    source = await stage.source()
    stage.store.commits_left = good
    with pytest.raises(StorageError, match="disk is full"):
        await stage.run(await stage.dispatcher(source))
    assert len([event for event in stage.events if isinstance(event, Committed)]) == good
    committed = {fact.token for event in stage.events if isinstance(event, Committed) for fact in event.batch.leased}
    assert {lease.token for lease in stage.sent if lease.kind is LeaseKind.PAGE} == committed


async def test_what_was_committed_before_a_failure_is_where_the_next_run_begins(stage: Stage) -> None:
    stage.bus.answer = site(TREE)
    source = await stage.source()
    stage.store.commits_left = 4
    with pytest.raises(StorageError):
        await stage.run(await stage.dispatcher(source))
    stage.store.commits_left = None
    (source,) = await stage.store.sources()
    await stage.run(await stage.dispatcher(source))
    assert await stage.states() == KNOWN
    assert not await stage.store.verify()


async def test_an_outcome_that_comes_twice_counts_once(stage: Stage) -> None:
    once = site(TREE)
    stage.bus.answer = lambda lease: [*once(lease), *once(lease)]
    dispatcher = await stage.dispatcher(await stage.source())
    await stage.run(dispatcher)
    counts = await stage.store.counts(1)
    assert (counts.completed, counts.failed, counts.pending) == (5, 1, 0)
    assert dispatcher.tally.counts(dispatcher.frontier.runs()) == counts


async def test_a_lease_that_was_lost_is_swept_up_and_handed_out_again(stage: Stage) -> None:
    answer = site(TREE)
    lost: list[Lease] = []

    def loses_the_first_of_each(lease: Lease) -> list[Outcome]:
        if any(other.url == lease.url for other in lost):
            return list(answer(lease))
        lost.append(lease)
        return []

    stage.bus.answer = loses_the_first_of_each
    began = stage.clock.now()
    await stage.run(await stage.dispatcher(await stage.source(), rules=Rules(lease_time=30.0)))
    assert await stage.states() == KNOWN
    assert stage.clock.now() - began >= 30.0
    tokens = [lease.token for lease in stage.sent]
    assert len(tokens) == len(set(tokens)) == 2 * len(lost)


async def test_the_outcome_of_a_former_owner_is_refused(stage: Stage) -> None:
    source = await stage.source(spec(delay=0.0))
    held: list[Lease] = []

    def holds_pages(lease: Lease) -> list[Outcome]:
        if lease.kind is LeaseKind.ROBOTS:
            return [Outcome(token=lease.token, status=404)]
        held.append(lease)
        return []

    stage.bus.answer = holds_pages
    first = await stage.dispatcher(source)
    while not held:
        await first.cycle()
    second = await stage.dispatcher(source)
    late = Outcome(token=held[0].token, status=500)
    stage.bus.answer = lambda lease: [late, *site(TREE)(lease)]
    await stage.run(second)
    assert await stage.states() == KNOWN
    assert held[0].token not in {lease.token for lease in stage.sent[2:]}


async def test_a_delay_lies_between_two_leases_of_a_host(stage: Stage) -> None:
    stage.bus.answer = site(TREE)
    await stage.run(await stage.dispatcher(await stage.source(spec(delay=5.0))))
    times = [event.at for event in stage.events if isinstance(event, Sent)]
    assert all(later - earlier >= 5.0 for earlier, later in pairwise(times))
    assert all(len(event.leases) == 1 for event in stage.events if isinstance(event, Sent))
    assert len(times) == len(KNOWN) + 1


async def test_who_stops_hands_out_no_more_and_waits_for_what_is_out(stage: Stage) -> None:
    stage.bus.answer = site(TREE)
    dispatcher = await stage.dispatcher(await stage.source())
    while "/" not in stage.pages_sent:
        await dispatcher.cycle()
    dispatcher.stopping = True
    await stage.run(dispatcher)
    await dispatcher.close(EndReason.INTERRUPTED)
    assert stage.pages_sent == ["/"]
    assert await stage.states() == {"/": "completed"}
    (source,) = await stage.store.sources()
    assert (source.state, source.reason) == (SourceState.STOPPED, EndReason.INTERRUPTED)
    assert (await stage.store.counts(1)).pending == 2


async def test_what_is_still_out_when_it_closes_is_pending_again(stage: Stage) -> None:
    robots_only = site({})
    stage.bus.answer = lambda lease: robots_only(lease) if lease.kind is LeaseKind.ROBOTS else []
    dispatcher = await stage.dispatcher(await stage.source())
    while "/" not in stage.pages_sent:
        await dispatcher.cycle()
    await dispatcher.close(EndReason.INTERRUPTED)
    counts = await stage.store.counts(1)
    assert (counts.pending, counts.processing) == (1, 0)
    assert not await stage.store.verify()


async def test_a_limit_of_pages_is_exact_and_says_so(stage: Stage) -> None:
    stage.bus.answer = site(TREE)
    await stage.run(await stage.dispatcher(await stage.source(spec(max_pages=3))))
    assert len(stage.pages_sent) == 3
    (source,) = await stage.store.sources()
    assert (source.state, source.reason, source.granted) == (SourceState.STOPPED, EndReason.MAX_PAGES, 3)


async def test_pages_beyond_the_depth_are_judged_when_all_else_is_done(stage: Stage) -> None:
    stage.bus.answer = site(TREE)
    await stage.run(await stage.dispatcher(await stage.source(spec(max_depth=1))))
    states = await stage.states()
    assert states == {"/": "completed", "/a": "completed", "/b": "completed", "/c": "skipped", "/d": "skipped"}
    assert (await stage.store.counts(1)).pending == 0


async def test_an_acknowledgement_becomes_part_of_the_next_commit(stage: Stage) -> None:
    dispatcher = await stage.dispatcher(await stage.source())
    dispatcher.acknowledge(Cursor(consumer="somebody", sequence=3, offset=100))
    assert await stage.store.cursor("somebody") is None
    await dispatcher.cycle()
    assert await stage.store.cursor("somebody") == Cursor(consumer="somebody", sequence=3, offset=100)


async def test_an_idle_cycle_commits_nothing(stage: Stage) -> None:
    stage.bus.answer = site(TREE)
    dispatcher = await stage.dispatcher(await stage.source())
    await stage.run(dispatcher)
    before = len(stage.events)
    assert not await dispatcher.cycle()
    assert len(stage.events) == before


async def test_slow_commits_mean_fewer_leases(stage: Stage) -> None:
    stage.bus.answer = site(TREE)
    dispatcher = await stage.dispatcher(await stage.source())
    most = stage.governor.permits
    stage.store.commit_takes = 1.0
    await stage.run(dispatcher)
    assert stage.governor.permits < most
    assert stage.governor.latency > 0.05


@pytest.mark.parametrize("rules", [Rules(host_queue=4, queue_memory=4), Rules(hosts_in_memory=2), Rules(concurrency=1)])
async def test_short_memory_changes_nothing_about_the_answer(stage: Stage, rules: Rules) -> None:
    wide = {"/": tuple(f"/{number}" for number in range(50)), **{f"/{number}": () for number in range(50)}}
    stage.bus.answer = site(wide)
    await stage.run(await stage.dispatcher(await stage.source(), rules=rules))
    assert await stage.states() == dict.fromkeys(wide, "completed")
    assert len(stage.pages_sent) == len(wide)


async def test_two_sources_share_a_host_and_its_clock(stage: Stage) -> None:
    stage.bus.answer = site(TREE)
    one, two = await stage.source(spec(delay=1.0)), await stage.source(spec(delay=1.0))
    await stage.run(await stage.dispatcher(one, two))
    assert await stage.states(1) == await stage.states(2) == KNOWN
    times = [event.at for event in stage.events if isinstance(event, Sent)]
    assert all(later - earlier >= 1.0 for earlier, later in pairwise(times))
    assert [lease.kind for lease in stage.sent].count(LeaseKind.ROBOTS) == 1
    turns = [lease.source for lease in stage.sent if lease.kind is LeaseKind.PAGE]
    assert {*turns[:4]} == {1, 2}, "sources take turns"


async def test_a_page_that_fails_for_a_while_is_tried_again_with_growing_pauses(stage: Stage) -> None:
    answer = site({"/": ()})
    tries: list[float] = []

    def flaky(lease: Lease) -> list[Outcome]:
        if lease.kind is LeaseKind.ROBOTS:
            return list(answer(lease))
        tries.append(stage.clock.now())
        if len(tries) < 3:
            return [Outcome(token=lease.token, error=Error(fault=Fault.RESET, text="the connection was reset"))]
        return list(answer(lease))

    stage.bus.answer = flaky
    await stage.run(await stage.dispatcher(await stage.source()))
    assert await stage.states() == {"/": "completed"}
    first, second, third = tries
    assert second - first >= Rules().backoff_first
    assert third - second >= 2 * Rules().backoff_first


async def test_a_source_that_is_opened_again_is_where_it_was(stage: Stage) -> None:
    stage.bus.answer = site(TREE)
    first = await stage.dispatcher(await stage.source(spec(max_pages=2)))
    await stage.run(first)
    await first.close(EndReason.FINISHED)
    (source,) = await stage.store.sources()
    raised = msgspec.structs.replace(source, spec=spec(max_pages=4))
    second = await stage.dispatcher(raised)
    assert second.tally.counts(second.frontier.runs()) == await stage.store.counts(1)
    await stage.run(second)
    assert len(stage.pages_sent) == len(set(stage.pages_sent)) == 4
    assert [lease.kind for lease in stage.sent].count(LeaseKind.ROBOTS) == 1
