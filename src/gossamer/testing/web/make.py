"""A web from a seed: ordinary pages in a tree with cross links, and every difficulty that was asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from random import Random

import msgspec

from gossamer.testing.web.site import Behaviour, Host, Link, Page, Robots, Style, Where
from gossamer.testing.web.world import Web

RULES = """\
User-agent: otherbot
Disallow: /

User-agent: *
Disallow: /private/
Disallow: /*.secret$
Allow: /private/open/
"""


class Feature(StrEnum):
    STYLES = "styles"
    REDIRECTS = "redirects"
    MISSING = "missing"
    ERRORS = "errors"
    FLAKY = "flaky"
    SLOW = "slow"
    NOINDEX = "noindex"
    NOFOLLOW = "nofollow"
    DISALLOWED = "disallowed"
    TYPES = "types"
    GZIP = "gzip"
    CHARSETS = "charsets"
    EXTERNAL = "external"
    NOISE = "noise"


EVERYTHING = frozenset(Feature)
QUICK = EVERYTHING - {Feature.ERRORS, Feature.FLAKY, Feature.SLOW}
"""What a crawler gets through without waiting."""

_NOISE = ("mailto:weaver@example.org", "javascript:void(0)", "tel:+441234567890", "data:text/plain,hi", "#top", "")
_CHARSETS = ("iso-8859-1", "windows-1251", "shift_jis", "utf-16")
_LOCAL_PATHS = ("/caf%C3%A9", "/%D0%BF%D0%B0%D1%83%D0%BA", "/%E8%9C%98%E8%9B%9B", "/%CE%B9%CF%83%CF%84%CF%8C%CF%82")
_FOLDERS = ("/", "/docs/", "/docs/guide/", "/docs/reference/api/", "/blog/2024/")


def make_web(
    seed: int,
    hosts: int,
    pages_per_host: int,
    *,
    features: Iterable[Feature] = EVERYTHING,
    behaviours: Mapping[int, Behaviour] | None = None,
    slow: float = 0.3,
) -> Web:
    """A web that is the same for the same arguments.

    `pages_per_host` counts the ordinary pages (`/`, `/docs/` and on), all reachable from `/`; features come on top.
    A slow page takes `slow` seconds. `behaviours` makes single hosts difficult, by their number.
    """
    wanted = frozenset(features)
    drafts = [_Draft(number, hosts, Random(f"{seed} {number}"), wanted, slow) for number in range(hosts)]  # noqa: S311
    for draft in drafts:
        draft.plant(pages_per_host)
        for feature in sorted(wanted & _ADDITIONS.keys()):
            _ADDITIONS[feature](draft)
    for draft in drafts:
        draft.cross(drafts)
    behaviours = behaviours or {}
    made = tuple(_finish(draft, behaviours.get(draft.number, Behaviour())) for draft in drafts)
    return Web(hosts=made, origins=tuple(f"http://host-{number}.test" for number in range(hosts)))


def _finish(draft: _Draft, behaviour: Behaviour) -> Host:
    rules = RULES if Feature.DISALLOWED in draft.features else None
    pages = {path: msgspec.structs.replace(page, links=tuple(draft.links[path])) for path, page in draft.pages.items()}
    return Host(
        pages=pages,
        robots=behaviour.robots or Robots(rules=rules),
        latency=behaviour.latency,
        dead=behaviour.dead,
        retry_after=behaviour.retry_after,
    )


class _Draft:
    """A host in the making."""

    def __init__(self, number: int, hosts: int, random: Random, features: frozenset[Feature], slow: float) -> None:
        self.number = number
        self.hosts = hosts
        self.random = random
        self.features = features
        self.slow = slow
        self.pages: dict[str, Page] = {}
        self.links: dict[str, list[Link]] = {}
        self.ordinary: list[str] = []

    def plant(self, pages: int) -> None:
        """The tree of ordinary pages: each hangs on one of those before it."""
        for index in range(pages):
            path = self._path(index)
            self.add(self._ordinary(path), under=self.ordinary[-20:] if index else ())
            self.ordinary.append(path)

    def cross(self, drafts: list[_Draft]) -> None:
        """Links between ordinary pages, mostly of this host; some mentioned twice."""
        for path in self.ordinary:
            for _ in range(self.random.randint(1, 4)):
                other = self if self.random.random() < 0.8 else self.random.choice(drafts)
                self.mention(path, other.random_path(self.random), host=other.number)

    def random_path(self, random: Random) -> str:
        return random.choice(self.ordinary)

    def add(self, page: Page, under: Iterable[str] | None = None) -> None:
        """A page, linked from one of `under` (an ordinary page, if not given; from nowhere, if empty)."""
        self.pages[page.path] = page
        self.links[page.path] = []
        parents = list(self.ordinary if under is None else under)
        if parents:
            self.mention(self.random.choice(parents), page.path)

    def mention(self, path: str, target: str, *, host: int | None = None, nofollow: bool = False) -> None:
        number = self.number if host is None else host
        style = self.random.choice(tuple(Style)) if Feature.STYLES in self.features else Style.ROOTED
        self.links[path].append(Link(number, target, style, nofollow))

    def own(self, path: str) -> Link:
        style = self.random.choice((Style.ABSOLUTE, Style.ROOTED, Style.RELATIVE))
        return Link(self.number, path, style)

    def chance(self, feature: Feature, likelihood: float) -> bool:
        return feature in self.features and self.random.random() < likelihood

    def _path(self, index: int) -> str:
        if index < 2:
            return ("/", "/docs/")[index]
        folder = self.random.choice(_FOLDERS)
        name = self.random.choice(("page-{}", "page-{}.html", "topic-{}/", "list?page={}", "Item-{}?q=a%20b"))
        return folder + name.format(index)

    def _ordinary(self, path: str) -> Page:
        return Page(
            path=path,
            gzip=self.chance(Feature.GZIP, 0.3),
            base="/docs/guide/" if self.chance(Feature.STYLES, 0.15) else None,
            charset_in=self.random.choice(tuple(Where)),
        )


def _redirects(draft: _Draft) -> None:
    statuses = (301, 302, 303, 307, 308)
    for number, status in enumerate(statuses):
        draft.add(Page(path=f"/old/{number}", status=status, location=draft.own(f"/new/{number}")))
        draft.add(Page(path=f"/new/{number}"), under=())
        draft.add(Page(path=f"/new/{number}/more"), under=[f"/new/{number}"])
    draft.add(Page(path="/hop/1", status=301, location=draft.own("/hop/2")))
    draft.add(Page(path="/hop/2", status=302, location=draft.own("/hop/3")), under=())
    draft.add(Page(path="/hop/3", status=308, location=draft.own("/landing")), under=())
    draft.add(Page(path="/landing"), under=())
    draft.add(Page(path="/loop/a", status=302, location=draft.own("/loop/b")))
    draft.add(Page(path="/loop/b", status=302, location=draft.own("/loop/a")), under=())
    draft.add(Page(path="/loop/self", status=301, location=draft.own("/loop/self")))
    draft.add(Page(path="/to-nothing", status=301, location=draft.own("/was-never-here")))
    neighbour = (draft.number + 1) % draft.hosts
    draft.add(Page(path="/to-neighbour", status=301, location=Link(neighbour, "/welcome")))
    draft.add(Page(path="/welcome"), under=())


def _missing(draft: _Draft) -> None:
    for status in (404, 410, 403, 451):
        draft.add(Page(path=f"/missing/{status}", status=status))
    draft.mention(draft.random_path(draft.random), "/never/existed")


def _errors(draft: _Draft) -> None:
    # At most two, each tried a few times: a host that only fails would be given up.
    draft.add(Page(path="/broken/500", status=500))
    draft.add(Page(path="/broken/502", status=502))


def _flaky(draft: _Draft) -> None:
    draft.add(Page(path="/flaky", failures=2))
    draft.add(Page(path="/flaky/behind"), under=["/flaky"])


def _slow(draft: _Draft) -> None:
    draft.add(Page(path="/slow", delay=draft.slow))
    draft.add(Page(path="/slow/behind"), under=["/slow"])


def _noindex(draft: _Draft) -> None:
    for where in Where:
        draft.add(Page(path=f"/noindex/{where}", robots="noindex", robots_in=where))
        draft.add(Page(path=f"/noindex/{where}/behind"), under=[f"/noindex/{where}"])
    draft.add(Page(path="/noindex/none", robots="none"))
    draft.add(Page(path="/noindex/none/behind"), under=["/noindex/none"])


def _nofollow(draft: _Draft) -> None:
    draft.add(Page(path="/nofollow/only"), under=())
    draft.mention(draft.random_path(draft.random), "/nofollow/only", nofollow=True)
    draft.add(Page(path="/nofollow/beyond"), under=["/nofollow/only"])
    for where in Where:
        draft.add(Page(path=f"/nofollow/{where}", robots="nofollow", robots_in=where))
        draft.add(Page(path=f"/nofollow/{where}/behind"), under=[f"/nofollow/{where}"])
    draft.add(Page(path="/nofollow/both-ways"), under=["/"])
    draft.mention("/", "/nofollow/both-ways", nofollow=True)


def _disallowed(draft: _Draft) -> None:
    draft.add(Page(path="/private/1"))
    draft.add(Page(path="/private/only-from-there"), under=["/private/1"])
    draft.add(Page(path="/private/open/1"))
    draft.add(Page(path="/plan.secret"))
    draft.add(Page(path="/plan.secret?version=2"))
    if Feature.REDIRECTS in draft.features:
        draft.add(Page(path="/to-private", status=302, location=draft.own("/private/2")))
        draft.add(Page(path="/private/2"), under=())


def _types(draft: _Draft) -> None:
    draft.add(Page(path="/files/notes.txt", content_type="text/plain"))
    draft.add(Page(path="/files/paper.pdf", content_type="application/pdf"))
    draft.add(Page(path="/files/blob", content_type="application/octet-stream"))


def _charsets(draft: _Draft) -> None:
    for charset, target in zip(_CHARSETS, _LOCAL_PATHS, strict=True):
        path = f"/charset/{charset}"
        # UTF-16 tells itself apart by its byte order mark; a meta tag could not be read.
        where = Where.HEADER if charset == "utf-16" else draft.random.choice(tuple(Where))
        draft.add(Page(path=path, charset=charset, charset_in=where))
        draft.add(Page(path=target), under=())
        draft.links[path].append(Link(draft.number, target, Style.DECODED))


def _external(draft: _Draft) -> None:
    for number in range(2):
        path = draft.random_path(draft.random)
        draft.links[path].append(Link(None, f"http://elsewhere-{number}.invalid/from/{draft.number}"))


def _noise(draft: _Draft) -> None:
    for text in _NOISE:
        draft.links[draft.random_path(draft.random)].append(Link(None, text))


_ADDITIONS: dict[Feature, Callable[[_Draft], None]] = {
    Feature.REDIRECTS: _redirects,
    Feature.MISSING: _missing,
    Feature.ERRORS: _errors,
    Feature.FLAKY: _flaky,
    Feature.SLOW: _slow,
    Feature.NOINDEX: _noindex,
    Feature.NOFOLLOW: _nofollow,
    Feature.DISALLOWED: _disallowed,
    Feature.TYPES: _types,
    Feature.CHARSETS: _charsets,
    Feature.EXTERNAL: _external,
    Feature.NOISE: _noise,
}
