"""A test of the tests: every check sees what it is there to see."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from gossamer.model import (
    Change,
    ChangeEntry,
    Counts,
    LeaseKind,
    PageInfo,
    PageRecord,
    RequestOptions,
    Source,
    SourceSpec,
    SourceState,
    State,
)
from gossamer.testing.maze import Maze, Section, Sitemap
from gossamer.testing.web import Request, Web, make_web
from tests.crash.inquest import changes, file_problems, late, miscounts, too_bold
from tests.crash.look import Guide, Look
from tests.crash.mazes import TRAPS, curious, needless, overspent
from tests.crash.returns import NOTHING, Changed, misjudged, misreported, wasted
from tests.crash.webs import GUIDES, fetch_problems, impoliteness

HOST = "http://a.test"
PAGE = PageRecord(url=f"{HOST}/", source=1, state=State.COMPLETED, http_status=200, title="A page")
LINE = msgspec.json.encode(PAGE) + b"\n"


@pytest.fixture
def web() -> Web:
    return make_web(1, hosts=1, pages_per_host=2, features=()).at([HOST])


def asked(*paths: str, gap: float = 1.0) -> list[Request]:
    return [
        Request(
            host=HOST,
            path=path,
            started=number * gap,
            ended=number * gap,
            status=404 if path == "/robots.txt" else 200,
            robots=path == "/robots.txt",
        )
        for number, path in enumerate(paths)
    ]


def test_a_page_that_changed_or_went_is_seen() -> None:
    assert not changes({PAGE.url: PAGE}, {PAGE.url: PAGE})
    assert "lost" in changes({PAGE.url: PAGE}, {})[0]
    assert changes({PAGE.url: PAGE}, {PAGE.url: msgspec.structs.replace(PAGE, title="Another")})


@pytest.mark.parametrize("wrong", [b"", LINE + LINE, LINE[:-1], LINE[9:], LINE.replace(b"A page", b"B page")])
def test_a_file_with_a_line_too_few_too_many_half_or_wrong_is_seen(tmp_path: Path, wrong: bytes) -> None:
    file = tmp_path / "pages.jsonl"
    file.write_bytes(LINE)
    assert not file_problems(file, {PAGE.url: PAGE})
    file.write_bytes(wrong)
    assert file_problems(file, {PAGE.url: PAGE})


def test_fetches_that_no_death_explains_are_seen(web: Web) -> None:
    expected = web.expected(web.seeds)
    log = asked("/robots.txt", *GUIDES, "/", "/docs/", "/docs/")
    again = f"{HOST}/docs/"
    assert not fetch_problems(web, expected, log, {again: 1})
    assert again in fetch_problems(web, expected, log, {})[0]
    assert again in fetch_problems(web, expected, log[:4], {})[0]
    assert fetch_problems(web, expected, [*log[:5], *asked("/elsewhere")], {})


def test_a_guide_that_is_asked_for_too_often_or_never_is_seen(web: Web) -> None:
    expected = web.expected(web.seeds)
    log = asked("/robots.txt", *GUIDES, "/", "/docs/")
    guide = HOST + GUIDES[0]
    assert not fetch_problems(web, expected, log, {})
    assert guide in fetch_problems(web, expected, [*log, *asked(GUIDES[0])], {})[0]
    assert not fetch_problems(web, expected, [*log, *asked(GUIDES[0])], {guide: 1})
    assert guide in fetch_problems(web, expected, [log[0], *log[2:]], {})[0]


def test_haste_and_boldness_are_seen(web: Web) -> None:
    log = asked("/robots.txt", "/", "/docs/")
    assert not impoliteness(web, log, 1.0)
    assert impoliteness(web, log, 1.5)
    assert impoliteness(web, log[1:], 1.0)
    assert not too_bold(log, [(-1.0, HOST)])
    assert too_bold(log, [(0.5, HOST)])
    assert not late(1.0)
    assert late(6.0)


def test_a_source_that_is_finished_too_early_or_counts_wrongly_is_seen() -> None:
    spec = SourceSpec(seeds=(PAGE.url,), request=RequestOptions(user_agent="gossamer"))
    waiting = PageInfo(id=1, record=msgspec.structs.replace(PAGE, state=State.PENDING), host=HOST, rank=0, attempts=0)
    seen = Look(source=Source(id=1, spec=spec), counts=Counts(pending=1), pages={PAGE.url: waiting})
    done = Source(id=1, spec=spec, state=SourceState.COMPLETED)
    assert not miscounts(seen)
    assert miscounts(msgspec.structs.replace(seen, source=done))
    assert miscounts(msgspec.structs.replace(seen, counts=Counts()))


@pytest.fixture
def maze() -> Maze:
    return Maze(1, pages=2, sections=[Section.NUMBERS], sitemap=Sitemap.INDEX).at([HOST])


def test_a_trap_that_cost_too_much_in_all_lives_together_is_seen(maze: Maze) -> None:
    numbers = Maze(1, pages=2, sections=[Section.NUMBERS]).at([HOST])
    log = asked(*(f"/n/{number}" for number in range(1, TRAPS.path_budget + 2)))
    assert not overspent(numbers, log[1:], {})
    assert not overspent(numbers, log, {f"{HOST}/n/1": 1})
    assert "numbers without end" in overspent(numbers, log, {})[0]
    assert "on no list" in overspent(maze, log[:1], {})[0]


def test_guides_and_probes_that_nobody_needs_are_seen(maze: Maze) -> None:
    assert not needless(maze, asked("/robots.txt", "/sitemap.xml"))
    assert needless(maze, asked("/robots.txt", "/sitemap_index.xml"))
    probes = tuple(
        Guide(f"{HOST}/{name}", LeaseKind.PROBE, State.COMPLETED, attempts=1) for name in ("nothing", "nobody")
    )
    assert not curious(Look(guides=probes), deaths=1)
    assert curious(Look(guides=probes), deaths=0)


CHANGES = Changed(changed=frozenset({f"{HOST}/new"}), removed=frozenset({f"{HOST}/gone"}), added=frozenset())
FEED = [
    ChangeEntry(change=Change.CHANGED, url=f"{HOST}/new", source=1, at="", round=2),
    ChangeEntry(change=Change.REMOVED, url=f"{HOST}/gone", source=1, at="", round=2),
]


def test_a_change_that_was_not_told_or_told_twice_is_seen() -> None:
    assert not misreported(CHANGES, FEED)
    assert "never told" in misreported(CHANGES, FEED[:1])[0]
    assert "too often" in misreported(CHANGES, [*FEED, FEED[0]])[0]
    assert misreported(NOTHING, FEED)


def test_a_page_that_a_second_visit_lost_or_a_body_that_was_sent_in_vain_is_seen() -> None:
    pages = {
        f"{HOST}/": PAGE,
        f"{HOST}/new": msgspec.structs.replace(PAGE, url=f"{HOST}/new"),
        f"{HOST}/gone": msgspec.structs.replace(PAGE, url=f"{HOST}/gone", state=State.FAILED),
    }
    infos = {
        url: PageInfo(id=number, record=record, host=HOST, rank=0, attempts=1)
        for number, (url, record) in enumerate(pages.items())
    }
    assert not misjudged(CHANGES, pages.values(), Look(pages=infos))
    for url in pages:
        assert misjudged(CHANGES, pages.values(), Look(pages={other: infos[other] for other in infos if other != url}))
    (old, new) = (msgspec.structs.replace(each, headers=(("if-none-match", "x"),)) for each in asked("/", "/new"))
    assert not wasted(CHANGES, (), [new, msgspec.structs.replace(old, status=304)])
    assert "had not changed" in wasted(CHANGES, (), [old])[0]
    assert "without a validator" in wasted(CHANGES, (), [msgspec.structs.replace(old, headers=())])[0]
