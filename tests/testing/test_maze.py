from __future__ import annotations

import gzip
import re
from collections.abc import Iterator, Sequence
from http.client import HTTPConnection
from itertools import combinations

import msgspec
import pytest

from gossamer.model import PageRecord, State, Traps, Why
from gossamer.testing.maze import BAIT, EVERY_SECTION, FOLDS, TRAPS, Case, Maze, MazeServer, Road, Section, Sitemap
from gossamer.testing.maze.judge import Docket
from gossamer.url import hostname_of, normalise, path_of, port_of
from tests.testing.maze_walker import Client, Page, Walker

SMALL = Traps(path_budget=30, query_budget=30)
FORMS = sorted(set(Sitemap) - {Sitemap.NONE})


@pytest.fixture(scope="module")
def server() -> Iterator[MazeServer]:
    with MazeServer(Maze(1)) as running:
        yield running


@pytest.fixture(scope="module")
def walk(server: MazeServer) -> Walker:
    walker = Walker(server.seeds, SMALL)
    walker.walk()
    return walker


@pytest.fixture
def client() -> Iterator[Client]:
    it = Client()
    yield it
    it.close()


def test_the_same_seed_makes_the_same_maze() -> None:
    assert Maze(5).hosts[0].spots == Maze(5).hosts[0].spots
    assert Maze(5).hosts[0].spots != Maze(6).hosts[0].spots


def test_every_section_belongs_to_one_kind() -> None:
    assert TRAPS | FOLDS | BAIT == EVERY_SECTION
    assert len(TRAPS) + len(FOLDS) + len(BAIT) == len(EVERY_SECTION)


@pytest.mark.parametrize("section", sorted(Section))
def test_a_section_is_there_only_when_asked_for(section: Section) -> None:
    alone, without = Maze(1, sections=(section,)), Maze(1, sections=())
    assert len(alone.expected()) > len(without.expected())
    assert {case.name for case in without.expected()} <= {case.name for case in alone.expected()}


def test_every_path_is_its_own_normal_spelling() -> None:
    urls = [f"http://127.0.2.1:81{path}" for host in Maze(1).hosts for path in host.spots]
    assert [normalise(url) for url in urls] == urls


def test_no_page_is_judged_twice() -> None:
    cases = Maze(1, sitemap=Sitemap.ALL).expected()
    places = [(case.host, path) for case in cases for path in case.paths]
    assert len(places) == len(set(places))
    patterns = [(case.host, re.compile(case.pattern)) for case in cases if case.pattern]
    assert not [place for place in places for host, it in patterns if host == place[0] and it.fullmatch(place[1])]


def test_a_walk_that_knows_the_rules_finds_the_known_answer(server: MazeServer, walk: Walker) -> None:
    assert not walk.lost
    assert server.maze.faults(walk.records.values(), traps=SMALL, targets=walk.targets) == []
    assert {record.reason for record in walk.records.values() if record.state is State.SKIPPED} == {
        *(Why.CANONICAL, Why.DUPLICATE, Why.NEAR_DUPLICATE, Why.SOFT_404, Why.TRAP, Why.REDIRECT, Why.LENGTH)
    }


def test_another_seed_has_a_known_answer_too() -> None:
    with MazeServer(Maze(2, pages=30, posts=60)) as server:
        assert server.maze.faults(Walker(server.seeds, SMALL).walk(), traps=SMALL) == []


def test_a_walk_without_any_rule_never_comes_to_an_end(server: MazeServer) -> None:
    careless = Traps(path_budget=10**9, query_budget=10**9, max_repeats=10**4, max_segments=10**4)
    walker = Walker([server.url("/n/")], careless)
    walker.walk(steps=150)
    assert walker.lost
    faults = server.maze.faults(walker.records.values(), traps=SMALL)
    assert any("numbers without end: " in fault and "allowed are 30" in fault for fault in faults)


def _read_guides(client: Client, guide: str, seen: set[str]) -> Iterator[str]:
    """All URLs that a sitemap names, and those that it names; not more than four of a chain without end."""
    if guide in seen or "/maps/chain-5" in guide:
        return
    seen.add(guide)
    text = _beginning(guide) if "endless" in guide else _unpacked(client.get(guide)[2])
    if "<sitemapindex" in text:
        for place in re.findall(r"<loc>(.+?)</loc>", text):
            yield from _read_guides(client, place, seen)
    elif "<" not in text:
        yield from text.split()
    else:
        found = re.findall(r'<loc>(.+?)</loc>|<link>(.+?)</link>|<(?:xhtml:)?link[^>]* href="(.+?)"', text)
        yield from ("".join(groups).replace("&amp;", "&") for groups in found)


def _unpacked(body: bytes) -> str:
    return (gzip.decompress(body) if body[:2] == b"\x1f\x8b" else body).decode()


def _beginning(url: str, size: int = 300_000) -> str:
    origin = url.partition("/maps")[0]
    connection = HTTPConnection(hostname_of(origin), port_of(origin), timeout=20)
    connection.request("GET", path_of(url))
    try:
        return connection.getresponse().read(size).decode().rpartition("<url>")[0]
    finally:
        connection.close()


def _guides(client: Client, server: MazeServer) -> list[str]:
    robots = client.get(server.url("/robots.txt"))[2].decode()
    return [*re.findall(r"Sitemap: (.+)", robots), server.url("/sitemap.xml")]


@pytest.mark.parametrize("form", FORMS)
def test_sitemaps_of_every_form_lead_to_the_known_answer(form: Sitemap, client: Client) -> None:
    with MazeServer(Maze(3, pages=20, posts=5, sitemap=form, slow=0.01)) as server:
        seen: set[str] = set()
        lists = [url for guide in _guides(client, server) for url in _read_guides(client, guide, seen)]
        assert server.maze.listed.keys() <= set(lists)
        walker = Walker(server.seeds, SMALL, dict.fromkeys(lists), links=False)
        assert server.maze.faults(walker.walk(), traps=SMALL, targets=walker.targets) == []
        assert any(record.reason == Why.UNLISTED for record in walker.records.values())


def test_sitemaps_and_links_together_lead_to_all_that_either_names(client: Client) -> None:
    with MazeServer(Maze(3, pages=20, posts=5, sitemap=Sitemap.WELL_KNOWN)) as server:
        walker = Walker(server.seeds, SMALL, server.maze.listed)
        roads = {Road.LINKS, Road.SITEMAP}
        assert server.maze.faults(walker.walk(), traps=SMALL, roads=roads) == []
        assert any("only sitemaps name" in fault for fault in server.maze.faults((), roads=roads))
        assert not any("only sitemaps name" in fault for fault in server.maze.faults((), roads={Road.LINKS}))


def test_sitemaps_tell_of_times_and_priorities() -> None:
    listed = Maze(1, sitemap=Sitemap.ROBOTS).listed.values()
    assert len({entry.lastmod for entry in listed}) > 100
    assert {entry.priority for entry in listed} == {number / 10 for number in range(1, 11)}


def test_an_endless_sitemap_does_not_end_and_holds_up_nobody(client: Client) -> None:
    with MazeServer(Maze(3, pages=5, sections=(), sitemap=Sitemap.ENDLESS)) as server:
        assert len(_beginning(server.url("/maps/endless.xml"), 3_000_000)) > 2_900_000
        assert client.get(server.url("/"))[0] == 200


def test_pages_of_llms_txt_are_expected_where_it_is_read(server: MazeServer, client: Client) -> None:
    text = b"".join(client.get(server.url(path))[2] for path in ("/llms.txt", "/llms-full.txt")).decode()
    lists = [server.url(path_of(url) if "//" in url else url) for url in re.findall(r"\]\((.+?)\)", text)]
    walker = Walker(server.seeds[:1], SMALL, dict.fromkeys(lists), links=False)
    faults = server.maze.faults(walker.walk(), roads={Road.LLMS})
    # The walk did not begin at the second host, and nothing else is missing.
    assert faults == ["/: no record (a real page)", "a real page: 0 completed, should be 1 at least (/)"]
    assert len({url for url in lists if "/llms/" in url}) == 4


def test_sessions_are_new_with_every_answer(server: MazeServer, client: Client) -> None:
    first, second = (client.page(server.url("/shop/")) for _ in range(2))
    assert first.text == second.text
    assert not set(first.links) & set(second.links)
    assert client.page(first.links[1]).text == client.page(second.links[1]).text != first.text


def _pages(server: MazeServer, client: Client, name: str) -> list[list[Page]]:
    cases = [case for case in server.maze.expected() if name in case.name]
    return [[client.page(server.url(path, case.host)) for path in case.paths] for case in cases]


def test_exact_duplicates_have_the_same_bytes(server: MazeServer, client: Client) -> None:
    groups = _pages(server, client, "the same page at") + _pages(server, client, "in another order")
    assert [len({page.body for page in group}) for group in groups] == [1] * 10
    assert len({group[0].body for group in groups}) == 10


def test_near_duplicates_are_near_and_similar_pages_are_not(server: MazeServer, client: Client) -> None:
    near = [pair for group in _pages(server, client, "nearly the same") for pair in combinations(group, 2)]
    assert len(near) == 12
    assert all(one.body != other.body and one.likeness(other) > 0.93 for one, other in near)
    similar = [page for group in _pages(server, client, "is like another") for page in group]
    assert all(one.likeness(other) < 0.5 for one, other in combinations(similar, 2))
    assert len({page.title for page in similar}) == len(similar) / 2


def test_versions_of_a_manual_differ_by_more_than_15_percent_of_their_words(server: MazeServer, client: Client) -> None:
    pages = [group[0] for group in _pages(server, client, "versioned manual")]
    same = [pair for pair in combinations(pages, 2) if pair[0].title == pair[1].title]
    assert len(same) == 6 * 15
    assert all(_changed_words(*pair) > 0.15 for pair in same)


def _changed_words(one: Page, other: Page) -> float:
    pairs = list(zip(one.text.split(), other.text.split(), strict=True))
    return sum(a != b for a, b in pairs) / len(pairs)


def test_real_pages_are_unlike_each_other(walk: Walker) -> None:
    kept = [page for page in walk.kept if len(page.text.split()) > 55]
    assert len(kept) > 250
    assert max(one.likeness(other) for one, other in combinations(kept, 2)) < 0.6


def test_a_friendly_host_answers_everything_with_200(server: MazeServer, client: Client) -> None:
    for path in ("/gone/by", "/robots.txt", "/sitemap.xml", "/llms.txt"):
        page = client.page(server.url(path, host=1))
        assert (page.status, page.title) == (200, "Page not found")
    assert client.page(server.url("/guide-to-404", host=1)).text.count(" ") > 200
    assert client.get(server.url("/gone/by"))[0] == 404


def test_an_archive_has_as_many_posts_as_were_asked_for() -> None:
    posts = [case for case in Maze(1, posts=300).expected() if case.name == "a post of a real archive"]
    assert len({case.paths for case in posts}) == 300
    assert all(re.fullmatch(r"/blog/\d{4}/\d\d/\d\d/[a-z]+-[a-z]+", case.paths[0]) for case in posts)


def test_requests_are_logged(server: MazeServer, client: Client) -> None:
    client.get(server.url("/help/404"), **{"If-None-Match": '"x"'})
    last = [request for request in server.requests() if request.path == "/help/404"][-1]
    assert (last.status, last.conditional) == (200, True)
    assert last.sent > 500


# What the check must not let through. Each of these starts from records that are right, and spoils one.


def _spoilt(walk: Walker, url: str, **how: object) -> list[PageRecord]:
    assert url in walk.records
    spoilt = msgspec.structs.replace(walk.records[url], **how)
    return [spoilt if record.url == url else record for record in walk.records.values()]


def _one_of(server: MazeServer, walk: Walker, name: str, state: State) -> str:
    case = next(case for case in server.maze.expected() if name in case.name)
    places = [url for url in walk.records if url.startswith(server.maze.origins[case.host])]
    members = [url for url in places if path_of(url) in case.paths or re.fullmatch(case.pattern or "-", path_of(url))]
    return next(url for url in members if walk.records[url].state is state)


COMPLETED: dict[str, object] = {"state": State.COMPLETED, "reason": None, "http_status": 200}


@pytest.mark.parametrize(
    ("name", "state", "how", "fault"),
    [
        ("an ordinary page", State.COMPLETED, {"state": State.SKIPPED, "reason": Why.TRAP}, "should be completed"),
        ("an ordinary page", State.COMPLETED, {"state": State.FAILED}, "should be completed"),
        ("an ordinary page", State.COMPLETED, {"state": State.PENDING}, "still pending"),
        ("a post of", State.COMPLETED, {"state": State.SKIPPED, "reason": Why.TRAP}, "(a post of a real archive)"),
        ("is like another", State.COMPLETED, {"state": State.SKIPPED, "reason": Why.NEAR_DUPLICATE}, "should be comp"),
        ("told in the meta", State.SKIPPED, COMPLETED, "stands for it"),
        ("told in the meta", State.SKIPPED, {"reason": Why.TRAP}, "should be completed or skipped canonical or"),
        ("in a circle", State.SKIPPED, COMPLETED, "2 completed, should be 1 at most"),
        ("in a circle", State.COMPLETED, {"state": State.SKIPPED, "reason": Why.CANONICAL}, "should be 1 at least"),
        ("its canonical page is missing", State.COMPLETED, {"state": State.SKIPPED, "reason": Why.CANONICAL}, "should"),
        ("page that is missing", State.FAILED, COMPLETED, "should be 0 at most"),
        ("is out of scope", State.COMPLETED, {"state": State.SKIPPED, "reason": Why.CANONICAL}, "out of scope"),
        ("redirects to one page", State.SKIPPED, {"reason": Why.DUPLICATE}, "should be skipped redirect"),
        ("the same page at", State.SKIPPED, COMPLETED, "2 completed, should be 1 at most"),
        ("nearly the same", State.SKIPPED, {"reason": Why.DUPLICATE}, "or skipped near-duplicate"),
        ("sessions of", State.SKIPPED, COMPLETED, "2 completed, should be 1 at most"),
        ("in another order", State.COMPLETED, {"state": State.SKIPPED, "reason": Why.DUPLICATE}, "1 at least"),
        (
            "parameter matters",
            State.COMPLETED,
            {"state": State.SKIPPED, "reason": Why.DUPLICATE},
            "should be completed",
        ),
        ("friendly host", State.SKIPPED, COMPLETED, "1 completed, should be 0 at most"),
        ("friendly host", State.SKIPPED, {"reason": Why.DUPLICATE}, "should be skipped soft-404"),
        ("too long", State.SKIPPED, {"http_status": 200}, "1 fetched, allowed are 0"),
        ("endless agenda", State.SKIPPED, {"reason": None}, "endless agenda"),
        ("endless agenda", State.SKIPPED, {"http_status": 200}, "31 fetched, allowed are 30"),
    ],
)
def test_a_wrong_record_is_told(
    server: MazeServer, walk: Walker, name: str, state: State, how: dict[str, object], fault: str
) -> None:
    url = _one_of(server, walk, name, state)
    faults = server.maze.faults(_spoilt(walk, url, **how), traps=SMALL)
    assert [it for it in faults if fault in it]
    assert len(faults) <= 2


@pytest.mark.parametrize(
    ("name", "state"),
    [
        ("an ordinary page", State.COMPLETED),
        ("versioned manual", State.COMPLETED),
        ("redirects to one page", State.SKIPPED),
        ("friendly host", State.SKIPPED),
        ("too long", State.SKIPPED),
    ],
)
def test_a_lost_page_is_told(server: MazeServer, walk: Walker, name: str, state: State) -> None:
    url = _one_of(server, walk, name, state)
    faults = server.maze.faults((it for it in walk.records.values() if it.url != url), traps=SMALL)
    assert any(fault.startswith(f"{path_of(url)}: no record") for fault in faults)


def test_a_trap_that_nobody_entered_or_left_is_told(server: MazeServer, walk: Walker) -> None:
    def inside(record: PageRecord) -> bool:
        return path_of(record.url).startswith("/n/") and not record.url.endswith("/n/")

    never = server.maze.faults((it for it in walk.records.values() if not inside(it)), traps=SMALL)
    assert "numbers without end: never entered" in never
    cut = [it for it in walk.records.values() if not inside(it) or it.state is State.COMPLETED]
    assert server.maze.faults(cut, traps=SMALL) == [
        "numbers without end: leads on for ever, and yet nothing of it was refused"
    ]


def test_a_trap_that_swallowed_more_than_its_budget_is_told(server: MazeServer, walk: Walker) -> None:
    faults = server.maze.faults(walk.records.values(), traps=Traps(path_budget=29, query_budget=30))
    assert faults == ["numbers without end: 30 fetched, allowed are 29"]


def test_a_page_that_is_recorded_twice_is_told(server: MazeServer, walk: Walker) -> None:
    records = list(walk.records.values())
    assert server.maze.faults([*records, records[3]], traps=SMALL) == [f"{records[3].url}: recorded more than once"]


def test_a_page_that_no_road_leads_to_is_told(server: MazeServer, walk: Walker) -> None:
    made_up = PageRecord(url=server.url("/maps/broken-o"), source=1, state=State.FAILED, http_status=404)
    assert server.maze.faults([*walk.records.values(), made_up], traps=SMALL) == [
        f"{made_up.url}: failed 404, but no road leads there"
    ]


def test_an_orphan_is_told_where_only_links_were_to_be_followed(server: MazeServer, walk: Walker) -> None:
    path = next(case.paths[0] for case in server.maze.expected() if "only sitemaps name" in case.name)
    orphan = PageRecord(url=server.url(path), source=1, state=State.COMPLETED, http_status=200)
    faults = server.maze.faults([*walk.records.values(), orphan], traps=SMALL)
    assert len(faults) == 2
    assert all("on no list" in fault for fault in faults)


def test_a_page_outside_must_be_out_of_scope(server: MazeServer, walk: Walker) -> None:
    outside = PageRecord(url="http://elsewhere.invalid/page", source=1, state=State.SKIPPED, reason=Why.SCOPE)
    assert server.maze.faults([*walk.records.values(), outside], traps=SMALL) == []
    wrong = msgspec.structs.replace(outside, state=State.FAILED, reason=None, error="no such host")
    assert server.maze.faults([*walk.records.values(), wrong], traps=SMALL) == [
        f"{outside.url}: failed no such host, should be skipped scope"
    ]


@pytest.mark.parametrize("name", ["the same page at", "redirects to one page", "canonical to a redirect"])
def test_a_page_that_was_folded_into_a_stranger_is_told(server: MazeServer, walk: Walker, name: str) -> None:
    url = _one_of(server, walk, name, State.SKIPPED)
    faults = server.maze.faults(walk.records.values(), traps=SMALL, targets={**walk.targets, url: server.url("/")})
    assert len(faults) == 1
    assert f"{url}: folded into /, which is not the same page" in faults[0]


def _records(*states: tuple[str, State, Why | None]) -> dict[tuple[int, str], PageRecord]:
    return {
        (0, path): PageRecord(url=f"http://a.test{path}", source=1, state=state, reason=reason)
        for path, state, reason in states
    }


@pytest.mark.parametrize(
    ("states", "faults"),
    [
        ([("/a", State.COMPLETED, None), ("/b", State.SKIPPED, Why.DUPLICATE)], 0),
        ([("/b", State.COMPLETED, None), ("/a", State.SKIPPED, Why.DUPLICATE)], 0),
        ([("/a", State.COMPLETED, None), ("/b", State.COMPLETED, None)], 1),
        ([("/a", State.SKIPPED, Why.DUPLICATE), ("/b", State.SKIPPED, Why.DUPLICATE)], 1),
        ([("/a", State.COMPLETED, None), ("/b", State.SKIPPED, Why.TRAP)], 1),
        ([("/a", State.COMPLETED, None), ("/b", State.FAILED, None)], 1),
        ([("/a", State.COMPLETED, None)], 1),
        ([], 3),
    ],
)
def test_of_two_twins_either_may_be_kept_and_just_one(
    states: Sequence[tuple[str, State, Why | None]], faults: int
) -> None:
    twins = Case(name="twins", paths=("/a", "/b"), completed=(1, 1), reasons=frozenset({Why.DUPLICATE}))
    assert len(list(Docket([twins], Traps()).faults(_records(*states)))) == faults
