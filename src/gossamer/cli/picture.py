"""The picture of the progress display in the README: `python -m gossamer.cli.picture docs/images/progress.svg`."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme

from gossamer.cli.display import Frame
from gossamer.model import Counts, HostStatus, Stats

THEME = TerminalTheme(
    (22, 25, 33),
    (214, 219, 229),
    [(40, 44, 56), (232, 104, 104), (126, 200, 132), (230, 184, 92),
     (110, 160, 240), (196, 140, 220), (92, 196, 206), (214, 219, 229)],
    [(120, 128, 146), (240, 130, 130), (152, 216, 156), (240, 204, 124),
     (140, 184, 248), (214, 168, 234), (128, 222, 230), (245, 247, 250)],
)  # fmt: skip

MOMENT = Stats(
    counts=Counts(pending=1018, processing=9, completed=3240, failed=12, skipped=231, bytes=96_400_000),
    in_flight=9,
    hosts=14,
    seconds=151,
    fetched=3483,
    pages_per_second=23.1,
    eta=44,
    busiest=(
        HostStatus(key="https://docs.example.org", queued=612, in_flight=6),
        HostStatus(key="https://wiki.example.org", queued=231, delay=1, waiting_for="delay", wait=0.6),
        HostStatus(key="https://blog.example.com", queued=88, delay=10, waiting_for="Crawl-delay", wait=6.4),
        HostStatus(key="https://api.example.net", queued=52, waiting_for="Retry-After", wait=87),
        HostStatus(key="https://old.example.net", queued=31, waiting_for="backoff", wait=14, failures=3),
    ),
    errors=(
        ("https://docs.example.org/guide/removed", "status: 404 Not Found"),
        ("https://old.example.net/archive/2009/", "timeout: no byte within 30 s"),
    ),
)  # fmt: skip
RATES = (5, 9, 15, 20, 24, 21, 25, 27, 22, 13, 16, 23, 27, 26, 22, 23)


def picture(frame: Frame, width: int = 100) -> str:
    console = Console(record=True, width=width, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    console.print(frame)
    svg = console.export_svg(title="gossamer crawl", theme=THEME, unique_id="gossamer")
    # No fonts from elsewhere: a picture in a README must not ask a third party for anything.
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)
    return svg.replace("<svg ", '<svg xml:space="preserve" ', 1).replace(
        "Fira Code, monospace", "ui-monospace, monospace"
    )


def frame() -> Frame:
    return Frame(title="crawling https://docs.example.org/ and 3 more", stats=MOMENT, rates=RATES)


def main(target: str) -> None:
    path = Path(target)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(picture(frame()))


if __name__ == "__main__":
    main(sys.argv[1])
