"""Gossamer against Scrapy on the same documentation site, served by nginx on loopback, in the same run.

Each round runs both, and the next round runs them the other way about. The time is that of the whole command, from
start to exit, for both; what each says of its crawl alone stands beside it. A crawler that does not bring every page
of the site makes the benchmark fail.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.nginx import NginxLog, serve
from benchmarks.site import write_site

CONCURRENCY = "64"


@dataclass(frozen=True, kw_only=True)
class Run:
    """One crawler, once."""

    crawler: str
    pages: int
    missing: int
    extra: int
    requests: int
    seconds: float
    crawl_seconds: float
    cpu_seconds: float

    @property
    def rate(self) -> float:
        return self.pages / self.seconds

    @property
    def crawl_rate(self) -> float:
        return self.pages / self.crawl_seconds


@dataclass(frozen=True, kw_only=True)
class Track:
    """The site that both run on."""

    url: str
    known: frozenset[str]
    log: NginxLog
    folder: Path


Command = Callable[[str, Path], list[str]]


def gossamer(url: str, folder: Path) -> list[str]:
    limits = ["--delay", "0", "--per-host", CONCURRENCY, "--concurrency", CONCURRENCY, "--no-content"]
    places = ["--out", str(folder / "pages.jsonl"), "--data", str(folder / "data")]
    return [sys.executable, "-m", "gossamer.cli", "crawl", url, *limits, *places, "--json"]


def scrapy(peer: str, style: str) -> Command:
    def command(url: str, folder: Path) -> list[str]:
        return [peer, "-m", "benchmarks.spider", url, "--out", str(folder / "pages.jsonl"), "--style", style]

    return command


def race(track: Track, crawlers: dict[str, Command], rounds: int, report: Callable[[Run], None]) -> list[Run]:
    runs: list[Run] = []
    for number in range(rounds):
        order = list(crawlers) if number % 2 == 0 else list(crawlers)[::-1]
        for name in order:
            with tempfile.TemporaryDirectory(dir=track.folder) as folder:
                runs.append(run_one(name, crawlers[name], track, Path(folder)))
            report(runs[-1])
    return runs


def run_one(name: str, command: Command, track: Track, folder: Path) -> Run:
    track.log.requests()
    cpu, began = _children_cpu(), time.perf_counter()
    done = subprocess.run(command(track.url, folder), capture_output=True, text=True, check=False)
    seconds, cpu = time.perf_counter() - began, _children_cpu() - cpu
    if done.returncode:
        raise SystemExit(f"{done.stderr}\n{name} ended with exit code {done.returncode}; what it said stands above.")
    found = fetched_urls(folder / "pages.jsonl")
    return Run(
        crawler=name,
        pages=len(found & track.known),
        missing=len(track.known - found),
        extra=len(found - track.known),
        requests=len(track.log.requests()),
        seconds=seconds,
        crawl_seconds=json.loads(done.stdout.splitlines()[-1])["seconds"],
        cpu_seconds=cpu,
    )


def fetched_urls(file: Path) -> frozenset[str]:
    """What a crawler says it fetched. Gossamer also writes a line for each page that it did not fetch."""
    with file.open(encoding="utf-8") as lines:
        records = [json.loads(line) for line in lines]
    urls = [record["url"] for record in records if record.get("state", "completed") == "completed"]
    if len(urls) != len(set(urls)):
        raise SystemExit(f"{len(urls) - len(set(urls))} pages stand in the output more than once.")
    return frozenset(urls)


def _children_cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def ratios(runs: Iterable[Run], peer: str) -> dict[str, float]:
    """How many times the peer's pages a second, by the medians: of the whole command, and of the crawl alone."""
    ours = [run for run in runs if run.crawler == "gossamer"]
    theirs = [run for run in runs if run.crawler == peer]
    return {
        "command": _median(run.rate for run in ours) / _median(run.rate for run in theirs),
        "crawl": _median(run.crawl_rate for run in ours) / _median(run.crawl_rate for run in theirs),
    }


def _median(values: Iterable[float]) -> float:
    return statistics.median(values)


HEADER = (
    f"{'crawler':<18}{'pages':>7}{'missing':>9}{'requests':>10}{'seconds':>9}{'cpu s':>8}"
    f"{'pages/s':>9}{'crawl only':>12}"
)


def line(run: Run) -> str:
    return (
        f"{run.crawler:<18}{run.pages:>7}{run.missing:>9}{run.requests:>10}{run.seconds:>9.2f}{run.cpu_seconds:>8.2f}"
        f"{run.rate:>9.0f}{run.crawl_rate:>12.0f}"
    )


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", default=".venv-bench/bin/python", help="the Python that has Scrapy")
    parser.add_argument("--styles", default="tuned", help="of Scrapy, with commas: idiomatic, tuned, stripped")
    parser.add_argument("--pages", type=int, default=6_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true", help="print one JSON object on standard output")
    return parser.parse_args()


def main() -> int:
    options = arguments()
    styles = options.styles.split(",")
    crawlers: dict[str, Command] = {"gossamer": gossamer}
    crawlers |= {f"scrapy, {style}": scrapy(options.peer, style) for style in styles}
    say = sys.stderr if options.json else sys.stdout
    with tempfile.TemporaryDirectory(prefix="gossamer-bench-") as name:
        folder = Path(name)
        paths = write_site(folder / "site", options.pages)
        with serve(folder / "site", folder / "nginx") as (url, log):
            track = Track(url=f"{url}/docs/", known=frozenset(url + path for path in paths), log=log, folder=folder)
            print(f"{len(paths)} pages at {track.url}, {os.cpu_count()} cores\n{HEADER}", file=say, flush=True)
            runs = race(track, crawlers, options.rounds, lambda run: print(line(run), file=say, flush=True))
    return conclude(runs, as_json=options.json)


def conclude(runs: list[Run], *, as_json: bool) -> int:
    peers = sorted({run.crawler for run in runs} - {"gossamer"})
    results = {peer: ratios(runs, peer) for peer in peers}
    if as_json:
        print(json.dumps({"runs": [asdict(run) | {"pages_per_second": run.rate} for run in runs], "ratios": results}))
    else:
        for peer, ratio in results.items():
            print(f"gossamer is {ratio['command']:.1f} times as fast as {peer} ({ratio['crawl']:.1f} without start-up)")
    wrong = [run for run in runs if run.missing or run.extra]
    for run in wrong:
        print(f"{run.crawler}: {run.missing} pages missing, {run.extra} that are not of the site", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
