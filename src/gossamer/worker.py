"""The entry point of a child process: fetches and reads, and knows nothing else."""

from __future__ import annotations

import sys

from gossamer.adapters.bus_processes.inside import serve
from gossamer.adapters.fetcher_http import HttpFetcher
from gossamer.flow.fetch import Readers, work
from gossamer.parse.guides import GuideReader
from gossamer.parse.page import read
from gossamer.ports import WorkerBus


async def _work(bus: WorkerBus) -> None:
    await work(bus, HttpFetcher(), Readers(page=read, guide=GuideReader))


def main() -> None:
    serve(_work, sys.argv[1:])


if __name__ == "__main__":
    main()
