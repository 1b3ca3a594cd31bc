"""What would start a waiting job now: found by hand on small cores, tried out on random ones."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

from fairlead.model.job import Job
from fairlead.model.machine import Machine
from fairlead.model.tenant import Tenant
from fairlead.scheduling.core import Core
from fairlead.scheduling.decisions import Launch
from fairlead.scheduling.events import MachineDrained, MachineJoined, TaskFinished, TimePassed
from fairlead.scheduling.reading.core_copy import copy_core
from fairlead.scheduling.transitions import MachineState
from fairlead.service.why.expected_start import expected_start
from fairlead.service.why.fewest_ends import differing, fewest_ends
from fairlead.service.why.remedies import Change, ChangeKind, smallest_changes
from fairlead.service.why.trial import decide_fully
from tests.service.fairness.stands import FIRST, SECOND, core_of, random_cores, submit

TWO = (Tenant("a"), Tenant("b"))


def changes(core: Core, job: str) -> dict[ChangeKind, Change]:
    return {change.kind: change for change in smallest_changes(core, core.why(job))}


def test_the_fewest_tasks_that_would_have_to_end() -> None:
    core = core_of({"m1": {"cpu": 8}, "m2": {"cpu": 8}}, TWO)
    submit(
        core,
        Job("small", {"cpu": 1}, tenant="a", tasks=8, machines=["m1"]),
        Job("large", {"cpu": 4}, tenant="a", tasks=2, machines=["m2"]),
        Job("y", {"cpu": 4}, tenant="b", tasks=2),
    )
    found = changes(core, "y")[ChangeKind.ENDS]
    assert found.machines == ("m2",)
    assert dict(found.tasks) == {"large": 1}
    assert found.starts == 1
    assert found.sentence == "a task would start now if 1 task ends on m2 (1 of large)"


def test_of_machines_on_which_alike_tasks_would_end_one_is_tried() -> None:
    core = core_of({f"m{n}": {"cpu": 2} for n in range(9)}, TWO)
    submit(core, *(Job(f"x{n}", {"cpu": 2}, tenant="a", tasks=1) for n in range(4)))
    submit(core, Job("more", {"cpu": 2}, tenant="a", tasks=8), Job("y", {"cpu": 2}, tenant="b"))
    found = fewest_ends(core, core.ids.jobs["y"])
    tried = list(differing(core, core.ids.jobs["y"], found))
    names = [core.book.name_of(ends.tasks[0][0])[0] for ends in found]
    assert sorted(names) == ["m"] * 5 + ["x"] * 4
    assert tried == [found[names.index(name)] for name in dict.fromkeys(names)]


def test_those_who_come_first_take_the_room() -> None:
    core = core_of({"m1": {"cpu": 4}}, TWO)
    submit(
        core,
        Job("x", {"cpu": 1}, tenant="a", tasks=4),
        Job("first", {"cpu": 1}, tenant="b", tasks=1),
        Job("y", {"cpu": 1}, tenant="b", tasks=1),
    )
    assert ChangeKind.ENDS in changes(core, "first")
    assert ChangeKind.ENDS not in changes(core, "y")  # first would get it


def test_the_part_of_the_constraint_that_is_in_the_way() -> None:
    labels = {"m1": {"zone": "a", "disk": "ssd"}, "m2": {"zone": "b", "disk": "hdd"}}
    core = core_of({"m1": {"cpu": 2}, "m2": {"cpu": 2}}, TWO, labels=labels)
    submit(
        core,
        Job("x", {"cpu": 2}, tenant="a", tasks=1, machines=["m1"]),
        Job("y", {"cpu": 2}, tenant="b", tasks=1, where="zone = a"),
        Job("z", {"cpu": 2}, tenant="b", tasks=1, where="zone = a, disk = hdd"),
    )
    found = changes(core, "y")[ChangeKind.CONSTRAINT]
    assert found.part == "zone = a"
    assert found.sentence == "a task would start now without the part `zone = a` of `where`"
    assert changes(core, "z")[ChangeKind.CONSTRAINT].part == "zone = a"
    submit(core, Job("w", {"cpu": 2}, tenant="b", tasks=1, where="zone = c, disk = tape"))
    whole = changes(core, "w")[ChangeKind.CONSTRAINT]
    assert whole.part is None
    assert "no part alone does" in whole.sentence


def test_how_much_less_a_task_would_have_to_ask_for() -> None:
    core = core_of({"m1": {"cpu": 8, "memory": 16}, "m2": {"cpu": 8, "memory": 16}}, TWO)
    submit(
        core,
        Job("x", {"cpu": 2, "memory": 15}, tenant="a", tasks=1, machines=["m1"]),
        Job("x2", {"cpu": 5, "memory": 1}, tenant="a", tasks=1, machines=["m2"]),
        Job("y", {"cpu": 4, "memory": 4}, tenant="b", tasks=1),
    )
    found = changes(core, "y")[ChangeKind.DEMAND]
    assert dict(found.amounts) == {"cpu": 3}
    assert found.sentence == "a task would start now if a task asked for 3 cpu instead of 4"


def test_what_the_job_runs_is_not_stopped_for_it() -> None:
    # Two tasks run, one machine is full and one has room: what stops the others is the limit.
    limited = (Tenant("a", limit={"cpu": 4}), Tenant("b"))
    core = core_of({"m1": {"cpu": 2}, "m2": {"cpu": 16}}, limited)
    submit(
        core,
        Job("y", {"cpu": 2}, tenant="b", tasks=1, machines=["m1"]),
        Job("x", {"cpu": 2}, tenant="a", tasks=4),
    )
    assert set(changes(core, "x")) == {ChangeKind.LIMIT}
    # Its own task fills the machine that it could run on: without its constraint none would start.
    core = core_of({"m1": {"cpu": 2}, "m2": {"cpu": 2}}, TWO)
    submit(
        core,
        Job("x", {"cpu": 2}, tenant="a", tasks=2, machines=["m1"]),
        Job("y", {"cpu": 2}, tenant="b", tasks=1, machines=["m2"]),
    )
    assert ChangeKind.CONSTRAINT not in changes(core, "x")


def test_a_limit_that_is_in_the_way() -> None:
    core = core_of({"m1": {"cpu": 8}}, (Tenant("a", limit={"cpu": 3}), Tenant("b")))
    submit(core, Job("x", {"cpu": 2}, tenant="a", tasks=2))
    found = changes(core, "x")
    assert found[ChangeKind.LIMIT].part == "a"
    assert dict(found[ChangeKind.LIMIT].amounts) == {"cpu": 4}
    assert found[ChangeKind.LIMIT].sentence == "a task would start now if a's limit were 4 cpu"
    assert ChangeKind.MACHINE not in found


def test_one_more_machine() -> None:
    core = core_of(
        {"m1": {"cpu": 2}, "g1": {"cpu": 4, "gpu": 1}}, TWO, labels={"g1": {"gpu": "h100"}}
    )
    submit(
        core,
        Job("x", {"gpu": 1}, tenant="a", tasks=1),
        Job("y", {"gpu": 1, "cpu": 1}, tenant="b", tasks=1, where="gpu = h100"),
        Job("z", {"cpu": 1, "gpu": 1}, tenant="a", tasks=1, where="gpu = b200"),
    )
    assert changes(core, "y")[ChangeKind.MACHINE].part == "g1"
    none_like_it = changes(core, "z")[ChangeKind.MACHINE]
    assert none_like_it.part is None
    assert none_like_it.sentence == (
        "a task would start now with one more machine that has 1 cpu, 1 gpu and gpu = b200"
    )


def test_a_machine_is_described_in_units_that_people_read() -> None:
    core = core_of({"vm": {"cpu": 2, "memory": 25276063744}})
    submit(core, Job("a", {"cpu": 1, "memory": 2**20}, tasks=9))
    said = changes(core, "a")[ChangeKind.MACHINE].sentence
    assert said.endswith("with one more machine like vm (2 cpu, 23.54Gi memory)")


def test_a_machine_that_drains() -> None:
    core = core_of({"m1": {"cpu": 2}, "m2": {"cpu": 2}}, TWO)
    core.apply(MachineDrained(0, "m2"))
    submit(core, Job("x", {"cpu": 2}, tenant="a", tasks=2))
    assert changes(core, "x")[ChangeKind.BACK].machines == ("m2",)


def test_what_else_a_job_asks_for() -> None:
    core = core_of({"m1": {"cpu": 4}, "m2": {"cpu": 2}}, TWO)
    submit(core, Job("s", {"cpu": 1}, tenant="a", tasks=3, spread=True))
    assert changes(core, "s")[ChangeKind.SPREAD].starts == 1
    submit(core, Job("g", {"cpu": 1}, tenant="b", tasks=6, gang=6))
    found = changes(core, "g")
    assert found[ChangeKind.GANG].starts == 4
    core = core_of({"m1": {"cpu": 1}, "m2": {"cpu": 1}}, TWO, labels={"m1": {"disk": "ssd"}})
    submit(core, Job("p", {"cpu": 1}, tenant="a", tasks=2, prefer="disk = ssd", prefer_for=60))
    assert changes(core, "p")[ChangeKind.PREFERENCE].starts == 1


def test_room_for_a_gang_comes_from_several_machines() -> None:
    core = core_of({"m1": {"cpu": 2}, "m2": {"cpu": 2}, "m3": {"cpu": 2}}, TWO)
    submit(
        core,
        Job("x", {"cpu": 2}, tenant="a", tasks=3),
        Job("g", {"cpu": 2}, tenant="b", tasks=2, gang=2),
    )
    found = changes(core, "g")[ChangeKind.ENDS]
    assert len(found.machines) == 2
    assert found.starts == 2


def launched(core: Core, job: str) -> int:
    return sum(isinstance(one, Launch) and one.job == job for one in decide_fully(core))


def test_random_changes_do_what_they_say(cases: int) -> None:
    """Whatever is said to start the job does, where it is made by other means than the trial; and
    no fewer ends would do."""
    seen: dict[ChangeKind, int] = {}
    for core in random_cores(FIRST, 12 * cases):
        for name, slot in list(core.ids.jobs.items()):
            row = core.state.job[slot]
            if not row["waiting"] or row["cancelled"]:
                continue
            before = core.digest()
            for change in smallest_changes(core, core.why(name)):
                seen[change.kind] = seen.get(change.kind, 0) + 1
                assert change.starts >= 1
                _made(core, name, change)
            assert core.digest() == before
    assert {ChangeKind.ENDS, ChangeKind.CONSTRAINT, ChangeKind.MACHINE} <= set(seen)


def _made(core: Core, name: str, change: Change) -> None:
    other = copy_core(core)
    now = core.now
    match change.kind:
        case ChangeKind.BACK:
            other.apply(MachineDrained(now, change.machines[0], back=True))
        case ChangeKind.MACHINE if change.part is not None:
            like = core.ids.machine_at[core.ids.machines[change.part]]
            other.apply(MachineJoined(now, Machine("another", like.capacity, like.labels)))
        case ChangeKind.ENDS:
            assert sum(change.tasks.values()) >= 1
            _no_fewer(core, name, sum(change.tasks.values()), change.machines)
            return
        case _:
            return
    assert launched(other, name) == change.starts


def _no_fewer(core: Core, name: str, count: int, machines: tuple[str, ...]) -> None:
    """One task fewer on that machine makes no room there."""
    if len(machines) > 1 or count == 1:
        return
    m = core.ids.machines[machines[0]]
    state = core.state
    there = [
        (core.book.name_of(int(task["job"])), int(task["number"]))
        for task in state.task[: int(state.header[0]["tasks"])]
        if task["state"] > 0 and task["machine"] == m and task["job"] != core.ids.jobs[name]
    ]
    slot = core.ids.jobs[name]
    for fewer in combinations(there, count - 1):
        other = copy_core(core)
        for job, number in fewer:
            other.apply(TaskFinished(core.now, job, number))
        assert not (other.state.room[m] >= core.state.demand[slot]).all()


def test_the_fewest_ends_make_room(cases: int) -> None:
    tried = 0
    for core in random_cores(FIRST, 8 * cases):
        for name, slot in list(core.ids.jobs.items()):
            if not core.state.job[slot]["waiting"] or core.state.job[slot]["cancelled"]:
                continue
            for ends in fewest_ends(core, slot):
                other = copy_core(core)
                assert int(core.state.machine[ends.machine]["state"]) == MachineState.UP
                for job, number in ends.tasks:
                    other.apply(TaskFinished(core.now, core.book.name_of(job), number))
                assert (other.state.room[ends.machine] >= core.state.demand[slot]).all(), name
                tried += 1
    assert tried


def test_the_expected_start_by_hand() -> None:
    core = core_of({"m1": {"cpu": 2}}, TWO)
    submit(
        core,
        Job("x", {"cpu": 1}, tenant="a", tasks=1, duration=30),
        Job("x2", {"cpu": 1}, tenant="a", tasks=1, duration=50),
        Job("y", {"cpu": 2}, tenant="b", tasks=1),
        Job("z", {"cpu": 1}, tenant="a", tasks=1, duration=5),
    )
    # y is ahead of z, and needs both CPUs: the small z slips in at 30 and is over before 50.
    start = expected_start(core, "y")
    assert start is not None
    assert (start.time, start.tasks, start.unknown) == (50 * SECOND, 1, 0)
    assert expected_start(core, "z") == replace(start, time=30 * SECOND, until=30 * SECOND)


def test_nobody_told_how_long() -> None:
    core = core_of({"m1": {"cpu": 2}}, TWO)
    submit(
        core, Job("x", {"cpu": 2}, tenant="a", tasks=1), Job("y", {"cpu": 2}, tenant="b", tasks=1)
    )
    assert expected_start(core, "y") is None


def test_who_told_nothing_goes_on_for_ever() -> None:
    core = core_of({"m1": {"cpu": 2}, "m2": {"cpu": 1}}, TWO)
    submit(
        core,
        Job("x", {"cpu": 2}, tenant="a", tasks=1),
        Job("x2", {"cpu": 1}, tenant="a", tasks=3, duration=10),
        Job("y", {"cpu": 2}, tenant="b", tasks=1),
    )
    start = expected_start(core, "y")
    assert start is not None
    assert start.time is None
    assert start.unknown == 1


def test_the_expected_start_is_what_then_happens(cases: int) -> None:
    """A core that is run on by hand, with tasks that take as long as was told, starts it then."""
    compared = 0
    for core in random_cores(FIRST, 8 * cases):
        for name, slot in list(core.ids.jobs.items()):
            if not core.state.job[slot]["waiting"] or core.state.job[slot]["cancelled"]:
                continue
            start = expected_start(core, name)
            if start is not None and start.time is not None:
                assert run_on(core, name, start.time) == (start.time, start.tasks)
                compared += 1
    assert compared >= 5


def run_on(core: Core, name: str, until: int) -> tuple[int, int] | None:
    """When the core launches tasks of the job, and how many."""
    other = copy_core(core)
    first = core.now + 1
    while True:
        tasks = other.state.task[: int(other.state.header[0]["tasks"])]
        ends = [
            (max(int(t["launched"] + told), first), other.book.name_of(int(t["job"])), t["number"])
            for t in tasks[tasks["state"] > 0]
            if (told := other.state.job[t["job"]]["expected"])
        ]
        moments = [end[0] for end in ends] + [wake for wake in [other.wake()] if wake is not None]
        if not moments or min(moments) > until:
            return None
        now = min(moments)
        other.apply(TimePassed(now))
        for time, job, number in ends:
            if time == now:
                other.apply(TaskFinished(now, job, int(number)))
        mine = launched(other, name)
        if mine:
            return now, mine
