"""Pages that are one: by canonical links, by redirects, by what they say, by how their addresses are put."""

from __future__ import annotations

import re
from functools import partial
from itertools import product

import msgspec

from gossamer.model import Why
from gossamer.testing.maze.draft import LISTED, Draft
from gossamer.testing.maze.judge import Case
from gossamer.testing.maze.prose import prose, retouched, title
from gossamer.testing.maze.site import Endless, Spot
from gossamer.testing.web.site import Where

_NEAR_WORDS = 500
"""So many that a date and two words leave them far more alike than the threshold asks for, whatever the sketch."""
_BY_CANONICAL = frozenset({Why.CANONICAL})
_BY_REDIRECT = frozenset({Why.REDIRECT})
_BY_QUERY = frozenset({Why.CANONICAL, Why.DUPLICATE})
"""A parameter that was learnt not to matter folds its pages before their canonical link is seen."""
_BY_CONTENT = frozenset({Why.DUPLICATE, Why.NEAR_DUPLICATE})


def canonical(draft: Draft) -> None:
    hub = draft.hub("canonical")
    _variants(draft, hub, "/canonical/goods", ("sort=price", "sort=name", "print=1"), Where.META)
    _variants(draft, hub, "/canonical/paper", ("format=plain", "format=wide"), Where.HEADER)
    _pointing(draft, "/canonical/survivor", "/canonical/never-was", hub)
    draft.case("its canonical page is missing", ["/canonical/survivor"], completed=(1, 1), roads=LISTED)
    draft.case("a canonical page that is missing", ["/canonical/never-was"], failed=True, roads=LISTED)
    draft.hide("/canonical/never-was")
    _pointing(draft, "/canonical/egg", "/canonical/hen", hub)
    _pointing(draft, "/canonical/hen", "/canonical/egg", hub)
    draft.twins("canonical in a circle", ["/canonical/egg", "/canonical/hen"], _BY_CANONICAL)
    _chain(draft, hub)
    _redirected(draft, hub)
    _pointing(draft, "/canonical/abroad", "http://elsewhere.invalid/page", hub)
    draft.case("its canonical page is out of scope", ["/canonical/abroad"], completed=(1, 1), roads=LISTED)


def _pointing(draft: Draft, path: str, target: str, under: str | None) -> None:
    draft.add(path, msgspec.structs.replace(draft.spot(path), canonical=target), under=under)


def _variants(draft: Draft, hub: str, path: str, queries: tuple[str, ...], where: Where) -> None:
    """One page in other orders, each of which names the first."""
    base = draft.spot(path)
    draft.add(path, base, under=hub)
    variants = [f"{path}?{query}" for query in queries]
    for variant in variants:
        sentences = base.text.split(". ")
        draft.random_for(variant).shuffle(sentences)
        spot = Spot(title=base.title, text=". ".join(sentences), canonical=f"$ORIGIN{path}", canonical_in=where)
        draft.add(variant, spot, under=hub)
    draft.twins(f"canonical, told in the {where}", [path, *variants], _BY_QUERY, keeper=path)


def _chain(draft: Draft, hub: str) -> None:
    links = [f"/canonical/link-{letter}" for letter in "abc"]
    _pointing(draft, links[0], links[1], hub)
    _pointing(draft, links[1], links[2], None)
    draft.add(links[2])
    draft.twins("canonical by way of another", links, _BY_CANONICAL, keeper=links[2])
    draft.hide(*links[1:])


def _redirected(draft: Draft, hub: str) -> None:
    start, moved, end = (f"/canonical/{name}" for name in ("start", "moved", "end"))
    _pointing(draft, start, moved, hub)
    draft.add(moved, Spot(status=301, location=end))
    draft.real(end, name="a canonical page behind a redirect")
    draft.case("canonical to a redirect", [start], reasons=_BY_CANONICAL, into=(moved, end), roads=LISTED)
    draft.case("a canonical page that redirects", [moved], reasons=_BY_REDIRECT, into=(end,), roads=LISTED)
    draft.hide(moved, end)


def redirects(draft: Draft) -> None:
    hub = draft.hub("redirects")
    landing = draft.real("/redirects/landing", name="where redirects lead")
    draft.hide(landing)
    old = [f"/redirects/old-{status}" for status in (301, 302, 303, 307, 308)]
    for path in old:
        draft.add(path, Spot(status=int(path[-3:]), location=landing), under=hub)
    draft.case("redirects to one page", old, reasons=_BY_REDIRECT, into=(landing,), roads=LISTED)


def duplicates(draft: Draft) -> None:
    hub = draft.hub("duplicates")
    for number, slug in enumerate(draft.slugs(4)):
        paths = [f"/duplicates/{slug}", f"/{slug}.html", f"/mirrors/{slug}/"][: 2 + number % 2]
        for path in paths:
            draft.add(path, draft.spot(slug), under=hub)
        draft.twins(f"the same page at {len(paths)} places", paths, {Why.DUPLICATE})


def near_duplicates(draft: Draft) -> None:
    """Long texts in which a word or two, side by side, or a date was changed; titles are the same."""
    hub = draft.hub("near-duplicates")
    for slug in draft.slugs(4):
        random = draft.random_for("near", slug)
        name, text, day = title(random), prose(random, _NEAR_WORDS), random.randint(1, 14)
        texts = [
            f"As of {day} May. {text}",
            f"As of {day + 14} May. {text}",
            f"As of {day} May. {retouched(text, random, random.randint(1, 2))}",
        ]
        paths = [f"/near-duplicates/{slug}/{version}" for version in ("first", "second", "third")]
        for path, version in zip(paths, texts, strict=True):
            draft.add(path, Spot(title=name, text=version), under=hub)
        draft.twins("nearly the same text", paths, {Why.NEAR_DUPLICATE})


def sessions(draft: Draft) -> None:
    """Every link carries a session that is new with every answer. What the pages say stays the same."""
    items = draft.slugs(5)
    draft.links["/"].append("/shop/")
    names = {"/shop/": "all-of-it"} | {f"/shop/{item}": item for item in items}
    draft.endless.append(Endless(re.compile(r"(/shop/[a-z-]*)(?:\?sid=\w+)?"), partial(_shown, draft, names)))
    for path in names:
        draft.cases.append(
            Case(
                name=f"sessions of {path}",
                host=draft.number,
                pattern=rf"{path}(?:\?sid=\w+)?",
                completed=(1, 1),
                reasons=_BY_CONTENT | {Why.TRAP},
                # One more is the page without a session.
                budget=lambda traps: traps.query_budget + 1,
                endless=True,
            )
        )


def _shown(draft: Draft, names: dict[str, str], match: re.Match[str], visit: int) -> Spot:
    if match[1] not in names:
        return Spot(status=404, title="Not found", text="We do not have that.")
    sid = f"{draft.random_for('sid', visit).getrandbits(48):012x}"
    spot = draft.spot(f"shop {names[match[1]]}")
    return Spot(title=spot.title, text=spot.text, links=tuple(f"{path}?sid={sid}" for path in names))


def parameter_order(draft: Draft) -> None:
    hub = draft.hub("find")
    for colour, size in product(("red", "blue", "grey"), (1, 2)):
        paths = [f"/find/all?colour={colour}&size={size}", f"/find/all?size={size}&colour={colour}"]
        for path in paths:
            draft.add(path, draft.spot(f"find {colour} {size}"), under=hub)
        draft.twins("parameters in another order", paths, _BY_CONTENT)
