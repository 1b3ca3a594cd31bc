"""Jobs as the loop takes them in, shows, changes, cancels and forgets them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

import pytest

from fairlead.engines.local.environment import RUN
from fairlead.model.command import OWN_VARIABLES
from fairlead.model.job import Job
from fairlead.model.machine import Machine
from fairlead.model.tenant import Tenant
from fairlead.scheduling.state import book
from fairlead.scheduling.transitions import TaskState
from fairlead.service.loop import dispatch
from fairlead.service.records import fold_ends
from fairlead.service.records.dump import load, take
from fairlead.service.records.people import KeyTotals
from fairlead.service.records.sizes import job_bytes
from fairlead.service.requests import (
    Caller,
    CancelJob,
    ChangeJob,
    Done,
    ForgetJob,
    MakeToken,
    PutTenant,
    Refused,
    RevokeToken,
    SubmitJobs,
    Wrong,
)
from fairlead.service.settings import Limits, Retention, Settings
from fairlead.wire.kinds import JobState, Role
from tests.engines.world import Fate
from tests.service.loop.stage import ADMIN, SECOND, Stage, job


def state(stage: Stage, name: str) -> JobState:
    record = stage.service.records.job(name)
    assert record is not None
    return record.state


def test_a_job_runs_to_its_end() -> None:
    stage = Stage(fates={"x": [Fate(SECOND)]})
    submitted = stage.submit(job("x", 6))
    assert submitted.ids == (1,)
    assert state(stage, "x") is JobState.RUNNING
    stage.settle(3)
    assert state(stage, "x") is JobState.FINISHED
    record = stage.service.records.job(1)
    assert record is not None
    assert record.counts[TaskState.FINISHED] == 6
    assert stage.world.started == 6
    assert stage.world.tasks == {}  # every end was acknowledged


def test_a_job_without_room_is_pending() -> None:
    stage = Stage()
    stage.submit(job("x", 1, demand={"cpu": 3}))
    assert state(stage, "x") is JobState.PENDING


def test_nothing_is_launched_before_the_journal_holds_it() -> None:
    stage = Stage()
    stage.submit(job("x", 2))
    held = {(e.body["task"], e.body["attempt"]) for e in stage.entries("launch")}
    assert {(a.task, a.number) for a in stage.running()} <= held


def test_a_step_in_which_nothing_happens_writes_nothing() -> None:
    stage = Stage()
    stage.submit(job("x"))
    stage.settle(1)
    before = stage.service.records.seq
    stage.settle(3)
    assert stage.service.records.seq == before


@pytest.mark.parametrize("name", ["CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"])
def test_which_gpus_a_task_sees_is_no_jobs_to_say(name: str) -> None:
    stage = Stage([Machine("m", {"cpu": 4, "gpu": 2})])
    stage.step()
    asking = job("x", demand={"cpu": 1, "gpu": 1}, env={name: "0"})
    refused = stage.refused(SubmitJobs(ADMIN, (asking,)))
    assert f'"x", env, {name}: this variable says to each task which GPUs are its' in refused.what
    refused = stage.refused(SubmitJobs(ADMIN, (job("x", env={name: "0,1"}),)))
    assert "names GPUs, and the job asks for none" in refused.what
    assert "as in gpu: 1" in refused.what
    stage.submit(job("x", env={name: ""}), job("y", env={name: "-1"}))


def test_where_nothing_counts_gpus_they_are_the_jobs_to_name() -> None:
    stage = Stage()
    stage.submit(job("x", env={"CUDA_VISIBLE_DEVICES": "1"}))
    (ran,) = stage.world.running()
    assert ran.env["CUDA_VISIBLE_DEVICES"] == "1"


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (Job("x", {"cpu": 1}, tasks=1), "it does not say what it runs"),
        (job("x", env={"FAIRLEAD_TASK": "7"}), "this variable says to each task what it is"),
        (Job("x", {"cpu": 1}, command="true"), "it does not say how many tasks it has"),
        (job("x", tenant="nobody"), 'there is no tenant "nobody"'),
        (job("x", demand={"phone": 1}), "nothing counts this resource"),
        (job("x", 1_000_001), "1000001 tasks are more than one job may have"),
    ],
)
def test_a_job_that_cannot_be_is_refused_with_a_sentence(wrong: Job, said: str) -> None:
    stage = Stage()
    stage.step()
    refused = stage.refused(SubmitJobs(ADMIN, (wrong,)))
    assert refused.wrong is Wrong.INPUT
    assert said in refused.what
    assert '"x"' in refused.what


def test_all_that_an_engine_says_to_a_task_is_no_jobs_to_say() -> None:
    stage = Stage()
    stage.submit(job("x"))
    (ran,) = stage.world.running()
    assert {*ran.variables(), RUN, "FAIRLEAD_MARK"} == OWN_VARIABLES


def test_of_several_jobs_all_are_taken_or_none() -> None:
    stage = Stage()
    stage.step()
    refused = stage.refused(SubmitJobs(ADMIN, (job("x"), job("y", tenant="nobody"), job("x"))))
    assert "nobody" in refused.what
    assert "there is a job of this name" in refused.what
    assert not stage.service.records.jobs


def test_jobs_for_which_only_the_core_sees_what_is_wrong_leave_nothing() -> None:
    stage = Stage(settings=Settings(policy="cmmf(cpu)"))
    stage.step()
    (reply,) = stage.step(SubmitJobs(ADMIN, (job("x"), job("y", demand={"memory": 1}))))
    assert isinstance(reply, Refused)
    assert reply.wrong is Wrong.INPUT
    assert "cpu" in reply.what
    assert not stage.service.records.jobs
    assert not stage.world.running()
    stage.submit(job("x"))
    stage.restart()
    assert list(stage.service.records.jobs) == [2]


def test_the_same_key_gives_the_same_answer_also_after_a_restart() -> None:
    stage = Stage()
    first = stage.submit(job("x"), job("y"), key="k")
    again = stage.submit(job("x"), job("y"), key="k")
    assert (again.ids, again.names, again.again) == (first.ids, first.names, True)
    stage.restart()
    assert stage.submit(job("x"), job("y"), key="k").again
    assert len(stage.entries("job_submitted")) == 2


def test_the_same_key_twice_in_one_step_is_one_submission() -> None:
    stage = Stage()
    request = SubmitJobs(ADMIN, (job("x"),), "k")
    first, second = stage.step(request, request)
    assert isinstance(first, Done)
    assert isinstance(second, Done)
    assert len(stage.entries("job_submitted")) == 1


def test_a_key_of_other_jobs_is_refused() -> None:
    stage = Stage()
    stage.submit(job("x"), key="k")
    refused = stage.refused(SubmitJobs(ADMIN, (job("y"),), "k"))
    assert refused.wrong is Wrong.CONFLICT


def test_a_key_is_its_callers_own() -> None:
    stage = Stage()
    stage.submit(job("x"), key="k", caller=Caller("one"))
    assert not stage.submit(job("y"), key="k", caller=Caller("two")).again


def test_two_jobs_of_one_name_in_one_step() -> None:
    stage = Stage()
    stage.step()
    first, second = stage.step(SubmitJobs(ADMIN, (job("x"),)), SubmitJobs(ADMIN, (job("x"),)))
    assert isinstance(first, Done)
    assert isinstance(second, Refused)


def test_a_name_is_taken_until_its_job_is_forgotten() -> None:
    stage = Stage(fates={"x": [Fate(SECOND, out=b"said")]})
    stage.submit(job("x"))
    assert stage.refused(ForgetJob(ADMIN, "x")).wrong is Wrong.CONFLICT
    stage.settle(2)
    refused = stage.refused(SubmitJobs(ADMIN, (job("x"),)))
    assert "not forgotten yet" in refused.what
    assert stage.world.outputs
    (done,) = stage.step(ForgetJob(ADMIN, "x"))
    assert isinstance(done, Done)
    assert not stage.world.outputs
    assert stage.submit(job("x")).ids == (2,)
    stage.restart()
    assert list(stage.service.records.jobs) == [2]


def test_a_cancelled_job_stops_and_is_over() -> None:
    stage = Stage(fates={"x": [Fate(None, grace=SECOND)]})
    stage.submit(job("x", 10))
    (done,) = stage.step(CancelJob(ADMIN, "x"))
    assert isinstance(done, Done)
    record = stage.service.records.job("x")
    assert record is not None
    assert (record.state, record.held, record.over) == (JobState.CANCELLED, 4, False)
    stage.settle(2)
    assert record.over
    assert record.counts[TaskState.DROPPED] == 10
    assert stage.running() == []


def test_to_cancel_again_changes_nothing() -> None:
    stage = Stage()
    stage.submit(job("x"))
    one, two = stage.step(CancelJob(ADMIN, 1), CancelJob(ADMIN, 1))
    assert isinstance(one, Done)
    assert isinstance(two, Done)
    assert len(stage.entries("job_cancelled")) == 1
    stage.settle(1)
    (three,) = stage.step(CancelJob(ADMIN, 1))
    assert isinstance(three, Done)


def test_a_task_that_ends_well_though_it_was_cancelled_has_finished() -> None:
    stage = Stage(fates={"x": [Fate(SECOND // 2, grace=2 * SECOND)]})
    stage.submit(job("x"))
    stage.step(CancelJob(ADMIN, "x"))
    stage.settle(3)
    assert stage.task("x").state in (TaskState.FINISHED, TaskState.DROPPED)
    assert state(stage, "x") is JobState.CANCELLED


def test_a_job_grows_and_shrinks() -> None:
    stage = Stage(fates={"x": [Fate(SECOND)]})
    stage.submit(job("x", 2))
    stage.step(ChangeJob(ADMIN, "x", 20))
    stage.settle(1)
    assert "at least" in stage.refused(ChangeJob(ADMIN, "x", 1)).what
    stage.step(ChangeJob(ADMIN, "x", 10))
    stage.settle(5)
    record = stage.service.records.job("x")
    assert record is not None
    assert (record.tasks, record.state) == (10, JobState.FINISHED)
    assert stage.refused(ChangeJob(ADMIN, "x", 9)).wrong is Wrong.CONFLICT


def test_who_is_not_there_is_not_found() -> None:
    stage = Stage()
    stage.step()
    for request in (CancelJob(ADMIN, "x"), ChangeJob(ADMIN, 7, 1), ForgetJob(ADMIN, "x")):
        assert stage.refused(request).wrong is Wrong.NOT_FOUND


def test_tenants_act_on_their_own_jobs_and_on_those_below() -> None:
    stage = Stage(settings=Settings(tenants=(Tenant("b", parent="a"), Tenant("a"), Tenant("c"))))
    a, c = Caller("ta", Role.TENANT, "a"), Caller("tc", Role.TENANT, "c")
    stage.submit(job("x"), caller=a)
    record = stage.service.records.job("x")
    assert record is not None
    assert record.tenant == "a"
    stage.submit(job("y", tenant="b"), caller=a)
    refused = stage.refused(SubmitJobs(c, (job("z", tenant="a"),)))
    assert refused.wrong is Wrong.FORBIDDEN
    for name in ("x", "y"):
        for request in (CancelJob(c, name), ChangeJob(c, name, 5), ForgetJob(c, name)):
            assert stage.refused(request).wrong is Wrong.FORBIDDEN
    (done,) = stage.step(CancelJob(a, "y"))
    assert isinstance(done, Done)
    viewer = Caller("v", Role.VIEWER)
    assert stage.refused(SubmitJobs(viewer, (job("z"),))).wrong is Wrong.FORBIDDEN
    assert stage.refused(CancelJob(viewer, "x")).wrong is Wrong.FORBIDDEN


def test_tenants_are_kept_and_parents_stay() -> None:
    stage = Stage(settings=Settings(tenants=(Tenant("a", weight=2),)))
    stage.step()
    (done,) = stage.step(PutTenant(ADMIN, Tenant("b", parent="a", user="bob")))
    assert isinstance(done, Done)
    assert "parent" in stage.refused(PutTenant(ADMIN, Tenant("b", user="bob"))).what
    refused = stage.refused(PutTenant(Caller("t", Role.TENANT, "a"), Tenant("c")))
    assert refused.wrong is Wrong.FORBIDDEN
    stage.restart()
    assert stage.service.records.user_of("b") == "bob"
    before = stage.service.records.seq
    stage.step()
    assert "tenant_changed" not in stage.kinds(before)


def test_limits_of_a_tenant() -> None:
    limits = Limits(jobs_per_tenant=2, tasks_per_tenant=10)
    stage = Stage(settings=Settings(limits=limits, tenants=(Tenant("a"), Tenant("b"))))
    stage.step()
    stage.submit(job("x", 4, tenant="a"))
    assert "tasks" in stage.refused(SubmitJobs(ADMIN, (job("y", 7, tenant="a"),))).what
    assert stage.refused(ChangeJob(ADMIN, "x", 11)).wrong is Wrong.INPUT
    never = SubmitJobs(ADMIN, tuple(job(f"y{n}", 4, tenant="b") for n in range(3)))
    assert stage.refused(never).wrong is Wrong.INPUT
    one, two = (SubmitJobs(ADMIN, (job(name, tenant="a"),)) for name in "yz")
    first, second = stage.step(one, two)
    assert isinstance(first, Done)
    assert isinstance(second, Refused)
    assert "2 is the most" in second.what
    stage.submit(job("w", 10, tenant="b"))


def test_constraints_of_a_tenant_have_so_many_terms_and_others_theirs() -> None:
    limits = Limits(terms_per_tenant=3)
    stage = Stage(settings=Settings(limits=limits, tenants=(Tenant("a"), Tenant("b"))))
    stage.step()
    stage.submit(job("x", tenant="a", where="p != 1, q != 1", exclude=["c"]))
    more = SubmitJobs(ADMIN, (job("y", tenant="a", prefer="r != 1", prefer_for=1),))
    refused = stage.refused(more)
    assert refused.wrong is Wrong.TOO_MANY
    assert "4 different terms, and 3 is the most" in refused.what
    never = SubmitJobs(
        ADMIN, (job("n", tenant="b", where=", ".join(f"p != {n}" for n in range(4))),)
    )
    refused = stage.refused(never)
    assert refused.wrong is Wrong.INPUT
    assert "may have 3 terms at most: 4 at once are never taken" in refused.what
    stage.submit(job("y", tenant="a", where="q != 1"))
    stage.submit(job("z", tenant="b", where="r != 1"))
    stage.step(CancelJob(ADMIN, "x"))
    assert isinstance(stage.step(more)[0], Refused)  # its name is taken
    stage.submit(job("w", tenant="a", prefer="r != 1", prefer_for=1))


def test_what_is_written_of_a_tenants_jobs_has_so_many_bytes_and_others_theirs() -> None:
    """However it is written: many short texts and ranges of names are what they take."""
    long = job("x", tenant="a", call="c" * 5_000, command=None)
    limits = Limits(bytes_per_tenant=job_bytes(long) + 2_000)
    stage = Stage(settings=Settings(limits=limits, tenants=(Tenant("a"), Tenant("b"))))
    stage.step()
    for more in (
        {"env": {f"v{number}": "1" for number in range(25)}},
        {"command": ["true", *"x" * 40]},
        {"command": "echo " + "\N{LATIN SMALL LETTER E WITH ACUTE}" * 1_200},
        {"command": "true", "exclude": ["m[100-140]"]},
        {"command": "true", "where": f"z notin ({','.join(f'v{n}' for n in range(40))})"},
    ):
        small, large = job("y", tenant="a"), SubmitJobs(ADMIN, (job("z", tenant="a", **more),))
        first, second, third = stage.step(
            SubmitJobs(ADMIN, (long,)), large, SubmitJobs(ADMIN, (small,))
        )
        assert isinstance(first, Done)
        assert isinstance(second, Refused)
        assert second.wrong is Wrong.TOO_MANY
        assert f'"a" has unfinished jobs of {job_bytes(long)} bytes' in second.what
        assert isinstance(third, Done)
        known = stage.service.records.totals["a"].bytes
        assert known == job_bytes(long) + job_bytes(small)
        assert load(take(stage.service.records).encode()).totals["a"].bytes == known
        assert stage.refused(large).wrong is Wrong.TOO_MANY
        never = SubmitJobs(ADMIN, tuple(replace(long, name=f"n{n}", tenant="b") for n in range(2)))
        assert stage.refused(never).wrong is Wrong.INPUT
        assert isinstance(stage.step(SubmitJobs(ADMIN, (job("w", tenant="b", **more),)))[0], Done)
        stage.step(*(CancelJob(ADMIN, name) for name in "xyw"))
        stage.settle(2)
        assert stage.service.records.totals["a"].bytes == 0
        stage.step(*(ForgetJob(ADMIN, name) for name in "xyw"))
        assert not stage.service.records.kept


def test_it_is_said_how_long_a_request_took_whatever_becomes_of_it() -> None:
    stage = Stage()
    stage.step()
    good, bad = stage.step(
        SubmitJobs(ADMIN, tuple(job(f"x{n}") for n in range(20))),
        SubmitJobs(ADMIN, tuple(job(f"y{n}", demand={"no": 1}) for n in range(20))),
    )
    assert isinstance(good, Done)
    assert isinstance(bad, Refused)
    assert good.seconds > 0
    assert bad.seconds > 0


def test_a_job_that_is_changed_twice_in_a_step_counts_once() -> None:
    limits = Limits(tasks_per_tenant=10)
    stage = Stage(settings=Settings(limits=limits, tenants=(Tenant("a"),)))
    stage.step()
    stage.submit(job("x", 4, tenant="a"))
    changes = [ChangeJob(ADMIN, "x", tasks) for tasks in (8, 9, 7, 11, 10)]
    replies = stage.step(*changes, SubmitJobs(ADMIN, (job("y", tenant="a"),)))
    assert [isinstance(reply, Done) for reply in replies] == [True, True, True, False, True, False]
    assert stage.service.records.totals["a"].tasks == 10


def test_jobs_that_are_over_are_forgotten_in_time() -> None:
    retention = Retention(time=10 * SECOND, jobs=3)
    stage = Stage(settings=Settings(retention=retention), fates={"x0": [Fate(0)]})
    for number in range(5):
        stage.fates[f"x{number}"] = [Fate(0)]
        stage.submit(job(f"x{number}"), key=f"k{number}")
        stage.settle(1)
    assert [record.name for record in stage.service.records.jobs.values()] == ["x2", "x3", "x4"]
    stage.settle(15)
    assert not stage.service.records.jobs
    assert not stage.service.records.totals
    assert stage.service.records.over_tasks == 0
    assert not stage.world.outputs


def test_one_tenant_does_not_make_the_service_forget_anothers_jobs() -> None:
    """What is kept is shared by tenant, and tasks that never ran take nothing of it."""
    settings = Settings(
        retention=Retention(jobs=6, tasks=20), tenants=(Tenant("loud"), Tenant("quiet"))
    )
    fates = {f"{name}{number}": [Fate(0)] for name in "lq" for number in range(20)}
    stage = Stage(settings=settings, fates=fates)
    for number in range(2):
        stage.submit(job(f"q{number}", tenant="quiet"), key=f"k{number}")
        stage.settle(1)
    for number in range(3):
        stage.submit(job(f"huge{number}", 100_000, tenant="loud"), key=f"h{number}")
        stage.step(CancelJob(ADMIN, f"huge{number}"))
        stage.settle(2)
    names = [record.name for record in stage.service.records.jobs.values()]
    assert names == ["q0", "q1", "huge0", "huge1", "huge2"]
    assert len(stage.service.records.table) - stage.service.records.table.free < 100
    for number in range(10):
        stage.submit(job(f"l{number}", tenant="loud"))
        stage.settle(1)
    names = [record.name for record in stage.service.records.jobs.values()]
    assert names == ["q0", "q1", "l6", "l7", "l8", "l9"]
    assert stage.submit(job("q0", tenant="quiet"), key="k0").again


def test_many_tasks_are_forgotten_of_who_has_most() -> None:
    settings = Settings(retention=Retention(tasks=12), tenants=(Tenant("loud"), Tenant("quiet")))
    stage = Stage(settings=settings, fates={name: [Fate(0)] for name in ("q", "a", "b", "c")})
    stage.submit(job("q", 3, tenant="quiet"))
    stage.settle(2)
    for name in "abc":
        stage.submit(job(name, 8, tenant="loud"))
        stage.settle(8)
    assert [record.name for record in stage.service.records.jobs.values()] == ["q", "c"]


def test_what_was_written_of_jobs_is_forgotten_of_who_has_most() -> None:
    settings = Settings(retention=Retention(bytes=6_000), tenants=(Tenant("loud"), Tenant("quiet")))
    stage = Stage(settings=settings, fates={name: [Fate(0)] for name in ("q", "a", "b", "c")})
    stage.submit(job("q", tenant="quiet"))
    stage.settle(2)
    for name in "abc":
        stage.submit(job(name, tenant="loud", env={"v": "1" * 2_000}))
        stage.settle(2)
    assert [record.name for record in stage.service.records.jobs.values()] == ["q", "b", "c"]
    kept = load(take(stage.service.records).encode()).kept
    assert {tenant: each.bytes for tenant, each in kept.items()} == {
        tenant: each.bytes for tenant, each in stage.service.records.kept.items()
    }


def test_outputs_are_forgotten_of_who_has_most() -> None:
    settings = Settings(retention=Retention(output=100), tenants=(Tenant("loud"), Tenant("quiet")))
    fates = {name: [Fate(0, out=b"x" * 40)] for name in ("q", "a", "b", "c")}
    stage = Stage(settings=settings, fates=fates)
    stage.submit(job("q", tenant="quiet"))
    stage.settle(2)
    for name in "abc":
        stage.submit(job(name, tenant="loud"))
        stage.settle(2)
    assert [record.name for record in stage.service.records.jobs.values()] == ["q", "c"]
    assert sum(len(out) for out, _ in stage.world.outputs.values()) == 80
    assert load(take(stage.service.records).encode()) == stage.service.records


def test_outputs_of_a_tenants_unfinished_jobs_have_so_many_bytes() -> None:
    """Attempts that run share the rest of it, so that it is passed by no more than they write."""
    settings = Settings(
        limits=Limits(output_per_tenant=100), tenants=(Tenant("loud"), Tenant("quiet"))
    )
    says = Fate(SECOND, out=b"x" * 30, err=b"y" * 30)
    stage = Stage(settings=settings, fates={"loud": [says], "quiet": [says]})
    stage.submit(job("loud", 40, tenant="loud", demand={"cpu": 2}))
    stage.settle(10)
    assert stage.service.records.totals["loud"].output == 120
    assert load(take(stage.service.records).encode()) == stage.service.records
    stage.restart()
    stage.settle(10)
    assert sum(len(out) + len(err) for out, err in stage.world.outputs.values()) == 120
    stage.submit(job("quiet", tenant="quiet", demand={"cpu": 2}))
    stage.settle(10)
    assert (b"x" * 30, b"y" * 30) in [*stage.world.outputs.values()][2:]


def test_an_engine_is_told_of_tenants_whose_outputs_may_be_full() -> None:
    """A line a tenant, however many of its tasks run; they are not listed."""

    class Told:
        def limit_outputs(self, most: Mapping[str, int]) -> None:
            told.append(most)

    told: list[Mapping[str, int]] = []
    fates = {"loud": [Fate(SECOND, out=b"x" * 30), *[Fate(100 * SECOND)] * 9]}
    stage = Stage(settings=Settings(tenants=(Tenant("t"), Tenant("u"))), fates=fates)
    stage.submit(job("loud", 10, tenant="t"))
    stage.submit(job("other", tenant="u"))
    stage.submit(job("alone"))
    stage.settle(5)
    records = stage.service.records
    assert records.running["t"] >= 3
    assert records.running == Counter(
        records.jobs[number].tenant
        for machine in records.machines.values()
        for number, _ in machine.held
    )
    assert load(take(records).encode()) == records
    dispatch.limit_outputs(Told(), records, 100, 30)
    assert told == [{"t": 70}]
    dispatch.limit_outputs(Told(), records, 100_000, 30)
    assert len(told) == 1


def test_what_is_said_of_the_ends_of_a_tenants_unfinished_tasks_has_so_many_bytes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fold_ends, "MOST_ENDS", 5_000)
    fails = Fate(0, code=1, message="é" * 200)
    stage = Stage(settings=Settings(tenants=(Tenant("t"),)), fates={"x": [fails], "y": [fails]})
    stage.submit(job("x", 4, tenant="t", retries=20))
    records = stage.service.records
    while records.table.attempt[0] < 12:  # more than are kept of a task
        stage.settle(1)
        assert records.totals["t"].ends <= 5_000
    x = records.names["x"]
    assert x.ends == records.totals["t"].ends > 3_000
    assert sum(len(each) for each in (x.past or {}).values()) >= 3
    assert load(take(records).encode()) == records
    stage.step(CancelJob(ADMIN, "x"))
    stage.settle(1)
    assert records.totals["t"].ends == 0
    assert records.kept["t"].bytes == x.bytes + x.ends
    stage.submit(job("y", tenant="t"))  # what is over counts no more
    stage.settle(20)
    assert stage.task("y").why == fails.message


def test_demands_that_differ_fill_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each that is new leaves an answer, as long as machines stay as they are."""
    monkeypatch.setattr(book, "MOST_FITTED", 10)
    stage = Stage()
    for number in range(25):
        stage.submit(job(f"x{number}", demand={"cpu": 1, "memory": number + 1}))
    core = stage.service.core
    assert core is not None
    for kept in (core.book._fitted, core.book._signatures):  # noqa: SLF001
        assert 0 < len(kept) <= 10


def test_names_under_keys_of_a_tenant_have_so_many_bytes() -> None:
    limits = Limits(key_bytes_per_tenant=1_000)
    stage = Stage(settings=Settings(limits=limits, tenants=(Tenant("a"), Tenant("b"))))
    stage.step()
    for name in "ab":
        stage.step(MakeToken(ADMIN, name, Role.TENANT, name, "", ""))
    one, two = (Caller(name, Role.TENANT, name) for name in "ab")
    four = tuple(job(f"x{number}") for number in range(4))
    first, second, third = stage.step(
        SubmitJobs(one, four, "k"),
        SubmitJobs(one, tuple(job(f"y{number}") for number in range(4)), "l"),
        SubmitJobs(two, tuple(job(f"z{number}") for number in range(8)), "l"),
    )
    assert isinstance(first, Done)
    assert isinstance(second, Refused)
    assert second.wrong is Wrong.TOO_MANY
    assert "would take 1018 bytes, and 1000 is the most" in second.what
    assert isinstance(third, Done)
    never = SubmitJobs(two, tuple(job(f"n{number}") for number in range(10)), "m")
    refused = stage.refused(never)
    assert refused.wrong is Wrong.INPUT
    assert "may take 1000 bytes at most: 1121 at once are never taken" in refused.what
    known = stage.service.records.key_totals
    assert known["a"] == KeyTotals(1, 101 + 4 * 102)
    assert load(take(stage.service.records).encode()).key_totals == known
    assert stage.submit(*four, key="k", caller=one).again


def test_a_key_is_known_for_its_time_whatever_becomes_of_its_jobs() -> None:
    settings = Settings(retention=Retention(time=2 * SECOND, keys=60 * SECOND))
    stage = Stage(settings=settings, fates={"x": [Fate(0)], "y": [Fate(0)]})
    first = stage.submit(job("x"), job("y"), key="k")
    stage.settle(2)
    stage.step(ForgetJob(ADMIN, "y"))
    stage.settle(8)
    assert not stage.service.records.jobs
    stage.restart()
    stage.step()
    again = stage.submit(job("x"), job("y"), key="k")
    assert (again.again, again.ids, again.names) == (True, first.ids, ("x", "y"))
    assert not stage.service.records.jobs
    stage.settle(70, SECOND)
    assert not stage.service.records.keys
    assert not stage.service.records.key_totals
    stage.restart()
    stage.step()
    assert not stage.service.records.keys
    assert not stage.submit(job("x"), job("y"), key="k").again


def test_keys_are_limited_by_tenant() -> None:
    settings = Settings(limits=Limits(keys_per_tenant=2), tenants=(Tenant("a"), Tenant("b")))
    stage = Stage(settings=settings)
    stage.step()
    for name in "ab":
        stage.step(MakeToken(ADMIN, name, Role.TENANT, name, "", ""))
    one, two = (Caller(name, Role.TENANT, name) for name in "ab")
    stage.submit(job("x"), key="k", caller=one)
    stage.submit(job("y"), key="l", caller=one)
    refused = stage.refused(SubmitJobs(one, (job("z"),), "m"))
    assert refused.wrong is Wrong.TOO_MANY
    assert stage.submit(job("x"), key="k", caller=one).again
    stage.submit(job("w"), key="m", caller=two)


def test_a_token_made_anew_for_another_tenant_has_none_of_the_keys_of_the_old_one() -> None:
    stage = Stage(settings=Settings(tenants=(Tenant("a"), Tenant("b"))))
    stage.step()
    stage.step(MakeToken(ADMIN, "ci", Role.TENANT, "a", "", ""))
    stage.submit(job("x"), key="k", caller=Caller("ci", Role.TENANT, "a"))
    for tenant, again in (("b", False), ("a", True)):
        stage.step(RevokeToken(ADMIN, "ci"))
        stage.step(MakeToken(ADMIN, "ci", Role.TENANT, tenant, "", ""))
        caller = Caller("ci", Role.TENANT, tenant)
        given = job("x") if again else job("y")
        assert stage.submit(given, key="k", caller=caller).again is again
        stage.restart()
        stage.step()


def test_a_job_that_turns_out_to_have_no_scale_has_failed() -> None:
    """Under CMMF(gpu) a job without a GPU has no scale; that is seen once it could run."""
    stage = Stage(machines=[], settings=Settings(policy="cmmf(gpu)"))
    stage.submit(job("x"))
    assert state(stage, "x") is JobState.PENDING
    stage.world.join(Machine("a", {"cpu": 2, "gpu": 1}))
    stage.settle(2)
    record = stage.service.records.job("x")
    assert record is not None
    assert record.state is JobState.FAILED
    assert "gpu" in record.reason


def test_a_cancel_in_the_step_in_which_a_task_ends() -> None:
    """The core says at once which tasks are to stop: not that one any more."""
    stage = Stage(fates={"x": [Fate(SECOND)]})
    stage.submit(job("x", 9))
    stage.step()
    (done,) = stage.step(CancelJob(ADMIN, "x"), after=2 * SECOND)
    assert isinstance(done, Done)
    record = stage.service.records.job("x")
    assert record is not None
    assert record.counts[TaskState.FINISHED] == 4
    assert record.over
    stage.restart()


def test_a_cancel_in_the_step_in_which_the_last_task_ends() -> None:
    stage = Stage(fates={"x": [Fate(SECOND)]})
    stage.submit(job("x"))
    stage.step()
    (refused,) = stage.step(CancelJob(ADMIN, "x"), after=2 * SECOND)
    assert isinstance(refused, Refused)
    assert refused.wrong is Wrong.CONFLICT
    assert state(stage, "x") is JobState.FINISHED
    stage.restart()


# Jobs that can never run

HUGE = "it can never run, because 2 machines satisfy its constraint but are too small even when"


def test_a_job_that_can_never_run_is_taken_with_a_warning_though_others_wait_before_it() -> None:
    stage = Stage(settings=Settings(tenants=(Tenant("t", limit={"cpu": 1}),)))
    stage.submit(job("before", 62))
    submitted = stage.submit(
        job("fine"),
        job("huge", demand={"cpu": 3}),
        job("limited", 2, demand={"cpu": 1}, gang=2, tenant="t"),
        job("gang", 5, gang=5),
    )
    said = {each.job: each.sentence for each in submitted.warnings}
    assert list(said) == ["huge", "limited", "gang"]
    assert said["huge"] == f"{HUGE} empty: 2 have too little cpu"
    assert said["limited"] == (
        "it can never run, because its 2 tasks that start together need 2 cpu,"
        " and tenant t may hold 1"
    )
    assert said["gang"] == (
        "it can never run, because 5 tasks start together, and all 2 machines that could run one"
        " have room for 4 when empty"
    )
    core = stage.service.core
    assert core is not None
    for name, sentence in said.items():
        assert [str(reason) for reason in core.why(name).reasons] == [sentence]


def test_strictly_nothing_is_taken_where_a_job_can_never_run() -> None:
    stage = Stage()
    jobs = (job("fine"), job("huge", demand={"cpu": 3}), job("far", where="zone = east"))
    refused = stage.refused(SubmitJobs(ADMIN, jobs, "k", strict=True))
    assert refused.wrong is Wrong.INPUT
    first, second = refused.what.splitlines()
    assert first == f'job "huge": {HUGE} empty: 2 have too little cpu'
    assert second == (
        'job "far": it can never run, because none of 2 machines satisfies its constraint:'
        " `zone = east` excludes 2; no machine has the label zone"
    )
    # What was refused used no key and no name.
    submitted = stage.submit(*jobs, key="k")
    assert not submitted.again
    assert [each.job for each in submitted.warnings] == ["huge", "far"]


def test_strictly_jobs_that_can_run_are_taken() -> None:
    stage = Stage()
    (reply,) = stage.step(SubmitJobs(ADMIN, (job("x", 9),), strict=True))
    assert isinstance(reply, Done)


def test_the_same_key_again_warns_of_what_is_still_there() -> None:
    stage = Stage()
    jobs = (job("huge", demand={"cpu": 3}), job("gone", demand={"cpu": 4}))
    first = stage.submit(*jobs, key="k")
    assert [each.job for each in first.warnings] == ["huge", "gone"]
    stage.step(CancelJob(ADMIN, "gone"))
    again = stage.submit(*jobs, key="k")
    assert (again.again, again.ids) == (True, first.ids)
    assert [each.job for each in again.warnings] == ["huge"]
    # It was accepted before: to ask strictly for the same changes nothing.
    (reply,) = stage.step(SubmitJobs(ADMIN, jobs, "k", strict=True))
    assert isinstance(reply, Done)
    assert reply.value == again


def test_what_is_for_simulations_alone_is_taken_with_a_warning() -> None:
    stage = Stage()
    jobs = (job("nightly", arrive="1h", every="24h", repeat=3), job("later", arrive="5m"))
    submitted = stage.submit(*jobs, job("plain"), key="k")
    said = {each.job: each.sentence for each in submitted.warnings}
    simulated = "in simulations alone: it was submitted once, now"
    assert said == {
        "nightly": f"arrive, every and repeat have a meaning {simulated}",
        "later": f"arrive has a meaning {simulated}",
    }
    assert stage.submit(*jobs, job("plain"), key="k").warnings == submitted.warnings
    (reply,) = stage.step(SubmitJobs(ADMIN, (job("strictly", arrive="5m"),), strict=True))
    assert isinstance(reply, Done)
