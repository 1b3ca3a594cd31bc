"""The numbers of the Choosy paper (EuroSys 2013): exact divisible shares of one resource."""

from __future__ import annotations

import random

import pytest

from fairlead.model.job import Job
from fairlead.model.machine import Machine
from tests.papers.cases import job, machines, share, tasks

CMMF = "cmmf(a)"


def one_each(*allowed: range | tuple[int, ...]) -> list[Job]:
    """Users c1, c2, ... with tasks of one machine each, on these machines."""
    return [job(f"c{i}", 1, on=on) for i, on in enumerate(allowed, start=1)]


TEN = machines(*[(1,)] * 10)
FIGURE_1 = one_each((1, 4), (3, 4), (2, 3, 4, 6, 7), range(5, 11))


def test_figure_1_independent_allocation() -> None:
    assert tasks(TEN, FIGURE_1, "independent") == pytest.approx([4 / 3, 5 / 6, 17 / 6, 5])


def test_figure_1_constrained_max_min_fairness() -> None:
    found = share(TEN, FIGURE_1, CMMF)
    assert [j.tasks for j in found.jobs] == pytest.approx([1.5, 1.5, 3, 4])
    assert [level.share * 10 for level in found.levels] == pytest.approx([1.5, 3, 4])


def test_figure_3_two_users_who_overlap_in_one_machine() -> None:
    assert tasks(TEN, one_each(range(1, 4), range(3, 11)), CMMF) == pytest.approx([3, 7])


def test_section_5_example_has_rounds_at_two_and_three() -> None:
    found = share(machines(*[(1,)] * 5), one_each((1, 2), range(2, 6)), CMMF)
    assert [level.share * 5 for level in found.levels] == pytest.approx([2, 3])


def test_figure_5_has_levels_two_three_and_four() -> None:
    users = one_each((1, 2), range(2, 6), range(5, 10))
    found = share(machines(*[(1,)] * 9), users, CMMF)
    assert [level.share * 9 for level in found.levels] == pytest.approx([2, 3, 4])
    assert [level.jobs for level in found.levels] == [("c1",), ("c2",), ("c3",)]


def test_theorem_1_counterexample_independent_allocation_has_no_sharing_incentive() -> None:
    users = one_each((1, 2), (2,))
    assert tasks(TEN[:2], users, "independent") == pytest.approx([1.5, 0.5])
    assert tasks(TEN[:2], users, CMMF) == pytest.approx([1, 1])


def test_section_4_2_2_who_claims_too_much_may_end_up_with_nothing_of_use() -> None:
    two = TEN[:2]
    assert tasks(two, one_each((1,), (1, 2)), CMMF) == pytest.approx([1, 1])
    # u1 claims both: 1 and 1 is still the answer, and all of it may lie on m2, of no use to u1.
    assert tasks(two, one_each((1, 2), (1, 2)), CMMF) == pytest.approx([1, 1])
    assert tasks(two, one_each((2,), (1,)), CMMF) == pytest.approx([1, 1])


def test_section_4_3_nash_bargaining_equals_cmmf_without_the_uncontended_machines() -> None:
    # Only c1 may use m1, only c3 m2 and only c4 m5 and m8 to m10.
    contended = [TEN[i - 1] for i in (3, 4, 6, 7)]
    users = one_each((4,), (3, 4), (3, 4, 6, 7), (6, 7))
    assert tasks(contended, users, "market") == pytest.approx(
        tasks(contended, users, CMMF), rel=1e-6
    )


def test_nash_bargaining_equals_cmmf_also_with_the_uncontended_machines() -> None:
    assert tasks(TEN, FIGURE_1, "market") == pytest.approx([1.5, 1.5, 3, 4], rel=1e-6)


def test_nash_bargaining_equals_cmmf_on_random_constraints(cases: int) -> None:
    draw = random.Random(3)
    for _ in range(5 * cases):
        count = draw.randint(2, 6)
        users = one_each(
            *(tuple(draw.sample(range(1, 7), draw.randint(1, 6))) for _ in range(count))
        )
        fair = tasks(TEN[:6], users, CMMF)
        assert tasks(TEN[:6], users, "market") == pytest.approx(fair, rel=1e-6)


# Section 7.3: 160 cores in four classes of five nodes, eight cores a node.
KINDS = ("standard", "high-memory", "ten-gigabit", "gpu")
NODES = [Machine(f"{kind}-{i}", {"core": 8}, {"kind": kind}) for kind in KINDS for i in range(1, 6)]
APPLICATIONS = {
    "hadoop": Job("hadoop", {"core": 1}),
    "spark": Job("spark", {"core": 1}, where="kind = high-memory"),
    "cuda": Job("cuda", {"core": 1}, where="kind = gpu"),
    "mpi": Job("mpi", {"core": 1}, where="kind in (ten-gigabit, gpu)"),
}


def test_figure_14_four_applications_have_a_quarter_each() -> None:
    found = share(NODES, list(APPLICATIONS.values()), "cmmf(core)")
    assert [t.share for t in found.tenants] == pytest.approx([1 / 4] * 4)


def test_figure_14_hadoop_spark_and_mpi_have_three_two_and_three_eighths() -> None:
    three = [APPLICATIONS[name] for name in ("hadoop", "spark", "mpi")]
    found = {t.name: t.share for t in share(NODES, three, "cmmf(core)").tenants}
    assert found == pytest.approx({"hadoop": 3 / 8, "spark": 1 / 4, "mpi": 3 / 8})


# For later issues. Whole machines: Figure 1's {2, 1, 3, 4} or {1, 2, 3, 4}. The online core:
# Figure 4, Theorem 4's bound of 2n (worst found 2), Figures 10 to 13. Simulation: section 6.2's
# ramp-up times and Figure 6, section 7.1's errors and slowdowns, Figure 14's five seconds.
# Benchmarks: Figure 15 (5,000 users, 100,000 machines, 100 types).
