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
from tests.conftest import in_ci
from tests.service.journal import postgres_server

KINDS = ("memory", "sqlite", "postgres")


@dataclass
class Kept:
    """A place where a journal is kept: `open` opens it to be written."""

    kind: str
    open: Callable[[], Store]
    where: str | Path | Place


@pytest.fixture(scope="session")
def postgres() -> Iterator[Callable[[], str]]:
    """Makes URLs of new, empty databases of a real server."""
    programs = postgres_server.programs()
    if programs is None:
        sentence = "PostgreSQL is not installed (Debian and Ubuntu: apt-get install postgresql)"
        if in_ci():
            pytest.fail(sentence)
        pytest.skip(sentence)
    server = postgres_server.start(programs)
    numbers = count()
    yield lambda: server.make(f"journal{next(numbers)}")
    server.stop()


@pytest.fixture(params=KINDS)
def make_kept(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], Kept]]:
    """Makes new places of each kind; what was opened there is closed in the end."""
    opened: list[Store] = []
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
        url = request.getfixturevalue("postgres")()
        head = tmp_path / f"{number}-head"
        return Kept("postgres", tracked(lambda: open_store(url, head)), url)

    yield made
    for store in opened:
        with suppress(JournalError):
            store.close()


@pytest.fixture
def kept(make_kept: Callable[[], Kept]) -> Kept:
    """A new place of each kind."""
    return make_kept()
