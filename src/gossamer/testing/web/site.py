"""What a synthetic site is made of: links, pages, hosts and the ways in which a host can be difficult. Pure data."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class Style(StrEnum):
    """How a link is written. All styles of one target mean the same URL."""

    ABSOLUTE = "absolute"
    NETWORK = "network"
    ROOTED = "rooted"
    RELATIVE = "relative"
    DOTTED = "dotted"
    FRAGMENT = "fragment"
    TRACKING = "tracking"
    ESCAPED = "escaped"
    DECODED = "decoded"


class Link(msgspec.Struct, frozen=True):
    host: int | None
    """The number of the host it leads to; None where `path` is an address outside, or none at all (`mailto:`)."""
    path: str
    style: Style = Style.ABSOLUTE
    nofollow: bool = False


class Where(StrEnum):
    """The place in which a page states its wishes, or its charset."""

    META = "meta"
    HEADER = "header"


class Page(msgspec.Struct, frozen=True, kw_only=True):
    path: str
    """Path and query, normalised."""
    status: int = 200
    location: Link | None = None
    links: tuple[Link, ...] = ()
    content_type: str = "text/html"
    body: bytes | None = None
    """Served as it is, but that `$ORIGIN` becomes the origin of the host; None makes up a text with the links."""
    charset: str = "utf-8"
    charset_in: Where = Where.HEADER
    gzip: bool = False
    base: str | None = None
    """A directory for `<base href>`, such as `/docs/`."""
    robots: str = ""
    """`noindex`, `nofollow`, both with a comma, or `none`."""
    robots_in: Where = Where.META
    delay: float = 0.0
    failures: int = 0
    """How often it answers 503 before it answers as it should."""

    @property
    def noindex(self) -> bool:
        return "noindex" in self.robots or self.robots == "none"

    @property
    def nofollow(self) -> bool:
        return "nofollow" in self.robots or self.robots == "none"


class Trouble(StrEnum):
    """An answer that is none."""

    RESET = "reset"
    TIMEOUT = "timeout"


class Robots(msgspec.Struct, frozen=True, kw_only=True):
    """What `/robots.txt` answers."""

    rules: str | None = None
    """None with status 200: no such file, 404."""
    crawl_delay: float | None = None
    """Added at the end of the rules, so their last group should be the one for everybody."""
    status: int = 200
    trouble: Trouble | None = None
    times: int | None = None
    """How often the bad status or the trouble comes before the rules do; None: always."""
    redirect: Link | None = None
    """Where the rules are instead. The place should not be a `/robots.txt`."""

    @property
    def text(self) -> str | None:
        if self.crawl_delay is None:
            return self.rules
        return f"{self.rules or 'User-agent: *'}\nCrawl-delay: {self.crawl_delay:g}\n"

    @property
    def unreachable(self) -> bool:
        """It never comes to a verdict."""
        return self.times is None and (self.trouble is not None or self.status == 429 or self.status >= 500)

    @property
    def verdict(self) -> str:
        """The rules that hold in the end; empty where everything is allowed."""
        refused = self.times is None and 400 <= self.status < 500
        return "" if refused or self.text is None else self.text


class RetryAfter(msgspec.Struct, frozen=True, kw_only=True):
    """The first page requests of a host are told to come back later."""

    seconds: int
    times: int = 1
    status: int = 429
    as_date: bool = False


class Behaviour(msgspec.Struct, frozen=True, kw_only=True):
    """How a host behaves as a whole."""

    robots: Robots | None = None
    """None: what the generator chose."""
    latency: float = 0.0
    dead: bool = False
    """Nothing listens: connections are refused."""
    retry_after: RetryAfter | None = None


class Host(msgspec.Struct, frozen=True, kw_only=True):
    pages: dict[str, Page]
    robots: Robots = Robots()
    latency: float = 0.0
    dead: bool = False
    retry_after: RetryAfter | None = None
