"""Deferred pages are judged when what they wait for is known, and no source ends before all of them were."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

import msgspec
import pytest

from gossamer.flow import judge as judging
from gossamer.frontier.policy import Rules
from gossamer.model import (
    Document,
    EndReason,
    Fingerprint,
    Lease,
    LeaseKind,
    Outcome,
    Reading,
    Scope,
    ScopeMode,
    SourceSpec,
    SourceState,
    State,
    Traps,
    Workload,
)
from gossamer.ports import StorageError
from tests.flow.rehearsed import HOST, Committed, Stage, spec

Page = tuple[tuple[str, ...], str | None]
"""Where it leads, and its canonical page."""


def web(pages: Mapping[str, Page], *, missing: bytes | None = None) -> Callable[[Lease], list[Outcome]]:
    """Pages by path. What is not among them is 404 or, where `missing` is given, a page that says so."""

    def answer(lease: Lease) -> list[Outcome]:
        path = lease.url.removeprefix(HOST)
        if lease.kind is LeaseKind.ROBOTS or (path not in pages and missing is None):
            return [Outcome(token=lease.token, status=404)]
        if path not in pages:
            print_ = Fingerprint(body=missing or b"")
            reading = Reading(document=Document(hash="-"), fingerprint=print_, looks_missing=True)
            return [Outcome(token=lease.token, status=200, reading=reading)]
        links, canonical = pages[path]
        document = Document(
            links=tuple(HOST + link for link in links), canonical=HOST + canonical if canonical else None, hash=path
        )
        print_ = Fingerprint(body=path.encode(), sketch=path.encode()[:8].ljust(8))
        return [Outcome(token=lease.token, status=200, reading=Reading(document=document, fingerprint=print_))]

    return answer


def leaves(*paths: str) -> dict[str, Page]:
    return dict.fromkeys(paths, ((), None))


async def reasons(stage: Stage) -> dict[str, str]:
    deliveries = await stage.store.deliveries([1], 0, 100_000)
    records = [each.record for each in deliveries]
    return {record.url.removeprefix(HOST): record.reason or record.state.value for record in records}


async def ended(stage: Stage) -> tuple[SourceState, str | None]:
    (source,) = await stage.store.sources()
    return source.state, source.reason


async def test_a_copy_is_folded_when_its_canonical_page_turns_out_to_be_there(stage: Stage) -> None:
    stage.bus.answer = web({"/": (("/copy",), None), "/copy": ((), "/real"), **leaves("/real")})
    await stage.run(await stage.dispatcher(await stage.source()))
    assert await reasons(stage) == {"/": "completed", "/copy": "canonical", "/real": "completed"}
    assert await ended(stage) == (SourceState.COMPLETED, EndReason.FINISHED)


async def test_a_copy_is_kept_when_its_canonical_page_turns_out_not_to_be_there(stage: Stage) -> None:
    stage.bus.answer = web({"/": (("/copy",), None), "/copy": (("/behind",), "/gone"), **leaves("/behind")})
    await stage.run(await stage.dispatcher(await stage.source()))
    assert await reasons(stage) == dict.fromkeys(("/", "/copy", "/behind"), "completed") | {"/gone": "failed"}


@pytest.mark.parametrize("at_once", [1, 2, 1_000])
async def test_rings_and_chains_of_canonical_pages_end_well_however_few_are_judged_at_a_time(
    stage: Stage, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judging, "_DEFERRED_AT_ONCE", at_once)
    pages: dict[str, Page] = {
        "/": (("/a", "/x", "/1"), None),
        "/a": ((), "/b"),
        "/b": ((), "/c"),
        "/c": ((), "/a"),
        "/x": ((), "/y"),
        "/y": ((), "/x"),
        "/1": ((), "/2"),
        "/2": ((), "/3"),
        **leaves("/3"),
    }
    stage.bus.answer = web(pages)
    await stage.run(await stage.dispatcher(await stage.source()))
    told = await reasons(stage)
    assert Counter(told[path] for path in ("/a", "/b", "/c")) == {"completed": 1, "canonical": 2}
    assert Counter(told[path] for path in ("/x", "/y")) == {"completed": 1, "canonical": 1}
    assert (told["/1"], told["/2"], told["/3"]) == ("canonical", "canonical", "completed")
    assert await ended(stage) == (SourceState.COMPLETED, EndReason.FINISHED)
    assert not await stage.store.verify()


async def test_pages_that_say_not_found_are_judged_when_the_probe_comes_back(stage: Stage) -> None:
    stage.bus.answer = web({"/": (("/a", "/none-1", "/none-2"), None), **leaves("/a")}, missing=b"nothing here")
    await stage.run(await stage.dispatcher(await stage.source()))
    assert await reasons(stage) == {
        "/": "completed",
        "/a": "completed",
        "/none-1": "soft-404",
        "/none-2": "soft-404",
    }
    probes = [lease for lease in stage.sent if lease.kind is LeaseKind.PROBE]
    assert len(probes) == 1


async def test_what_was_deferred_in_the_last_cycle_is_judged_too(stage: Stage) -> None:
    stage.bus.answer = web({"/": (("/a",), None), "/a": (("/deep",), None)})
    await stage.run(await stage.dispatcher(await stage.source(spec(max_depth=1))))
    assert await reasons(stage) == {"/": "completed", "/a": "completed", "/deep": "depth"}


def with_traps(path_budget: int) -> SourceSpec:
    return msgspec.structs.replace(spec(), traps=Traps(path_budget=path_budget))


async def test_a_budget_is_extended_over_several_dry_phases_and_no_page_is_lost(stage: Stage) -> None:
    numbers = [f"/n/{number}" for number in range(40)]
    stage.bus.answer = web({"/": (tuple(numbers), None), **leaves(*numbers)})
    await stage.run(await stage.dispatcher(await stage.source(with_traps(path_budget=5))))
    assert await reasons(stage) == dict.fromkeys(["/", *numbers], "completed")
    assert Counter(stage.pages_sent) == dict.fromkeys(["/", *numbers], 1)


async def test_a_source_with_pages_that_wait_never_ends_as_finished(stage: Stage) -> None:
    numbers = [f"/n/{number}" for number in range(40)]
    stage.bus.answer = web({"/": (tuple(numbers), None), **leaves(*numbers)})
    limited = msgspec.structs.replace(with_traps(path_budget=5), max_pages=4)
    await stage.run(await stage.dispatcher(await stage.source(limited)))
    assert await ended(stage) == (SourceState.STOPPED, EndReason.MAX_PAGES)
    for event in stage.events:
        if isinstance(event, Committed):
            finished = [update for update in event.batch.sources if update.reason == EndReason.FINISHED]
            assert not finished
    assert (await stage.store.counts(1)).pending == 41 - 4


async def test_what_waits_survives_a_stop_and_is_judged_by_who_comes_after(stage: Stage) -> None:
    numbers = [f"/n/{number}" for number in range(40)]
    copies: dict[str, Page] = {"/copy": ((), "/real"), **leaves("/real")}
    stage.bus.answer = web({"/": ((*numbers, "/copy"), None), **leaves(*numbers), **copies})
    source = await stage.source(with_traps(path_budget=5))
    for stop_after in (4, 6, 8, 11, 15):
        dispatcher = await stage.dispatcher(source)
        for _ in range(stop_after):
            if not await dispatcher.cycle():
                break
        await dispatcher.close(EndReason.INTERRUPTED)
        (source,) = await stage.store.sources()
    await stage.run(await stage.dispatcher(source))
    told = await reasons(stage)
    assert told.pop("/copy") == "canonical"
    assert told == dict.fromkeys(["/", "/real", *numbers], "completed")
    assert set(stage.pages_sent) == {"/", "/real", "/copy", *numbers}
    assert not await stage.store.verify()


async def test_pages_whose_host_finds_no_room_in_memory_wait_until_it_does(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One source waits for a budget on a host that is not in memory, and another fills all of it with its own."""
    numbers = tuple(f"/n/{number}" for number in range(6))
    stage.bus.answer = web({"/": (numbers, None), **leaves(*numbers)})
    first = await stage.source(with_traps(path_budget=3))
    dispatcher = await stage.dispatcher(first)
    with monkeypatch.context() as patch:
        patch.setattr(judging.Judge, "_judge_all", _lights_out)
        with pytest.raises(StorageError, match="went out"):
            await stage.run(dispatcher)
    assert await stage.store.workload(first.id) == Workload(deferred=3)
    crowd = msgspec.structs.replace(
        spec(delay=30.0),
        seeds=tuple(f"http://h{host}.test/{number}" for host in range(8) for number in range(4)),
        scope=Scope(mode=ScopeMode.ANY),
    )
    second = await stage.source(crowd)
    # The crowd comes first, and takes all the room that there is.
    await stage.run(await stage.dispatcher(second, first, rules=Rules(hosts_in_memory=3)))
    counts = await stage.store.counts(first.id)
    assert (counts.completed, counts.pending) == (7, 0)
    assert {source.reason for source in await stage.store.sources()} == {EndReason.FINISHED}


async def _lights_out(*_: object) -> None:
    raise StorageError("the lights went out")


async def test_every_reason_that_a_page_waited_for_is_told_in_the_end(stage: Stage) -> None:
    stage.bus.answer = web({"/": (("/a", "/copy"), None), "/a": (("/deep",), None), "/copy": ((), "/a")})
    await stage.run(await stage.dispatcher(await stage.source(spec(max_depth=1))))
    states = {path: State(state) for path, state in (await stage.states()).items()}
    assert all(state.final for state in states.values())
    assert await reasons(stage) == {"/": "completed", "/a": "completed", "/copy": "canonical", "/deep": "depth"}
