"""The files that list the pages of a maze, in every form that a crawler may meet."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from html import escape

import msgspec

from gossamer.testing.maze.draft import Draft
from gossamer.testing.maze.judge import Road
from gossamer.testing.maze.site import Endless, Sitemap, Spot

_XML = "application/xml; charset=utf-8"
_NAMESPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
_XHTML = 'xmlns:xhtml="http://www.w3.org/1999/xhtml"'
_EPOCH = 1_700_000_000
_FILLER_TIMES = 20


class Listed(msgspec.Struct, frozen=True):
    """A page as a sitemap tells of it."""

    path: str
    lastmod: float
    priority: float
    alternates: tuple[str, ...] = ()

    @property
    def date(self) -> str:
        return datetime.fromtimestamp(self.lastmod, UTC).isoformat()


def plant(draft: Draft, kind: Sitemap, slow: float) -> tuple[Listed, ...]:
    """Sitemaps for all that is to be listed, with a robots file that names them."""
    if kind is Sitemap.NONE:
        return ()
    kinds = [kind] if kind is not Sitemap.ALL else [it for it in Sitemap if it not in (Sitemap.NONE, Sitemap.ALL)]
    entries = _entries(draft)
    shares = {it: entries[number :: len(kinds)] for number, it in enumerate(kinds)}
    if Sitemap.HREFLANG in shares:
        shares[Sitemap.HREFLANG] = [_with_alternate(draft, entry) for entry in shares[Sitemap.HREFLANG]]
    places = [_PLANTERS[it](draft, share, slow) for it, share in shares.items()]
    robots = "User-agent: *\nDisallow:\n" + "".join(
        f"Sitemap: $ORIGIN{place}\n" for place in places if place != "/sitemap.xml"
    )
    draft.add("/robots.txt", Spot(body=robots.encode(), content_type="text/plain; charset=utf-8"))
    return tuple(entry for share in shares.values() for entry in share)


def _entries(draft: Draft) -> list[Listed]:
    random = draft.random_for("sitemap")
    return [Listed(path, _EPOCH + random.randrange(10**7), random.randint(1, 10) / 10) for path in draft.listed]


def _with_alternate(draft: Draft, entry: Listed) -> Listed:
    path = f"/de/{draft.slugs(1)[0]}"
    draft.real(path, name="a page that is an alternate only", roads=frozenset({Road.SITEMAP}))
    return msgspec.structs.replace(entry, alternates=(path,))


def _file(body: str, **how: bool | float | str) -> Spot:
    return msgspec.structs.replace(Spot(body=body.encode(), content_type=_XML), **how)


def _url(entry: Listed) -> str:
    others = "".join(
        f'<xhtml:link rel="alternate" hreflang="de" href="$ORIGIN{escape(path)}"/>' for path in entry.alternates
    )
    return (
        f"<url><loc>$ORIGIN{escape(entry.path)}</loc><lastmod>{entry.date}</lastmod>"
        f"<priority>{entry.priority}</priority>{others}</url>\n"
    )


def _urlset(listed: Sequence[Listed]) -> str:
    return f"{_open_urlset()}{''.join(map(_url, listed))}</urlset>\n"


def _open_urlset() -> str:
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<urlset {_NAMESPACE} {_XHTML}>\n'


def _index(*places: str) -> Spot:
    named = "".join(f"<sitemap><loc>$ORIGIN{place}</loc></sitemap>\n" for place in places)
    return _file(f'<?xml version="1.0" encoding="UTF-8"?>\n<sitemapindex {_NAMESPACE}>\n{named}</sitemapindex>\n')


def _well_known(draft: Draft, listed: Sequence[Listed], slow: float) -> str:
    return draft.add("/sitemap.xml", _file(_urlset(listed)))


def _robots(draft: Draft, listed: Sequence[Listed], slow: float) -> str:
    return draft.add("/maps/named-by-robots.xml", _file(_urlset(listed)))


def _nested(draft: Draft, listed: Sequence[Listed], slow: float) -> str:
    draft.add("/maps/first.xml", _file(_urlset(listed[::2])))
    draft.add("/maps/second.xml", _file(_urlset(listed[1::2])))
    draft.add("/maps/inner-index.xml", _index("/maps/second.xml"))
    return draft.add("/maps/index.xml", _index("/maps/first.xml", "/maps/inner-index.xml"))


def _gzip(draft: Draft, listed: Sequence[Listed], slow: float) -> str:
    return draft.add("/maps/packed.xml.gz", _file(_urlset(listed), gzipped=True, content_type="application/gzip"))


def _text(draft: Draft, listed: Sequence[Listed], slow: float) -> str:
    lines = "".join(f"$ORIGIN{entry.path}\n" for entry in listed)
    return draft.add("/maps/lines.txt", _file(lines, content_type="text/plain; charset=utf-8"))


def _rss(draft: Draft, listed: Sequence[Listed], slow: float) -> str:
    items = "".join(
        f"<item><title>{escape(entry.path)}</title><link>$ORIGIN{escape(entry.path)}</link>"
        f"<pubDate>{datetime.fromtimestamp(entry.lastmod, UTC):%a, %d %b %Y %H:%M:%S GMT}</pubDate></item>\n"
        for entry in listed
    )
    head = "<title>News</title><link>$ORIGIN/</link><description>All of it</description>"
    body = f'<?xml version="1.0"?>\n<rss version="2.0"><channel>{head}\n{items}</channel></rss>\n'
    return draft.add("/maps/news.rss", _file(body, content_type="application/rss+xml"))


def _atom(draft: Draft, listed: Sequence[Listed], slow: float) -> str:
    entries = "".join(
        f"<entry><title>{escape(entry.path)}</title><id>$ORIGIN{escape(entry.path)}</id>"
        f'<link href="$ORIGIN{escape(entry.path)}"/><updated>{entry.date}</updated></entry>\n'
        for entry in listed
    )
    head = "<title>News</title><id>$ORIGIN/</id>"
    body = f'<?xml version="1.0"?>\n<feed xmlns="http://www.w3.org/2005/Atom">{head}\n{entries}</feed>\n'
    return draft.add("/maps/news.atom", _file(body, content_type="application/atom+xml"))


def _hreflang(draft: Draft, listed: Sequence[Listed], slow: float) -> str:
    return draft.add("/maps/languages.xml", _file(_urlset(listed)))


def _loop(draft: Draft, listed: Sequence[Listed], slow: float) -> str:
    draft.add("/maps/loop-pages.xml", _file(_urlset(listed)))
    draft.add("/maps/loop-b.xml", _index("/maps/loop-a.xml", "/maps/loop-b.xml", "/maps/loop-pages.xml"))
    return draft.add("/maps/loop-a.xml", _index("/maps/loop-b.xml"))


def _broken(draft: Draft, listed: Sequence[Listed], slow: float) -> str:
    body = f"{_open_urlset()}{''.join(map(_url, listed))}<url><loc>$ORIGIN/maps/broken-o"
    return draft.add("/maps/broken.xml", _file(body))


def _slow(draft: Draft, listed: Sequence[Listed], slow: float) -> str:
    return draft.add("/maps/slow.xml", _file(_urlset(listed), delay=slow))


def _endless(draft: Draft, listed: Sequence[Listed], slow: float) -> str:
    entries = "".join(map(_url, listed))
    spot = msgspec.structs.replace(_file(_open_urlset() + entries), filler=entries.encode() * _FILLER_TIMES)
    return draft.add("/maps/endless.xml", spot)


def _endless_index(draft: Draft, listed: Sequence[Listed], slow: float) -> str:
    def further(match: re.Match[str], visit: int) -> Spot:
        return _index("/maps/chained.xml", f"/maps/chain-{int(match[1]) + 1}.xml")

    draft.add("/maps/chained.xml", _file(_urlset(listed)))
    draft.endless.append(Endless(re.compile(r"/maps/chain-(\d+)\.xml"), further))
    return "/maps/chain-1.xml"


_PLANTERS: dict[Sitemap, Callable[[Draft, Sequence[Listed], float], str]] = {
    Sitemap.WELL_KNOWN: _well_known,
    Sitemap.ROBOTS: _robots,
    Sitemap.INDEX: _nested,
    Sitemap.GZIP: _gzip,
    Sitemap.TEXT: _text,
    Sitemap.RSS: _rss,
    Sitemap.ATOM: _atom,
    Sitemap.HREFLANG: _hreflang,
    Sitemap.LOOP: _loop,
    Sitemap.BROKEN: _broken,
    Sitemap.SLOW: _slow,
    Sitemap.ENDLESS: _endless,
    Sitemap.ENDLESS_INDEX: _endless_index,
}
