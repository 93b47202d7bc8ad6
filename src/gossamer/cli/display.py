"""What a crawl looks like on a terminal: from one moment's `Stats` to lines of styled text.

Nothing here waits, prints or remembers, so that a picture or a test can show any moment at any width.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from gossamer.cli.wording import clock, host_activity, number, plural, rate, size, span
from gossamer.model import Counts, HostStatus, Stats

FAINT = "bright_black"
HOSTS = 6
ERRORS = 3
_SPARKS = "▁▂▃▄▅▆▇█"
_GAP = 3


class Frame(msgspec.Struct, frozen=True, kw_only=True):
    """One picture of a crawl. Rich prints it at whatever width there is."""

    title: str
    stats: Stats
    rates: tuple[float, ...] = ()
    """Pages a second, over the last seconds, oldest first."""
    limit: int | None = None
    stopping: bool = False

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield from self.lines(min(options.max_width, 120), options.max_height)

    def lines(self, width: int, height: int = 40) -> list[Text]:
        stats, inner = self.stats, max(width - 2, 20)
        head = [self._headline(inner), bar(stats.counts, inner), *flow(self._figures(), inner), *self._tally(inner)]
        tail = [*_errors(stats.errors, inner), *self._foot(inner)]
        room = max(height - len(head) - len(tail) - 2, 0)
        lines = [*head, *_hosts(stats, inner, min(HOSTS, room)), *tail]
        return [Text(" ") + line for line in lines]

    def _headline(self, width: int) -> Text:
        name, time = Text("gossamer", "bold cyan"), Text(clock(self.stats.seconds), FAINT)
        room = width - cell_len(name.plain) - cell_len(time.plain) - 4
        return Text("  ").join([name, Text(_fit(self.title, room, pad=True)), time])

    def _figures(self) -> Iterable[Text]:
        stats, counts = self.stats, self.stats.counts
        yield Text.assemble((number(counts.final), "bold"), " of ", number(counts.total), " known")
        yield Text.assemble((rate(stats.pages_per_second), "bold"), " pages/s ", (sparkline(self.rates), "cyan"))
        if stats.eta is not None:
            yield Text(f"about {span(stats.eta)} left")
        yield Text(size(counts.bytes))
        yield Text(f"{stats.in_flight} in flight")
        if self.limit is not None:
            yield Text(f"stops at {plural(self.limit, 'page')}", FAINT)

    def _tally(self, width: int) -> list[Text]:
        unwritten = self.stats.undelivered
        more = [Text(f"{number(unwritten)} yet to be written", FAINT)] if unwritten else []
        return flow([*tally(self.stats.counts), *more], width)

    def _foot(self, width: int) -> list[Text]:
        if self.stopping:
            return [
                Text(),
                Text(_fit("Stopping: finishing what is in flight. Ctrl+C again ends it now.", width), "yellow"),
            ]
        if self.stats.waiting and not self.stats.in_flight:
            return [Text(), Text(_fit(f"Waiting: {self.stats.waiting}", width), "yellow")]
        return [Text(), Text(_fit("Ctrl+C stops cleanly; gossamer resume continues.", width), FAINT)]


def sparkline(rates: Sequence[float]) -> str:
    top = max(rates, default=0.0)
    if top <= 0:
        return ""
    return "".join(_SPARKS[round(value / top * (len(_SPARKS) - 1))] for value in rates)


def bar(counts: Counts, width: int) -> Text:
    percent = f" {counts.final / counts.total:4.0%}" if counts.total else "   0%"
    room = width - len(percent)
    bar, drawn, passed = Text(), 0, 0
    for count, style in (
        (counts.completed, "green"),
        (counts.failed, "red"),
        (counts.skipped, "yellow"),
        (counts.processing, "bright_cyan"),
    ):
        passed += count
        end = round(room * passed / counts.total) if counts.total else 0
        bar.append("━" * (end - drawn), style)
        drawn = end
    return bar.append("━" * (room - drawn), FAINT).append(percent, "bold")


def tally(counts: Counts) -> list[Text]:
    return [
        Text.assemble(("● ", style), number(count), (f" {word}", FAINT))
        for count, word, style in (
            (counts.completed, "completed", "green"),
            (counts.failed, "failed", "red"),
            (counts.skipped, "skipped", "yellow"),
            (counts.processing, "in hand", "bright_cyan"),
            (counts.pending, "waiting", FAINT),
        )
    ]


def _hosts(stats: Stats, width: int, room: int) -> list[Text]:
    shown = stats.busiest[:room]
    if not shown:
        return []
    columns = [max(len(number(getattr(host, name))) for host in shown) for name in ("queued", "in_flight")]
    name = min(max(cell_len(_bare(host.key)) for host in shown), max(width * 2 // 5, 12))
    lines = [_host(host, name, columns, width) for host in shown]
    more = stats.hosts - len(shown)
    return [Text(), *lines, *([Text(f"and {plural(more, 'more host')}", FAINT)] if more > 0 else [])]


def _host(host: HostStatus, name: int, columns: Sequence[int], width: int) -> Text:
    line = Text().append(_fit(_bare(host.key), name, pad=True), "bold" if host.in_flight else "")
    if width >= 60:
        line.append(f"{number(host.queued):>{columns[0] + _GAP}} queued", FAINT)
        line.append(f"  {number(host.in_flight):>{columns[1]}} active", "" if host.in_flight else FAINT)
    room = width - cell_len(line.plain) - _GAP
    return line.append(" " * _GAP).append(_fit(host_activity(host), room), _activity_style(host))


def _activity_style(host: HostStatus) -> str:
    if host.waiting_for == "blocked":
        return "red"
    if host.waiting_for in (None, "delay", "Crawl-delay", "robots"):
        return "cyan" if host.in_flight else FAINT
    return "yellow"


def _errors(errors: Sequence[tuple[str, str]], width: int) -> list[Text]:
    shown = [(_bare(url), _fit(error, max(width // 2, 14))) for url, error in errors[-ERRORS:]]
    if not shown:
        return []
    room = width - max(cell_len(error) for _, error in shown) - 2 - _GAP
    column = min(room, max(cell_len(url) for url, _ in shown))
    lines = [
        Text.assemble(("✗ ", "red"), _fit(url, column, pad=True, keep_end=True), " " * _GAP, (error, "red"))
        for url, error in shown
    ]
    return [Text(), *lines]


def flow(pieces: Iterable[Text], width: int) -> list[Text]:
    """Pieces side by side, on as many lines as they need; a piece is never broken."""
    lines: list[Text] = []
    for piece in pieces:
        if lines and cell_len(lines[-1].plain) + _GAP + cell_len(piece.plain) <= width:
            lines[-1].append(" " * _GAP).append_text(piece)
        else:
            lines.append(piece.copy())
    for line in lines:
        line.truncate(width, overflow="ellipsis")
    return lines


def _fit(text: str, width: int, *, pad: bool = False, keep_end: bool = False) -> str:
    """`text` in at most `width` cells, with an ellipsis where something had to go."""
    width = max(width, 1)
    text = "".join(each if each.isprintable() else " " for each in text)
    if cell_len(text) <= width:
        return set_cell_size(text, width) if pad else text
    if keep_end:
        return "…" + set_cell_size(text[::-1], width - 1)[::-1]
    return set_cell_size(text, width - 1) + "…"


def _bare(url: str) -> str:
    return url.removeprefix("https://")
