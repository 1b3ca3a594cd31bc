"""Scales for a running cluster: what the policy says of each job, from whole tasks on the machines
that are there now."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fairlead.model.errors import InputError, Mistake
from fairlead.scheduling.kernels.state import Ints, State, Words
from fairlead.scheduling.kernels.tables import SHARE
from fairlead.sharing.policy import Policy, View
from fairlead.sharing.problem import Bools, Floats, Problem, Tree
from fairlead.sharing.views import pooled
from fairlead.sharing.whole import scaled

FIFO = "fifo"
"""The policy that has no scale: all levels are 0, and the first come are the first served."""
GONE = 3
SMALLEST = 2.0**-12
"""No task is more than 4096 shares, so that what is held fits into a word."""


@dataclass(frozen=True)
class Classes:
    """Machines that are alike: capacity (C, R), terms (C, W), how many they are, and one each."""

    capacity: Ints
    terms: Words
    count: Ints
    example: Ints


def classes(state: State) -> Classes:
    """The classes of the machines that are not gone."""
    used = int(state.whole[0]["machines"])
    there = np.flatnonzero(state.machine["state"][:used] != GONE)
    rows = np.hstack([state.capacity[there], state.satisfies[there].view(np.int64)])
    _, first, count = np.unique(rows, axis=0, return_index=True, return_counts=True)
    example = there[first]
    return Classes(state.capacity[example], state.satisfies[example], count, example)


@dataclass(frozen=True)
class Scaled:
    """Per job: its scale, a held task in units of 1 / SHARE, and whether any machine holds one."""

    scale: Floats
    unit: Ints
    usable: Bools


class Scaler:
    """The scales of a policy, as text or made. `whole`: in whole tasks on each machine."""

    def __init__(
        self, policy: str | Policy, resources: tuple[str, ...], pieces: Ints, whole: bool = True
    ) -> None:
        self.fifo = policy == FIFO
        self.policy = None if self.fifo else scaled(policy)
        self.spec = FIFO if self.policy is None else self.policy.spec
        self._resources, self._pieces, self._whole = resources, pieces, whole

    def holds(self, demand: Ints, spread: Bools, capacity: Ints) -> Floats:
        """(J, C) tasks that one empty machine holds; devices are counted piece by piece."""
        most = np.full((len(demand), len(capacity)), np.inf)
        for r, piece in enumerate(self._pieces.tolist()):
            need, have = demand[:, r, None], capacity[None, :, r]
            takes = np.broadcast_to(need > 0, most.shape)
            safe = np.maximum(need, 1)
            if piece and self._whole:
                here = np.where(
                    need > piece,
                    have // piece // np.maximum(need // piece, 1),
                    have // piece * (piece // safe),
                ).astype(float)
            else:
                here = have // safe if self._whole else have / safe
            most = np.where(takes, np.minimum(most, here), most)
        return np.where(spread[:, None], np.minimum(most, 1.0), most)

    def scales(
        self, demand: Ints, needs: Words, spread: Bools, there: Classes, names: tuple[str, ...] = ()
    ) -> Scaled:
        """The scales of these jobs, on these machines. Raises InputError, naming the job, where
        the policy has none for it."""
        jobs = len(demand)
        holds = self.holds(demand, spread, there.capacity)
        lacking = needs[:, None, :] & ~there.terms[None, :, :]
        eligible: Bools = np.asarray(~lacking.any(axis=2))
        one = holds if self._whole else self._whole_ones(demand, spread, there)
        usable: Bools = np.asarray((eligible & (one >= 1)).any(axis=1))
        if self.policy is None:
            return Scaled(usable.astype(float), np.zeros(jobs, np.int64), usable)
        scale = np.zeros(jobs)
        able = np.flatnonzero(usable)
        if able.size:  # a job that no machine can run waits, whatever the policy would say of it
            named = tuple(names[j] if names else str(j) for j in able.tolist())
            problem = self._problem(
                demand[able], spread[able], there, eligible[able], holds[able], named
            )
            pool = self.policy.view is View.POOLED
            scale[able] = self.policy.scale(pooled(problem) if pool else problem)
        usable &= scale > 0
        small = usable & (scale < SMALLEST)
        if small.any():
            first = int(np.flatnonzero(small)[0])
            job = names[first] if names else str(first)
            raise InputError(
                Mistake(
                    f"a task of job `{job}` is more than {1 / SMALLEST:g} shares under {self.spec}",
                    "choose smaller weights of resources",
                )
            )
        unit = np.rint(np.divide(SHARE, scale, out=np.zeros(jobs), where=scale > 0))
        return Scaled(scale, unit.astype(np.int64), usable)

    def _whole_ones(self, demand: Ints, spread: Bools, there: Classes) -> Floats:
        return Scaler(FIFO, self._resources, self._pieces).holds(demand, spread, there.capacity)

    def _problem(
        self,
        demand: Ints,
        spread: Bools,
        there: Classes,
        eligible: Bools,
        holds: Floats,
        names: tuple[str, ...],
    ) -> Problem:
        jobs, machines = holds.shape
        tree = Tree(
            names=(),
            parent=np.zeros(0, np.int64),
            weight=np.zeros(0),
            pool_count=np.zeros((0, machines), np.int64),
            job_tenant=np.full(jobs, -1, np.int64),
            limits=(),
        )
        return Problem(
            resources=self._resources,
            job_names=names,
            class_machines=tuple((str(m),) for m in there.example.tolist()),
            demand=demand.astype(float),
            tasks=np.full(jobs, np.inf),
            spread=spread,
            capacity=there.capacity.astype(float),
            count=there.count,
            eligible=eligible,
            holds=holds,
            usable=eligible & (holds >= 1 if self._whole else holds > 0),
            tree=tree,
        )


def rows_of(state: State, jobs: Ints) -> tuple[Ints, Words, npt.NDArray[np.bool_]]:
    """Demands, needed terms and spread of the jobs in these slots."""
    return state.demand[jobs], state.needs[jobs], state.job["spread"][jobs] > 0
