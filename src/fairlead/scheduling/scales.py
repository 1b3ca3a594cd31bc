"""Scales for a running cluster: what the policy says of each job, from whole tasks on the machines
that are there now."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from fairlead.model.errors import InputError, Mistake
from fairlead.scheduling.kernels.state import Ints, State, Words
from fairlead.scheduling.kernels.tables import SHARE
from fairlead.sharing.policy import Policy, View
from fairlead.sharing.problem import Bools, Floats, Problem, Tree
from fairlead.sharing.spec import read
from fairlead.sharing.views import pooled
from fairlead.sharing.whole import scaled

FIFO = "fifo"
"""The policy that has no scale: all levels are 0, and the first come are the first served."""
GONE = 3
SMALLEST = 2.0**-12
"""No task is more than 4096 shares, so that what is held fits into a word."""


BLIND = frozenset({"tsf", "drf", "drfh", "asset", "cmmf", "kdf", "2df", "slots"})
"""Policies whose scale does not depend on which machines a job may use, if it may use any."""


@dataclass(frozen=True)
class Classes:
    """Machines that are alike: capacity (C, R), terms (C, W), how many they are, and one each."""

    capacity: Ints
    terms: Words
    count: Ints
    example: Ints
    _having: dict[bytes, Ints] = field(default_factory=dict, compare=False, repr=False)

    @cached_property
    def kinds(self) -> tuple[Ints, Ints, Ints]:
        """The different capacities (K, R), which one each class has (C,), and how many machines
        have each (K,). With many constraints these are a thousandth of the classes."""
        kinds, of = np.unique(self.capacity, axis=0, return_inverse=True)
        of = of.reshape(-1)
        return kinds, of, _added(of, self.count, len(kinds))

    def having(self, needs: Words) -> Ints:
        """(K,) machines of each capacity that satisfy all these terms (W,)."""
        key = needs.tobytes()
        if key not in self._having:
            kinds, of, _ = self.kinds
            able = ~(needs[None, :] & ~self.terms).any(axis=1)
            self._having[key] = _added(of[able], self.count[able], len(kinds))
        return self._having[key]


def _added(of: Ints, count: Ints, kinds: int) -> Ints:
    total = np.zeros(kinds, np.int64)
    np.add.at(total, of, count)
    return total


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
        kinds, _, total = there.kinds
        rows, group = np.unique(needs, axis=0, return_inverse=True)
        group = group.reshape(-1)
        having = np.array([there.having(row) for row in rows], np.int64).reshape(
            len(rows), len(kinds)
        )
        holds = self.holds(demand, spread, kinds)
        one = holds if self._whole else self._whole_ones(demand, spread, kinds)
        usable: Bools = np.asarray(((having[group] > 0) & (one >= 1)).any(axis=1))
        if self.policy is None:
            return Scaled(usable.astype(float), np.zeros(jobs, np.int64), usable)
        scale = np.zeros(jobs)
        # A job that no machine can run waits, whatever the policy would say of it.
        able = np.flatnonzero(usable)
        named = tuple(names[j] if names else str(j) for j in range(jobs))
        if self._blind:
            eligible: Bools = np.asarray(having[group[able]] > 0)
            scale[able] = self._ask(demand, spread, holds, able, kinds, total, eligible, named)
        else:
            # Jobs of the same needs see each capacity twice: what they may use, and the rest.
            twice = np.vstack([kinds, kinds])
            for g in np.unique(group[able]).tolist():
                mine = able[group[able] == g]
                count = np.concatenate([having[g], total - having[g]])
                there_is = np.flatnonzero(count)
                eligible = np.broadcast_to(there_is < len(kinds), (mine.size, there_is.size))
                both = np.hstack([holds, holds])[:, there_is]
                scale[mine] = self._ask(
                    demand, spread, both, mine, twice[there_is], count[there_is], eligible, named
                )
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

    @property
    def _blind(self) -> bool:
        spec = read(self.spec)
        return not spec.file and spec.name in BLIND

    def _whole_ones(self, demand: Ints, spread: Bools, capacity: Ints) -> Floats:
        return Scaler(FIFO, self._resources, self._pieces).holds(demand, spread, capacity)

    def _ask(
        self,
        demand: Ints,
        spread: Bools,
        holds: Floats,
        jobs: Ints,
        capacity: Ints,
        count: Ints,
        eligible: Bools,
        names: tuple[str, ...],
    ) -> Floats:
        """What the policy says of these jobs."""
        if self.policy is None or not jobs.size:
            return np.zeros(jobs.size)
        holds = holds[jobs]
        problem = Problem(
            resources=self._resources,
            job_names=tuple(names[j] for j in jobs.tolist()),
            class_machines=tuple((str(c),) for c in range(len(capacity))),
            demand=demand[jobs].astype(float),
            tasks=np.full(jobs.size, np.inf),
            spread=spread[jobs],
            capacity=capacity.astype(float),
            count=count,
            eligible=eligible,
            holds=holds,
            usable=eligible & (holds >= 1 if self._whole else holds > 0),
            tree=Tree(
                names=(),
                parent=np.zeros(0, np.int64),
                weight=np.zeros(0),
                pool_count=np.zeros((0, len(capacity)), np.int64),
                job_tenant=np.full(jobs.size, -1, np.int64),
                limits=(),
            ),
        )
        return self.policy.scale(pooled(problem) if self.policy.view is View.POOLED else problem)
