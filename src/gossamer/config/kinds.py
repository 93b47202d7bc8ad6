"""The kinds of value that a setting can have: how each is read from a file, a variable or a flag, and how it is shown.

A reader takes what TOML or a command line gave and returns the value, or raises ValueError with a sentence that
says what is wrong and what would be right.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from difflib import get_close_matches
from urllib.parse import urlsplit

import msgspec

from gossamer.config.units import finite, read_duration, read_size, show_duration, show_size
from gossamer.model import SeedFrom

Reader = Callable[[object], object]

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_SENSITIVE = re.compile(r"auth|cookie|token|secret|key|password", re.IGNORECASE)
HIDDEN = "***"


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    metavar: str
    read: Reader
    show: Callable[[object], str] = str
    switch: bool = False
    many: bool = False


def nearest(wrong: str, right: list[str]) -> str:
    """`; did you mean ...?`, or nothing where nothing is near."""
    found = get_close_matches(wrong, right, n=1, cutoff=0.6)
    return f"; did you mean {found[0]}?" if found else ""


def _text(raw: object) -> str:
    if not isinstance(raw, str) or not raw.strip():
        raise ValueError(f"{raw!r} is not text")
    return raw.strip()


def _between(value: float, least: float, most: float | None, show: Callable[[float], str]) -> None:
    if value < least:
        raise ValueError(f"{show(value)} is too little; the least is {show(least)}")
    if most is not None and value > most:
        raise ValueError(f"{show(value)} is too much; the most is {show(most)}")


def whole(least: int, most: int | None = None) -> Kind:
    def read(raw: object) -> int:
        value = _whole(raw)
        _between(value, least, most, lambda number: f"{number:.0f}")
        return value

    return Kind(metavar="N", read=read)


def _whole(raw: object) -> int:
    if isinstance(raw, int) and not isinstance(raw, bool):
        return raw
    try:
        return int(_text(raw).replace(",", "").replace("_", ""))
    except ValueError:
        raise ValueError(f"{raw!r} is not a whole number") from None


def duration(least: float = 0.0, most: float | None = None) -> Kind:
    def read(raw: object) -> float:
        seconds = _seconds(raw)
        _between(seconds, least, most, show_duration)
        return seconds

    return Kind(metavar="TIME", read=read, show=_show_duration)


def _seconds(raw: object) -> float:
    if isinstance(raw, (int, float)) and not isinstance(raw, bool):
        return finite(float(raw))
    if not isinstance(raw, str):
        raise ValueError(f"{raw!r} is not a duration, as in 30, 250ms, 10m or 1h30m")  # noqa: TRY004 - readers raise one kind
    return read_duration(raw)


def _show_duration(value: object) -> str:
    return show_duration(value) if isinstance(value, (int, float)) else str(value)


def size(least: int = 1) -> Kind:
    def read(raw: object) -> int:
        value = raw if isinstance(raw, int) and not isinstance(raw, bool) else read_size(_text(raw))
        _between(value, least, None, lambda number: show_size(int(number)))
        return value

    def show(value: object) -> str:
        return show_size(value) if isinstance(value, int) else str(value)

    return Kind(metavar="SIZE", read=read, show=show)


def optional(kind: Kind) -> Kind:
    """The same, or `none`."""

    def read(raw: object) -> object:
        return None if raw == "none" else kind.read(raw)

    def show(value: object) -> str:
        return "none" if value is None else kind.show(value)

    return msgspec.structs.replace(kind, read=read, show=show)


def choice(*names: str) -> Kind:
    def read(raw: object) -> str:
        if raw not in names:
            raise ValueError(f"{raw!r} is not one of {', '.join(names)}{nearest(str(raw), list(names))}")
        return str(raw)

    return Kind(metavar="|".join(names), read=read)


def choice_of(enumeration: Callable[[str], object], *names: str) -> Kind:
    """One of the names, as a member of an enumeration."""
    plain = choice(*names)
    return msgspec.structs.replace(plain, read=lambda raw: enumeration(str(plain.read(raw))))


def _switch(raw: object) -> bool:
    known = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}
    value = known.get(str(raw).strip().lower())
    if value is None:
        raise ValueError(f"{raw!r} is neither true nor false")
    return value


def many(item: Kind, separator: str | None = None) -> Kind:
    """A list. In one piece of text the items are separated by `separator`, or by commas and spaces; `none` is empty."""
    split = re.compile(separator or r"[,\s]+")

    def read(raw: object) -> tuple[object, ...]:
        pieces = raw if isinstance(raw, (list, tuple)) else [raw]
        items = [
            each for piece in pieces for each in (split.split(piece.strip()) if isinstance(piece, str) else [piece])
        ]
        if items == ["none"]:
            return ()
        return tuple(dict.fromkeys(item.read(each) for each in items if each != ""))

    def show(value: object) -> str:
        assert isinstance(value, tuple)  # noqa: S101 - what read returned
        return (", " if separator is None else "  ").join(map(item.show, value)) or "none"

    return msgspec.structs.replace(item, read=read, show=show, many=True)


def _delay(raw: object) -> float | None:
    if raw == "auto":
        return None
    try:
        seconds = _seconds(raw)
    except ValueError as error:
        raise ValueError(str(error) if str(error).endswith("?") else f"{error}, or auto") from None
    _between(seconds, 0.0, 86_400.0, show_duration)
    return seconds


def _pattern(raw: object) -> str:
    import re2  # it ships no types

    pattern, options = _text(raw), re2.Options()
    options.log_errors = False
    try:
        re2.compile(pattern, options)
    except re2.error as error:
        told = error.args[0].decode() if isinstance(error.args[0], bytes) else str(error)
        raise ValueError(_pattern_fault(pattern, told)) from None
    return pattern


def _pattern_fault(pattern: str, told: str) -> str:
    what, _, fragment = told.partition(": ")
    # RE2 gives the whole pattern where something is missing or left over at its end.
    at = pattern.rfind(fragment) + 1 if fragment and fragment != pattern else len(pattern)
    return f"the pattern {pattern!r} cannot be read: {what}, at character {at}; patterns are RE2"


def _network(raw: object) -> str:
    try:
        return str(ipaddress.ip_network(_text(raw)))
    except ValueError as error:
        hint = ""
        if "host bits set" in str(error):
            hint = f"; did you mean {ipaddress.ip_network(str(raw).strip(), strict=False)}?"
        raise ValueError(f"{raw!r} is not a network, as in 10.0.0.0/8 or 127.0.0.1{hint}") from None


def _header(raw: object) -> tuple[str, str]:
    name, colon, value = _text(raw).partition(":")
    if not colon or not _TOKEN.fullmatch(name) or any(control in value for control in "\r\n\0"):
        raise ValueError("a header is written as in 'Accept-Language: en'")
    return name, value.strip()


def _show_header(value: object) -> str:
    assert isinstance(value, tuple)  # noqa: S101 - what read returned
    name, text = value
    return f"{name}: {HIDDEN if _SENSITIVE.search(name) else text}"


def _extension(raw: object) -> str:
    extension = _text(raw).lower().lstrip("*.")
    if not extension.isalnum():
        raise ValueError(f"{raw!r} is not a file extension; did you mean {extension.rpartition('.')[2]}?")
    return extension


def _credentials(raw: object) -> tuple[str, str]:
    user, colon, password = str(raw).partition(":")
    if not colon or not user:
        raise ValueError("credentials are written as in user:password")
    return user, password


def _proxy(raw: object) -> str:
    try:
        parts = urlsplit(_text(raw))
        right = parts.scheme in PROXIES and parts.hostname and parts.port != 0
    except ValueError:
        right = False
    if not right:
        raise ValueError(f"a proxy is written as in http://user:password@proxy.example:8080 ({', '.join(PROXIES)})")
    return _text(raw)


def _show_proxy(value: object) -> str:
    scheme, _, rest = str(value).partition("://")
    return f"{scheme}://{HIDDEN}@{rest.rpartition('@')[2]}" if "@" in rest else str(value)


def _seed_from(raw: object) -> tuple[object, ...]:
    """Places to find URLs; `all` stands for each of them, without the judgement of `auto`."""
    named = _PLACES.read(raw)
    assert isinstance(named, tuple)  # noqa: S101 - what many reads
    if not named:
        raise ValueError("name at least one place; with --max-depth 0 only the seeds are fetched")
    every = tuple(SeedFrom)[1:]
    return tuple(dict.fromkeys(place for name in named for place in (every if name == "all" else [SeedFrom(name)])))


def _likeness(raw: object) -> float | None:
    if raw in ("off", "none", False):
        return None
    try:
        share = float(raw) if isinstance(raw, (int, float)) else float(_text(raw))
    except ValueError:
        raise ValueError(f"{raw!r} is not a share, as in 0.9, or off") from None
    if not 0.5 <= share <= 1.0:
        raise ValueError(f"{share:g} is not between 0.5 and 1; say off to keep pages that are nearly the same")
    return share


def _endpoint(raw: object) -> str:
    url = _text(raw)
    try:
        parts = urlsplit(url)
        right = parts.scheme in ("http", "https") and parts.hostname and not (parts.query or parts.fragment)
    except ValueError:
        right = False
    if not right:
        raise ValueError(f"{raw!r} is not the URL of a service, as in https://crt.sh/")
    return url if url.endswith("/") else f"{url}/"


def _place(raw: object) -> str:
    where = _text(raw)
    if where.startswith(("postgresql://", "postgres://")):
        raise ValueError("this version does not have a PostgreSQL store yet; name a directory")
    return where


def _agent(raw: object) -> str:
    agent = _text(raw)
    if not agent.isascii() or not agent.isprintable():
        raise ValueError(f"{raw!r} cannot be sent as a User-Agent; use printable ASCII")
    return agent


PROXIES = ("http", "https", "socks5", "socks5h")
AGENT = Kind(metavar="TEXT", read=_agent)
DIRECTORY = Kind(metavar="DIR", read=_place)
FILE = Kind(metavar="FILE", read=_text)
SWITCH = Kind(metavar="true|false", read=_switch, show=lambda value: str(value).lower(), switch=True)
DELAY = Kind(metavar="TIME|auto", read=_delay, show=lambda value: "auto" if value is None else _show_duration(value))
PATTERNS = many(Kind(metavar="RE", read=_pattern), separator=r"\n+")
NETWORKS = many(Kind(metavar="CIDR", read=_network))
HEADERS = many(Kind(metavar="'NAME: VALUE'", read=_header, show=_show_header), separator=r"\n+")
EXTENSIONS = many(Kind(metavar="EXT,...", read=_extension))
WORDS = many(Kind(metavar="NAME,...", read=lambda raw: _text(raw).lower()))
_PLACES = many(choice(*SeedFrom, "all"))
SEED_FROM = msgspec.structs.replace(_PLACES, metavar="PLACE,...", read=_seed_from)
LIKENESS = Kind(metavar="SHARE|off", read=_likeness, show=lambda value: "off" if value is None else f"{value:g}")
ENDPOINT = Kind(metavar="URL", read=_endpoint)
CREDENTIALS = Kind(metavar="USER:PASSWORD", read=_credentials, show=lambda value: HIDDEN)
PROXY = Kind(metavar="URL", read=_proxy, show=_show_proxy)
