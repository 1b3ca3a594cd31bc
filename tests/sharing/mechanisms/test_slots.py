"""Slots: whole bundles of a machine, shared as one resource."""

from __future__ import annotations

import numpy as np
import pytest

from fairlead.model.errors import InputError
from fairlead.model.job import Job
from fairlead.model.machine import Cluster, Machine
from fairlead.sharing.mechanisms.slots import slots
from fairlead.sharing.problem.compile import compile_problem
from fairlead.sharing.problem.problem import Floats, Problem
from tests.sharing.build import build


def tasks(problem: Problem, **amount: float) -> Floats:
    total: Floats = slots(problem, problem.tree.weight, **amount).tasks.sum(axis=1)
    return total


def test_a_slot_is_the_largest_task_where_nothing_is_said() -> None:
    # DRF's example: slots of (3, 4), of which (9, 18) holds three; DRF has 3 and 2.
    assert tasks(build([[1, 4], [3, 1]], [[9, 18]])) == pytest.approx([1.5, 1.5])


def test_only_jobs_that_may_use_a_machine_count_for_its_slots() -> None:
    problem = build([[1.0], [4.0]], [[8.0], [8.0]], eligible=[[1, 0], [0, 1]])
    assert tasks(problem) == pytest.approx([8, 2])


def test_a_task_larger_than_the_machine_has_no_slot_there_and_makes_none_larger() -> None:
    assert tasks(build([[1.0], [9.0]], [[8.0]])) == pytest.approx([8, 0])


def test_a_task_takes_as_many_slots_as_it_needs() -> None:
    # Ten slots of 1: a task of 2.5 takes three of them.
    problem = build([[1.0], [2.5]], [[10.0]])
    assert tasks(problem, r0=1) == pytest.approx([5, 5 / 3])


def test_a_small_task_takes_a_whole_slot() -> None:
    assert tasks(build([[0.1], [2.0]], [[10.0]]), r0=2) == pytest.approx([2.5, 2.5])


def test_a_machine_has_whole_slots_only() -> None:
    assert tasks(build([[1.0]], [[7.9]]), r0=2) == pytest.approx([3])


def test_quotients_of_decimals_are_not_rounded_down_by_noise() -> None:
    assert 0.3 / 0.1 < 3
    assert tasks(build([[0.1]], [[0.3]])) == pytest.approx([3])
    assert tasks(build([[0.7]], [[2.1]]), r0=0.1) == pytest.approx([3])


def test_a_resource_that_the_bundle_leaves_out_still_holds() -> None:
    problem = build([[1, 4], [1, 1]], [[9, 18]])
    found = tasks(problem, r0=1)
    assert found @ problem.demand[:, 1] <= 18 * (1 + 1e-9)
    assert found == pytest.approx([3.6, 3.6])


def test_weights_spread_limits_and_finite_tasks_are_kept() -> None:
    problem = build(
        [[1.0]] * 4, [[10.0]], count=[2], spread=[False, True, False, False],
        tasks=[np.inf, np.inf, 3, np.inf], weight=[2, 1, 1, 1], limits=[(3, 0, 1.0)],
    )  # fmt: skip
    assert tasks(problem) == pytest.approx([14, 2, 3, 1])


@pytest.mark.parametrize(
    ("amount", "sentence"),
    [
        ({"disk": 1.0}, "slots: no job demands disk"),
        ({"r0": 0.0}, "slots: r0=0; a slot has a positive finite amount"),
    ],
)
def test_a_bundle_that_makes_no_sense_is_refused(amount: dict[str, float], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        tasks(build([[1.0]], [[1.0]]), **amount)


def test_slots_are_shared_where_the_amounts_of_the_machines_are_known() -> None:
    """As many resources as there were: the amounts that count are those of the slots."""
    machines = [Machine("m", {"cpu": 10})]
    jobs = [Job("small", {"cpu": "0.1"}), Job("large", {"cpu": 2})]
    problem = compile_problem(Cluster(machines), jobs)
    assert sorted(tasks(problem, cpu=2)) == pytest.approx([2.5, 2.5])
