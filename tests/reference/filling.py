"""Progressive filling in fractions, machine by machine, straight from the model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction

from fairlead.model.job import Job
from fairlead.model.machine import Cluster, Machine
from fairlead.model.tenant import Tenant
from tests.reference.scales import Scale, can_never_run, holds, may_use, tsf
from tests.reference.simplex import Simplex

ZERO = Fraction(0)


class Looks(Enum):
    """The cluster as a policy sees it."""

    MACHINES = "machines"
    POOLED = "one machine that holds everything"
    EACH = "every machine by itself"


@dataclass(frozen=True)
class Level:
    """A share, and the jobs that can rise no further there (on that machine, under EACH)."""

    share: Fraction
    jobs: frozenset[str]
    machine: str | None = None


@dataclass(frozen=True)
class Shares:
    """The exact answer. Under EACH `levels` has those of each machine, one after the other, and
    `scale` is what a job could run alone."""

    tasks: dict[str, Fraction]
    scale: dict[str, Fraction]
    weight: dict[str, Fraction]  # of every tenant, and of every job that has none
    levels: tuple[Level, ...]


@dataclass(frozen=True)
class _Program:
    """The columns (job, machine) and the rows that do not depend on shares."""

    column: dict[tuple[int, int], int]
    rows: list[tuple[dict[int, Fraction], Fraction]]

    def tasks(self, job: int) -> list[int]:
        return [x for (j, _), x in self.column.items() if j == job]


def exact_shares(
    cluster: Cluster, jobs: Sequence[Job], scale: Scale, looks: Looks = Looks.MACHINES
) -> Shares:
    """The exact shares under the policy with this scale."""
    machines = cluster.machines
    everywhere = tuple(machine.name for machine in machines)
    jobs = [
        replace(job, exclude=everywhere) if can_never_run(cluster, job) else job for job in jobs
    ]
    if looks is Looks.EACH:
        alone = {job.name: tsf(machines, job) for job in jobs}
        weight = weights(cluster, jobs, alone)
        tasks = {job.name: ZERO for job in jobs}
        levels: list[Level] = []
        for machine in machines:
            here = scales(scale, [machine], jobs)
            part = _fill(cluster, jobs, _program(cluster, jobs, [machine]), here, weight)
            levels += [replace(level, machine=machine.name) for level in part[1]]
            for name, count in part[0].items():
                tasks[name] += count
        return Shares(tasks, alone, weight, tuple(levels))
    every = scales(scale, machines, jobs)
    weight = weights(cluster, jobs, every)
    if looks is Looks.POOLED:
        program = _pooled_program(cluster, jobs)
    else:
        program = _program(cluster, jobs, machines)
    tasks, found = _fill(cluster, jobs, program, every, weight)
    return Shares(tasks, every, weight, tuple(found))


def scales(scale: Scale, machines: Sequence[Machine], jobs: Sequence[Job]) -> dict[str, Fraction]:
    """The scale of every job; 0 for one that can run on none of the machines."""
    return {
        job.name: scale(machines, job)
        if any(may_use(job, machine) and holds(job, machine) > 0 for machine in machines)
        else ZERO
        for job in jobs
    }


def weights(
    cluster: Cluster, jobs: Sequence[Job], scale: dict[str, Fraction]
) -> dict[str, Fraction]:
    """The weight of every tenant: as written, or the largest share that its pool could give."""
    weight = {job.tenant or job.name: Fraction(1) for job in jobs}
    for tenant in cluster.tenants:
        if tenant.pool is None:
            weight[tenant.name] = Fraction(1) if tenant.weight is None else tenant.weight
            continue
        own = _below(cluster.tenants, jobs, tenant.name)
        mine = [
            job
            for job in jobs
            if job.name in own
            and scale[job.name] > 0
            and any(may_use(job, machine) for machine in cluster.machines)
        ]
        if not mine:  # it takes part in nothing
            weight[tenant.name] = Fraction(1)
            continue
        brought = [machine for machine in cluster.machines if machine.name in tenant.pool]
        program = _program(cluster, mine, brought)
        share = {x: 1 / scale[mine[j].name] for (j, _), x in program.column.items()}
        weight[tenant.name] = Simplex(len(program.column), program.rows).maximise(share)
    return weight


def _below(tenants: Iterable[Tenant], jobs: Sequence[Job], top: str) -> set[str]:
    """The names of the jobs of a tenant and of all tenants below it."""
    inside = {top}
    tenants = list(tenants)
    while more := {t.name for t in tenants if t.parent in inside} - inside:
        inside |= more
    return {job.name for job in jobs if job.tenant in inside}


def _limits(
    cluster: Cluster, jobs: Sequence[Job], column: dict[tuple[int, int], int]
) -> list[tuple[dict[int, Fraction], Fraction]]:
    rows = []
    for tenant in cluster.tenants:
        own = _below(cluster.tenants, jobs, tenant.name)
        for resource, most in tenant.limit.items():
            row = {
                x: jobs[j].demand[resource]
                for (j, _), x in column.items()
                if jobs[j].name in own and jobs[j].demand.get(resource, ZERO)
            }
            rows.append((row, most))
    return rows


def _program(cluster: Cluster, jobs: Sequence[Job], machines: Sequence[Machine]) -> _Program:
    """These jobs on these machines, each by itself."""
    pairs = [
        (j, m)
        for j, job in enumerate(jobs)
        for m, machine in enumerate(machines)
        if may_use(job, machine) and holds(job, machine) > 0
    ]
    column = {pair: x for x, pair in enumerate(pairs)}
    rows = _limits(cluster, jobs, column)
    for m, machine in enumerate(machines):
        for resource, amount in machine.capacity.items():
            need = {
                column[j, m]: job.demand[resource]
                for j, job in enumerate(jobs)
                if (j, m) in column and job.demand.get(resource, ZERO)
            }
            rows.append((need, amount))
    for j, job in enumerate(jobs):
        if job.tasks is not None:
            mine = {x: Fraction(1) for (i, _), x in column.items() if i == j}
            rows.append((mine, job.tasks))
        if job.spread:
            rows += [({x: Fraction(1)}, Fraction(1)) for (i, _), x in column.items() if i == j]
    return _Program(column, rows)


def _pooled_program(cluster: Cluster, jobs: Sequence[Job]) -> _Program:
    """One machine that holds everything, open to all who can run somewhere."""
    machines = cluster.machines
    able = [
        j
        for j, job in enumerate(jobs)
        if any(may_use(job, machine) and holds(job, machine) > 0 for machine in machines)
    ]
    column = {(j, 0): x for x, j in enumerate(able)}
    rows = _limits(cluster, jobs, column)
    for resource in sorted({r for machine in machines for r in machine.capacity}):
        need = {
            column[j, 0]: jobs[j].demand[resource]
            for j in able
            if jobs[j].demand.get(resource, ZERO)
        }
        amounts = (machine.capacity.get(resource, ZERO) for machine in machines)
        rows.append((need, sum(amounts, ZERO)))
    for j in able:
        most = jobs[j].tasks
        if most is not None:
            rows.append(({column[j, 0]: Fraction(1)}, most))
        if jobs[j].spread:
            rows.append(({column[j, 0]: Fraction(1)}, Fraction(len(machines))))
    return _Program(column, rows)


def _fill(
    cluster: Cluster,
    jobs: Sequence[Job],
    program: _Program,
    scale: dict[str, Fraction],
    weight: dict[str, Fraction],
) -> tuple[dict[str, Fraction], list[Level]]:
    """All rounds: who is active rises at its rate as far as all can; who cannot rise freezes."""
    rising = [j for j, job in enumerate(jobs) if scale[job.name] > 0]
    rows = list(program.rows)
    share_row: dict[int, int] = {}
    tasks_of = {j: program.tasks(j) for j in rising}
    for j in rising:  # what was reached, less the share, is at most nothing
        share_row[j] = len(rows)
        rows.append((dict.fromkeys(tasks_of[j], -1 / scale[jobs[j].name]), ZERO))
    # A job without scale gets nothing.
    idle = {x: Fraction(1) for (j, _), x in program.column.items() if j not in share_row}
    rows.append((idle, ZERO))
    simplex = Simplex(len(program.column), rows)

    active, level = set(rising), ZERO
    levels: list[Level] = []
    reached = dict.fromkeys(rising, ZERO)
    while active:
        rate = rates(cluster.tenants, [jobs[j] for j in sorted(active)], weight)
        step = simplex.add_column({share_row[j]: rate[jobs[j].name] for j in sorted(active)})
        rise = simplex.maximise({step: Fraction(1)}, keep=True)
        level += rise
        for j in active:
            reached[j] += rise * rate[jobs[j].name]
        frozen = _stuck(simplex, jobs, scale, tasks_of, reached, active)
        assert frozen, "no job froze"
        active -= frozen
        names = frozenset(jobs[j].name for j in frozen)
        if levels and levels[-1].share == level:
            levels[-1] = Level(level, levels[-1].jobs | names)
        else:
            levels.append(Level(level, names))
    counts = {job.name: ZERO for job in jobs}
    for j in rising:
        counts[jobs[j].name] = reached[j] * scale[jobs[j].name]
    return counts, levels


def _stuck(
    simplex: Simplex,
    jobs: Sequence[Job],
    scale: dict[str, Fraction],
    tasks_of: dict[int, list[int]],
    reached: dict[int, Fraction],
    active: set[int],
) -> set[int]:
    """The active jobs that cannot rise while everyone keeps at least what was reached.

    The program holds everyone to what was reached. Maximises the sum over all candidates: where
    somebody alone could rise, the sum could too; where the sum rises, whoever rose can.
    """
    left = set(active)
    while left:
        total = {x: 1 / scale[jobs[j].name] for j in sorted(left) for x in tasks_of[j]}
        simplex.maximise(total)
        risen = {
            j
            for j in left
            if sum((simplex.value(x) for x in tasks_of[j]), ZERO) / scale[jobs[j].name] > reached[j]
        }
        if not risen:
            break
        left -= risen
    return left


def rates(
    tenants: Sequence[Tenant], active: Sequence[Job], weight: dict[str, Fraction]
) -> dict[str, Fraction]:
    """Effective weights: every tenant's is split among its active children by their weights."""
    parent = {job.tenant: None for job in active} | {t.name: t.parent for t in tenants}
    children: dict[str | None, dict[tuple[str, str], Fraction]] = {}
    for job in active:
        if job.tenant is None:
            children.setdefault(None, {})["job", job.name] = weight[job.name]
            continue
        children.setdefault(job.tenant, {})["job", job.name] = Fraction(1)
        above: str | None = job.tenant
        while above is not None:
            children.setdefault(parent[above], {})["tenant", above] = weight[above]
            above = parent[above]
    rate: dict[str, Fraction] = {}

    def split(node: str | None, amount: Fraction | None) -> None:
        below = children.get(node, {})
        whole = sum(below.values(), ZERO)
        for (kind, name), share in below.items():
            part = share if amount is None else amount * share / whole
            if kind == "job":
                rate[name] = part
            else:
                split(name, part)

    split(None, None)
    return rate
