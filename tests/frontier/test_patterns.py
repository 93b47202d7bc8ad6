"""Budgets of patterns: a trap costs its budget once, and nothing that is worth it is ever refused."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.frontier.patterns import DEEPEST_THIN, MAX_PATTERNS, Patterns, Ruling, Verdict, Worth, pattern_of
from gossamer.model import PatternRecord, Traps

HOST = "https://example.com"
LIMITS = Traps(path_budget=5, query_budget=3, host_budget=1_000)


@pytest.mark.parametrize(
    ("path", "pattern"),
    [
        ("/calendar/2031/04", "/calendar/#/#"),
        ("/calendar/2031-04-17", "/calendar/#"),
        ("/2011/11/11/hello-world", "/#/#/#/*"),
        ("/blog/deep/down/7/", "/blog/*/*/#"),
        ("/item/123.html", "/item/#.html"),
        ("/item/550e8400-e29b-41d4-a716-446655440000/view", "/item/#/*"),
        ("/commit/0123456789abcdef0123456789abcdef01234567", "/commit/#"),
        ("/docs/1.0/page/7", "/docs/1.0/*/#"),
        ("/docs/v2/7", "/docs/v2/#"),
        ("/docs/v1.2.3/7", "/docs/v1.2.3/#"),
        ("/docs/2.x/7", "/docs/2.x/#"),
        ("/docs/3.12.0rc1/7", "/docs/3.12.0rc1/#"),
        ("/page-12", "/page-#"),
        ("/page-12.html", "/page-#.html"),
        ("/list/page-12.html", "/list/*-#.html"),
        ("/questions/123-how-to", "/questions/#-*"),
    ],
)
def test_numbers_dates_and_ids_make_a_pattern(path: str, pattern: str) -> None:
    assert pattern_of(HOST + path) == (pattern, False)


@pytest.mark.parametrize(
    ("path", "pattern"),
    [
        ("/?p=7", "/?p"),
        ("/search?q=a&page=2", "/search?page&q"),
        ("/search?page=2&q=a", "/search?page&q"),
        ("/shop/shoes/red?sort=price", "/shop/*/*?sort"),
        ("/forum/viewtopic.php?t=5&f=1", "/forum/viewtopic.php?f&t"),
        ("/shop/7?f[0]=a&f[1]=b&f%5B2%5D=c", "/shop/#?f%5B#%5D&f[#]"),
    ],
)
def test_a_query_is_known_by_the_names_of_its_parameters(path: str, pattern: str) -> None:
    assert pattern_of(HOST + path) == (pattern, True)


@pytest.mark.parametrize("path", ["/", "/about", "/docs/1.0/api/v2/", "/en/latest/guide.html", "/a/deadbeef/facade"])
def test_words_and_versions_alone_have_no_pattern(path: str) -> None:
    assert pattern_of(HOST + path) is None


@given(st.lists(st.text(max_size=300), max_size=40))
def test_a_pattern_is_short_whatever_the_url(pieces: list[str]) -> None:
    found = pattern_of(f"{HOST}/{'/'.join(pieces)}")
    assert found is None or len(found[0]) < 400


def fresh(limits: Traps = LIMITS) -> Patterns:
    return Patterns(1, HOST, limits)


def days(count: int) -> list[str]:
    return [f"{HOST}/calendar/{day}" for day in range(count)]


def test_a_pattern_has_its_budget_and_what_is_not_admitted_is_not_counted() -> None:
    patterns = fresh()
    assert [patterns.admit(url) for url in days(7)] == [True] * 5 + [False] * 2
    assert {name: record.admitted for name, record in tallies(patterns).items()} == {"": 5, "/calendar/#": 5}


def test_words_and_other_patterns_do_not_share_a_budget() -> None:
    patterns = fresh()
    assert all(patterns.admit(url) for url in days(5))
    assert all(patterns.admit(f"{HOST}/blog/{number}") for number in range(5))
    assert all(patterns.admit(f"{HOST}/word-{chr(97 + n)}") for n in range(26))
    assert [patterns.admit(f"{HOST}/calendar/1?day={n}") for n in range(4)] == [True] * 3 + [False]


def test_a_pattern_that_brought_nothing_is_refused_with_its_figures() -> None:
    patterns = fresh()
    crawl(patterns, days(5), useful=lambda url: url.endswith("0"))
    text = "the pattern /calendar/# brought new content with 1 of 5 pages (budget 5)"
    assert patterns.verdict(days(6)[-1], depth=1, dry=1) == Verdict(Ruling.REFUSE, text)


def test_a_pattern_of_which_half_was_new_gets_as_much_again() -> None:
    patterns = fresh(Traps(path_budget=4))
    crawl(patterns, days(4), useful=lambda url: url[-1] in "01")
    more = days(9)[4:]
    assert patterns.verdict(more[0], depth=1, dry=1).ruling is Ruling.EXTEND
    assert [patterns.admit(url) for url in more] == [True] * 4 + [False]


def test_a_pattern_is_extended_once_each_time_its_source_runs_dry() -> None:
    patterns = fresh()
    crawl(patterns, days(5), useful=lambda url: True)
    rulings = [patterns.verdict(url, depth=1, dry=1).ruling for url in days(17)[5:]]
    assert rulings == [Ruling.EXTEND] * 5 + [Ruling.WAIT] * 7
    assert all(patterns.admit(url) for url in days(10)[5:])
    assert patterns.verdict(days(17)[-1], depth=1, dry=2).ruling is Ruling.EXTEND


def test_a_pattern_with_hardly_a_word_goes_on_while_it_does_not_lead_deeper_and_deeper() -> None:
    patterns = fresh(Traps(path_budget=4, thin_budget=16))
    for url in days(4):
        patterns.admit(url)
        patterns.settled(url, Worth.THIN)
    next_day = days(5)[-1]
    assert patterns.verdict(next_day, depth=DEEPEST_THIN + 1, dry=1).ruling is Ruling.REFUSE
    assert patterns.verdict(next_day, depth=DEEPEST_THIN, dry=1).ruling is Ruling.EXTEND


def test_a_pattern_with_hardly_a_word_has_a_budget_of_its_own() -> None:
    patterns = fresh(Traps(path_budget=4, thin_budget=16))
    admitted = 0
    for dry in range(10):
        for url in days(100)[admitted:]:
            if not patterns.admit(url):
                break
            patterns.settled(url, Worth.THIN)
            admitted += 1
        patterns.verdict(days(100)[admitted], depth=1, dry=dry)
    assert admitted == 16


def test_copies_among_pages_with_hardly_a_word_still_count_against_them() -> None:
    patterns = fresh(Traps(path_budget=4))
    for number, url in enumerate(days(4)):
        patterns.admit(url)
        patterns.settled(url, Worth.THIN if number == 0 else Worth.USELESS)
    assert patterns.verdict(days(5)[-1], depth=1, dry=1).ruling is Ruling.REFUSE


def test_a_host_has_a_budget_too_and_it_is_never_extended() -> None:
    patterns = fresh(Traps(host_budget=3))
    words = [f"{HOST}/{word}" for word in "abcd"]
    crawl(patterns, words[:3], useful=lambda url: True)
    assert not patterns.admit(words[3])
    text = "the host brought new content with 3 of 3 pages (budget 3)"
    assert patterns.verdict(words[3], depth=1, dry=1) == Verdict(Ruling.REFUSE, text)


def test_only_what_changed_is_collected() -> None:
    patterns = fresh()
    patterns.admit(days(1)[0])
    assert [record.pattern for record in patterns.collect()] == ["", "/calendar/#"]
    assert patterns.collect() == []
    patterns.admit(f"{HOST}/word")
    assert [record.pattern for record in patterns.collect()] == [""]


def test_a_larger_budget_counts_for_a_pattern_that_was_restored() -> None:
    patterns = fresh()
    crawl(patterns, days(5), useful=lambda url: False)
    assert not patterns.admit(days(6)[-1])
    wider = Patterns(1, HOST, Traps(path_budget=6), patterns.collect())
    assert [wider.admit(url) for url in days(8)[5:]] == [True, False, False]


@given(st.integers(min_value=0, max_value=40), st.integers(min_value=1, max_value=400))
def test_an_endless_useless_pattern_never_gets_more_than_its_budget(budget: int, size: int) -> None:
    assert crawl_all(fresh(Traps(path_budget=budget)), days(size), lambda url: False) == min(budget, size)


@given(st.integers(min_value=1, max_value=40), st.integers(min_value=0, max_value=1_000))
def test_a_useful_pattern_of_any_size_is_never_refused(budget: int, size: int) -> None:
    assert crawl_all(fresh(Traps(path_budget=budget)), days(size), lambda url: True) == size


@given(st.integers(min_value=1, max_value=40), st.integers(min_value=0, max_value=120))
def test_a_pattern_that_turns_useless_costs_no_more_than_four_times_what_it_gave(budget: int, good: int) -> None:
    urls = days(500)
    worth = frozenset(urls[:good])
    assert crawl_all(fresh(Traps(path_budget=budget)), urls, worth.__contains__) <= max(budget, 4 * good)


@given(st.lists(st.tuples(st.integers(0, 5_000), st.sampled_from(["", "/7", "?a=1", "?b=1&c=2"])), max_size=600))
def test_memory_stays_bounded_however_many_patterns_there_are(shapes: list[tuple[int, str]]) -> None:
    patterns = fresh(Traps())
    for number, rest in shapes:
        patterns.admit(f"{HOST}/{chr(97 + number % 26)}{number}x{rest}")
    assert len(patterns) <= MAX_PATTERNS


def test_a_flood_of_patterns_shares_coarse_budgets() -> None:
    patterns = fresh(Traps(path_budget=100, query_budget=100))
    admitted = sum(patterns.admit(f"{HOST}/word{number}x/1") for number in range(5_000))
    assert len(patterns) <= MAX_PATTERNS
    assert admitted < MAX_PATTERNS + 100
    odd = [
        f"{HOST}/**{number}x{'/1' * (number % 40)}?{'&'.join(f'p{n}' for n in range(number % 40))}"
        for number in range(5_000)
    ]
    for url in odd:
        patterns.admit(url)
    assert len(patterns) <= MAX_PATTERNS


STEPS = st.lists(st.tuples(st.sampled_from(["a", "b"]), st.integers(0, 50), st.booleans()), max_size=120)


@given(STEPS, st.integers(min_value=0, max_value=120))
def test_restored_patterns_go_on_as_if_nothing_had_happened(
    steps: list[tuple[str, int, bool]], restart_after: int
) -> None:
    steady, restarted, saved = fresh(), fresh(), dict[str, PatternRecord]()
    for number, step in enumerate(steps):
        if number == restart_after:
            restarted = Patterns(1, HOST, LIMITS, saved.values())
        assert act(steady, step, number) == act(restarted, step, number)
        saved |= tallies(restarted)
    assert saved == tallies(steady)


def act(patterns: Patterns, step: tuple[str, int, bool], dry: int) -> tuple[bool, Verdict | None]:
    folder, number, useful = step
    url = f"{HOST}/{folder}/{number}"
    admitted = patterns.admit(url)
    if admitted:
        patterns.settled(url, worth(useful))
    return admitted, None if admitted else patterns.verdict(url, 1, dry)


def worth(useful: bool) -> Worth:
    return Worth.USEFUL if useful else Worth.USELESS


def tallies(patterns: Patterns) -> dict[str, PatternRecord]:
    return {record.pattern: record for record in patterns.collect()}


def crawl(patterns: Patterns, urls: list[str], useful: Callable[[str], bool]) -> None:
    for url in urls:
        assert patterns.admit(url)
        patterns.settled(url, worth(useful(url)))


def crawl_all(patterns: Patterns, urls: list[str], useful: Callable[[str], bool]) -> int:
    """Crawl as a source would: what finds no room is judged when all else is done. Gives how many pages were read."""
    out = [url for url in urls if patterns.admit(url)]
    deferred, read, dry = urls[len(out) :], 0, 0
    while out or deferred:
        read += len(out)
        for url in out:
            patterns.settled(url, worth(useful(url)))
        dry += 1
        rulings = [(url, judged(patterns, url, dry)) for url in deferred]
        out = [url for url, ruling in rulings if ruling is Ruling.EXTEND]
        deferred = [url for url, ruling in rulings if ruling is Ruling.WAIT]
        assert out or not deferred, "something waits for nothing"
    return read


def judged(patterns: Patterns, url: str, dry: int) -> Ruling:
    ruling = patterns.verdict(url, 1, dry).ruling
    assert ruling is not Ruling.EXTEND or patterns.admit(url)
    return ruling
