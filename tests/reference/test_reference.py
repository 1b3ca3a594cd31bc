"""The reference against what can be computed by hand and against a solver in floating point."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import numpy as np
import pytest
from scipy.optimize import linprog

from fairlead.model.job import Job
from fairlead.model.machine import Cluster, Machine
from fairlead.model.tenant import Tenant
from tests.reference.filling import Level, Looks, exact_shares, rates, weights
from tests.reference.scales import Scale, cdrf, cmmf, drfh, kdf, tsf
from tests.reference.simplex import Row, Simplex

RESOURCES = ("cpu", "memory", "gpu")


def cluster(*capacities: tuple[float, ...], tenants: tuple[Tenant, ...] = ()) -> Cluster:
    return Cluster(
        [
            Machine(f"m{index}", dict(zip(RESOURCES, amounts, strict=False)))
            for index, amounts in enumerate(capacities, 1)
        ],
        tenants,
    )


def job(name: str, *demand: float, on: str = "", tenant: str | None = None) -> Job:
    return Job(
        name,
        dict(zip(RESOURCES, demand, strict=False)),
        machines=[f"m{number}" for number in on.split()] or None,
        tenant=tenant,
    )


def tasks(
    where: Cluster, *jobs: Job, scale: Scale = tsf, looks: Looks = Looks.MACHINES
) -> list[Fraction]:
    return list(exact_shares(where, jobs, scale, looks).tasks.values())


def test_drf_of_the_drf_paper_section_4_1() -> None:
    found = tasks(cluster((9, 18)), job("a", 1, 4), job("b", 3, 1), scale=drfh, looks=Looks.POOLED)
    assert found == [3, 2]


def test_cmmf_of_choosy_figure_1() -> None:
    users = ("1 4", "3 4", "2 3 4 6 7", "5 6 7 8 9 10")
    jobs = [job(f"c{number}", 1, on=on) for number, on in enumerate(users, 1)]
    shares = exact_shares(cluster(*[(1,)] * 10), jobs, cmmf("cpu"))
    assert list(shares.tasks.values()) == [Fraction(3, 2), Fraction(3, 2), 3, 4]
    assert shares.levels == (
        Level(Fraction(3, 20), frozenset({"c1", "c2"})),
        Level(Fraction(3, 10), frozenset({"c3"})),
        Level(Fraction(4, 10), frozenset({"c4"})),
    )


def test_cdrf_and_per_machine_drf_of_the_cdrf_paper_section_3_1() -> None:
    where = cluster((2, 12), (12, 2))
    jobs = job("a", 0.2, 1), job("b", 1, 0.2)
    assert tasks(where, *jobs, scale=cdrf) == [10, 10]
    assert tasks(where, *jobs, scale=drfh, looks=Looks.EACH) == [6, 6]


def test_drfh_with_and_without_a_useless_machine_of_the_cdrf_paper_section_3_1() -> None:
    jobs = job("a", 1, 0.5), job("b", 0.5, 1)
    assert tasks(cluster((15, 15)), *jobs, scale=drfh) == [10, 10]
    assert tasks(cluster((15, 15), (16, 0)), *jobs, scale=drfh) == [12, 6]


def test_tsf_and_constrained_cdrf_of_the_tsf_paper_figure_2() -> None:
    where = cluster((18, 18), (18, 18))
    jobs = job("u1", 1, 2), job("u2", 1, 3, on="2")
    assert tasks(where, *jobs, scale=cdrf) == [12, 4]
    assert tasks(where, *jobs) == [9, 6]
    assert tasks(where, jobs[0], job("u2", 1, 3)) == [9, 6]


def test_tsf_of_the_tsf_paper_figure_4() -> None:
    jobs = job("u1", 1, 2, on="1 2"), job("u2", 3, 1, on="2"), job("u3", 1, 4)
    shares = exact_shares(cluster((9, 12), (3, 4), (9, 12)), jobs, tsf)
    assert list(shares.scale.values()) == [14, 7, 7]
    assert list(shares.tasks.values()) == [6, 1, 3]
    assert shares.levels == (
        Level(Fraction(1, 7), frozenset({"u2"})),
        Level(Fraction(3, 7), frozenset({"u1", "u3"})),
    )


def test_two_df_and_drf_of_the_kdf_paper_section_1_1() -> None:
    where = cluster((200, 200, 200))
    jobs = job("a", 40, 8, 8), job("b", 8, 5, 1)
    assert tasks(where, *jobs, scale=drfh) == [Fraction(5, 2), Fraction(25, 2)]
    assert tasks(where, *jobs, scale=kdf(2)) == [Fraction(25, 13), Fraction(200, 13)]


def test_pools_of_which_the_owner_cannot_use_all_make_a_lie_pay() -> None:
    tenants = Tenant("t1", pool=["m1", "m2"]), Tenant("t2", pool=["m3", "m4"])
    where = cluster((1,), (6,), (6,), (2,), tenants=tenants)
    second = job("u2", 4, on="2 4", tenant="t2")
    honest = tasks(where, job("u1", 1, on="2 3 4", tenant="t1"), second)
    lying = tasks(where, job("u1", 1, on="1 2 3 4", tenant="t1"), second)
    assert honest[0] == Fraction(21, 2)
    assert lying[0] > Fraction(21, 2)


def test_the_weight_of_a_pool_is_what_its_jobs_together_could_have_of_it() -> None:
    tenants = (Tenant("t", pool=["m1"]),)
    where = cluster((2, 2), (2, 2), tenants=tenants)
    jobs = job("a", 1, 0, tenant="t"), job("b", 0, 1, tenant="t")
    scale = {"a": Fraction(4), "b": Fraction(4)}
    assert weights(where, jobs, scale) == {"t": 1}


def test_a_tenants_rate_is_split_among_its_jobs() -> None:
    """The example in DESIGN.md: adding shares up would give A no GPU at all."""
    jobs = (
        job("gpu", 0, 0, 1, tenant="A"),
        job("cpu", 1, tenant="A"),
        job("other", 0, 0, 1, tenant="B"),
    )
    found = tasks(cluster((100, 0, 10)), *jobs)
    assert found == [Fraction(10, 3), 100, Fraction(20, 3)]


def test_the_rate_of_a_frozen_tenant_passes_to_its_siblings() -> None:
    tenants = [
        Tenant("top", weight=6),
        Tenant("left", parent="top", weight=1),
        Tenant("right", parent="top", weight=2),
    ]
    weight = {"top": Fraction(6), "left": Fraction(1), "right": Fraction(2)}
    left, right = job("l", 1, tenant="left"), job("r", 1, tenant="right")
    assert rates(tenants, [left, right], weight) == {"l": 2, "r": 4}
    assert rates(tenants, [right], weight) == {"r": 6}


@pytest.mark.parametrize("seed", range(40))
def test_the_simplex_finds_lexicographic_optima(seed: int) -> None:
    random = Random(seed)
    columns = random.randint(1, 10)
    rows: list[tuple[Row, Fraction]] = [(dict.fromkeys(range(columns), Fraction(1)), Fraction(20))]
    for _ in range(random.randint(1, 8)):
        row = {
            column: Fraction(random.randint(-1, 3), random.randint(1, 4))
            for column in range(columns)
            if random.random() < 0.7
        }
        rows.append((row, Fraction(random.randint(0, 6))))
    first, second = (
        {column: Fraction(random.randint(-2, 5)) for column in range(columns)} for _ in range(2)
    )
    simplex = Simplex(columns, rows)
    best = simplex.maximise(first, keep=True)
    then = simplex.maximise(second)

    def dense(row: Row) -> list[float]:
        return [float(row.get(column, 0)) for column in range(columns)]

    matrix = np.array([dense(row) for row, _ in rows])
    bounds = [float(bound) for _, bound in rows]
    costs = -np.array([dense(first), dense(second)])
    one = linprog(costs[0], matrix, bounds)
    two = linprog(costs[1], matrix, bounds, costs[:1], [one.fun])
    assert float(best) == pytest.approx(-one.fun, abs=1e-7)
    assert float(then) == pytest.approx(-two.fun, abs=1e-6)


def test_a_column_may_be_added_later() -> None:
    simplex = Simplex(1, [({0: Fraction(1)}, Fraction(3)), ({0: Fraction(2)}, Fraction(4))])
    assert simplex.maximise({0: Fraction(1)}) == 2
    column = simplex.add_column({0: Fraction(2)})
    assert simplex.maximise({0: Fraction(1), column: Fraction(1)}) == Fraction(5, 2)
    assert [simplex.value(0), simplex.value(column)] == [2, Fraction(1, 2)]
