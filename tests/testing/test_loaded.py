"""The server that minds how it is asked does what it says, by its own log."""

from __future__ import annotations

import http.client
import re
from concurrent.futures import ThreadPoolExecutor

from gossamer.testing.loaded import Laden, LoadedServer, Manner, Metered, Verdict
from gossamer.url import hostname_of, port_of


def get(server: LoadedServer, path: str) -> tuple[int, http.client.HTTPMessage, str]:
    connection = http.client.HTTPConnection(hostname_of(server.origin), port_of(server.origin), timeout=10)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read().decode()
    finally:
        connection.close()


def judged(manner: Manner, *moments: float) -> list[int]:
    return [manner.judge(moment, 1).status for moment in moments]


def test_every_page_can_be_reached_from_the_first_and_has_a_text_of_its_own() -> None:
    with LoadedServer(Laden(base=0.0), pages=40) as server:
        found, texts, waiting = {"/"}, set(), ["/"]
        while waiting:
            _, _, text = get(server, waiting.pop())
            texts.add(text)
            new = set(re.findall(r'href="([^"]+)"', text)) - found
            found |= new
            waiting += new
        assert {server.origin + path for path in found} == server.urls
        assert len(texts) == len(server.urls) == 40


def test_a_laden_server_takes_longer_beyond_its_knee() -> None:
    laden = Laden(base=0.1, knee=4, growth=2.0)
    assert [laden.judge(0.0, load).delay for load in (1, 4, 8)] == [0.1, 0.1, 0.4]


def test_the_load_is_what_is_at_the_server_at_once() -> None:
    with LoadedServer(Laden(base=0.05, knee=1)) as server:
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda _: get(server, "/"), range(4)))
        log = server.requests()
    assert sorted(request.in_flight for request in log) == [1, 2, 3, 4]
    assert all(request.ended - request.started >= 0.05 * request.in_flight - 0.002 for request in log)


def test_a_metered_server_grants_a_burst_and_then_its_rate() -> None:
    metered = Metered(rate=2.0, burst=3.0)
    assert judged(metered, 10.0, 10.0, 10.0, 10.0) == [200, 200, 200, 429]
    assert judged(metered, 10.5, 10.5) == [200, 429]
    assert judged(metered, 99.0, 99.0, 99.0, 99.0) == [200, 200, 200, 429]


def test_a_refusal_says_when_to_come_back_if_asked_to() -> None:
    with LoadedServer(Metered(rate=0.001, burst=1.0, retry_after=7)) as server:
        assert get(server, "/")[0] == 200
        status, headers, _ = get(server, "/")
        assert (status, headers["Retry-After"]) == (429, "7")
        assert [request.retry_after for request in server.requests()] == [None, 7]


def test_robots_are_no_burden() -> None:
    class Never:
        def judge(self, now: float, in_flight: int) -> Verdict:
            raise AssertionError("nobody should be judged")

    with LoadedServer(Never()) as server:
        assert get(server, "/robots.txt")[0] == 404
        assert server.requests()[0].robots
