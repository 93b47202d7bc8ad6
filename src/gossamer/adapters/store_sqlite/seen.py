"""Which URLs a source already has, answered without the database where that can be done exactly.

Two sets stand before the table. `recent` holds URLs that are surely stored: a link that every page carries costs one
look-up. The Bloom filter holds every URL that may be stored: its "no" is final, its "yes" must be verified. So the
filter may run ahead of the table, `recent` never may.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Iterable, Sequence

from rbloom import Bloom

RECENT = 16_384
_SOURCES = 128
_FIRST_LAYER = 32_768
_GROWTH = 4
_FALSE_YES = 0.001


class Seen:
    """What is known of one source's URLs."""

    def __init__(self) -> None:
        self.loaded = False
        """Whether the filter holds all that was stored before it was made."""
        self._layers: list[Bloom] = []
        self._room = 0
        self._capacity = _FIRST_LAYER // _GROWTH
        self._recent: set[str] = set()
        self._older: set[str] = set()

    def load(self, urls: Iterable[str], count: int) -> None:
        layer = Bloom(max(count, 1), _FALSE_YES)
        layer.update(urls)
        self._layers.insert(0, layer)
        self.loaded = True

    def expect(self, urls: Collection[str]) -> None:
        """These may be stored from now on. Grows by a larger layer when the last one is full."""
        if self._room < len(urls):
            self._capacity = max(self._capacity * _GROWTH, len(urls))
            self._room = self._capacity
            self._layers.append(Bloom(self._capacity, _FALSE_YES))
        self._layers[-1].update(urls)
        self._room -= len(urls)

    def remember(self, urls: Iterable[str]) -> None:
        """These are stored. When the recent set is full it becomes the older one, and the older one is forgotten."""
        self._recent.update(urls)
        if len(self._recent) > RECENT:
            self._older, self._recent = self._recent, set()

    def strangers(self, urls: Sequence[str]) -> list[str]:
        """Those that are not known to be stored, in order, each once."""
        recent = self._recent
        rest = [url for url in urls if url not in recent]
        if not rest:
            return rest
        older = self._older
        self.remember([url for url in rest if url in older])
        return list(dict.fromkeys(url for url in rest if url not in older))

    def doubtful(self, urls: Iterable[str]) -> list[str]:
        """Those that may be stored."""
        layers = self._layers[::-1]
        return [url for url in urls if any(url in layer for layer in layers)]


class SeenSources:
    """The sets of the sources that were asked about lately; what is forgotten is loaded again when asked for."""

    def __init__(self) -> None:
        self._sets: OrderedDict[int, Seen] = OrderedDict()

    def of(self, source: int) -> Seen:
        seen = self._sets.setdefault(source, Seen())
        self._sets.move_to_end(source)
        if len(self._sets) > _SOURCES:
            self._sets.popitem(last=False)
        return seen

    def known(self, source: int) -> Seen | None:
        return self._sets.get(source)
