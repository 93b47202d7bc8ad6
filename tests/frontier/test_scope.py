from __future__ import annotations

import pytest

from gossamer.frontier.scope import ScopeJudge
from gossamer.model import Scope, ScopeMode, Why

SEED = "https://docs.example.co.uk/guide/"


def reason(url: str, scope: Scope | None = None, *, seed: str = SEED) -> Why | None:
    refusal = ScopeJudge(scope or Scope(), [seed]).refusal(url)
    return refusal and refusal[0]


@pytest.mark.parametrize("seed", [SEED, "https://docs.example.co.uk/guide", f"{SEED}index.html", f"{SEED}?page=2"])
@pytest.mark.parametrize(
    ("url", "inside"),
    [
        ("https://docs.example.co.uk/guide/", True),
        ("https://docs.example.co.uk/guide/a/b?c=d", True),
        ("http://docs.example.co.uk/guide/a", True),
        ("https://docs.example.co.uk/guidebook/", False),
        ("https://docs.example.co.uk/", False),
        ("https://docs.example.co.uk:8443/guide/a", False),
        ("https://example.co.uk/guide/a", False),
    ],
)
def test_a_prefix_scope_is_the_folder_of_the_seed_on_its_host(seed: str, url: str, inside: bool) -> None:
    assert reason(url, seed=seed) is (None if inside else Why.SCOPE)


def test_a_seed_is_always_inside_its_own_prefix() -> None:
    assert reason("https://e.example/a/one", seed="https://e.example/a/one") is None
    assert reason("https://e.example/a/two", seed="https://e.example/a/one") is Why.SCOPE


@pytest.mark.parametrize(
    ("mode", "outside", "inside"),
    [
        (ScopeMode.HOST, "https://www.example.co.uk/", "https://docs.example.co.uk/elsewhere"),
        (ScopeMode.SITE, "https://other.co.uk/", "https://www.example.co.uk/"),
    ],
)
def test_host_and_site_scopes_end_where_they_say(mode: ScopeMode, outside: str, inside: str) -> None:
    assert reason(inside, Scope(mode=mode)) is None
    assert reason(outside, Scope(mode=mode)) is Why.SCOPE


def test_any_scope_takes_everything() -> None:
    assert reason("http://127.0.0.1:9/x", Scope(mode=ScopeMode.ANY)) is None


def test_exclude_beats_include_and_both_name_their_reason() -> None:
    patterns = Scope(include=("/keep/",), exclude=(r"\.tmp$",), mode=ScopeMode.ANY)
    assert reason("https://a.example/keep/x", patterns) is None
    assert reason("https://a.example/keep/x.tmp", patterns) is Why.EXCLUDE
    assert reason("https://a.example/drop/x", patterns) is Why.INCLUDE


def test_a_seed_need_not_match_the_include_patterns() -> None:
    assert reason(SEED, Scope(include=("/never/",))) is None


def test_a_pattern_that_would_hang_other_engines_is_answered_at_once() -> None:
    assert reason(f"{SEED}{'a' * 2_000}!", Scope(exclude=(r"(a+)+$",))) is None


def test_file_types_are_told_by_the_last_part_of_the_path() -> None:
    skip = Scope(skip_types=("zip",), mode=ScopeMode.HOST)
    assert reason("https://docs.example.co.uk/x.ZIP?download=1", skip) is Why.TYPE
    assert reason("https://docs.example.co.uk/x.zip/readme", skip) is None
    assert reason("https://docs.example.co.uk/page?file=x.zip", skip) is None


def test_very_long_urls_are_refused() -> None:
    assert reason(SEED + "a" * 3_000) is Why.LENGTH


def test_depth_is_counted_up_to_and_with_the_limit() -> None:
    judge = ScopeJudge(Scope(max_depth=2), [SEED])
    assert [judge.too_deep(depth) for depth in (0, 2, 3)] == [False, False, True]
    assert not ScopeJudge(Scope(), [SEED]).too_deep(1_000)
