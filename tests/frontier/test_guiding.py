"""Guides that came back: done with only when all they list was let in."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gossamer.frontier.machine import Frontier
from gossamer.frontier.policy import Rules
from gossamer.model import (
    Discovery,
    Entry,
    Error,
    Fault,
    Found,
    Guide,
    Lease,
    LeaseKind,
    Outcome,
    PendingPage,
    Previous,
    Revisited,
    SeedFrom,
    Settled,
    State,
)
from tests.frontier.makers import HOST, Play, source

MAP = f"{HOST}/sitemap.xml"
NEXT = f"{HOST}/sitemap_index.xml"


class Guided(Play):
    """A source whose first sitemap is out."""

    def __init__(self, rules: Rules | None = None) -> None:
        super().__init__(source(discovery=Discovery(seed_from=(SeedFrom.AUTO,))), rules)
        self.take(self.run.discovery.first())
        self.commit()
        self.out = self.lease()

    def take(self, found: list[Found]) -> list[Found]:
        """Let in guides; what is left are pages."""
        for each in found:
            if each.kind.guide:
                self.let_in(each.candidates(set(each.urls)))
                self.run.discovery.let_in(each, len(each.urls))
        return [each for each in found if not each.kind.guide]

    def answered(self, outcome: Callable[[int], Outcome]) -> list[Found]:
        found = self.frontier.settle(self.now, outcome(self.out.token))
        assert found is not None
        return found

    @property
    def guide(self) -> int:
        return self.out.page

    def facts(self) -> list[Settled]:
        return self.commit().settled


def lists(*paths: str, guides: tuple[str, ...] = (), note: str | None = None) -> Callable[[int], Outcome]:
    guide = Guide(entries=tuple(Entry(HOST + path) for path in paths), guides=guides, note=note)
    return lambda token: Outcome(token=token, status=200, guide=guide)


def status(code: int, location: str | None = None) -> Callable[[int], Outcome]:
    return lambda token: Outcome(token=token, status=code, location=location)


def test_a_guide_is_leased_as_what_it_is() -> None:
    play = Guided()
    assert (play.out.kind, play.out.url) == (LeaseKind.SITEMAP, MAP)
    assert play.run.granted == 0, "a guide is no page"
    assert (play.run.processing, play.run.leased) == (0, 1)


def test_a_guide_is_done_with_only_after_all_it_lists_was_let_in() -> None:
    play = Guided()
    (found,) = play.answered(lists("/1", "/2", "/", note="cut at 3 URLs"))
    assert found.urls == (f"{HOST}/1", f"{HOST}/2", f"{HOST}/")
    assert found.listed
    assert not play.facts(), "until then it counts as being out"
    assert play.run.leased == 1
    assert not play.run.drained
    play.frontier.guiding.count(play.guide, found.urls[:1])
    play.frontier.guiding.count(play.guide, found.urls[1:])
    play.frontier.guiding.done(play.now, play.guide)
    (fact,) = play.facts()
    assert (fact.state, fact.listed, fact.error) == (State.COMPLETED, 2, "cut at 3 URLs")
    assert play.run.leased == 0
    assert play.run.discovery.follows(HOST) is False


def test_a_guide_is_done_with_once() -> None:
    play = Guided()
    play.answered(lists("/1"))
    play.frontier.guiding.done(play.now, play.guide)
    play.frontier.guiding.done(play.now, play.guide)
    play.frontier.guiding.count(play.guide, (f"{HOST}/2",))
    assert len(play.facts()) == 1
    assert play.run.leased == 0


def test_a_guide_that_lists_nothing_is_done_with_at_once() -> None:
    play = Guided()
    assert not play.answered(lists())
    (fact,) = play.facts()
    assert (fact.state, fact.listed) == (State.COMPLETED, 0)
    assert play.run.drained


def test_a_guide_that_was_not_let_in_yet_is_pending_again_when_the_crawl_stops() -> None:
    play = Guided()
    (found,) = play.answered(lists("/1", "/2"))
    play.frontier.guiding.count(play.guide, found.urls[:1])
    play.frontier.abandon(play.now)
    (fact,) = play.facts()
    assert (fact.state, fact.listed) == (State.PENDING, 0)
    assert (play.run.leased, play.run.queued, play.run.guides) == (0, 1, 1)
    play.frontier.guiding.done(play.now, play.guide)
    assert not play.facts(), "what comes after that changes nothing"


@pytest.mark.parametrize("code", [404, 410])
def test_a_place_without_a_guide_is_skipped_and_the_next_place_asked(code: int) -> None:
    play = Guided()
    (found,) = play.answered(status(code))
    assert (found.urls, found.kind) == ((NEXT,), LeaseKind.SITEMAP)
    assert play.run.leased == 1, "until the next one was let in"
    play.take([found])
    play.frontier.guiding.done(play.now, play.guide)
    (fact,) = play.facts()
    assert fact.state is State.SKIPPED
    assert (fact.error or "").startswith(f"not there: {code}")
    assert play.run.discovery.follows(HOST) is None
    assert play.lease().url == NEXT


def test_a_guide_that_cannot_be_had_fails_with_its_reason() -> None:
    play = Guided()
    (found,) = play.answered(status(403))
    assert found.urls == (NEXT,)
    play.frontier.guiding.done(play.now, play.guide)
    (fact,) = play.facts()
    assert (fact.state, fact.error) == (State.FAILED, "status: 403 Forbidden")


def test_a_guide_that_cannot_be_read_fails_with_its_reason() -> None:
    play = Guided()
    error = Error(fault=Fault.PARSE, text="the guide could not be read")
    play.answered(lambda token: Outcome(token=token, status=200, error=error))
    play.frontier.guiding.done(play.now, play.guide)
    (fact,) = play.facts()
    assert (fact.state, fact.error) == (State.FAILED, "parse: the guide could not be read")


def test_a_guide_that_moved_is_followed_as_a_guide() -> None:
    play = Guided()
    (found,) = play.answered(status(301, location="http://b.example/map.xml"))
    assert (found.urls, found.kind, found.about) == (("http://b.example/map.xml",), LeaseKind.SITEMAP, HOST)
    play.take([found])
    play.frontier.guiding.done(play.now, play.guide)
    (fact,) = play.facts()
    assert (fact.state, fact.error) == (State.COMPLETED, "redirects to http://b.example/map.xml")
    assert play.run.discovery.follows(HOST) is None, "where it leads is waited for"


def test_a_host_that_is_throttled_is_asked_again_for_its_guide() -> None:
    play = Guided()
    assert not play.answered(status(503))
    (fact,) = play.facts()
    assert fact.state is State.PENDING
    assert (play.run.leased, play.run.queued) == (0, 1)
    assert play.run.discovery.follows(HOST) is None
    play.now = 100.0
    assert play.lease().url == MAP


def test_a_guide_that_was_not_modified_keeps_what_it_had() -> None:
    play = Play(source(discovery=Discovery(seed_from=(SeedFrom.AUTO,)), rounds=2))
    play.frontier.restore(0.0, 1, [HOST], [], [])
    guide = PendingPage(
        id=5,
        source=1,
        url=MAP,
        host=HOST,
        depth=0,
        rank=0,
        kind=LeaseKind.SITEMAP,
        target=HOST,
        previous=Previous(state=State.COMPLETED, etag='"1"'),
    )
    play.frontier.queues.add(0.0, play.run, guide)
    lease = play.lease()
    assert lease.validators.etag == '"1"'
    assert play.frontier.settle(0.0, Outcome(token=lease.token, status=304)) == []
    (fact,) = play.commit().settled
    assert (fact.state, fact.revisit) == (State.COMPLETED, Revisited(unchanged=True))


# -- how many at once


def test_only_so_many_guides_are_out_at_once_and_pages_do_not_wait_for_them() -> None:
    play = Play(source(discovery=Discovery(seed_from=(SeedFrom.SITEMAP, SeedFrom.LINKS))), Rules(guides_at_once=2))
    maps = Found(
        source=1, urls=tuple(f"{HOST}/{number}.xml" for number in range(5)), depth=0, kind=LeaseKind.SITEMAP, about=HOST
    )
    play.let_in(maps.candidates(set(maps.urls)))
    play.run.discovery.let_in(maps, 5)
    play.admit("/a", "/b")
    guides, pages = out(play.frontier)
    assert len(guides) == 2
    assert len(pages) == 2
    settle = Outcome(token=guides[0].token, status=200, guide=Guide(entries=(Entry(f"{HOST}/c"),)))
    play.frontier.settle(0.0, settle)
    assert out(play.frontier) == ([], []), "it is still being let in"
    play.frontier.guiding.done(0.0, guides[0].page)
    assert [lease.url for lease in out(play.frontier)[0]] == [f"{HOST}/2.xml"]


def out(frontier: Frontier) -> tuple[list[Lease], list[Lease]]:
    """All that can be had just now: guides and pages."""
    leases = []
    while isinstance(lease := frontier.lease(0.0), Lease):
        leases.append(lease)
    return [each for each in leases if each.kind.guide], [each for each in leases if not each.kind.guide]
