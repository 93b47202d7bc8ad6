"""Progress on stderr: a live picture on a terminal, a line now and then elsewhere."""

from __future__ import annotations

from collections import deque
from types import TracebackType
from typing import Protocol, Self

import click
from rich.console import Console
from rich.live import Live

from gossamer.cli.display import Frame
from gossamer.cli.wording import number, plural, rate, size, span
from gossamer.model import Stats


class Display(Protocol):
    interval: float
    """Seconds between two looks at the crawl."""

    def show(self, stats: Stats) -> None: ...

    def stopping(self) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class LiveDisplay:
    """Redrawn in place; leaves the terminal as it was."""

    interval = 0.125

    def __init__(self, console: Console, title: str, limit: int | None = None) -> None:
        self._live = Live(console=console, auto_refresh=False, transient=True, redirect_stdout=False)
        self._frame = Frame(title=title, stats=Stats(), limit=limit)
        self._rates = Rates()

    def show(self, stats: Stats) -> None:
        self._draw(Frame(
            title=self._frame.title,
            stats=stats,
            rates=self._rates.with_moment(stats.seconds, stats.fetched),
            limit=self._frame.limit,
            stopping=self._frame.stopping,
        ))  # fmt: skip

    def stopping(self) -> None:
        old = self._frame
        self._draw(Frame(title=old.title, stats=old.stats, rates=old.rates, limit=old.limit, stopping=True))

    def _draw(self, frame: Frame) -> None:
        self._frame = frame
        self._live.update(frame, refresh=True)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()


class Rates:
    """Pages a second over each of the last seconds."""

    def __init__(self, length: int = 16) -> None:
        self._rates: deque[float] = deque(maxlen=length)
        self._time, self._fetched = 0.0, 0

    def with_moment(self, time: float, fetched: int) -> tuple[float, ...]:
        if time - self._time >= 1.0:
            self._rates.append((fetched - self._fetched) / (time - self._time))
            self._time, self._fetched = time, fetched
        return tuple(self._rates)


class LineDisplay:
    """For logs and pipes."""

    interval = 10.0

    def __init__(self, title: str) -> None:
        self._title = title

    def show(self, stats: Stats) -> None:
        click.echo(line(stats), err=True)

    def stopping(self) -> None:
        click.echo("gossamer: stopping; a second signal ends it at once", err=True)

    def __enter__(self) -> Self:
        click.echo(f"gossamer: {self._title}", err=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return


def line(stats: Stats) -> str:
    """A moment in one line, with the reason where nothing moves."""
    counts = stats.counts
    pieces = [
        f"{number(counts.final)} of {number(counts.total)} pages done",
        f"{number(counts.failed)} failed",
        f"{rate(stats.pages_per_second)}/s",
        size(counts.bytes),
        f"{stats.in_flight} in flight on {plural(stats.hosts, 'host')}",
    ]
    if stats.eta is not None:
        pieces.append(f"about {span(stats.eta)} left")
    if stats.waiting:
        pieces.append(f"waiting: {stats.waiting}")
    return f"{span(stats.seconds)}: {', '.join(pieces)}"


def display_for(console: Console, title: str, limit: int | None = None) -> Display:
    return LiveDisplay(console, title, limit) if console.is_terminal else LineDisplay(title)
