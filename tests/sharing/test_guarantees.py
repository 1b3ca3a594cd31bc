"""What tenants are guaranteed: of their jobs together, in whole tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from fairlead.sharing.guarantees import guarantees_of
from fairlead.sharing.present import Snapshot, Tenants, exact_now

TWO = Tenants(np.array([-1, -1]), np.ones(2))


def now(
    capacity: Sequence[Sequence[int]],
    demand: Sequence[Sequence[int]],
    tenant: Sequence[int],
    waiting: Sequence[int],
    held: Sequence[int] | None = None,
    spread: Sequence[bool] | None = None,
) -> Snapshot:
    """A moment without constraints; a task is a share of one."""
    jobs = len(demand)
    return Snapshot(
        time=0,
        capacity=np.array(capacity),
        satisfies=np.zeros((len(capacity), 1), np.uint64),
        job=np.arange(jobs),
        tenant=np.array(tenant),
        demand=np.array(demand),
        needs=np.zeros((jobs, 1), np.uint64),
        spread=np.zeros(jobs, bool) if spread is None else np.array(spread),
        waiting=np.array(waiting),
        held=np.zeros(jobs, np.int64) if held is None else np.array(held),
        scale=np.ones(jobs),
    )


def guaranteed(moment: Snapshot, tenants: Tenants = TWO) -> list[int]:
    found: list[int] = guarantees_of(exact_now(moment, tenants), moment).tolist()
    return found


def test_small_jobs_of_a_tenant_are_not_rounded_down_one_by_one() -> None:
    # Each of ten jobs has half a task of five: the tenant has five.
    moment = now([[10]], [[1]] * 11, [0] * 10 + [1], [1] * 10 + [50])
    exact = exact_now(moment, TWO)
    assert exact.whole.tolist() == [0] * 10 + [5]
    assert guaranteed(moment) == [1] * 5 + [0] * 5 + [5]


def test_who_holds_tasks_keeps_them() -> None:
    held = [0] * 7 + [1] * 3 + [0]
    moment = now([[10]], [[1]] * 11, [0] * 10 + [1], [1] * 7 + [0] * 3 + [50], held)
    assert guaranteed(moment) == [1, 1, 0, 0, 0, 0, 0, 1, 1, 1, 5]


def test_parts_of_jobs_that_differ_are_put_together() -> None:
    # Five of ten are the tenant's: two and a half tasks of one cpu, and one and a quarter of two.
    moment = now([[10]], [[1], [2], [1]], [0, 0, 1], [50, 50, 50])
    exact = exact_now(moment, TWO)
    whole = guaranteed(moment)
    used = whole[0] + 2 * whole[1]
    has = exact.total[0] + 2 * exact.total[1]
    assert used <= has + 1e-9
    assert has - used < 1  # not one more task of the smaller kind


def test_parts_on_machines_that_a_task_may_not_use_do_not_count() -> None:
    # Half a task on each of two classes is none: one asks for what the other class has not.
    moment = now([[1, 0], [0, 1]], [[1, 0], [0, 1], [1, 0], [0, 1]], [0, 0, 1, 1], [9, 9, 9, 9])
    assert guaranteed(moment) == [0, 0, 0, 0]


def test_jobs_without_a_tenant_stand_for_themselves() -> None:
    moment = now([[5]], [[1]] * 10, [-1] * 10, [1] * 10)
    assert guaranteed(moment, Tenants(np.zeros(0, np.int64), np.zeros(0))) == [0] * 10


def test_a_gang_is_guaranteed_whole_or_not_at_all() -> None:
    alone = now([[7]], [[1]], [0], [20])
    assert guaranteed(alone) == [7]
    assert guaranteed(replace(alone, gang=np.array([4]))) == [4]
    assert guaranteed(replace(alone, gang=np.array([8]))) == [0]
    # Where fewer are left than make a gang, each starts alone.
    few = replace(now([[7]], [[1]], [0], [6]), gang=np.array([4]))
    assert guaranteed(few) == [6]


def test_nobody_is_guaranteed_more_than_its_part_or_its_tasks() -> None:
    draw = np.random.default_rng(1)
    for _ in range(60):
        jobs, kinds = int(draw.integers(2, 12)), draw.integers(1, 5, (3, 2))
        moment = now(
            draw.integers(0, 12, (3, 2)).tolist(),
            kinds[draw.integers(0, 3, jobs)].tolist(),
            draw.integers(-1, 2, jobs).tolist(),
            draw.integers(0, 6, jobs).tolist(),
            draw.integers(0, 3, jobs).tolist(),
            (draw.random(jobs) < 0.2).tolist(),
        )
        exact = exact_now(moment, TWO)
        whole = guarantees_of(exact, moment)
        assert (whole >= exact.whole).all()
        assert (whole <= moment.waiting + moment.held).all()
        for t in range(2):
            mine = moment.tenant == t
            parts = exact.tasks[mine].T @ moment.demand[mine]
            assert (whole[mine] @ moment.demand[mine] <= parts.sum(axis=0) + 1e-6).all()
        assert (whole[moment.tenant < 0] == exact.whole[moment.tenant < 0]).all()
