from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gossamer.frontier.robots import MAX_ROBOTS, judge_robots, parse_robots, product_token
from gossamer.model import Error, Fault, RobotsVerdict


def allows(robots: str | bytes, path: str, token: str = "gossamer") -> bool:
    body = robots.encode() if isinstance(robots, str) else robots
    return parse_robots(body).allowed(token, path)


def for_all(*rules: str) -> str:
    return "\n".join(("User-agent: *", *rules))


@pytest.mark.parametrize(
    ("pattern", "hits", "misses"),
    [
        ("/", ["/", "/a", "/a?b"], []),
        (
            "/fish",
            ["/fish", "/fish.html", "/fish/a", "/fishheads", "/fish?id=1"],
            ["/Fish", "/catfish", "/?id=fish", "/"],
        ),
        ("/fish*", ["/fish", "/fish.html", "/fishheads"], ["/Fish", "/catfish"]),
        ("/fish/", ["/fish/", "/fish/?id=1", "/fish/a.htm"], ["/fish", "/fish.html", "/Fish/a"]),
        ("/*.php", ["/a.php", "/b/a.php", "/a.php?x", "/a.phpx", "/a.php/b"], ["/", "/a.PHP", "/php"]),
        ("/*.php$", ["/a.php", "/b/a.php"], ["/a.php?x", "/a.php/", "/a.php5"]),
        ("/fish*.php", ["/fish.php", "/fishheads/catfish.php?x"], ["/Fish.PHP", "/fish.asp"]),
        ("/a$", ["/a"], ["/a/", "/ab", "/a?b"]),
        ("/$", ["/"], ["/a", "/?a"]),
        ("/a*$", ["/a", "/ab/c"], ["/b"]),
        ("*", ["/", "/a"], []),
        ("*.gif", ["/a.gif", "/b/a.gif?x"], ["/a.png"]),
        ("/*/b/*/d", ["/a/b/c/d", "/a/b/b/d/e", "//b//d"], ["/a/b/d", "/b/c/d"]),
        ("/**a", ["/a", "/xa"], ["/b"]),
        ("/*a*a$", ["/aa", "/aba", "/xaxxa"], ["/a", "/ab", "/aab"]),
        ("/ab*ba$", ["/abba", "/abcba"], ["/aba"]),
        ("/a$b", ["/a$b", "/a%24b"], ["/a", "/ab"]),
        ("/?q=", ["/?q=1"], ["/a?q=1", "/"]),
        ("/*?*q=", ["/a?q=1", "/?x=1&q=2"], ["/a"]),
    ],
)
def test_a_pattern_matches_from_the_start_with_stars_and_an_end(
    pattern: str, hits: list[str], misses: list[str]
) -> None:
    rules = parse_robots(for_all(f"Disallow: {pattern}").encode())
    assert [path for path in hits if rules.allowed("gossamer", path)] == []
    assert [path for path in misses if not rules.allowed("gossamer", path)] == []


@pytest.mark.parametrize(
    ("rules", "path", "allowed"),
    [
        (("Allow: /p", "Disallow: /"), "/page", True),
        (("Allow: /folder", "Disallow: /folder"), "/folder/page", True),
        (("Disallow: /folder", "Allow: /folder"), "/folder/page", True),
        (("Allow: /page", "Disallow: /*.htm"), "/page.htm", False),
        (("Allow: /page", "Disallow: /*.ph"), "/page.php5", True),
        (("Allow: /$", "Disallow: /"), "/", True),
        (("Allow: /$", "Disallow: /"), "/page.htm", False),
        (("Disallow: /a", "Allow: /a/b", "Disallow: /a/b/c"), "/a/b/d", True),
        (("Disallow: /a", "Allow: /a/b", "Disallow: /a/b/c"), "/a/b/c/d", False),
        (("Allow: /*a", "Disallow: /xa"), "/xa", True),
        (("Allow: /xa", "Disallow: /*a"), "/xa", True),
        (("Allow: /xa", "Disallow: /*a$"), "/xa", False),
        (("Disallow: /é", "Allow: /*a"), "/éa", False),
    ],
)
def test_the_longest_match_decides_and_allow_wins_ties(rules: tuple[str, ...], path: str, allowed: bool) -> None:
    assert allows(for_all(*rules), path) is allowed


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("/foo/bar/ツ", "/foo/bar/%E3%83%84"),
        ("/foo/bar/%E3%83%84", "/foo/bar/ツ"),
        ("/foo/bar/%e3%83%84", "/foo/bar/%E3%83%84"),
        ("/foo/bar/%62%61%7A", "/foo/bar/baz"),
        ("/foo/bar/baz", "/foo/bar/%62%61%7A"),
        ("/~joe", "/%7Ejoe/index.html"),
        ("/%7ejoe", "/~joe/index.html"),
        ("/a b", "/a%20b"),
        ("/a|b", "/a%7Cb"),
        ("/file-with-a-%2A.html", "/file-with-a-*.html"),
        ("/foo-%24", "/foo-$"),
        ("/a%3cd", "/a%3Cd"),
        ("/100%", "/100%"),
    ],
)
def test_percent_encoding_is_compared_in_one_spelling(pattern: str, path: str) -> None:
    assert not allows(for_all(f"Disallow: {pattern}"), path)


@pytest.mark.parametrize(
    ("pattern", "path"),
    [("/a%2Fb", "/a/b"), ("/a/b", "/a%2Fb"), ("/a%2A", "/abc"), ("/a%24", "/a"), ("/a%3Fb", "/a?b")],
)
def test_an_encoded_reserved_character_is_another_character(pattern: str, path: str) -> None:
    assert allows(for_all(f"Disallow: {pattern}"), path)


def test_bytes_that_are_no_utf8_are_matched_as_bytes() -> None:
    assert not allows(b"User-agent: *\nDisallow: /caf\xe9", "/caf%E9")
    assert allows(b"User-agent: *\nDisallow: /caf\xe9", "/caf%C3%A9")


GROUPS = """\
Allow: /before-any-group/
User-agent: alpha
Disallow: /
Allow: /x/
User-agent: BETA
Disallow: /
Allow: /y/


Allow: /w/
User-agent: gamma

User-agent: Alpha
Allow: /z/
Disallow: /
"""


@pytest.mark.parametrize(
    ("token", "open_paths"),
    [("alpha", ["/x/", "/z/"]), ("beta", ["/w/", "/y/"]), ("gamma", ["/z/"]), ("delta", ["/w/", "/x/", "/y/", "/z/"])],
)
def test_groups_of_one_token_are_merged_and_blank_lines_mean_nothing(token: str, open_paths: list[str]) -> None:
    rules = parse_robots(GROUPS.encode())
    assert [path for path in ("/w/", "/x/", "/y/", "/z/") if rules.allowed(token, path)] == open_paths


@pytest.mark.parametrize(
    ("agent", "obeyed"),
    [
        ("gossamer", True),
        ("GOSSAMER", True),
        ("gossamer/1.0", True),
        ("gossamer bot", True),
        ("*", True),
        ("* # everyone", True),
        ("goss", False),
        ("gossamer-news", False),
        ("mygossamer", False),
        ("*gossamer", False),
        ("", False),
    ],
)
def test_a_group_speaks_to_a_token_exactly_whatever_its_case(agent: str, obeyed: bool) -> None:
    assert allows(f"User-agent: {agent}\nDisallow: /", "/a") is not obeyed
    assert allows(f"User-agent: {agent}\nDisallow: /", "/a", "Gossamer") is not obeyed


def test_the_group_for_everyone_is_for_those_who_are_not_named() -> None:
    robots = "User-agent: *\nDisallow: /\nUser-agent: gossamer\nDisallow: /private"
    assert allows(robots, "/a")
    assert not allows(robots, "/private")
    assert not allows(robots, "/a", token="other")


def test_a_group_without_rules_allows_everything() -> None:
    assert allows("User-agent: *\nDisallow: /\nUser-agent: gossamer\n", "/a")
    assert allows("User-agent: *\nDisallow: /\nUser-agent: gossamer\nDisallow:\n", "/a")


def test_agents_in_a_row_share_their_rules() -> None:
    robots = "User-agent: a\nUser-agent: gossamer\n\nUser-agent: b\nDisallow: /x"
    assert [allows(robots, "/x", token) for token in ("a", "gossamer", "b", "c")] == [False, False, False, True]


@pytest.mark.parametrize("line", ["Sitemap: https://example.com/s.xml", "Unknown: x", "nonsense", "# comment", ""])
def test_other_lines_do_not_end_a_list_of_agents(line: str) -> None:
    assert not allows(f"User-agent: gossamer\n{line}\nUser-agent: other\nDisallow: /", "/a")


def test_a_crawl_delay_ends_a_list_of_agents() -> None:
    rules = parse_robots(b"User-agent: *\nCrawl-delay: 10\n\nUser-agent: bad\nDisallow: /")
    assert rules.allowed("gossamer", "/a")
    assert not rules.allowed("bad", "/a")
    assert (rules.crawl_delay("gossamer"), rules.crawl_delay("bad")) == (10.0, None)


@pytest.mark.parametrize(
    "robots",
    [
        "user-agent:*\ndisallow:/a",
        "USER-AGENT: *\nDISALLOW: /a",
        "  User-agent :  *  \n\t Disallow\t: /a  # why not",
        "User-agent: *\rDisallow: /a\r",
        "User-agent: *\r\nDisallow: /a\r\n",
        "\ufeffUser-agent: *\nDisallow: /a",
        "User-agent *\nDisallow /a",
        "useragent: *\ndissallow: /a",
        "<html>\n\0\nUser-agent: *\n:\n: x\nDisallow: /a\n\xff",
        "User-agent: *\n" + "x" * 100_000 + "\nDisallow: /a",
    ],
)
def test_a_file_is_read_however_it_is_written(robots: str) -> None:
    assert not allows(robots, "/a")
    assert allows(robots, "/b")


@pytest.mark.parametrize(
    "robots",
    [
        "",
        "\ufeff",
        "User-agent: *",
        "Disallow: /",
        for_all("Disallow:"),
        for_all("Disallow: a"),
        for_all("Disallow: $"),
        for_all("Disallow: https://example.com/"),
        for_all("# Disallow: /"),
        "<!doctype html><title>404</title>",
    ],
)
def test_what_forbids_nothing_allows_everything(robots: str) -> None:
    assert allows(robots, "/a")


def test_robots_itself_is_always_allowed() -> None:
    assert allows(for_all("Disallow: /"), "/robots.txt")
    assert allows(for_all("Disallow: /"), "/robots.txt?x")
    assert not allows(for_all("Disallow: /"), "/robots.txt.html")


def test_a_verdict_names_the_rule_that_hit() -> None:
    rules = parse_robots("User-agent: *\nDisallow: /é*$\nAllow: /a\nDisallow: /a/b".encode())
    assert rules.verdict("gossamer", "/%C3%A9") == (False, "Disallow: /é*$")
    assert rules.verdict("gossamer", "/a/c") == (True, "Allow: /a")
    assert rules.verdict("gossamer", "/b") == (True, None)
    assert rules.verdict("gossamer", "/robots.txt") == (True, None)


def test_half_a_megabyte_is_read_and_a_line_that_was_cut_does_not_count() -> None:
    head = b"User-agent: *\n"
    filler = b"#" * (500 * 1024 - len(head)) + b"\n"
    within = head + filler + b"Disallow: /a\n"
    assert not allows(within, "/a")
    cut = within + b"#" * (MAX_ROBOTS - len(within) - len(b"\nDisallow: /b")) + b"\nDisallow: /b/c\nDisallow: /d\n"
    assert [allows(cut, path) for path in ("/a", "/b", "/d")] == [False, True, True]


@pytest.mark.parametrize(
    ("value", "delay"),
    [("2", 2.0), ("0.5", 0.5), ("0", 0.0), ("-1", None), ("x", None), ("nan", None), ("inf", None), ("", None)],
)
def test_a_crawl_delay_is_a_number_of_seconds(value: str, delay: float | None) -> None:
    assert parse_robots(for_all(f"Crawl-delay: {value}").encode()).crawl_delay("gossamer") == delay


def test_the_slowest_crawl_delay_of_a_group_holds_and_no_other_group_counts() -> None:
    rules = parse_robots(b"User-agent: *\nCrawl-delay: 9\nUser-agent: gossamer\nCrawl-delay: 3\nCrawl-delay: 2\n")
    assert rules.crawl_delay("gossamer") == 3.0
    assert rules.crawl_delay("other") == 9.0
    assert parse_robots(b"").crawl_delay("gossamer") is None


def test_sitemaps_belong_to_no_group_and_are_listed_once() -> None:
    robots = b"Sitemap: https://a.example/1.xml\nUser-agent: x\nsitemap:https://a.example/2.xml # two\nDisallow: /\n"
    rules = parse_robots(robots + b"Sitemap: https://a.example/1.xml")
    assert rules.sitemaps == ("https://a.example/1.xml", "https://a.example/2.xml")


@pytest.mark.parametrize(
    ("user_agent", "token"),
    [
        ("gossamer/0.1 (+https://example.org)", "gossamer"),
        ("gossamer", "gossamer"),
        ("My_Bot-2/1", "My_Bot-2"),
        ("Mozilla/5.0 (compatible; gossamer/1.0; +https://example.org)", "gossamer"),
        ("Mozilla/5.0 (X11; Linux)", "Mozilla"),
        ("", "*"),
        ("(unnamed)", "*"),
    ],
)
def test_the_product_token_is_what_stands_before_the_version(user_agent: str, token: str) -> None:
    assert product_token(user_agent) == token


def test_a_crawler_without_a_name_follows_the_rules_for_everyone() -> None:
    assert not allows(for_all("Disallow: /"), "/a", product_token(""))


TOO_LARGE = Error(fault=Fault.TOO_LARGE, text="cut")
TIMEOUT = Error(fault=Fault.TIMEOUT, text="late")


@pytest.mark.parametrize(
    ("status", "error", "body", "verdict"),
    [
        (200, None, b"x", RobotsVerdict.RULES),
        (204, None, b"", RobotsVerdict.RULES),
        (200, TOO_LARGE, b"x", RobotsVerdict.RULES),
        (200, TOO_LARGE, b"", RobotsVerdict.UNREACHABLE),
        (200, TIMEOUT, b"x", RobotsVerdict.UNREACHABLE),
        (301, None, b"", RobotsVerdict.ALLOW_ALL),
        (400, None, b"", RobotsVerdict.ALLOW_ALL),
        (401, None, b"", RobotsVerdict.ALLOW_ALL),
        (403, None, b"", RobotsVerdict.ALLOW_ALL),
        (404, None, b"", RobotsVerdict.ALLOW_ALL),
        (410, None, b"", RobotsVerdict.ALLOW_ALL),
        (404, TOO_LARGE, b"x", RobotsVerdict.ALLOW_ALL),
        (429, None, b"", RobotsVerdict.UNREACHABLE),
        (500, None, b"", RobotsVerdict.UNREACHABLE),
        (503, None, b"", RobotsVerdict.UNREACHABLE),
        (None, TIMEOUT, b"", RobotsVerdict.UNREACHABLE),
        (None, None, b"", RobotsVerdict.UNREACHABLE),
        (999, None, b"", RobotsVerdict.UNREACHABLE),
    ],
)
def test_an_answer_is_judged(status: int | None, error: Error | None, body: bytes, verdict: RobotsVerdict) -> None:
    assert judge_robots(status, error, body) is verdict


@pytest.mark.parametrize("fault", [fault for fault in Fault if fault is not Fault.TOO_LARGE])
def test_no_fault_of_the_network_ever_means_allowed(fault: Fault) -> None:
    error = Error(fault=fault, text="x")
    assert {judge_robots(status, error, b"x") for status in (None, 200, 404)} == {RobotsVerdict.UNREACHABLE}


def test_a_hostile_pattern_does_not_slow_a_verdict_down() -> None:
    # A backtracking matcher would not come back from this one.
    assert allows(for_all("Disallow: /" + "*a" * 2_000 + "*b"), "/" + "a" * 30_000)


def slow_match(pattern: str, path: str) -> bool:
    """Every way to spend a star, one character at a time."""
    reached = {0}
    for position, char in enumerate(pattern):
        if char == "$" and position == len(pattern) - 1:
            return len(path) in reached
        if char == "*":
            reached = set(range(min(reached), len(path) + 1)) if reached else set()
        else:
            reached = {at + 1 for at in reached if at < len(path) and path[at] == char}
    return bool(reached)


def slow_verdict(rules: list[tuple[bool, str]], path: str) -> bool:
    hits = [(len(pattern), allow) for allow, pattern in rules if slow_match(pattern, path)]
    return max(hits)[1] if hits else True


PATTERNS = st.text(alphabet="ab/*", max_size=8).map("/".__add__)
RULES = st.lists(st.tuples(st.booleans(), st.tuples(PATTERNS, st.sampled_from(["", "$"])).map("".join)), max_size=8)
PATHS = st.text(alphabet="ab/", max_size=10).map("/".__add__)


@given(RULES, PATHS)
@example([(False, "/*a*$")], "/b")
@example([(False, "/a*a$")], "/a")
def test_verdicts_equal_those_of_a_slow_matcher(rules: list[tuple[bool, str]], path: str) -> None:
    lines = [f"{'Allow' if allow else 'Disallow'}: {pattern}" for allow, pattern in rules]
    assert allows(for_all(*lines), path) is slow_verdict(rules, path)


@given(st.binary(max_size=200) | st.text(alphabet="user-agent: disallow*$/#%\n\r\0é", max_size=200).map(str.encode))
def test_no_file_raises(body: bytes) -> None:
    rules = parse_robots(body)
    assert rules.verdict("gossamer", "/a")[0] in (True, False)
    delay = rules.crawl_delay("gossamer")
    assert delay is None or delay >= 0


@given(st.text(max_size=30))
def test_no_path_raises_and_its_prefix_forbids_it(path: str) -> None:
    assert not parse_robots(b"User-agent: *\nDisallow: /x\n").allowed("gossamer", "/x" + path)
