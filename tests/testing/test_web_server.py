from __future__ import annotations

import asyncio
import http.client
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from email.utils import parsedate_to_datetime
from pathlib import Path
from time import time

import pytest

from gossamer.testing.web import (
    QUICK,
    RULES,
    Behaviour,
    Feature,
    Link,
    RetryAfter,
    Robots,
    Trouble,
    WebServer,
    make_web,
    peak_concurrency,
    read_log,
)
from gossamer.url import hostname_of, port_of

BEHAVIOURS = {
    1: Behaviour(dead=True),
    2: Behaviour(robots=Robots(status=503, times=1, rules=RULES, crawl_delay=0.5)),
    3: Behaviour(robots=Robots(trouble=Trouble.RESET)),
    4: Behaviour(robots=Robots(trouble=Trouble.TIMEOUT)),
    5: Behaviour(robots=Robots(rules=RULES, redirect=Link(6, "/robots-of-5.txt"))),
    6: Behaviour(retry_after=RetryAfter(seconds=3, times=1)),
    7: Behaviour(retry_after=RetryAfter(seconds=30, status=503, as_date=True)),
}

HANGING_CLIENT = """
import http.client, sys
connection = http.client.HTTPConnection(sys.argv[1], int(sys.argv[2]))
connection.request("GET", "/slow")
print("asked", flush=True)
connection.getresponse()
"""


@pytest.fixture(scope="module")
def server() -> Iterator[WebServer]:
    with WebServer(make_web(2, 8, 10, behaviours=BEHAVIOURS)) as running:
        yield running


def _connect(server: WebServer, host: int, timeout: float = 5) -> http.client.HTTPConnection:
    origin = server.web.origins[host]
    return http.client.HTTPConnection(hostname_of(origin), port_of(origin), timeout=timeout)


def _get(server: WebServer, host: int, path: str, **headers: str) -> tuple[int, http.client.HTTPMessage, bytes]:
    connection = _connect(server, host)
    try:
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()
    finally:
        connection.close()


def test_each_host_has_its_own_address_and_all_share_a_port(server: WebServer) -> None:
    assert [hostname_of(origin) for origin in server.web.origins] == [f"127.0.1.{number}" for number in range(1, 9)]
    assert len({port_of(origin) for origin in server.web.origins}) == 1


def test_hosts_can_share_an_address_instead() -> None:
    with WebServer(make_web(1, 3, 2, features=()), address="127.0.0.1", one_address=True) as server:
        assert {hostname_of(origin) for origin in server.web.origins} == {"127.0.0.1"}
        assert len({port_of(origin) for origin in server.web.origins}) == 3
        assert [_get(server, host, "/")[0] for host in range(3)] == [200, 200, 200]


def test_a_port_can_be_asked_for_and_a_taken_one_is_an_error() -> None:
    web = make_web(1, 1, 2, features=())
    with WebServer(web) as server:
        port = port_of(server.web.origins[0])
        with pytest.raises(OSError, match="in use"), WebServer(web, port=port):
            pass
    with WebServer(web, port=port) as again:
        assert port_of(again.web.origins[0]) == port


def test_a_connection_serves_many_requests(server: WebServer) -> None:
    connection = _connect(server, 0)
    connection.connect()
    opened = connection.sock
    for path, status in (("/", 200), ("/missing/404", 404), ("/", 200)):
        connection.request("GET", path)
        answer = connection.getresponse()
        assert answer.read()
        assert answer.status == status
    assert connection.sock is opened
    connection.close()


def test_pipelined_requests_are_answered_in_order(server: WebServer) -> None:
    ask = b"GET /missing/410 HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\nConnection: close\r\n\r\n"
    origin = server.web.origins[0]
    with socket.create_connection((hostname_of(origin), port_of(origin))) as connection:
        connection.sendall(ask)
        answer = b"".join(iter(lambda: connection.recv(65_536), b""))
    assert answer.index(b"HTTP/1.1 410") < answer.index(b"HTTP/1.1 200")


def test_head_has_the_length_but_no_body(server: WebServer) -> None:
    connection = _connect(server, 0)
    connection.request("HEAD", "/")
    answer = connection.getresponse()
    assert int(answer.headers["Content-Length"]) > 100
    assert answer.read() == b""
    connection.request("POST", "/")
    assert connection.getresponse().status == 405
    connection.close()


def test_gzip_is_for_those_who_accept_it(server: WebServer) -> None:
    path = next(path for path, page in server.web.hosts[0].pages.items() if page.gzip)
    assert _get(server, 0, path, **{"Accept-Encoding": "gzip"})[1]["Content-Encoding"] == "gzip"
    assert _get(server, 0, path)[1]["Content-Encoding"] is None


def test_a_dead_host_refuses_connections(server: WebServer) -> None:
    with pytest.raises(ConnectionRefusedError):
        _get(server, 1, "/")


def test_robots_can_fail_and_then_recover_with_a_crawl_delay(server: WebServer) -> None:
    assert _get(server, 2, "/robots.txt")[0] == 503
    status, _, body = _get(server, 2, "/robots.txt")
    assert status == 200
    assert b"Crawl-delay: 0.5" in body


def test_robots_can_reset_the_connection(server: WebServer) -> None:
    with pytest.raises(ConnectionResetError):
        _get(server, 3, "/robots.txt")


def test_robots_can_keep_silent_and_the_log_tells_when_the_client_left(server: WebServer) -> None:
    connection = _connect(server, 4, timeout=0.05)
    connection.request("GET", "/robots.txt")
    with pytest.raises(TimeoutError):
        connection.getresponse()
    connection.close()
    _get(server, 4, "/")
    silent = next(request for request in server.requests() if request.host == server.web.origins[4] and request.robots)
    assert silent.status is None
    assert silent.ended > silent.started


def test_robots_can_be_kept_on_another_host(server: WebServer) -> None:
    status, headers, _ = _get(server, 5, "/robots.txt")
    assert (status, headers["Location"]) == (302, server.url(6, "/robots-of-5.txt"))
    assert _get(server, 6, "/robots-of-5.txt")[2] == RULES.encode()


def test_the_first_requests_can_be_told_to_come_back_later(server: WebServer) -> None:
    status, headers, _ = _get(server, 6, "/")
    assert (status, headers["Retry-After"]) == (429, "3")
    assert _get(server, 6, "/")[0] == 200
    told = [request for request in server.requests() if request.retry_after is not None]
    assert [request.status for request in told if request.host == server.web.origins[6]] == [429]


def test_later_can_be_a_date(server: WebServer) -> None:
    status, headers, _ = _get(server, 7, "/")
    assert status == 503
    assert parsedate_to_datetime(headers["Retry-After"]).timestamp() >= time() + 29


def test_the_log_tells_who_asked_for_what(server: WebServer) -> None:
    server.log.clear()
    _get(server, 0, "/missing/404", **{"User-Agent": "tester/1"})
    (request,) = server.requests()
    assert (request.url, request.status, request.in_flight) == (server.url(0, "/missing/404"), 404, 1)
    assert request.user_agent == "tester/1"
    assert request.started <= request.ended


async def test_requests_at_once_are_seen_as_such_from_a_test_with_its_own_loop() -> None:
    web = make_web(1, 1, 3, features=(), behaviours={0: Behaviour(latency=0.1)})
    with WebServer(web) as server:
        await asyncio.gather(*(asyncio.to_thread(_get, server, 0, "/") for _ in range(3)))
        assert peak_concurrency(server.requests(), server.web.origins[0]) > 1
        assert max(request.in_flight for request in server.requests()) > 1


def test_the_server_outlives_a_client_that_is_killed_in_the_middle(tmp_path: Path) -> None:
    web = make_web(1, 1, 3, features=[Feature.SLOW], slow=30)
    with WebServer(web, log_file=tmp_path / "log.jsonl") as server:
        origin = server.web.origins[0]
        with subprocess.Popen(
            [sys.executable, "-c", HANGING_CLIENT, hostname_of(origin), str(port_of(origin))], stdout=subprocess.PIPE
        ) as client:
            assert client.stdout
            client.stdout.readline()
            os.kill(client.pid, signal.SIGKILL)
        assert _get(server, 0, "/")[0] == 200
    answers = [(request.path, request.status) for request in read_log(tmp_path / "log.jsonl")]
    assert answers == [("/slow", None), ("/", 200)]


def test_stopping_ends_what_is_under_way_and_logs_it() -> None:
    with WebServer(make_web(1, 1, 3, features=[Feature.SLOW], slow=30)) as server:
        connection = _connect(server, 0)
        connection.request("GET", "/slow")
        _get(server, 0, "/")
    with pytest.raises((http.client.HTTPException, OSError)):
        connection.getresponse()
    connection.close()
    assert [request.status for request in server.requests()] == [None, 200]


def test_a_quick_web_has_nothing_to_wait_for() -> None:
    pages = [page for host in make_web(1, 2, 30, features=QUICK).hosts for page in host.pages.values()]
    assert not any(page.delay or page.failures or page.status >= 500 for page in pages)
