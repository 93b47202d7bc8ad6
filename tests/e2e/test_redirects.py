"""Redirects are pages of their own: each hop goes through every rule, wherever it came from."""

from __future__ import annotations

import socket
import ssl

import trustme

from gossamer.testing.hostile import HostileServer
from gossamer.testing.web import (
    Host,
    Link,
    Page,
    Robots,
    Web,
    WebServer,
    assert_no_disallowed,
    differences,
    fetch_counts,
)
from tests.e2e.crawling import crawled, moved, one_host, page, paths


async def test_loops_end_and_every_hop_is_asked_for_once() -> None:
    web = one_host(
        page("/", "/self", "/ping"), moved("/self", "/self"), moved("/ping", "/pong"), moved("/pong", "/ping")
    )
    with WebServer(web) as server:
        result = await crawled(server.url())
        counts = fetch_counts(server.requests())
    assert not differences(server.web.expected(server.seeds), result.records)
    assert set(counts.values()) == {1}
    assert "itself" in (result[server.url(0, "/self")].error or "")


async def test_ten_redirects_in_a_row_are_followed_and_no_more() -> None:
    short = [moved(f"/short/{number}", f"/short/{number + 1}") for number in range(10)]
    long = [moved(f"/long/{number}", f"/long/{number + 1}") for number in range(12)]
    web = one_host(page("/", "/short/0", "/long/0"), *short, page("/short/10"), *long, page("/long/12"))
    with WebServer(web) as server:
        result = await crawled(server.url())
        asked = paths(server.requests())
    assert result.told(server.url(0, "/short/10")) == "completed 200"
    assert result[server.url(0, "/short/10")].depth == 1, "a redirect costs no depth"
    assert result.told(server.url(0, "/long/10")) == "failed redirect"
    assert "more than 10 redirects" in (result[server.url(0, "/long/10")].error or "")
    assert "/long/11" not in asked


async def test_a_redirect_to_a_private_address_is_refused_without_a_connection() -> None:
    async with HostileServer() as canary:
        local = canary.url("/ok", "localhost")
        web = one_host(
            page("/", "/a", "/b", "/c"),
            moved("/a", canary.url("/ok"), host=None),
            moved("/b", local, host=None),
            moved("/c", "http://169.254.169.254/latest/meta-data/", host=None),
        )
        with WebServer(web) as server:
            result = await crawled(server.url(), scope="any")
        assert canary.connections == 0
    for target in (canary.url("/ok"), local, "http://169.254.169.254/latest/meta-data/"):
        assert result.told(target) == "skipped address"
    assert "--allow-private 127.0.0.1/32" in (result[canary.url("/ok")].error or "")
    assert "never fetched" in (result["http://169.254.169.254/latest/meta-data/"].error or "")


async def test_a_seed_that_redirects_to_a_private_address_does_not_open_it() -> None:
    async with HostileServer() as canary:
        with WebServer(one_host(moved("/", canary.url("/ok"), host=None))) as server:
            result = await crawled(server.url())
        assert canary.connections == 0
    assert result.told(server.url()) == "skipped redirect"
    assert result.told(canary.url("/ok")) == "skipped address"


async def test_a_robots_file_that_redirects_to_a_private_address_does_not_open_it() -> None:
    async with HostileServer() as canary:
        robots = Robots(redirect=Link(None, canary.url("/ok")))
        with WebServer(one_host(page("/"), robots=robots)) as server:
            result = await crawled(server.url())
            assert paths(server.requests()) == []
        assert canary.connections == 0
    assert result.told(server.url()) == "skipped address"


async def test_a_link_to_a_private_address_is_refused_and_can_be_allowed() -> None:
    async with HostileServer() as canary:
        with WebServer(one_host(Page(path="/", links=(Link(None, canary.url("/ok")),)))) as server:
            refused = await crawled(server.url(), scope="any")
            assert canary.connections == 0
            allowed = await crawled(server.url(), scope="any", allow_private=["127.0.0.1"])
    assert refused.told(canary.url("/ok")) == "skipped address"
    assert allowed.told(canary.url("/ok")) == "completed 200"


async def test_a_redirect_to_another_scheme_ends_there() -> None:
    schemes = (
        "file:///etc/passwd",
        "ftp://example.test/x",
        "javascript:alert(1)",
        "data:text/html,hi",
        "mailto:a@b.test",
    )
    pages = [moved(f"/{number}", target, host=None) for number, target in enumerate(schemes)]
    with WebServer(one_host(page("/", *[one.path for one in pages]), *pages)) as server:
        result = await crawled(server.url())
    for number, target in enumerate(schemes):
        error = result[server.url(0, f"/{number}")].error or ""
        assert error.startswith("protocol: ")
        assert target in error
    assert len(result.records) == 1 + len(schemes)


async def test_a_redirect_into_a_disallowed_path_is_not_followed() -> None:
    rules = "User-agent: *\nDisallow: /private/"
    web = one_host(page("/", "/way"), moved("/way", "/private/room"), page("/private/room"), robots=Robots(rules=rules))
    with WebServer(web) as server:
        result = await crawled(server.url())
        log = server.requests()
    assert_no_disallowed(log, server.web)
    assert paths(log) == ["/", "/way"]
    assert result.told(server.url(0, "/private/room")) == "skipped robots"


async def test_the_robots_of_another_host_are_asked_before_a_redirect_there_is_followed() -> None:
    first = Host(pages={"/": moved("/", "/room", host=1)})
    second = Host(pages={"/room": page("/room")}, robots=Robots(rules="User-agent: *\nDisallow: /room"))
    with WebServer(Web(hosts=(first, second), origins=("http://a.test", "http://b.test"))) as server:
        result = await crawled(server.url(0), allow_private=["127.0.0.0/8"])
        log = server.requests()
    assert result.told(server.url(1, "/room")) == "skipped robots"
    assert [request.path for request in log] == ["/robots.txt", "/", "/robots.txt"]


async def test_a_seed_that_moved_to_another_host_is_followed_there() -> None:
    first = Host(pages={"/": moved("/", "/docs/", host=1)})
    second = Host(
        pages={
            "/docs/": Page(path="/docs/", links=(Link(1, "/docs/a"), Link(1, "/blog/"))),
            "/docs/a": Page(path="/docs/a"),
            "/blog/": Page(path="/blog/"),
        }
    )
    with WebServer(Web(hosts=(first, second), origins=("http://a.test", "http://b.test"))) as server:
        result = await crawled(server.url(0), allow_private=["127.0.0.0/8"])
    assert not differences(server.web.expected([server.url(0)]), result.records)
    assert result.told(server.url(1, "/docs/a")) == "completed 200"
    assert result.told(server.url(1, "/blog/")) == "skipped scope"


async def test_a_link_that_redirects_out_of_scope_is_not_followed() -> None:
    first = Host(pages={"/": page("/", "/out"), "/out": moved("/out", "/there", host=1)})
    with WebServer(
        Web(hosts=(first, Host(pages={"/there": Page(path="/there")})), origins=("http://a.test", "http://b.test"))
    ) as server:
        result = await crawled(server.url(0), allow_private=["127.0.0.0/8"])
        assert {request.host for request in server.requests()} == {server.web.origins[0]}
    assert result.told(server.url(0, "/out")) == "skipped redirect"
    assert result.told(server.url(1, "/there")) == "skipped scope"


async def test_a_refresh_at_once_is_a_redirect() -> None:
    body = b'<meta http-equiv="refresh" content="0; url=/new">'
    with WebServer(one_host(Page(path="/", body=body), page("/new"))) as server:
        result = await crawled(server.url())
    assert result.told(server.url()) == "skipped redirect"
    assert result.told(server.url(0, "/new")) == "completed 200"


async def test_a_name_that_does_not_exist_is_a_dns_fault() -> None:
    with WebServer(one_host(page("/"))) as server:
        result = await crawled("http://no-such-name.invalid/", server.url(), unreachable_after=2)
    error = result["http://no-such-name.invalid/"].error or ""
    assert error.startswith("host-blocked: dns: no-such-name.invalid")
    assert "check the spelling" in error
    assert result.told(server.url()) == "completed 200"


async def test_a_certificate_that_nobody_vouches_for_is_a_tls_fault() -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("127.0.0.1").configure_cert(context)
    async with HostileServer(context=context) as server:
        result = await crawled(server.url("/ok"), unreachable_after=1)
        assert not server.requests
    error = result[server.url("/ok")].error or ""
    assert error.startswith("host-blocked: tls: the certificate could not be verified")


async def test_a_port_where_nobody_listens_is_a_connect_fault() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        result = await crawled(url, unreachable_after=1)
    assert (result[url].error or "").startswith("host-blocked: connect: ")
