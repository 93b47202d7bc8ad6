"""What a host teaches about its parameters: which of them, and whether their order, change a page.

Two pages that differ in one parameter alone and say the same are a case for leaving it out; if they differ, it matters.
Every case must be of another content: the many pages of a site that say no more than `please log in` are one.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterator

import msgspec

from gossamer.model import Learnt

ENOUGH = 3
"""Cases for, with none against, after which something is learnt."""
MAX_SAMPLES = 512
MAX_NAMES = 64
"""Parameters of a host about which anything is remembered."""
_MAX_LOOKED_AT = 8
"""Parameters of one URL, and of one sample."""
_NOTHING = ""
"""What a URL lacks as it is: a name that no parameter has. The next is another."""
_ORDER = "&"

_PATH_PARAMETER = re.compile(r"(;[^=/;]+)=([^/;]*)")


class _Sample(msgspec.Struct, frozen=True):
    value: str | None
    hash: str


class Parameters:
    """The parameters of one host. A path parameter goes by its name with the semicolon: `;jsessionid`."""

    def __init__(self, learnt: Learnt | None = None) -> None:
        self._restored = learnt or Learnt()
        self._evidence: dict[str, tuple[int, int]] = dict(self._restored.parameters)
        if any(self._restored.order):
            self._evidence[_ORDER] = self._restored.order
        self._irrelevant = {name for name, counts in self._evidence.items() if _is_irrelevant(*counts)}
        self._contents: dict[str, set[str]] = {}
        """The contents that spoke for something not learnt yet."""
        self._samples: OrderedDict[str, dict[str, _Sample]] = OrderedDict()
        """For what is left of a URL without one parameter: the name of that, with the value and page last seen."""

    def learnt(self) -> Learnt:
        order = self._evidence.get(_ORDER, (0, 0))
        parameters = {name: counts for name, counts in self._evidence.items() if name != _ORDER}
        return msgspec.structs.replace(self._restored, parameters=parameters, order=order)

    # -- what is known

    def spelling(self, url: str) -> str:
        """The URL without what does not change the page."""
        return self._without(url, _NOTHING) if self._irrelevant else url

    def reason(self, url: str) -> str:
        """Why a URL has another spelling, in words; empty where it has not."""
        told = [
            f"the parameter {name.lstrip(';')} does not change pages of this host (seen {self._times(name)} times)"
            for name in _parameters(url)
            if name in self._irrelevant
        ]
        _, pairs = self._parts(url, _NOTHING)
        if _ORDER in self._irrelevant and pairs != sorted(pairs, key=_name):
            told.append(
                f"the order of parameters does not change pages of this host (seen {self._times(_ORDER)} times)"
            )
        return "; ".join(told)

    def _times(self, name: str) -> int:
        return self._evidence[name][0]

    def _without(self, url: str, name: str) -> str:
        path, pairs = self._parts(url, name)
        if _ORDER in self._irrelevant:
            pairs.sort(key=_name)
        return _joined(path, pairs)

    def _parts(self, url: str, name: str) -> tuple[str, list[str]]:
        """Path and parameters, without those of this name and those that do not matter."""
        path, mark, query = url.partition("?")
        if ";" in path:
            path = _PATH_PARAMETER.sub(lambda each: "" if self._left_out(each[1], name) else each[0], path)
        pairs = query.split("&") if mark else []
        kept = [pair for pair in pairs if not self._left_out(_name(pair), name)]
        return path, kept if any(kept) or len(kept) == len(pairs) else []

    def _left_out(self, each: str, name: str) -> bool:
        return (each == name and name != _NOTHING) or each in self._irrelevant

    # -- learning

    def observe(self, url: str, content_hash: str) -> bool:
        """Take in what a page said. True where something was learnt by it, or unlearnt."""
        if not content_hash:
            return False
        compared = [*self._by_parameter(url, content_hash), *self._by_order(url, content_hash)]
        compared += self._by_absence(url, content_hash)
        news = [self._weigh(name, seen == content_hash, content_hash) for name, seen in compared]
        return any(news)

    def _by_parameter(self, url: str, content_hash: str) -> Iterator[tuple[str, str]]:
        """Parameters with the content of a page seen with another value, or without them."""
        for name, value in list(_parameters(url).items())[:_MAX_LOOKED_AT]:
            if self._open(name):
                samples = self._at(self._without(url, name))
                bare = samples.get(_NOTHING)
                seen = _swap(samples, name, _Sample(value, content_hash))
                yield from ((name, other.hash) for other in (bare, seen) if other and other.value != value)

    def _by_absence(self, url: str, content_hash: str) -> Iterator[tuple[str, str]]:
        """Parameters that this URL lacks, with the content of a page that has one of them."""
        if ("?" in url or ";" in url) and self.spelling(url) != url:
            return
        samples = self._at(url)
        _swap(samples, _NOTHING, _Sample(None, content_hash))
        yield from ((name, seen.hash) for name, seen in samples.items() if name not in (_NOTHING, _ORDER))

    def _by_order(self, url: str, content_hash: str) -> Iterator[tuple[str, str]]:
        path, pairs = self._parts(url, _NOTHING)
        if len(set(map(_name, pairs))) > 1 and self._open(_ORDER):
            order = "&".join(pairs)
            samples = self._at(_joined(path, sorted(pairs, key=_name)))
            seen = _swap(samples, _ORDER, _Sample(order, content_hash))
            if seen and seen.value != order:
                yield _ORDER, seen.hash

    def _open(self, name: str) -> bool:
        """Whether there is anything left to learn about it."""
        if name in self._evidence:
            return not self._evidence[name][1]
        return len(self._evidence) < MAX_NAMES

    def _at(self, rest: str) -> dict[str, _Sample]:
        samples = self._samples.setdefault(rest, {})
        self._samples.move_to_end(rest)
        if len(self._samples) > MAX_SAMPLES:
            self._samples.popitem(last=False)
        return samples

    def _weigh(self, name: str, same: bool, content_hash: str) -> bool:
        """Count a case for or against. True where that changes what is known."""
        if not self._open(name) or (same and name in self._irrelevant):
            return False
        cases, against = self._evidence.get(name, (0, 0))
        if not same:
            return self._conclude(name, cases, against + 1)
        told = self._contents.setdefault(name, set())
        if content_hash in told:
            return False
        told.add(content_hash)
        return self._conclude(name, cases + 1, against)

    def _conclude(self, name: str, cases: int, against: int) -> bool:
        before = name in self._irrelevant
        self._evidence[name] = cases, against
        after = _is_irrelevant(cases, against)
        if after:
            self._irrelevant.add(name)
        else:
            self._irrelevant.discard(name)
        if after or against:
            self._contents.pop(name, None)
        return before != after


def _is_irrelevant(cases: int, against: int) -> bool:
    return cases >= ENOUGH and not against


def _swap(samples: dict[str, _Sample], name: str, sample: _Sample) -> _Sample | None:
    """Put a sample in, and give the one that was there."""
    seen = samples.pop(name, None)
    samples[name] = sample
    if len(samples) > _MAX_LOOKED_AT:
        del samples[next(iter(samples))]
    return seen


def _parameters(url: str) -> dict[str, str]:
    """Names and values, in path and query; values of the same name together."""
    path, _, query = url.partition("?")
    found: dict[str, str] = {}
    pairs = _PATH_PARAMETER.findall(path) if ";" in path else []
    for name, value in (*pairs, *(pair.partition("=")[::2] for pair in query.split("&"))):
        if name:
            found[name] = f"{found[name]}&{value}" if name in found else value
    return found


def _joined(path: str, pairs: list[str]) -> str:
    return f"{path}?{'&'.join(pairs)}" if pairs else path


def _name(pair: str) -> str:
    return pair.partition("=")[0]
