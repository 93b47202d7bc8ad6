from __future__ import annotations

import os

import pytest
from hypothesis import settings

pytest.register_assert_rewrite("gossamer.testing.contracts", "tests.crash.inquest", "tests.frontier.rehearsal")

# A busy machine is no reason to fail. What lands is judged by the same examples every time; elsewhere by new ones.
settings.register_profile("gossamer", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("gossamer")
