"""What travels between a dispatcher and a worker: leases out, outcomes back."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from gossamer.model.fingerprint import Fingerprint
from gossamer.model.guide import Guide
from gossamer.model.spec import RequestOptions


class Fault(StrEnum):
    """The class of what went wrong in a fetch. The text beside it tells the rest."""

    DNS = "dns"
    CONNECT = "connect"
    TLS = "tls"
    TIMEOUT = "timeout"
    RESET = "reset"
    PROTOCOL = "protocol"
    SLOW = "slow"
    TOO_LARGE = "too-large"
    ENCODING = "encoding"
    ADDRESS = "address"
    STATUS = "status"
    PARSE = "parse"
    WORKER = "worker"
    RETURNED = "returned"
    BLOCKED = "host-blocked"


class LeaseKind(StrEnum):
    """What is fetched, and so how its answer is read."""

    PAGE = "page"
    ROBOTS = "robots"
    SITEMAP = "sitemap"
    """A sitemap, an index of them, a text list, RSS or Atom."""
    LLMS = "llms"
    CT = "ct"
    """Certificates of a domain, as crt.sh lists them."""
    COMMONCRAWL = "commoncrawl"
    """The Common Crawl index: the list of its collections, a number of pages, or one page of URLs."""
    PROBE = "probe"
    """A URL that cannot exist: how the host says so is learnt from it."""

    @property
    def guide(self) -> bool:
        """It is read for the URLs that it lists, and is no page itself."""
        return self in (LeaseKind.SITEMAP, LeaseKind.LLMS, LeaseKind.CT, LeaseKind.COMMONCRAWL)


class Validators(msgspec.Struct, frozen=True):
    """Of what is known already: with them the answer may be 304, without a body."""

    etag: str | None = None
    last_modified: str | None = None


class Lease(msgspec.Struct, frozen=True, kw_only=True):
    """Permission to fetch one URL, once."""

    token: int
    kind: LeaseKind
    source: int
    page: int
    url: str
    host: str
    deadline: float
    exclusive: bool
    """Nobody else holds a lease on this host: keep its connection in one worker."""
    request: RequestOptions
    validators: Validators = Validators()


class Error(msgspec.Struct, frozen=True, kw_only=True):
    fault: Fault
    text: str

    def __str__(self) -> str:
        return f"{self.fault.value}: {self.text}"


class Response(msgspec.Struct, frozen=True, kw_only=True):
    """What came back for one request, or what went wrong. Remote faults are values."""

    status: int | None = None
    headers: tuple[tuple[str, str], ...] = ()
    """Lower-case names, in the order received."""
    body: bytes = b""
    wire_bytes: int = 0
    error: Error | None = None
    address: str | None = None
    elapsed: float = 0.0

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key == name), None)


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """What a page says, read from its bytes."""

    title: str | None = None
    description: str | None = None
    language: str | None = None
    canonical: str | None = None
    text: str | None = None
    """Its main text, plain: what changes and likeness are judged by."""
    markdown: str | None = None
    tokens: int = 0
    hash: str | None = None
    """Of title and main text; where there is no text, of the body."""
    charset: str | None = None
    links: tuple[str, ...] = ()
    """Absolute, normalised, in order, unique."""
    nofollow: tuple[str, ...] = ()
    """Those of the links that are not to be followed from here."""


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """A document, and what the page asks of a crawler."""

    document: Document = Document()
    nofollow_links: tuple[str, ...] = ()
    """Those of the document's links that every mention of marks as nofollow."""
    noindex: bool = False
    nofollow: bool = False
    refresh: str | None = None
    """Target of an immediate meta refresh: a redirect by other means."""
    fingerprint: Fingerprint | None = None
    looks_missing: bool = False
    """Its title or heading says that there is nothing here, whatever the status says."""
    error: Error | None = None


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker found for one lease."""

    token: int
    status: int | None = None
    error: Error | None = None
    location: str | None = None
    """Where a redirect leads, absolute and normalised."""
    retry_after: float | None = None
    content_type: str | None = None
    etag: str | None = None
    last_modified: str | None = None
    size: int = 0
    """Of the body, after decoding."""
    elapsed: float = 0.0
    address: str | None = None
    body: bytes = b""
    """Of robots only: pages travel as readings."""
    reading: Reading | None = None
    guide: Guide | None = None
