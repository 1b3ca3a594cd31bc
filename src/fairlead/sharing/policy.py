"""A policy is a scale, and a view of the cluster."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np

from fairlead.model.errors import InputError, Mistake
from fairlead.sharing.problem.problem import Bools, Floats, Problem

if TYPE_CHECKING:
    from flint import fmpq

REFUSED = 10
"""A refusal names so many jobs: whoever mends those finds the others."""


class View(Enum):
    """The cluster as a policy sees it."""

    MACHINES = "machines"  # machines and constraints as they are
    POOLED = "pooled"  # one machine that holds everything, open to every job
    EACH_MACHINE = "each machine"  # every machine filled by itself


class Sees(Enum):
    """The machines as far as a scale knows them: what it does not know need not be told apart."""

    EACH = "each"  # which of them a job may use, and what each of these holds
    THEIR_SUM = "their sum"  # what those that a job may use hold together
    ALL = "all"  # all there are, whichever the job may use, if it may use any


@dataclass(frozen=True)
class Policy:
    """A policy ready to use. `spec` is how it is written, as in `kdf(k=3, gpu=2)`.

    `scale(problem)` gives, for each job, the tasks that make one unit of share: positive and
    finite for a job that can run somewhere, 0 for one that can run nowhere. Under
    View.EACH_MACHINE it is called with problems of a single machine class of count 1. It raises
    InputError, naming the job, where the scale does not exist. `rational` gives it in rationals.
    """

    spec: str
    view: View
    scale: Callable[[Problem], Floats]
    rational: Callable[[Problem], list[fmpq]] | None = None
    sees: Sees = Sees.EACH

    def exact_scale(self, problem: Problem) -> list[fmpq]:
        """The scale in rationals. That of a user's own policy is what its doubles stand for."""
        from fairlead.sharing.numbers.amounts import rationals

        return rationals(self.scale(problem)) if self.rational is None else self.rational(problem)


def resource_shares(problem: Problem) -> Floats:
    """(J, R) the part of the whole cluster's resources that a task takes.

    0 where the cluster has nothing of a resource: a job that demands it can run nowhere.
    """
    there = problem.total > 0
    shares: Floats = np.divide(problem.demand, problem.total, out=problem.demand * 0, where=there)
    return shares


def demand_of(problem: Problem, resource: str) -> Floats:
    """(J,) what a task demands of a resource. Refuses a resource that no job demands."""
    if resource not in problem.resources:
        known = ", ".join(problem.resources) or "nothing"
        raise InputError(f"no job demands any `{resource}`", f"jobs demand {known}")
    demand: Floats = problem.demand[:, problem.resources.index(resource)]
    return demand


def inverse(cost: Floats) -> Floats:
    """1 / cost: the tasks that make one unit of share where a task makes `cost` of it.

    0 where a task costs nothing, which a policy allows only for jobs that can run nowhere.
    """
    tasks: Floats = np.divide(1, cost, out=cost * 0, where=cost > 0)
    return tasks


def refuse(problem: Problem, jobs: Bools, what: str, right: str) -> None:
    """Raises InputError with the names of those of these jobs that can run somewhere, in the order
    in which they were written, past a few of them counted.

    A job that can run nowhere has the share 0 under every policy, so it needs no scale.
    """
    refused = [int(job) for job in np.flatnonzero(jobs & problem.usable.any(axis=1))]
    if problem.written is not None:
        refused.sort(key=problem.written.__getitem__)
    named = refused if len(refused) <= REFUSED + 1 else refused[:REFUSED]
    mistakes = [
        Mistake(f"it {what}", right, about=("job", problem.job_names[job], "demand"))
        for job in named
    ]
    if len(named) < len(refused):
        mistakes.append(Mistake(f"and {len(refused) - len(named):,} more jobs"))
    if mistakes:
        raise InputError(mistakes)
