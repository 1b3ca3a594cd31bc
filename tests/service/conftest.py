"""A PostgreSQL server for the tests of the service."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import count

import pytest

from tests.conftest import in_ci
from tests.once import once
from tests.service.journal import postgres_server


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
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Databases]:
    """Gives URLs of empty databases of a real server."""
    programs = postgres_server.programs()
    if programs is None:
        sentence = "PostgreSQL is not installed (Debian and Ubuntu: apt-get install postgresql)"
        if in_ci():
            pytest.fail(sentence)
        pytest.skip(sentence)
    begun = once(tmp_path_factory, "postgres", partial(postgres_server.begin, programs))
    server = postgres_server.start(programs, begun)
    yield Databases(server)
    server.stop()
