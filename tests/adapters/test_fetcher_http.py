from __future__ import annotations

import asyncio
import datetime
import random
import ssl
import threading
from collections.abc import AsyncIterator, Callable

import msgspec
import pytest
import trustme

from gossamer.adapters.egress import Resolver
from gossamer.adapters.fetcher_http import HttpFetcher, fetcher
from gossamer.model import Fault, RequestOptions, Response
from gossamer.testing.hostile import OK, PAGES, TROUBLE, HostileServer, response

OPTIONS = RequestOptions(
    user_agent="gossamer-test/1 (+https://gossamer.test)",
    allow_private=("127.0.0.1/32",),
    max_body=2_000_000,
    connect_timeout=2.0,
    first_byte_timeout=5.0,
    total_timeout=10.0,
)
HURRIED = msgspec.structs.replace(OPTIONS, first_byte_timeout=0.3)

FAULTS: dict[str, Fault] = {
    "tarpit": Fault.SLOW,
    "slow-headers": Fault.TIMEOUT,
    "slow-first-byte": Fault.TIMEOUT,
    "silence": Fault.TIMEOUT,
    "endless-body": Fault.TOO_LARGE,
    "endless-headers": Fault.TOO_LARGE,
    "huge-headers": Fault.TOO_LARGE,
    "bad-chunking": Fault.PROTOCOL,
    "early-close": Fault.RESET,
    "lying-length": Fault.RESET,
    "cut-chunks": Fault.RESET,
    "reset": Fault.RESET,
    "not-http": Fault.PROTOCOL,
    "gzip-bomb": Fault.TOO_LARGE,
    "br-bomb": Fault.TOO_LARGE,
    "zstd-bomb": Fault.TOO_LARGE,
}
BAD_ENCODINGS = ("broken-gzip", "cut-gzip", "unknown-encoding")


class Names:
    """A name server of our own: every name is the machine itself, unless told otherwise."""

    def __init__(self) -> None:
        self.answers: dict[str, list[str]] = {}
        self.asked: list[str] = []

    def __call__(self, name: str, port: int) -> list[str]:
        self.asked.append(name)
        return self.answers.get(name, ["127.0.0.1"])


@pytest.fixture
def names() -> Names:
    return Names()


@pytest.fixture
async def http(names: Names) -> AsyncIterator[HttpFetcher]:
    fetcher = HttpFetcher(resolver=Resolver(names), window=0.5)
    yield fetcher
    await fetcher.close()


@pytest.fixture
async def server() -> AsyncIterator[HostileServer]:
    async with HostileServer(pause=1.0) as server:
        yield server


def fault_of(response: Response) -> Fault | None:
    return response.error.fault if response.error else None


async def until(condition: Callable[[], bool]) -> None:
    for _ in range(500):
        if condition():
            return
        await asyncio.sleep(0.01)
    pytest.fail("it never came to that")


async def all_closed(server: HostileServer) -> None:
    async with asyncio.timeout(5):
        await server.all_closed()


async def test_a_page_comes_back_whole(http: HttpFetcher, server: HostileServer) -> None:
    answer = await http.fetch(server.url("/ok"), OPTIONS)
    assert (answer.status, answer.body, answer.error) == (200, OK, None)
    assert answer.headers == (("content-type", "text/html; charset=utf-8"), ("content-length", str(len(OK))))
    assert answer.address == "127.0.0.1"
    assert answer.wire_bytes == len(OK)
    assert answer.elapsed > 0


async def test_an_encoded_page_comes_back_decoded(http: HttpFetcher, server: HostileServer) -> None:
    assert (await http.fetch(server.url("/gzip"), OPTIONS)).body == OK


async def test_it_says_who_it_is_and_pretends_to_be_nobody_else(http: HttpFetcher, server: HostileServer) -> None:
    await http.fetch(server.url("/ok"), OPTIONS)
    (request,) = server.requests
    assert request.header("user-agent") == OPTIONS.user_agent
    assert set((request.header("accept-encoding") or "").split(",")) == {"gzip", "br", "zstd", "deflate"}
    assert {name for name, _ in request.headers} == {"host", "user-agent", "accept", "accept-encoding"}


def test_every_trouble_of_the_hostile_server_is_tested() -> None:
    assert FAULTS.keys() == TROUBLE.keys()


@pytest.mark.parametrize("trouble", FAULTS)
async def test_trouble_is_a_value_with_a_class_and_a_reason(
    trouble: str, http: HttpFetcher, server: HostileServer
) -> None:
    expected = FAULTS[trouble]
    answer = await http.fetch(server.url(f"/{trouble}"), HURRIED if expected is Fault.TIMEOUT else OPTIONS)
    assert answer.error is not None
    assert answer.error.fault is expected
    assert answer.error.text
    assert len(answer.body) <= OPTIONS.max_body
    assert len(server.requests) == 1, "one fetch is one request"
    await all_closed(server)


@pytest.mark.parametrize("page", BAD_ENCODINGS)
async def test_a_body_that_is_not_what_its_headers_promise_is_an_encoding_fault(
    page: str, http: HttpFetcher, server: HostileServer
) -> None:
    answer = await http.fetch(server.url(f"/{page}"), OPTIONS)
    assert (answer.status, fault_of(answer)) == (200, Fault.ENCODING)


@pytest.mark.parametrize("page", sorted(PAGES.keys() - set(BAD_ENCODINGS) - {"redirect-chain", "gzip"}))
async def test_whatever_a_page_says_comes_back_as_it_is(page: str, http: HttpFetcher, server: HostileServer) -> None:
    answer = await http.fetch(server.url(f"/{page}"), msgspec.structs.replace(OPTIONS, max_body=6_000_000))
    assert answer.error is None
    assert PAGES[page]("").endswith(b"\r\n\r\n" + answer.body)


async def test_trouble_after_a_good_page_is_not_asked_twice(http: HttpFetcher, server: HostileServer) -> None:
    for trouble in ("early-close", "reset", "lying-length"):
        await http.fetch(server.url("/ok"), OPTIONS)
        server.requests.clear()
        await http.fetch(server.url(f"/{trouble}"), OPTIONS)
        assert [request.target for request in server.requests] == [f"/{trouble}"]


async def test_the_whole_has_a_deadline_too(http: HttpFetcher, server: HostileServer) -> None:
    patient = msgspec.structs.replace(OPTIONS, min_rate=0, total_timeout=0.7)
    answer = await http.fetch(server.url("/tarpit"), patient)
    assert fault_of(answer) is Fault.TIMEOUT
    assert (answer.status, answer.body) == (200, b".")


async def test_a_slow_body_that_keeps_the_rate_is_read_to_its_end(http: HttpFetcher) -> None:
    done = asyncio.Event()

    async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 800\r\n\r\n")
        for _ in range(8):
            await asyncio.sleep(0.1)
            writer.write(bytes(100))
        writer.close()
        await writer.wait_closed()
        done.set()

    async with await asyncio.start_server(drip, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        answer = await http.fetch(url, OPTIONS)
        await done.wait()
    assert (answer.error, len(answer.body)) == (None, 800)


@pytest.mark.parametrize("page", ["endless-body", "gzip-bomb", "br-bomb", "zstd-bomb", "many-links"])
async def test_the_beginning_of_a_large_body_is_there_for_who_wants_it(
    page: str, http: HttpFetcher, server: HostileServer
) -> None:
    answer = await http.fetch(server.url(f"/{page}"), OPTIONS, max_body=1000)
    assert (answer.status, fault_of(answer), len(answer.body)) == (200, Fault.TOO_LARGE, 1000)
    assert answer.wire_bytes < 200_000


async def test_a_body_of_just_the_largest_size_is_not_too_large(http: HttpFetcher, server: HostileServer) -> None:
    answer = await http.fetch(server.url("/ok"), OPTIONS, max_body=len(OK))
    assert (answer.error, answer.body) == (None, OK)


async def test_a_body_that_announces_itself_as_too_large_is_not_read(http: HttpFetcher, server: HostileServer) -> None:
    answer = await http.fetch(server.url("/many-links"), OPTIONS)
    assert (fault_of(answer), answer.body) == (Fault.TOO_LARGE, b"")


async def test_whatever_bytes_a_server_sends_a_fetch_returns(http: HttpFetcher) -> None:
    dice = random.Random(20)
    good = response("200 OK", OK, "Content-Type: text/html", "Set-Cookie: a=b") + response(
        "302 Found", b"", "Location: /"
    )

    def broken(_: str) -> bytes:
        data = bytearray(good)
        for _number in range(dice.randrange(1, 12)):
            data[dice.randrange(len(data))] = dice.randrange(256)
        return bytes(data[: dice.randrange(len(data))]) + b"\r\n\r\n"

    hurried = msgspec.structs.replace(OPTIONS, total_timeout=1.0)
    async with HostileServer(pages={"broken": broken}) as server:
        urls = [server.url(f"/broken/{number}") for number in range(200)]
        answers = await asyncio.gather(*(http.fetch(url, hurried) for url in urls))
    assert {fault_of(answer) for answer in answers} >= {None, Fault.PROTOCOL}


async def test_a_body_of_trailers_and_early_hints_is_read_right(http: HttpFetcher) -> None:
    hints = b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n"
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n"
    page = hints + head + b"5\r\nhello\r\n0\r\nX-Sum: 5\r\n\r\n"
    async with HostileServer(pages={"odd": lambda _: page}) as server:
        answer = await http.fetch(server.url("/odd"), OPTIONS)
    assert (answer.status, answer.body, answer.error) == (200, b"hello", None)


async def test_header_values_are_text_whatever_their_bytes(http: HttpFetcher) -> None:
    page = b"HTTP/1.1 302 Found\r\nLocation: /gr\xc3\xbc\xc3\x9fe\r\nX-Old: gr\xfc\xdfe\r\nContent-Length: 0\r\n\r\n"
    async with HostileServer(pages={"odd": lambda _: page}) as server:
        answer = await http.fetch(server.url("/odd"), OPTIONS)
    assert (answer.header("location"), answer.header("x-old")) == ("/grüße", "grüße")


async def test_redirects_are_not_followed(http: HttpFetcher, server: HostileServer) -> None:
    for path in ("/redirect-loop", "/redirect-chain/3", "/redirect-private", "/redirect-scheme"):
        assert (await http.fetch(server.url(path), OPTIONS)).status == 302
    assert len(server.requests) == 4


async def test_each_hop_of_a_redirect_is_checked_again(http: HttpFetcher, server: HostileServer, names: Names) -> None:
    location = (await http.fetch(server.url("/redirect-private"), OPTIONS)).header("location")
    assert location is not None
    assert fault_of(await http.fetch(location, OPTIONS)) is Fault.ADDRESS
    names.answers["inside.test"] = ["10.0.0.1"]
    assert fault_of(await http.fetch("http://inside.test/", OPTIONS)) is Fault.ADDRESS


async def test_private_addresses_are_refused_with_what_to_do(http: HttpFetcher, server: HostileServer) -> None:
    answer = await http.fetch(server.url("/ok"), msgspec.structs.replace(OPTIONS, allow_private=()))
    assert answer.error is not None
    assert answer.error.fault is Fault.ADDRESS
    assert "--allow-private 127.0.0.1/32" in answer.error.text
    assert (server.connections, answer.status, answer.address) == (0, None, None)


async def test_a_connection_goes_to_the_address_that_was_checked(
    http: HttpFetcher, server: HostileServer, names: Names
) -> None:
    for host in ("web.test", "web.test."):
        answer = await http.fetch(server.url("/ok", host), OPTIONS)
        assert (answer.status, answer.address) == (200, "127.0.0.1")
    assert names.asked == ["web.test", "web.test."]
    assert server.requests[0].header("host") == f"web.test:{server.port}"


async def test_a_name_that_turns_to_another_address_is_not_followed_there(server: HostileServer, names: Names) -> None:
    http = HttpFetcher(resolver=Resolver(names, ttl=0))
    url = server.url("/ok", "evil.test")
    assert (await http.fetch(url, OPTIONS)).status == 200
    names.answers["evil.test"] = ["127.0.0.1", "127.0.0.2"]
    assert fault_of(await http.fetch(url, OPTIONS)) is Fault.ADDRESS
    assert len(server.requests) == 1


async def test_another_address_means_another_connection(server: HostileServer, names: Names) -> None:
    http = HttpFetcher(resolver=Resolver(names, ttl=0))
    both = msgspec.structs.replace(OPTIONS, allow_private=("127.0.0.0/8",))
    await http.fetch(server.url("/ok", "moving.test"), both)
    names.answers["moving.test"] = ["127.0.0.2"]
    answer = await http.fetch(server.url("/ok", "moving.test"), both)
    assert fault_of(answer) is Fault.CONNECT, "nobody listens there, and the old address is not used"


async def test_a_closed_port_is_a_connect_fault(http: HttpFetcher) -> None:
    answer = await http.fetch("http://127.0.0.1:1/", OPTIONS)
    assert answer.error is not None
    assert str(answer.error) == "connect: no connection (Connection refused)"


async def test_a_server_that_never_completes_a_handshake_times_out(http: HttpFetcher, server: HostileServer) -> None:
    hurried = msgspec.structs.replace(OPTIONS, connect_timeout=0.1)
    answer = await http.fetch(server.url("/ok").replace("http:", "https:"), hurried)
    assert str(answer.error) == "timeout: no connection within 0.1 s"
    await all_closed(server)


async def test_an_unknown_name_is_a_dns_fault() -> None:
    def unknown(name: str, port: int) -> list[str]:
        raise OSError(-2, "Name or service not known")

    answer = await HttpFetcher(resolver=Resolver(unknown)).fetch("http://nowhere.test/", OPTIONS)
    assert fault_of(answer) is Fault.DNS


async def test_a_slow_name_server_is_a_dns_fault() -> None:
    over = threading.Event()

    def slow(name: str, port: int) -> list[str]:
        over.wait(10)
        return []

    answer = await HttpFetcher(resolver=Resolver(slow)).fetch("http://slow.test/", HURRIED)
    over.set()
    assert fault_of(answer) is Fault.DNS


AUTHORITY = trustme.CA()


def context_for(certificate: trustme.LeafCert) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate.configure_cert(context)
    return context


def trusting(names: Names) -> HttpFetcher:
    return HttpFetcher(resolver=Resolver(names), trust=AUTHORITY.cert_pem.bytes())


def expired() -> trustme.LeafCert:
    now = datetime.datetime.now(datetime.UTC)
    start, end = now - datetime.timedelta(days=9), now - datetime.timedelta(days=1)
    return AUTHORITY.issue_cert("web.test", not_before=start, not_after=end)


async def test_a_certificate_that_holds_is_accepted(names: Names) -> None:
    async with HostileServer(context=context_for(AUTHORITY.issue_cert("web.test"))) as server:
        answer = await trusting(names).fetch(server.url("/ok", "web.test"), OPTIONS)
    assert (answer.status, answer.error) == (200, None)


@pytest.mark.parametrize(
    "certificate",
    [expired, lambda: AUTHORITY.issue_cert("other.test"), lambda: trustme.CA().issue_cert("web.test")],
    ids=["expired", "wrong host", "unknown authority"],
)
async def test_a_certificate_that_does_not_hold_is_a_tls_fault(
    certificate: Callable[[], trustme.LeafCert], names: Names
) -> None:
    async with HostileServer(context=context_for(certificate())) as server:
        answer = await trusting(names).fetch(server.url("/ok", "web.test"), OPTIONS)
        assert answer.error is not None
        assert answer.error.fault is Fault.TLS
        assert "certificate could not be verified" in answer.error.text
        assert not server.requests


async def test_without_a_bundle_of_its_own_nobody_private_is_trusted(http: HttpFetcher) -> None:
    async with HostileServer(context=context_for(AUTHORITY.issue_cert("web.test"))) as server:
        assert fault_of(await http.fetch(server.url("/ok", "web.test"), OPTIONS)) is Fault.TLS


async def test_http_2_is_spoken_where_a_server_offers_it(names: Names) -> None:
    context = context_for(AUTHORITY.issue_cert("web.test"))
    context.set_alpn_protocols(["h2", "http/1.1"])
    hello: list[bytes] = []

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        hello.append(await reader.read(14))
        writer.transport.abort()

    async with await asyncio.start_server(listen, "127.0.0.1", 0, ssl=context) as server:
        port = server.sockets[0].getsockname()[1]
        answer = await trusting(names).fetch(f"https://web.test:{port}/", OPTIONS)
    assert hello[0] == b"PRI * HTTP/2.0"
    assert answer.error is not None


async def test_cancelling_closes_the_socket(http: HttpFetcher, server: HostileServer) -> None:
    for path in ("/silence", "/tarpit"):
        task = asyncio.create_task(http.fetch(server.url(path), msgspec.structs.replace(OPTIONS, min_rate=0)))
        await until(lambda: bool(server.requests))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await all_closed(server)
        server.requests.clear()


async def test_one_connection_serves_many_requests(http: HttpFetcher, server: HostileServer) -> None:
    for _ in range(5):
        await http.fetch(server.url("/ok"), OPTIONS)
    assert server.connections == 1


async def test_only_so_many_hosts_are_kept_open(server: HostileServer, names: Names) -> None:
    http = HttpFetcher(resolver=Resolver(names), clients=2)
    for host in "abcdef":
        await http.fetch(server.url("/ok", f"{host}.test"), OPTIONS)
    await until(lambda: server.open <= 2)


async def test_a_fetch_under_way_outlives_its_place_among_the_open_hosts(names: Names) -> None:
    async with HostileServer(pause=0.3) as server:
        http = HttpFetcher(resolver=Resolver(names), clients=1)
        slow = asyncio.create_task(http.fetch(server.url("/slow-first-byte", "slow.test"), OPTIONS))
        await until(lambda: bool(server.requests))
        await http.fetch(server.url("/ok", "other.test"), OPTIONS)
        assert (await slow).body == OK


async def test_closing_closes_what_is_open(http: HttpFetcher, server: HostileServer) -> None:
    await http.fetch(server.url("/ok"), OPTIONS)
    await http.close()
    await all_closed(server)


async def test_hundreds_at_once_ask_for_a_name_once(http: HttpFetcher, server: HostileServer, names: Names) -> None:
    urls = [server.url(f"/ok?{number}", "web.test") for number in range(300)]
    answers = await asyncio.gather(*(http.fetch(url, OPTIONS) for url in urls))
    assert {answer.body for answer in answers} == {OK}
    assert names.asked == ["web.test"]


async def test_secrets_go_only_to_the_hosts_they_are_for(http: HttpFetcher, server: HostileServer) -> None:
    options = msgspec.structs.replace(
        OPTIONS,
        headers=(("X-Key", "secret"), ("Accept", "text/plain")),
        auth=("Aladdin", "open sesame"),
        auth_hosts=(server.url("", "seed.test"),),
    )
    for host in ("seed.test", "other.test"):
        await http.fetch(server.url("/ok", host), options)
    seed, other = server.requests
    assert seed.header("authorization") == "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="
    assert (seed.header("x-key"), seed.header("accept")) == ("secret", "text/plain")
    assert (other.header("authorization"), other.header("x-key")) == (None, None)
    assert seed.header("user-agent") == other.header("user-agent") == OPTIONS.user_agent


@pytest.mark.parametrize(("asked", "sent"), [(True, "visited=yes"), (False, None)])
async def test_cookies_are_kept_only_on_request(
    asked: bool, sent: str | None, http: HttpFetcher, server: HostileServer
) -> None:
    options = msgspec.structs.replace(OPTIONS, cookies=asked)
    for _ in range(2):
        await http.fetch(server.url("/set-cookie"), options)
    assert server.requests[1].header("cookie") == sent


async def test_cookies_are_not_shared_between_sources(http: HttpFetcher, server: HostileServer) -> None:
    for agent in ("one", "two"):
        await http.fetch(server.url("/set-cookie"), msgspec.structs.replace(OPTIONS, cookies=True, user_agent=agent))
    assert server.requests[1].header("cookie") is None


async def test_a_proxy_is_asked_for_the_target(http: HttpFetcher, server: HostileServer) -> None:
    options = msgspec.structs.replace(OPTIONS, proxy=server.url("", "proxy.test"))
    answer = await http.fetch("http://web.test/ok", options)
    assert (server.requests[0].target, answer.address) == ("http://web.test/ok", "127.0.0.1")


async def test_a_proxy_does_not_open_private_addresses(http: HttpFetcher, server: HostileServer, names: Names) -> None:
    names.answers["inside.test"] = ["10.0.0.1"]
    options = msgspec.structs.replace(OPTIONS, proxy=server.url(""))
    for url in ("http://inside.test/", "http://169.254.169.254/"):
        assert fault_of(await http.fetch(url, options)) is Fault.ADDRESS
    assert not server.requests


async def test_a_proxy_may_be_private_but_no_metadata_service(http: HttpFetcher, server: HostileServer) -> None:
    nothing_private = msgspec.structs.replace(OPTIONS, allow_private=())
    names_of_the_web = "http://1.1.1.1/ok"
    fine = msgspec.structs.replace(nothing_private, proxy=server.url(""))
    assert fault_of(await http.fetch(names_of_the_web, fine)) is None
    evil = msgspec.structs.replace(nothing_private, proxy="http://169.254.169.254:80")
    assert fault_of(await http.fetch(names_of_the_web, evil)) is Fault.ADDRESS


async def test_a_dead_proxy_is_a_connect_fault(http: HttpFetcher) -> None:
    answer = await http.fetch("http://web.test/", msgspec.structs.replace(OPTIONS, proxy="http://127.0.0.1:1"))
    assert str(answer.error) == "connect: the proxy could not be used (Connection refused)"


async def test_a_proxy_of_the_environment_is_not_used(
    server: HostileServer, names: Names, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    answer = await HttpFetcher(resolver=Resolver(names)).fetch(server.url("/ok"), OPTIONS)
    assert answer.status == 200


async def test_both_failpoints_are_passed(
    http: HttpFetcher, server: HostileServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    passed: list[str] = []
    monkeypatch.setattr(fetcher, "failpoint", passed.append)
    await http.fetch(server.url("/many-links"), OPTIONS, max_body=3_000_000)
    assert passed == ["connected", "mid-body"]
