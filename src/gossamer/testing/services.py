"""The public services that know of URLs, on loopback: certificates as crt.sh lists them, and the Common Crawl index.

    with Services(certificates=[("example.com", "*.example.com")]) as services:
        ...  # crawl with services.endpoint as that of certificates and of Common Crawl

They answer in the formats of the real ones, from a thread of their own, and keep a list of what they were asked.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Self
from urllib.parse import parse_qs, urlsplit

import msgspec

Names = Sequence[str]
"""The names of one certificate, the common one first."""
Answer = tuple[int, bytes]


class Capture(msgspec.Struct, frozen=True):
    """A page as the index knows it."""

    url: str
    status: str = "200"
    mime: str = "text/html"
    timestamp: str = "20260101000000"


class Services:
    def __init__(
        self,
        *,
        certificates: Sequence[Names] = (),
        captures: Sequence[Capture] = (),
        per_page: int = 3,
        collections: Sequence[str] = ("CC-MAIN-2026-05", "CC-MAIN-2025-51"),
    ) -> None:
        """Captures are in the first of the collections, which is the newest, `per_page` on a page."""
        self.requests: list[str] = []
        """Paths and queries, in the order asked."""
        self._certificates = certificates
        self._index = _Index(captures, per_page)
        self._collections = collections
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._serve, name="gossamer-services", daemon=True)

    @property
    def endpoint(self) -> str:
        """Of both services."""
        return f"http://127.0.0.1:{self._server.server_port}/"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def answer(self, target: str) -> Answer:
        self.requests.append(target)
        parts = urlsplit(target)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        name = parts.path.strip("/")
        if name == "":
            return 200, msgspec.json.encode(_certificates(self._certificates, query.get("q", "")))
        if name == "collinfo.json":
            return 200, msgspec.json.encode([_collection(self.endpoint, one) for one in self._collections])
        if name == f"{self._collections[0]}-index":
            return self._index.answer(query)
        if name.removesuffix("-index") in self._collections:
            return _no_captures(query.get("url", ""))
        return 404, b"Not Found\n"

    def _serve(self) -> None:
        self._server.serve_forever(poll_interval=0.02)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        services = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                status, body = services.answer(self.path)
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Silence."""

        return Handler


def _certificates(certificates: Sequence[Names], asked: str) -> list[dict[str, object]]:
    """`%` stands for anything, as in SQL; a name alone for itself."""
    wanted = asked.removeprefix("%")
    found = ((names, [name for name in names if _is_like(name, wanted, asked)]) for names in certificates)
    numbers = count(1)
    return [_certificate(next(numbers), names, matching) for names, matching in found if matching]


def _is_like(name: str, wanted: str, asked: str) -> bool:
    return name.endswith(wanted) if asked.startswith("%") else name == wanted


def _certificate(number: int, names: Names, matching: Names) -> dict[str, object]:
    return {
        "issuer_ca_id": 16_418,
        "issuer_name": "C=US, O=Example Trust, CN=Example CA",
        "common_name": names[0],
        "name_value": "\n".join(matching),
        "id": number,
        "entry_timestamp": "2026-01-01T00:00:00.000",
        "not_before": "2026-01-01T00:00:00",
        "not_after": "2026-04-01T00:00:00",
        "serial_number": f"{number:036x}",
        "result_count": len(matching) + 1,
    }


def _collection(endpoint: str, name: str) -> dict[str, str]:
    return {
        "id": name,
        "name": f"Index {name}",
        "timegate": f"{endpoint}{name}/",
        "cdx-api": f"{endpoint}{name}-index",
    }


class _Index:
    """One collection, asked in the way of a CDX server."""

    def __init__(self, captures: Sequence[Capture], per_page: int) -> None:
        self._captures = sorted(captures, key=lambda capture: (capture.url, capture.timestamp))
        self._per_page = per_page

    def answer(self, query: dict[str, str]) -> Answer:
        pattern = query.get("url", "")
        found = [capture for capture in self._captures if _matches(pattern, capture.url)]
        if not found:
            return _no_captures(pattern)
        pages = -(-len(found) // self._per_page)
        if query.get("showNumPages") == "true":
            return 200, msgspec.json.encode({"pages": pages, "pageSize": 5, "blocks": pages}) + b"\n"
        page = int(query.get("page", 0))
        if page >= pages:
            return 400, msgspec.json.encode(
                {"message": f"Page {page} invalid: First Page is 0, Last Page is {pages - 1}"}
            )
        return 200, self._lines(found[page * self._per_page : (page + 1) * self._per_page], query.get("fl"))

    def _lines(self, captures: Sequence[Capture], fields: str | None) -> bytes:
        wanted = set(fields.split(",")) if fields else set(Capture.__struct_fields__)
        rows = (msgspec.structs.asdict(capture) for capture in captures)
        return msgspec.json.Encoder().encode_lines([{k: v for k, v in row.items() if k in wanted} for row in rows])


def _no_captures(pattern: str) -> Answer:
    return 404, msgspec.json.encode({"message": f"No Captures found for: {pattern}"})


def _matches(pattern: str, url: str) -> bool:
    """`*.example.com` is a domain with all that is below it, `example.com/docs/*` a prefix, anything else one page."""
    parts = urlsplit(url)
    host, place = parts.netloc, parts.netloc + url.partition(parts.netloc)[2]
    if pattern.startswith("*."):
        return host == pattern[2:] or host.endswith(pattern[1:])
    return place.startswith(pattern[:-1]) if pattern.endswith("*") else place == pattern
