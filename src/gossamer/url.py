"""One spelling per URL.

Everything that gossamer stores, compares or fetches has gone through `normalise` or `resolve`. A normalised URL
is http or https, has no fragment and no credentials, always has a path, and spells host, port, dot segments and
percent-encoding one way. The case of path and query is kept: servers may care.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache, lru_cache

import ada_url
from publicsuffixlist import PublicSuffixList

_TRACKING = (
    "utm_source utm_medium utm_campaign utm_term utm_content utm_id utm_name utm_reader utm_brand utm_social "
    "gclid gclsrc dclid gbraid wbraid fbclid msclkid yclid twclid ttclid igshid li_fat_id mc_cid mc_eid "
    "_ga _gl _hsenc _hsmi mkt_tok oly_anon_id oly_enc_id vero_id wickedid s_cid"
)
TRACKING = frozenset(_TRACKING.split())
"""Parameters that say where a visitor came from, and nothing about the page."""

_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
# Not after a stray `%` or `%4`: what is decoded there would make a new escape, and a second spelling.
_ESCAPE = re.compile(r"(?<!%)(?<!%[0-9a-fA-F])%([0-9a-fA-F]{2})")
_OTHER_SCHEME = re.compile(r"(?!https?:)[a-z][a-z0-9+.\-]*:", re.IGNORECASE)
_BLANK = "".join(map(chr, range(0x21)))
_ADDRESS = re.compile(r"[0-9.]+|.*:.*")
_MAX_HREF = 32_768
_SHORT = 512


def normalise(url: str, *, drop: frozenset[str] = TRACKING) -> str | None:
    """The one spelling of an absolute URL, or None where it is not one that can be fetched."""
    return _spell(url, "about:blank", drop)


def resolve(base: str, hrefs: Iterable[str], *, drop: frozenset[str] = TRACKING) -> list[str]:
    """The absolute, normalised targets of `hrefs`, in order, each once.

    mailto, javascript, tel, data and pure anchors lead nowhere and are left out.
    """
    return list(dict.fromkeys(resolve_each(base, hrefs, drop=drop).values()))


def resolve_each(base: str, hrefs: Iterable[str], *, drop: frozenset[str] = TRACKING) -> dict[str, str]:
    """The target of every href that leads somewhere."""
    root, _ = _root_and_folder(base)
    found: dict[str, str] = {}
    for href in hrefs:
        # Links from the root are most of the links there are, and have one target wherever they stand.
        plain = href[:1] == "/" and len(href) < _SHORT and href.isprintable()
        target = _resolved(root, href.rstrip(" "), drop) if plain else resolve_one(base, href, drop=drop)
        if target is not None:
            found[href] = target
    return found


def resolve_one(base: str, href: str, *, drop: frozenset[str] = TRACKING) -> str | None:
    """The absolute, normalised target of one href, or None where it leads nowhere that can be fetched."""
    href = href.strip(_BLANK)
    if not href or href[0] == "#" or len(href) > _MAX_HREF:
        return None
    # What is long is seldom seen twice, and would fill the memory of the rest.
    work_out = _resolved if len(href) < _SHORT else _resolved.__wrapped__
    return work_out(_seen_from(base, href), href, drop)


@lru_cache(maxsize=32_768)
def _resolved(base: str, href: str, drop: frozenset[str]) -> str | None:
    # Pages of a site share most of their links: few have to be worked out.
    return None if _OTHER_SCHEME.match(href) else _spell(href, base, drop)


def _seen_from(base: str, href: str) -> str:
    """As much of a base URL as the link looks at: the root, the folder, or all of it."""
    root, folder = _root_and_folder(base)
    return root if href[0] == "/" or href.startswith(("http://", "https://")) else base if href[0] == "?" else folder


@lru_cache(maxsize=64)
def _root_and_folder(base: str) -> tuple[str, str]:
    path = (normalise(base) or base).partition("?")[0]
    return path[: path.find("/", 8) + 1] or base, path[: path.rfind("/") + 1] or base


def _spell(href: str, base: str, drop: frozenset[str]) -> str | None:
    try:
        url = ada_url.join_url(base, href)
    except ValueError:
        return None
    if not url.startswith(("https://", "http://")):
        return None
    url = url.partition("#")[0]
    slash = url.index("/", 8)
    at = url.rfind("@", 0, slash)
    if at > 0:
        url = url[: url.index("//") + 2] + url[at + 1 :]
    if "%" in url:
        url = _ESCAPE.sub(_one_escape, url)
    if "?" in url:
        url = _trim_query(url, drop)
    return url


def _one_escape(match: re.Match[str]) -> str:
    # RFC 3986 6.2.2: unreserved characters are never escaped, other escapes are upper case.
    byte = int(match[1], 16)
    return chr(byte) if byte in _UNRESERVED else match[0].upper()


def _trim_query(url: str, drop: frozenset[str]) -> str:
    path, _, query = url.partition("?")
    kept = "&".join(pair for pair in query.split("&") if pair.partition("=")[0].lower() not in drop)
    return f"{path}?{kept}" if kept else path


def host_of(url: str) -> str:
    """The key of politeness and robots: scheme, host and port of a normalised URL."""
    return url[: url.index("/", 8)]


def hostname_of(host: str) -> str:
    """The bare name or address of a host key, without scheme, port or brackets."""
    authority = host.partition("://")[2].partition("/")[0]
    if authority.startswith("["):
        return authority[1 : authority.index("]")]
    return authority.partition(":")[0]


def port_of(host: str) -> int:
    """The port of a host key, written or implied."""
    authority = host.partition("://")[2]
    port = authority.rpartition(":")[2] if not authority.endswith("]") and ":" in authority else ""
    return int(port) if port else 443 if host.startswith("https:") else 80


@lru_cache(maxsize=65_536)
def site_of(host: str) -> str:
    """The registrable domain of a host key; addresses and one-word names are their own site."""
    name = hostname_of(host)
    return name if _ADDRESS.fullmatch(name) else _suffixes().privatesuffix(name) or name


@cache
def _suffixes() -> PublicSuffixList:
    # The list is read when it is first asked for: workers never do.
    return PublicSuffixList()


def path_of(url: str) -> str:
    """Path and query of a normalised URL, as a server or a robots file sees it."""
    return url[url.index("/", 8) :]


def segments(url: str) -> int:
    """How deep the path of a normalised URL goes."""
    return path_of(url).partition("?")[0].rstrip("/").count("/")
