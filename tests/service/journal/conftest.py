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
    leave: Callable[[], None] = lambda: None  # a database is for others, when its stores are closed


class Databases:
    """The databases of a real server. To make one and to remove it takes the disk's time, so one
    that was left is emptied and given to the next."""

    def __init__(self, server: postgres_server.Server) -> None:
        self._server = server
        self._numbers = count()
        self._left: list[str] = []

    def __call__(self) -> str:
        """The URL of an empty database."""
        if self._left:
            return self._left.pop()
        return self._server.make(f"journal{next(self._numbers)}")

    def leave(self, url: str) -> None:
        """Nobody needs this one any more."""
        self._server.empty(url)
        self._left.append(url)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Databases]:
    """Gives URLs of empty databases of a real server."""
    programs = postgres_server.programs()
    if programs is None:
        sentence = "PostgreSQL is not installed (Debian and Ubuntu: apt-get install postgresql)"
        if in_ci():
            pytest.fail(sentence)
        pytest.skip(sentence)
    server = postgres_server.start(programs)
    yield Databases(server)
    server.stop()


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
