"""The command line. Commands are imported when they are called, so that `gossamer --help` answers at once."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import NoReturn

from gossamer.cli.entry import run


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    sys.exit(run(sys.argv[1:] if arguments is None else arguments))
