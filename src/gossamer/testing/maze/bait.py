"""Real pages that look like a trap, or like each other. A crawl that loses one of them was too clever."""

from __future__ import annotations

from datetime import date

from gossamer.testing.maze.draft import Draft
from gossamer.testing.maze.judge import Road
from gossamer.testing.maze.prose import prose, reworded, title
from gossamer.testing.maze.site import Spot

_FIRST_POST = date(2015, 1, 1).toordinal()
_LAST_POST = date(2024, 12, 31).toordinal()
_VERSIONS = ("1.0", "1.1", "2.0", "3.0", "3.1", "3.2")
_OTHER_WORDS = 0.2
_DEEP = (
    "/reference/api/api/",
    "/reference/en/guide/en/",
    "/reference/a/b/c/d/e/f/g/h/i/j/k/",
    "/reference/2024/2024/",
    "/reference/x/y/x/y/",
)


def ordinary(draft: Draft, pages: int, *, llms: int) -> None:
    """A tree of pages with links across. The first `llms` of them are in llms.txt too."""
    paths = ["/"]
    for number, slug in enumerate(draft.slugs(pages - 1)):
        parent = draft.random.choice(paths[-15:])
        folder = draft.random.choice(("/", "/topics/", "/topics/more/", "/notes/"))
        form = draft.random.choice(("{folder}{slug}", "{folder}{slug}.html", "{folder}{number}-{slug}/"))
        path = form.format(folder=folder, slug=slug, number=number)
        roads = {Road.LINKS, Road.SITEMAP} | ({Road.LLMS} if number < llms else set())
        paths.append(draft.real(path, under=parent, name="an ordinary page", roads=frozenset(roads)))
    for path in paths:
        draft.links[path] += draft.random.sample(paths, k=min(3, len(paths)))


def orphans(draft: Draft) -> None:
    """Pages that no link leads to."""
    for slug in draft.slugs(4):
        draft.real(f"/orphans/{slug}", name="a page that only sitemaps name", roads=frozenset({Road.SITEMAP}))


def similar(draft: Draft) -> None:
    """Pairs with the same title, and one word in five another."""
    hub = draft.hub("similar")
    for slug in draft.slugs(4):
        random = draft.random_for("similar", slug)
        name, text = title(random), prose(random, 200)
        for path, version in (("one", text), ("other", reworded(text, random, _OTHER_WORDS))):
            spot = Spot(title=name, text=version)
            draft.real(f"/similar/{slug}/{path}", spot, under=hub, name="a page that is like another, and is not it")


def archive(draft: Draft, posts: int) -> None:
    hub = draft.hub("blog")
    days = sorted(draft.random.sample(range(_FIRST_POST, _LAST_POST), posts))
    for ordinal, slug in zip(days, draft.slugs(posts), strict=True):
        day = date.fromordinal(ordinal)
        month = f"/blog/{day:%Y/%m}/"
        if month not in draft.spots:
            draft.real(month, under=hub, name="a month of a real archive")
        draft.real(f"/blog/{day:%Y/%m/%d}/{slug}", under=month, name="a post of a real archive")


def versions(draft: Draft) -> None:
    """A manual in its versions. From one to the next, one word in five is another."""
    hub = draft.hub("docs")
    texts = {slug: draft.spot(f"docs {slug}", words=200) for slug in draft.slugs(6)}
    for version in _VERSIONS:
        index = draft.real(f"/docs/{version}/", under=hub, name="a version of a manual")
        for slug, spot in texts.items():
            text = reworded(spot.text, draft.random_for(version, slug), _OTHER_WORDS)
            texts[slug] = Spot(title=spot.title, text=text)
            draft.real(f"/docs/{version}/{slug}", texts[slug], under=index, name="a page of a versioned manual")


def parameters(draft: Draft) -> None:
    hub = draft.hub("items")
    for number in draft.random.sample(range(1_000, 9_999), 12):
        draft.real(f"/items/show?id={number}", under=hub, name="a page whose parameter matters")
    for name in ("colour", "size", "page"):
        draft.real(f"/items/about?topic={name}", under=hub, name="a page whose parameter matters")


def lists(draft: Draft, pages: int) -> None:
    hub = draft.hub("list")
    paths = [f"/list/all?page={number}" for number in range(1, pages + 1)]
    for number, path in enumerate(paths):
        draft.real(path, under=paths[number - 1] if number else hub, name="a page of a long list")


def deep(draft: Draft) -> None:
    hub = draft.hub("reference")
    for path in _DEEP:
        draft.real(path, under=hub, name="a deep page")


def llms(draft: Draft) -> None:
    """llms.txt names ordinary pages, and some that nothing else names; llms-full.txt names one more."""
    roads = frozenset({Road.LLMS})
    only = [draft.real(f"/llms/{slug}", name="a page that only llms.txt names", roads=roads) for slug in draft.slugs(4)]
    shared = [case.paths[0] for case in draft.cases if Road.LLMS in case.roads and case.paths[0] not in only]
    lines = [f"- [{draft.spots[path].title}]($ORIGIN{path}): as it is" for path in (*shared, *only[:-1])]
    text = "\n".join(("# A maze", "", "> Pages for those who read text.", "", "## Pages", "", *lines, ""))
    draft.add("/llms.txt", _plain(text))
    draft.add("/llms-full.txt", _plain(f"{text}\n{draft.spot('llms full').text}\n\nSee [more]({only[-1]}).\n"))


def _plain(text: str) -> Spot:
    return Spot(body=text.encode(), content_type="text/plain; charset=utf-8")
