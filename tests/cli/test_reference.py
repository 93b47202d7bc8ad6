from __future__ import annotations

from pathlib import Path

import pytest

from gossamer.cli.display import Frame
from gossamer.cli.picture import frame, picture
from gossamer.cli.reference import command_line, configuration
from gossamer.cli.wording import SKIPPED
from gossamer.model import Why

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize(("name", "made"), [("cli.md", command_line), ("configuration.md", configuration)])
def test_the_reference_is_what_the_code_says(name: str, made: object) -> None:
    assert callable(made)
    written = (DOCS / "reference" / name).read_text()
    assert written == made(), "run `python -m gossamer.cli.reference docs/reference`"


def test_the_picture_in_the_readme_is_what_the_code_draws() -> None:
    written = (DOCS / "images" / "progress.svg").read_text()
    assert isinstance(frame(), Frame)
    assert written == picture(frame()), "run `python -m gossamer.cli.picture docs/images/progress.svg`"


def test_every_reason_for_skipping_has_words() -> None:
    assert set(SKIPPED) == set(Why)
