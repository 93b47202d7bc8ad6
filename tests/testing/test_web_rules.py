from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from protego import Protego

from gossamer.testing.web.rules import allows


@pytest.mark.parametrize(
    ("rules", "path", "allowed"),
    [
        ("", "/a", True),
        ("User-agent: *\nDisallow: /", "/a", False),
        ("User-agent: *\nDisallow:", "/a", True),
        ("User-agent: other\nDisallow: /", "/a", True),
        ("User-agent: gossamer\nAllow: /\n\nUser-agent: *\nDisallow: /", "/a", True),
        ("User-agent: x\nUser-agent: Gossamer\nDisallow: /a", "/a", False),
        ("User-agent: *\nDisallow: /a\nAllow: /a/b", "/a/b/c", True),
        ("User-agent: *\nDisallow: /a\nAllow: /a", "/a", True),
        ("User-agent: *\nDisallow: /*.pdf$", "/x.pdf", False),
        ("User-agent: *\nDisallow: /*.pdf$", "/x.pdf?y", True),
        ("User-agent: *\nDisallow: /a # why\nCrawl-delay: 2", "/a", False),
    ],
)
def test_the_longest_match_of_the_right_group_decides(rules: str, path: str, allowed: bool) -> None:
    assert allows(rules, path) is allowed


_PATHS = st.text("ab/", max_size=6).map(lambda text: f"/{text}")
_PATTERNS = st.text("ab/*", max_size=5).map(lambda text: f"/{text}")
_RULES = st.lists(st.tuples(st.sampled_from(["Allow", "Disallow"]), _PATTERNS, st.sampled_from(["", "$"])), max_size=5)


@given(_RULES, _PATHS)
def test_it_agrees_with_another_reader_of_robots(rules: list[tuple[str, str, str]], path: str) -> None:
    text = "User-agent: *\n" + "".join(f"{kind}: {pattern}{end}\n" for kind, pattern, end in rules)
    assert allows(text, path) is bool(Protego.parse(text).can_fetch(f"http://a.test{path}", "gossamer"))
