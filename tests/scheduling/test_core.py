"""The core's decisions, one behaviour a test, on clusters that fit into one's head."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from fairlead.model.errors import InputError
from fairlead.model.job import Job
from fairlead.model.machine import Machine
from fairlead.model.tenant import Tenant
from fairlead.scheduling.core import Core
from fairlead.scheduling.decisions import Decision, Launch, Reject, Stop
from fairlead.scheduling.events import (
    JobCancelled,
    JobChanged,
    JobSubmitted,
    MachineChanged,
    MachineDrained,
    MachineJoined,
    MachineLeft,
    TaskFailed,
    TaskFinished,
    TaskLost,
    TaskStarted,
    TaskStopped,
    TenantChanged,
    TimePassed,
)
from fairlead.scheduling.options import Options
from fairlead.scheduling.state.ids import Unit

SECOND = 10**6
UNITS = [Unit("cpu", Fraction(1, 2)), Unit("memory"), Unit("gpu", Fraction(1, 4), 4)]


def start(
    *machines: Machine, policy: str = "tsf", placement: str = "first-fit", **options: Any
) -> Core:
    core = Core(UNITS, policy, placement, Options(**options), checked=True)
    for machine in machines:
        core.apply(MachineJoined(0, machine))
    return core


def machines(count: int, cpu: float = 2, **labels: str) -> list[Machine]:
    return [Machine(f"m{i}", {"cpu": cpu, "memory": 100}, labels) for i in range(count)]


def submit(core: Core, name: str, time: int = 0, cpu: float = 1, **fields: Any) -> None:
    core.apply(JobSubmitted(time, Job(name, fields.pop("demand", {"cpu": cpu}), **fields)))


def launched(decisions: list[Decision]) -> list[str]:
    return [f"{d.job}{d.task}@{d.machine}" for d in decisions if isinstance(d, Launch)]


def jobs_of(decisions: list[Decision]) -> str:
    return "".join(d.job for d in decisions if isinstance(d, Launch))


def test_the_least_share_comes_first_and_ties_go_to_the_earlier() -> None:
    core = start(*machines(1, 4))
    submit(core, "a")
    submit(core, "b", cpu=0.5)
    # A task of a is a quarter of the cluster, one of b an eighth.
    assert jobs_of(core.decide()) == "abbabb"


def test_fifo_serves_whoever_came_first() -> None:
    core = start(*machines(1, 4), policy="fifo")
    submit(core, "a", tasks=3)
    submit(core, "b")
    assert jobs_of(core.decide()) == "aaab"


def test_slots_count_bundles() -> None:
    core = start(*machines(1, 6), policy="slots(cpu=1)")
    submit(core, "a", cpu=2)
    submit(core, "b", cpu=0.5)
    # A task of a takes two slots, one of b one, though two of them would fit into it.
    assert jobs_of(core.decide())[:6] == "abbabb"
    with pytest.raises(InputError, match="what a slot is"):
        start(policy="slots")


def test_a_weight_of_two_gets_twice_as_much() -> None:
    core = start(*machines(1, 6))
    core.apply(TenantChanged(0, Tenant("t", weight=2)))
    submit(core, "a", tenant="t")
    submit(core, "b")
    assert sorted(jobs_of(core.decide())) == list("aaaabb")


def test_a_tenant_shares_its_weight_among_its_jobs() -> None:
    core = start(*machines(1, 12))
    core.apply(TenantChanged(0, Tenant("t")))
    for name in "abc":
        submit(core, name, tenant="t")
    submit(core, "d")
    assert jobs_of(core.decide()).count("d") == 6


def test_what_idle_jobs_hold_counts_against_their_tenant() -> None:
    core = start(*machines(1, 4))
    core.apply(TenantChanged(0, Tenant("t")))
    for i in range(8):
        submit(core, f"a{i}", tenant="t", tasks=1)
    submit(core, "b")
    # One task after the other of t's jobs would otherwise always be the least.
    assert sum(d.job == "b" for d in core.decide() if isinstance(d, Launch)) == 2


def test_children_split_what_their_parent_weighs() -> None:
    core = start(*machines(1, 12))
    core.apply(TenantChanged(0, Tenant("top")))
    core.apply(TenantChanged(0, Tenant("left", parent="top", weight=2)))
    core.apply(TenantChanged(0, Tenant("right", parent="top")))
    submit(core, "l", tenant="left")
    submit(core, "r", tenant="right")
    submit(core, "o")
    names = sorted(jobs_of(core.decide()))
    assert names == sorted("llllrroooooo")


def test_a_tenant_weighs_what_its_pool_could_give_it() -> None:
    core = start(Machine("m0", {"cpu": 2}), Machine("m1", {"cpu": 6}))
    core.apply(TenantChanged(0, Tenant("t", pool=["m0"])))
    core.apply(TenantChanged(0, Tenant("u", pool=["m1"])))
    submit(core, "a", tenant="t")
    submit(core, "b", tenant="u")
    assert sorted(jobs_of(core.decide())) == list("aabbbbbb")
    # A pool of machines that are gone is worth nothing; a larger one counts from then on.
    core.apply(TenantChanged(1, Tenant("t", pool=["m0", "m2"])))
    decisions = core.handle(MachineJoined(1, Machine("m2", {"cpu": 4})))
    assert sorted(jobs_of(decisions)) == list("aaaa")


def test_what_weighs_and_what_has_a_pool_are_no_siblings() -> None:
    core = start(*machines(2))
    core.apply(TenantChanged(0, Tenant("t", pool=["m0"])))
    with pytest.raises(InputError, match="all weights or all pools"):
        core.apply(TenantChanged(0, Tenant("u")))
    with pytest.raises(InputError, match="which has a pool"):
        submit(core, "a")


def test_a_new_weight_counts_from_the_next_decision() -> None:
    core = start(*machines(1, 4))
    core.apply(TenantChanged(0, Tenant("t")))
    submit(core, "a", tenant="t")
    submit(core, "b")
    core.decide()
    core.apply(TenantChanged(1, Tenant("t", weight=3)))
    assert launched(core.handle(TaskFinished(2, "b", 0))) == ["a2@m0"]


def test_a_job_uses_only_machines_that_its_constraint_allows() -> None:
    core = start(Machine("e", {"cpu": 1}, {"zone": "east"}), Machine("w", {"cpu": 1}))
    submit(core, "a", where="zone = east")
    submit(core, "b", machines=["w"])
    submit(core, "c", exclude=["e", "w"])
    assert launched(core.decide()) == ["a0@e", "b0@w"]


def test_more_terms_than_a_word_has_bits() -> None:
    core = start(*machines(2, 200, zone="z69"))
    for i in range(70):
        submit(core, f"j{i}", where=f"zone = z{i}", tasks=1)
    assert launched(core.decide()) == ["j690@m0"]


def test_a_spread_job_has_one_task_a_machine() -> None:
    core = start(*machines(3))
    submit(core, "a", spread=True)
    assert launched(core.decide()) == ["a0@m0", "a1@m1", "a2@m2"]
    assert launched(core.handle(TaskFinished(1, "a", 1))) == ["a3@m1"]


def test_a_limit_caps_all_jobs_below_a_tenant() -> None:
    core = start(*machines(4))
    core.apply(TenantChanged(0, Tenant("t", limit={"cpu": 3})))
    core.apply(TenantChanged(0, Tenant("u", parent="t")))
    submit(core, "a", tenant="t")
    submit(core, "b", tenant="u")
    assert len(core.decide()) == 3
    freed = core.handle(TaskFinished(1, "a", 0))
    assert len(freed) == 1
    assert len(core.handle(TenantChanged(2, Tenant("t", limit={"cpu": 5})))) == 2
    assert core.handle(TimePassed(3)) == []


def test_first_best_and_worst_fit_choose_differently() -> None:
    chosen = {}
    for rule in ("first-fit", "best-fit", "worst-fit"):
        core = start(
            Machine("middle", {"cpu": 4}),
            Machine("small", {"cpu": 2}),
            Machine("large", {"cpu": 9}),
            placement=rule,
        )
        submit(core, "filler", machines=["small"], tasks=1)
        core.decide()
        submit(core, "a", tasks=1)
        chosen[rule] = launched(core.decide())
    assert chosen == {
        "first-fit": ["a0@middle"],
        "best-fit": ["a0@small"],
        "worst-fit": ["a0@large"],
    }


def test_a_part_of_a_device_goes_to_the_fullest_that_has_room() -> None:
    core = start(Machine("m", {"cpu": 50, "gpu": 3}))
    pieces = []
    for name, gpu in (("a", "1/2"), ("b", "3/4"), ("c", "1/4"), ("d", 1), ("e", 1)):
        submit(core, name, demand={"gpu": gpu}, tasks=1)
        pieces += [d.pieces for d in core.decide() if isinstance(d, Launch)]
    # c goes to the device that has a quarter left; e finds no device that is wholly free.
    assert pieces == [(("gpu", 0),), (("gpu", 1),), (("gpu", 1),), (("gpu", 2),)]
    core.handle(TaskFinished(1, "a", 0))
    assert core.ids.tasks[core.ids.jobs["e"]] == {0: core.ids.tasks[core.ids.jobs["e"]][0]}


def test_whole_devices_are_taken_together() -> None:
    core = start(Machine("m", {"gpu": 4}))
    submit(core, "a", demand={"gpu": "1/4"}, tasks=1)
    submit(core, "b", demand={"gpu": 2})
    taken = [d.pieces for d in core.decide() if isinstance(d, Launch)]
    assert taken == [(("gpu", 0),), (("gpu", 1), ("gpu", 2))]


def test_a_gang_starts_together_or_not_at_all() -> None:
    core = start(*machines(2))
    submit(core, "small", tasks=1)
    core.decide()
    submit(core, "gang", gang=4, tasks=4)
    assert core.decide() == []
    assert len(core.handle(TaskFinished(1, "small", 0))) == 4


def test_a_lost_task_of_a_gang_comes_back_alone_and_first() -> None:
    core = start(*machines(2))
    submit(core, "gang", gang=2, tasks=4)
    core.decide()
    again = core.handle(TaskLost(1, "gang", 1))
    assert again == [Launch("gang", 1, "m0", 2)]


def test_a_job_waits_for_the_machine_that_it_prefers() -> None:
    core = start(Machine("a", {"cpu": 1}, {"zone": "a"}), Machine("b", {"cpu": 1}, {"zone": "b"}))
    submit(core, "j", prefer="zone = b", prefer_for=30)
    assert launched(core.decide()) == ["j0@b"]
    assert core.wake() == 30 * SECOND
    assert core.handle(TimePassed(30 * SECOND - 1)) == []
    assert launched(core.handle(TimePassed(30 * SECOND))) == ["j1@a"]


def test_a_large_task_gets_a_machine_in_the_end() -> None:
    core = start(*machines(1, 2), reserve_after=10 * SECOND)
    submit(core, "small", cpu=1)
    core.decide()
    submit(core, "large", cpu=2, time=1)
    core.decide()
    time, number = 1, 2
    started: list[str] = []
    for turn in range(40):
        time += SECOND
        number = core.ids.tasks[core.ids.jobs["small"]].copy().popitem()[0]
        started += launched(core.handle(TaskFinished(time, "small", number)))
        if "large0@m0" in started:
            break
        assert turn < 20
    assert "large0@m0" in started


def test_who_ends_before_a_reservation_starts_may_pass() -> None:
    core = start(*machines(1, 2), reserve_after=10 * SECOND)
    submit(core, "long", tasks=1, duration=100)
    submit(core, "next", tasks=1, cpu=2)
    core.decide()
    core.handle(TimePassed(10 * SECOND))
    submit(core, "slow", time=11 * SECOND, tasks=1, duration=95)
    submit(core, "unknown", time=11 * SECOND, tasks=1)
    submit(core, "quick", time=11 * SECOND, tasks=1, duration=80)
    assert launched(core.decide()) == ["quick0@m0"]
    core.apply(TaskFinished(90 * SECOND, "quick", 0))
    assert launched(core.handle(TaskFinished(100 * SECOND, "long", 0))) == ["next0@m0"]


def test_without_reservations_small_tasks_pass_for_ever() -> None:
    core = start(*machines(1, 2), reserve_after=None)
    submit(core, "small", cpu=1)
    core.decide()
    submit(core, "large", cpu=2, time=1)
    core.decide()
    assert core.wake() is None
    assert launched(core.handle(TaskFinished(10**9, "small", 0))) == ["small2@m0"]


def test_tasks_of_a_machine_that_left_start_elsewhere_in_their_order() -> None:
    core = start(*machines(1))
    submit(core, "a", tasks=2)
    core.decide()
    core.apply(MachineLeft(1, "m0"))
    core.apply(MachineJoined(1, Machine("m0", {"cpu": 2})))
    assert core.decide() == [Launch("a", 0, "m0", 2), Launch("a", 1, "m0", 2)]


def test_a_draining_machine_takes_nothing_until_it_is_back() -> None:
    core = start(*machines(1))
    core.apply(MachineDrained(0, "m0"))
    submit(core, "a", tasks=1)
    assert core.decide() == []
    assert launched(core.handle(MachineDrained(1, "m0", back=True))) == ["a0@m0"]


def test_a_machine_that_shrinks_is_full_until_enough_has_ended() -> None:
    core = start(*machines(1, 4))
    submit(core, "a")
    assert len(core.decide()) == 4
    assert core.handle(MachineChanged(1, Machine("m0", {"cpu": 2}))) == []
    assert core.handle(TaskFinished(2, "a", 0)) == []
    assert core.handle(TaskFinished(3, "a", 1)) == []
    assert launched(core.handle(TaskFinished(4, "a", 2))) == ["a4@m0"]


def test_a_job_that_no_machine_can_run_waits_for_one() -> None:
    core = start(*machines(1))
    submit(core, "a", cpu=3, tasks=1)
    assert core.decide() == []
    assert launched(core.handle(MachineJoined(1, Machine("big", {"cpu": 3})))) == ["a0@big"]


def test_a_job_without_a_scale_is_rejected_once_a_machine_could_run_it() -> None:
    core = start(*machines(1), policy="cmmf(gpu)")
    submit(core, "a", cpu=3, tasks=1)
    assert core.decide() == []
    decisions = core.handle(MachineJoined(1, Machine("big", {"cpu": 3, "gpu": 1})))
    assert [type(d) for d in decisions] == [Reject]
    assert "a" not in core.ids.jobs


def test_a_cancelled_job_is_told_to_stop_and_forgotten() -> None:
    core = start(*machines(1))
    submit(core, "a", tasks=5)
    core.decide()
    assert core.handle(JobCancelled(1, "a")) == [Stop("a", 0, "m0", 1), Stop("a", 1, "m0", 1)]
    core.handle(TaskStopped(2, "a", 0))
    core.handle(TaskFinished(2, "a", 1))
    assert core.ids.jobs == {}
    submit(core, "a", time=3, tasks=1)
    assert launched(core.decide()) == ["a0@m0"]


def test_a_job_grows_and_shrinks_by_tasks_that_never_started() -> None:
    core = start(*machines(1))
    submit(core, "a", tasks=2)
    core.decide()
    core.handle(JobChanged(1, "a", 9))
    with pytest.raises(InputError, match="2 tasks have started"):
        core.apply(JobChanged(1, "a", 1))
    core.handle(JobChanged(1, "a", 3))
    assert launched(core.handle(TaskFinished(2, "a", 0))) == ["a2@m0"]
    assert core.handle(TaskFailed(3, "a", 1)) == []
    core.handle(TaskFinished(4, "a", 2))
    assert core.ids.jobs == {}


def test_a_task_may_start_run_and_be_lost() -> None:
    core = start(*machines(1, 1))
    submit(core, "a", tasks=1)
    core.decide()
    core.handle(TaskStarted(1, "a", 0))
    with pytest.raises(InputError, match="running"):
        core.apply(TaskStarted(2, "a", 0))
    assert core.handle(TaskLost(2, "a", 0)) == [Launch("a", 0, "m0", 2)]


REFUSED = [
    (MachineJoined(5, Machine("m0", {})), "it is there already"),
    (MachineJoined(5, Machine("n", {"disk": 1})), "nothing counts this resource"),
    (MachineJoined(5, Machine("n", {"gpu": "1/2"})), "whole devices"),
    (MachineLeft(5, "n"), 'no machine "n"'),
    (MachineDrained(5, "m0", back=True), "it does not drain"),
    (JobSubmitted(5, Job("a", {"cpu": 1})), "a job of this name"),
    (JobSubmitted(5, Job("b", {"cpu": "1/3"})), "finer than the unit"),
    (JobSubmitted(5, Job("b", {"gpu": "5/4"})), "a part of one device, or whole ones"),
    (JobSubmitted(5, Job("b", {"cpu": 1}, tenant="t")), 'no tenant "t"'),
    (JobSubmitted(5, Job("b", {"cpu": 1}, duration="1/3000000s")), "finer than a microsecond"),
    (JobCancelled(5, "b"), "no such job"),
    (TaskFinished(5, "a", 7), "on no machine"),
    (TaskStopped(5, "a", 0), "launched"),
    (TenantChanged(5, Tenant("t", parent="u")), 'no tenant "u"'),
    (TimePassed(3), "comes after"),
]


@pytest.mark.parametrize(("event", "sentence"), REFUSED)
def test_what_cannot_be_is_refused_and_changes_nothing(event: Any, sentence: str) -> None:
    core = start(*machines(1))
    submit(core, "a", tasks=9)
    core.decide()
    core.handle(TimePassed(4))
    before = core.digest()
    with pytest.raises(InputError, match=sentence):
        core.apply(event)
    assert core.digest() == before
    core.check()


def test_tables_grow_as_long_as_more_comes() -> None:
    core = start(*machines(150))
    for i in range(150):
        submit(core, f"j{i}", tasks=2)
    assert len(core.decide()) == 300


def test_whole_tasks_are_counted_unless_divisible_ones_are_asked_for() -> None:
    def scale(whole: bool) -> float:
        core = start(Machine("m", {"cpu": 5}), whole=whole)
        submit(core, "a", cpu=2)
        return float(core.state.job["scale"][core.ids.jobs["a"]])

    assert (scale(True), scale(False)) == (2.0, 2.5)


def test_scales_follow_the_machines() -> None:
    core = start(*machines(2))
    submit(core, "a")
    core.decide()
    core.handle(MachineJoined(1, Machine("more", {"cpu": 10})))
    assert core.state.job["scale"][core.ids.jobs["a"]] == 14.0
    core.handle(MachineLeft(2, "more"))
    assert core.state.job["scale"][core.ids.jobs["a"]] == 4.0


def test_the_same_events_give_the_same_digest_and_others_do_not() -> None:
    def run(last: int) -> str:
        core = start(*machines(2))
        submit(core, "a")
        core.decide()
        core.handle(TaskFinished(1, "a", last))
        return core.digest()

    assert run(0) == run(0) != run(1)


@pytest.mark.parametrize(
    "never",
    [
        Job("never", {"cpu": 2}, tenant="ml", tasks=3, gang=3),
        Job("never", {"gpu": "0.75"}, tenant="ml", tasks=5, gang=5),
        Job("never", {"memory": 60}, tenant="ml", tasks=2),
        Job("never", {"memory": 30}, tenant="ml", tasks=2, gang=2),
    ],
    ids=["gang", "devices", "limit", "limit-of-gang"],
)
def test_a_job_that_can_never_run_takes_nothing_from_its_tenant(never: Job) -> None:
    core = start(*(Machine(f"m{i}", {"cpu": 2, "memory": 100, "gpu": 1}) for i in range(2)))
    core.apply(TenantChanged(0, Tenant("ml", limit={"memory": 50})))
    core.apply(TenantChanged(0, Tenant("web")))
    core.apply(JobSubmitted(0, never))
    for name, tenant in (("train", "ml"), ("site", "web")):
        core.apply(JobSubmitted(0, Job(name, {"cpu": "0.5"}, tenant=tenant, tasks=9)))
    launched = [each.job for each in core.decide() if isinstance(each, Launch)]
    assert sorted(launched) == ["site"] * 4 + ["train"] * 4


def test_what_no_gang_of_can_start_starts_by_itself_when_less_than_one_is_left() -> None:
    core = start(*machines(2))
    core.apply(JobSubmitted(0, Job("g", {"cpu": 1}, tasks=5, gang=4)))
    assert len(core.decide()) == 4
    core.apply(MachineLeft(1, "m1"))
    for task in range(4):
        core.apply(TaskFinished(2, "g", task) if task < 2 else TimePassed(2))
    core.decide()
    why = core.why("g")
    assert not why.never
    assert (why.running, why.waiting) == (2, 1)


def test_a_higher_limit_lets_a_job_run_that_never_could() -> None:
    core = start(*machines(1))
    core.apply(TenantChanged(0, Tenant("ml", limit={"cpu": 1})))
    core.apply(JobSubmitted(0, Job("big", {"cpu": 2}, tenant="ml", tasks=1)))
    assert core.decide() == []
    core.apply(TenantChanged(1, Tenant("ml", limit={"cpu": 2})))
    assert [each.job for each in core.decide() if isinstance(each, Launch)] == ["big"]
    core.apply(TenantChanged(2, Tenant("ml", limit={"cpu": 1})))
    core.apply(JobSubmitted(2, Job("more", {"cpu": 2}, tenant="ml", tasks=1)))
    assert core.decide() == []
    assert core.why("more").never
