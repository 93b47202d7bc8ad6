"""Text from a seed: invented words, so that two texts have next to nothing in common unless they were meant to."""

from __future__ import annotations

from functools import cache
from random import Random

_SOUNDS = """
    b br c ch d dr f fl g gr h j k l m n p pl qu r s sh st t th tr v w
    a e i o u ai ea ou
    l m n nd r rk s st t
"""
_ONSETS, _VOWELS, _CODAS = (line.split() for line in _SOUNDS.strip().splitlines())
_VOCABULARY = 4_000


def random_for(*key: object) -> Random:
    """A source of choices that is the same for the same key, whatever else was chosen before."""
    return Random(" ".join(map(str, key)))  # noqa: S311


@cache
def vocabulary() -> tuple[str, ...]:
    random = random_for("vocabulary")
    words: dict[str, None] = {}
    while len(words) < _VOCABULARY:
        words["".join(_syllable(random) for _ in range(random.randint(2, 3)))] = None
    return tuple(words)


def _syllable(random: Random) -> str:
    return random.choice(_ONSETS) + random.choice(_VOWELS) + random.choice(("", random.choice(_CODAS)))


def word(random: Random) -> str:
    return random.choice(vocabulary())


def title(random: Random) -> str:
    return f"{word(random)} {word(random)}".capitalize()


def prose(random: Random, words: int) -> str:
    """So many words, in sentences."""
    sentences: list[str] = []
    while words > 0:
        length = min(words, random.randint(7, 14))
        sentences.append(" ".join(random.choices(vocabulary(), k=length)).capitalize() + ".")
        words -= length
    return " ".join(sentences)


def reworded(text: str, random: Random, share: float) -> str:
    """The text with this share of its words replaced, spread over all of it."""
    words = text.split()
    for index in random.sample(range(len(words)), round(len(words) * share)):
        words[index] = word(random)
    return " ".join(words)


def retouched(text: str, random: Random, words: int = 1) -> str:
    """The text with this many words, side by side, replaced."""
    found = text.split()
    start = random.randrange(10, len(found) - 10)
    found[start : start + words] = (word(random) for _ in range(words))
    return " ".join(found)
