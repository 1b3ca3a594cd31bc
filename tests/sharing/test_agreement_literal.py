"""Medium instances agree with Algorithm 1 of the TSF paper, taken literally with SciPy."""

from __future__ import annotations

from random import Random

import numpy as np
import numpy.typing as npt
import pytest
from scipy.optimize import linprog

from fairlead.model.job import Job
from fairlead.model.machine import Cluster, Machine
from fairlead.model.tenant import Tenant
from fairlead.sharing.allocate import allocate
from tests.reference.scales import holds, may_use

Floats = npt.NDArray[np.float64]

# The paper's test for saturation compares floating-point optima of two linear programs; SciPy's
# solver is exact to 1e-9, and a rise that it finds is amplified by what a job needs to rise.
RISES = 1e-6
AGREES = 1e-6


def medium(random: Random) -> tuple[Cluster, tuple[Job, ...]]:
    """A dozen classes of machines, two dozen jobs with constraints and weights."""
    machines = [
        Machine(
            f"m{index:02}",
            {"cpu": random.randint(4, 32), "memory": random.randint(4, 64)},
            {"zone": random.choice("abcd")},
        )
        for index in range(random.randint(6, 12))
    ]
    tenants = []
    jobs = []
    for index in range(random.randint(12, 24)):
        zones = random.sample("abcd", random.choice([1, 1, 2, 3]))
        tenants.append(Tenant(f"t{index:02}", weight=random.choice([1, 1, 2, 5])))
        jobs.append(
            Job(
                f"j{index:02}",
                {"cpu": random.randint(1, 6), "memory": random.randint(1, 9)},
                tenant=f"t{index:02}",
                where=f"zone in ({', '.join(zones)})",
            )
        )
    return Cluster(machines, tenants), tuple(jobs)


class Algorithm1:
    """The paper's procedures, on variables n_im (job i, machine m) and the share s."""

    def __init__(self, cluster: Cluster, jobs: tuple[Job, ...]) -> None:
        machines, resources = cluster.machines, ("cpu", "memory")
        weight = {tenant.name: float(tenant.weight or 1) for tenant in cluster.tenants}
        self.jobs = len(jobs)
        self.may = np.array([[may_use(job, m) for m in machines] for job in jobs])
        h = [float(sum(holds(job, m) for m in machines)) for job in jobs]
        self.unit = np.array([h[i] * weight[job.tenant or ""] for i, job in enumerate(jobs)])
        capacity = [[float(m.capacity[r]) for r in resources] for m in machines]
        demand = [[float(job.demand[r]) for r in resources] for job in jobs]
        size = self.may.size
        rows = []
        for m in range(len(machines)):
            for r in range(len(resources)):
                row = np.zeros(size + 1)
                row[m : size : len(machines)] = [demand[i][r] for i in range(self.jobs)]
                rows.append(row)
        self.limits = np.array(rows)
        self.amounts = np.array(capacity).ravel()

    def run(self) -> Floats:
        """The tasks of every job."""
        active = list(range(self.jobs))
        tasks = np.zeros(self.jobs)
        while active:
            share, _ = self.program(active, tasks)
            for i in active:
                tasks[i] = share * self.unit[i]
            left = [j for j in active if self.rises(j, tasks)]
            assert len(left) < len(active), "nobody is saturated"
            active = left
        return tasks

    def rises(self, job: int, tasks: Floats) -> bool:
        """Whether the job could have more while all others keep what they have."""
        share, _ = self.program([job], tasks)
        return bool(share * self.unit[job] > tasks[job] * (1 + RISES))

    def program(self, active: list[int], tasks: Floats) -> tuple[float, Floats]:
        """The largest share of the active jobs; the others have at least their tasks."""
        size, machines = self.may.size, self.may.shape[1]
        equal, least = [], []
        for i in range(self.jobs):
            row = np.zeros(size + 1)
            row[i * machines : (i + 1) * machines] = self.may[i]
            if i in active:
                row[-1] = -self.unit[i]
                equal.append(row)
            else:
                least.append(-row)
        held = [-tasks[i] for i in range(self.jobs) if i not in active]
        cost = np.zeros(size + 1)
        cost[-1] = -1.0
        bounds = [(0, None if allowed else 0) for allowed in self.may.ravel()] + [(0, None)]
        # A hair of room, or what was reached in floating point could not be held.
        upper = np.concatenate([self.amounts, np.array(held) * (1 - 1e-10)])
        found = linprog(
            cost,
            np.vstack([self.limits, *least]) if least else self.limits,
            upper,
            np.vstack(equal),
            np.zeros(len(equal)),
            bounds,
            options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
        )
        assert found.status == 0, found.message
        return float(found.x[-1]), found.x


@pytest.mark.parametrize("seed", range(6))
def test_medium_instances_agree_with_algorithm_1(seed: int) -> None:
    cluster, jobs = medium(Random(seed))
    right = Algorithm1(cluster, jobs).run()
    answer = allocate(cluster, jobs)
    found = np.array([answer.job(job.name).tasks for job in jobs])
    np.testing.assert_allclose(found, right, rtol=AGREES)
