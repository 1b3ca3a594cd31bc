"""The numbers of the CDRF paper (EC 2014) that divisible tasks can show."""

from __future__ import annotations

import pytest

from tests.papers.cases import job, machines, on_machines, share, tasks

# Section 3.1, first example.
MIRRORED = machines((2, 12), (12, 2))
MIRRORED_USERS = (job("u1", "0.2", 1), job("u2", 1, "0.2"))
# Section 3.1, second example.
SQUARE = machines((15, 15))
SQUARE_USERS = (job("u1", 1, "0.5"), job("u2", "0.5", 1))
USELESS = machines((15, 15), (16, 0))


def test_section_3_1_per_machine_drf_gives_five_and_one_on_each_machine() -> None:
    found = share(MIRRORED, MIRRORED_USERS, "per-machine-drf")
    assert on_machines(found, "u1") == pytest.approx({"m1": 5, "m2": 1})
    assert on_machines(found, "u2") == pytest.approx({"m1": 1, "m2": 5})


@pytest.mark.parametrize("policy", ["cdrf", "tsf", "drfh"])
def test_section_3_1_the_efficient_allocation_is_ten_and_ten(policy: str) -> None:
    assert tasks(MIRRORED, MIRRORED_USERS, policy) == pytest.approx([10, 10])


def test_section_3_1_drfh_depends_on_a_machine_that_nobody_can_use() -> None:
    assert tasks(SQUARE, SQUARE_USERS, "drfh") == pytest.approx([10, 10])
    assert tasks(USELESS, SQUARE_USERS, "drfh") == pytest.approx([12, 6])


@pytest.mark.parametrize("policy", ["cdrf", "tsf"])
def test_cdrf_and_tsf_do_not_depend_on_a_machine_on_which_nothing_fits(policy: str) -> None:
    assert tasks(SQUARE, SQUARE_USERS, policy) == pytest.approx([10, 10])
    assert tasks(USELESS, SQUARE_USERS, policy) == pytest.approx([10, 10])


def test_section_3_2_cdrf_gives_ten_and_ten_of_the_eleven_that_each_could_run_alone() -> None:
    found = share(machines((100, 10), (10, 100)), (job("u1", 10, 1), job("u2", 1, 10)), "cdrf")
    assert [j.tasks for j in found.jobs] == pytest.approx([10, 10])
    assert [j.alone for j in found.jobs] == pytest.approx([11, 11])


def test_constrained_cdrf_rewards_a_claim_on_a_machine_that_cannot_be_used() -> None:
    where, other = machines((1, 4), (3, 1)), job("u1", 1, 1)
    truth = share(where, (other, job("u2", 1, 2, on=[1])), "cdrf")
    claim = share(where, (other, job("u2", 1, 2, on=[1, 2])), "cdrf")
    assert on_machines(truth, "u2") == pytest.approx({"m1": 2 / 3})
    assert on_machines(claim, "u2") == pytest.approx({"m1": 6 / 7})


def test_constrained_cdrf_is_independent_of_machines_that_constraints_forbid() -> None:
    users = (job("u1", 2, 1, on=[1]), job("u2", 1, 2, on=[1]))
    assert tasks(machines((2, 2)), users, "cdrf") == pytest.approx([2 / 3, 2 / 3])
    assert tasks(machines((2, 2), (4, 1)), users, "cdrf") == pytest.approx([2 / 3, 2 / 3])


def test_theorem_3_1_is_wrong_the_lottery_is_not_population_monotone() -> None:
    users = (job("u1", 4, 3), job("u2", 3, 1), job("u3", 1, 2))
    before = tasks(machines((5, 5)), users, "cdrf-lottery")
    after = tasks(machines((5, 5)), (users[0], users[2]), "cdrf-lottery")
    assert (before[2], after[1]) == pytest.approx((3 / 2, 4 / 3))


# For later issues: Figure 1's containers (1 and 3 tasks), Theorem 2.2, the wrong inner radius of
# section 4.2. Figure 3, section 3.2 and the moving knife: tests/sharing/integral.
