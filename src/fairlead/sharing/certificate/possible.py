"""Whether placements that come from doubles are possible: mechanisms prove nothing else."""

from __future__ import annotations

import numpy as np

from fairlead.model.allocation import Allocation
from fairlead.model.errors import CertificateError
from fairlead.sharing.certificate.arrays import Classes, Floats
from fairlead.sharing.certificate.input import Input

ROUNDING = 1e-9
"""Relative, of everything that has a bound: such answers are doubles, sums of up to 100,000 of
them. What is wrong by more than rounding is wrong by far more than this."""


def placed_tasks(given: Input, classes: Classes, answer: Allocation) -> Floats:
    """(J, C) the tasks that an answer places."""
    tasks = np.zeros(classes.usable.shape)
    for job in answer.jobs:
        row = given.seen.job.get(job.name)
        if row is None:
            raise CertificateError(f"job {job.name} does not exist")
        for place in job.placements or ():
            column = classes.column.get(place.machine_class)
            if column is None or tasks[row, column] or not 0 <= place.tasks < np.inf:
                raise CertificateError(
                    f"job {job.name} has {place.tasks} tasks on class {place.machine_class}"
                )
            tasks[row, column] = place.tasks
    return tasks


def violation(given: Input, classes: Classes, tasks: Floats) -> float:
    """The largest relative excess of tasks (J, C) over what there is. Raises CertificateError where
    it is more than a rounding error."""
    seen = given.seen
    numbers = {column: number for number, column in classes.column.items()}
    if np.any(tasks[~classes.usable]):
        job, column = np.argwhere((tasks != 0) & ~classes.usable)[0]
        raise CertificateError(
            f"job {seen.names[job]} has tasks on class {numbers[int(column)]}, which it cannot use"
        )
    each = tasks.sum(axis=1)
    used = tasks.T @ seen.demand
    machines = np.where(seen.spread[:, None], classes.count, np.inf)
    limits = [(np.array([each @ cap.need]), np.array([cap.most])) for cap in given.tree.caps]
    worst = 0.0
    for taken, there in [(used, classes.total), (each, seen.tasks), (tasks, machines), *limits]:
        with np.errstate(divide="ignore", invalid="ignore"):
            excess = np.where(taken > there, (taken - there) / there, 0.0)
        over = float(excess.max(initial=0.0))
        if over > ROUNDING:
            at = int(excess.argmax())
            raise CertificateError(
                f"{taken.flat[at]:.12g} is used of something of which there is"
                f" {np.broadcast_to(there, taken.shape).flat[at]:.12g}"
            )
        worst = max(worst, over)
    return worst
