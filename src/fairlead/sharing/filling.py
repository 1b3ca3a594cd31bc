"""Exact progressive filling: the levels, who froze at each, and the prices that prove it."""

from __future__ import annotations

from dataclasses import dataclass

from fairlead.sharing.problem import Floats, Ints, Problem


@dataclass(frozen=True)
class FillingRound:
    """One round. `share` is the level reached: the sum of the steps so far.

    Multipliers are scaled so that sum(job_price * rate) over active jobs is 1; prices are per
    unit of the resource (task, limit, machine) as written.
    """

    share: float
    frozen: Ints  # jobs that froze in this round
    job_price: Floats  # (J,) multiplier of each share row, per unit of share (tasks / scale)
    price: Floats  # (C, R)
    task_price: Floats  # (J,) of a finite job's last task
    limit_price: Floats  # (L,)
    spread_price: dict[tuple[int, int], float]  # (job, class), those above zero


@dataclass(frozen=True)
class Filling:
    """Tasks of each job on each class of machines, and the rounds that led there."""

    tasks: Floats  # (J, C)
    rounds: tuple[FillingRound, ...]


def fill(problem: Problem, scale: Floats, weight: Floats) -> Filling:
    """The exact filling. `scale` (J,): tasks per unit of share, 0 for a job that gets nothing;
    `weight` (T,): the weight of every tenant, those of pools included."""
    raise NotImplementedError
