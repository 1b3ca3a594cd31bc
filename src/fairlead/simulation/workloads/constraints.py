"""Placement constraints after published numbers: 21 attributes, or one attribute at most."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from fairlead.model.constraint import Operator, Requirement
from fairlead.model.errors import InputError
from fairlead.simulation.workload import Bools, Floats, Ints, Words
from fairlead.simulation.workloads.draws import Stream, numbers

# The numbers of the public program `meghanat/megha-constraint-aware` (commit b503dbc), whose shape
# is that of Sharma, Chudnovsky, Hellerstein, Rifaat and Das: Modeling and Synthesizing Task
# Placement Constraints in Google Compute Clusters (SoCC 2011). The paper's own tables were not
# seen. The 21 constraints have no names there: c00 to c20, in its order.
PERCENT = (
    (8, 7.5, 7.8, 5.8, 9.7, 6.6, 8.7, 4.7, 5.7, 7.2),
    (7, 6.6, 6.9, 5, 8.5, 5.7, 7.6, 4.1, 5, 6.3),
    (7, 6.6, 6.9, 5, 8.5, 5.7, 7.6, 4.1, 5, 6.3),
    (10, 9.4, 9.8, 7.2, 12.1, 8.2, 10.9, 5.9, 7.1, 9),
    (23, 21.6, 22.5, 16.6, 27.8, 18.9, 25.1, 13.6, 16.3, 20.6),
    (20, 18.8, 19.6, 14.4, 24.2, 16.4, 21.8, 11.8, 14.2, 17.9),
    (30, 28.2, 29.4, 21.6, 36.3, 24.6, 32.7, 17.7, 21.3, 26.9),
    (1, 0.9, 1, 0.7, 1.2, 0.8, 1.1, 0.6, 0.7, 0.9),
    (3, 2.8, 2.9, 2.2, 3.6, 2.5, 3.3, 1.8, 2.1, 2.7),
    (1, 0.9, 1, 0.7, 1.2, 0.8, 1.1, 0.6, 0.7, 0.9),
    (4, 3.8, 3.9, 2.9, 4.8, 3.3, 4.4, 2.4, 2.8, 3.6),
    (3, 2.8, 2.9, 2.2, 3.6, 2.5, 3.3, 1.8, 2.1, 2.7),
    (2, 1.9, 2, 1.4, 2.4, 1.6, 2.2, 1.2, 1.4, 1.8),
    (1, 0.9, 1, 0.7, 1.2, 0.8, 1.1, 0.6, 0.7, 0.9),
    (4, 3.8, 3.9, 2.9, 4.8, 3.3, 4.4, 2.4, 2.8, 3.6),
    (2, 1.9, 2, 1.4, 2.4, 1.6, 2.2, 1.2, 1.4, 1.8),
    (9, 8.5, 8.8, 6.5, 10.9, 7.4, 9.8, 5.3, 6.4, 8.1),
    (8, 7.5, 7.8, 5.8, 9.7, 6.6, 8.7, 4.7, 5.7, 7.2),
    (11, 10.3, 10.8, 7.9, 13.3, 9, 12, 6.5, 7.8, 9.9),
    (25, 23.5, 24.5, 18, 30.2, 20.5, 27.3, 14.8, 17.8, 22.4),
    (29, 27.3, 28.4, 20.9, 35.1, 23.8, 31.6, 17.1, 20.6, 26),
)
"""Per cent of the tasks of each of ten groups (columns) that ask for each constraint (rows)."""
GROUP_WEIGHTS = (
    (0.039629, 0.120433, 0.130371, 0.116757),
    (0.140495, 0.079715, 0.160817, 0.12047),
    (0.059059, 0.110161, 0.150668, 0.133837),
    (0.120322, 0.120433, 0.049307, 0.096584),
    (0.089876, 0.099765, 0.160817, 0.116757),
    (0.11005, 0.099765, 0.12047, 0.110198),
    (0.089876, 0.059295, 0.028886, 0.049307),
    (0.140495, 0.130334, 0.049307, 0.103886),
    (0.120322, 0.090111, 0.12047, 0.099802),
    (0.089876, 0.089988, 0.028886, 0.052401),
)
"""Weights by which each group is drawn, by the four types of tasks. To be divided by their sums."""
MACHINES = (
    *(0.3761, 0.657, 0.1556, 0.3766, 0.6828, 0.1111, 0.2839, 0.1547, 0.7028, 0.7326, 0.4869),
    *(0.4703, 0.3169, 0.0799, 0.6927, 0.1512, 0.5628, 0.2764, 0.6677, 0.7004, 1.0),
)
"""The part of that program's 10,000 machines that satisfy each constraint."""

# The numbers of the public program `prashanth5192/phoenix` (commit a56bbb2), whose README says
# that they follow the same paper.
ONE_NAMES = (
    *("gpu-or-architecture", "cores", "maximum-disks", "minimum-disks"),
    *("cpus", "kernel", "clock", "ethernet"),
)
ONE_JOBS = (19.0, 11.8, 5.9, 9.9, 15.85, 3.95, 4.72, 5.88)
"""Per cent of the jobs that ask for each; the others, 23%, for none."""
ONE_MACHINES = (1.0, 0.6, 0.2, 0.45, 0.75, 0.69, 0.22, 0.58)


class Model(Enum):
    """Models of constraints. The values are what people write."""

    NONE = "none"
    SHARMA = "sharma"
    ONE = "one"


@dataclass(frozen=True)
class Constraints:
    """Attributes with the part of the machines that has each, and how jobs ask for them."""

    model: Model
    names: tuple[str, ...]
    parts: tuple[float, ...]

    @property
    def terms(self) -> tuple[Requirement, ...]:
        """The terms of the workload, one an attribute."""
        return tuple(Requirement(name, Operator.EXISTS) for name in self.names)

    def attributes(self, machines: int, seed: int) -> Words:
        """Per machine (M,) the bits of the attributes that it has, each drawn by itself."""
        draw = numbers(seed, Stream.ATTRIBUTES)
        return _words(draw.random((machines, len(self.names))) < np.array(self.parts))

    def needs(self, jobs: int, seed: int) -> Words:
        """Per job (J,) the bits of the attributes that its machines must have."""
        draw = numbers(seed, Stream.CONSTRAINTS)
        match self.model:
            case Model.NONE:
                return np.zeros(jobs, np.uint64)
            case Model.ONE:
                which = draw.choice(9, jobs, p=_one_at_most())
                return _words(which[:, None] == np.arange(8))
            case Model.SHARMA:
                kind = draw.integers(0, 4, jobs)
                weights = np.cumsum(np.array(GROUP_WEIGHTS), 0)
                chance = draw.random(jobs) * weights[-1, kind]
                group = (chance >= weights[:, kind]).sum(0)
                parts = np.array(PERCENT).T / 100
                return _words(draw.random((jobs, 21)) < parts[group])

    @property
    def note(self) -> str:
        """A sentence on the numbers and their origin."""
        match self.model:
            case Model.NONE:
                return "No job has constraints (constraints=none)."
            case Model.ONE:
                return (
                    "Each job has one constraint at most (constraints=one), with the numbers of "
                    "the program prashanth5192/phoenix, said to follow Sharma et al. (SoCC 2011)."
                )
            case Model.SHARMA:
                return (
                    "Constraints of 21 kinds (constraints=sharma) have the numbers of the program "
                    "meghanat/megha-constraint-aware, in the shape of Sharma et al. (SoCC 2011); "
                    "machines have the attributes independently, and all tasks of a job have the "
                    "same constraints."
                )


def constraints_of(text: str) -> Constraints:
    """The model that is written; raises InputError."""
    try:
        model = Model(text)
    except ValueError as error:
        known = ", ".join(each.value for each in Model)
        raise InputError(
            f"there are no constraints called `{text}`", f"there are {known}"
        ) from error
    match model:
        case Model.NONE:
            return Constraints(model, (), ())
        case Model.ONE:
            return Constraints(model, ONE_NAMES, ONE_MACHINES)
        case Model.SHARMA:
            return Constraints(model, tuple(f"c{k:02}" for k in range(21)), MACHINES)


def _one_at_most() -> Floats:
    none = 100 - sum(ONE_JOBS)
    return np.array([*ONE_JOBS, none]) / 100


def _words(bits: Bools) -> Words:
    """Rows of up to 64 bits as words, the first column in bit 0."""
    powers = np.uint64(1) << np.arange(bits.shape[1], dtype=np.uint64)
    return np.asarray(bits.astype(np.uint64) @ powers, dtype=np.uint64)


def runnable(needs: Words, demand: Ints, attributes: Words, capacity: Ints) -> Bools:
    """Per job (J,): is there a machine with all that it needs on which a task fits when the
    machine is empty?"""
    sizes, size_of = np.unique(capacity, axis=0, return_inverse=True)
    fits = np.all(demand[:, None, :] <= sizes[None, :, :], axis=2)  # (J, sizes)
    asked, asked_of = np.unique(needs, return_inverse=True)
    there = np.zeros((len(asked), len(sizes)), np.bool_)
    for size in range(len(sizes)):
        found = np.unique(attributes[size_of == size])
        for start in range(0, len(asked), 1024):
            part = asked[start : start + 1024, None]
            there[start : start + 1024, size] = np.any(part & found == part, axis=1)
    return np.asarray(np.any(fits & there[asked_of], axis=1))
