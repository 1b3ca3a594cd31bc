"""From the model to arrays: machines become classes, names become indices."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from fairlead.model.choosing import Choosing
from fairlead.model.constraint import Label, Selector
from fairlead.model.job import Job
from fairlead.model.machine import Cluster
from fairlead.model.never import never_run
from fairlead.model.tenant import Tenant
from fairlead.model.values import FrozenMap
from fairlead.sharing.numbers.amounts import whole_parts
from fairlead.sharing.problem.problem import (
    Bools,
    Floats,
    Ints,
    Limit,
    Problem,
    Tree,
    tasks_that_fit,
)

Names = tuple[str, ...]
Constraint = tuple[Selector, Names | None, Names]
Amounts = tuple[Fraction, ...]
Text = tuple[tuple[type, str] | None, ...]

NONE = Fraction(0)


def compile_problem(cluster: Cluster, jobs: Sequence[Job]) -> Problem:
    """The problem in arrays that nobody can write to. The input is valid (`fairlead.model.check`
    has passed it)."""
    resources = tuple(sorted({name for job in jobs for name, need in job.demand.items() if need}))
    constraints: dict[Constraint, int] = {}
    of_job = [
        constraints.setdefault((job.where, job.machines, job.exclude), len(constraints))
        for job in jobs
    ]
    members, capacities, allowed = _classes(cluster, resources, tuple(constraints))
    demand = np.array(
        [[float(job.demand.get(name, 0)) for name in resources] for job in jobs], dtype=float
    ).reshape(len(jobs), len(resources))
    capacity = np.array(
        [[float(amount) for amount in amounts] for amounts in capacities], dtype=float
    ).reshape(len(members), len(resources))
    count = np.array([len(indices) for indices in members], dtype=np.int64)
    tasks = np.array([np.inf if job.tasks is None else float(job.tasks) for job in jobs])
    spread = np.array([job.spread for job in jobs], dtype=bool)
    eligible = allowed[of_job] if jobs else np.zeros((0, len(members)), dtype=bool)
    never = never_run(cluster, jobs)
    eligible[[j for j, job in enumerate(jobs) if job.name in never]] = False
    tenants = _in_order(cluster.tenants)
    own = [job.name for job in jobs if job.tenant is None]

    class_order = _class_order(capacity, count, eligible)
    capacity, count, eligible = capacity[class_order], count[class_order], eligible[:, class_order]
    members = [members[c] for c in class_order]
    job_order = _job_order(demand, tasks, spread, eligible, _weight_chains(tenants, jobs))
    jobs = [jobs[j] for j in job_order]
    demand, tasks, spread = demand[job_order], tasks[job_order], spread[job_order]
    eligible = eligible[job_order]

    holds = tasks_that_fit(demand, capacity, spread)
    machines = cluster.machines
    class_machines = tuple(tuple(machines[i].name for i in indices) for indices in members)
    tree = _tree(tenants, own, jobs, resources, class_machines)
    problem = Problem(
        resources=resources,
        job_names=tuple(job.name for job in jobs),
        class_machines=class_machines,
        demand=demand,
        tasks=tasks,
        spread=spread,
        capacity=capacity,
        count=count,
        eligible=eligible,
        holds=holds,
        usable=eligible & (holds > 0),
        tree=tree,
        written=tuple(job_order),
        known=whole_parts(
            [[job.demand.get(name, NONE) for name in resources] for job in jobs],
            [capacities[c] for c in class_order],
            _exact_limits(tenants, resources),
            (job.tasks for job in jobs),
            (*(_weight(tenant) for tenant in tenants), *(Fraction(1) for _ in own)),
            len(resources),
        ),
    )
    for value in (*vars(problem).values(), *vars(problem.tree).values()):
        if isinstance(value, np.ndarray):
            value.setflags(write=False)  # a policy of a user's own sees it
    return problem


def _classes(
    cluster: Cluster, resources: Names, constraints: Sequence[Constraint]
) -> tuple[list[list[int]], list[Amounts], Bools]:
    """Machines that no present job can tell apart: the members of each class, what one of them
    has of each resource, and which constraint (row) allows which class (column).

    Only what jobs can see tells machines apart: resources that a job demands, labels that a
    selector asks for, lists that name the machine.
    """
    keys = sorted({part.key for where, _, _ in constraints for part in where.requirements})
    lists: dict[Names, int] = {}
    listed: dict[str, list[int]] = {}
    for _, machines, exclude in constraints:
        for names in (machines, exclude):
            if names and names not in lists:
                number = lists[names] = len(lists)  # a long tuple's hash is slow
                for name in names:
                    listed.setdefault(name, []).append(number)

    zero = Fraction(0)
    number_of: dict[Amounts, int] = {}  # a fraction's hash is slow, so amounts go by number
    seen_capacity: dict[FrozenMap[Fraction], int] = {}
    seen_labels: dict[FrozenMap[Label], Text] = {}
    alike: dict[tuple[int, Text, tuple[int, ...]], list[int]] = {}
    for index, machine in enumerate(cluster.machines):
        amounts = seen_capacity.get(machine.capacity)
        if amounts is None:
            has = tuple(machine.capacity.get(name, zero) for name in resources)
            amounts = number_of.setdefault(has, len(number_of))
            seen_capacity[machine.capacity] = amounts
        text = seen_labels.get(machine.labels)
        if text is None:
            values = [machine.labels.get(key) for key in keys]
            text = tuple(None if value is None else (type(value), str(value)) for value in values)
            seen_labels[machine.labels] = text
        alike.setdefault((amounts, text, tuple(listed.get(machine.name, ()))), []).append(index)

    groups = list(alike.values())
    choosing = Choosing(cluster.machines[group[0]].labels for group in groups)
    on_list = np.zeros((len(lists), len(groups)), dtype=bool)
    for g, (_, _, indices) in enumerate(alike):
        on_list[list(indices), g] = True
    allowed = np.zeros((len(constraints), len(groups)), dtype=bool)
    for k, (where, machines, exclude) in enumerate(constraints):
        allowed[k, choosing.chosen(where)] = True
        if machines is not None:
            allowed[k] &= on_list[lists[machines]] if machines else False
        if exclude:
            allowed[k] &= ~on_list[lists[exclude]]

    amounts_of = list(number_of)
    merged: dict[tuple[int, bytes], list[int]] = {}
    for g, (amounts, _, _) in enumerate(alike):
        merged.setdefault((amounts, allowed[:, g].tobytes()), []).append(g)
    members = [sorted(i for g in parts for i in groups[g]) for parts in merged.values()]
    first = [parts[0] for parts in merged.values()]
    return members, [amounts_of[amounts] for amounts, _ in merged], allowed[:, first]


def _class_order(capacity: Floats, count: Ints, eligible: Bools) -> list[int]:
    """An order of the classes that names and the order of writing do not influence, ties apart."""
    users = eligible.sum(axis=0)
    return sorted(
        range(len(count)), key=lambda c: (tuple(capacity[c]), int(users[c]), int(count[c]))
    )


def _job_order(
    demand: Floats,
    tasks: Floats,
    spread: Bools,
    eligible: Bools,
    weights: Sequence[tuple[Fraction, ...]],
) -> list[int]:
    """An order of the jobs that names and the order of writing do not influence, ties apart."""
    seen = np.packbits(eligible, axis=1)
    return sorted(
        range(len(tasks)),
        key=lambda j: (tuple(demand[j]), seen[j].tobytes(), tasks[j], bool(spread[j]), weights[j]),
    )


def _in_order(tenants: Sequence[Tenant]) -> list[Tenant]:
    """The tenants as the tree is read aloud: every parent, then its children."""
    children: dict[str | None, list[Tenant]] = {}
    for tenant in tenants:
        children.setdefault(tenant.parent, []).append(tenant)
    ordered = []
    waiting = children.get(None, [])[::-1]
    while waiting:
        tenant = waiting.pop()
        ordered.append(tenant)
        waiting += children.get(tenant.name, [])[::-1]
    return ordered


def _weight_chains(tenants: Sequence[Tenant], jobs: Sequence[Job]) -> list[tuple[Fraction, ...]]:
    """For each job the weights from its tenant up, which stand for its place in the tree."""
    chain: dict[str | None, tuple[Fraction, ...]] = {None: ()}
    for tenant in tenants:
        weight = Fraction(1) if tenant.weight is None else tenant.weight
        chain[tenant.name] = (weight, *chain[tenant.parent])
    return [chain[job.tenant] for job in jobs]


def _tree(
    tenants: Sequence[Tenant],
    own: Sequence[str],
    jobs: Sequence[Job],
    resources: Names,
    class_machines: Sequence[Names],
) -> Tree:
    """The tenants as a tree; the jobs without a tenant get nodes of their own."""
    names = (*(tenant.name for tenant in tenants), *own)
    node = {name: t for t, name in enumerate(names)}
    weight = np.ones(len(names))
    parent = np.full(len(names), -1, dtype=np.int64)
    pool_count = np.zeros((len(names), len(class_machines)), dtype=np.int64)
    class_of = {name: c for c, members in enumerate(class_machines) for name in members}
    for t, tenant in enumerate(tenants):
        if tenant.parent is not None:
            parent[t] = node[tenant.parent]
        if tenant.pool is not None:
            weight[t] = np.nan
            for name in tenant.pool:
                pool_count[t, class_of[name]] += 1
        elif tenant.weight is not None:
            weight[t] = float(tenant.weight)
    limits = [
        Limit(t, r, float(amount))
        for t, tenant in enumerate(tenants)
        for r, amount in _exact_limits([tenant], resources)
    ]
    return Tree(
        names=names,
        parent=parent,
        weight=weight,
        pool_count=pool_count,
        job_tenant=np.array([node[job.tenant or job.name] for job in jobs], dtype=np.int64),
        limits=tuple(limits),
    )


def _exact_limits(tenants: Sequence[Tenant], resources: Names) -> list[tuple[int, Fraction]]:
    """The limits in the order of the tree's: of which resource, and how much."""
    return [
        (resources.index(name), amount)
        for tenant in tenants
        for name, amount in tenant.limit.items()
        if name in resources
    ]


def _weight(tenant: Tenant) -> Fraction | None:
    """The weight as written; None where a pool says it."""
    if tenant.pool is not None:
        return None
    return Fraction(1) if tenant.weight is None else tenant.weight
