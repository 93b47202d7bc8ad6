"""The site: what there is, what changes, and who asked for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from itertools import count
from math import ceil
from time import time
from types import TracebackType
from typing import Self

import msgspec

from gossamer.testing.evolving.sheet import Sheet, Validator
from gossamer.testing.maze.prose import prose, random_for, retouched, title
from gossamer.testing.web.listener import Listener, bound, serving
from gossamer.testing.web.log import Log, Request
from gossamer.testing.web.protocol import Answer, Ask, plain
from gossamer.testing.web.render import answer_bytes

VALIDATORS = tuple(it for it in Validator if it is not Validator.NONE)
_MONTH = 30 * 86_400.0
_SHELF = 50
"""Pages that one index lists."""
_CHANGED_WORDS = 3


class Evolving:
    """`pages` pages, below a front page and shelves that list them, which are pages too.

    `validators` are dealt out to all pages in turn. With `noise` every answer has other bytes, outside the main text.
    With `sitemap` there is one at the well-known place, with the time of each page's last change.
    """

    def __init__(
        self,
        seed: int,
        pages: int = 1_000,
        *,
        validators: Sequence[Validator] = VALIDATORS,
        noise: bool = False,
        sitemap: bool = False,
        clock: Callable[[], float] = time,
    ) -> None:
        self.log = Log()
        self.origin = "http://evolving.test"
        self._seed = seed
        self._random = random_for(seed, "evolving")
        self._validators = tuple(validators)
        self._noise = count(1) if noise else None
        self._sitemap = sitemap
        self._clock = clock
        self._numbers = count(1)
        self._sheets: Mapping[str, Sheet] = {}
        self._gone: dict[str, int] = {}
        self._versions: Counter[str] = Counter()
        self._touched: set[str] = set()
        self._misses: Counter[str] = Counter()
        self._running = ExitStack()
        self._put(self._grown(pages, clock() - _MONTH))

    def url(self, path: str = "/") -> str:
        return self.origin + path

    @property
    def urls(self) -> list[str]:
        """The pages that are there, without those that list them."""
        return list(map(self.url, self._paths()))

    @property
    def indices(self) -> list[str]:
        """The pages that list the others, the front page first."""
        return [self.url(path) for path in self._sheets if not path.startswith("/pages/")]

    def requests(self) -> list[Request]:
        """A snapshot of the log."""
        return self.log.snapshot()

    def change(self, pages: int | Sequence[str]) -> list[str]:
        """So many pages, or these, say something else from now on. Which ones depends on the seed; none is chosen
        twice, here or below, before all have been."""
        paths = self._chosen(pages)
        self._versions.update(paths)
        self._put({path: self._leaf(path, self._later(self._sheets[path])) for path in paths})
        return list(map(self.url, paths))

    def remove(self, pages: int | Sequence[str], *, status: int = 404) -> list[str]:
        """They are gone, and nothing lists them any more."""
        paths = self._chosen(pages)
        self._gone |= dict.fromkeys(paths, status)
        self._put({}, without=paths)
        return list(map(self.url, paths))

    def add(self, pages: int) -> list[str]:
        """New pages, listed like all others."""
        new = self._grown(pages, self._clock())
        self._touched |= new.keys()
        self._put(new)
        return list(map(self.url, new))

    def flicker(self, pages: int | Sequence[str], *, times: int = 1) -> list[str]:
        """They answer 404 once, or so many times, and then are back as if nothing had been."""
        paths = self._chosen(pages)
        self._misses.update(dict.fromkeys(paths, times))
        return list(map(self.url, paths))

    def _paths(self) -> list[str]:
        return [path for path in self._sheets if path.startswith("/pages/")]

    def _chosen(self, pages: int | Sequence[str]) -> list[str]:
        paths = self._choice(pages) if isinstance(pages, int) else [url.removeprefix(self.origin) for url in pages]
        self._touched |= set(paths)
        return paths

    def _choice(self, pages: int) -> list[str]:
        fresh = [path for path in self._paths() if path not in self._touched]
        if len(fresh) < pages:
            self._touched.clear()
            fresh = self._paths()
        return self._random.sample(fresh, pages)

    def _grown(self, pages: int, now: float) -> dict[str, Sheet]:
        paths = [f"/pages/{next(self._numbers):05}" for _ in range(pages)]
        return {path: self._leaf(path, now) for path in paths}

    def _leaf(self, path: str, modified: float) -> Sheet:
        random = random_for(self._seed, path)
        name, text = title(random), prose(random, random.randint(80, 200))
        for _ in range(self._versions[path]):
            text = retouched(text, random, _CHANGED_WORDS)
        return Sheet(validator=self._validator(path), modified=modified, title=name, text=text, links=("/",))

    def _validator(self, path: str) -> Validator:
        return self._validators[sum(int(digit) for digit in path if digit.isdigit()) % len(self._validators)]

    def _later(self, sheet: Sheet) -> float:
        # A date has whole seconds: two versions must never share one.
        return max(self._clock(), ceil(sheet.modified) + 1.0)

    def _put(self, leaves: Mapping[str, Sheet], without: Iterable[str] = ()) -> None:
        """Put new pages in place of old ones, and list what there is. The server's thread sees all of it or nothing."""
        gone = frozenset(without)
        old = {path: self._sheets[path] for path in self._paths() if path not in gone}
        new = old | dict(leaves)
        self._sheets = self._indices(sorted(new)) | new

    def _indices(self, paths: Iterable[str]) -> dict[str, Sheet]:
        shelves: dict[str, list[str]] = {}
        for path in paths:
            number = int(path.rpartition("/")[2])
            shelves.setdefault(f"/shelves/{(number - 1) // _SHELF + 1}/", []).append(path)
        return {path: self._index(path, tuple(links)) for path, links in {"/": list(shelves), **shelves}.items()}

    def _index(self, path: str, links: tuple[str, ...]) -> Sheet:
        old = self._sheets.get(path)
        if old and old.links == links:
            return old
        modified = self._later(old) if old else self._clock() - (0.0 if self._sheets else _MONTH)
        return msgspec.structs.replace(self._leaf(path, modified), links=links)

    def _answer(self, ask: Ask) -> Answer:
        if self._sitemap and ask.path == "/sitemap.xml":
            return Answer(status=200, data=self._listing())
        if self._misses[ask.path] > 0:
            self._misses[ask.path] -= 1
            return Answer(status=404, data=plain(404, "Not at the moment.\n"))
        sheet = self._sheets.get(ask.path)
        if sheet is None:
            status = self._gone.get(ask.path, 404)
            return Answer(status=status, data=plain(status, "There is nothing here.\n"), robots=_is_robots(ask))
        return sheet.answer(ask, f"Answer number {next(self._noise)}." if self._noise else "")

    def _listing(self) -> bytes:
        entries = "".join(
            f"<url><loc>{self.url(path)}</loc>"
            f"<lastmod>{datetime.fromtimestamp(sheet.modified, UTC).isoformat()}</lastmod></url>\n"
            for path, sheet in self._sheets.items()
        )
        body = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{entries}</urlset>\n'
        return answer_bytes(200, (("Content-Type", "application/xml"),), body.encode())

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            stack.enter_context(self.log)
            [(self.origin, place)] = stack.enter_context(bound(["127.0.3.1"])).items()
            stack.enter_context(serving([Listener(place, self.origin, self._answer, self.log.add)]))
            self._running = stack.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._running.close()


def _is_robots(ask: Ask) -> bool:
    return ask.path == "/robots.txt"
