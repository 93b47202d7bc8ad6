"""Adaptive pace against every fixed one, on servers that mind how they are asked, over HTTP on loopback.

A laden server gets slower beyond a knee. The same crawl is made with a fixed number of requests at once, for several
numbers, and then with `delay = "auto"`, which is told nothing. The best fixed setting is the fastest that keeps the
mean response time within 1.5 times the base; it is at its speed from the first page on, so a third of the site tells
what it does, while auto has the whole of it, with its warm-up.

A metered server answers 429 above a rate; there the crawl is made with `auto` and at full speed (`delay = 0`).
All figures are from the server's own log.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from gossamer.api import crawl
from gossamer.testing.loaded import Laden, LoadedServer, Manner, Metered
from gossamer.testing.web import Request

FIXED = (1, 2, 3, 4, 6, 8, 10, 12, 16)
LADEN = {
    "flat beyond 8": Laden(base=0.05, knee=8, growth=1.0),
    "falling beyond 4": Laden(base=0.05, knee=4, growth=2.0),
    "quick, flat beyond 2": Laden(base=0.01, knee=2, growth=1.0),
}
NEWS = 0.1
"""Seconds from the end of an answer until it is taken note of: decisions are committed in groups."""
TOLERATED = 1.5
"""Times the base response time that the best fixed setting may take."""


@dataclass(frozen=True, kw_only=True)
class Run:
    setting: str
    rate: float
    latency: float
    load: float
    """Requests at the server at once, on average."""
    above: float
    """Share of the time with more of them than the knee."""


def ask(server: LoadedServer, delay: float | Literal["auto"], per_host: int = 16) -> list[Request]:
    """Crawl all of it; what the server saw."""

    async def run() -> int:
        pages = crawl(server.url, delay=delay, per_host=per_host, seed_from=["links"], content=False, soft_404=False)
        return len([page async for page in pages])

    found = asyncio.run(run())
    if found != server.pages:
        raise SystemExit(f"The crawl with delay {delay} brought {found} of {server.pages} pages.")
    return [request for request in server.requests() if not request.robots]


def crawl_laden(manner: Laden, pages: int, delay: float | Literal["auto"], per_host: int = 16) -> Run:
    with LoadedServer(manner, pages=pages) as server:
        log = ask(server, delay, per_host)
    times = [request.ended - request.started for request in log]
    seconds = max(request.ended for request in log) - log[0].started
    return Run(
        setting="auto" if delay == "auto" else f"{per_host} at once",
        rate=len(log) / seconds,
        latency=sum(times) / len(times),
        load=sum(times) / seconds,
        above=time_above(log, manner.knee) / seconds,
    )


def time_above(log: Sequence[Request], load: int) -> float:
    moments = sorted([(request.started, 1) for request in log] + [(request.ended, -1) for request in log])
    above, now, last = 0.0, 0, moments[0][0]
    for moment, change in moments:
        above += moment - last if now > load else 0.0
        now, last = now + change, moment
    return above


def best_of(runs: Sequence[Run], base: float) -> Run:
    # The server stamps with the granularity of its event loop: the least mean is the base as it really is.
    least = max(min(run.latency for run in runs), base)
    return max((run for run in runs if run.latency <= TOLERATED * least), key=lambda run: run.rate)


@dataclass(frozen=True, kw_only=True)
class Race:
    server: str
    best: Run
    fastest: Run
    auto: Run

    @property
    def ratio(self) -> float:
        return self.auto.rate / self.best.rate


def race(name: str, manner: Laden, pages: int) -> Race:
    print(f"\n{name}: {manner.base * 1000:.0f} ms, {pages} pages\n{HEADER}", file=sys.stderr, flush=True)
    fixed = []
    for number in FIXED:
        fixed.append(crawl_laden(manner, pages // 3, 0, number))
        print(line(fixed[-1]), file=sys.stderr, flush=True)
    auto = crawl_laden(manner, pages, "auto")
    print(line(auto), file=sys.stderr, flush=True)
    fastest = max(fixed, key=lambda run: run.rate)
    return Race(server=name, best=best_of(fixed, manner.base), fastest=fastest, auto=auto)


HEADER = f"{'setting':<14}{'pages/s':>9}{'response ms':>13}{'at once':>9}{'above knee':>12}"


def line(run: Run) -> str:
    return f"{run.setting:<14}{run.rate:>9.1f}{run.latency * 1000:>13.1f}{run.load:>9.2f}{run.above:>12.0%}"


@dataclass(frozen=True, kw_only=True)
class Refusals:
    server: str
    setting: str
    requests: int
    first_storm: int
    later: int
    most_together: int
    """Of the later ones, that were under way at once."""
    rate: float


def crawl_metered(name: str, manner: Manner, pages: int, delay: float | Literal["auto"]) -> Refusals:
    with LoadedServer(manner, pages=pages) as server:
        log = ask(server, delay)
    volleys = volleys_of([request for request in log if request.status == 429])
    return Refusals(
        server=name,
        setting="auto" if delay == "auto" else "full speed",
        requests=len(log),
        first_storm=len(volleys[0]) if volleys else 0,
        later=sum(map(len, volleys[1:])),
        most_together=max(map(len, volleys[1:]), default=0),
        rate=pages / (max(request.ended for request in log) - log[0].started),
    )


def volleys_of(refused: Sequence[Request]) -> list[list[Request]]:
    """Refusals of requests that were sent before the crawler can have known of the first of them."""
    volleys: list[list[Request]] = []
    for request in refused:
        if volleys and request.started <= volleys[-1][0].ended + NEWS:
            volleys[-1].append(request)
        else:
            volleys.append([request])
    return volleys


def metered(pages: int) -> list[Refusals]:
    found: list[Refusals] = []
    for delay in ("auto", 0.0):
        for name, after in (("20 a second", None), ("20 a second, Retry-After: 3", 3)):
            manner = Metered(rate=20.0, burst=20.0, retry_after=after)
            found.append(crawl_metered(name, manner, pages, "auto" if delay == "auto" else 0.0))
            print(found[-1], file=sys.stderr, flush=True)
    return found


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=1_500)
    parser.add_argument("--metered-pages", type=int, default=1_000)
    return parser.parse_args()


def main() -> int:
    options = arguments()
    races = [race(name, manner, options.pages) for name, manner in LADEN.items()]
    refusals = metered(options.metered_pages)
    for one in races:
        share = one.auto.rate / one.fastest.rate
        print(
            f"{one.server}: auto reaches {one.ratio:.0%} of the best fixed setting ({one.best.setting}), "
            f"{share:.0%} of the fastest at all ({one.fastest.setting})",
            file=sys.stderr,
        )
    result = {
        "laden": [asdict(one) | {"ratio": one.ratio} for one in races],
        "metered": [asdict(one) for one in refusals],
    }
    print(json.dumps(result))
    return 0 if all(one.ratio >= 0.7 for one in races) else 1


if __name__ == "__main__":
    sys.exit(main())
