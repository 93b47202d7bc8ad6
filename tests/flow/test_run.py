"""One crawl from its first lease to its summary, in a day that takes no time."""

from __future__ import annotations

import pytest

from gossamer.flow.run import Run, RunOptions
from gossamer.flow.tally import Tally
from gossamer.model import (
    Batch,
    Counts,
    Document,
    EndReason,
    Lease,
    LeaseKind,
    Outcome,
    Settled,
    SourceState,
    State,
)
from gossamer.ports import StorageError
from gossamer.testing.contracts.store_makers import new_page
from tests.flow.rehearsed import HOST, Stage, site, spec

TREE = {"/": ("/a", "/b"), "/a": ("/c", "/"), "/b": ("/c", "/d"), "/c": (), "/d": ("/missing",)}


def run_of(stage: Stage, **options: float) -> Run:
    made = RunOptions(duration=options.get("duration"), stop_grace=options.get("stop_grace", 2.0))
    return Run(stage.store, stage.bus, stage.clock, made)


def only_robots(lease: Lease) -> list[Outcome]:
    return [Outcome(token=lease.token, status=404)] if lease.kind is LeaseKind.ROBOTS else []


async def test_a_summary_says_what_was_done(stage: Stage) -> None:
    stage.bus.answer = site(TREE)
    summary = await run_of(stage).run([await stage.source(spec(delay=1.0))])
    assert (summary.reason, summary.completed, summary.failed, summary.skipped) == (EndReason.FINISHED, 5, 1, 0)
    assert (summary.pending, summary.hosts) == (0, 1)
    assert summary.seconds >= 6.0
    assert summary.pages_per_second == pytest.approx(6 / summary.seconds, abs=0.001)


async def test_time_that_is_up_ends_the_run(stage: Stage) -> None:
    stage.bus.answer = site(TREE)
    summary = await run_of(stage, duration=35.0).run([await stage.source(spec(delay=10.0))])
    assert summary.reason is EndReason.DURATION
    assert summary.pending > 0
    assert 35.0 <= summary.seconds < 45.0
    (source,) = await stage.store.sources()
    assert (source.state, source.reason) == (SourceState.STOPPED, EndReason.DURATION)


async def test_a_stop_waits_a_moment_for_what_is_out_and_no_longer(stage: Stage) -> None:
    run = run_of(stage, stop_grace=3.0)
    stopped: list[float] = []

    def stops_at_the_first_page(lease: Lease) -> list[Outcome]:
        if lease.kind is LeaseKind.PAGE:
            stopped.append(stage.clock.now())
            run.stop()
        return only_robots(lease)

    stage.bus.answer = stops_at_the_first_page
    summary = await run.run([await stage.source()])
    assert (summary.reason, summary.pending) == (EndReason.INTERRUPTED, 1)
    assert 3.0 <= stage.clock.now() - stopped[0] < 4.0


async def test_a_stop_lets_come_home_what_comes_in_time(stage: Stage) -> None:
    run = run_of(stage)
    answer = site(TREE)

    def stops_at_the_first_page(lease: Lease) -> list[Outcome]:
        if lease.kind is LeaseKind.PAGE:
            run.stop()
        return list(answer(lease))

    stage.bus.answer = stops_at_the_first_page
    summary = await run.run([await stage.source()])
    assert (summary.reason, summary.completed, summary.pending) == (EndReason.INTERRUPTED, 1, 2)


async def test_the_first_reason_to_stop_is_the_one_that_counts(stage: Stage) -> None:
    run = run_of(stage)
    run.stop(EndReason.DURATION)
    run.stop()
    summary = await run.run([await stage.source()])
    assert (summary.reason, summary.completed) == (EndReason.DURATION, 0)


async def test_a_limit_of_pages_is_a_reason_of_its_own(stage: Stage) -> None:
    stage.bus.answer = site(TREE)
    summary = await run_of(stage).run([await stage.source(spec(max_pages=2))])
    assert (summary.reason, summary.completed, summary.pending) == (EndReason.MAX_PAGES, 2, 2)


async def test_an_error_of_the_store_comes_out_as_it_is(stage: Stage) -> None:
    stage.bus.answer = site(TREE)
    source = await stage.source()
    stage.store.commits_left = 3
    with pytest.raises(StorageError, match="disk is full"):
        await run_of(stage).run([source])


async def test_stats_say_what_is_waited_for(stage: Stage) -> None:
    run = run_of(stage)
    told: list[str | None] = []
    receive = stage.bus.receive

    async def receive_and_look(timeout: float) -> list[Outcome]:  # noqa: ASYNC109 (the port says so)
        told.append(run.stats.waiting)
        return await receive(timeout)

    stage.bus.answer = site(TREE)
    stage.bus.receive = receive_and_look  # type: ignore[method-assign]
    await run.run([await stage.source(spec(delay=30.0))])
    waits = [text for text in told if text]
    assert waits
    assert all(text.startswith(f"{HOST} waits ") and text.endswith(" s for delay") for text in waits)
    assert run.stats.waiting is None


# -- the tally


def final(number: int, state: State = State.COMPLETED, **more: object) -> Settled:
    url = f"{HOST}/{number}"
    fields = {"status": 200 if state is State.COMPLETED else None, **more}
    return Settled(page=number, source=1, url=url, state=state, **fields)  # type: ignore[arg-type]


def test_a_tally_counts_what_became_final() -> None:
    tally = Tally(0.0)
    refused = new_page(1, 1, f"{HOST}/refused", State.SKIPPED)
    waiting = new_page(2, 1, f"{HOST}/waiting")
    done = final(3, size=100, document=Document(tokens=7))
    again = final(4, State.PENDING)
    tally.add(1.0, Batch(new=[refused, waiting], settled=[done, again, final(5, State.FAILED, error="reset: gone")]))
    assert tally.counts([]) == Counts(completed=1, failed=1, skipped=1, bytes=100, tokens=7)
    assert tally.fetched == 2
    assert list(tally.errors) == [(f"{HOST}/5", "reset: gone")]


def test_a_tally_begins_with_what_was_there() -> None:
    tally = Tally(0.0)
    tally.begin(Counts(completed=5, failed=2, skipped=1, bytes=10, tokens=3))
    tally.add(1.0, Batch(settled=[final(1)]))
    assert tally.counts([]) == Counts(completed=6, failed=2, skipped=1, bytes=10, tokens=3)
    assert tally.fetched == 1, "the rate counts what this process did"


def test_only_the_last_few_errors_are_kept() -> None:
    tally = Tally(0.0)
    tally.add(1.0, Batch(settled=[final(number, State.FAILED, error="no") for number in range(20)]))
    assert [url for url, _ in tally.errors] == [f"{HOST}/{number}" for number in range(15, 20)]


def test_the_rate_follows_the_last_quarter_of_a_minute() -> None:
    tally = Tally(0.0)
    assert tally.rate(0.0) == 0.0
    for second in range(1, 61):
        tally.add(float(second), Batch(settled=[final(second, status=200)] * 10))
    assert tally.rate(60.0) == pytest.approx(10.0, rel=0.2)
    for second in range(61, 121):
        tally.add(float(second), Batch())
    assert tally.rate(120.0) == 0.0
    assert tally.seconds(120.0) == 120.0
