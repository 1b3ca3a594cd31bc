"""An explanation tells the truth: prices, holders, effective weights, changes that were tried."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import pytest
from hypothesis import given

from fairlead.model.errors import InputError
from fairlead.model.job import Job
from fairlead.model.machine import Cluster, Machine
from fairlead.model.tenant import Tenant
from fairlead.sharing.allocate import allocate
from fairlead.sharing.analysis.alike import stops_together
from fairlead.sharing.analysis.explanation import Explanation, explain, stops_of
from fairlead.sharing.analysis.improvements import Again, Change, Kind, apply, counterfactuals
from tests.reference import instances as small
from tests.tolerances import close


def machines(count: int, **capacity: float) -> list[Machine]:
    return [Machine(f"m{index}", capacity) for index in range(1, count + 1)]


def explained(cluster: Cluster, jobs: Sequence[Job], name: str, policy: str = "tsf") -> Explanation:
    return explain(cluster, jobs, allocate(cluster, jobs, policy), name)


def advice(cluster: Cluster, jobs: Sequence[Job], name: str, policy: str = "tsf") -> list[Change]:
    why = explained(cluster, jobs, name, policy)
    return changes(cluster, jobs, why, lambda c, j: allocate(c, j, policy))


def changes(cluster: Cluster, jobs: Sequence[Job], why: Explanation, again: Again) -> list[Change]:
    """The changes that were tried and raise the job."""
    return [change for change in counterfactuals(cluster, jobs, why, again) if change.moves > 0]


def test_what_stopped_a_job_is_full_and_its_holders_add_up() -> None:
    cluster = Cluster(machines(2, cpu=4, memory=100))
    jobs = [Job("a", {"cpu": 1, "memory": 1}), Job("b", {"cpu": 1, "memory": 3})]
    (scarce,) = explained(cluster, jobs, "a").scarce
    assert (scarce.stop.resource, scarce.own, scarce.total) == ("cpu", True, 8.0)
    assert close(scarce.held, 8.0)
    assert {holder.job: holder.amount for holder in scarce.holders} == pytest.approx(
        {"a": 4.0, "b": 4.0}
    )


def test_prices_are_those_of_the_jobs_own_group() -> None:
    # Two halves that have nothing to do with each other reach the same level together. However the
    # solver divides the price between them, each of the jobs gains what its own half gains.
    cluster = Cluster([Machine("m1", {"cpu": 4}), Machine("m2", {"cpu": 4})])
    jobs = [Job("a", {"cpu": 1}, machines=["m1"]), Job("b", {"cpu": 1}, machines=["m2"])]
    for name, machine in (("a", "m1"), ("b", "m2")):
        why = explained(cluster, jobs, name)
        (scarce,) = why.scarce
        assert why.allocation.classes[scarce.stop.machine_class or 0].machines == (machine,)
        assert close(scarce.price, 1 / 8)  # a task more of 8 alone


def test_a_stop_that_a_job_does_not_use_is_told_apart() -> None:
    # b can make room for a on m1 by going to m2, which a cannot use.
    cluster = Cluster([Machine("m1", {"cpu": 4}), Machine("m2", {"cpu": 4})])
    jobs = [Job("a", {"cpu": 1}, machines=["m1"]), Job("b", {"cpu": 1})]
    why = explained(cluster, jobs, "a")
    assert [scarce.own for scarce in why.scarce] == [True, False]
    assert why.usable_machines == ("m1",)


def test_what_a_job_uses_itself_is_in_the_table() -> None:
    cluster = Cluster([Machine("m1", {"cpu": 4}), Machine("m2", {"cpu": 4})])
    jobs = [Job("a", {"cpu": 1}, machines=["m1"]), Job("b", {"cpu": 1}), Job("c", {"gpu": 1})]
    allocation = allocate(cluster, jobs)
    stops = stops_of(cluster, jobs, allocation)
    seen = {
        name: [allocation.classes[stop.machine_class or 0].machines for stop in stops[name]]
        for name in stops
    }
    assert seen == {"a": [("m1",)], "b": [("m1",), ("m2",)], "c": []}


def test_effective_weights_split_down_the_tree() -> None:
    cluster = Cluster(
        machines(1, cpu=12),
        [
            Tenant("top", weight=3),
            Tenant("left", parent="top", weight=2),
            Tenant("right", parent="top"),
        ],
    )
    jobs = [
        Job("l1", {"cpu": 1}, tenant="left"),
        Job("l2", {"cpu": 1}, tenant="left"),
        Job("r", {"cpu": 1}, tenant="right"),
        Job("own", {"cpu": 1}),
    ]
    allocation = allocate(cluster, jobs)
    rates = {job.name: explain(cluster, jobs, allocation, job.name).rate for job in jobs}
    assert rates == pytest.approx({"l1": 1, "l2": 1, "r": 1, "own": 1})
    assert {share.name: share.tasks for share in allocation.jobs} == pytest.approx(
        dict.fromkeys(rates, 3)
    )


def test_the_rate_of_who_froze_earlier_has_passed_on() -> None:
    cluster = Cluster(machines(1, cpu=12), [Tenant("t", weight=2)])
    jobs = [
        Job("short", {"cpu": 1}, tenant="t", tasks=1),
        Job("long", {"cpu": 1}, tenant="t"),
        Job("other", {"cpu": 1}),
    ]
    allocation = allocate(cluster, jobs)
    rates = {job.name: explain(cluster, jobs, allocation, job.name).rate for job in jobs}
    assert rates == pytest.approx({"short": 1, "long": 2, "other": 1})


def test_effective_weights_reach_the_bottom_of_a_deep_tree() -> None:
    deep = 1_200  # more than Python lets a function call itself
    tenants = [Tenant("t0", weight=3)]
    tenants += [Tenant(f"t{at}", parent=f"t{at - 1}", weight=2) for at in range(1, deep)]
    jobs = [Job("a", {"cpu": 1}, tenant=f"t{deep - 1}"), Job("b", {"cpu": 1})]
    why = explained(Cluster(machines(1, cpu=8), tenants), jobs, "a")
    assert (why.rate, why.share.tasks) == pytest.approx((3, 6))


def test_a_job_with_all_its_tasks_is_satisfied_and_needs_no_advice() -> None:
    cluster = Cluster(machines(1, cpu=4))
    jobs = [Job("a", {"cpu": 1}, tasks=1), Job("b", {"cpu": 1})]
    assert explained(cluster, jobs, "a").satisfied
    assert not explained(cluster, jobs, "b").satisfied
    assert advice(cluster, jobs, "a") == []


def test_a_limit_is_what_would_have_to_rise() -> None:
    cluster = Cluster(machines(1, cpu=8), [Tenant("t", limit={"cpu": 2})])
    jobs = [Job("a", {"cpu": 1}, tenant="t"), Job("b", {"cpu": 1})]
    change, demand = advice(cluster, jobs, "a")
    assert (change.kind, change.subject, change.amount) == (Kind.LIMIT, "t", Fraction(1))
    assert change.tasks == pytest.approx(3)
    assert change.slope == pytest.approx(1)
    assert (demand.kind, demand.resource, demand.amount) == (Kind.DEMAND, "cpu", Fraction(9, 10))
    assert demand.tasks == pytest.approx(2 / 0.9)


def test_a_constraint_that_keeps_a_job_from_idle_machines_is_named() -> None:
    cluster = Cluster(
        [
            Machine("old", {"cpu": 4}, {"kernel": "4.18"}),
            Machine("new", {"cpu": 4}, {"kernel": "5.10"}),
        ]
    )
    jobs = [Job("a", {"cpu": 1}, where="kernel >= 5"), Job("b", {"cpu": 1}, where="kernel >= 5")]
    change = next(c for c in advice(cluster, jobs, "a") if c.kind is Kind.CONSTRAINT)
    assert change.subject == "kernel >= 5"
    assert change.machines is not None
    assert change.machines.machines == ("old",)
    assert change.tasks == pytest.approx(4)


@pytest.mark.parametrize(
    ("job", "subject"),
    [
        (Job("a", {"cpu": 1}, machines=["m1"]), "machines"),
        (Job("a", {"cpu": 1}, exclude=["m2"]), "exclude"),
    ],
)
def test_a_list_that_keeps_a_job_from_idle_machines_is_named(job: Job, subject: str) -> None:
    cluster = Cluster(machines(2, cpu=4))
    jobs = [job, Job("b", {"cpu": 1}, machines=["m1"])]
    change = next(c for c in advice(cluster, jobs, "a") if c.kind is Kind.CONSTRAINT)
    assert change.subject == subject
    assert change.tasks == pytest.approx(4)


def test_a_machine_more_is_on_the_lists_that_name_its_model() -> None:
    cluster = Cluster(machines(1, cpu=4))
    jobs = [Job("a", {"cpu": 1}, machines=["m1"]), Job("b", {"cpu": 1}, exclude=["m1"])]
    change = next(c for c in advice(cluster, jobs, "a") if c.kind is Kind.MACHINE)
    changed, changed_jobs = apply(cluster, jobs, jobs[0], change)
    new = changed.machines[-1].name
    assert new != "m1"
    assert changed_jobs[0].machines == ("m1", new)
    assert changed_jobs[1].exclude == ("m1", new)
    assert change.tasks == pytest.approx(8)


def test_a_job_that_runs_nowhere_is_told_which_part_to_drop() -> None:
    cluster = Cluster([Machine("m", {"cpu": 4}, {"zone": "east"})])
    jobs = [Job("a", {"cpu": 1}, where="zone = west"), Job("b", {"cpu": 1})]
    why = explained(cluster, jobs, "a")
    assert why.share.nowhere is not None
    assert why.scarce == ()
    (change,) = advice(cluster, jobs, "a")
    assert (change.kind, change.subject) == (Kind.CONSTRAINT, "zone = west")
    assert change.tasks == pytest.approx(2)


def test_spread_stops_a_job_that_is_on_every_machine() -> None:
    cluster = Cluster(machines(3, cpu=4))
    jobs = [Job("a", {"cpu": 1}, spread=True)]
    why = explained(cluster, jobs, "a")
    assert [(s.stop.job, s.stop.resource, s.total) for s in why.scarce] == [("a", None, 3.0)]
    change, without = advice(cluster, jobs, "a")
    assert change.kind is Kind.MACHINE
    assert change.tasks == pytest.approx(4)
    assert without.kind is Kind.SPREAD
    assert without.tasks == pytest.approx(12)


def test_spread_in_the_pooled_view_allows_as_many_tasks_as_there_are_machines() -> None:
    cluster = Cluster(machines(3, cpu=4))
    for tasks in (None, 9):
        why = explained(cluster, [Job("a", {"cpu": 1}, spread=True, tasks=tasks)], "a", "drf")
        assert [(s.stop.job, s.stop.machine_class, s.total) for s in why.scarce] == [
            ("a", None, 3.0)
        ]
        assert not why.satisfied


def test_every_part_of_a_constraint_is_solved_again_and_all_of_it() -> None:
    # m1 is what both parts allow; each part alone opens one more machine of 4, all of it all four.
    cluster = Cluster(
        [
            Machine(f"m{index}", {"cpu": 4}, {"zone": zone, "disk": disk})
            for index, (zone, disk) in enumerate(
                [("east", "ssd"), ("east", "hdd"), ("west", "ssd"), ("west", "hdd")], start=1
            )
        ]
    )
    jobs = [Job("a", {"cpu": 1}, where="zone = east, disk = ssd", exclude=["m4"])]
    tried = counterfactuals(cluster, jobs, explained(cluster, jobs, "a"), allocate)
    found = {c.subject: c.tasks for c in tried if c.kind is Kind.CONSTRAINT}
    assert found == pytest.approx({"zone = east": 8, "disk = ssd": 8, "exclude": 4, "": 16})
    helpful = [c.subject for c in advice(cluster, jobs, "a") if c.kind is Kind.CONSTRAINT]
    assert helpful == ["zone = east", "disk = ssd", ""]


def test_a_smaller_demand_is_not_asked_of_what_comes_in_pieces() -> None:
    cluster = Cluster(machines(1, gpu=4), devices=["gpu"])
    jobs = [Job("a", {"gpu": 1})]
    assert Kind.DEMAND not in {change.kind for change in advice(cluster, jobs, "a")}


def test_what_was_not_solved_again_is_what_the_prices_point_to() -> None:
    cluster = Cluster(
        [Machine("m1", {"cpu": 4}, {"zone": "east"}), Machine("m2", {"cpu": 4}, {"zone": "west"})]
    )
    jobs = [Job("a", {"cpu": 1}, where="zone = east", spread=True), Job("b", {"cpu": 1})]
    why = explained(cluster, jobs, "b")
    found = counterfactuals(cluster, jobs, why, None)
    assert {change.tasks for change in found} == {None}
    assert {change.kind for change in found} <= {Kind.RESOURCE, Kind.MACHINE}


def test_a_change_that_would_be_refused_is_left_out() -> None:
    cluster = Cluster([Machine("m", {"cpu": 4, "gpu": 1}, {"zone": "east"})])
    jobs = [Job("a", {"gpu": 1}, where="zone = west"), Job("b", {"cpu": 1})]
    assert advice(cluster, jobs, "a", "cmmf(cpu)") == []
    assert [change.subject for change in advice(cluster, jobs, "a", "drfh")] == ["zone = west"]


def test_the_pooled_view_knows_no_machine_to_add() -> None:
    cluster = Cluster(machines(2, cpu=4, memory=1))
    jobs = [Job("a", {"cpu": 1}), Job("b", {"cpu": 1, "memory": 0.1})]
    why = explained(cluster, jobs, "a", "drf")
    kinds = {change.kind for change in advice(cluster, jobs, "a", "drf")}
    assert kinds == {Kind.RESOURCE, Kind.DEMAND}
    assert why.scarce[0].total == 8.0
    assert close(why.scarce[0].held, 8.0)


def test_a_mechanism_has_nothing_to_explain_by() -> None:
    cluster = Cluster(machines(2, cpu=4))
    jobs = [Job("a", {"cpu": 1}), Job("b", {"cpu": 1})]
    why = explained(cluster, jobs, "a", "independent")
    assert (why.scarce, why.share.level, why.rate) == ((), None, None)
    assert advice(cluster, jobs, "a", "independent") == []


def test_per_machine_drf_is_stopped_on_each_class_of_machines() -> None:
    cluster = Cluster([Machine("m1", {"cpu": 4}), Machine("m2", {"cpu": 8})])
    jobs = [Job("a", {"cpu": 1}), Job("b", {"cpu": 1})]
    why = explained(cluster, jobs, "a", "per-machine-drf")
    assert sorted(scarce.total for scarce in why.scarce) == [4.0, 8.0]


def test_a_limit_that_stops_a_job_on_several_classes_is_one_stop() -> None:
    cluster = Cluster(
        [Machine("m1", {"cpu": 4}), Machine("m2", {"cpu": 8})], [Tenant("t", limit={"cpu": 2})]
    )
    jobs = [Job("a", {"cpu": 1}, tenant="t"), Job("b", {"cpu": 1})]
    (scarce,) = explained(cluster, jobs, "a", "per-machine-drf").scarce
    assert (scarce.stop.tenant, scarce.own, scarce.total) == ("t", True, 2.0)
    assert close(scarce.held, 2.0)
    (stop,) = stops_of(cluster, jobs, allocate(cluster, jobs, "per-machine-drf"))["a"]
    assert (stop.tenant, stop.resource) == ("t", "cpu")
    kinds = [change.kind for change in advice(cluster, jobs, "a", "per-machine-drf")]
    assert kinds == [Kind.LIMIT, Kind.DEMAND]


def test_a_job_that_lacks_the_last_ten_billionth_of_a_task_has_not_all() -> None:
    cluster = Cluster([Machine("m", {"cpu": "1.9999999999"})])
    why = explained(cluster, [Job("a", {"cpu": 1}, tasks=2)], "a")
    assert not why.satisfied
    assert [scarce.stop.resource for scarce in why.scarce] == ["cpu"]


@pytest.mark.parametrize("tasks", [4, 12, 28])
def test_a_job_that_has_all_its_tasks_in_thirds_has_all(tasks: int) -> None:
    machines = [Machine(f"m{i}", {"cpu": "0.4"}) for i in range(3 * tasks // 4)]
    assert explained(Cluster(machines), [Job("a", {"cpu": "0.3"}, tasks=tasks)], "a").satisfied


def test_a_gain_of_a_ten_billionth_is_one() -> None:
    cluster = Cluster([Machine("m", {"cpu": 1}), Machine("tiny", {"cpu": "0.0000000001"})])
    tried = advice(cluster, [Job("a", {"cpu": 1})], "a")
    assert ("tiny",) in [each.machines.machines for each in tried if each.machines]
    assert all(each.moves > 0 for each in tried)


def test_an_unknown_job_is_refused_with_a_hint() -> None:
    cluster = Cluster(machines(1, cpu=4))
    jobs = [Job("train", {"cpu": 1}, tenant="t")]
    with pytest.raises(InputError, match="did you mean `train`"):
        explained(cluster, jobs, "tarin")
    with pytest.raises(InputError, match="is a tenant, not a job"):
        explained(cluster, jobs, "t")


CLUSTERS = small.instances(small.Kind(spread=False, tenants=False, pools=False, limits=False))


@given(CLUSTERS)
def test_a_job_without_others_gains_no_more_than_its_prices_say(instance: small.Instance) -> None:
    # Alone, nobody's scale matters to it, and the tasks that it can run are concave.
    cluster, jobs = instance
    jobs = jobs[:1]
    why = explained(cluster, jobs, jobs[0].name)
    for change in changes(cluster, jobs, why, allocate):
        if change.kind in (Kind.CONSTRAINT, Kind.SPREAD, Kind.DEMAND):
            continue  # no price says what another constraint or demand would bring
        assert change.tasks is not None
        assert change.slope is not None
        gain = change.tasks - why.share.tasks
        assert gain <= change.slope * (1 + 1e-9) + 1e-9


@given(CLUSTERS)
def test_every_job_that_waits_has_a_reason_and_what_stops_it_is_used_up(
    instance: small.Instance,
) -> None:
    cluster, jobs = instance
    allocation = allocate(cluster, jobs)
    stops = stops_of(cluster, jobs, allocation)
    for job in jobs:
        why = explain(cluster, jobs, allocation, job.name)
        assert why.satisfied or any(scarce.own for scarce in why.scarce) or why.share.nowhere
        assert {s.stop for s in why.scarce if s.own} <= set(stops[job.name])
        for scarce in why.scarce:
            if scarce.holders:
                assert close(scarce.held, scarce.total, 1e-8)


@given(CLUSTERS)
def test_changes_that_were_tried_raise_the_job(instance: small.Instance) -> None:
    cluster, jobs = instance
    answer = allocate(cluster, jobs, "tsf")
    for job in jobs[:2]:
        why = explain(cluster, jobs, answer, job.name)
        for change in changes(cluster, jobs, why, lambda c, j: allocate(c, j, "tsf")):
            again = allocate(*apply(cluster, jobs, job, change))
            assert again.job(job.name).tasks == change.tasks
            assert again.job(job.name).tasks > why.share.tasks


def test_what_more_would_bring_is_asked_of_what_a_task_takes() -> None:
    cluster = Cluster(machines(2, nvme=1000))
    found = advice(cluster, [Job("a", {"nvme": 250})], "a")
    (more,) = [change for change in found if change.kind is Kind.RESOURCE]
    assert (more.amount, more.tasks) == (Fraction(250), 9.0)
    tenants = [Tenant("t", limit={"nvme": 500})]
    limited = advice(
        Cluster(machines(2, nvme=1000), tenants), [Job("a", {"nvme": 250}, tenant="t")], "a"
    )
    (limit,) = [change for change in limited if change.kind is Kind.LIMIT]
    assert (limit.amount, limit.tasks) == (Fraction(250), 3.0)


def test_machines_that_only_names_tell_apart_are_one_place() -> None:
    cluster = Cluster(machines(4, gpu=2))
    jobs = [Job("a", {"gpu": 1}), Job("b", {"gpu": 1}, machines=["m3", "m4"], tasks=1)]
    why = explained(cluster, jobs, "a")
    assert len(why.allocation.classes) == 2
    ((stop, where),) = stops_together(cluster, why)
    assert where is not None
    assert where.machines == ("m1", "m2", "m3", "m4")
    assert stop.total == 8
    assert close(sum(holder.amount for holder in stop.holders), 8)
    assert [holder.job for holder in stop.holders] == ["a", "b"]
    (more,) = [each for each in advice(cluster, jobs, "a") if each.kind is Kind.RESOURCE]
    assert more.machines == where
    assert more.tasks is not None
    assert close(more.tasks, 8)
