"""Whole allocations under caps: the one worth most, by HiGHS's branch and cut.

Without caps each machine is packed by itself. A cap ties them together: the tasks that a job has,
or a tenant's limit, can be taken on one machine or on another. The unknowns are on how many
machines of a kind each packing is, and the tasks that are run of those that it would hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import highspy
import numpy as np

from fairlead.model.errors import InputError, SolverError
from fairlead.sharing.problem.problem import Floats, Ints
from fairlead.sharing.solvers.highs import add_rows, add_table, start_highs

MOST_NODES = 5000
"""Nodes of the branch and cut, for all allocations that are asked for between some bounds."""


@dataclass(frozen=True)
class Options:
    """The packings (K, J) of a kind of machine to which no task can be added, and how many
    machines there are."""

    kind: int
    packings: Ints
    count: int


class Together:
    """Whole tasks that the machines run together, `use` (B, J) @ tasks being at most `amount`
    (B,), and nobody having more than `most` (J,)."""

    def __init__(self, kinds: Sequence[Options], most: Ints, use: Ints, amount: Ints) -> None:
        self.kinds, self.most = kinds, most
        self._use, self._amount = use, amount
        self._jobs, self._nodes = len(most), 0
        self._held = np.concatenate([kind.packings for kind in kinds])  # (N, J)
        self._of = np.repeat(np.arange(len(kinds)), [len(kind.packings) for kind in kinds])
        self._highs = self._program()
        self._known: dict[bytes, Ints | None] = {}
        self.machines: dict[tuple[int, ...], tuple[tuple[int, tuple[int, ...], int], ...]] = {}
        """For each allocation that was found: kind, packing and on how many machines. The
        packings may hold more than the allocation has."""

    def best(self, value: Floats) -> Ints:
        """(J,) tasks that are worth most together."""
        found = self._solve(value)
        if found is None and self._nodes >= MOST_NODES:
            raise InputError(
                "jobs that can run out of tasks, or have limits, are too hard to share by lot"
                f" here: {MOST_NODES} steps of branch and cut did not suffice",
                "take gim-cdrf or shapley-folkman, which pack machine by machine, or a policy"
                " with --tasks whole",
            )
        if found is None:
            raise SolverError("no whole tasks at all fit together")
        return found

    def good(self, value: Floats, looks: int) -> tuple[Ints, float, bool]:  # noqa: ARG002  (as `Packer`)
        """The same, with what it is worth, and that it is known to be worth most."""
        found = self.best(value)
        return found, float(np.maximum(value, 0.0) @ found), True

    def ties(self, value: Floats, tolerance: float) -> Ints | None:  # noqa: ARG002  (as `Packer`)
        """None: they are not listed."""
        return None

    def near(self, low: Ints, high: Ints) -> None:
        """From now on everybody has between `low` and `high` (J,) tasks."""
        self._known.clear()
        self._nodes = 0
        jobs = np.arange(self._jobs, dtype=np.int32)
        self._highs.changeColsBounds(
            self._jobs,
            jobs,
            np.maximum(low, 0).astype(np.float64),
            np.minimum(high, self.most).astype(np.float64),
        )

    def within(self, value: Floats) -> Ints | None:
        """As `best`; None where nothing is between the bounds, or was not found in time."""
        return self._solve(value)

    def _solve(self, value: Floats) -> Ints | None:
        worth = np.maximum(value, 0.0)
        key = worth.tobytes()
        if key not in self._known:
            self._known[key] = self._searched(worth)
        return self._known[key]

    def _searched(self, worth: Floats) -> Ints | None:
        highs, jobs = self._highs, self._jobs
        unit = float((worth * self.most).max(initial=0.0)) or 1.0
        highs.setOptionValue("mip_max_nodes", max(MOST_NODES - self._nodes, 0))
        highs.changeColsCost(jobs, np.arange(jobs, dtype=np.int32), -worth / unit)
        highs.run()
        status = highs.getModelStatus()
        self._nodes += int(highs.getInfo().mip_node_count)
        if status == highspy.HighsModelStatus.kInfeasible:
            return None
        if status == highspy.HighsModelStatus.kSolutionLimit:
            self._nodes = MOST_NODES
            return None
        if status != highspy.HighsModelStatus.kOptimal:
            raise SolverError(f"an allocation ended as {highs.modelStatusToString(status)!r}")
        number = np.rint(np.array(highs.getSolution().col_value)).astype(np.int64)
        tasks: Ints = number[:jobs]
        on = number[jobs:]
        tasks[worth <= 0] = np.minimum(tasks, self._low())[worth <= 0]
        used = np.bincount(self._of, weights=on, minlength=len(self.kinds))
        if (
            (tasks > on @ self._held).any()
            or (self._use @ tasks > self._amount).any()
            or any(n > kind.count for n, kind in zip(used, self.kinds, strict=True))
        ):
            raise SolverError("an allocation is not feasible in whole numbers")
        self.machines.setdefault(
            tuple(tasks.tolist()),
            tuple(
                (self.kinds[self._of[at]].kind, tuple(self._held[at].tolist()), int(on[at]))
                for at in np.flatnonzero(on).tolist()
            ),
        )
        return tasks

    def _low(self) -> Ints:
        low: Ints = np.array(self._highs.getLp().col_lower_[: self._jobs]).astype(np.int64)
        return low

    def _program(self) -> highspy.Highs:
        jobs, packings = self._jobs, len(self._held)
        highs = start_highs(
            {"mip_rel_gap": 0.0, "mip_abs_gap": 1e-12, "mip_feasibility_tolerance": 1e-9}
        )
        count = np.array([kind.count for kind in self.kinds], np.float64)
        inf = highspy.kHighsInf
        # What packings hold is at least what is run; machines; caps, in parts of them.
        size = np.maximum(self._amount, 1).astype(np.float64)
        lower = np.concatenate([np.zeros(jobs), np.full(len(count) + len(size), -inf)])
        upper = np.concatenate([np.full(jobs, inf), count, self._amount / size])
        add_rows(highs, lower, upper)
        table = np.zeros((len(lower), jobs + packings))
        table[:jobs, :jobs] = -np.eye(jobs)
        table[:jobs, jobs:] = self._held.T
        table[jobs + self._of, jobs + np.arange(packings)] = 1.0
        table[jobs + len(count) :, :jobs] = self._use / size[:, None]
        most = np.concatenate([self.most.astype(np.float64), count[self._of]])
        add_table(highs, np.zeros(len(most)), most, table, whole=True)
        return highs
