"""Random problems that look for trouble: everything small at once, and kinds that are hard."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairlead.sharing.problem.problem import Floats, Problem
from tests.sharing.build import build


def adversarial(random: np.random.Generator) -> tuple[Problem, Floats]:
    """Ties, zero demands, identical jobs, one machine, limits, trees, spread and finite jobs."""
    jobs, classes, resources = (int(random.integers(1, most)) for most in (9, 6, 4))
    if random.random() < 0.5:
        demand = random.integers(0, 4, (jobs, resources)).astype(np.float64)
        capacity = random.integers(0, 7, (classes, resources)).astype(np.float64)
    else:
        demand = random.lognormal(0, 1, (jobs, resources))
        capacity = random.lognormal(2, 1, (classes, resources))
    demand[~demand.any(axis=1), 0] = 1.0
    tenants = int(random.integers(1, 6))
    tree = random.random() < 0.5
    more: dict[str, Any] = {
        "count": random.integers(1, 4, classes).tolist(),
        "eligible": (random.random((jobs, classes)) < random.choice([0.3, 0.6, 1.0])).tolist(),
        "weight": random.choice([1.0, 2.0, 3.0, 0.5, 1 / 3], tenants).tolist(),
        "job_tenant": random.integers(0, tenants, jobs).tolist(),
        "parent": [int(random.integers(-1, t)) if tree else -1 for t in range(tenants)],
    }
    if random.random() < 0.5:
        finite = random.random(jobs) < 0.5
        more["tasks"] = np.where(finite, random.integers(1, 9, jobs), np.inf).tolist()
    if random.random() < 0.3:
        more["spread"] = (random.random(jobs) < 0.4).tolist()
    if random.random() < 0.4:
        more["limits"] = [
            (int(random.integers(tenants)), int(random.integers(resources)), float(amount))
            for amount in random.choice([0, 1, 2, 5.5], int(random.integers(1, 3)))
        ]
    problem = build(demand.tolist(), capacity.tolist(), **more)
    scale = problem.alone
    if random.random() < 0.3:
        scale = np.where(scale > 0, random.choice([1.0, 2.0, 7.0], jobs), 0.0)
    return problem, scale


def drawn(seed: int, *, jobs: int, classes: int, resources: int, density: float) -> Problem:
    """Demands and capacities that are nowhere equal; each job may use a part of the classes."""
    random = np.random.default_rng(seed)
    eligible = random.random((jobs, classes)) < density
    eligible[np.arange(jobs), random.integers(0, classes, jobs)] = True
    return build(
        random.lognormal(0, 0.7, (jobs, resources)).tolist(),
        random.lognormal(3, 0.7, (classes, resources)).tolist(),
        eligible=eligible.tolist(),
        weight=random.choice([1.0, 2.0, 4.0], jobs).tolist(),
    )


def few_classes(seed: int, *, jobs: int, classes: int) -> Problem:
    """Each job may use few classes, the popular ones more often; some need a GPU."""
    random = np.random.default_rng(seed)
    popular = 1.0 / np.arange(1, classes + 1)
    gpus = random.random(classes) < 0.3
    eligible = np.zeros((jobs, classes), dtype=np.bool_)
    demand = np.round(random.lognormal(0, 1, (jobs, 4)), 3) + 0.001
    for job in range(jobs):
        number = min(int(random.choice([1, 2, 3, 5, 10])), classes)
        own = random.choice(classes, number, replace=False, p=popular / popular.sum())
        eligible[job, own] = True
        if random.random() < 0.7 or not gpus[own].any():
            demand[job, 3] = 0.0
    capacity = np.round(random.lognormal(3, 0.5, (classes, 4)), 2)
    capacity[:, 3] = np.where(gpus, 8, 0)
    return build(
        demand.tolist(),
        capacity.tolist(),
        count=random.integers(1, 20, classes).tolist(),
        eligible=eligible.tolist(),
        weight=random.choice([1.0, 2.0, 4.0], jobs).tolist(),
    )


def chain(length: int, ratio: int, more: float) -> Problem:
    """A chain of bottlenecks, on two classes of machines alike.

    Job k takes 1 of resource k and `ratio` of the next one; it stops at 2 ** k tasks when its
    resource is used up. With `more` of the first, the levels are off by that, times the ratio once
    more, and of the other sign, at every further level.
    """
    demand = np.eye(length) + ratio * np.eye(length, k=1)
    there = np.array([1 + more, *(ratio * 2**k + 2 ** (k + 1) for k in range(length - 1))])
    return build(demand.tolist(), [(there * 0.25).tolist(), (there * 0.75).tolist()])


def ties(seed: int, *, jobs: int, classes: int) -> Problem:
    """Small whole numbers: many corners are as high as each other."""
    random = np.random.default_rng(seed)
    eligible = random.random((jobs, classes)) < 0.5
    eligible[np.arange(jobs), random.integers(0, classes, jobs)] = True
    return build(
        random.integers(1, 4, (jobs, 2)).tolist(),
        (random.integers(1, 4, (classes, 2)) * 12).tolist(),
        eligible=eligible.tolist(),
    )
