"""The numbered steps that make the schema, each in one file and one transaction.

After adding a step, `python -m gossamer.adapters.store_sqlite.migrations` writes the sum of them all to schema.sql,
which is there to be read.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

import apsw

from gossamer.failpoints import failpoint

_HERE = files("gossamer.adapters.store_sqlite")


def steps() -> list[Traversable]:
    """The migrations, first to last; the n-th one leads to version n."""
    named = (file for file in (_HERE / "schema").iterdir() if file.name.endswith(".sql"))
    return sorted(named, key=lambda file: file.name)


def newest_version() -> int:
    return len(steps())


def version_of(db: apsw.Connection) -> int:
    return int(db.pragma("user_version"))


@contextmanager
def transaction(db: apsw.Connection) -> Iterator[None]:
    """All of it becomes true, or none."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def migrate(db: apsw.Connection) -> None:
    """Take the steps that this database has not taken yet: each whole, or not at all."""
    for version, step in enumerate(steps()[version_of(db) :], start=version_of(db) + 1):
        with transaction(db):
            for statement in statements(step.read_text("utf-8")):
                db.execute(statement)
                failpoint("migration")
            db.pragma("user_version", version)


def statements(sql: str) -> Iterator[str]:
    statement = ""
    for line in sql.splitlines(keepends=True):
        statement += line
        if line.rstrip().endswith(";") and apsw.complete(statement):
            yield statement
            statement = ""


def schema_of(db: apsw.Connection) -> str:
    """The schema of a database as text, in the order it was made."""
    made = db.execute("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY rowid").fetchall()
    return "-- Generated: the sum of all migrations. Change it by adding one.\n\n" + "\n".join(
        f"{sql};\n" for (sql,) in made
    )


def fresh_schema() -> str:
    db = apsw.Connection(":memory:")
    try:
        migrate(db)
        return schema_of(db)
    finally:
        db.close()


if __name__ == "__main__":
    Path(str(_HERE / "schema.sql")).write_text(fresh_schema(), "utf-8")
