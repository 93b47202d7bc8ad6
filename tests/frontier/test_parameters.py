"""What a host teaches about its parameters: learnt from enough pages, unlearnt by one, and never guessed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.frontier import parameters
from gossamer.frontier.parameters import ENOUGH, MAX_NAMES, MAX_SAMPLES, Parameters
from gossamer.model import Fingerprint, Learnt, PendingPage, Previous, State, Why
from tests.frontier.makers import HOST, WALL, Play, source

SITE = "https://example.com"
SID = Learnt(parameters={"sid": (3, 0), "page": (9, 1), ";jsessionid": (3, 0), "ref": (2, 0)})


def taught(*pages: tuple[str, str]) -> Parameters:
    host = Parameters()
    for path, content in pages:
        host.observe(SITE + path, content)
    return host


def spelt(host: Parameters, path: str) -> str:
    return host.spelling(SITE + path).removeprefix(SITE)


def test_three_pages_that_say_the_same_with_another_value_teach_it() -> None:
    host = Parameters()
    news = [host.observe(f"{SITE}/{page}?sid={sid}", page) for page in "abcd" for sid in (1, 2)]
    assert news == [False] * 5 + [True] + [False] * 2
    assert spelt(host, "/z?sid=9") == "/z"
    assert spelt(host, "/z?a=1&sid=9&b=2") == "/z?a=1&b=2"
    assert host.reason(f"{SITE}/z?sid=9") == "the parameter sid does not change pages of this host (seen 3 times)"


def test_a_page_without_the_parameter_counts_as_well() -> None:
    host = taught(
        ("/a?sid=1", "a"), ("/a", "a"), ("/b", "b"), ("/b?sid=2", "b"), ("/c?x=1", "c"), ("/c?x=1&sid=3", "c")
    )
    assert spelt(host, "/z?sid=4") == "/z"
    assert spelt(host, "/z?x=4") == "/z?x=4"


def test_path_parameters_are_learnt_too() -> None:
    host = taught(*((f"/{page}.do;jsessionid={sid}?x=1", page) for page in "abc" for sid in (1, 2)))
    assert spelt(host, "/shop;jsessionid=77/cart.do;v=1;jsessionid=78?x=2") == "/shop/cart.do;v=1?x=2"
    assert "jsessionid does not change" in host.reason(f"{SITE}/shop;jsessionid=77/cart.do")


def test_the_order_of_parameters_is_learnt() -> None:
    host = taught(*((f"/{page}?{order}", page) for page in "abc" for order in ("y=1&x=2", "x=2&y=1")))
    assert spelt(host, "/z?c=1&a=2&b=3&a=1") == "/z?a=2&a=1&b=3&c=1"
    assert "order of parameters" in host.reason(f"{SITE}/z?c=1&a=2")
    assert host.reason(f"{SITE}/z?a=2&c=1") == ""


def test_an_order_that_matters_is_kept() -> None:
    pages = [(f"/{page}?{order}", page) for page in "abc" for order in ("y=1&x=2", "x=2&y=1")]
    host = taught(*pages, ("/d?y=1&x=2", "d"), ("/d?x=2&y=1", "D"))
    assert spelt(host, "/z?c=1&a=2") == "/z?c=1&a=2"


def test_one_page_that_differs_unlearns_for_good() -> None:
    host = taught(*((f"/{page}?sid={sid}", page) for page in "abc" for sid in (1, 2)))
    host.observe(f"{SITE}/d?sid=1", "one")
    assert host.observe(f"{SITE}/d?sid=2", "another")
    for page in "efghi":
        assert not any(host.observe(f"{SITE}/{page}?sid={sid}", page) for sid in (1, 2))
    assert spelt(host, "/z?sid=1") == "/z?sid=1"
    assert host.reason(f"{SITE}/z?sid=1") == ""


def test_pages_that_all_say_one_thing_are_one_case() -> None:
    host = taught(*((f"/{page}?id={number}", "please log in") for page in "abcdef" for number in range(5)))
    assert host.learnt().parameters == {"id": (1, 0)}
    assert spelt(host, "/a?id=7") == "/a?id=7"


def test_the_same_page_again_is_no_case() -> None:
    host = taught(*((f"/{page}?sid=1", page) for page in "abc" for _ in range(3)))
    assert host.learnt() == Learnt()


def test_pages_without_a_hash_teach_nothing() -> None:
    host = taught(*((f"/{page}?sid={sid}", "") for page in "abc" for sid in (1, 2)))
    assert host.learnt() == Learnt()


def test_a_parameter_beside_one_that_was_learnt_is_learnt_as_well() -> None:
    host = Parameters(SID)
    for page in "abc":
        host.observe(f"{SITE}/{page}?sid={page}1&ts=1", page)
        host.observe(f"{SITE}/{page}?sid={page}2&ts=2", page)
    assert spelt(host, "/z?sid=1&ts=2&x=3") == "/z?x=3"
    assert host.reason(f"{SITE}/z?sid=1&ts=2") == (
        "the parameter sid does not change pages of this host (seen 3 times); "
        "the parameter ts does not change pages of this host (seen 3 times)"
    )


def test_what_was_learnt_survives_and_the_rest_of_the_record_stays() -> None:
    missing = Fingerprint(body=b"x")
    host = taught(*((f"/{page}?sid={sid}", page) for page in "abc" for sid in (1, 2)))
    restored = Parameters(host.learnt())
    assert spelt(restored, "/z?sid=1") == "/z"
    kept = Parameters(Learnt(parameters={"a": (1, 1)}, order=(2, 0), missing=missing, probed=True))
    assert kept.learnt() == Learnt(parameters={"a": (1, 1)}, order=(2, 0), missing=missing, probed=True)


@pytest.mark.parametrize("path", ["/", "/a?page=1", "/a?ref=1", "/a?x&&y=", "/a?", "/a?&", "/a;v=1/b", "/sid/;sid"])
def test_what_nothing_is_known_of_is_left_as_it_is(path: str) -> None:
    assert spelt(Parameters(SID), path) == path
    assert Parameters(SID).reason(SITE + path) == ""


QUERIES = st.lists(
    st.tuples(st.sampled_from(["sid", "ref", "page", "x", "", ";jsessionid"]), st.sampled_from(["", "=", "=1", "=2?"])),
    max_size=6,
).map(lambda pairs: "&".join(map("".join, pairs)))
PATHS = st.text(alphabet="ab/;=", max_size=12) | st.sampled_from(["a;jsessionid=1", "a;jsessionid=1/b;v=2;jsessionid="])
KNOWN = st.sampled_from([Learnt(), SID, Learnt(order=(3, 0)), Learnt(parameters=SID.parameters, order=(5, 0))])


@given(KNOWN, PATHS, st.none() | QUERIES)
def test_a_spelling_is_its_own_spelling_and_keeps_the_place(known: Learnt, path: str, query: str | None) -> None:
    host = Parameters(known)
    url = f"{SITE}/{path}" + ("" if query is None else f"?{query}")
    spelling = host.spelling(url)
    assert host.spelling(spelling) == spelling
    assert bare(spelling) == bare(url)
    assert bool(host.reason(url)) == (spelling != url)


def bare(url: str) -> str:
    """A URL without query and session."""
    return parameters._PATH_PARAMETER.sub(
        lambda found: "" if found[1] == ";jsessionid" else found[0], url.partition("?")[0]
    )


PAGES = st.lists(st.tuples(PATHS, QUERIES, st.sampled_from(["", "one", "two"])), max_size=60)


@given(PAGES)
def test_nothing_against_is_ever_forgotten(pages: list[tuple[str, str, str]]) -> None:
    host, against = Parameters(), set[str]()
    for path, query, content in pages:
        host.observe(f"{SITE}/{path}?{query}", content)
        now = {name for name, counts in host.learnt().parameters.items() if counts[1]}
        assert against <= now
        against = now


def test_memory_stays_bounded() -> None:
    host = Parameters()
    for number in range(3_000):
        host.observe(f"{SITE}/page/{number % 700}?a={number}&n{number}=1&n{number + 1}=2", "same")
        host.observe(f"{SITE}/page?n{number}=1", str(number))
    assert len(host._samples) <= MAX_SAMPLES
    assert max(map(len, host._samples.values())) <= 8
    assert len(host.learnt().parameters) <= MAX_NAMES


def test_a_page_that_was_completed_under_its_address_keeps_it_though_a_parameter_was_learnt_since() -> None:
    play = Play(source(rounds=2))
    play.admit("/first")
    host = play.frontier._hosts.get(HOST)
    assert host is not None
    host.parameters = Parameters(Learnt(parameters={"sid": (ENOUGH, 0)}))
    kept, folded = (
        PendingPage(id=number, source=1, url=f"{HOST}/p?sid={number}", host=HOST, depth=1, rank=5, previous=previous)
        for number, previous in ((10, Previous(state=State.COMPLETED)), (11, None))
    )
    play.frontier.reopen(0.0, [kept, folded])
    ended = {fact.page: fact for fact in play.frontier.collect(0.0, WALL).settled}
    assert list(ended) == [folded.id]
    assert (ended[folded.id].reason, ended[folded.id].target) == (Why.DUPLICATE, f"{HOST}/p")
