"""A small cluster in plain lists on which plans of stops and starts are carried out at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

from fairlead.scheduling.preemption.picture import Held, HeldJob, HeldMachine, HeldTask
from fairlead.scheduling.preemption.plan import Plan


@dataclass
class Kind:
    """A job: what a task needs, the machines that it may use, how many tasks it has."""

    demand: tuple[int, ...]
    machines: Sequence[int]
    tasks: int
    spread: bool = False
    gang: int = 1
    each: float = 1.0


@dataclass
class PlainCluster:
    """Machines and jobs by their places in the lists; `running`: (job, number, machine, when)."""

    capacity: list[tuple[int, ...]]
    jobs: list[Kind]
    running: list[tuple[int, int, int, int]] = field(default_factory=list)
    clock: int = 0

    def run(self, job: int, machine: int) -> None:
        """Starts the first task of the job that does not run."""
        used = {number for mine, number, _, _ in self.running if mine == job}
        number = next(n for n in range(self.jobs[job].tasks) if n not in used)
        self.running.append((job, number, machine, self.clock))
        self.clock += 1
        assert min(self.free(machine)) >= 0
        assert machine in self.jobs[job].machines
        on = [m for mine, _, m, _ in self.running if mine == job]
        assert not self.jobs[job].spread or len(set(on)) == len(on)

    def free(self, machine: int) -> tuple[int, ...]:
        """The room that nobody uses."""
        used = [self.jobs[job].demand for job, _, at, _ in self.running if at == machine]
        return tuple(
            amount - sum(demand[r] for demand in used)
            for r, amount in enumerate(self.capacity[machine])
        )

    def counts(self) -> list[int]:
        """How many tasks of each job run."""
        return [sum(mine == job for mine, _, _, _ in self.running) for job in range(len(self.jobs))]

    def held(self) -> Held:
        """The same as the planner sees it: a term per machine stands for the lists."""
        count = self.counts()
        return Held(
            machines=tuple(
                HeldMachine(seq, self.free(seq), terms=self._terms(seq))
                for seq in range(len(self.capacity))
            ),
            jobs=tuple(
                HeldJob(
                    seq,
                    job.demand,
                    running=count[seq],
                    waiting=job.tasks - count[seq],
                    needs=1 << seq,
                    spread=job.spread,
                    gang=job.gang,
                    each=job.each,
                )
                for seq, job in enumerate(self.jobs)
            ),
            tasks=tuple(HeldTask(*task) for task in self.running),
        )

    def carry_out(self, plan: Plan) -> None:
        """All stops, then all starts."""
        for job, number in plan.stops:
            self.running = [task for task in self.running if task[:2] != (job, number)]
        for job, machine in plan.starts:
            self.run(job, machine)

    def fill(self, random: Random) -> None:
        """Starts waiting tasks wherever they fit, in any order, until none does."""
        while places := [
            (job, machine)
            for job, kind in enumerate(self.jobs)
            if self.counts()[job] < kind.tasks
            for machine in kind.machines
            if self._fits(job, machine)
        ]:
            self.run(*random.choice(places))

    def _terms(self, machine: int) -> int:
        return sum(1 << job for job, kind in enumerate(self.jobs) if machine in kind.machines)

    def _fits(self, job: int, machine: int) -> bool:
        kind = self.jobs[job]
        on = any(mine == job and at == machine for mine, _, at, _ in self.running)
        fits = all(f >= d for f, d in zip(self.free(machine), kind.demand, strict=True) if d)
        return fits and not (kind.spread and on)


def shortfall(running: Sequence[int], guarantee: Sequence[int]) -> int:
    """The sum of what is missing to the guarantees."""
    return sum(max(0, g - n) for n, g in zip(running, guarantee, strict=True))


def random_cluster(random: Random) -> PlainCluster:
    """A few machines and jobs, filled at random: ties, narrow lists, two sizes of resources."""
    resources = random.randint(1, 2)
    machines = random.randint(1, 5)
    capacity = [
        tuple(random.choice([1, 2, 3, 5]) for _ in range(resources)) for _ in range(machines)
    ]
    jobs = []
    for _ in range(random.randint(2, 4)):
        demand = tuple(random.choice([0, 1, 1, 2, 3]) for _ in range(resources))
        jobs.append(
            Kind(
                demand if any(demand) else (1,) * resources,
                sorted(random.sample(range(machines), random.randint(1, machines))),
                tasks=random.randint(1, 8),
                spread=random.random() < 0.15,
                gang=2 if random.random() < 0.1 else 1,
                each=random.choice([0.1, 0.25, 0.5]),
            )
        )
    cluster = PlainCluster(capacity, jobs)
    cluster.fill(random)
    return cluster
