from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from gossamer.flow.fetch import MAX_RETRY_AFTER, MAX_ROBOTS, PageReader, Readers, retry_after, work
from gossamer.model import (
    Document,
    Error,
    Fault,
    Lease,
    LeaseKind,
    Outcome,
    Reading,
    RequestOptions,
    Response,
    Validators,
)
from gossamer.parse.guides import GuideReader

URL = "https://example.org/a/page"
DATE = "Tue, 06 May 2025 10:00:00 GMT"
LATER = "Tue, 06 May 2025 10:02:00 GMT"
READING = Reading(document=Document(title="Hello", links=("https://example.org/b",)))


KNOWN = Validators('"1"', DATE)


def lease(
    token: int = 1,
    *,
    kind: LeaseKind = LeaseKind.PAGE,
    url: str = URL,
    drop: tuple[str, ...] = (),
    validators: Validators = Validators(),  # noqa: B008 (frozen)
) -> Lease:
    request = RequestOptions(user_agent="test", drop_parameters=drop)
    return Lease(
        token=token, kind=kind, source=1, page=1, url=url, host="https://example.org",
        deadline=-1.0, exclusive=True, request=request, validators=validators,
    )  # fmt: skip


class FakeBus:
    """Hands out its leases, then waits for as many outcomes before the stream ends."""

    def __init__(self, *leases: Lease, wait: bool = True) -> None:
        self._leases = list(leases)
        self._wait = wait
        self._answered = asyncio.Semaphore(0)
        self.outcomes: list[Outcome] = []
        self.told: list[int] = []

    async def leases(self) -> AsyncIterator[list[Lease]]:
        yield self._leases
        await asyncio.sleep(0)
        for _ in self._leases if self._wait else []:
            await self._answered.acquire()

    async def send(self, outcome: Outcome) -> None:
        self.outcomes.append(outcome)
        self._answered.release()

    def parsing(self, token: int) -> None:
        self.told.append(token)


class FakeFetcher:
    def __init__(self, response: Response | Exception = Response(status=200)) -> None:  # noqa: B008 (frozen)
        self._response = response
        self.asked: dict[str, object] = {}
        self.closed = False

    async def fetch(self, url: str, options: RequestOptions, **asked: object) -> Response:
        self.asked = asked
        if isinstance(self._response, Exception):
            raise self._response
        return self._response

    async def close(self) -> None:
        self.closed = True


def read(_: str, __: Response, ___: RequestOptions) -> Reading:
    return READING


def must_not_read(_: str, __: Response, ___: RequestOptions) -> Reading:
    raise AssertionError("nobody asked for this to be read")


def reading(page: PageReader) -> Readers:
    return Readers(page, GuideReader)


async def outcome_of(response: Response | Exception, one: Lease | None = None, reader: PageReader = read) -> Outcome:
    bus = FakeBus(one or lease())
    await work(bus, FakeFetcher(response), reading(reader))
    (outcome,) = bus.outcomes
    return outcome


def answer(status: int, body: bytes = b"", error: Error | None = None, **headers: str) -> Response:
    named = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return Response(status=status, headers=named, body=body, error=error, elapsed=0.25, address="192.0.2.1")


async def test_a_page_travels_as_its_reading() -> None:
    response = answer(200, b"<p>hi", content_type="text/html", etag='"1"', last_modified=DATE)
    assert await outcome_of(response) == Outcome(
        token=1,
        status=200,
        content_type="text/html",
        etag='"1"',
        last_modified=DATE,
        size=5,
        elapsed=0.25,
        address="192.0.2.1",
        reading=READING,
    )


async def test_the_bus_is_told_which_page_is_read_and_when_that_is_over() -> None:
    bus = FakeBus(lease(7))

    def observing(*_: object) -> Reading:
        assert bus.told == [7]
        return READING

    await work(bus, FakeFetcher(), reading(observing))
    assert bus.told == [7, 0]
    assert bus.outcomes[0].reading == READING


async def test_a_page_that_cannot_be_read_costs_itself_and_not_the_worker() -> None:
    bus = FakeBus(lease(1), lease(2))

    def choosy(*_: object) -> Reading:
        if bus.told[-1] == 1:
            raise RecursionError("too deep")
        return READING

    await work(bus, FakeFetcher(answer(200)), reading(choosy))
    first, second = sorted(bus.outcomes, key=lambda outcome: outcome.token)
    assert first.error == Error(fault=Fault.PARSE, text="the page could not be read: RecursionError: too deep")
    assert (first.status, first.reading) == (200, None)
    assert second.reading == READING
    assert bus.told == [1, 0, 2, 0]


async def test_a_reading_with_an_error_is_an_outcome_with_an_error() -> None:
    error = Error(fault=Fault.PARSE, text="nothing to be made of it")
    outcome = await outcome_of(answer(200), reader=lambda *_: Reading(error=error))
    assert outcome.error == error


async def test_a_fetcher_that_raises_costs_its_page() -> None:
    outcome = await outcome_of(OSError("boom"), reader=must_not_read)
    assert outcome.error == Error(fault=Fault.WORKER, text="the fetcher failed: OSError: boom")


@pytest.mark.parametrize("status", [404, 410, 429, 500, 503])
async def test_a_refusal_is_not_read(status: int) -> None:
    outcome = await outcome_of(answer(status, b"<p>sorry"), reader=must_not_read)
    assert (outcome.status, outcome.error, outcome.reading, outcome.body) == (status, None, None, b"")


async def test_what_the_network_did_is_passed_on_and_not_read() -> None:
    error = Error(fault=Fault.TOO_LARGE, text="more than 10 MiB")
    assert (await outcome_of(answer(200, b"<p>", error), reader=must_not_read)).error == error


@pytest.mark.parametrize("status", [301, 404, 429, 503])
async def test_a_broken_body_does_not_hide_a_status_that_says_it_all(status: int) -> None:
    error = Error(fault=Fault.ENCODING, text="not gzip")
    outcome = await outcome_of(answer(status, b"", error, location="/b", retry_after="5"), reader=must_not_read)
    assert (outcome.status, outcome.error, outcome.retry_after) == (status, None, 5.0)


@pytest.mark.parametrize(
    ("location", "target"),
    [
        ("/b", "https://example.org/b"),
        ("b?x=1#top", "https://example.org/a/b?x=1"),
        ("//Other.example:443", "https://other.example/"),
        ("?keep=1&Sid=2", "https://example.org/a/page?keep=1"),
    ],
)
async def test_a_redirect_leads_to_a_normalised_url(location: str, target: str) -> None:
    outcome = await outcome_of(answer(301, location=location), lease(drop=("SID",)), must_not_read)
    assert (outcome.status, outcome.location, outcome.error) == (301, target, None)


@pytest.mark.parametrize("location", ["mailto:me@example.org", "ftp://example.org/", "https://", ""])
async def test_a_redirect_that_cannot_be_followed_says_so(location: str) -> None:
    outcome = await outcome_of(answer(302, location=location), reader=must_not_read)
    assert outcome.location is None
    assert outcome.error is not None
    assert outcome.error.fault is Fault.PROTOCOL


async def test_a_redirect_without_a_location_says_so() -> None:
    outcome = await outcome_of(answer(307), reader=must_not_read)
    assert str(outcome.error) == "protocol: status 307 without a Location to follow"


@pytest.mark.parametrize("kind", [LeaseKind.PAGE, LeaseKind.PROBE])
async def test_a_page_that_is_known_is_asked_for_with_what_is_known_of_it(kind: LeaseKind) -> None:
    bus, fetcher = FakeBus(lease(kind=kind, validators=KNOWN)), FakeFetcher(answer(200))
    await work(bus, fetcher, reading(read))
    assert fetcher.asked == {"validators": KNOWN}
    assert bus.outcomes[0].reading == READING


async def test_a_page_that_has_not_changed_is_no_fault_and_is_not_read() -> None:
    outcome = await outcome_of(answer(304, etag='"1"'), lease(validators=KNOWN), must_not_read)
    assert (outcome.status, outcome.error, outcome.location, outcome.etag) == (304, None, None, '"1"')


async def test_a_304_that_nobody_asked_for_is_a_fault() -> None:
    outcome = await outcome_of(answer(304), reader=must_not_read)
    assert str(outcome.error) == "protocol: status 304 without a Location to follow"


async def test_robots_are_fetched_with_their_own_cap_and_travel_as_bytes() -> None:
    bus, fetcher = FakeBus(lease(kind=LeaseKind.ROBOTS)), FakeFetcher(answer(200, b"User-agent: *"))
    await work(bus, fetcher, reading(must_not_read))
    assert fetcher.asked == {"max_body": MAX_ROBOTS}
    assert MAX_ROBOTS >= 500 * 1024
    assert bus.outcomes[0].body == b"User-agent: *"
    assert bus.told == []


async def test_of_robots_that_are_too_long_the_beginning_counts() -> None:
    error = Error(fault=Fault.TOO_LARGE, text="too long")
    outcome = await outcome_of(answer(200, b"x" * MAX_ROBOTS + b"more", error), lease(kind=LeaseKind.ROBOTS))
    assert (outcome.error, len(outcome.body)) == (None, MAX_ROBOTS)


async def test_robots_that_were_announced_too_long_and_never_read_are_no_permission() -> None:
    error = Error(fault=Fault.TOO_LARGE, text="too long")
    assert (await outcome_of(answer(200, b"", error), lease(kind=LeaseKind.ROBOTS))).error == error


async def test_robots_that_move_tell_where() -> None:
    outcome = await outcome_of(answer(301, b"moved", location="/r.txt"), lease(kind=LeaseKind.ROBOTS))
    assert (outcome.location, outcome.body) == ("https://example.org/r.txt", b"")


@pytest.mark.parametrize(
    ("value", "date", "seconds"),
    [
        (None, None, None),
        ("120", None, 120.0),
        (" 7 ", DATE, 7.0),
        ("1.5", None, 1.5),
        ("0", None, 0.0),
        ("-30", None, 0.0),
        ("9" * 500, None, MAX_RETRY_AFTER),
        (LATER, DATE, 120.0),
        (DATE, LATER, 0.0),
        ("Tuesday, 06-May-25 10:02:00 GMT", DATE, 120.0),
        ("Tue May  6 10:02:00 2025", DATE, 120.0),
        ("Tue, 06 May 2045 10:00:00 GMT", DATE, MAX_RETRY_AFTER),
        (LATER, "no date", 20.0),
        (LATER, None, 20.0),
        ("soon", DATE, None),
        ("", DATE, None),
        ("nan", None, None),
        ("Tue, 99 May 2025 99:99:99 GMT", DATE, None),
    ],
)
def test_retry_after_is_seconds_or_a_date(value: str | None, date: str | None, seconds: float | None) -> None:
    ten_oh_one_forty = 1_746_525_700.0
    assert retry_after(value, date, ten_oh_one_forty) == seconds


async def test_the_wait_that_a_server_asks_for_is_passed_on() -> None:
    assert (await outcome_of(answer(503, retry_after=LATER, date=DATE))).retry_after == 120.0


class Stuck(FakeFetcher):
    """Never comes back."""

    def __init__(self) -> None:
        super().__init__()
        self.cancelled = 0

    async def fetch(self, url: str, options: RequestOptions, **_: object) -> Response:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            assert not self.closed
            self.cancelled += 1
            raise
        raise AssertionError


async def test_when_there_are_no_more_leases_running_fetches_are_cancelled_and_sockets_closed() -> None:
    bus, fetcher = FakeBus(lease(1), lease(2), wait=False), Stuck()
    await work(bus, fetcher, reading(read))
    assert (fetcher.cancelled, fetcher.closed, bus.outcomes) == (2, True, [])


async def test_a_cancelled_worker_cancels_its_fetches_and_closes_its_sockets() -> None:
    bus, fetcher = FakeBus(lease(1), lease(2)), Stuck()
    working = asyncio.create_task(work(bus, fetcher, reading(read)))
    for _ in range(5):
        await asyncio.sleep(0)
    working.cancel()
    with pytest.raises(asyncio.CancelledError):
        await working
    assert (fetcher.cancelled, fetcher.closed, bus.outcomes) == (2, True, [])


async def test_all_leases_of_a_batch_are_fetched_at_once() -> None:
    together = asyncio.Barrier(20)

    class Gathering(FakeFetcher):
        async def fetch(self, url: str, options: RequestOptions, **_: object) -> Response:
            await together.wait()
            return Response(status=200)

    bus = FakeBus(*(lease(token) for token in range(1, 21)))
    async with asyncio.timeout(60):
        await work(bus, Gathering(), reading(read))
    assert {outcome.token for outcome in bus.outcomes} == set(range(1, 21))
