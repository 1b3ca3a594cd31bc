"""Builds the request that starts an attempt: its user, folder, words and variables."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from math import ceil

from fairlead.engines.interface import Assignment, Cause, Ended, Lost, Stream
from fairlead.engines.local.environment import argv, environment
from fairlead.engines.local.groups import Groups
from fairlead.engines.local.hardware import Gpus
from fairlead.engines.local.records import Records
from fairlead.engines.local.spawner_link import SpawnRequest
from fairlead.engines.people import CannotRunError, person
from fairlead.model.machine import Machine


class SpawnRequests:
    """Makes requests of assignments. The machines' GPUs are counted through in their order.

    `groups`: control groups for attempts, where they can be had; `memory`: whether it is limited;
    `most_output`: bytes that are kept of what an attempt writes; `grace`: seconds from the gentle
    signal to the force.
    """

    def __init__(
        self,
        records: Records,
        engine: str,
        machines: Iterable[Machine],
        gpus: Gpus,
        groups: Groups | None,
        memory: bool,
        most_output: int,
        grace: float,
    ) -> None:
        self._records, self._most_output, self._grace = records, most_output, grace
        self._groups, self._memory = groups, memory
        self._engine = engine
        self._gpus = gpus
        self._first: dict[str, tuple[int, int]] = {}
        first = 0
        for machine in machines:
            number = ceil(machine.capacity.get("gpu", 0))
            self._first[machine.name] = (first, number)
            first += number

    def build(self, assignment: Assignment, fresh: bool) -> SpawnRequest | Ended | Lost:
        """The request that starts an attempt, or its end where no process can be of it. `fresh`: no
        spawner was told of it before. Raises OSError."""
        attempt = assignment.attempt
        if assignment.machine not in self._first:
            return Lost(attempt, False, f'there is no machine "{assignment.machine}" here')
        now = time.time_ns() // 1000
        if assignment.command is None and assignment.call is None:
            return Ended(attempt, Cause.EXITED, 0, now, now)
        if assignment.command is None:
            why = "local tasks are commands: a call needs the engine of the library that made it"
            return Ended(attempt, Cause.NOT_STARTED, 1, now, None, why)
        name = assignment.user
        try:
            someone = None if name is None else person(name, f'it cannot become "{name}"')
        except CannotRunError as error:
            return Ended(attempt, Cause.NOT_STARTED, 1, now, None, str(error))
        env = environment(
            assignment,
            someone,
            f"{self._engine}:{attempt}",
            self._visible(assignment),
            self._gpus.maker,
            os.environ,
        )
        groups = self._groups
        return SpawnRequest(
            attempt,
            self._records.folder(attempt) if assignment.cwd is None else assignment.cwd,
            assignment.cwd is None,
            fresh,
            (
                self._records.output(attempt, Stream.OUT),
                self._records.output(attempt, Stream.ERR),
            ),
            argv(assignment),
            env,
            someone,
            None if groups is None else groups.path(attempt),
            {} if groups is None else groups.limits(assignment, self._memory),
            assignment.most_output(self._most_output),
            self._grace,
        )

    def _visible(self, assignment: Assignment) -> tuple[int, ...] | None:
        """Which of the machine's GPUs a task sees; None: there are none to be seen."""
        first, number = self._first[assignment.machine]
        if not number and not self._gpus.number:
            return None
        return tuple(first + index for name, index in assignment.pieces if name == "gpu")
