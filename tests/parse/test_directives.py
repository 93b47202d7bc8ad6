from __future__ import annotations

import pytest

from gossamer.parse.directives import directives


@pytest.mark.parametrize(
    ("content", "noindex", "nofollow"),
    [
        ("noindex", True, False),
        ("nofollow", False, True),
        ("NoIndex, NoFollow", True, True),
        ("none", True, True),
        ("noindex nofollow", True, True),
        ("noindex;nofollow", True, True),
        ("all", False, False),
        ("index,follow", False, False),
        ("index, noindex", True, False),
        ("max-snippet:20, noindex", True, False),
        ("noindexed, unfollow", False, False),
        ("", False, False),
    ],
)
def test_meta_and_header_read_the_same_words(content: str, noindex: bool, nofollow: bool) -> None:
    assert directives("gossamer", [("robots", content)], []) == (noindex, nofollow)
    assert directives("gossamer", [], [content]) == (noindex, nofollow)


def test_a_meta_element_may_speak_to_one_crawler() -> None:
    metas = [("gossamer", "noindex"), ("otherbot", "nofollow"), ("description", "none")]
    assert directives("Gossamer", metas, []) == (True, False)


def test_several_statements_combine_to_the_strictest() -> None:
    assert directives("gossamer", [("robots", "noindex"), ("gossamer", "index")], ["nofollow"]) == (True, True)


@pytest.mark.parametrize(
    ("header", "noindex", "nofollow"),
    [
        ("gossamer: noindex", True, False),
        ("GOSSAMER : noindex, nofollow", True, True),
        ("otherbot: noindex, nofollow", False, False),
        ("otherbot: noindex, gossamer: nofollow", False, True),
        ("noindex, otherbot: nofollow", True, False),
        ("unavailable_after: 25 Jun 2010 15:00:00 PST, noindex", True, False),
        ("unavailable_after: Friday, 25-Jun-10 15:00:00 PST, noindex", True, False),
        ("max-image-preview: large, nofollow", False, True),
        (":", False, False),
        (",,,", False, False),
    ],
)
def test_a_header_may_speak_to_one_crawler(header: str, noindex: bool, nofollow: bool) -> None:
    assert directives("gossamer", [], [header]) == (noindex, nofollow)
