"""Independent allocation: every machine by itself."""

from __future__ import annotations

import numpy as np
import pytest

from fairlead.sharing.mechanisms.independent import independent
from fairlead.sharing.problem.problem import Floats, Problem
from tests.sharing.build import build
from tests.tolerances import EXACT


def tasks(problem: Problem) -> Floats:
    total: Floats = independent(problem, problem.tree.weight).tasks.sum(axis=1)
    return total


def test_a_machine_is_split_by_weight_among_those_who_can_use_it() -> None:
    problem = build(
        [[1.0]] * 3, [[6.0], [6.0]], eligible=[[1, 0], [1, 1], [0, 1]], weight=[1, 2, 4]
    )
    assert tasks(problem) == pytest.approx([2, 4 + 2, 4], rel=EXACT)


def test_every_resource_is_split_and_what_a_job_leaves_is_lost() -> None:
    # Half of the machine is (4, 9): A needs all of that memory for 2.25 tasks, B all of that CPU.
    problem = build([[1, 4], [3, 1]], [[8, 18]])
    assert tasks(problem) == pytest.approx([9 / 4, 4 / 3], rel=EXACT)


def test_the_part_of_a_tenant_goes_to_those_of_its_jobs_that_can_use_the_machine() -> None:
    problem = build(
        [[1.0]] * 3, [[6.0], [6.0]], eligible=[[1, 1], [0, 1], [1, 1]], job_tenant=[0, 0, 1]
    )
    assert tasks(problem) == pytest.approx([3 + 1.5, 1.5, 6], rel=EXACT)


def test_a_tree_splits_a_weight_among_tenants_and_jobs_below() -> None:
    # Tenant 1 (weight 3) and a job share the weight of tenant 0; tenant 2 weighs as much.
    problem = build(
        [[1.0]] * 3, [[8.0]], parent=[-1, 0, -1], weight=[1, 3, 1], job_tenant=[1, 0, 2]
    )
    assert tasks(problem) == pytest.approx([3, 1, 4], rel=EXACT)


def test_no_job_has_more_tasks_than_it_wants_and_nobody_gets_the_rest() -> None:
    assert tasks(build([[1.0], [1.0]], [[8.0], [4.0]], tasks=[3, np.inf])) == pytest.approx([3, 6])


def test_a_job_that_spreads_has_one_task_on_a_machine() -> None:
    problem = build([[1.0], [1.0]], [[8.0]], count=[3], spread=[True, False])
    assert tasks(problem) == pytest.approx([3, 12])


def test_a_limit_scales_the_jobs_below_it_down_alike() -> None:
    problem = build(
        [[1, 0], [1, 1], [1, 1]], [[12, 9]], parent=[-1, 0], weight=[1, 2], job_tenant=[0, 1, 1],
        limits=[(1, 0, 4.0), (0, 0, 6.0)],
    )  # fmt: skip
    # Split 4, 4, 4 of the CPU (the memory, of which all hold a third, stops at 3); then 2 and 2
    # below the inner limit, then 4 + 2 + 2 are cut to 6.
    assert tasks(problem) == pytest.approx([3, 1.5, 1.5], rel=EXACT)
