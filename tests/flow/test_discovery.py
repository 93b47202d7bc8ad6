"""Guides on a real store: long lists come bit by bit, nothing is lost when the crawl stops, nothing comes twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import msgspec
import pytest

from gossamer.flow.dispatch import Dispatcher
from gossamer.frontier.policy import Rules
from gossamer.model import (
    Discovery,
    Document,
    EndReason,
    Entry,
    Guide,
    Lease,
    LeaseKind,
    Outcome,
    Reading,
    SeedFrom,
    SourceSpec,
    SourceState,
    State,
)
from gossamer.url import host_of
from tests.flow.rehearsed import HOST, SEED, Committed, Stage, spec

OTHER = "http://b.test"
MAP = f"{HOST}/sitemap.xml"
MANY = 12_000
FEWER = 5_000
LISTED = [f"{HOST}/listed/p{number}x" for number in range(MANY)]


def web(
    guides: Mapping[str, Guide], links: Mapping[str, Sequence[str]] | None = None, robots: bytes = b""
) -> Callable[[Lease], list[Outcome]]:
    """Every page exists and leads where it is told to; guides are these alone."""

    def answer(lease: Lease) -> list[Outcome]:
        if lease.kind is LeaseKind.ROBOTS:
            return [Outcome(token=lease.token, status=200 if robots else 404, body=robots)]
        if lease.kind.guide:
            guide = guides.get(lease.url)
            return [Outcome(token=lease.token, status=200 if guide else 404, guide=guide)]
        document = Document(links=tuple((links or {}).get(lease.url, ())))
        return [Outcome(token=lease.token, status=200, reading=Reading(document=document))]

    return answer


def listing(urls: Sequence[str]) -> Guide:
    return Guide(entries=tuple(map(Entry, urls)))


def by_sitemap(*seed_from: SeedFrom, max_depth: int | None = None) -> SourceSpec:
    wishes = Discovery(seed_from=seed_from or (SeedFrom.AUTO,))
    return msgspec.structs.replace(spec(max_depth=max_depth), discovery=wishes)


def fetched(stage: Stage) -> Counter[str]:
    return Counter(lease.url for lease in stage.sent if lease.kind is LeaseKind.PAGE)


def guides_sent(stage: Stage) -> list[str]:
    return [lease.url for lease in stage.sent if lease.kind.guide]


async def guide_state(stage: Stage, url: str = MAP) -> tuple[State, int]:
    (guide,) = [each for each in await stage.store.guides(1) if each.url == url]
    return guide.state, guide.listed


async def in_store(stage: Stage) -> int:
    return (await stage.store.counts(1)).total


async def cycles_until(dispatcher: Dispatcher, stage: Stage, pages: int) -> None:
    while await in_store(stage) < pages:
        assert await dispatcher.cycle()


async def test_a_long_list_is_let_in_bit_by_bit_while_pages_are_fetched(stage: Stage) -> None:
    stage.bus.answer = web({MAP: listing(LISTED)})
    dispatcher = await stage.dispatcher(await stage.source(by_sitemap()))
    await cycles_until(dispatcher, stage, 10)
    assert await in_store(stage) < MANY / 2
    assert await guide_state(stage) == (State.PROCESSING, 0), "it is not done with before all was let in"
    before = sum(fetched(stage).values())
    await cycles_until(dispatcher, stage, MANY)
    assert sum(fetched(stage).values()) > before, "pages do not wait for the rest of the list"
    largest = max(len(event.batch.new) for event in stage.events if isinstance(event, Committed))
    assert largest <= 2_001
    await stage.run(dispatcher)
    assert fetched(stage) == dict.fromkeys([SEED, *LISTED], 1)
    assert await guide_state(stage) == (State.COMPLETED, MANY)
    (source,) = await stage.store.sources()
    assert (source.state, source.reason) == (SourceState.COMPLETED, EndReason.FINISHED)
    assert not await stage.store.verify()


@pytest.mark.parametrize("politely", [True, False])
async def test_a_stop_in_the_middle_of_a_list_loses_nothing_and_doubles_nothing(stage: Stage, politely: bool) -> None:
    listed = LISTED[:FEWER]
    stage.bus.answer = web({MAP: listing(listed)})
    dispatcher = await stage.dispatcher(await stage.source(by_sitemap()))
    await cycles_until(dispatcher, stage, FEWER // 3)
    assert await in_store(stage) < FEWER
    if politely:
        await dispatcher.close(EndReason.INTERRUPTED)
        assert await guide_state(stage) == (State.PENDING, 0)
    (source,) = await stage.store.sources()
    again = await stage.dispatcher(source)
    assert await guide_state(stage) == (State.PENDING, 0)
    await stage.run(again)
    assert guides_sent(stage).count(MAP) == 2
    states = await stage.store.counts(1)
    assert (states.completed, states.total) == (FEWER + 1, FEWER + 1)
    assert await guide_state(stage) == (State.COMPLETED, FEWER)
    # What was out when the process went away is asked for again; nothing else is.
    assert set(fetched(stage)) == {SEED, *listed}
    assert sum(fetched(stage).values()) <= FEWER + 1 + Rules().concurrency
    assert not await stage.store.verify()


async def test_pages_that_only_links_lead_to_wait_and_are_refused_when_the_sitemap_ends(stage: Stage) -> None:
    links = {SEED: [f"{HOST}/linked", LISTED[0]], LISTED[0]: [f"{HOST}/linked-later"]}
    stage.bus.answer = web({MAP: listing(LISTED[:3])}, links)
    await stage.run(await stage.dispatcher(await stage.source(by_sitemap())))
    states = await stage.states()
    assert states.pop("/linked") == states.pop("/linked-later") == "skipped"
    assert set(states.values()) == {"completed"}
    assert len(states) == 4
    assert await stage.store.roads(1) != []


async def test_pages_that_only_links_lead_to_are_fetched_when_the_sitemap_lists_nothing(stage: Stage) -> None:
    stage.bus.answer = web({MAP: listing([SEED])}, {SEED: [f"{HOST}/a"], f"{HOST}/a": [f"{HOST}/b"]})
    await stage.run(await stage.dispatcher(await stage.source(by_sitemap())))
    assert await stage.states() == dict.fromkeys(("/", "/a", "/b"), "completed")


async def test_a_page_that_waited_is_fetched_once_when_the_sitemap_lists_it_after_all(stage: Stage) -> None:
    listed = LISTED[:FEWER]
    stage.bus.answer = web({MAP: listing(listed)}, {SEED: listed[-3:]})
    await stage.run(await stage.dispatcher(await stage.source(by_sitemap())))
    assert fetched(stage) == dict.fromkeys([SEED, *listed], 1)


async def test_a_silent_sitemap_is_not_waited_for(stage: Stage) -> None:
    answer = web({}, {SEED: [f"{HOST}/a", f"{HOST}/b"]})
    silent: list[Lease] = []

    def never_the_sitemap(lease: Lease) -> list[Outcome]:
        if lease.kind.guide and not any(each.url == lease.url for each in silent):
            silent.append(lease)
            return []
        return answer(lease)

    stage.bus.answer = never_the_sitemap
    dispatcher = await stage.dispatcher(await stage.source(by_sitemap()), rules=Rules(lease_time=300.0))
    while len(fetched(stage)) < 3:
        assert await dispatcher.cycle()
        assert stage.clock.now() < 1_000.0 + 60.0, "links were not followed while the sitemap kept silent"
    await stage.run(dispatcher)
    assert await stage.states() == dict.fromkeys(("/", "/a", "/b"), "completed")


async def test_a_sitemap_that_robots_forbid_is_not_asked_for_and_the_others_still_decide(stage: Stage) -> None:
    robots = f"User-agent: *\nDisallow: /private\nSitemap: {HOST}/private/map.xml\n".encode()
    links = {SEED: [f"{HOST}/linked"]}
    stage.bus.answer = web({MAP: listing(LISTED[:2])}, links, robots)
    await stage.run(await stage.dispatcher(await stage.source(by_sitemap())))
    assert guides_sent(stage) == [MAP]
    assert (await guide_state(stage, f"{HOST}/private/map.xml"))[0] is State.SKIPPED
    states = await stage.states()
    assert states.pop("/linked") == "skipped", "the sitemap is the crawl"
    assert len(states) == 3


async def test_where_robots_forbid_the_first_well_known_place_the_second_is_tried(stage: Stage) -> None:
    robots = b"User-agent: *\nDisallow: /sitemap.xml\n"
    place = f"{HOST}/sitemap_index.xml"
    stage.bus.answer = web({place: listing(LISTED[:2])}, {SEED: [f"{HOST}/linked"]}, robots)
    await stage.run(await stage.dispatcher(await stage.source(by_sitemap())))
    assert guides_sent(stage) == [place]
    assert (await stage.states())["/linked"] == "skipped"


async def test_an_index_of_sitemaps_that_name_each_other_comes_to_an_end(stage: Stage) -> None:
    maps = [f"{HOST}/{number}.xml" for number in range(3)]
    guides = {
        MAP: Guide(guides=(MAP, *maps)),
        maps[0]: Guide(entries=(Entry(LISTED[0]),), guides=(MAP, maps[1])),
        maps[1]: Guide(entries=(Entry(LISTED[1]),), guides=(maps[0],)),
    }
    stage.bus.answer = web(guides)
    await stage.run(await stage.dispatcher(await stage.source(by_sitemap())))
    assert Counter(guides_sent(stage)) == dict.fromkeys([MAP, *maps], 1)
    assert fetched(stage) == dict.fromkeys([SEED, *LISTED[:2]], 1)


async def test_a_url_may_be_a_page_and_a_guide(stage: Stage) -> None:
    stage.bus.answer = web({MAP: listing([MAP, LISTED[0]])})
    await stage.run(await stage.dispatcher(await stage.source(by_sitemap())))
    assert fetched(stage) == dict.fromkeys([SEED, MAP, LISTED[0]], 1)
    assert guides_sent(stage) == [MAP]


async def test_a_seed_that_leads_to_another_host_brings_the_sitemap_of_that_host(stage: Stage) -> None:
    there = f"{OTHER}/sitemap.xml"
    answer = web({there: listing([f"{OTHER}/1", f"{OTHER}/2"])}, {f"{OTHER}/": [f"{OTHER}/linked"]})

    def moved(lease: Lease) -> list[Outcome]:
        if lease.url == SEED and lease.kind is LeaseKind.PAGE:
            return [Outcome(token=lease.token, status=301, location=f"{OTHER}/")]
        return answer(lease)

    stage.bus.answer = moved
    await stage.run(await stage.dispatcher(await stage.source(by_sitemap())))
    assert there in guides_sent(stage)
    pages = {url for url in fetched(stage) if host_of(url) == OTHER}
    assert pages == {f"{OTHER}/", f"{OTHER}/1", f"{OTHER}/2"}


async def test_guides_are_no_pages_and_no_limit_counts_them(stage: Stage) -> None:
    limited = msgspec.structs.replace(by_sitemap(), max_pages=3)
    stage.bus.answer = web({MAP: listing(LISTED[:10])})
    await stage.run(await stage.dispatcher(await stage.source(limited)))
    assert sum(fetched(stage).values()) == 3
    counts = await stage.store.counts(1)
    assert counts.total == counts.completed + counts.pending
    (source,) = await stage.store.sources()
    assert (source.state, source.reason) == (SourceState.STOPPED, EndReason.MAX_PAGES)


async def test_only_as_many_guides_are_read_as_asked_for(stage: Stage) -> None:
    wanted = by_sitemap()
    wanted = msgspec.structs.replace(wanted, discovery=msgspec.structs.replace(wanted.discovery, max_guides=4))
    maps = [f"{HOST}/{number}.xml" for number in range(20)]
    guides = {MAP: Guide(guides=tuple(maps)), **{url: listing([url + "/page"]) for url in maps}}
    stage.bus.answer = web(guides)
    await stage.run(await stage.dispatcher(await stage.source(wanted)))
    assert len(guides_sent(stage)) == 4
    assert len(await stage.store.guides(1)) == 4
