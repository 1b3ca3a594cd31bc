"""Numbers that are far apart, where doubles alone are wrong: the exact fractions."""

from __future__ import annotations

from fractions import Fraction

import pytest
from flint import fmpq

from fairlead.model.job import Job
from fairlead.model.machine import Cluster, Machine
from fairlead.model.tenant import Tenant
from fairlead.sharing.filling.fill import fill
from fairlead.sharing.numbers.amounts import fraction
from tests.sharing.build import build
from tests.sharing.draws import chain
from tests.sharing.exactly import exactly
from tests.sharing.filling.proof import filled, proved


def test_a_job_that_can_run_next_to_nowhere_has_its_share_of_that() -> None:
    """All stop when `a` is used up; that the picky one needs next to nothing of."""
    cluster = Cluster([Machine("m0", {"a": 1, "b": 1}), Machine("m1", {"a": 2000})])
    jobs = [
        Job("one", {"a": 1}),
        Job("two", {"a": 1}),
        Job("picky", {"a": "0.00000003", "b": 1}),
    ]
    found = exactly(cluster, jobs, "tsf")
    assert found.scale == {"one": 2001, "two": 2001, "picky": 1}
    share = 2001 / (4002 + Fraction(3, 100_000_000))
    assert found.tasks == {name: share * scale for name, scale in found.scale.items()}


def test_one_machine_that_has_all_of_it_hides_no_small_one() -> None:
    cluster = Cluster(
        [Machine("dust", {"a": "0.00001"}), Machine("one", {"a": 1}), Machine("all", {"a": 10**10})]
    )
    jobs = [Job("own", {"a": 1}, machines=["one"]), Job("free", {"a": 1})]
    found = exactly(cluster, jobs, "tsf")
    whole = 10**10 + 1 + Fraction(1, 100_000)
    assert found.tasks == {"own": 1, "free": whole - 1}
    assert exactly(cluster, jobs, "cdrf").tasks["own"] == whole / (1 + whole)


def test_what_nobody_has_may_be_asked_for_with_any_number_of_digits() -> None:
    demand = Fraction("1.0000000000000000000001")
    found = exactly(Cluster([Machine("m", {"disk": 1})]), [Job("j", {"cpu": demand})], "tsf")
    assert found.tasks == {"j": 0}


def test_a_place_for_next_to_nothing_of_a_job_is_a_place() -> None:
    """Numbers stop all but one of these; where they are is a program's answer to within 1e-10, of
    which `tiny` has less on the GPUs."""
    cluster = Cluster(
        [
            *(Machine(f"a{n}", {"cpu": 8, "gpu": 8, "mem": 2}) for n in range(3)),
            Machine("b", {"gpu": 2}),
            Machine("c", {"cpu": 1, "gpu": 4, "mem": 8}),
        ]
    )
    jobs = [
        Job("j0", {"gpu": 1}, machines=["b", "c"]),
        Job("j3", {"cpu": 1}, machines=["c"]),
        Job("j6", {"cpu": 1}, tasks=1),
        Job("j7", {"gpu": 8}, tasks=2),
        Job("j9", {"cpu": 2, "mem": 1}),
        Job("tiny", {"gpu": "0.000000000001", "mem": 1}),
        Job("j11", {"gpu": 1, "mem": 1}),
    ]
    found = exactly(cluster, jobs, "tsf")
    assert [found.tasks[name] for name in ("j6", "j7")] == [1, 2]
    assert 0 < found.tasks["tiny"] < 10


def test_weights_of_a_million_beside_a_hundred_thousandth() -> None:
    cluster = Cluster(
        [Machine("m", {"cpu": 7}), Machine("n", {"cpu": 3})],
        [
            Tenant("large", weight=10**6),
            Tenant("small", weight="0.00001"),
            Tenant("plain", weight=1),
        ],
    )
    jobs = [
        Job("l", {"cpu": 1}, tenant="large"),
        Job("s", {"cpu": 1}, tenant="small"),
        Job("p", {"cpu": 1}, tenant="plain", machines=["n"]),
    ]
    whole = 10**6 + 1 + Fraction(1, 10**5)
    found = exactly(cluster, jobs, "tsf").tasks
    assert found == {
        "l": 10 * 10**6 / whole,
        "s": 10 * Fraction(1, 10**5) / whole,
        "p": 10 / whole,
    }


def test_along_a_chain_of_machines_levels_are_exact_up_to_1e11_of_the_first() -> None:
    """Each job has two machines, one of them the next job's as well, and a tenth of its weight."""
    problem = build(
        [[1.0]] * 12,
        [[1.0]] * 12,
        eligible=[[int(c in (j, j + 1)) for c in range(12)] for j in range(12)],
        weight=[10.0**k for k in range(0, -12, -1)],
    )
    levels = [found.level for found in filled(problem).rounds]
    assert levels == [
        fmpq(1, 6),
        *(fmpq(10**k, 12) for k in range(1, 10)),
        fmpq(1, 12) / (fmpq(1, 10**10) + fmpq(1, 10**11)),
    ]


@pytest.mark.parametrize("ratio", [10, 1000])
@pytest.mark.parametrize("more", [1e-9, -1e-12, 1e-15])
def test_along_a_chain_of_bottlenecks_a_hair_at_the_first_is_exact_at_the_last(
    ratio: int, more: float
) -> None:
    """Six levels, each of which has the one before times the ratio taken off: in doubles a last
    digit of the first is 1e15 times as much at the last."""
    problem = chain(6, ratio, more)
    scale = [fmpq(1)] * 6
    for trust in (True, False):
        filling = fill(problem, scale, problem.tree.weight, trust=trust)
        proved(problem, scale, problem.tree.weight, filling)
        # What follows from what is written, resource by resource.
        there = [
            sum((Fraction(int(x)) for x in problem.amounts.capacity[:, r]), Fraction(0))
            / problem.amounts.parts[r]
            for r in range(6)
        ]
        right = [there[0]]
        for k in range(1, 6):
            right.append(there[k] - ratio * right[-1])
        if right == sorted(right):
            assert [fraction(each) for each in filling.share] == right


def test_a_last_level_of_1e_minus_11_of_the_first_share_is_exact() -> None:
    """A job's share is 1e11 times another's, whose level depends on all of its digits."""
    problem = build(
        [[1, 0], [1, 1], [0, 1]], [[10**11 + 1, 3]], weight=[1, 1, 1], tasks=[10**11, 2, 5]
    )
    scale = [fmpq(1)] * 3
    filling = proved(problem, scale, [1, 1, 1], fill(problem, scale, [1, 1, 1]))
    assert filling.share == (fmpq(10**11) - fmpq(1, 2), fmpq(3, 2), fmpq(3, 2))
