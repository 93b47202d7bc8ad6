from __future__ import annotations

from collections import Counter

import msgspec
import pytest

from gossamer.model import PageRecord, ScopeMode, State, Why
from gossamer.testing.web import (
    EVERYTHING,
    QUICK,
    Behaviour,
    Expected,
    Feature,
    Host,
    Link,
    Page,
    Robots,
    Trouble,
    Web,
    WebServer,
    assert_no_disallowed,
    assert_polite,
    assert_robots_first,
    differences,
    fetch_counts,
    make_web,
)
from gossamer.url import host_of, normalise
from tests.testing.naive_crawler import InScope, NaiveCrawler

WEB = make_web(7, 3, 40, slow=0.02)


def _record(url: str, wanted: Expected) -> PageRecord:
    return PageRecord(
        url=url, source=1, state=wanted.state, reason=wanted.reason, http_status=wanted.status, depth=wanted.depth
    )


def _small_web(*pages: Page, robots: Robots | None = None) -> Web:
    host = Host(pages={page.path: page for page in pages}, robots=robots or Robots())
    return Web(hosts=(host,), origins=("http://a.test",))


def test_the_same_seed_makes_the_same_web() -> None:
    assert make_web(7, 3, 40, slow=0.02) == WEB


def test_another_seed_makes_another_web() -> None:
    assert make_web(8, 3, 40, slow=0.02) != WEB


def test_every_ordinary_page_is_reachable_from_the_front_page() -> None:
    web = make_web(3, 1, 200, features=())
    expected = web.expected(web.seeds)
    assert len(expected) == 200
    assert {found.state for found in expected.values()} == {State.COMPLETED}
    assert max(found.depth for found in expected.values()) > 3


def test_every_path_of_the_web_is_its_own_normal_spelling() -> None:
    web = WEB.at(["http://127.0.1.1:81", "http://127.0.1.2:81", "http://127.0.1.3:81"])
    urls = [web.url(number, path) for number, host in enumerate(web.hosts) for path in host.pages]
    assert [normalise(url) for url in urls] == urls


@pytest.mark.parametrize("seed", [7, 8, 9])
def test_the_answer_holds_every_state_and_every_reason(seed: int) -> None:
    web = make_web(seed, 3, 40)
    answer = web.expected(web.seeds, max_depth=4, skip_types=("pdf",))
    assert Counter(found.state for found in answer.values()).keys() == {State.COMPLETED, State.FAILED, State.SKIPPED}
    reasons = {found.reason for found in answer.values()} - {None}
    assert reasons == {Why.ROBOTS, Why.SCOPE, Why.DEPTH, Why.TYPE, Why.NOFOLLOW, Why.NOINDEX, Why.REDIRECT}


def _same_host(server: WebServer) -> InScope:
    return lambda url: host_of(url) == server.web.origins[0]


def _inside_docs(server: WebServer) -> InScope:
    return lambda url: url.startswith(server.url(0, "/docs/"))


def _this_web(server: WebServer) -> InScope:
    return lambda url: host_of(url) in server.web.origins


@pytest.mark.parametrize("max_depth", [None, 3])
@pytest.mark.parametrize("seed", [7, 8])
def test_a_walk_over_the_served_web_finds_the_known_answer(seed: int, max_depth: int | None) -> None:
    with WebServer(make_web(seed, 3, 40, slow=0.02)) as server:
        records = NaiveCrawler(_this_web(server), max_depth).crawl(server.seeds)
        expected = server.web.expected(server.seeds, scope=ScopeMode.PREFIX, max_depth=max_depth)
        assert differences(expected, records, depth=True) == []
        assert_robots_first(server.requests())
        assert_no_disallowed(server.requests(), server.web)
        for origin in server.web.origins:
            assert_polite(server.requests(), origin, delay=0)


def test_the_host_scope_keeps_to_the_hosts_of_the_seeds() -> None:
    with WebServer(make_web(7, 2, 30, features=QUICK - {Feature.REDIRECTS})) as server:
        seeds = (server.url(0, "/"),)
        records = NaiveCrawler(_same_host(server)).crawl(seeds)
        assert differences(server.web.expected(seeds, scope="host"), records, depth=True) == []
        assert {request.host for request in server.requests()} == {server.web.origins[0]}


def test_the_prefix_scope_keeps_to_the_folder_of_the_seed() -> None:
    with WebServer(make_web(7, 2, 60, features=QUICK - {Feature.REDIRECTS})) as server:
        seeds = (server.url(0, "/docs/"),)
        records = NaiveCrawler(_inside_docs(server)).crawl(seeds)
        assert differences(server.web.expected(seeds), records, depth=True) == []
        assert sum(record.state is State.COMPLETED for record in records) > 10


@pytest.mark.parametrize("seed", ["/docs", "/docs/", "/docs/index.html"])
def test_the_folder_of_a_seed_is_the_same_for_all_its_spellings(seed: str) -> None:
    links = (Link(0, "/docs/a/b"), Link(0, "/docsother"), Link(0, "/"))
    web = _small_web(Page(path=seed, links=links), Page(path="/docs/a/b"), Page(path="/docsother"), Page(path="/"))
    answer = web.expected([web.url(0, seed)])
    assert [found.reason for found in answer.values()] == [None, None, Why.SCOPE, Why.SCOPE]


def test_the_site_scope_spans_ports_of_one_address_but_not_addresses() -> None:
    web = make_web(7, 2, 20, features=QUICK - {Feature.EXTERNAL})
    ports = web.at(["http://127.0.0.1:8001", "http://127.0.0.1:8002"])
    addresses = web.at(["http://127.0.1.1:8001", "http://127.0.1.2:8001"])
    reasons = [found.reason for found in ports.expected(ports.seeds[:1], scope="site").values()]
    assert Why.SCOPE not in reasons
    reasons = [found.reason for found in addresses.expected(addresses.seeds[:1], scope="site").values()]
    assert Why.SCOPE in reasons


def test_any_scope_reaches_outside_where_nobody_answers() -> None:
    answer = WEB.expected(WEB.seeds, scope="any")
    outside = [found for url, found in answer.items() if ".invalid" in url]
    assert outside
    assert {(found.state, found.status) for found in outside} == {(State.FAILED, None)}


def test_a_redirected_seed_brings_its_target_into_scope() -> None:
    web = _small_web(
        Page(path="/old", status=301, location=Link(0, "/docs/")),
        Page(path="/docs/", links=(Link(0, "/docs/a"), Link(0, "/other"))),
        Page(path="/docs/a"),
    )
    answer = web.expected(["http://a.test/old"])
    assert answer == {
        "http://a.test/old": Expected(state=State.SKIPPED, reason=Why.REDIRECT, status=301),
        "http://a.test/docs/": Expected(state=State.COMPLETED, status=200),
        "http://a.test/docs/a": Expected(state=State.COMPLETED, status=200, depth=1),
        "http://a.test/other": Expected(state=State.SKIPPED, reason=Why.SCOPE, depth=1),
    }


def test_a_redirect_costs_no_depth_even_when_a_longer_road_is_found_first() -> None:
    web = _small_web(
        Page(path="/", links=(Link(0, "/hop"), Link(0, "/a"))),
        Page(path="/a", links=(Link(0, "/goal"),)),
        Page(path="/hop", status=302, location=Link(0, "/goal")),
        Page(path="/goal", links=(Link(0, "/next"),)),
        Page(path="/next"),
    )
    answer = web.expected(web.seeds, max_depth=2)
    assert answer["http://a.test/goal"].depth == 1
    assert answer["http://a.test/next"] == Expected(state=State.COMPLETED, status=200, depth=2)


def test_one_open_mention_outweighs_a_nofollow_one() -> None:
    page = Page(path="/", links=(Link(0, "/a", nofollow=True), Link(0, "/a"), Link(0, "/b", nofollow=True)))
    web = _small_web(page, Page(path="/a"), Page(path="/b"))
    answer = web.expected(web.seeds)
    assert answer["http://a.test/a"].state is State.COMPLETED
    assert answer["http://a.test/b"].reason is Why.NOFOLLOW


def test_pages_behind_robots_that_never_answer_fail() -> None:
    for robots in (Robots(status=503), Robots(status=429), Robots(trouble=Trouble.RESET)):
        web = _small_web(Page(path="/"), robots=robots)
        assert web.expected(web.seeds) == {"http://a.test/": Expected(state=State.FAILED)}
        assert web.expected(web.seeds, ignore_robots=True)["http://a.test/"].state is State.COMPLETED


def test_pages_behind_robots_that_recover_or_are_refused_are_judged_by_the_verdict() -> None:
    rules = "User-agent: *\nDisallow: /"
    recovering = _small_web(Page(path="/"), robots=Robots(status=503, times=2, rules=rules))
    assert recovering.expected(recovering.seeds)["http://a.test/"].reason is Why.ROBOTS
    refused = _small_web(Page(path="/"), robots=Robots(status=403, rules=rules))
    assert refused.expected(refused.seeds)["http://a.test/"].state is State.COMPLETED


def test_a_dead_host_fails_without_an_answer() -> None:
    web = make_web(1, 2, 5, behaviours={1: Behaviour(dead=True)})
    assert web.expected([web.url(1)]) == {web.url(1): Expected(state=State.FAILED)}


def test_features_can_be_left_out() -> None:
    web = make_web(1, 1, 10, features=EVERYTHING - {Feature.ERRORS, Feature.MISSING, Feature.REDIRECTS})
    assert {page.status for page in web.hosts[0].pages.values()} == {200}


def test_differences_name_what_is_missing_wrong_doubled_or_made_up() -> None:
    answer = WEB.expected(WEB.seeds)
    records = [_record(url, wanted) for url, wanted in answer.items()]
    assert differences(answer, records, depth=True) == []
    first = records[0]
    assert "no record" in differences(answer, records[1:])[0]
    assert "more than once" in differences(answer, [*records, first])[0]
    other = msgspec.structs.replace(first, http_status=404)
    assert "should be completed 200" in differences(answer, [other, *records[1:]])[0]
    unknown = msgspec.structs.replace(first, url="http://made-up.test/")
    assert "no road leads there" in differences(answer, [unknown, *records])[0]
    deeper = [msgspec.structs.replace(first, depth=9), *records[1:]]
    assert differences(answer, deeper) == []
    assert len(differences(answer, deeper, depth=True)) == 1


def test_a_walk_asks_for_each_url_once_but_for_those_that_were_busy() -> None:
    with WebServer(make_web(5, 1, 20, features=EVERYTHING - {Feature.SLOW})) as server:
        NaiveCrawler(_this_web(server)).crawl(server.seeds)
        repeated = {url: times for url, times in fetch_counts(server.requests()).items() if times > 1}
        assert repeated == {server.url(0, "/flaky"): 3}
