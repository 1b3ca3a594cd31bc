"""The exact numbers behind an allocation, by name, as fractions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import fmpq

from fairlead.model.job import Job
from fairlead.model.machine import Cluster
from fairlead.sharing.filling.fill import fill
from fairlead.sharing.filling.per_machine import parts
from fairlead.sharing.filling.pool_weights import tenant_weights
from fairlead.sharing.filling.rounds import Filling
from fairlead.sharing.numbers.amounts import fraction
from fairlead.sharing.policy import Policy, View
from fairlead.sharing.problem.alone import alone
from fairlead.sharing.problem.compile import compile_problem
from fairlead.sharing.problem.problem import Problem
from fairlead.sharing.rules.registry import parse
from fairlead.sharing.rules.views import one_class, pool_machines
from tests.sharing.filling.proof import proved


@dataclass(frozen=True)
class Exact:
    """Tasks and weights by name, and the levels: of the cluster, or of each of its machines."""

    tasks: dict[str, Fraction]
    scale: dict[str, Fraction]
    weight: dict[str, Fraction]
    levels: dict[str | None, list[tuple[Fraction, frozenset[str]]]]


def exactly(cluster: Cluster, jobs: Sequence[Job], policy: str) -> Exact:
    """The numbers that `allocate` rounds, each filling proved."""
    problem, rule = compile_problem(cluster, jobs), parse(policy)
    assert isinstance(rule, Policy)
    if rule.view is View.EACH_MACHINE:
        return _on_each_machine(problem, rule)
    view = pool_machines(problem) if rule.view is View.POOLED else problem
    scale = rule.exact_scale(view)
    weight = tenant_weights(problem, scale).exact
    filling = proved(view, scale, weight, fill(view, scale, weight))
    total = [a * b for a, b in zip(filling.share, scale, strict=True)]
    return Exact(
        _by_name(problem.job_names, total),
        _by_name(problem.job_names, scale),
        _by_name(problem.tree.names, weight),
        {None: _levels(problem, filling)},
    )


def _on_each_machine(problem: Problem, rule: Policy) -> Exact:
    scale = alone(problem)
    weight = tenant_weights(problem, scale).exact
    total = [fmpq(0)] * len(scale)
    levels: dict[str | None, list[tuple[Fraction, frozenset[str]]]] = {}
    each = [rule.exact_scale(one_class(problem, c)) for c in range(len(problem.count))]
    shared = parts(problem, each, weight)
    for c, here in enumerate(each):
        view, count = one_class(problem, c, shared), int(problem.count[c])
        filling = proved(view, here, weight, fill(view, here, weight))
        more = (a * b * count for a, b in zip(filling.share, here, strict=True))
        total = [a + b for a, b in zip(total, more, strict=True)]
        for name in problem.class_machines[c]:
            levels[name] = _levels(problem, filling)
    return Exact(
        _by_name(problem.job_names, total),
        _by_name(problem.job_names, scale),
        _by_name(problem.tree.names, weight),
        levels,
    )


def exact_tasks(problem: Problem, *, merge: bool = True) -> list[fmpq]:
    """The tasks of each job by what it could run alone, weights as written."""
    able = np.asarray(problem.usable.any(axis=1)).tolist()
    scale = [each if can else fmpq(0) for each, can in zip(alone(problem), able, strict=True)]
    filling = fill(problem, scale, problem.tree.weight, merge=merge)
    return [a * b for a, b in zip(filling.share, scale, strict=True)]


def _by_name(names: Sequence[str], numbers: Sequence[fmpq]) -> dict[str, Fraction]:
    return {name: fraction(each) for name, each in zip(names, numbers, strict=True)}


def _levels(problem: Problem, filling: Filling) -> list[tuple[Fraction, frozenset[str]]]:
    found: list[tuple[Fraction, frozenset[str]]] = []
    for each in filling.rounds:
        level = fraction(each.level)
        names = frozenset(problem.job_names[j] for j in each.frozen.tolist())
        if found and found[-1][0] == level:
            names |= found.pop()[1]
        found.append((level, names))
    return found
