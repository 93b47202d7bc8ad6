"""What every store must do.

class TestMyStore(StoreContract):
    @pytest.fixture
    async def store(self) -> AsyncIterator[Store]: ...  # a new, empty store

    def crashed(self, store: Store) -> AbstractAsyncContextManager[Store]: ...
"""

from __future__ import annotations

import pytest

from gossamer.ports import Store
from gossamer.testing.contracts.store_folds import StoreFoldsContract
from gossamer.testing.contracts.store_guides import StoreGuidesContract
from gossamer.testing.contracts.store_makers import SPEC
from gossamer.testing.contracts.store_queue import StoreQueueContract
from gossamer.testing.contracts.store_record import StoreRecordContract
from gossamer.testing.contracts.store_rounds import StoreRoundsContract


class StoreContract(
    StoreQueueContract, StoreRecordContract, StoreGuidesContract, StoreFoldsContract, StoreRoundsContract
):
    """Tests that a store passes whatever it stands on. The fixture `store` and `crashed` are the adapter's to give."""

    @pytest.fixture
    async def source(self, store: Store) -> int:
        return (await store.add_source(SPEC, 5.0)).id
