"""The numbers of the DRF paper (Ghodsi et al., NSDI 2011): exact divisible shares."""

from __future__ import annotations

import pytest

from fairlead.model.job import Job
from tests.papers.cases import job, machines, share, tasks, weighted

# Section 4.1: 9 CPUs and 18 GB; A's tasks take 1 CPU and 4 GB, B's 3 CPUs and 1 GB.
MACHINE = machines((9, 18))
USERS = (job("A", 1, 4), job("B", 3, 1))


def test_section_4_1_gives_three_and_two_tasks_at_dominant_shares_of_two_thirds() -> None:
    found = share(MACHINE, USERS, "drf")
    assert [j.tasks for j in found.jobs] == pytest.approx([3, 2])
    assert [t.share for t in found.tenants] == pytest.approx([2 / 3, 2 / 3])
    assert [level.share for level in found.levels] == pytest.approx([2 / 3])


@pytest.mark.parametrize("policy", ["drfh", "tsf", "cdrf", "per-machine-drf", "kdf(k=1)"])
def test_on_one_machine_the_generalisations_of_drf_agree_with_it(policy: str) -> None:
    assert tasks(MACHINE, USERS, policy) == pytest.approx([3, 2])


def test_section_4_3_weights_count_dominant_shares_unequally() -> None:
    # Twice the weight for A: 2x/9 = 2·y/3, and memory binds first: 4x + y = 18.
    heavy = (Job("A", USERS[0].demand, tenant="a"), Job("B", USERS[1].demand, tenant="b"))
    found = share(MACHINE, heavy, "drf", weighted(a=2, b=1))
    assert [j.tasks for j in found.jobs] == pytest.approx([54 / 13, 18 / 13])
    assert [t.share for t in found.tenants] == pytest.approx([6 / 13, 6 / 13])


@pytest.mark.parametrize("policy", ["asset", "asset(pooled=true)"])
def test_section_5_asset_fairness_equalises_the_sums_of_shares(policy: str) -> None:
    # A's task is worth 1/9 + 4/18, B's 3/9 + 1/18, and CPU binds.
    assert tasks(MACHINE, USERS, policy) == pytest.approx([2.52, 2.16])


def test_section_5_competitive_equilibrium_from_equal_incomes_maximises_the_product() -> None:
    # Both resources are used up: x + 3y = 9 and 4x + y = 18.
    assert tasks(MACHINE, USERS, "market") == pytest.approx([45 / 11, 18 / 11], rel=1e-6)


# For later issues: Algorithm 1 (whole tasks one by one), the slots of section 7, the lies that
# pay under CEEI (section 6).
