"""Builds the request that starts an attempt: its user, folder, words and variables."""

from __future__ import annotations

import os
from collections.abc import Iterable
from math import ceil

from fairlead.engines.interface import Assignment, Stream
from fairlead.engines.local.environment import Person, argv, environment, person
from fairlead.engines.local.hardware import Gpus
from fairlead.engines.local.records import Records
from fairlead.engines.local.shim import NAME, SHELL, SHIM
from fairlead.engines.local.spawner_link import SpawnRequest
from fairlead.model.machine import Machine


class SpawnRequests:
    """Makes requests of assignments. The machines' GPUs are counted through in their order."""

    def __init__(
        self, records: Records, engine: str, machines: Iterable[Machine], gpus: Gpus
    ) -> None:
        self._records = records
        self._engine = engine
        self._gpus = gpus
        self._first: dict[str, tuple[int, int]] = {}
        first = 0
        for machine in machines:
            number = ceil(machine.capacity.get("gpu", 0))
            self._first[machine.name] = (first, number)
            first += number

    def someone(self, assignment: Assignment) -> Person | None:
        """As whom an attempt runs, None: as the service; whose its record is, is known from now on.
        Raises CannotRunError."""
        if assignment.user is None:
            return None
        someone = person(assignment.user)
        if someone is not None:
            self._records.belongs(assignment.attempt, someone.uid)
        return someone

    def build(self, assignment: Assignment) -> SpawnRequest:
        """The request that starts an attempt. Raises CannotRunError."""
        attempt = assignment.attempt
        someone = self.someone(assignment)
        env = environment(
            assignment,
            someone,
            f"{self._engine}:{attempt}",
            self._visible(assignment),
            self._gpus.maker,
            os.environ,
        )
        words, env = argv(assignment, env)
        work = self._records.folder(attempt) if assignment.cwd is None else None
        folder = work or assignment.cwd or "/"
        return SpawnRequest(
            attempt,
            self._records.place(attempt),
            work,
            (
                self._records.output(attempt, Stream.OUT),
                self._records.output(attempt, Stream.ERR),
            ),
            (SHELL, SHELL, "-c", SHIM, NAME, str(attempt), folder, *words),
            env,
            someone,
        )

    def _visible(self, assignment: Assignment) -> tuple[int, ...] | None:
        """Which of the machine's GPUs a task sees; None: there are none to be seen."""
        first, number = self._first[assignment.machine]
        if not number and not self._gpus.number:
            return None
        return tuple(first + index for name, index in assignment.pieces if name == "gpu")
