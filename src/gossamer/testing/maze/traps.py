"""Parts without end, and without anything to find."""

from __future__ import annotations

import re
from datetime import date

from gossamer.model import Why
from gossamer.testing.maze.draft import Draft
from gossamer.testing.maze.judge import Case
from gossamer.testing.maze.prose import prose, word
from gossamer.testing.maze.site import Spot

# In the past, whatever the clock says: a date too far ahead would be refused before the trap was entered.
_FIRST_MONTH = 2020 * 12 + 10
_FIRST_DAY = date(2020, 11, 16).toordinal()
_TOO_LONG = 2_500
"""More than a URL may have by default, which is 2,048."""
_LONG_STEP = 300


def calendar(draft: Draft) -> None:
    """Months before and months after, for ever: long texts that differ in one line."""
    notice = prose(draft.random_for("calendar"), 120)

    def month(match: re.Match[str], visit: int) -> Spot:
        number = int(match[1]) * 12 + int(match[2]) - 1
        near = (_month(number - 1), _month(number + 1))
        return Spot(title="Calendar", text=f"Month {match[2]} of {match[1]}. {notice}", links=(*near, "/calendar/"))

    draft.links[draft.hub("calendar", trap=True)].append(_month(_FIRST_MONTH))
    draft.trap("an endless calendar", r"/calendar/(\d+)/(\d+)", lambda traps: traps.path_budget, month)


def _month(number: int) -> str:
    return f"/calendar/{number // 12}/{number % 12 + 1:02}"


def days(draft: Draft) -> None:
    """The same by a query, and with hardly any text."""

    def day(match: re.Match[str], visit: int) -> Spot:
        number = date.fromisoformat(match[1]).toordinal()
        near = tuple(_day(number + step) for step in (-1, 1, 7))
        return Spot(title=f"Agenda {match[1]}", text="Nothing is planned on this day.", links=near)

    draft.links[draft.hub("agenda", trap=True)].append(_day(_FIRST_DAY))
    draft.trap("an endless agenda", r"/agenda/day\?date=([\d-]+)", lambda traps: traps.query_budget, day)


def _day(number: int) -> str:
    return f"/agenda/day?date={date.fromordinal(number).isoformat()}"


def repeats(draft: Draft) -> None:
    """A relative link that should have been a rooted one. Each page has another text, so that only the path tells."""
    for name, step in (("loop", "loop/"), ("mirror", "left/right/")):
        draft.links[draft.hub(name, trap=True)].append(step)

        def again(match: re.Match[str], visit: int, step: str = step) -> Spot:
            return _leading_to(draft, match[0], step)

        draft.trap(f"a path that repeats {step}", rf"/{name}/(?:{step})+", lambda traps: traps.max_repeats, again)


def growing(draft: Draft) -> None:
    """A query that gains a parameter with every step."""

    def longer(match: re.Match[str], visit: int) -> Spot:
        return _leading_to(draft, match[0], f"{match[0]}&f=1")

    draft.links[draft.hub("filter", trap=True)].append("/filter/by?f=1")
    draft.trap("a growing query", r"/filter/by\?f=1(?:&f=1)*", lambda traps: traps.max_parameters, longer)


def descent(draft: Draft) -> None:
    """A path that goes deeper with every step, by ever new names."""

    def deeper(match: re.Match[str], visit: int) -> Spot:
        return _leading_to(draft, match[0], f"{word(draft.random_for('descent', match[0]))}/")

    draft.links[draft.hub("descent", trap=True)].append("first/")
    draft.trap("a path without a bottom", r"/descent/first/(?:[a-z]+/)*", lambda traps: traps.max_segments, deeper)


def long(draft: Draft) -> None:
    """Addresses that grow, and one that is too long from the start."""
    hub = draft.hub("long", trap=True)

    def longer(match: re.Match[str], visit: int) -> Spot:
        return _leading_to(draft, match[0], match[0] + "x" * _LONG_STEP)

    draft.links[hub] += ["/long/x", f"/long/y?q={'y' * _TOO_LONG}"]
    draft.trap("ever longer addresses", r"/long/x+", lambda traps: _TOO_LONG // _LONG_STEP, longer)
    draft.cases.append(
        Case(
            name="an address that is too long",
            host=draft.number,
            paths=(f"/long/y?q={'y' * _TOO_LONG}",),
            reasons=frozenset({Why.LENGTH, Why.TRAP}),
            budget=lambda _: 0,
        )
    )


def numbers(draft: Draft) -> None:
    """Numbered pages with next to nothing on them."""

    def entry(match: re.Match[str], visit: int) -> Spot:
        number = int(match[1])
        near = tuple(f"/n/{number + step}" for step in (1, 2, 3))
        return Spot(title=f"Entry {number}", text="Nothing here yet.", links=near)

    draft.links[draft.hub("n", trap=True)].append("/n/1")
    draft.trap("numbers without end", r"/n/(\d+)", lambda traps: traps.path_budget, entry)


def _leading_to(draft: Draft, path: str, href: str) -> Spot:
    spot = draft.spot(path, words=80)
    return Spot(title=spot.title, text=spot.text, links=(href,))


def soft_404(draft: Draft) -> None:
    """A host that has a friendly page for whatever it does not have. Its robots file and sitemap are that page too."""
    apology = prose(draft.random_for("apology"), 45)
    draft.missing = lambda path: Spot(
        title="Page not found",
        text=f"Sorry, there is no {path.partition('?')[0]} here. {apology}",
        links=("/", "/help/contact-that-is-gone"),
    )
    pages = ["/", *(draft.real(f"/{slug}", under="/") for slug in draft.slugs(6))]
    guide = draft.spot("guide", words=200)
    text = f"How a server says that a page was not found. {guide.text}"
    draft.real("/guide-to-404", Spot(title="404: page not found, explained", text=text), under="/", name=_GUIDE)
    gone = [f"/{folder}/{slug}" for slug in draft.slugs(8) for folder in ("gone", "old/news", "shop")]
    for path in gone:
        draft.links[draft.random.choice(pages)].append(path)
    broken = [*gone, "/help/contact-that-is-gone"]
    draft.links["/"].append(broken[-1])
    draft.case("a broken link of a friendly host", broken, reasons=frozenset({Why.SOFT_404}))


_GUIDE = "a real page about pages that were not found"


def guide_to_404(draft: Draft) -> None:
    """A page of an ordinary host that looks missing and is not."""
    spot = draft.spot("guide to 404", words=200)
    draft.real("/help/404", Spot(title="404 Not Found: what it means", text=spot.text), under="/", name=_GUIDE)
