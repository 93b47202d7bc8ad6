"""The web as a whole: hosts, where they are, and what a crawl of them must find."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import msgspec

from gossamer.model import ScopeMode
from gossamer.testing.web.answer import Expected, Question, answer
from gossamer.testing.web.rules import allows
from gossamer.testing.web.site import Host, Link, Page
from gossamer.url import host_of, normalise, path_of


class Web(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """A description of hosts and their pages. `origins` says where each host is, such as `http://127.0.1.1:8080`."""

    hosts: tuple[Host, ...]
    origins: tuple[str, ...]

    def at(self, origins: Sequence[str]) -> Web:
        """The same web in another place."""
        return msgspec.structs.replace(self, origins=tuple(origins))

    def url(self, host: int, path: str = "/") -> str:
        return self.origins[host] + path

    @property
    def seeds(self) -> tuple[str, ...]:
        """The front page of every host."""
        return tuple(self.url(number) for number in range(len(self.hosts)))

    def target(self, link: Link) -> str | None:
        """The URL that a link means, None where it leads nowhere."""
        return normalise(link.path) if link.host is None else self.url(link.host, link.path)

    def host(self, url: str) -> Host | None:
        """The host of a URL, None where it is outside this web."""
        return self._by_origin.get(host_of(url))

    @cached_property
    def _by_origin(self) -> dict[str, Host]:
        return dict(zip(self.origins, self.hosts, strict=True))

    def page(self, url: str) -> Page | None:
        host = self.host(url)
        return host.pages.get(path_of(url)) if host else None

    def allows(self, url: str, agent: str = "gossamer") -> bool:
        """What the robots file of the URL's host says of it."""
        host = self.host(url)
        return host is None or allows(host.robots.verdict, path_of(url), agent)

    def expected(
        self,
        seeds: Sequence[str],
        *,
        scope: ScopeMode | str = ScopeMode.PREFIX,
        max_depth: int | None = None,
        skip_types: Sequence[str] = (),
        ignore_robots: bool = False,
    ) -> dict[str, Expected]:
        """The known answer: the final state of every URL that a crawl from `seeds` meets."""
        question = Question(
            seeds=tuple(dict.fromkeys(seeds)),
            scope=ScopeMode(scope),
            max_depth=max_depth,
            skip_types=tuple(skip_types),
            ignore_robots=ignore_robots,
        )
        return answer(self, question)
