"""A test of the tests: every check sees what it is there to see."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from gossamer.model import Counts, PageInfo, PageRecord, RequestOptions, Source, SourceSpec, SourceState, State
from gossamer.testing.web import Request, Web, make_web
from tests.crash.inquest import changes, file_problems, late, miscounts, too_bold
from tests.crash.look import Look
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
