"""The store on SQLite."""

from gossamer.adapters.store_sqlite.place import DATABASE, wipe
from gossamer.adapters.store_sqlite.store import SqliteStore

__all__ = ["DATABASE", "SqliteStore", "wipe"]
