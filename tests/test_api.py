"""The library: what a program sees of a crawl, and what it can rely on."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import get_type_hints

import apsw
import msgspec
import pytest

import gossamer
from gossamer import PageRecord, StorageError, Summary, changes, collect, crawl, recrawl
from gossamer.adapters.store_sqlite import SqliteStore
from gossamer.api import Crawl, resume
from gossamer.config import Settings
from gossamer.config.options import Options, settings_from
from gossamer.config.settings import DEFAULTS, SeedError, WishError
from gossamer.config.table import SETTINGS
from gossamer.model import Batch, ChangeCounts, State
from gossamer.testing.web import QUICK, Behaviour, WebServer, differences, fetch_counts, make_web

PAGES = 30


@pytest.fixture
def server() -> Iterator[WebServer]:
    with WebServer(make_web(seed=1, hosts=1, pages_per_host=PAGES, features=())) as server:
        yield server


@pytest.fixture
def slow() -> Iterator[WebServer]:
    """A site whose pages take their time, so that something is always under way."""
    web = make_web(seed=2, hosts=2, pages_per_host=15, features=(), behaviours={0: Behaviour(latency=0.05)})
    with WebServer(web) as server:
        yield server


def urls(server: WebServer) -> set[str]:
    return set(server.web.expected(server.seeds))


def written(file: Path) -> list[PageRecord]:
    return [msgspec.json.decode(line, type=PageRecord) for line in file.read_bytes().splitlines()]


def files_in(directory: Path) -> list[Path]:
    return list(directory.rglob("*"))


# -- iterating


async def test_pages_come_as_they_are_crawled(server: WebServer) -> None:
    run = crawl(*server.seeds, delay=0)
    pages = [page async for page in run]
    assert {page.url for page in pages} == urls(server)
    assert len(pages) == PAGES
    assert pages[0].title
    assert run.summary is not None
    assert (run.summary.reason, run.summary.completed) == ("finished", PAGES)


async def test_states_choose_which_pages_come() -> None:
    with WebServer(make_web(seed=3, hosts=1, pages_per_host=10, features=QUICK)) as server:
        expected = server.web.expected(server.seeds)
        for state in (State.COMPLETED, State.FAILED, State.SKIPPED):
            pages = [page async for page in crawl(*server.seeds, delay=0, states=[state.value])]
            assert {page.url for page in pages} == {url for url, page in expected.items() if page.state is state}
    with pytest.raises(ValueError, match="finished"):
        crawl("http://a.test/", states=["finished"])


async def test_the_first_page_does_not_wait_for_the_last(slow: WebServer) -> None:
    async for _ in crawl(*slow.seeds, delay=0):
        assert len(slow.requests()) < PAGES
        break


async def test_asking_for_the_next_page_acknowledges_the_last(server: WebServer, tmp_path: Path) -> None:
    first: list[str] = []
    async for page in crawl(*server.seeds, delay=0, data=tmp_path):
        first.append(page.url)
        if len(first) == 5:
            break
    second = [page.url async for page in crawl(*server.seeds, delay=0, data=tmp_path)]
    assert not set(first[:4]) & set(second), "four were acknowledged"
    assert first[4] in second, "the fifth was not"
    assert {*first, *second} == urls(server)
    assert len(second) == len(set(second)) == PAGES - 4


async def test_an_iteration_that_is_broken_off_again_and_again_gives_every_page(
    server: WebServer, tmp_path: Path
) -> None:
    seen: list[str] = []
    for _ in range(PAGES // 2):
        taken = 0
        async for page in crawl(*server.seeds, delay=0, data=tmp_path):
            taken += 1
            if taken == 3:
                break
            seen.append(page.url)
    assert sorted(seen) == sorted(urls(server))


async def test_another_crawl_in_between_acknowledges_only_its_own_pages(
    server: WebServer, slow: WebServer, tmp_path: Path
) -> None:
    async for _ in crawl(*server.seeds, delay=0, data=tmp_path):
        break
    other = {page.url async for page in crawl(*slow.seeds, delay=0, data=tmp_path)}
    again = [page.url async for page in crawl(*server.seeds, delay=0, data=tmp_path)]
    assert (other, set(again)) == (urls(slow), urls(server))
    assert len(again) == PAGES


async def test_a_slow_reader_loses_nothing(server: WebServer) -> None:
    pages = []
    async for page in crawl(*server.seeds, delay=0):
        await asyncio.sleep(0.005)
        pages.append(page.url)
    assert sorted(pages) == sorted(urls(server))


# -- callbacks


async def test_callbacks_may_be_plain(server: WebServer) -> None:
    pages: list[PageRecord] = []
    ends: list[Summary] = []
    summary = await crawl(*server.seeds, delay=0, on_page=pages.append, on_done=ends.append).run()
    assert {page.url for page in pages} == urls(server)
    assert len(pages) == PAGES
    assert ends == [summary]


async def test_callbacks_may_be_async(server: WebServer) -> None:
    pages: list[str] = []
    ends: list[Summary] = []

    async def on_page(page: PageRecord) -> None:
        await asyncio.sleep(0)
        pages.append(page.url)

    async def on_done(summary: Summary) -> None:
        await asyncio.sleep(0)
        ends.append(summary)

    summary = await crawl(*server.seeds, delay=0, on_page=on_page, on_done=on_done).run()
    assert sorted(pages) == sorted(urls(server))
    assert ends == [summary]


async def test_without_a_callback_for_pages_the_end_is_still_told(server: WebServer) -> None:
    ends: list[Summary] = []
    summary = await crawl(*server.seeds, delay=0, on_done=ends.append).run()
    assert ends == [summary]
    assert summary.completed == PAGES


async def test_an_error_in_a_callback_reaches_the_caller_and_its_page_comes_again(
    server: WebServer, tmp_path: Path
) -> None:
    seen: list[str] = []

    def fails(page: PageRecord) -> None:
        seen.append(page.url)
        if len(seen) == 3:
            raise LookupError("the third page is bad")

    with pytest.raises(LookupError, match="third page"):
        await crawl(*server.seeds, delay=0, data=tmp_path, on_page=fails).run()
    await crawl(*server.seeds, delay=0, data=tmp_path, on_page=fails).run()
    assert seen[2] in seen[3:]
    assert sorted(set(seen)) == sorted(urls(server))
    assert len(seen) == PAGES + 1


# -- looking, stopping, cancelling


async def test_stats_tell_how_far_it_is(slow: WebServer) -> None:
    run = crawl(*slow.seeds, delay=0)
    assert run.stats.counts.total == 0
    looks = [run.stats async for _ in run]
    assert all(look.counts.completed for look in looks)
    assert any(look.in_flight for look in looks)
    assert {look.hosts for look in looks} == {2}
    completed = [look.counts.completed for look in looks]
    assert completed == sorted(completed)
    assert run.stats.counts.completed == PAGES


@pytest.mark.parametrize("processes", [0, 1])
async def test_a_crawl_that_is_stopped_keeps_what_it_has_and_can_go_on(
    slow: WebServer, tmp_path: Path, processes: int
) -> None:
    data, out = tmp_path / "data", str(tmp_path / "pages.jsonl")
    run = crawl(*slow.seeds, delay=0, data=data, out=out, processes=processes)
    taken = 0
    async for _ in run:
        taken += 1
        if taken == 4:
            run.stop()
    assert run.summary is not None
    assert run.summary.reason == "interrupted"
    assert run.summary.pending > 0
    assert run.summary.completed == taken
    await crawl(*slow.seeds, delay=0, data=data, processes=processes).run()
    assert not differences(slow.web.expected(slow.seeds), written(Path(out)))


async def test_a_crawl_that_is_stopped_before_it_began_fetches_nothing(server: WebServer) -> None:
    run = crawl(*server.seeds, delay=0)
    run.stop()
    summary = await run.run()
    assert summary.reason == "interrupted"
    assert not server.requests()


async def consume(run: Crawl) -> None:
    async for _ in run:
        pass


async def crawl_all(run: Crawl) -> None:
    await run.run()


@pytest.mark.parametrize("processes", [0, 1])
@pytest.mark.parametrize("way", [consume, crawl_all])
async def test_cancelling_returns_and_keeps_what_was_done(
    slow: WebServer, tmp_path: Path, way: Callable[[Crawl], Awaitable[None]], processes: int
) -> None:
    data, out = tmp_path / "data", str(tmp_path / "pages.jsonl")
    run = crawl(*slow.seeds, delay=0, data=data, out=out, processes=processes)
    task = asyncio.ensure_future(way(run))
    async with asyncio.timeout(30):
        while run.stats.counts.completed < 5:  # noqa: ASYNC110 (nobody tells)
            await asyncio.sleep(0.005)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    before = len(slow.requests())
    assert before < PAGES
    summary = await crawl(*slow.seeds, delay=0, data=data, processes=processes).run()
    assert summary.reason == "finished"
    assert not differences(slow.web.expected(slow.seeds), written(Path(out)))
    again = [url for url, times in fetch_counts(slow.requests()).items() if times > 1]
    assert len(again) <= 32, "only what was in flight is fetched again"


async def test_cancelling_at_any_moment_leaves_the_directory_free(server: WebServer, tmp_path: Path) -> None:
    for turns in range(0, 60, 3):
        task = asyncio.ensure_future(crawl(*server.seeds, delay=0, data=tmp_path).run())
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
    summary = await crawl(*server.seeds, delay=0, data=tmp_path).run()
    assert (summary.reason, summary.completed) == ("finished", PAGES)


async def test_a_crawl_can_be_bounded_in_time_from_outside(slow: WebServer, tmp_path: Path) -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.4):
            await crawl(*slow.seeds, delay=1, data=tmp_path).run()
    assert (await crawl(*slow.seeds, delay=0, data=tmp_path, max_pages=4).run()).completed == 4


# -- data directories


async def test_two_crawls_side_by_side_do_not_mix(server: WebServer, slow: WebServer) -> None:
    async def found(seeds: tuple[str, ...]) -> set[str]:
        return {page.url async for page in crawl(*seeds, delay=0)}

    one, two = await asyncio.gather(found(server.seeds), found(slow.seeds))
    assert (one, two) == (urls(server), urls(slow))


async def test_a_directory_in_use_is_refused_by_name(slow: WebServer, tmp_path: Path) -> None:
    async for _ in crawl(*slow.seeds, delay=0, data=tmp_path):
        with pytest.raises(StorageError, match="in use by process"):
            await crawl(*slow.seeds, delay=0, data=tmp_path, stop_grace=0.1).run()
        break


async def test_a_finished_crawl_begins_anew_when_asked_for_again(server: WebServer, tmp_path: Path) -> None:
    first = await crawl(*server.seeds, delay=0, data=tmp_path).run()
    second = [page async for page in crawl(*server.seeds, delay=0, data=tmp_path)]
    assert first.completed == PAGES
    assert {page.source for page in second} <= {1, 2}
    assert set(fetch_counts(server.requests()).values()) == {1, 2}, "pages twice, the robots file once"


async def test_all_unfinished_crawls_of_a_directory_go_on_together(
    server: WebServer, slow: WebServer, tmp_path: Path
) -> None:
    for one in (server, slow):
        await crawl(*one.seeds, delay=0, data=tmp_path, max_pages=3).run()
    settings = msgspec.structs.replace(DEFAULTS, data=str(tmp_path), processes=0, max_pages=None)
    summary = await resume(settings, ["max_pages"]).run()
    assert (summary.reason, summary.completed) == ("finished", 2 * PAGES)


async def test_without_a_directory_nothing_stays_behind(
    server: WebServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    await crawl(*server.seeds, delay=0).run()
    assert files_in(tmp_path) == []


async def test_a_directory_that_cannot_be_made_is_a_storage_error(server: WebServer, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="cannot write to"):
        await crawl(*server.seeds, data=tmp_path / "file" / "data").run()
    with pytest.raises(StorageError, match="cannot write to"):
        async for _ in crawl(*server.seeds, data=tmp_path / "file" / "data"):
            pass


def fill_the_disk(after: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """So many commits go well."""
    real, left = SqliteStore.commit, iter(range(after))

    async def commit(store: SqliteStore, batch: Batch) -> None:
        if next(left, None) is None:
            raise StorageError("the disk is full; make room and resume")
        await real(store, batch)

    monkeypatch.setattr(SqliteStore, "commit", commit)


@pytest.mark.parametrize("way", [consume, crawl_all])
async def test_an_error_of_the_store_reaches_the_caller_as_it_is(
    server: WebServer, monkeypatch: pytest.MonkeyPatch, way: Callable[[Crawl], Awaitable[None]]
) -> None:
    fill_the_disk(4, monkeypatch)
    with pytest.raises(StorageError, match="make room and resume"):
        await way(crawl(*server.seeds, delay=0))


async def test_a_damaged_store_is_a_storage_error(server: WebServer, tmp_path: Path) -> None:
    (tmp_path / "gossamer.db").write_bytes(b"not a database, but long enough to be looked at" * 100)
    with pytest.raises(StorageError):
        await crawl(*server.seeds, data=tmp_path).run()


async def test_a_store_of_a_newer_gossamer_is_left_alone(server: WebServer, tmp_path: Path) -> None:
    await crawl(*server.seeds, delay=0, data=tmp_path, max_pages=1).run()
    with apsw.Connection(str(tmp_path / "gossamer.db")) as database:
        database.execute("PRAGMA user_version = 9999")
    with pytest.raises(StorageError, match="newer"):
        await crawl(*server.seeds, delay=0, data=tmp_path).run()


# -- coming back


async def test_a_recrawl_of_a_site_that_did_not_change_gives_no_page(server: WebServer, tmp_path: Path) -> None:
    await crawl(*server.seeds, delay=0, data=tmp_path).run()
    run = recrawl(tmp_path, delay=0)
    assert [page async for page in run] == []
    assert run.summary is not None
    assert (run.summary.reason, run.summary.completed) == ("finished", PAGES)
    assert run.summary.changes == ChangeCounts()
    assert [change async for change in changes(tmp_path)] == []


async def test_pages_that_were_never_asked_for_are_still_given_to_who_began_to_read(
    server: WebServer, tmp_path: Path
) -> None:
    async for first in crawl(*server.seeds, delay=0, data=tmp_path):
        assert first.url in urls(server)
        break
    await crawl(*server.seeds, delay=0, data=tmp_path).run()
    assert {page.url async for page in recrawl(tmp_path, delay=0)} == urls(server)


async def test_a_recrawl_leaves_the_output_of_the_first_crawl_alone(server: WebServer, tmp_path: Path) -> None:
    out = tmp_path / "pages.jsonl"
    await crawl(*server.seeds, delay=0, data=tmp_path / "data", out=str(out)).run()
    before = out.read_bytes()
    out.write_bytes(before + b"mine\n")
    await recrawl(tmp_path / "data", delay=0).run()
    assert out.read_bytes() == before + b"mine\n"
    with pytest.raises(ValueError, match=r"^out: a recrawl writes no file"):
        recrawl(tmp_path / "data", out=str(out))


async def test_a_crawl_that_is_not_over_goes_on_before_it_is_visited_again(server: WebServer, tmp_path: Path) -> None:
    first = crawl(*server.seeds, delay=0, data=tmp_path)
    async for _ in first:
        first.stop()
    summary = await recrawl(tmp_path, delay=0).run()
    assert (summary.completed, summary.changes) == (PAGES, None)
    assert set(fetch_counts(server.requests()).values()) == {1}


async def test_new_wishes_hold_for_a_recrawl_and_wrong_ones_begin_none(server: WebServer, tmp_path: Path) -> None:
    await crawl(*server.seeds, delay=0, data=tmp_path).run()
    with pytest.raises(WishError, match="--scope prefix leaves out"):
        await recrawl(tmp_path, seed_from=["ct"]).run()
    with pytest.raises(StorageError, match="has no source 7; its sources are: 1"):
        await recrawl(tmp_path, sources=[7]).run()
    store = await SqliteStore.open(tmp_path)
    (source,) = await store.sources()
    await store.close()
    assert source.round == 1


async def test_without_a_crawl_there_is_nothing_to_visit_again(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="has no crawl to visit again"):
        await recrawl(tmp_path).run()


def test_certificates_are_refused_at_once_where_their_hosts_would_be_out_of_scope() -> None:
    with pytest.raises(WishError, match="--seed-from ct finds other hosts"):
        crawl("http://a.test/", seed_from=["all"])
    crawl("http://a.test/", seed_from=["all"], scope="site")


# -- private addresses


async def test_seeds_of_somebody_else_do_not_open_private_addresses(server: WebServer) -> None:
    run = crawl(*server.seeds, delay=0, trust_seeds=False, states=tuple(State))
    (page,) = [page async for page in run]
    assert (page.state, page.reason) == (State.SKIPPED, "address")
    assert not server.requests()
    allowed = crawl(*server.seeds, delay=0, trust_seeds=False, allow_private=["127.0.0.0/8"])
    assert (await allowed.run()).completed == PAGES


# -- options


def test_a_script_gets_all_pages_without_asyncio(server: WebServer) -> None:
    pages = collect(*server.seeds, delay=0)
    assert {page.url for page in pages} == urls(server)
    assert all(isinstance(page, PageRecord) for page in pages)


def test_an_unknown_option_names_the_nearest() -> None:
    with pytest.raises(TypeError, match=r"no option 'max_page'.*max_pages"):
        settings_from({"max_page": 3})
    with pytest.raises(TypeError, match=r"max_depth"):
        crawl("http://a.test/", max_dept=3)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"delay": -1}, "delay"),
        ({"max_pages": 0}, "max_pages"),
        ({"scope": "world"}, "scope"),
        ({"include": ["("]}, "include"),
        ({"seed_from": ["everywhere"]}, "seed_from"),
        ({"near_duplicates": 2}, "near_duplicates"),
        ({"revisit_least": "90d"}, "revisit_least"),
    ],
)
def test_an_impossible_value_names_its_option(options: Options, name: str) -> None:
    with pytest.raises(ValueError, match=f"^{name}: "):
        crawl("http://a.test/", **options)


def test_seeds_that_are_no_urls_are_all_named_at_once() -> None:
    with pytest.raises(SeedError, match=r"example\.com.*did you mean https://example\.com/.*mailto"):
        crawl("example.com", "mailto:a@b.test", "https://fine.test/")


def test_options_are_the_settings_table_and_typed() -> None:
    assert get_type_hints(Options).keys() == SETTINGS.keys() - {"data"}
    fields = set(Settings.__struct_fields__)
    assert SETTINGS.keys() == fields


def test_every_default_can_be_given_as_an_option() -> None:
    shown = {name: getattr(DEFAULTS, name) for name in SETTINGS if name not in ("data", "delay")}
    given = {name: value for name, value in shown.items() if isinstance(value, bool | int | float | str)}
    assert settings_from(given) == DEFAULTS


def test_the_library_offers_what_it_names() -> None:
    assert all(getattr(gossamer, name) for name in gossamer.__all__)
    with pytest.raises(AttributeError, match="no attribute 'spider'"):
        _ = gossamer.spider


def test_it_is_marked_as_typed() -> None:
    assert (Path(gossamer.__file__).parent / "py.typed").exists()


# -- files


async def test_an_output_file_holds_every_page_once(tmp_path: Path) -> None:
    out = tmp_path / "pages.jsonl"
    with WebServer(make_web(seed=4, hosts=2, pages_per_host=15, features=QUICK)) as server:
        await crawl(*server.seeds, delay=0, out=str(out)).run()
    assert not differences(server.web.expected(server.seeds), written(out))
