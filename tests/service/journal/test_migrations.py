"""A journal of an older schema is brought up to date with all that it holds."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from fairlead.service.journal.entry import JournalError
from fairlead.service.journal.places import open_reader, open_store
from fairlead.service.journal.schema import MIGRATIONS, VERSION
from fairlead.service.journal.sql import SqlStore
from tests.service.journal.entries import some

VERSION_1 = Path(__file__).parent / "version_1.sql"
"""A journal as version 1 of the schema kept it: six entries, and a snapshot of four."""


def in_sqlite(text: str, path: Path) -> Path:
    connection = sqlite3.connect(path)
    connection.executescript(text)
    connection.close()
    path.chmod(0o600)
    return path


def in_postgres(text: str, url: str) -> str:
    import psycopg

    text = re.sub(r"PRAGMA [^;]*;", "", text)
    text = text.replace("INTEGER", "BIGINT").replace("BLOB", "BYTEA")
    text = re.sub(r"x'([0-9a-f]*)'", r"'\\x\1'", text)
    text += "CREATE TABLE journal_schema (version BIGINT NOT NULL);"
    text += "INSERT INTO journal_schema VALUES (1);"
    with psycopg.connect(url) as connection:
        connection.execute(text.encode())
    return url


def see(store: SqlStore) -> None:
    """Sees that all is there, and that it goes on."""
    assert list(store.read()) == some(1, 6)
    assert store.snapshot() == (4, b"what four entries made")
    store.append(some(7, 2))
    store.keep(8, b"eight")
    store.check()
    store.close()


def test_there_is_a_migration_from_every_version() -> None:
    assert len(MIGRATIONS) == VERSION - 1


def test_version_1_in_a_file(tmp_path: Path) -> None:
    path = in_sqlite(VERSION_1.read_text(), tmp_path / "journal.db")
    with pytest.raises(JournalError, match=r"by an older Fairlead \(its schema is 1\): start the"):
        open_reader(path)
    see(open_store(path))
    again = open_store(path)
    assert list(again.read()) == some(1, 8)
    assert again.snapshot() == (8, b"eight")
    again.close()


def test_version_1_in_a_database(postgres: Callable[[], str]) -> None:
    url = in_postgres(VERSION_1.read_text(), postgres())
    with pytest.raises(JournalError, match="by an older Fairlead"):
        open_reader(url)
    see(open_store(url))
    again = open_store(url)
    assert list(again.read()) == some(1, 8)
    again.close()


def test_a_migration_that_fails_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = in_sqlite(VERSION_1.read_text(), tmp_path / "journal.db")

    def failing(run: Callable[..., object]) -> None:
        run("DROP TABLE journal_snapshot", ())
        raise RuntimeError("half way")

    with monkeypatch.context() as patch:
        patch.setattr("fairlead.service.journal.schema.MIGRATIONS", (failing,))
        with pytest.raises(RuntimeError, match="half way"):
            open_store(path)
    see(open_store(path))
