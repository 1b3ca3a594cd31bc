"""A filling of a problem in arrays, proved by the check that every answer passes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from flint import fmpq

from fairlead.model.proof import Proof
from fairlead.sharing.certificate.arrays import Classes, Seen
from fairlead.sharing.certificate.places import check_numbers, check_places, tasks_of
from fairlead.sharing.certificate.rounds import check_rounds
from fairlead.sharing.certificate.scarce import Rows
from fairlead.sharing.certificate.tree import Cap, Tree
from fairlead.sharing.filling import names as back
from fairlead.sharing.filling.fill import fill
from fairlead.sharing.filling.rounds import Filling
from fairlead.sharing.numbers.amounts import nearest, rationals
from fairlead.sharing.problem.problem import Problem, jobs_below


def proved(
    problem: Problem, scale: Iterable[Any], weight: Iterable[Any], filling: Filling
) -> Filling:
    """The filling, once its rounds and places prove the levels, the shares and the tasks that it
    has."""
    able = np.asarray(problem.usable.any(axis=1)).tolist()
    scales = [each if can else fmpq(0) for each, can in zip(rationals(scale), able, strict=True)]
    rows = _rows(problem)
    names = back.names_of(problem, [name for each in problem.class_machines for name in each])
    proof = Proof(
        policy="",
        classes=names.classes(),
        tasks=(),
        rounds=tuple(back.proof_rounds(names, filling)),
        places=tuple(back.proof_places(names, filling)),
        full=tuple(back.scarce(names, row) for row in filling.full),
        pools=(),
    )
    right = check_rounds(rows, rationals(weight), scales, proof.rounds)
    amounts = check_places(right, proof, exact=True)
    tasks = tasks_of(right)
    check_numbers(rows, tasks)
    assert [found.level for found in filling.rounds] == right.levels
    assert [share * each for share, each in zip(filling.share, scales, strict=True)] == tasks
    placed = np.zeros_like(problem.holds)
    for e, (jobs, _) in enumerate(filling.places):
        on = {c: amount for (entry, c), amount in amounts.items() if entry == e}
        for j in jobs:
            for c, amount in on.items():
                placed[j, c] = nearest(tasks[j] * amount / sum(on.values(), fmpq(0)))
    assert filling.tasks == pytest.approx(placed, rel=8e-15, abs=0)
    return filling


def filled(problem: Problem, *, merge: bool = True) -> Filling:
    """The filling by the jobs' stand-alone numbers, proved."""
    weight = problem.tree.weight
    return proved(problem, problem.alone, weight, fill(problem, problem.alone, weight, merge=merge))


def _rows(problem: Problem) -> Rows:
    """What there is, as the check has it of an input."""
    amounts, names, resources = problem.amounts, problem.job_names, problem.resources
    classes = range(len(problem.count))
    seen = Seen(
        resources=resources,
        resource={name: r for r, name in enumerate(resources)},
        names=names,
        job={name: j for j, name in enumerate(names)},
        demand=problem.demand,
        tasks=problem.tasks,
        spread=problem.spread,
        machines=(),
        machine={},
        kind=np.array(classes),
        kinds=tuple(classes),
        allowed=problem.eligible,
        parts=amounts.parts,
        need=amounts.demand,
        capacity=problem.capacity,
        one=amounts.capacity,
        number=amounts.tasks,
    )
    column = {c: c for c in classes}
    counts = problem.count.astype(float)
    there = Classes(
        problem.capacity, counts, problem.holds, problem.usable, column, amounts.capacity
    )
    return Rows(seen, there, _tree(problem), amounts.tasks)


def _tree(problem: Problem) -> Tree:
    tree, amounts = problem.tree, problem.amounts
    below = jobs_below(tree)
    top: list[int] = []
    for t, above in enumerate(tree.parent.tolist()):
        top.append(t if above < 0 else top[above])
    caps = []
    for limit, amount in zip(tree.limits, amounts.limits, strict=True):
        takes = {
            j: need for j in below[limit.tenant] if (need := amounts.demand[j, limit.resource])
        }
        tenant, resource = tree.names[limit.tenant], problem.resources[limit.resource]
        caps.append(Cap(tenant, resource, np.zeros(0), limit.amount, takes, amount))
    tops = dict.fromkeys(top)
    return Tree(
        names=tree.names,
        node={name: t for t, name in enumerate(tree.names)},
        parent=tree.parent,
        of_job=tree.job_tenant,
        below=dict(zip(tree.names, below, strict=True)),
        caps=tuple(caps),
        top=tuple(top),
        under={t: below[t] for t in tops},
        nodes={t: [n for n, its in enumerate(top) if its == t and n != t] for t in tops},
    )
