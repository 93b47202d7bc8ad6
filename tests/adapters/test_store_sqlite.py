from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from gossamer.adapters.store_sqlite import DATABASE, SqliteStore
from gossamer.ports import Store
from gossamer.testing.contracts.store import StoreContract


class TestSqliteStore(StoreContract):
    @pytest.fixture(autouse=True)
    def _places(self, tmp_path: Path) -> None:
        self.place, self.copy = tmp_path / "data", tmp_path / "copy"

    @pytest.fixture
    async def store(self) -> AsyncIterator[Store]:
        store = await SqliteStore.open(self.place)
        yield store
        await store.close()

    def crashed(self, store: Store) -> AbstractAsyncContextManager[Store]:
        return self._opened_copy()

    @asynccontextmanager
    async def _opened_copy(self) -> AsyncIterator[Store]:
        """A copy of the files as they are now is what a killed process leaves."""
        self.copy.mkdir()
        for name in (DATABASE, f"{DATABASE}-wal"):
            shutil.copy(self.place / name, self.copy / name)
        store = await SqliteStore.open(self.copy)
        yield store
        await store.close()
