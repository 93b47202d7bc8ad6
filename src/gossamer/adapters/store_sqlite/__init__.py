"""The store on SQLite."""

from gossamer.adapters.store_sqlite.place import DATABASE, InUseError, wipe
from gossamer.adapters.store_sqlite.store import SqliteStore

__all__ = ["DATABASE", "InUseError", "SqliteStore", "wipe"]
