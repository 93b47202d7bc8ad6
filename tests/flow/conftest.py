from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.flow.rehearsed import Stage


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    stage = await Stage.open(tmp_path)
    yield stage
    await stage.store.close()
