"""The lines of the ledger: one task, job or machine each, as the journal has it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from fairlead.scheduling.transitions import OVER, MachineState, TaskState

Amounts = dict[str, Fraction]
Body = dict[str, Any]


@dataclass
class TaskLine:
    """One task as the journal has it."""

    state: TaskState = TaskState.WAITING
    attempt: int = 0
    machine: str = ""
    pieces: tuple[tuple[str, int], ...] = ()
    launched: int = 0  # the entry of its last launch
    stopped_at: int = 0  # when it was decided to stop it, truly
    tries: int = 0  # retries that were spent
    result: str = ""  # the kind of the entry that recorded its one result


@dataclass
class JobLine:
    """One job as the journal has it."""

    id: int
    name: str  # that no other has
    called: str  # within its tenant
    tree: Body
    count: int
    demand: Amounts
    by: str | None
    key: str | None
    submitted: int
    tasks: dict[int, TaskLine] = field(default_factory=dict)  # those that were ever launched
    cancelled: bool = False
    rejected: bool = False

    @property
    def tenant(self) -> str:
        """Whom it is accounted to: itself where it names nobody."""
        return str(self.tree.get("tenant") or self.name)

    @property
    def patience(self) -> int:
        """How long it waits for what it prefers, in microseconds."""
        seconds = str(self.tree.get("prefer_for", "0s")).removesuffix("s")
        return int(Fraction(seconds) * 10**6)

    def task(self, number: int) -> TaskLine:
        """A task; one that was never launched waits, or was dropped with its job."""
        found = self.tasks.get(number)
        if found is None:
            found = self.tasks[number] = TaskLine(
                TaskState.DROPPED if self.cancelled or self.rejected else TaskState.WAITING
            )
        return found

    def states(self) -> list[TaskState]:
        """Where each task stands."""
        return [self.task(number).state for number in range(self.count)]

    def over(self) -> bool:
        """Whether nothing happens to it any more."""
        return all(state in OVER for state in self.states())


@dataclass
class MachineLine:
    """One machine as the journal has it."""

    state: MachineState
    tree: Body
    capacity: Amounts
    changed: int = 0  # the entry of its last change
    held: dict[tuple[int, int], TaskLine] = field(default_factory=dict)


NOTHING = Fraction(0)


def amounts(tree: Mapping[str, str]) -> Amounts:
    """The amounts of a tree."""
    return {name: Fraction(amount) for name, amount in tree.items()}


def pieces_of(body: Body) -> tuple[tuple[str, int], ...]:
    """The devices of a launch."""
    return tuple((resource, index) for resource, index in body.get("pieces", ()))
