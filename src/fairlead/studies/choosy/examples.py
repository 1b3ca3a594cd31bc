"""Inputs of the Choosy paper's examples: machines of one slot, users who can use some of them."""

from __future__ import annotations

from collections.abc import Sequence

from fairlead.model.job import Job
from fairlead.model.machine import Machine
from fairlead.studies.cases import job, machines

SLOT = ("slot",)
CMMF = "cmmf(slot)"


def slots(count: int) -> tuple[Machine, ...]:
    """Machines m1, m2, ... that one task fills."""
    return machines(*[(1,)] * count, resources=SLOT)


def users(*allowed: Sequence[int]) -> tuple[Job, ...]:
    """Users u1, u2, ... with tasks of a machine each, on these machines."""
    return tuple(job(f"u{i}", 1, on=on, resources=SLOT) for i, on in enumerate(allowed, start=1))


TEN = slots(10)
FIGURE_1 = users((1, 4), (3, 4), (2, 3, 4, 6, 7), range(5, 11))
