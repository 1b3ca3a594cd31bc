"""The numbers of the CDRF paper (EC 2014) that divisible tasks can show."""

from __future__ import annotations

from itertools import product
from math import dist, sqrt

import pytest

from fairlead.model.job import Job
from fairlead.model.machine import Cluster, Machine
from fairlead.sharing.allocate import allocate
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


@pytest.mark.parametrize("n", [2, 4])
def test_section_4_2_the_radius_is_not_the_papers(n: int) -> None:
    """n machines, each with n of its own resource and of the common one; n users want one of each,
    user 0 wants n of the common one. The paper says that the inner radius is 2 n root n."""
    own = [f"r{i}" for i in range(1, n + 1)]
    amounts = [Machine(f"m{i}", {"r0": n, name: n}) for i, name in enumerate(own)]
    users = [Job("u0", {"r0": n})]
    users += [Job(f"u{i}", {"r0": 1, name: 1}) for i, name in enumerate(own, start=1)]
    found = allocate(Cluster(amounts, [], []), users, "cdrf-lottery")
    assert [j.tasks for j in found.jobs] == [n / 2] * (n + 1)
    # On the face that holds the point a machine is user 0's, or its own user's altogether.
    face = [
        (sum(zeros), *(n * (1 - zero) for zero in zeros)) for zeros in product((0, 1), repeat=n)
    ]
    away = [dist(each, [n / 2] * (n + 1)) for each in face]
    assert min(away) == pytest.approx(n * sqrt(n) / 2)
    half = [each for each in face if each[0] == n / 2]
    mean = [sum(column) / len(half) for column in zip(*half, strict=True)]
    assert mean == pytest.approx([n / 2] * (n + 1))  # so the radius there is no larger
    assert max(dist(a, b) for a in face for b in face) == pytest.approx(n * sqrt(n + 1))
    assert n * sqrt(n + 1) < 2 * n * sqrt(n)
    assert found.whole is not None
    for chance in found.whole.lottery:
        assert tuple(dict(chance.jobs)[f"u{i}"] for i in range(n + 1)) in face


# Figure 3, section 3.2 in whole tasks, the moving knife and serial dictatorship:
# tests/sharing/whole_tasks. What audits find of Theorem 2.2 and of containers: tests/audit.
