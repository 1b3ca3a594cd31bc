"""Levels that tie in fractions tie in the core: the job that was submitted first is next."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from random import Random

import numpy as np
import pytest

from fairlead.compiling import kernel
from fairlead.model.job import Job
from fairlead.model.machine import Machine
from fairlead.model.tenant import Tenant
from fairlead.scheduling.core import Core
from fairlead.scheduling.decisions import Launch
from fairlead.scheduling.events import JobChanged, JobSubmitted, MachineJoined, TenantChanged
from fairlead.scheduling.kernels.numbers.twice import add, divide, multiply
from fairlead.scheduling.state.ids import Unit

CASES = tuple(product((3, 6, 7), (1, 2, 3), (1, 4)))
"""A tenant's weight, the tasks of a job that has none, and how many machines are beside."""


def _next(
    tenants: list[Tenant], jobs: list[tuple[str, str | None, int]], beside: int, unit: int = 1
) -> str:
    """The next job of those that hold so many tasks each, in the order in which they came, where
    room for one more comes, and for `beside` that nobody asks for."""
    core = Core([Unit("cpu")])
    for each in tenants:
        core.handle(TenantChanged(0, each))
    for name, _, held in jobs:
        core.handle(MachineJoined(0, Machine(f"of-{name}", {"cpu": held * unit})))
    for name, tenant, held in jobs:
        core.handle(JobSubmitted(0, Job(name, {"cpu": unit}, tenant=tenant, tasks=held)))
    for n in range(beside):
        core.handle(MachineJoined(0, Machine(f"beside-{n}", {"cpu": unit})))
        filler = Job(f"filler-{n}", {"cpu": unit}, machines=(f"beside-{n}",), tasks=1)
        core.handle(JobSubmitted(0, filler))
    for name, _, _ in jobs:
        assert core.handle(JobChanged(0, name, 99)) == []
    (launch,) = core.handle(MachineJoined(0, Machine("more", {"cpu": unit})))
    core.check()
    assert isinstance(launch, Launch)
    return launch.job


@pytest.mark.parametrize(("weight", "held", "beside"), CASES)
def test_a_tenant_of_weight_w_with_w_times_as_much_comes_after_who_came_before(
    weight: int, held: int, beside: int
) -> None:
    tenants = [Tenant("t", weight=Fraction(weight))]
    alone, of_tenant = ("alone", None, held), ("of-t", "t", weight * held)
    assert _next(tenants, [alone, of_tenant], beside) == "alone"
    assert _next(tenants, [of_tenant, alone], beside) == "of-t"


@pytest.mark.parametrize("beside", range(1, 9, 2))
def test_weights_that_are_no_doubles_tie_too(beside: int) -> None:
    # Weights 1/10 and 3/10 of tenants with 1 task and 3.
    tenants = [Tenant("a", weight=Fraction(1, 10)), Tenant("b", weight=Fraction(3, 10))]
    of_a, of_b = ("of-a", "a", 1), ("of-b", "b", 3)
    assert _next(tenants, [of_a, of_b], beside) == "of-a"
    assert _next(tenants, [of_b, of_a], beside) == "of-b"


@pytest.mark.parametrize("beside", range(1, 9, 2))
def test_so_do_tenants_below_others(beside: int) -> None:
    # c has 1/3 of a's weight of 6, d the rest; b, alone, weighs 1.
    tenants = [
        Tenant("a", weight=Fraction(6)),
        Tenant("b", weight=Fraction(1)),
        Tenant("c", parent="a", weight=Fraction(1, 3)),
        Tenant("d", parent="a", weight=Fraction(2, 3)),
    ]
    jobs: list[tuple[str, str | None, int]] = [("of-b", "b", 1), ("of-c", "c", 2), ("of-d", "d", 4)]
    for first in range(3):
        order = [*jobs[first:], *jobs[:first]]
        assert _next(tenants, order, beside) == order[0][0]


@kernel
def _level(held: float, scale: float, of: float, by: float, idle: float) -> float:
    high, low = divide(held, 0.0, scale, 0.0)
    high, low = multiply(high, low, of, 0.0)
    high, low = add(high, low, idle, 0.0)
    high, low = divide(high, low, by, 0.0)
    return high


def test_a_long_number_is_rounded_as_a_fraction_is(cases: int) -> None:
    random = Random(1)
    for _ in range(10_000 * cases):
        most = 2 ** random.choice((3, 8, 20, 40, 52))
        held, scale, of, by = (random.randint(1, most) for _ in range(4))
        idle = random.choice((0.0, random.random() * most))
        exact = (Fraction(held, scale) * of + Fraction(idle)) / by
        assert _level(*map(np.float64, (held, scale, of, by, idle))) == float(exact)
