"""Why a job waits: every reason, with its counts, and that each machine is counted once."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import pytest

from fairlead.model.errors import InputError
from fairlead.model.job import Job
from fairlead.model.machine import Machine
from fairlead.model.tenant import Tenant
from fairlead.scheduling import events
from fairlead.scheduling.core import Core
from fairlead.scheduling.events import (
    Event,
    JobSubmitted,
    MachineDrained,
    MachineJoined,
    TenantChanged,
    TimePassed,
)
from fairlead.scheduling.options import Options
from fairlead.scheduling.state.ids import Unit
from fairlead.scheduling.why.values import (
    Behind,
    Cap,
    Draining,
    Excluded,
    Gang,
    NoMachine,
    NoRoom,
    OneEach,
    Prefers,
    ReservedForOthers,
    TooSmall,
)
from tests.scheduling.agreement import core_refuses, make_core
from tests.scheduling.draw import draw

SECOND = 10**6
UNITS = [Unit("cpu", Fraction(1, 2)), Unit("memory", Fraction(1)), Unit("gpu", Fraction(1, 4), 4)]


def machine(name: str, cpu: int, memory: int = 8, zone: str = "a", gpu: int = 0) -> Event:
    return MachineJoined(
        0, Machine(name, {"cpu": cpu, "memory": memory, "gpu": gpu}, {"zone": zone})
    )


def core_with(*told: Event, reserve_after: int | None = None) -> Core:
    core = Core(UNITS, policy="tsf", options=Options(reserve_after=reserve_after), checked=True)
    for event in told:
        core.handle(event)
    return core


def sentences(core: Core, job: str) -> Sequence[str]:
    return core.why(job).sentences()


def test_no_machine_at_all() -> None:
    core = core_with(JobSubmitted(0, Job("j", {"cpu": 1}, tasks=2)))
    assert core.why("j").reasons == (NoMachine(),)
    assert sentences(core, "j") == ("runs 0 of 2; 2 wait", "there is no machine")


def test_no_machine_satisfies_the_constraint() -> None:
    job = Job("j", {"cpu": 1}, where="zone = b, gpu", machines=["m1"], exclude=["m2"])
    core = core_with(
        machine("m1", 4), machine("m2", 4), machine("m3", 4, zone="b"), JobSubmitted(0, job)
    )
    parts = (("zone = b", 2), ("gpu", 3), ("machines", 2), ("exclude", 1))
    assert core.why("j").reasons == (
        Excluded(3, parts, ("no machine has the label gpu; there is zone",)),
    )
    assert sentences(core, "j")[1] == (
        "it can never run, because none of 3 machines satisfies its constraint: `zone = b`"
        " excludes 2, `gpu` excludes 3, `machines` excludes 2, `exclude` excludes 1;"
        " no machine has the label gpu; there is zone"
    )


def test_too_small_even_when_empty() -> None:
    job = Job("j", {"cpu": 3, "memory": 16}, where="zone = a")
    core = core_with(
        machine("m1", 4), machine("m2", 2), machine("m3", 4, zone="b"), JobSubmitted(0, job)
    )
    assert core.why("j").reasons == (TooSmall(2, (("cpu", 1), ("memory", 2))),)
    assert core.why("j").machines.excluded == 1


def test_a_part_of_a_device_is_too_much_where_no_piece_has_it() -> None:
    one = Fraction(1)
    half, most = {"cpu": one, "gpu": Fraction(1, 2)}, {"cpu": one, "gpu": Fraction(3, 4)}
    core = core_with(
        machine("m1", 8, gpu=2),
        JobSubmitted(0, Job("halves", half, tasks=1)),
        JobSubmitted(0, Job("most", most, tasks=2)),
    )
    # A half and a quarter are free, in two pieces.
    assert core.why("most").reasons == (NoRoom(1, (("gpu", 1),), 1),)


def test_no_room_now_and_others_come_first() -> None:
    core = core_with(
        machine("m1", 2),
        machine("m2", 4, memory=1),
        JobSubmitted(0, Job("first", {"cpu": 2, "memory": 1})),
        JobSubmitted(0, Job("second", {"cpu": 2, "memory": 1})),
        JobSubmitted(0, Job("third", {"cpu": 2, "memory": 1})),
    )
    assert core.why("third").reasons == (
        NoRoom(2, (("cpu", 1), ("memory", 1)), 2),
        Behind(0.0, 1, (("second", 0.0),)),
    )
    assert core.why("first").running == 2
    assert sentences(core, "third") == (
        "runs 0; any number waits",
        (
            "too little cpu is free on 1, too little memory on 1,"
            " of the 2 machines that could run it"
        ),
        "its level (share ÷ weight) is 0; 1 job comes first: second (0)",
    )


def test_jobs_that_compete_for_other_machines_are_not_named() -> None:
    core = core_with(
        machine("m1", 2, zone="a"),
        machine("m2", 2, zone="b"),
        machine("m3", 2, zone="c", gpu=1),
        JobSubmitted(0, Job("full", {"cpu": 2}, tasks=3)),
        JobSubmitted(0, Job("other", {"cpu": 1}, where="zone = b")),
        JobSubmitted(0, Job("listed", {"cpu": 1}, machines=["m2", "m3"])),
        JobSubmitted(0, Job("large", {"cpu": 1, "gpu": 1})),
        JobSubmitted(0, Job("rival", {"cpu": 1}, exclude=["m2"])),
        JobSubmitted(0, Job("mine", {"cpu": 1}, where="zone = a")),
    )
    assert core.why("mine").reasons == (
        NoRoom(1, (("cpu", 1),), 1),
        Behind(0.0, 1, (("rival", 0.0),)),
    )
    assert core.why("large").reasons == (
        NoRoom(1, (("cpu", 1),), 1),
        Behind(0.0, 1, (("listed", 0.0),)),
    )
    assert core.why("other").reasons == (NoRoom(1, (("cpu", 1),), 1),)


def test_a_job_that_only_wants_machines_which_drain_is_behind_nobody() -> None:
    core = core_with(
        machine("m1", 2, zone="a"),
        machine("m2", 2, zone="b"),
        JobSubmitted(0, Job("full", {"cpu": 2}, tasks=2)),
        JobSubmitted(0, Job("first", {"cpu": 1})),
        JobSubmitted(0, Job("mine", {"cpu": 1}, where="zone = a")),
        MachineDrained(0, "m1"),
    )
    assert not any(isinstance(each, Behind) for each in core.why("mine").reasons)
    assert any(isinstance(each, Draining) for each in core.why("mine").reasons)


def test_jobs_that_can_never_run_come_before_nobody() -> None:
    core = core_with(
        TenantChanged(0, Tenant("all", limit={"cpu": 3})),
        TenantChanged(0, Tenant("ops", parent="all")),
        machine("m1", 4),
        machine("m2", 4),
        JobSubmitted(0, Job("full", {"cpu": 4}, tasks=2)),
        JobSubmitted(0, Job("over", {"cpu": 4}, tenant="ops")),
        JobSubmitted(0, Job("gang", {"cpu": 4}, tasks=3, gang=3)),
        JobSubmitted(0, Job("spread", {"cpu": 1}, tasks=3, gang=3, spread=True)),
        JobSubmitted(0, Job("pair", {"cpu": 4}, tasks=2, gang=2)),
        JobSubmitted(0, Job("mine", {"cpu": 1})),
    )
    assert core.why("mine").reasons == (
        NoRoom(2, (("cpu", 2),), 2),
        Behind(0.0, 1, (("pair", 0.0),)),
    )


def test_a_gang_that_does_not_fit() -> None:
    core = core_with(
        machine("m1", 2),
        machine("m2", 2),
        JobSubmitted(0, Job("one", {"cpu": 1}, tasks=1)),
        JobSubmitted(0, Job("j", {"cpu": 1}, tasks=8, gang=4)),
    )
    assert Gang(4, 3) in core.why("j").reasons
    assert "4 tasks start together, and 3 fit now" in sentences(core, "j")


def test_a_cap_of_a_tenant_above() -> None:
    core = core_with(
        machine("m1", 8),
        events.TenantChanged(0, Tenant("top", limit={"cpu": 2})),
        events.TenantChanged(0, Tenant("low", parent="top")),
        JobSubmitted(0, Job("j", {"cpu": 1}, tenant="low")),
    )
    assert core.why("j").reasons == (Cap("top", "cpu", Fraction(2), Fraction(2)),)
    assert sentences(core, "j")[1] == "tenant top holds 2 cpu of the 2 that it may hold"


def test_waiting_for_a_preferred_machine() -> None:
    job = Job("j", {"cpu": 1}, tasks=3, prefer="zone = b", prefer_for=30)
    core = core_with(machine("m1", 8), machine("m2", 1, zone="b"), JobSubmitted(0, job))
    core.handle(TimePassed(10 * SECOND))
    expected = Prefers(30 * SECOND, Fraction(20), machines=1, others=1)
    assert expected in core.why("j").reasons
    assert core.why("j").machines.not_preferred == 1


def test_one_on_each_machine_and_draining() -> None:
    core = core_with(
        machine("m1", 8),
        machine("m2", 8),
        events.MachineDrained(0, "m2"),
        JobSubmitted(0, Job("j", {"cpu": 1}, tasks=3, spread=True)),
    )
    assert core.why("j").reasons == (Draining(1), OneEach(1))


def test_reserved_for_it_and_for_others() -> None:
    core = core_with(
        machine("m1", 2),
        JobSubmitted(0, Job("small", {"cpu": Fraction(1, 2)})),
        JobSubmitted(0, Job("large", {"cpu": 2})),
        reserve_after=10 * SECOND,
    )
    core.handle(TimePassed(10 * SECOND))
    core.handle(events.TaskFinished(11 * SECOND, "small", 0))
    assert (
        "m1 is reserved for it, for 1.0 s already, and 100 s more if no task ends there;"
        " tasks run there that are to end first: 3 of small"
    ) in sentences(core, "large")
    assert ReservedForOthers(1, (("large", 1),), Fraction(100)) in core.why("small").reasons
    assert (
        "1 machine is reserved for others: 1 for large; for 100 s if no task ends there"
        in sentences(core, "small")
    )


def test_who_held_machines_in_vain_rests() -> None:
    core = core_with(
        machine("m1", 2),
        events.TenantChanged(0, Tenant("t")),
        JobSubmitted(0, Job("small", {"cpu": Fraction(1, 2)})),
        JobSubmitted(0, Job("large", {"cpu": 2}, tenant="t")),
        reserve_after=10 * SECOND,
    )
    core.handle(TimePassed(10 * SECOND))
    core.handle(TimePassed(110 * SECOND))
    core.handle(TimePassed(115 * SECOND))
    core.handle(JobSubmitted(115 * SECOND, Job("again", {"cpu": 2}, tenant="t")))
    rests = (
        "1 machine was reserved for a job of tenant t for 100 s in vain, until 5.0 s ago;"
        " for 15 min more none is"
    )
    assert rests in sentences(core, "large")
    assert rests in sentences(core, "again")
    assert not any("in vain" in each for each in sentences(core, "small"))


def test_a_job_that_does_not_wait_has_an_answer() -> None:
    core = core_with(machine("m1", 8), JobSubmitted(0, Job("j", {"cpu": 1}, tasks=5)))
    core.handle(events.TaskFinished(0, "j", 0))
    core.handle(events.TaskFailed(0, "j", 1))
    assert core.why("j").reasons == ()
    assert sentences(core, "j") == ("runs 3 of 5, 2 have ended; nothing waits",)
    core.handle(events.JobCancelled(0, "j"))
    assert sentences(core, "j")[0].startswith("runs 0 of 5, 3 are being stopped")


def test_a_job_that_is_not_there_is_refused() -> None:
    with pytest.raises(InputError):
        core_with().why("nobody")


@pytest.mark.parametrize("chunk", range(4))
def test_every_machine_is_counted_once_and_who_waits_has_a_reason(chunk: int, cases: int) -> None:
    for number in range(3 * cases):
        case = draw(400_000 + chunk + 4 * number)
        core = make_core(case)
        there: set[str] = set()
        jobs: list[str] = []
        for instant in case.instants:
            for event in instant:
                if core_refuses(core, event):
                    continue
                if isinstance(event, MachineJoined):
                    there.add(event.machine.name)
                elif isinstance(event, events.MachineLeft):
                    there.discard(event.machine)
                elif isinstance(event, JobSubmitted):
                    jobs.append(event.job.name)
            core.decide()
            for job in jobs:
                try:
                    why = core.why(job)
                except InputError:
                    continue  # it is over, and forgotten
                assert why.machines.total == len(there)
                assert bool(why.reasons) == (why.waiting != 0)
                assert all(sentence for sentence in why.sentences())


def test_what_is_lacking_is_said_first() -> None:
    assert str(NoRoom(1, (("cpu", 1), ("gpu", 1)), 1)) == (
        "too little cpu and gpu is free on the one machine that could run it"
    )
    assert str(NoRoom(3, (("cpu", 3),), 5)) == (
        "too little cpu is free on 3 of the 5 machines that could run it"
    )
    assert str(NoRoom(6, (("cpu", 6),), 10, room=4)) == (
        "too little cpu is free on 6 of the 10 machines that could run it; 4 have room"
    )
