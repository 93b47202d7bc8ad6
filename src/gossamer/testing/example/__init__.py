"""The bundled example site, served on loopback: what `gossamer demo` crawls."""

from __future__ import annotations

from gossamer.testing.example.site import example_web
from gossamer.testing.web import WebServer

__all__ = ["ExampleSite", "example_web"]


class ExampleSite(WebServer):
    """`with ExampleSite() as site:` serves the Orb Weaver Handbook at `site.url()` on a free port, or a given one."""

    def __init__(self, port: int = 0, *, slow: float = 2.5) -> None:
        super().__init__(example_web(slow), address="127.0.0.1", port=port)
