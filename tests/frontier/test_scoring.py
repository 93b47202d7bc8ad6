"""Best first: what the score follows, and that a user's function can do no harm."""

from __future__ import annotations

import logging
from math import inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gossamer.frontier import scoring
from gossamer.frontier.scoring import PageFacts, guarded, raised, rank_of, score
from gossamer.model import MAX_RANK

PLAIN = PageFacts(url="https://example.com/a/b", depth=2)
SHARES = st.none() | st.floats()
FACTS = st.builds(
    PageFacts,
    url=st.sampled_from(["https://example.com/", "https://example.com/a", "https://example.com/a/b/c?d=e"]),
    depth=st.integers(),
    priority=SHARES,
    mentions=st.integers(),
    change_rate=SHARES,
    listed=st.booleans(),
)
RANKS = st.integers(min_value=0, max_value=MAX_RANK - 1)


@pytest.mark.parametrize(
    "better",
    [
        replace(PLAIN, depth=1),
        replace(PLAIN, priority=0.8),
        replace(PLAIN, url="https://example.com/a"),
        replace(PLAIN, mentions=5),
        replace(PLAIN, change_rate=0.9),
        replace(PLAIN, listed=True),
    ],
)
def test_every_signal_moves_a_page_to_the_front(better: PageFacts) -> None:
    assert score(better) > score(PLAIN)
    assert rank_of(score(better)) < rank_of(score(PLAIN))


def test_the_weights_make_up_one_and_a_perfect_page_reaches_it() -> None:
    weights = (
        scoring.DEPTH,
        scoring.PRIORITY,
        scoring.PATH,
        scoring.MENTIONS,
        scoring.CHANGES,
        scoring.LISTED,
    )
    assert sum(weights) == pytest.approx(1)
    perfect = PageFacts(url="https://example.com/", priority=1, mentions=5_000, change_rate=1, listed=True)
    assert score(perfect) == pytest.approx(1)


@given(FACTS)
def test_the_score_is_between_nought_and_one(facts: PageFacts) -> None:
    assert 0 <= score(facts) <= 1 + 1e-9


@given(st.floats(allow_nan=False), st.floats(allow_nan=False))
def test_ranks_follow_scores_and_are_never_those_of_deferred_pages(one: float, other: float) -> None:
    assert 0 <= rank_of(one) < MAX_RANK
    assert one > other or rank_of(one) >= rank_of(other)


@given(RANKS, st.integers(min_value=0, max_value=10_000), st.integers(min_value=0, max_value=10_000))
def test_mentions_only_ever_raise_a_page(rank: int, some: int, more: int) -> None:
    assert 0 <= raised(rank, some + more) <= raised(rank, some) <= rank


def test_a_mention_of_a_page_that_is_not_first_yet_moves_it() -> None:
    assert raised(1, 1) == 0
    assert raised(32_000, 1) == 31_000
    assert raised(0, 5) == 0


def test_a_mention_does_not_take_a_page_out_of_its_deferral() -> None:
    assert raised(MAX_RANK + 3, 1_000) == MAX_RANK + 3


@pytest.mark.parametrize(
    ("given_", "wanted"), [(0.25, 0.25), (7, 1.0), (-3, 0.0), (inf, 1.0), (-inf, 0.0), (True, 1.0)]
)
def test_what_a_users_function_gives_is_brought_between_nought_and_one(given_: float, wanted: float) -> None:
    assert guarded(lambda facts: given_)(PLAIN) == wanted


def test_a_users_function_that_fails_gives_way_to_the_default_and_is_told_of_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def broken(facts: PageFacts) -> float:
        raise KeyError(facts.url)

    safe = guarded(broken)
    with caplog.at_level(logging.WARNING):
        assert [safe(PLAIN), safe(PLAIN)] == [score(PLAIN)] * 2
    assert len(caplog.records) == 1
    assert PLAIN.url in caplog.text
    assert "KeyError" in caplog.text


def test_not_a_number_is_a_failure_too(caplog: pytest.LogCaptureFixture) -> None:
    assert guarded(lambda facts: nan)(PLAIN) == score(PLAIN)
    assert "not a number" in caplog.text
