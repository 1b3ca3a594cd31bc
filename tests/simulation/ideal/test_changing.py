"""Ideal schedulers with trees of tenants, pools, limits, and machines that come, go and change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from fairlead.model.errors import InputError
from fairlead.model.tenant import Tenant
from fairlead.simulation.ideal.kinds import Kind
from fairlead.simulation.ideal.run import run_ideal
from fairlead.simulation.measure.result import Result
from fairlead.simulation.measure.sinks import NEVER, Kept
from fairlead.simulation.workload import MachineEvent, Workload
from fairlead.simulation.workloads.registry import generate
from tests.simulation.by_hand import SECOND, workload
from tests.simulation.engine.test_run import conserved

KINDS = (Kind.RESTRICTED, Kind.PERIODIC, Kind.PREEMPTION)


def run(given: Workload, kind: Kind, policy: str = "tsf") -> tuple[Result, Kept]:
    """A run with all its records, sampled each second."""
    sink = Kept(tasks=kind in (Kind.RESTRICTED, Kind.PERIODIC), every=SECOND)
    return run_ideal(given, kind, policy, sinks=[sink]), sink


def held_at(sink: Kept, time: int) -> dict[int, int]:
    """The tasks that each job holds at a sample."""
    moment = next(moment for moment in sink.samples if moment.time == time * SECOND)
    return dict(zip(moment.job.tolist(), moment.held.tolist(), strict=True))


def with_events(
    given: Workload, events: Sequence[tuple[int, int, MachineEvent, list[int]]]
) -> Workload:
    """The workload whose machines come and go as told: second, machine, what, capacity."""
    table = replace(
        given.machines,
        time=np.array([time * SECOND for time, _, _, _ in events]),
        machine=np.array([machine for _, machine, _, _ in events]),
        kind=np.array([kind.value for _, _, kind, _ in events]),
        capacity=np.array([capacity for _, _, _, capacity in events]),
    )
    return replace(given, machines=table)


LONG = [10] * 40
TREE = (
    Tenant("top", weight=2),
    Tenant("left", weight=1, parent="top"),
    Tenant("right", weight=3, parent="top"),
    Tenant("beside", weight=1),
)


@pytest.mark.parametrize("kind", [*KINDS, Kind.MIGRATION])
def test_a_tree_splits_weights_among_those_who_are_there(kind: Kind) -> None:
    # Of 12: 8 for those below top, split 1 to 3, and 4 beside.
    jobs = [(0, 40, [1], LONG), (0, 40, [1], LONG), (0, 40, [1], LONG)]
    given = workload([[12]], jobs, tenants=TREE, tenant=[1, 2, 3])
    _, sink = run(given, kind)
    assert held_at(sink, 5) == {0: 2, 1: 6, 2: 4}
    # Alone below top, left has all of its weight.
    given = workload([[12]], jobs[:2], tenants=TREE, tenant=[1, 3])
    _, sink = run(given, kind)
    assert held_at(sink, 5) == {0: 8, 1: 4}


@pytest.mark.parametrize("kind", KINDS)
def test_a_limit_is_kept_and_others_have_the_rest(kind: Kind) -> None:
    tenants = (Tenant("a", limit={"r0": 3}), Tenant("b"))
    jobs = [(0, 9, [1], [10] * 9), (0, 40, [1], LONG), (2, 9, [1], [10] * 9)]
    given = workload([[12]], jobs, tenants=tenants, tenant=[0, 1, 0])
    _, sink = run(given, kind)
    for moment in sink.samples:
        mine = moment.tenant == 0
        assert int(moment.held[mine].sum()) <= 3
    assert held_at(sink, 1) == {0: 3, 1: 9}
    assert (sink.jobs_kept.completed != NEVER).all()


@pytest.mark.parametrize("kind", KINDS)
def test_a_pool_weighs_what_its_machines_can_give(kind: Kind) -> None:
    tenants = (Tenant("a", pool=("m0",)), Tenant("b", pool=("m1",)))
    jobs = [(0, 40, [1], LONG), (0, 40, [1], LONG)]
    given = workload([[6], [3]], jobs, tenants=tenants, tenant=[0, 1])
    _, sink = run(given, kind)
    assert held_at(sink, 5) == {0: 6, 1: 3}


@pytest.mark.parametrize("kind", KINDS)
def test_machines_that_come_are_shared_and_those_that_go_lose_what_stays(kind: Kind) -> None:
    given = with_events(
        workload([[4], [4]], [(0, 8, [1], [10] * 8), (0, 8, [1], [10] * 8)]),
        [
            (0, 0, MachineEvent.ADD, [4]),
            (5, 1, MachineEvent.ADD, [4]),
            (8, 0, MachineEvent.REMOVE, [4]),
        ],
    )
    result, sink = run(given, kind)
    assert held_at(sink, 3) == {0: 2, 1: 2}
    assert held_at(sink, 6) == {0: 4, 1: 4}
    assert held_at(sink, 9) == {0: 2, 1: 2}
    assert result.finished == result.tasks == 16
    # What may move loses nothing when its machine goes: others wait for it.
    assert result.lost == (0 if kind is Kind.PREEMPTION else 4)
    if kind is not Kind.PREEMPTION:
        conserved(given, result, sink.jobs_kept, sink.tasks_kept)


@pytest.mark.parametrize("kind", KINDS)
def test_a_machine_that_grows_takes_more_and_keeps_what_runs(kind: Kind) -> None:
    given = with_events(
        workload([[2]], [(0, 6, [1], [10] * 6)]),
        [(0, 0, MachineEvent.ADD, [2]), (4, 0, MachineEvent.UPDATE, [3])],
    )
    result, sink = run(given, kind)
    assert held_at(sink, 3) == {0: 2}
    assert held_at(sink, 5) == {0: 3}
    # Two at 0, one at 4; two at 10, one at 14.
    assert (result.lost, result.end) == (0, 24 * SECOND)


@pytest.mark.parametrize("kind", KINDS)
def test_a_job_waits_for_a_machine_that_comes_later(kind: Kind) -> None:
    given = with_events(
        workload([[1], [8]], [(0, 1, [4], [10])]),
        [(0, 0, MachineEvent.ADD, [1]), (30, 1, MachineEvent.ADD, [8])],
    )
    result, sink = run(given, kind)
    assert sink.jobs_kept.first_start.tolist() == [30 * SECOND]
    assert result.end == 40 * SECOND


@pytest.mark.parametrize("kind", [Kind.RESTRICTED, Kind.PERIODIC])
def test_nothing_is_lost_or_doubled_in_random_workloads(kind: Kind, cases: int) -> None:
    for seed in range(cases):
        given = generate("random(jobs=20, gangs=false, prefers=false)", seed)
        result, sink = run(given, kind)
        conserved(given, result, sink.jobs_kept, sink.tasks_kept)
        steady = generate("random(jobs=20, gangs=false, prefers=false, churn=false)", seed)
        _, sink = run(steady, kind)
        assert all((moment.free >= 0).all() for moment in sink.samples)


def test_gangs_are_refused_with_the_reason() -> None:
    with pytest.raises(InputError, match="start together"):
        run_ideal(generate("random(jobs=20)", 1), Kind.RESTRICTED)


def test_moving_is_refused_where_machines_come_and_go() -> None:
    given = with_events(
        workload([[4]], [(0, 8, [1], [10] * 8)]),
        [(0, 0, MachineEvent.ADD, [4]), (8, 0, MachineEvent.REMOVE, [4])],
    )
    with pytest.raises(InputError, match="too hard"):
        run_ideal(given, Kind.MIGRATION)
