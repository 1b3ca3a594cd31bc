"""Builds the request that starts an attempt: its user, folder, words and variables."""

from __future__ import annotations

import os
from collections.abc import Iterable
from math import ceil

from fairlead.engines.interface import Assignment, Stream
from fairlead.engines.local.environment import argv, environment
from fairlead.engines.local.groups import Groups
from fairlead.engines.local.hardware import Gpus
from fairlead.engines.local.records import Records
from fairlead.engines.local.spawner_link import SpawnRequest
from fairlead.engines.people import person
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

    def build(self, assignment: Assignment) -> SpawnRequest:
        """The request that starts an attempt. Raises CannotRunError."""
        attempt = assignment.attempt
        name = assignment.user
        someone = None if name is None else person(name, f'it cannot become "{name}"')
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
