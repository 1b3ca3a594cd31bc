"""Those who wait for a journal that another service writes: what they see of it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from fairlead.service.journal.entry import JournalError, Standing
from fairlead.service.journal.places import POSTGRES, file_of, open_reader
from fairlead.service.journal.reading import SqlReader, standing
from fairlead.service.journal.sqlite import is_written

if TYPE_CHECKING:
    from fairlead.service.journal.postgres import PostgresSession

T = TypeVar("T")


class Contender(Protocol):
    """`beating`: its leader writes a beat each second, so that its silence tells something."""

    beating: bool
    reader: SqlReader

    def look(self) -> Standing:
        """Its writer now, and how far that went. Raises JournalError."""

    def is_over(self, epoch: int) -> bool:
        """Whether the session of that epoch's writer has ended; in a database it may come back."""

    def close(self) -> None:
        """Looks no more."""


def open_contender(place: str | Path, head: Path | None = None) -> Contender:
    """A contender for the journal at a place. Raises JournalError."""
    if isinstance(place, str) and place.startswith(POSTGRES):
        return _InDatabase(place, head)
    return _InFile(open_reader(place, head), file_of(place))


class _InFile:
    """The kernel knows whether the writer's process is there."""

    beating = False

    def __init__(self, reader: SqlReader, path: Path) -> None:
        self.reader, self._path = reader, path

    def look(self) -> Standing:
        return self.reader.standing()

    def is_over(self, epoch: int) -> bool:
        del epoch  # there is none after it while this is asked
        return not is_written(self._path)

    def close(self) -> None:
        self.reader.close()


class _InDatabase:
    """The server knows whether the writer's session is there, the beats whether it lives."""

    beating = True

    def __init__(self, url: str, head: Path | None) -> None:
        from fairlead.service.journal.postgres import PostgresSession, read_postgres

        self.reader = read_postgres(url, head, lasting=True)
        self._connect: Callable[[], PostgresSession] = partial(PostgresSession, url)
        self._session: PostgresSession | None = None

    def look(self) -> Standing:
        return self._ask(standing)

    def is_over(self, epoch: int) -> bool:
        return self._ask(lambda session: session.is_over(epoch))

    def close(self) -> None:
        self.reader.close()
        self._drop()

    def _ask(self, question: Callable[[PostgresSession], T]) -> T:
        try:
            self._session = self._session or self._connect()
            return question(self._session)
        except JournalError:
            self._drop()
            raise

    def _drop(self) -> None:
        if self._session is not None:
            self._session.close()
            self._session = None
