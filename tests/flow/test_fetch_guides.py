"""Guides: read while they come, with no more than what they list kept."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest

from gossamer.adapters.fetcher_http import HttpFetcher
from gossamer.flow import fetch
from gossamer.flow.fetch import MAX_GUIDE, Readers, work
from gossamer.frontier.places import certificates_of, collections_of
from gossamer.model import (
    Entry,
    Error,
    Fault,
    Guide,
    Lease,
    LeaseKind,
    Outcome,
    Reading,
    RequestOptions,
    Response,
    Validators,
)
from gossamer.parse.guides import GuideReader
from gossamer.testing.services import Capture, Services
from tests.flow.test_fetch import DATE, FakeBus, must_not_read

URL = "https://example.org/sitemap.xml"
KNOWN = Validators('"1"', DATE)
RESET = Error(fault=Fault.RESET, text="gone")
BODY = b"<urlset><url><loc>/0</loc></url><url><loc>/1</loc></url></urlset>"
ENTRIES = (Entry("https://example.org/0"), Entry("https://example.org/1"))


def lease(url: str = URL, kind: LeaseKind = LeaseKind.SITEMAP, token: int = 7) -> Lease:
    request = RequestOptions(user_agent="test", allow_private=("127.0.0.1/32",))
    return Lease(
        token=token, kind=kind, source=1, page=1, url=url, host="https://example.org",
        deadline=-1.0, exclusive=True, request=request, validators=KNOWN,
    )  # fmt: skip


class Streaming:
    """Gives a body in pieces to whoever takes it, as a fetcher does."""

    def __init__(self, response: Response, *pieces: bytes) -> None:
        self._response = response
        self._pieces = pieces
        self.url = ""
        self.asked: dict[str, object] = {}
        self.taken = 0

    async def fetch(
        self,
        url: str,
        options: RequestOptions,
        *,
        into: Callable[[bytes], bool] | None = None,
        **asked: object,
    ) -> Response:
        self.url, self.asked = url, asked
        for piece in self._pieces:
            self.taken += 1
            assert into is not None
            if not into(piece):
                break
            await asyncio.sleep(0)
        return self._response

    async def close(self) -> None: ...


class Broken:
    """A reader with a bug."""

    def __init__(self, *_: object) -> None: ...

    def feed(self, data: bytes) -> bool:
        raise KeyError(data)

    def close(self) -> Guide:
        raise AssertionError("it was given up already")


async def outcome_of(fetcher: Streaming | HttpFetcher, one: Lease | None = None) -> Outcome:
    bus = FakeBus(one or lease())
    await work(bus, fetcher, Readers(must_not_read, GuideReader))
    (outcome,) = bus.outcomes
    return outcome


def answer(status: int = 200, error: Error | None = None, **headers: str) -> Response:
    named = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return Response(status=status, headers=named, error=error, wire_bytes=len(BODY), address="192.0.2.1", elapsed=0.5)


async def test_a_guide_travels_as_what_it_lists() -> None:
    fetcher = Streaming(answer(etag='"2"', content_type="text/xml"), BODY[:30], BODY[30:])
    outcome = await outcome_of(fetcher)
    assert outcome == Outcome(
        token=7,
        status=200,
        content_type="text/xml",
        etag='"2"',
        size=len(BODY),
        elapsed=0.5,
        address="192.0.2.1",
        guide=Guide(entries=ENTRIES),
    )
    assert fetcher.asked == {"max_body": MAX_GUIDE, "validators": KNOWN}


async def test_a_guide_is_read_as_what_its_lease_says() -> None:
    fetcher = Streaming(answer(), b"[a](/0)")
    outcome = await outcome_of(fetcher, lease("https://example.org/llms.txt", LeaseKind.LLMS))
    assert outcome.guide == Guide(entries=ENTRIES[:1])


async def test_the_bus_is_told_of_every_piece_that_is_read() -> None:
    bus = FakeBus(lease())
    told: list[list[int]] = []

    class Watching(GuideReader):
        def feed(self, data: bytes) -> bool:
            told.append(list(bus.told))
            return super().feed(data)

    await work(bus, Streaming(answer(), b"a", b"b"), Readers(must_not_read, Watching))
    assert told == [[7], [7, 0, 7]]
    assert bus.told == [7, 0, 7, 0, 7, 0]


async def test_nothing_more_is_taken_when_there_is_enough() -> None:
    fetcher = Streaming(answer(), *[b"<html>" + b"x" * 20_000] * 3)
    outcome = await outcome_of(fetcher)
    assert outcome.guide == Guide(note="an HTML page, and no sitemap")
    assert (fetcher.taken, outcome.error) == (1, None)


async def test_of_a_guide_that_breaks_off_the_complete_entries_count() -> None:
    outcome = await outcome_of(Streaming(answer(error=RESET), BODY[:40]))
    assert outcome.error is None
    assert outcome.guide is not None
    assert outcome.guide.entries == ENTRIES[:1]
    assert outcome.guide.note is not None
    assert outcome.guide.note.startswith("broke off (reset: gone); broken XML in line 1")


async def test_of_an_index_that_breaks_off_the_complete_guides_count() -> None:
    outcome = await outcome_of(Streaming(answer(error=RESET), b"<sitemapindex><sitemap><loc>/1.xml</loc></sitemap>"))
    assert (outcome.error, outcome.guide and outcome.guide.guides) == (None, ("https://example.org/1.xml",))


async def test_a_guide_that_breaks_off_before_its_first_entry_has_failed() -> None:
    outcome = await outcome_of(Streaming(answer(error=RESET), BODY[:10]))
    assert (outcome.error, outcome.guide) == (RESET, None)


async def test_a_guide_without_an_end_is_cut_which_is_no_error() -> None:
    error = Error(fault=Fault.TOO_LARGE, text="larger than that")
    outcome = await outcome_of(Streaming(answer(error=error), b"https://example.org/0\n"))
    assert (outcome.error, outcome.guide) == (None, Guide(entries=ENTRIES[:1], note="cut at 50 MiB"))


@pytest.mark.parametrize("status", [304, 404, 410, 429, 503])
async def test_an_answer_that_is_no_guide_is_not_read(status: int) -> None:
    outcome = await outcome_of(Streaming(answer(status, retry_after="5")))
    assert (outcome.status, outcome.error, outcome.guide, outcome.retry_after) == (status, None, None, 5.0)


async def test_what_the_network_did_is_passed_on() -> None:
    outcome = await outcome_of(Streaming(Response(error=RESET)))
    assert (outcome.status, outcome.error, outcome.guide) == (None, RESET, None)


async def test_a_fragment_is_never_sent_and_goes_along_with_a_redirect() -> None:
    fetcher = Streaming(answer(301, location="/new.json"))
    outcome = await outcome_of(fetcher, lease("https://example.org/collinfo.json#a/*", LeaseKind.COMMONCRAWL))
    assert fetcher.url == "https://example.org/collinfo.json"
    assert outcome.location == "https://example.org/new.json#a/*"


async def test_a_reader_that_fails_costs_its_guide_and_not_the_worker() -> None:
    bus = FakeBus(lease(token=1), lease(token=2))
    await work(bus, Streaming(answer(), BODY), Readers(must_not_read, Broken))
    for outcome in bus.outcomes:
        assert outcome.error is not None
        assert outcome.error.fault is Fault.PARSE
        assert outcome.error.text.startswith("the guide could not be read: KeyError")
        assert outcome.guide is None
    assert bus.told[-1] == 0


async def test_a_failpoint_follows_the_reading_of_a_guide(monkeypatch: pytest.MonkeyPatch) -> None:
    passed: list[str] = []
    monkeypatch.setattr(fetch, "failpoint", passed.append)
    await outcome_of(Streaming(answer(), BODY))
    assert passed == ["guide-read"]


@pytest.fixture
async def http() -> AsyncIterator[HttpFetcher]:
    fetcher = HttpFetcher()
    yield fetcher
    await fetcher.close()


async def guide_at(http: HttpFetcher, url: str, kind: LeaseKind) -> Guide:
    outcome = await outcome_of(http, lease(url, kind))
    assert (outcome.status, outcome.error) == (200, None)
    assert outcome.guide is not None
    return outcome.guide


async def test_certificates_are_read_from_a_service(http: HttpFetcher) -> None:
    certificates = [("example.org", "www.example.org", "*.dev.example.org"), ("other.test",)]
    with Services(certificates=certificates) as services:
        (url,) = certificates_of(services.endpoint, "example.org")
        guide = await guide_at(http, url, LeaseKind.CT)
    assert guide == Guide(
        entries=tuple(Entry(f"https://{name}/") for name in ("example.org", "www.example.org", "dev.example.org"))
    )


async def test_the_common_crawl_index_is_read_step_by_step(http: HttpFetcher) -> None:
    known = [Capture(f"https://example.org/docs/{number}") for number in range(8)]
    others = [Capture("https://example.org/docs/gone", "404"), Capture("https://example.org/blog/")]
    with Services(captures=[*known, *others], per_page=4) as services:
        waiting = collections_of(services.endpoint, "example.org", "/docs/")
        read: list[Guide] = []
        while waiting:
            read.append(await guide_at(http, waiting.pop(0), LeaseKind.COMMONCRAWL))
            waiting += read[-1].guides
        asked = list(services.requests)
    assert [entry.url for guide in read for entry in guide.entries] == [capture.url for capture in known]
    assert [guide.note for guide in read] == [None] * 5
    assert (asked[0], len(asked)) == ("/collinfo.json", 5)


async def test_a_pattern_without_captures_is_a_404_and_no_error(http: HttpFetcher) -> None:
    with Services() as services:
        (first,) = collections_of(services.endpoint, "example.org", below=True)
        (count,) = (await guide_at(http, first, LeaseKind.COMMONCRAWL)).guides
        outcome = await outcome_of(http, lease(count, LeaseKind.COMMONCRAWL))
    assert (outcome.status, outcome.error, outcome.guide) == (404, None, None)


def test_readers_are_what_a_worker_is_given() -> None:
    readers = Readers(lambda *_: Reading(), GuideReader)
    assert readers.guide(URL, LeaseKind.SITEMAP, lease().request).close() == Guide(note="it is empty")
