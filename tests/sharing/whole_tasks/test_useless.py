"""Machines that nobody can use change nothing of what whole-task mechanisms give."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from fairlead.model.allocation import Allocation
from fairlead.model.job import Job
from fairlead.model.machine import Machine
from fairlead.sharing.allocate import allocate
from fairlead.sharing.whole_tasks.registry import whole_names
from tests.sharing.whole_tasks.small import Draw, drawn

SPECS = (
    *whole_names(),
    "gim-cdrf(deterministic=true)",
    "gim-cdrf(seed=3)",
    "serial-dictatorship(lottery=true)",
)


def useless(jobs: tuple[Job, ...], draw: np.random.Generator) -> list[Machine]:
    """Up to three machines with nothing of one resource that everybody needs some of, or of all."""
    names = sorted({name for job in jobs for name, need in job.demand.items() if need})
    needed = [name for name in names if all(job.demand.get(name) for job in jobs)]
    none = [needed[int(draw.integers(len(needed)))]] if needed else names
    return [
        Machine(
            f"useless{i}",
            {
                name: 0 if name in none else Fraction(int(draw.integers(0, 60)), 7)
                for name in (*names, "other")
            },
        )
        for i in range(int(draw.integers(1, 4)))
    ]


def shown(answer: Allocation) -> object:
    """The answer without the numbers of the classes."""
    whole = answer.whole
    assert whole is not None
    number = {each.index: each.machines for each in answer.classes}
    return (
        [(job.name, job.tasks, job.share) for job in answer.jobs],
        [(number[p.machine_class], p.machines, p.jobs) for p in whole.packings],
        [
            (c.probability, c.jobs, [(number[p.machine_class], p.machines) for p in c.packings])
            for c in whole.lottery
        ],
        whole.notes,
    )


@pytest.mark.parametrize("spec", SPECS)
def test_machines_that_hold_no_task_change_nothing(spec: str, cases: int) -> None:
    for seed in range(3 * cases):
        draw = np.random.default_rng(seed)
        cluster, jobs = drawn(seed, Draw(finite=seed % 2 == 0, weights=True))
        more = replace(cluster, machines=(*cluster.machines, *useless(jobs, draw)))
        assert shown(allocate(more, jobs, spec)) == shown(allocate(cluster, jobs, spec)), seed


@pytest.mark.parametrize("spec", SPECS)
def test_machines_that_are_closed_to_everybody_change_nothing(spec: str, cases: int) -> None:
    for seed in range(3 * cases):
        cluster, jobs = drawn(seed, Draw(finite=seed % 2 == 1))
        closed = Machine("closed", dict.fromkeys("abc", 50))
        jobs = tuple(replace(job, exclude=(*job.exclude, "closed")) for job in jobs)
        more = replace(cluster, machines=(closed, *cluster.machines))
        less = tuple(
            replace(job, exclude=tuple(n for n in job.exclude if n != "closed")) for job in jobs
        )
        assert shown(allocate(more, jobs, spec)) == shown(allocate(cluster, less, spec)), seed
