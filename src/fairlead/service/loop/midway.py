"""The service in the midst of a step, as others may read of it: its records stand still until what
the step does is durable, of the core there is a copy where the step is large, and all else is
changing."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Protocol

from fairlead.scheduling.reading.core_copy import FrozenCore
from fairlead.service.fairness.monitor import FairnessMonitor
from fairlead.service.mailbox import UnsettledError
from fairlead.service.records.book import Records


@dataclass(frozen=True)
class Before:
    """What the step began with, of which nobody changes anything."""

    core: FrozenCore
    watch: FairnessMonitor | None
    trouble: str


class Midway:
    """All but the records raises UnsettledError, so that it is read again once the step is over; so
    does what there is of `before`, where there is nothing. Nobody else schedules where there is."""

    def __init__(self, records: Records, before: Before | None = None) -> None:
        self.records = records
        self._there: Mapping[str, object] = {}
        if before is not None:
            self._there = {
                "frozen": lambda _into=None: before.core,
                "places": before.core.places,
                "watch": before.watch,
                "apart": {},
                "scheduler_reason": lambda _job: "",
                "following": None,
                "trouble": before.trouble,
            }

    def __getattr__(self, name: str) -> object:
        if name not in self._there:
            raise UnsettledError(name)
        return self._there[name]


class Readers(Protocol):
    """Those who read of the records while the loop is in the midst of a step."""

    def lent(self, service: Midway) -> AbstractContextManager[None]:
        """Meanwhile they read by themselves: no record changes."""

    def pause(self) -> None:
        """In between: answers that are computed of what they read go before the rest of it."""

    def serve(self, service: Midway) -> None:
        """Those who wait read now, and answers that are computed go before the rest."""


class NoReaders:
    """Nobody reads but between two steps."""

    def lent(self, _service: Midway) -> AbstractContextManager[None]:
        return nullcontext()

    def pause(self) -> None:
        """Nothing goes before."""

    def serve(self, _service: Midway) -> None:
        """Nobody."""
