from __future__ import annotations

import random
import struct

import pytest
from benchmarks.duplicates import Family, judge, make_family
from hypothesis import given
from hypothesis import strategies as st
from xxhash import xxh3_64_intdigest, xxh3_128_digest

from gossamer.model.fingerprint import SKETCH, Fingerprint
from gossamer.parse.fingerprint import fingerprint


def prose(words: int, seed: int = 1) -> list[str]:
    rng = random.Random(seed)
    return [f"word{rng.randrange(2_000)}" for _ in range(words)]


def of(words: list[str]) -> Fingerprint:
    return fingerprint(b"", " ".join(words))


def shingles(words: list[str]) -> set[tuple[str, ...]]:
    return set(zip(words, words[1:], words[2:], strict=False))


def hashes(print_: Fingerprint) -> list[int]:
    return list(struct.unpack(f"<{len(print_.sketch) // 8}Q", print_.sketch))


def test_a_fingerprint_has_the_digest_of_the_body() -> None:
    assert fingerprint(b"body", "").body == xxh3_128_digest(b"body")


@pytest.mark.parametrize("count", [20, 100, 131, 400, 3_000])
def test_a_sketch_is_the_smallest_hashes_in_order(count: int) -> None:
    words = prose(count)
    expected = sorted({xxh3_64_intdigest(" ".join(three).encode()) for three in shingles(words)})
    assert hashes(of(words)) == expected[:SKETCH]


def test_a_text_that_repeats_itself_has_all_its_shingles_in_the_sketch() -> None:
    assert len(hashes(of(prose(150) * 30))) == SKETCH
    assert len(hashes(of(["a", "b", "c", "d"] * 500))) == 4


def test_too_few_words_have_no_sketch() -> None:
    assert of(prose(19)) == Fingerprint(body=xxh3_128_digest(b""))
    assert of(prose(20)).sketch


def test_letter_case_and_white_space_do_not_count() -> None:
    assert fingerprint(b"", " ".join(prose(50)).upper()) == fingerprint(b"", "\n".join(prose(50)))


def test_only_the_first_5000_words_count() -> None:
    words = prose(6_000)
    assert of(words) == of(words[:5_000])
    assert of(words) != of(words[:4_000])


def test_there_are_four_keys_that_a_database_takes() -> None:
    for seed in range(50):
        bands = of(prose(20 + 10 * seed, seed)).bands
        assert len(set(bands)) == 4
        assert all(0 <= key < 1 << 63 for key in bands)


def test_the_fingerprint_of_a_text_never_changes() -> None:
    """It is compared with what earlier versions stored."""
    known = of([f"w{number * number % 97}" for number in range(60)])
    assert known.bands == (774177879498261358, 8252593869975603360, 6122608024469161911, 2319909329008724734)
    assert known.sketch[:8].hex() == "1462c7102fe38f01"


def test_characters_are_words_in_a_script_without_spaces() -> None:
    rng = random.Random(7)
    text = "".join(chr(rng.randrange(0x4E00, 0x5200)) for _ in range(100))
    edited = text[:50] + "新" + text[51:]
    assert 0.9 < fingerprint(b"", text).similarity(fingerprint(b"", edited).sketch) < 1.0


def test_no_word_is_too_odd() -> None:
    assert fingerprint(b"", "\ud800 " * 30).sketch
    assert not fingerprint(b"", "x" * 1_000_000).sketch


WORDS = st.lists(st.sampled_from("abcdefgh"), min_size=20, max_size=120)


@given(WORDS, WORDS)
def test_short_texts_are_compared_exactly(one: list[str], other: list[str]) -> None:
    expected = len(shingles(one) & shingles(other)) / len(shingles(one) | shingles(other))
    assert of(one).similarity(of(other).sketch) == expected
    assert of(other).similarity(of(one).sketch) == expected


@pytest.mark.parametrize(("one", "other"), [(100, 3_000), (140, 200), (1_000, 1_100), (3_000, 3_030)])
def test_the_likeness_of_long_texts_is_estimated(one: int, other: int) -> None:
    longer = prose(other)
    expected = (one - 2) / (other - 2)
    assert of(longer[:one]).similarity(of(longer).sketch) == pytest.approx(expected, abs=0.08)


def test_a_text_is_like_itself_and_nothing_is_like_no_text() -> None:
    nothing = Fingerprint(body=b"")
    for count in (20, 129, 130, 131, 2_000):
        assert of(prose(count)).similarity(of(prose(count)).sketch) == 1.0
        assert of(prose(count)).similarity(of(prose(count, seed=2)).sketch) < 0.1
        assert of(prose(count)).similarity(b"") == nothing.similarity(of(prose(count)).sketch) == 0.0
    assert nothing.similarity(b"") == 0.0


@pytest.fixture(scope="module")
def families() -> list[Family]:
    return [make_family(number) for number in range(60)]


def test_near_duplicates_are_found_and_others_are_not(families: list[Family]) -> None:
    """Pairs within 0.03 of the threshold are left out: to them a sample of 128 cannot do justice."""
    verdict = judge(families, threshold=0.9, margin=0.03)
    assert verdict.alike > 300
    assert verdict.precision >= 0.95
    assert verdict.recall >= 0.95
