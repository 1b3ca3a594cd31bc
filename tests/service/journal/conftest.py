"""Where journals are kept in the tests: in memory, in a file, in a PostgreSQL server's database."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pytest

from fairlead.service.journal.entry import JournalError, Store
from fairlead.service.journal.memory import MemoryStore, Place
from fairlead.service.journal.places import open_store
from tests.service.conftest import Databases

KINDS = ("memory", "sqlite", "postgres")


@dataclass
class Kept:
    """A place where a journal is kept: `open` opens it to be written."""

    kind: str
    open: Callable[[], Store]
    where: str | Path | Place
    leave: Callable[[], None] = lambda: None  # a database is for others, when its stores are closed


@pytest.fixture(params=KINDS)
def make_kept(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], Kept]]:
    """Makes new places of each kind; what was opened there is closed in the end."""
    opened: list[Store] = []
    databases: list[str] = []
    numbers = count()

    def made() -> Kept:
        number = next(numbers)

        def tracked(make: Callable[[], Store]) -> Callable[[], Store]:
            def open_it() -> Store:
                store = make()
                opened.append(store)
                return store

            return open_it

        if request.param == "memory":
            place = Place()
            return Kept("memory", tracked(lambda: MemoryStore(place)), place)
        if request.param == "sqlite":
            path = tmp_path / f"{number}.db"
            return Kept("sqlite", tracked(lambda: open_store(path)), path)
        make: Databases = request.getfixturevalue("postgres")
        url = make()
        databases.append(url)
        head = tmp_path / f"{number}-head"

        def leave() -> None:
            databases.remove(url)
            make.leave(url)

        return Kept("postgres", tracked(lambda: open_store(url, head)), url, leave)

    yield made
    for store in opened:
        with suppress(JournalError):
            store.close()
    for url in databases:
        request.getfixturevalue("postgres").leave(url)


@pytest.fixture
def kept(make_kept: Callable[[], Kept]) -> Kept:
    """A new place of each kind."""
    return make_kept()
