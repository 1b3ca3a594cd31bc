"""Machines as they join, change, fail, are drained and go; tokens."""

from __future__ import annotations

from fairlead.model.machine import Machine
from fairlead.model.tenant import Tenant
from fairlead.scheduling.transitions import TaskState
from fairlead.service.records.people import MachineRecord
from fairlead.service.requests import (
    Caller,
    CancelJob,
    Done,
    DrainMachine,
    MakeToken,
    Refused,
    RevokeToken,
    Wrong,
)
from fairlead.service.settings import Settings
from fairlead.wire.kinds import Role
from tests.engines.fake import Call
from tests.engines.world import Fate
from tests.service.loop.stage import ADMIN, SECOND, Stage, job

ONE = (Machine("a", {"cpu": 2, "memory": 2**30}),)
SHORT = Settings(lost_after=5 * SECOND)


def record(stage: Stage, name: str = "a") -> MachineRecord:
    return stage.service.records.machines[name]


def test_machines_come_change_and_go() -> None:
    stage = Stage(machines=[])
    stage.submit(job("x", 3))
    stage.world.join(ONE[0])
    stage.settle(2)
    assert len(stage.running()) == 2
    stage.world.join(Machine("a", {"cpu": 3, "memory": 2**30}, {"zone": "east"}))
    stage.settle(2)
    assert len(stage.running()) == 3
    stage.world.leave("a")
    stage.settle(2)
    found = stage.service.records.job("x")
    assert found is not None
    assert found.waiting == 3
    stage.restart()
    stage.world.join(ONE[0])
    stage.settle(12)  # it failed, so it gets nothing for a while
    assert len(stage.running()) == 2


def test_a_machine_that_cannot_be_counted_is_told_of_once_and_joins_once_it_can() -> None:
    stage = Stage(machines=ONE)
    stage.world.join(Machine("b", {"cpu": 2 * 10**19}))
    stage.settle(3)
    (said,) = stage.service.machines.take_untold()
    assert said.startswith('a machine is not taken in as it is: machine "b", capacity, cpu: the')
    stage.settle(3)
    assert stage.service.machines.take_untold() == []
    stage.world.join(Machine("b", {"cpu": 2}))
    stage.settle(2)
    assert record(stage, "b").machine is not None
    stage.world.join(Machine("b", {"cpu": 2 * 10**19}))
    stage.settle(2)
    assert len(stage.service.machines.take_untold()) == 1


def test_tasks_of_a_machine_that_left_wait_at_the_head_of_their_jobs() -> None:
    stage = Stage()
    stage.submit(job("x", 3), job("y", 5))
    held = list(record(stage).held)
    assert len(held) == 2
    stage.world.leave("a")
    stage.settle(2)
    for number, task in held:
        name = stage.service.records.jobs[number].name
        assert stage.task(name, task).state is TaskState.WAITING
        assert stage.task(name, task).tries == 1
    stage.world.join(stage.world_machines["a"])
    stage.settle(12)
    for number, task in held:
        name = stage.service.records.jobs[number].name
        assert stage.task(name, task).state is TaskState.RUNNING


def test_what_must_not_run_twice_has_failed_with_its_machine() -> None:
    stage = Stage(machines=ONE)
    stage.submit(job("x", rerunnable=False), job("y"))
    stage.world.trouble("a")
    stage.settle(62)
    assert stage.task("x").state is TaskState.FAILED
    assert stage.task("y").state is TaskState.WAITING


def test_a_machine_that_hung_is_used_again_once_nothing_of_before_runs_there() -> None:
    """Never two attempts at once, and never more than it holds; also over a restart."""
    stage = Stage(machines=ONE, settings=SHORT, fates={"x": [Fate(None, grace=4 * SECOND)]})
    stage.submit(job("x", 2, retries=9))
    stage.world.trouble("a")
    stage.settle(8)
    assert record(stage).machine is None
    assert len(record(stage).given_up) == 2
    stage.step(CancelJob(ADMIN, "z"))
    stage.restart()
    stage.world.mend("a")
    for _ in range(60):
        stage.step(after=SECOND // 4)
        assert stage.world.overloaded() == []
    assert stage.task("x").state is TaskState.RUNNING
    assert stage.task("x").attempt == 2
    assert not record(stage).given_up


def test_trouble_drains_a_machine_for_growing_times() -> None:
    stage = Stage(machines=ONE, fates={"x": [Fate(None)]})
    stage.submit(job("x", 1, retries=99))
    waits = []
    for _ in range(3):
        stage.world.trouble("a", "it burns")
        stage.settle(2)
        quarantine = record(stage).quarantine
        assert quarantine is not None
        assert quarantine.why == "it burns"
        assert record(stage).draining
        waits.append(quarantine.failures)
        stage.world.mend("a")
        before = stage.now
        while record(stage).quarantine is not None:
            stage.step(after=SECOND)
        waits.append((stage.now - before) // SECOND)
        assert not record(stage).draining
    assert waits[::2] == [1, 2, 3]
    assert 6 <= waits[1] <= 10
    assert 16 <= waits[3] <= 20
    assert 36 <= waits[5] <= 40


def test_waits_have_an_end() -> None:
    settings = Settings(quarantine=SECOND, quarantine_most=4 * SECOND)
    stage = Stage(machines=ONE, settings=settings)
    stage.step()
    for _ in range(6):
        stage.world.trouble("a")
        stage.settle(2)
        stage.world.mend("a")
        stage.settle(6)
    spans = [e.body["until"] - e.time for e in stage.entries("machine_quarantined")]
    assert [span // SECOND for span in spans] == [1, 2, 4, 4, 4, 4]


def test_a_good_end_makes_the_next_wait_short_again() -> None:
    stage = Stage(machines=ONE, fates={"x": [Fate(SECOND)]})
    stage.step()
    stage.world.trouble("a")
    stage.settle(2)
    stage.world.mend("a")
    stage.settle(12)
    assert record(stage).failures == 1
    stage.submit(job("x"))
    stage.settle(3)
    assert record(stage).failures == 0


def test_a_loss_that_is_the_machines_fault_quarantines_it() -> None:
    stage = Stage()
    stage.submit(job("x", 1))
    name = stage.task("x").machine
    assert name is not None
    stage.world.leave(name)
    stage.world.join(stage.world_machines[name])
    stage.settle(2)
    assert record(stage, name).quarantine is not None
    assert stage.task("x").machine != name
    assert stage.task("x").state is TaskState.RUNNING


def test_a_machine_in_trouble_for_long_is_given_up() -> None:
    stage = Stage(settings=SHORT)
    stage.submit(job("x", 2))
    stage.world.trouble("a")
    stage.settle(4)
    assert record(stage).machine is not None
    stage.settle(3)
    assert "a" not in stage.service.records.machines or record(stage).machine is None
    stage.settle(2)
    assert stage.task("x").state is TaskState.RUNNING


def test_a_short_trouble_loses_nothing() -> None:
    stage = Stage(machines=ONE)
    stage.submit(job("x", 2))
    stage.world.trouble("a")
    stage.settle(30)
    stage.world.mend("a")
    stage.settle(30)
    assert stage.world.started == 2
    assert not record(stage).draining


def test_a_machine_that_is_not_there_is_answered_with_the_nearest_name() -> None:
    stage = Stage(machines=[Machine("node1", {"cpu": 2, "memory": 2**30})])
    stage.step()
    sentence = 'there is no machine "nod1"; did you mean "node1"?'
    assert stage.refused(DrainMachine(ADMIN, "nod1")).what == sentence


def test_a_drained_machine_gets_nothing_until_it_is_back() -> None:
    stage = Stage(machines=ONE)
    stage.step()
    (done,) = stage.step(DrainMachine(ADMIN, "a"))
    assert isinstance(done, Done)
    stage.submit(job("x"))
    stage.settle(2)
    assert not stage.running()
    stage.step(DrainMachine(ADMIN, "a", back=True))
    stage.settle(1)
    assert len(stage.running()) == 1


def test_draining_lasts_over_trouble_restart_and_absence() -> None:
    stage = Stage(machines=ONE, settings=SHORT)
    stage.step()
    stage.world.trouble("a")
    stage.settle(1)
    stage.step(DrainMachine(ADMIN, "a"))
    stage.world.mend("a")
    stage.settle(30)
    assert record(stage).quarantine is None
    assert record(stage).draining
    stage.restart()
    stage.world.leave("a")
    stage.settle(2)
    stage.world.join(ONE[0])
    stage.settle(2)
    assert (record(stage).machine, record(stage).draining) == (ONE[0], True)
    before = stage.service.records.seq
    stage.step(DrainMachine(ADMIN, "a"))
    assert stage.kinds(before) == []
    stage.step(DrainMachine(ADMIN, "a", back=True))
    assert not record(stage).draining


def test_back_does_not_end_a_quarantine() -> None:
    stage = Stage(machines=ONE)
    stage.step()
    stage.step(DrainMachine(ADMIN, "a"))
    stage.world.trouble("a")
    stage.settle(2)
    stage.step(DrainMachine(ADMIN, "a", back=True))
    assert record(stage).draining
    stage.world.mend("a")
    stage.settle(30)
    assert not record(stage).draining


def test_who_may_drain() -> None:
    stage = Stage()
    stage.step()
    assert stage.refused(DrainMachine(ADMIN, "z")).wrong is Wrong.NOT_FOUND
    assert stage.refused(DrainMachine(Caller("v", Role.VIEWER), "a")).wrong is Wrong.FORBIDDEN


def test_a_machine_that_cannot_be_used_has_a_problem_and_the_others_go_on() -> None:
    stage = Stage(machines=[*ONE, Machine("odd", {"gpu": 100})])
    stage.step()
    assert "odd" not in stage.service.records.machines
    assert "devices" in stage.service.machines.problems["odd"]
    stage.world.join(Machine("more", {"cpu": "1.0005", "phone": 3}))
    stage.settle(2)
    assert "phone" in stage.service.machines.problems["more"]
    more = record(stage, "more").machine
    assert more is not None
    assert dict(more.capacity) == {"cpu": 1}


def test_nodes_that_cannot_be_asked_for_now_are_asked_for_later() -> None:
    stage = Stage()
    stage.faults.plant(Call.NODES)
    stage.step()
    assert not stage.service.ready
    assert stage.service.core is None
    (refused,) = stage.step(CancelJob(ADMIN, "x"))
    assert isinstance(refused, Refused)
    assert refused.wrong is Wrong.UNAVAILABLE
    stage.settle(2)
    assert stage.service.ready


def token(name: str, role: Role = Role.ADMIN, tenant: str | None = None) -> MakeToken:
    return MakeToken(ADMIN, name, role, tenant, "salt", "hash")


def test_tokens_are_kept_and_revoked() -> None:
    stage = Stage(settings=Settings(tenants=(Tenant("t"),)))
    stage.step()
    one, two, three = stage.step(token("a"), token("a"), token("b", Role.TENANT, "t"))
    assert (type(one), type(two), type(three)) == (Done, Refused, Done)
    stage.restart()
    assert list(stage.service.records.tokens) == ["a", "b"]
    assert stage.service.records.tokens["b"].tenant == "t"
    revoke = RevokeToken(ADMIN, "a", lock_out=True)
    first, second = stage.step(revoke, revoke)
    assert (type(first), type(second)) == (Done, Refused)
    assert list(stage.service.records.tokens) == ["b"]
    assert stage.refused(token("c", Role.TENANT)).wrong is Wrong.INPUT
    assert stage.refused(token("c", Role.TENANT, "nobody")).wrong is Wrong.NOT_FOUND
    tenant = Caller("b", Role.TENANT, "t")
    assert stage.refused(RevokeToken(tenant, "b")).wrong is Wrong.FORBIDDEN


def test_nobody_locks_out_himself_or_all_by_chance() -> None:
    stage = Stage()
    stage.step()
    stage.step(token("a"), token("b"))
    own = stage.refused(RevokeToken(Caller("a"), "a"))
    assert (own.wrong, own.mistakes[0].what) == (
        Wrong.CONFLICT,
        '"a" is the token that is asked with',
    )
    one, last = stage.step(RevokeToken(Caller("a"), "b"), RevokeToken(ADMIN, "a"))
    assert (type(one), type(last)) == (Done, Refused)
    last = stage.refused(RevokeToken(ADMIN, "a"))
    assert last.mistakes[0].what == '"a" is the last token of an administrator'
    stage.step(RevokeToken(Caller("a"), "a", lock_out=True))
    assert not stage.service.records.tokens


def test_a_machine_that_is_drained_in_the_step_in_which_it_leaves() -> None:
    stage = Stage()
    stage.step()
    stage.world.leave("a")
    (refused,) = stage.step(DrainMachine(ADMIN, "a"), after=2 * SECOND)
    assert isinstance(refused, Refused)
    stage.restart()
    assert list(stage.service.records.machines) == ["b"]


def test_a_machine_that_left_in_quarantine_is_forgotten_in_time() -> None:
    stage = Stage()
    stage.step()
    stage.world.trouble("a")
    stage.settle(2)
    stage.world.leave("a")
    stage.settle(4)
    assert record(stage).quarantine is not None
    stage.settle(8)
    assert list(stage.service.records.machines) == ["b"]
    stage.restart()


def test_what_runs_on_a_machine_that_is_given_up_is_told_to_stop() -> None:
    stage = Stage(settings=SHORT)
    stage.submit(job("x", 1))
    name = stage.task("x").machine
    assert name is not None
    stage.world.trouble(name)
    stage.settle(10)
    assert [(each.job, each.task, each.number) for each in stage.running()] == [(1, 0, 2)]
