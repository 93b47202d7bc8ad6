"""The door in: what is deferred, which road is better, and what becomes of what waited."""

from __future__ import annotations

import pytest

from gossamer.model import (
    MAX_RANK,
    Deferral,
    Discovery,
    Fingerprint,
    Guide,
    Lease,
    LeaseKind,
    Moved,
    PendingPage,
    Reading,
    SeedFrom,
    State,
    Traps,
)
from tests.frontier.makers import HOST, Play, document, source

DEPTH, NOFOLLOW, UNLISTED, BUDGET = (
    str(each.rank) for each in (Deferral.DEPTH, Deferral.NOFOLLOW, Deferral.UNLISTED, Deferral.BUDGET)
)
BY_SITEMAP = Discovery(seed_from=(SeedFrom.AUTO,))


def shallow() -> Play:
    return Play(source(max_depth=2))


def by_sitemap() -> Play:
    """A source whose sitemap is being read."""
    play = Play(source(discovery=BY_SITEMAP, max_depth=2))
    play.follow(play.run.discovery.first())
    return play


def end_sitemap(play: Play, listed: int) -> None:
    guide = PendingPage(
        id=99, source=1, url=f"{HOST}/sitemap.xml", host=HOST, depth=0, rank=0, kind=LeaseKind.SITEMAP, target=HOST
    )
    play.run.discovery.count(guide, listed)
    play.run.discovery.read(guide, Guide())
    play.run.discovery.closed(guide)


# -- what is deferred


def test_what_only_its_road_forbids_waits_for_another_one() -> None:
    play = by_sitemap()
    play.admit("/deep", depth=3)
    play.admit("/marked", nofollow=True)
    play.admit("/linked")
    play.admit("/listed", listed=True)
    play.admit("/deep-and-marked", depth=3, nofollow=True)
    play.commit()
    told = [play.told(path) for path in ("/deep", "/marked", "/linked", "/deep-and-marked")]
    assert told == [DEPTH, NOFOLLOW, UNLISTED, DEPTH]
    assert play.pages["/listed"].rank < MAX_RANK
    assert play.adds_up()


def test_what_no_road_makes_better_is_refused_at_once() -> None:
    play = Play()
    play.admit("/fine", "/" + "x" * 3000)
    play.commit()
    assert play.refused == {"/" + "x" * 3000: "length"}
    assert list(play.pages) == ["/fine"]


def test_where_the_sitemap_is_the_crawl_a_mere_link_is_refused_and_a_listed_page_let_in() -> None:
    play = by_sitemap()
    play.commit()
    end_sitemap(play, listed=1)
    play.admit("/linked")
    play.admit("/listed", listed=True)
    play.commit()
    assert play.refused == {"/linked": "unlisted"}
    assert play.pages["/listed"].rank < MAX_RANK


# -- better roads


@pytest.mark.parametrize("committed", [True, False])
def test_a_road_that_may_be_taken_lets_a_deferred_page_in(committed: bool) -> None:
    play = shallow()
    play.admit("/deep", depth=3)
    play.admit("/marked", nofollow=True)
    if committed:
        play.commit()
    play.another_road("/deep", depth=2)
    play.another_road("/marked", depth=2)
    batch = play.commit()
    assert [(move.depth, move.parent, move.position) for move in batch.moved] == [(2, 77, 5), (2, 77, 5)]
    assert all(page.rank < MAX_RANK for page in play.pages.values())
    assert play.adds_up()
    assert sorted(play.leased(2)) == ["/deep", "/marked"]


def test_a_page_that_is_listed_need_not_wait_for_the_sitemap_to_end() -> None:
    play = by_sitemap()
    play.admit("/page")
    play.commit()
    play.another_road("/page", listed=True)
    play.commit()
    assert play.pages["/page"].rank < MAX_RANK
    assert play.adds_up()


@pytest.mark.parametrize(
    ("first", "then", "ends"),
    [
        ((1, True), (1, False), UNLISTED),
        ((1, False), (1, True), UNLISTED),
        ((3, False), (2, False), UNLISTED),
        ((2, False), (3, False), UNLISTED),
        ((3, False), (2, True), DEPTH),
        ((2, True), (3, False), DEPTH),
    ],
)
def test_of_two_roads_that_both_defer_a_page_the_better_one_counts_in_any_order(
    first: tuple[int, bool], then: tuple[int, bool], ends: str
) -> None:
    play = by_sitemap()
    play.admit("/page", depth=first[0], nofollow=first[1])
    play.commit()
    play.another_road("/page", depth=then[0], nofollow=then[1])
    play.commit()
    assert play.told("/page") == ends
    assert play.adds_up()


def test_of_two_equal_roads_the_shorter_one_counts_and_a_longer_one_changes_nothing() -> None:
    play = shallow()
    play.admit("/page", depth=5)
    play.commit()
    play.another_road("/page", depth=4)
    play.another_road("/page", depth=5)
    moved = play.commit().moved
    assert moved == [Moved(page=1, depth=4, rank=Deferral.DEPTH.rank, parent=77, position=5)]
    play.another_road("/page", depth=4)
    assert not play.commit().moved


def test_a_page_that_was_let_in_and_found_again_in_the_same_commit_is_queued_once() -> None:
    play = shallow()
    play.admit("/page", depth=4)
    play.commit()
    page = play.pages["/page"]
    play.another_road("/page", depth=2)
    play.pages["/page"] = page
    play.another_road("/page", depth=1)
    play.another_road("/page", depth=2)
    play.commit()
    assert play.pages["/page"].depth == 1
    assert play.adds_up()
    assert play.leased(1) == ["/page"]
    assert play.run.drained


def test_a_page_without_a_budget_waits_on_but_knows_the_shorter_road() -> None:
    play = Play(source(traps=Traps(path_budget=2)))
    play.admit(*(f"/n/{number}" for number in range(3)), depth=3)
    play.commit()
    read_all(play, useful=False)
    assert play.told("/n/2") == BUDGET
    play.another_road("/n/2", depth=1)
    play.commit()
    assert (play.told("/n/2"), play.pages["/n/2"].depth) == (BUDGET, 1)
    assert play.adds_up()


def test_what_was_let_in_or_refused_since_the_last_commit_is_fresh() -> None:
    play = shallow()
    long = "/" + "x" * 3000
    play.admit("/page", long)
    play.admit("/deep", depth=9)
    urls = [HOST + path for path in ("/page", long, "/deep", "/other")]
    assert play.frontier.fresh(1, urls) == set(urls[:3])
    assert play.frontier.fresh(1, urls, guides=True) == set()
    assert [page.url for page in play.frontier.fresh_deferred(1, urls)] == [f"{HOST}/deep"]
    play.commit()
    assert not play.frontier.fresh(1, urls)
    assert not play.frontier.fresh_deferred(1, urls)


# -- what was deferred is judged


def test_pages_that_no_better_road_was_found_to_end_with_their_reason() -> None:
    play = shallow()
    play.admit("/deep", depth=3)
    play.admit("/marked", nofollow=True)
    play.commit()
    play.judge("/deep", "/marked")
    play.commit()
    assert (play.told("/deep"), play.told("/marked")) == ("skipped depth", "skipped nofollow")
    assert play.run.drained
    assert play.adds_up()


def test_a_page_that_is_not_too_deep_any_more_is_let_in() -> None:
    play = shallow()
    play.admit("/deep", depth=3)
    play.commit()
    deeper = Play(source(max_depth=3))
    deeper.run.deferred = 1
    deeper.pages = play.pages
    deeper.judge("/deep")
    for number, hosts in deeper.frontier.homeless().items():
        deeper.frontier.restore(0.0, number, hosts, [], [])
    deeper.commit()
    assert deeper.pages["/deep"].rank < MAX_RANK
    assert deeper.adds_up()


def test_a_linked_page_is_refused_when_the_sitemap_is_the_crawl_and_fetched_when_links_are() -> None:
    for listed, told in ((3, "skipped unlisted"), (0, None)):
        play = by_sitemap()
        play.admit("/linked")
        play.commit()
        end_sitemap(play, listed)
        play.judge("/linked")
        play.commit()
        if told:
            assert play.told("/linked") == told
            assert "the sitemap is where pages come from" in (play.ends["/linked"].error or "")
        else:
            assert play.pages["/linked"].rank < MAX_RANK
        assert play.run.deferred == 0


def test_a_linked_page_that_is_judged_while_more_is_being_read_waits_on() -> None:
    play = Play(source(discovery=Discovery(seed_from=(SeedFrom.LLMS,))))
    play.follow(play.run.discovery.first())
    play.admit("/linked")
    play.commit()
    play.judge("/linked")
    play.commit()
    assert play.told("/linked") == UNLISTED
    assert play.run.deferred == 1


# -- budgets


def numbered(count: int) -> list[str]:
    return [f"/n/{number}" for number in range(count)]


def read_all(play: Play, *, useful: bool, at_once: bool = False) -> int:
    """Fetch what may be fetched, one after the other or all at once; each page brings something new, or nothing."""
    count, out = 0, []
    while isinstance(lease := play.frontier.lease(play.now), Lease):
        count += 1
        out.append(lease)
        if not at_once:
            bring(play, out.pop(), useful=useful)
    for lease in out:
        bring(play, lease, useful=useful)
    play.commit()
    return count


def bring(play: Play, lease: Lease, *, useful: bool) -> None:
    print_ = Fingerprint(body=lease.url.encode(), stub=True, sketch=b"12345678" if useful else b"")
    play.settle(lease, Reading(document=document(text=lease.url), fingerprint=print_))


def run_dry(play: Play) -> None:
    play.run.dry += 1
    play.judge(*play.pages)
    play.commit()
    assert play.adds_up()


def test_a_pattern_that_proves_its_worth_as_it_goes_is_never_put_off() -> None:
    play = Play(source(traps=Traps(path_budget=4, thin_budget=4)))
    play.admit(*numbered(30))
    play.commit()
    assert read_all(play, useful=True) == 30
    assert play.run.drained


def test_a_budget_grows_each_time_the_source_runs_dry_while_its_pages_bring_something_new() -> None:
    play = Play(source(traps=Traps(path_budget=4, thin_budget=4)))
    play.admit(*numbered(30))
    play.commit()
    fetched = []
    while play.pages:
        fetched.append(read_all(play, useful=True, at_once=True))
        run_dry(play)
    assert fetched == [4, 4, 8, 14]
    assert play.run.drained
    assert {end.state for end in play.ends.values()} == {State.COMPLETED}


def test_a_pattern_that_brings_nothing_new_is_refused_with_what_it_brought() -> None:
    play = Play(source(traps=Traps(path_budget=4, thin_budget=4)))
    play.admit(*numbered(30))
    play.commit()
    assert read_all(play, useful=False) == 4
    run_dry(play)
    assert not play.pages
    assert play.told("/n/29") == "skipped trap"
    assert play.ends["/n/29"].error == "the pattern /n/# brought new content with 0 of 4 pages (budget 4)"


def test_a_pattern_that_stops_bringing_anything_new_is_refused_after_it_was_extended() -> None:
    play = Play(source(traps=Traps(path_budget=4, thin_budget=4)))
    play.admit(*numbered(30))
    play.commit()
    read_all(play, useful=True, at_once=True)
    run_dry(play)
    read_all(play, useful=False, at_once=True)
    run_dry(play)
    assert read_all(play, useful=False, at_once=True) == 8
    run_dry(play)
    assert not play.pages
    assert sum(end.state is State.SKIPPED for end in play.ends.values()) == 30 - 16


def test_pages_of_other_patterns_and_seeds_are_not_counted() -> None:
    play = Play(source(traps=Traps(path_budget=2)))
    play.admit(*numbered(5), depth=0)
    play.admit("/a", "/b", "/c", "/m/1", "/m/2")
    play.commit()
    assert play.run.deferred == 0
    assert play.run.queued == 10
