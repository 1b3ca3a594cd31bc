"""Filling: the papers' small cases, every kind of bound, and the proof on adversarial instances."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pytest
from flint import fmpq

import fairlead.sharing.filling.fill as fill_module
from fairlead.sharing.filling.corner import Corner
from fairlead.sharing.filling.fill import fill
from fairlead.sharing.filling.groups import Groups
from fairlead.sharing.filling.rounds import Filling
from fairlead.sharing.filling.tasks import Bundles, place_bundles
from fairlead.sharing.numbers.amounts import fraction, nearest
from fairlead.sharing.problem.alone import alone
from fairlead.sharing.problem.compile import compile_problem
from fairlead.sharing.problem.problem import Problem
from tests.search.kinds import deep_trees
from tests.sharing.build import build
from tests.sharing.draws import adversarial
from tests.sharing.filling.proof import proved


def filled(
    problem: Problem, scale: Sequence[fmpq] | None = None, *, merge: bool = True
) -> tuple[Filling, list[Fraction]]:
    """The filling, proved, and the exact tasks of each job; by what jobs could run alone, where no
    other scale is given."""
    scales = alone(problem) if scale is None else scale
    weight = problem.tree.weight
    filling = proved(problem, scales, weight, fill(problem, scales, weight, merge=merge))
    return filling, [fraction(a * b) for a, b in zip(filling.share, scales, strict=True)]


def test_tsf_figure_4() -> None:
    problem = build(
        [[1, 2], [3, 1], [1, 4]],
        [[9, 12], [3, 4], [9, 12]],
        eligible=[[1, 1, 0], [0, 1, 0], [1, 1, 1]],
    )
    filling, _ = filled(problem)
    assert filling.share == (fmpq(3, 7), fmpq(1, 7), fmpq(3, 7))
    assert filling.rounds[0].frozen.tolist() == [1]  # the others stop together or one by one


def test_split_rates_leave_a_gpu_job_its_part_beside_a_cpu_job_of_the_same_tenant() -> None:
    problem = build([[0, 1], [1, 0], [0, 1]], [[100, 10]], job_tenant=[0, 0, 1])
    assert filled(problem)[1] == [Fraction(10, 3), 100, Fraction(20, 3)]


def test_a_job_that_runs_out_of_tasks_leaves_the_rest_to_the_others() -> None:
    filling, tasks = filled(build([[1], [1]], [[10]], tasks=[2, np.inf]))
    assert tasks == [2, 8]
    assert filling.rounds[0].task_price[0] > 0
    assert filling.rounds[0].frozen.tolist() == [0]


def test_tasks_that_machines_could_not_hold_anyway_do_not_count() -> None:
    filling, _ = filled(build([[1], [1]], [[10]], tasks=[10, 11]))
    assert len(filling.rounds) == 1
    assert not filling.rounds[0].task_price.any()


def test_tasks_that_are_a_hair_below_what_machines_hold_count() -> None:
    """Doubles could not tell: they are 1e-13 short of the 10 that fit."""
    filling, tasks = filled(
        build([[1], [1]], [[10]], tasks=[9.999999999999, np.inf], weight=[1, 0.1])
    )
    assert [found.scarce for found in filling.rounds] == [(("on", 0, 0),)]
    filling, tasks = filled(build([[1]], [[10]], tasks=[9.999999999999]))
    assert filling.rounds[0].scarce == (("tasks", 0, 0),)
    assert tasks == [Fraction("9.999999999999")]


def test_a_job_that_runs_out_at_the_level_where_its_machine_is_full_leaves_nobody_waiting() -> None:
    filling, tasks = filled(build([[1], [1]], [[10]], tasks=[5, np.inf]))
    assert tasks == [5, 5]
    assert {found.level for found in filling.rounds} == {fmpq(1, 2)}


def test_several_jobs_that_run_out_at_once_freeze_one_by_one_at_one_level() -> None:
    problem = build([[1], [1], [1]], [[10]], tasks=[2, 2, np.inf], job_tenant=[0, 0, 1])
    filling, tasks = filled(problem, [fmpq(1)] * 3)
    assert tasks == [2, 2, 6]
    assert [found.level for found in filling.rounds[:2]] == [4, 4]


def test_a_limit_stops_all_that_is_below_its_tenant() -> None:
    problem = build(
        [[1], [1], [1]], [[12]], parent=[-1, -1, 0], job_tenant=[2, 0, 1], limits=[(0, 0, 2)]
    )
    filling, tasks = filled(problem)
    assert tasks == [1, 1, 10]
    assert filling.rounds[0].limit_price[0] > 0


def test_a_limit_of_nothing_leaves_nothing() -> None:
    _, tasks = filled(build([[1, 0], [0, 1]], [[4, 4]], job_tenant=[0, 0], limits=[(0, 1, 0)]))
    assert tasks == [4, 0]


def test_a_limit_of_nothing_may_leave_nobody_on_a_machine() -> None:
    problem = build(
        [[1], [1]], [[4], [6]], eligible=[[1, 0], [0, 1]], job_tenant=[0, 1], limits=[(0, 0, 0)]
    )
    filling, tasks = filled(problem)
    assert tasks == [0, 6]
    assert [found.level for found in filling.rounds] == [0, fmpq(3, 5)]


def test_a_job_that_spreads_has_at_most_one_task_a_machine() -> None:
    problem = build([[1], [1]], [[10]], count=[2], spread=[True, False])
    filling, tasks = filled(problem, [fmpq(1)] * 2)
    assert tasks == [2, 18]
    assert filling.rounds[0].spread_price == {(0, 0): pytest.approx(1.0)}


def test_jobs_that_spread_stop_in_the_order_of_their_levels_however_close_these_are() -> None:
    """The last stops at 3/2, the one before it at 3/2 and 3e-16: doubles cannot tell."""
    problem = build(
        [[0.3], [0.4]],
        [[20], [4]],
        count=[2, 1],
        eligible=[[1, 1], [0, 1]],
        spread=[True, True],
        weight=[1, 0.3333333333333333],
    )
    filling, tasks = filled(problem, [fmpq(2), fmpq(2)])
    assert tasks == [3, 1]
    assert [found.frozen.tolist() for found in filling.rounds] == [[0], [1]]


def test_a_job_that_can_run_nowhere_gets_nothing_and_freezes_nowhere() -> None:
    filling, tasks = filled(build([[1, 0], [1, 1]], [[4, 0]]))
    assert tasks == [4, 0]
    assert all(1 not in part.frozen for part in filling.rounds)


def test_nobody_who_can_run_is_no_round() -> None:
    filling = fill(build([[1]], [[0]]), np.zeros(1), np.ones(1))
    assert filling.rounds == ()
    assert not filling.tasks.any()


def test_a_rate_that_passes_on_raises_who_is_known_to_stop_elsewhere() -> None:
    """When a freezes, its sibling b rises faster, on a machine whose level was known by then."""
    problem = build(
        [[1], [1], [1]],
        [[4], [30]],
        eligible=[[1, 0], [0, 1], [0, 1]],
        parent=[-1, 0, 0, -1],
        job_tenant=[1, 2, 3],
    )
    _, tasks = filled(problem, [fmpq(1)] * 3)
    assert tasks == [4, 13, 17]


def test_units_change_no_share() -> None:
    demand = np.array([[1.0, 2.0], [3.0, 1.0], [2.0, 5.0]])
    capacity = np.array([[9.0, 12.0], [3.0, 4.0], [9.0, 20.0]])
    eligible = [[1, 1, 0], [0, 1, 1], [1, 0, 1]]
    plain, _ = filled(build(demand.tolist(), capacity.tolist(), eligible=eligible))
    unit = np.array([2.0**-17, 64e9])
    scaled = build((demand * unit).tolist(), (capacity * unit).tolist(), eligible=eligible)
    assert filled(scaled)[0].share == plain.share


def test_twins_become_one_group_and_share_by_weight() -> None:
    problem = build([[1, 2], [2, 4], [3, 1]], [[8, 12], [6, 9]], weight=[1, 3, 2])
    merged, tasks = filled(problem)
    assert tasks == filled(problem, merge=False)[1]
    assert merged.share[1] == 3 * merged.share[0]
    assert len(merged.rounds) == 1


def test_shown_numbers_are_the_nearest_to_the_exact_ones() -> None:
    """Each job's tasks on its only class, and each level, to the last digit."""
    problem = build([[7], [3]], [[10]], weight=[1, 3])
    filling, tasks = filled(problem)
    assert filling.tasks[:, 0].tolist() == [float(each) for each in tasks]
    assert [found.share for found in filling.rounds] == [nearest(r.level) for r in filling.rounds]


def test_adversarial_fillings_are_proved_and_merging_changes_nothing(cases: int) -> None:
    # The first one was found by search: levels that are closer than doubles can tell.
    for seed in (1163, *range(20 * cases)):
        problem, scale = adversarial(np.random.default_rng(seed))
        weight = problem.tree.weight
        filling = proved(problem, scale, weight, fill(problem, scale, weight))
        assert filling.share == fill(problem, scale, weight, merge=False).share, seed


def test_the_same_input_gives_the_same_bytes() -> None:
    problem, scale = adversarial(np.random.default_rng(7))
    once = fill(problem, scale, problem.tree.weight)
    again = fill(problem, scale, problem.tree.weight)
    assert once.tasks.tobytes() == again.tasks.tobytes()
    assert [part.level for part in once.rounds] == [part.level for part in again.rounds]


def test_rationals_look_only_at_what_doubles_doubt(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs that spread are full to the last task where they stopped, which doubles cannot tell from
    too full. All groups were looked at in every round: 6794 here, and minutes for 5,000 jobs."""
    seen = 0

    def counted(groups: Groups, corner: Corner, *more: Any) -> Bundles | None:
        nonlocal seen
        seen += len(corner.first)
        return place_bundles(groups, corner, *more)

    monkeypatch.setattr(fill_module, "place_bundles", counted)
    problem = compile_problem(*deep_trees(Random(10), 400))
    filling = fill(problem, alone(problem), problem.tree.weight)
    assert len(filling.rounds) == 102
    # Each once in the end, and few before.
    assert seen <= 2 * len(problem.job_names)
