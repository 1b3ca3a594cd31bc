"""The questions of the loop to an adviser, and an adviser's answers.

An adviser computes outside the loop, so that no decision waits for a solver. Its answer is a pure
function of the question (`answering.answer`); when it comes is another matter, and therefore what
the core is told of it is journaled like any other event.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np

from fairlead.model.values import FrozenMap
from fairlead.scheduling.events import Advice, AdviceChanged, GuaranteesChanged
from fairlead.sharing.present import Snapshot, Tenants
from fairlead.sharing.problem.problem import Bools, Floats, Ints


@dataclass(frozen=True, eq=False)
class Question:
    """The present of one moment. Names are in the order of the arrays' rows.

    The machines are all that are there; `up` says which of them take tasks. Jobs are those with
    tasks that wait or are held; `slot` and `seq` are the core's own, so that they are found again.
    `guarantees`, `advice`: the core is to be told these.
    """

    number: int
    time: int  # microseconds
    policy: str
    resources: tuple[str, ...]
    machines: tuple[str, ...]
    jobs: tuple[str, ...]
    tenants: tuple[str, ...]
    now: Snapshot
    tree: Tenants
    up: Bools  # (M,)
    slot: Ints  # (J,)
    seq: Ints  # (J,)
    guarantees: bool = False
    advice: bool = False


@dataclass(frozen=True, slots=True)
class JobShare:
    """A job's part of the exact allocation: divisible tasks, and whole ones (rounded down), which
    is what it is guaranteed. `level` is the share at which it stopped rising.

    `drained`: whole tasks that it would be guaranteed in addition if all machines that are there
    took tasks."""

    tasks: float
    whole: int
    share: float
    level: float
    drained: int = 0


@dataclass(frozen=True, eq=False)
class JobShares:
    """A `JobShare` for each name, as columns: there may be a hundred thousand."""

    names: tuple[str, ...]
    tasks: Floats
    whole: Ints
    share: Floats
    level: Floats
    drained: Ints
    never: Bools  # what waits of it can never start, on any machine that is there

    @cached_property
    def place(self) -> dict[str, int]:
        """The row of each name."""
        return {name: index for index, name in enumerate(self.names)}

    def of(self, name: str) -> JobShare | None:
        """Finds a job's share; None where it was not asked about."""
        at = self.place.get(name)
        if at is None:
            return None
        return JobShare(
            float(self.tasks[at]),
            int(self.whole[at]),
            float(self.share[at]),
            float(self.level[at]),
            int(self.drained[at]),
        )


NOBODY = JobShares((), *(np.zeros(0, kind) for kind in (float, int, float, float, int, bool)))
"""The shares of no jobs."""


@dataclass(frozen=True, slots=True)
class TenantShare:
    """Of all jobs of a tenant and of those below it: the share that the exact allocation gives,
    divided by the tenant's weight, and `whole`: of the tasks that are guaranteed to its jobs."""

    share: float
    whole: float


@dataclass(frozen=True, eq=False)
class Answer:
    """The exact allocation of a question's jobs. `problem`: why there is none; it is then empty.

    `seconds` is what it took, and no part of what is answered."""

    number: int
    time: int  # the question's
    jobs: JobShares = NOBODY
    tenants: FrozenMap[TenantShare] = field(default_factory=FrozenMap)
    guarantees: FrozenMap[int] | None = None
    advice: tuple[Advice, ...] | None = None
    problem: str = ""
    seconds: float = 0.0

    def events(self, time: int) -> tuple[AdviceChanged | GuaranteesChanged, ...]:
        """The events for the core at that moment: none, if nothing was asked for."""
        told: list[AdviceChanged | GuaranteesChanged] = []
        if self.guarantees is not None:
            told.append(GuaranteesChanged(time, self.guarantees))
        if self.advice is not None:
            told.append(AdviceChanged(time, self.advice))
        return tuple(told)


@dataclass(frozen=True, eq=False)
class Answered:
    question: Question
    answer: Answer


class Adviser(Protocol):
    """Answers questions, one at a time. All calls are made from one thread, and none waits."""

    def ask(self, question: Question) -> None:
        """Computes the answer; a question that was asked before and is not begun is dropped."""

    def answer(self) -> Answered | None:
        """The next answer, once; None while there is none."""

    def close(self) -> None:
        """No more questions; what computes is ended."""
