"""Scales for a running cluster: what the policy says of each job, from whole tasks on the machines
that are there now."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from fairlead.model.errors import InputError
from fairlead.scheduling.kernels.memory.state import Ints, State, Words
from fairlead.scheduling.kernels.memory.tables import SHARE
from fairlead.scheduling.state.distinct_rows import alike
from fairlead.scheduling.state.rows import machines_there
from fairlead.sharing.policy import Policy, Sees, View
from fairlead.sharing.problem.problem import Bools, Floats, Problem, Tree
from fairlead.sharing.rules.registry import scaled
from fairlead.sharing.rules.views import pool_machines

Names = np.ndarray[tuple[int], np.dtype[np.object_]]

FIFO = "fifo"
"""The policy that has no scale: all levels are 0, and the first come are the first served."""
SMALLEST = 2.0**-12
"""No task is more than 4096 shares, so that what is held fits into a word."""


AT_ONCE = 1 << 18
"""Words of terms, of pairs of needs and classes, that are compared at once."""


@dataclass(frozen=True)
class Classes:
    """Machines that are alike: capacity (C, R), terms (C, W), how many they are, and one each;
    `members`: all machines that are there, and the class of each."""

    capacity: Ints
    terms: Words
    count: Ints
    example: Ints
    members: tuple[Ints, Ints] | None = None
    _having: dict[bytes, Ints] = field(default_factory=dict, compare=False, repr=False)

    @cached_property
    def kinds(self) -> tuple[Ints, Ints, Ints]:
        """The different capacities (K, R), which one each class has (C,), and how many machines
        have each (K,). With many constraints these are a thousandth of the classes."""
        first, of = alike(self.capacity)
        total = np.bincount(of, self.count, len(first)).astype(np.int64)
        return self.capacity[first], of, total

    @cached_property
    def _by_kind(self) -> tuple[Ints, Ints]:
        """The classes (C,) in the order of their capacities, and where each of these begins."""
        kinds, of, _ = self.kinds
        by_kind = np.argsort(of, kind="stable")
        return by_kind, np.searchsorted(of[by_kind], np.arange(len(kinds)))

    def parting(self, needs: Words) -> Words:
        """Those of these terms (N, W) that some machine lacks: the others part no jobs. A tenant
        can submit thousands that differ in nothing else."""
        parting: Words = needs & self._lacked
        return parting

    @cached_property
    def _lacked(self) -> Words:
        lacked: Words = ~np.bitwise_and.reduce(self.terms, axis=0)
        return lacked

    def having(self, needs: Words) -> Ints:
        """(N, K) machines of each capacity that satisfy all of these terms (N, W)."""
        needs = self.parting(needs)
        keys = [row.tobytes() for row in needs]
        new = [i for i, key in enumerate(keys) if key not in self._having]
        if new:
            self._look_up(needs, keys, new)
        return np.array([self._having[key] for key in keys], np.int64).reshape(
            len(keys), len(self.kinds[0])
        )

    def _look_up(self, needs: Words, keys: list[bytes], new: list[int]) -> None:
        """Keeps the same of these rows, under their keys."""
        by_kind, begins = self._by_kind
        count, lacking = self.count[by_kind], ~self.terms[by_kind]
        step = max(1, AT_ONCE // max(1, lacking.size))
        for start in range(0, len(new), step):
            part = new[start : start + step]
            able = (needs[part, None, :] & lacking == 0).all(axis=2)
            found = np.add.reduceat(able * count, begins, axis=1)
            self._having.update(zip((keys[i] for i in part), found, strict=True))

    def with_term(self, state: State, term: int) -> Classes | None:
        """The classes, now that there is a new term: the same ones, each of which has it or not;
        None where it parts one. Sums are kept: nobody asked for it until now."""
        if self.members is None:
            return None
        there, of = self.members
        has = state.satisfies[there, term // 64] >> np.uint64(term % 64) & np.uint64(1) > 0
        holders = np.bincount(of[has], minlength=len(self.count))
        if ((holders > 0) & (holders < self.count)).any():
            return None
        same = replace(self, terms=state.satisfies[self.example])
        for name in ("kinds", "_by_kind"):  # where a cached property keeps its value
            same.__dict__[name] = getattr(self, name)
        return same


def parting_words(needs: Words, rows: Ints, terms: Words) -> tuple[Words, Ints]:
    """(N, K) of the terms in these rows of needs (J, W) those that one of some machines lacks, of
    which `terms` (C, W) are; and the words (K,) in which there are any. Of thousands of terms that
    all have, the others hold none."""
    lacked = ~np.bitwise_and.reduce(terms, axis=0)
    words = np.flatnonzero(lacked)
    parting: Words = needs[rows[:, None], words] & lacked[words]
    return parting, words


def classes(state: State) -> Classes:
    """The classes of the machines that are not gone."""
    there = machines_there(state)
    rows = np.hstack([state.capacity[there], state.satisfies[there].view(np.int64)])
    first, of = alike(rows)
    example = there[first]
    count = np.bincount(of, minlength=len(first))
    return Classes(
        state.capacity[example], state.satisfies[example], count, example, members=(there, of)
    )


@dataclass(frozen=True)
class Scaled:
    """Per job: its scale, a held task in units of 1 / SHARE, and whether any machine holds one."""

    scale: Floats
    unit: Ints
    usable: Bools


def policy_of(policy: str | Policy) -> Policy | None:
    """The policy that has a scale; None: `fifo`. Raises InputError."""
    return None if policy == FIFO else scaled(policy, beside=(FIFO, "slots"))


class Scaler:
    """The scales of a policy, as text or made. `whole`: in whole tasks on each machine."""

    def __init__(
        self, policy: str | Policy, resources: tuple[str, ...], pieces: Ints, whole: bool = True
    ) -> None:
        self.fifo = policy == FIFO
        self.policy = policy_of(policy)
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
        different, group = alike(there.parting(needs))
        having = there.having(needs[different])[group]
        holds = self.holds(demand, spread, kinds)
        one = holds if self._whole else self.whole_ones(demand, spread, kinds)
        usable: Bools = np.asarray(((having > 0) & (one >= 1)).any(axis=1))
        if self.policy is None:
            return Scaled(usable.astype(float), usable.astype(np.int64), usable)
        scale = np.zeros(jobs)
        # A job that no machine can run waits, whatever the policy would say of it.
        able = np.flatnonzero(usable)
        named = np.array(names or list(map(str, range(jobs))), object)
        sees = self.policy.sees
        if sees is Sees.ALL:
            may: Bools = np.asarray(having[able] > 0)
            scale[able] = self._ask(demand, spread, holds[able], able, kinds, total, may, named)
        elif sees is Sees.THEIR_SUM:
            # Machines of a capacity are one machine, which holds what all of them hold.
            may = np.asarray(having[able] > 0)
            all_hold: Floats = np.where(may, holds[able], 0.0) * having[able]
            ones = np.ones_like(total)
            scale[able] = self._ask(demand, spread, all_hold, able, kinds, ones, may, named)
        else:
            # Jobs that may use as many machines of each capacity, whatever they need of them, see
            # each capacity twice: what they may use, and the rest.
            twice = np.vstack([kinds, kinds])
            _, alike_in = alike(having)
            by_machines = able[np.argsort(alike_in[able], kind="stable")]
            ends = np.flatnonzero(np.diff(alike_in[by_machines])) + 1
            for mine in np.split(by_machines, ends) if len(able) else ():
                count = np.concatenate([having[mine[0]], total - having[mine[0]]])
                there_is = np.flatnonzero(count)
                may = np.broadcast_to(there_is < len(kinds), (mine.size, there_is.size))
                both = np.hstack([holds[mine], holds[mine]])[:, there_is]
                scale[mine] = self._ask(
                    demand, spread, both, mine, twice[there_is], count[there_is], may, named
                )
        usable &= scale > 0
        small = usable & (scale < SMALLEST)
        if small.any():
            first = int(np.flatnonzero(small)[0])
            job = names[first] if names else str(first)
            raise InputError(
                f"a task of job `{job}` is more than {1 / SMALLEST:g} shares under {self.spec}",
                "choose smaller weights of resources",
            )
        unit = np.rint(np.divide(SHARE, scale, out=np.zeros(jobs), where=scale > 0))
        return Scaled(scale, unit.astype(np.int64), usable)

    def whole_ones(self, demand: Ints, spread: Bools, capacity: Ints) -> Floats:
        """(J, C) whole tasks that one empty machine holds."""
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
        names: Names,
    ) -> Floats:
        """The policy's scales of these jobs, a machine of each capacity holding so many tasks of
        them (jobs, C)."""
        if self.policy is None or not jobs.size:
            return np.zeros(jobs.size)
        problem = Problem(
            resources=self._resources,
            job_names=tuple(names[jobs].tolist()),
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
        return self.policy.scale(
            pool_machines(problem) if self.policy.view is View.POOLED else problem
        )
