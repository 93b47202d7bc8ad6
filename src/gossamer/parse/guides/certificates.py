"""The names in the certificates of a domain, as crt.sh lists them in JSON."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlsplit

import msgspec

from gossamer.parse.guides.listing import Enough, Listing
from gossamer.parse.guides.objects import Objects

_NAME = re.compile(r"[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})+")
_MAX_NAME = 253


class _Certificate(msgspec.Struct):
    common_name: str | None = None
    name_value: str | None = None
    """One name a line. Certificates are for mail addresses too."""


class Certificates:
    """Only names at or below the domain that the guide's URL asks for count: a certificate often has others too."""

    def __init__(self, listing: Listing) -> None:
        self._listing = listing
        self._domain = domain_asked(listing.url)
        self._objects = Objects(_Certificate)

    def feed(self, data: bytes) -> None:
        if not self._domain:
            raise Enough("its URL does not say of which domain the certificates are")
        for certificate in self._objects.feed(data):
            self._add(f"{certificate.common_name or ''}\n{certificate.name_value or ''}")

    def close(self) -> None:
        if self._objects.unfinished:
            self._listing.note("it breaks off within a certificate")

    def _add(self, names: str) -> None:
        for raw in names.split("\n"):
            # A wildcard says nothing of the names that it stands for, but the one below it is likely to exist.
            name = raw.strip().lower().rpartition("*.")[2]
            if self._belongs(name):
                self._listing.add(f"https://{name}/")

    def _belongs(self, name: str) -> bool:
        below = name == self._domain or name.endswith("." + self._domain)
        return below and len(name) <= _MAX_NAME and _NAME.fullmatch(name) is not None


def domain_asked(url: str) -> str:
    """`example.com` of `...?q=%25.example.com`."""
    query = parse_qs(urlsplit(url).query).get("q", [""])[0]
    return query.removeprefix("%.").strip(".").lower()
