"""How the pages of a source are found: which guides are asked for, and whether links are followed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gossamer.model import (
    Guide,
    LeaseKind,
    Road,
    ScopeMode,
    SeedFrom,
)
from tests.frontier.makers import HOST, SEED
from tests.frontier.searching import AUTO, OTHER, SERVICE, Search, index, listing, search

# -- auto


def test_a_sitemap_that_lists_pages_in_scope_is_the_crawl() -> None:
    each = search()
    each.robots("/map.xml")
    assert each.follows() is None, "links wait while it is being read"
    each.answers("/map.xml", listing("/1", "/2"))
    each.fails("/sitemap.xml")
    assert each.follows() is False
    assert each.decided == [HOST]
    assert each.roads == [Road(source=1, host=HOST, links=False)]
    assert each.pages == [f"{HOST}/1", f"{HOST}/2"]


@pytest.mark.parametrize("guide", [Guide(), listing("/"), listing("/1", host=OTHER)])
def test_a_sitemap_with_nothing_in_scope_but_the_seed_leaves_it_to_links(guide: Guide) -> None:
    each = search()
    each.robots("/map.xml")
    each.answers("/map.xml", guide)
    assert each.follows() is None, "the well-known place has not answered"
    each.answers("/sitemap.xml", Guide())
    assert each.follows() is True
    assert each.decided == [HOST]


def test_of_several_sitemaps_of_a_host_one_with_pages_is_enough_but_all_are_waited_for() -> None:
    each = search()
    each.robots("/1.xml", "/2.xml")
    each.answers("/1.xml", listing("/page"))
    each.fails("/2.xml")
    assert each.follows() is None
    each.fails("/sitemap.xml")
    assert each.follows() is False


def test_well_known_places_are_tried_one_after_the_other() -> None:
    each = search()
    each.robots()
    assert each.asked() == ["/sitemap.xml"]
    each.fails("/sitemap.xml")
    assert each.asked() == ["/sitemap.xml", "/sitemap_index.xml"]
    assert each.follows() is None
    each.fails("/sitemap_index.xml")
    assert each.follows() is True


def test_where_the_first_place_has_a_sitemap_the_second_is_not_guessed_at() -> None:
    each = search()
    each.robots()
    each.answers("/sitemap.xml", Guide())
    assert each.asked() == ["/sitemap.xml"]
    assert each.follows() is True


def test_robots_lines_and_the_first_well_known_place_are_asked_for_together_and_nothing_else() -> None:
    each = search()
    each.robots("/map.xml", "/sitemap.xml", "/map.xml", "not a url")
    assert each.asked() == ["/map.xml", "/sitemap.xml"]
    each.fails("/sitemap.xml")
    assert each.asked() == ["/map.xml", "/sitemap.xml"], "robots.txt names a sitemap: there is no need to guess"


def test_robots_that_are_told_twice_are_heard_once() -> None:
    each = search()
    each.robots("/map.xml")
    each.robots("/another.xml")
    assert each.asked() == ["/map.xml", "/sitemap.xml"]


def test_indices_are_followed_to_a_depth_and_loops_are_let_in_once() -> None:
    each = search()
    each.robots()
    path = "/sitemap.xml"
    for level in range(1, 5):
        each.answers(path, index(f"/{level}.xml", "/sitemap.xml"))
        path = f"/{level}.xml"
    each.answers(path, index("/too-deep.xml"))
    assert each.asked() == ["/sitemap.xml", "/1.xml", "/2.xml", "/3.xml", "/4.xml"]
    assert each.follows() is True


def test_an_index_is_not_done_with_before_what_it_names_is() -> None:
    each = search()
    each.robots()
    each.answers("/sitemap.xml", index("/1.xml", "/2.xml"))
    each.answers("/1.xml", Guide())
    assert each.follows() is None
    each.answers("/2.xml", listing("/page"))
    assert each.follows() is False


def test_no_more_guides_are_read_than_asked_for() -> None:
    each = search(max_guides=3)
    each.robots()
    each.answers("/sitemap.xml", index(*(f"/{number}.xml" for number in range(10))))
    assert len(each.guides) == 3
    for path in each.asked()[1:]:
        each.answers(path, index("/further.xml"))
    assert len(each.guides) == 3
    assert each.follows() is True, "what there was no room for is not waited for"


def test_a_host_of_no_seed_has_its_links_followed_at_once() -> None:
    each = search(scope=ScopeMode.ANY)
    each.robots(host=OTHER)
    assert each.asked() == []
    assert each.follows(OTHER) is True


def test_hosts_of_seeds_are_judged_each_for_itself() -> None:
    each = search(SEED, f"{OTHER}/")
    each.robots()
    each.answers("/sitemap.xml", listing("/page"))
    assert (each.follows(), each.follows(OTHER)) == (False, None)
    each.robots(host=OTHER)
    each.fails("/sitemap.xml", host=OTHER)
    each.fails("/sitemap_index.xml", host=OTHER)
    assert (each.follows(), each.follows(OTHER)) == (False, True)


def test_a_sitemap_on_another_host_speaks_for_the_host_whose_robots_name_it() -> None:
    each = search()
    each.robots(f"{OTHER}/map.xml")
    each.answers("/map.xml", listing("/page"), host=OTHER)
    each.fails("/sitemap.xml")
    assert each.follows() is False
    assert each.guides[f"{OTHER}/map.xml"].about == HOST


def test_a_host_that_a_seed_leads_on_to_is_one_of_the_seeds() -> None:
    each = search(scope=ScopeMode.ANY)
    each.run.adopt(f"{OTHER}/home")
    assert each.follows(OTHER) is None
    each.robots(host=OTHER)
    each.answers("/sitemap.xml", listing("/page", host=OTHER), host=OTHER)
    assert each.follows(OTHER) is False


def test_where_robots_are_ignored_sitemaps_are_asked_for_at_once() -> None:
    assert search(ignore_robots=True).asked() == ["/sitemap.xml"]
    assert search().asked() == []


# -- patience


def test_links_are_followed_when_a_sitemap_keeps_silent_for_too_long() -> None:
    each = search()
    each.robots()
    each.leased(100.0, "/sitemap.xml")
    each.discovery.look(109.9)
    assert each.follows() is None
    each.discovery.look(110.0)
    assert each.follows() is True
    assert each.decided == [HOST]


def test_what_a_late_sitemap_lists_comes_on_top_and_changes_no_road() -> None:
    each = search()
    each.robots()
    each.leased(100.0, "/sitemap.xml")
    each.discovery.look(200.0)
    each.answers("/sitemap.xml", listing("/page"))
    assert each.pages == [f"{HOST}/page"]
    assert each.follows() is True
    assert each.roads == [Road(source=1, host=HOST, links=True)]


def test_patience_is_not_lost_with_a_host_of_which_something_is_listed_already() -> None:
    each = search()
    each.robots("/map.xml")
    each.leased(100.0, "/map.xml")
    each.leased(100.0, "/sitemap.xml")
    each.answers("/map.xml", listing("/page"))
    each.discovery.look(500.0)
    assert each.follows() is None
    each.fails("/sitemap.xml")
    assert each.follows() is False


def test_patience_runs_from_the_first_time_that_a_sitemap_was_asked_for() -> None:
    each = search()
    each.robots()
    each.leased(100.0, "/sitemap.xml")
    each.leased(108.0, "/sitemap.xml")
    each.discovery.look(110.0)
    assert each.follows() is True


# -- other places


@pytest.mark.parametrize("seed_from", [SeedFrom.SITEMAP, SeedFrom.LLMS, SeedFrom.COMMONCRAWL])
def test_without_links_only_what_is_listed_counts(seed_from: SeedFrom) -> None:
    each = search(seed_from=(seed_from,))
    each.robots()
    assert each.follows() is None
    for url in list(each.guides):
        each.answers(url, Guide(), host="")
    assert each.follows() is False
    assert each.follows(OTHER) is False
    assert seed_from.value in each.discovery.why_not


def test_links_are_followed_at_once_where_they_are_asked_for() -> None:
    each = search(seed_from=(SeedFrom.SITEMAP, SeedFrom.LINKS))
    each.robots()
    assert each.follows() is True


def test_what_waits_for_lists_can_be_judged_when_the_last_one_is_done_with() -> None:
    each = search(seed_from=(SeedFrom.SITEMAP, SeedFrom.LLMS))
    each.robots()
    each.answers("/sitemap.xml", listing("/1"))
    each.fails("/llms.txt")
    assert each.decided == []
    assert each.follows() is None
    each.fails("/llms-full.txt")
    assert each.decided == [HOST]


def test_both_files_for_language_models_are_asked_for_on_every_host_of_a_seed() -> None:
    each = search(SEED, f"{HOST}/docs/", f"{OTHER}/", seed_from=(SeedFrom.LLMS,))
    assert each.asked() == ["/llms.txt", "/llms-full.txt", f"{OTHER}/llms.txt", f"{OTHER}/llms-full.txt"]


@pytest.mark.parametrize(
    ("scope", "pattern"),
    [
        (ScopeMode.PREFIX, "www.a.example/docs/*"),
        (ScopeMode.HOST, "www.a.example/*"),
        (ScopeMode.SITE, "*.a.example"),
        (ScopeMode.ANY, "*.a.example"),
    ],
)
def test_common_crawl_is_asked_for_what_the_scope_wants(scope: ScopeMode, pattern: str) -> None:
    each = search("http://www.a.example/docs/index.html", seed_from=(SeedFrom.COMMONCRAWL,), scope=scope)
    assert list(each.guides) == [f"{SERVICE}collinfo.json#{pattern}"]


def test_certificates_are_asked_for_by_domain_once_however_many_seeds_it_has() -> None:
    each = search("http://www.a.example/", f"{HOST}/x", seed_from=(SeedFrom.CT,), scope=ScopeMode.SITE)
    assert list(each.guides) == [f"{SERVICE}?q=%25.a.example&output=json"]


def test_a_service_is_no_host_of_the_crawl() -> None:
    each = search(seed_from=(SeedFrom.CT, SeedFrom.LINKS), scope=ScopeMode.SITE)
    assert each.discovery.services == {"http://service.example"}
    assert not each.run.asks_robots("http://service.example")
    assert each.run.asks_robots(HOST)


def test_services_that_are_not_asked_are_hosts_like_any_other() -> None:
    assert search().run.asks_robots("http://service.example")


def test_only_so_many_urls_are_taken_from_services_all_together() -> None:
    each = search(seed_from=(SeedFrom.COMMONCRAWL, SeedFrom.SITEMAP), max_listed=5)
    each.robots()
    each.answers("/sitemap.xml", listing(*(f"/map/{number}" for number in range(9))))
    first, rest = f"{SERVICE}collinfo.json#a.example/*", ["http://service.example/1", "http://service.example/2"]
    each.answers(first, Guide(guides=tuple(rest)), host="")
    each.answers(rest[0], listing("/1", "/2", "/3"), host="")
    each.answers(rest[1], listing("/4", "/5", "/6"), host="")
    taken = [url.removeprefix(HOST) for url in each.pages if "/map/" not in url]
    assert taken == ["/1", "/2", "/3", "/4", "/5"]
    assert len(each.pages) == 9 + 5, "a sitemap is no service"


def test_what_a_service_may_still_list_survives_a_restart() -> None:
    each = search(seed_from=(SeedFrom.COMMONCRAWL,), max_listed=5)
    first, rest = f"{SERVICE}collinfo.json#a.example/*", ["http://service.example/1", "http://service.example/2"]
    each.answers(first, Guide(guides=tuple(rest)), host="")
    each.answers(rest[0], listing("/1", "/2", "/3"), host="")
    each.restart()
    each.answers(rest[1], listing("/4", "/5", "/6"), host="")
    assert len(each.pages) == 5


def test_a_page_that_a_service_may_yet_list_is_not_refused_because_a_sitemap_does_not() -> None:
    each = search(seed_from=(SeedFrom.AUTO, SeedFrom.COMMONCRAWL))
    each.robots()
    each.answers("/sitemap.xml", listing("/page"))
    assert each.follows() is None
    assert each.decided == []
    each.fails(f"{SERVICE}collinfo.json#a.example/*", host="")
    assert each.follows() is False
    assert each.decided == [HOST]


def test_a_service_holds_up_no_links_that_are_wanted_anyway() -> None:
    each = search(seed_from=(SeedFrom.AUTO, SeedFrom.COMMONCRAWL))
    each.robots()
    each.answers("/sitemap.xml", Guide())
    assert each.follows() is True
    assert each.decided == [HOST]


# -- restarts

Step = Callable[[Search], None]
STEPS: tuple[Step, ...] = (
    lambda each: each.robots("/map.xml"),
    lambda each: each.answers("/map.xml", index("/1.xml", "/2.xml")),
    lambda each: each.answers("/1.xml", listing("/", "/page")),
    lambda each: each.fails("/sitemap.xml"),
    lambda each: each.robots(host=OTHER),
    lambda each: each.fails("/2.xml"),
    lambda each: each.fails("/sitemap.xml", host=OTHER),
    lambda each: each.answers("/sitemap_index.xml", Guide(), host=OTHER),
)


def played(seed_from: tuple[SeedFrom, ...], restart_after: set[int]) -> Search:
    each = search(SEED, f"{OTHER}/", seed_from=seed_from)
    for number, step in enumerate(STEPS):
        step(each)
        if number in restart_after:
            each.restart()
    return each


@pytest.mark.parametrize("seed_from", [AUTO, (SeedFrom.SITEMAP,), (SeedFrom.SITEMAP, SeedFrom.LINKS)])
@pytest.mark.parametrize("after", [*({number} for number in range(len(STEPS))), set(range(len(STEPS)))])
def test_a_restart_at_any_moment_changes_nothing(seed_from: tuple[SeedFrom, ...], after: set[int]) -> None:
    straight, cut = played(seed_from, set()), played(seed_from, after)
    assert cut.asked() == straight.asked()
    assert cut.guides == straight.guides
    assert cut.pages == straight.pages
    assert cut.roads == straight.roads
    assert (cut.follows(), cut.follows(OTHER)) == (straight.follows(), straight.follows(OTHER))


def test_a_guide_that_was_out_at_a_restart_is_still_waited_for() -> None:
    each = search()
    each.robots()
    each.restart()
    assert each.follows() is None
    each.answers("/sitemap.xml", listing("/page"))
    assert each.follows() is False


def test_what_was_asked_for_counts_after_a_restart_too() -> None:
    each = search(max_guides=2)
    each.robots()
    each.restart()
    each.answers("/sitemap.xml", index("/1.xml", "/2.xml"))
    assert each.asked() == ["/sitemap.xml", "/1.xml"]


def test_kinds_of_guides_do_not_wait_for_each_other_s_roads() -> None:
    each = search(seed_from=(SeedFrom.AUTO, SeedFrom.LLMS))
    assert {guide.kind for guide in each.guides.values()} == {LeaseKind.LLMS}
    each.robots()
    each.answers("/sitemap.xml", Guide())
    assert each.follows() is True
