"""The service in the midst of a step, as others may read of it: its records stand still until what
the step does is durable, and all else is changing."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

from fairlead.service.mailbox import UnsettledError
from fairlead.service.records.book import Records


class Midway:
    """All but the records raises UnsettledError, so that it is read again once the step is over."""

    def __init__(self, records: Records) -> None:
        self.records = records

    def __getattr__(self, name: str) -> object:
        raise UnsettledError(name)


class Readers(Protocol):
    """Those who read of the records while the loop is in the midst of a step."""

    def lent(self, service: Midway) -> AbstractContextManager[None]:
        """Meanwhile they read by themselves: no record changes."""

    def serve(self, service: Midway) -> None:
        """Those who wait read now."""


class NoReaders:
    """Nobody reads but between two steps."""

    def lent(self, _service: Midway) -> AbstractContextManager[None]:
        """Nothing."""
        return nullcontext()

    def serve(self, _service: Midway) -> None:
        """Nobody."""
