"""Runs by hand: pools that follow their machines, slots, and guaranteed preemption."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fairlead.model.errors import InputError
from fairlead.model.tenant import Tenant
from fairlead.simulation.engine.options import Options
from fairlead.simulation.engine.run import simulate
from fairlead.simulation.measure.result import Result
from fairlead.simulation.measure.sinks import Kept
from fairlead.simulation.workload import MachineEvent, Workload
from tests.simulation.by_hand import SECOND, workload


def run(
    what: Workload, every: int = 5, options: Options | None = None, policy: str = "tsf"
) -> tuple[Result, Kept]:
    """A run, checked all the way, with samples."""
    sink = Kept(every=every * SECOND)
    chosen = replace(options or Options(), check=True)
    return simulate(what, policy=policy, sinks=[sink], options=chosen), sink


def held_at(sink: Kept, time: int) -> dict[int, int]:
    """The tasks that each job holds at a sample."""
    moment = next(moment for moment in sink.samples if moment.time == time * SECOND)
    return dict(zip(moment.job.tolist(), moment.held.tolist(), strict=True))


LATECOMER = workload([[4]], [(0, 8, [1], [100]), (10, 4, [1], [50])])
"""Four tasks of the first job run for 100 seconds when the second job comes."""


def test_without_preemption_who_comes_late_waits() -> None:
    result, sink = run(LATECOMER)
    assert held_at(sink, 95) == {0: 4, 1: 0}
    assert (result.stopped, result.lost) == (0, 0)


def test_tasks_are_stopped_for_who_was_below_its_guarantee_for_long_enough() -> None:
    result, sink = run(LATECOMER, options=Options(preempt_after=30 * SECOND))
    assert held_at(sink, 35) == {0: 4, 1: 0}
    assert held_at(sink, 40) == {0: 2, 1: 2}  # half each is what is guaranteed
    assert (result.stopped, result.lost) == (2, 2)
    assert result.finished == result.tasks == 12
    tasks = sink.tasks_kept
    cut = tasks.lost
    assert tasks.end[cut].tolist() == [40 * SECOND] * 2
    # They wait again at the head of their job, and start over.
    again = [int(tasks.attempt[(tasks.job == 0) & (tasks.task == task)].max()) for task in range(4)]
    assert sorted(again) == [1, 1, 2, 2]
    assert ((tasks.end - tasks.start)[~cut & (tasks.job == 0)] == 100 * SECOND).all()


def test_nobody_is_stopped_for_who_is_above_its_guarantee() -> None:
    greedy = workload([[4]], [(0, 2, [1], [100]), (10, 9, [1], [50])])
    result, sink = run(greedy, options=Options(preempt_after=10 * SECOND))
    assert held_at(sink, 30) == {0: 2, 1: 2}
    assert result.stopped == 0


def test_a_run_ends_though_somebody_stays_below_its_guarantee() -> None:
    # The gang of three is guaranteed two tasks, is never helped, and nothing else is there.
    gang = workload([[2]], [(0, 3, [1], [10])])
    batch = replace(next(iter(gang.batches())), gang=np.array([3]))
    stuck = replace(gang, batches=lambda: iter([batch]))
    result, _ = run(stuck, options=Options(preempt_after=SECOND))
    assert (result.placed, result.stopped) == (0, 0)


def pools(events: list[tuple[int, int, MachineEvent]]) -> Workload:
    """Two tenants with a machine each, 4 and 2 CPUs, whose jobs take anything; tasks of 10
    seconds. The machines come and go as told: (second, machine, what)."""
    capacity = [[4], [2]]
    made = workload(
        capacity,
        [(0, 60, [1], [10]), (0, 60, [1], [10])],
        tenants=(Tenant("a", pool=("m0",)), Tenant("b", pool=("m1",))),
        tenant=[0, 1],
    )
    table = replace(
        made.machines,
        time=np.array([time * SECOND for time, _, _ in events]),
        machine=np.array([machine for _, machine, _ in events]),
        kind=np.array([kind.value for _, _, kind in events]),
        capacity=np.array([capacity[machine] for _, machine, _ in events]),
    )
    return replace(made, machines=table)


START = [(0, 0, MachineEvent.ADD), (0, 1, MachineEvent.ADD)]


def test_a_tenant_weighs_what_the_machines_of_its_pool_can_give() -> None:
    _, sink = run(pools(START))
    assert held_at(sink, 5) == {0: 4, 1: 2}
    assert sink.samples[1].tenant_weight.tolist() == pytest.approx([4 / 6, 2 / 6])


def test_a_pool_weighs_something_else_when_a_machine_of_it_comes() -> None:
    # Until its machine comes b weighs 1 (nothing runs in its pool), and a 4 ÷ 4.
    _, sink = run(pools([START[0], (25, 1, MachineEvent.ADD)]))
    assert held_at(sink, 15) == {0: 2, 1: 2}
    assert held_at(sink, 45) == {0: 4, 1: 2}


def test_a_pool_weighs_something_else_when_jobs_go() -> None:
    # The big tasks of a's first job are all that its pool can hold once; then small ones come.
    made = workload(
        [[4], [4]],
        [(0, 2, [4], [20]), (0, 90, [1], [10]), (15, 90, [1], [10])],
        tenants=(Tenant("a", pool=("m0",)), Tenant("b", pool=("m1",))),
        tenant=[0, 1, 0],
    )
    _, sink = run(made)
    weights = {m.time // SECOND: m.tenant_weight.tolist() for m in sink.samples}
    assert weights[5] == pytest.approx([0.5, 0.5])
    assert weights[45] == pytest.approx([0.5, 0.5])


def test_a_job_beside_a_tenant_with_a_pool_is_refused() -> None:
    made = pools(START)
    batch = replace(next(iter(made.batches())), tenant=np.array([0, -1]))
    with pytest.raises(InputError, match="beside tenant"):
        simulate(replace(made, batches=lambda: iter([batch])))


def test_slots_share_slots_of_the_size_that_is_told() -> None:
    # Slots of 2 CPUs: a task of 1 CPU takes a slot as one of 2 CPUs does, so they get as many.
    what = workload([[12]], [(0, 50, [1], [10]), (0, 50, [2], [10])])
    _, sink = run(what, policy="slots(r0=2)")
    assert held_at(sink, 5) == {0: 4, 1: 4}
    _, sink = run(what, policy="slots(r0=1)")
    assert held_at(sink, 5) == {0: 6, 1: 3}
