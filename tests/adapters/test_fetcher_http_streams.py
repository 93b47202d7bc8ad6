"""What a fetcher sends of what is known, and bodies that are taken piece by piece."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from gossamer.adapters.fetcher_http import HttpFetcher
from gossamer.model import Fault, RequestOptions, Validators
from gossamer.testing.hostile import OK, HostileServer, response

OPTIONS = RequestOptions(
    user_agent="gossamer-test/1", allow_private=("127.0.0.1/32",), max_body=1_000, total_timeout=20.0
)
DATE = "Tue, 06 May 2025 10:00:00 GMT"
LARGE = bytes(range(256)) * 4_000


class Taker:
    """Takes pieces until it has enough."""

    def __init__(self, enough: int = 10**9) -> None:
        self.pieces: list[bytes] = []
        self._enough = enough

    @property
    def taken(self) -> bytes:
        return b"".join(self.pieces)

    def __call__(self, piece: bytes) -> bool:
        self.pieces.append(piece)
        return len(self.taken) < self._enough


@pytest.fixture
async def http() -> AsyncIterator[HttpFetcher]:
    fetcher = HttpFetcher(window=0.5)
    yield fetcher
    await fetcher.close()


@pytest.fixture
async def server() -> AsyncIterator[HostileServer]:
    pages = {
        "large": lambda _: response("200 OK", LARGE),
        "missing": lambda _: response("404 Not Found", b"no"),
        "large-missing": lambda _: response("404 Not Found", LARGE),
        "same": lambda _: b'HTTP/1.1 304 Not Modified\r\nETag: "1"\r\n\r\n',
    }
    async with HostileServer(pages=pages) as server:
        yield server


async def closed(server: HostileServer) -> None:
    async with asyncio.timeout(5):
        await server.all_closed()


async def test_what_is_known_of_a_page_is_said_to_the_server(http: HttpFetcher, server: HostileServer) -> None:
    answer = await http.fetch(server.url("/same"), OPTIONS, validators=Validators('W/"1"', DATE))
    assert (answer.status, answer.header("etag"), answer.body, answer.error) == (304, '"1"', b"", None)
    (request,) = server.requests
    assert (request.header("if-none-match"), request.header("if-modified-since")) == ('W/"1"', DATE)
    assert request.header("user-agent") == OPTIONS.user_agent
    assert request.header("accept")


@pytest.mark.parametrize("etag", [None, "", '"grüße"', 'a"\r\nX-Evil: 1'])
async def test_what_is_not_known_or_cannot_be_repeated_is_not_said(
    etag: str | None, http: HttpFetcher, server: HostileServer
) -> None:
    answer = await http.fetch(server.url("/ok"), OPTIONS, validators=Validators(etag, None))
    assert answer.status == 200
    (request,) = server.requests
    assert {name for name, _ in request.headers} == {"host", "user-agent", "accept", "accept-encoding"}


async def test_a_body_is_handed_on_in_small_pieces_and_not_kept(http: HttpFetcher, server: HostileServer) -> None:
    taker = Taker()
    answer = await http.fetch(server.url("/large"), OPTIONS, max_body=len(LARGE), into=taker)
    assert taker.taken == LARGE
    assert max(map(len, taker.pieces)) <= 16 * 1024
    assert (answer.status, answer.body, answer.error, answer.wire_bytes) == (200, b"", None, len(LARGE))


async def test_an_encoded_body_is_handed_on_decoded(http: HttpFetcher, server: HostileServer) -> None:
    taker = Taker()
    await http.fetch(server.url("/gzip"), OPTIONS, max_body=10_000, into=taker)
    assert taker.taken == OK


@pytest.mark.parametrize("page", ["large", "endless-body", "gzip-bomb"])
async def test_when_there_is_enough_the_rest_is_not_read_which_is_no_error(
    page: str, http: HttpFetcher, server: HostileServer
) -> None:
    taker = Taker(enough=1)
    answer = await http.fetch(server.url(f"/{page}"), OPTIONS, max_body=10**9, into=taker)
    assert (answer.status, answer.error, len(taker.pieces)) == (200, None, 1)
    await closed(server)


@pytest.mark.parametrize("page", ["large", "endless-body", "gzip-bomb", "br-bomb", "zstd-bomb"])
async def test_no_more_is_handed_on_than_is_wanted(page: str, http: HttpFetcher, server: HostileServer) -> None:
    taker = Taker()
    answer = await http.fetch(server.url(f"/{page}"), OPTIONS, max_body=200_001, into=taker)
    assert answer.error is not None
    assert (answer.error.fault, len(taker.taken)) == (Fault.TOO_LARGE, 200_001)
    await closed(server)


@pytest.mark.parametrize(("page", "fault"), [("lying-length", Fault.RESET), ("tarpit", Fault.SLOW)])
async def test_of_a_body_that_breaks_off_the_beginning_was_handed_on(
    page: str, fault: Fault, http: HttpFetcher, server: HostileServer
) -> None:
    taker = Taker()
    answer = await http.fetch(server.url(f"/{page}"), OPTIONS, max_body=10_000, into=taker)
    assert answer.error is not None
    assert answer.error.fault is fault
    assert taker.taken


async def test_the_body_of_another_answer_than_success_is_not_handed_on(
    http: HttpFetcher, server: HostileServer
) -> None:
    taker = Taker()
    small = await http.fetch(server.url("/missing"), OPTIONS, max_body=10**9, into=taker)
    large = await http.fetch(server.url("/large-missing"), OPTIONS, max_body=10**9, into=taker)
    assert (small.status, small.body, taker.pieces) == (404, b"no", [])
    assert (large.status, len(large.body)) == (404, OPTIONS.max_body)


async def test_others_have_their_turn_while_a_body_is_taken(http: HttpFetcher, server: HostileServer) -> None:
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    seen: list[int] = []

    def take(_: bytes) -> bool:
        seen.append(turns)
        return True

    task = asyncio.create_task(other())
    await http.fetch(server.url("/large"), OPTIONS, max_body=10**9, into=take)
    task.cancel()
    assert len(seen) > 10
    assert len(set(seen)) == len(seen), "each piece came in a turn of its own"
