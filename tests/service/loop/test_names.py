"""Names of jobs are their tenants' own: equal ones beside each other, and who means which."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from fairlead.model.errors import InputError
from fairlead.model.job import Job
from fairlead.model.tenant import Tenant
from fairlead.model.values import LONGEST_NAME
from fairlead.service.journal.places import open_store
from fairlead.service.loop.loop import Service
from fairlead.service.records.lookup import display_name, find
from fairlead.service.requests import (
    Caller,
    CancelJob,
    CancelJobs,
    CancelledJobs,
    ChangeJob,
    Done,
    ForgetJob,
    ForgetJobs,
    PutTenant,
    Request,
    SubmitJobs,
    Wrong,
)
from fairlead.service.settings import Settings
from fairlead.wire.kinds import Role
from tests.engines.fake import FakeEngine
from tests.engines.world import Fate, World, lasting
from tests.service.loop.stage import ADMIN, MACHINES, SECOND, Stage, job

BEFORE = Path(__file__).parent / "before_names.sql"
"""A journal of the version before: jobs `nightly` and `done` of vision, one of which is over, and
`team/one` of nobody, with the key `k` for the first two."""

TENANTS = (
    Tenant("org"),
    Tenant("vision", parent="org"),
    Tenant("language", parent="org"),
    Tenant("sales"),
)

VIEWER = Caller("eyes", Role.VIEWER)


def of(tenant: str) -> Caller:
    return Caller(tenant, Role.TENANT, tenant)


def staged(**more: list[Fate]) -> Stage:
    return Stage(settings=Settings(tenants=TENANTS), fates=more)


def nightly(stage: Stage, *tenants: str | None) -> list[int]:
    """Each of them has a job of this name; their numbers."""
    return [stage.submit(job("nightly", tenant=tenant)).ids[0] for tenant in tenants]


def means(stage: Stage, caller: Caller, name: str) -> int | None:
    found = find(stage.service.records, caller, name)
    return None if found is None else found.id


def names(stage: Stage, caller: Caller) -> list[str]:
    """What the caller is told of the jobs' names, each of which he then finds by it."""
    records = stage.service.records
    found = [display_name(records, caller, each) for each in records.jobs.values()]
    assert [means(stage, caller, name) for name in found] == list(records.jobs)
    return found


def test_a_name_that_another_tenant_has_is_free() -> None:
    stage = staged()
    done = stage.submit(job("nightly"), caller=of("sales"))
    again = stage.submit(job("nightly"), job("weekly"), caller=of("vision"))
    assert (done.names, again.names) == (("nightly",), ("nightly", "weekly"))
    refused = stage.refused(SubmitJobs(of("vision"), (job("nightly"),)))
    assert (refused.wrong, "there is a job of this name" in refused.what) == (Wrong.INPUT, True)


def test_in_the_journal_each_has_a_name_that_no_other_has() -> None:
    stage = staged()
    nightly(stage, "sales", "vision", None)
    bodies = [entry.body for entry in stage.entries("job_submitted")]
    assert [body["job"]["name"] for body in bodies] == ["nightly", "vision/nightly", "/nightly"]
    assert [body.get("called") for body in bodies] == [None, "nightly", "nightly"]


def test_who_names_a_job_means_his_own_first_and_nobody_guesses() -> None:
    stage = staged()
    sales, vision = nightly(stage, "sales", "vision")
    assert means(stage, of("sales"), "nightly") == sales
    assert means(stage, of("vision"), "nightly") == vision
    assert means(stage, of("org"), "nightly") == vision  # the only one below
    assert means(stage, of("language"), "vision/nightly") == vision
    for caller in (ADMIN, VIEWER, of("language")):
        with pytest.raises(InputError) as error:
            means(stage, caller, "nightly")
        assert str(error.value) == (
            '2 tenants have a job "nightly"; write which one: sales/nightly or vision/nightly'
        )
    (language,) = nightly(stage, "language")
    with pytest.raises(InputError, match=r"2 tenants .* vision/nightly or language/nightly"):
        means(stage, of("org"), "nightly")
    assert means(stage, ADMIN, "language/nightly") == language
    assert means(stage, ADMIN, "org/nightly") is None


def test_everybody_is_told_names_by_which_he_finds_the_job() -> None:
    stage = staged()
    nightly(stage, "sales", "vision", None)
    stage.submit(job("weekly", tenant="vision"))
    assert names(stage, ADMIN) == ["sales/nightly", "vision/nightly", "/nightly", "weekly"]
    assert names(stage, VIEWER) == names(stage, ADMIN)
    assert names(stage, of("sales")) == ["nightly", "vision/nightly", "/nightly", "weekly"]
    assert names(stage, of("vision")) == ["sales/nightly", "nightly", "/nightly", "weekly"]


def test_what_is_left_of_several_has_its_name_alone_again() -> None:
    stage = staged(nightly=[Fate(0)])
    nightly(stage, "sales", "vision")
    stage.settle(2)
    stage.step(ForgetJob(ADMIN, "sales/nightly"))
    assert names(stage, ADMIN) == ["nightly"]
    assert means(stage, ADMIN, "vision/nightly") == means(stage, ADMIN, "nightly") == 2
    nightly(stage, "sales")
    assert names(stage, ADMIN) == ["vision/nightly", "sales/nightly"]
    assert names(stage, of("vision")) == ["nightly", "sales/nightly"]


def test_requests_act_on_the_job_that_the_caller_means() -> None:
    stage = staged()
    sales, vision = nightly(stage, "sales", "vision")
    jobs = stage.service.records.jobs
    assert isinstance(stage.step(ChangeJob(of("vision"), "nightly", 3))[0], Done)
    assert (jobs[sales].tasks, jobs[vision].tasks) == (1, 3)
    stage.step(CancelJob(of("sales"), "nightly"))
    assert (jobs[sales].cancelled, jobs[vision].cancelled) == (True, False)
    refused = stage.refused(CancelJob(ADMIN, "nightly"))
    assert (refused.wrong, "sales/nightly or vision/nightly" in refused.what) == (Wrong.INPUT, True)
    refused = stage.refused(CancelJob(of("sales"), "vision/nightly"))
    assert refused.what == (
        'job "vision/nightly": this token may not act on it; it is for tenant "sales" and those'
        " below it"
    )
    both = ("nightly", "vision/nightly")  # the same one
    (done,) = stage.step(CancelJobs(of("vision"), both))
    assert isinstance(done, Done)
    assert done.value == CancelledJobs((vision,), frozenset([vision]))
    refused = stage.refused(ForgetJobs(ADMIN, ("vision/nightly", "nightly")))
    assert refused.wrong is Wrong.INPUT


def test_all_jobs_of_a_tenant_are_cancelled_and_no_others_of_their_names() -> None:
    stage = staged()
    sales, vision = nightly(stage, "sales", "vision")
    stage.step(CancelJobs(of("vision"), tenant="vision"))
    jobs = stage.service.records.jobs
    assert (jobs[sales].cancelled, jobs[vision].cancelled) == (False, True)


def test_equal_names_in_one_step() -> None:
    stage = staged()
    replies = stage.step(
        *(SubmitJobs(of(tenant), (job("x"),)) for tenant in ("sales", "vision", "sales"))
    )
    assert [isinstance(reply, Done) for reply in replies] == [True, True, False]
    assert names(stage, of("vision")) == ["sales/x", "x"]


def test_a_key_gives_the_same_answer_whoever_else_has_the_name() -> None:
    stage = staged()
    nightly(stage, "sales")
    first = stage.submit(job("nightly"), job("b"), key="k", caller=of("vision"))
    stage.restart()
    stage.step()
    again = stage.submit(job("nightly"), job("b"), key="k", caller=of("vision"))
    assert (again.ids, again.names, again.again) == (first.ids, ("nightly", "b"), True)


def test_names_are_known_after_a_restart_from_entries_and_from_a_snapshot() -> None:
    stage = staged()
    nightly(stage, "sales", "vision", None)
    before = names(stage, of("vision"))
    for closes in (False, True):
        if closes:
            stage.service.close()
        stage.restart()
        stage.step()
        assert names(stage, of("vision")) == before
        assert stage.refused(SubmitJobs(of("vision"), (job("nightly"),)))
    assert stage.submit(job("nightly"), caller=of("language")).ids == (4,)


def test_a_task_is_told_the_name_that_its_tenant_gave() -> None:
    stage = staged()
    nightly(stage, "sales", "vision", None)
    ran = [each.variables() for each in stage.world.running()]
    assert [each["FAIRLEAD_JOB"] for each in ran] == ["nightly"] * 3
    assert [each["FAIRLEAD_TENANT"] for each in ran] == ["sales", "vision", "nightly"]


def test_a_new_name_holds_no_slash() -> None:
    stage = staged()
    refused = stage.refused(SubmitJobs(of("sales"), (job("vision/x"),)))
    assert refused.what == (
        'job "vision/x": the name of a job holds no "/": TENANT/NAME is a job of that tenant;'
        ' write "vision-x"'
    )


def test_mistakes_are_told_of_the_name_that_was_given() -> None:
    stage = staged()
    nightly(stage, "sales")
    wrong = Job("nightly", {"lamps": 1}, tasks=1, command="x")
    refused = stage.refused(SubmitJobs(of("vision"), (wrong,)))
    assert refused.what.startswith('job "nightly", demand, lamps: ')


def test_names_as_long_as_can_be() -> None:
    stage = staged()
    long = "x" * LONGEST_NAME
    for tenant in ("sales", "vision", "language"):
        stage.submit(job(long, tenant=tenant))
    assert names(stage, ADMIN) == [f"{tenant}/{long}" for tenant in ("sales", "vision", "language")]
    stage.restart()
    stage.step()
    assert means(stage, of("language"), long) == 3


class Old:
    """A service of now over the journal of the version before."""

    def __init__(self, path: Path, *, snapshot: bool) -> None:
        connection = sqlite3.connect(path)
        connection.executescript(BEFORE.read_text())
        if not snapshot:
            connection.execute("DELETE FROM journal_snapshot")
        connection.commit()
        connection.close()
        path.chmod(0o600)
        self.now = 2_000 * SECOND
        self.world = World(MACHINES, lambda: self.now, lasting(None))
        self.service = Service(
            open_store(path), FakeEngine(self.world), Settings(tenants=TENANTS), None
        )
        self.step()

    def step(self, *requests: Request) -> list[object]:
        self.now += SECOND
        return list(self.service.step(self.now, requests))


@pytest.mark.parametrize("snapshot", [False, True])
def test_a_journal_of_names_of_the_whole_service_goes_on(tmp_path: Path, snapshot: bool) -> None:
    old = Old(tmp_path / "journal.db", snapshot=snapshot)
    records, vision = old.service.records, Caller("v", Role.TENANT, "vision")
    assert [display_name(records, ADMIN, each) for each in records.jobs.values()] == [
        "nightly",
        "done",
        "team/one",
    ]
    (again,) = old.step(SubmitJobs(vision, (job("nightly", 2), job("done")), "k"))
    assert isinstance(again, Done)
    (done,) = old.step(SubmitJobs(of("sales"), (job("nightly"),)))
    assert isinstance(done, Done), done
    assert find(records, vision, "nightly") is records.jobs[1]
    assert find(records, ADMIN, "sales/nightly") is records.jobs[4]
    one = find(records, ADMIN, "team/one")
    assert one is records.jobs[3]  # of a name that would be refused now
    assert find(records, ADMIN, "/team/one") is one
    (done,) = old.step(CancelJob(ADMIN, "team/one"))
    assert isinstance(done, Done), done
    old.service.close()


def test_a_tenants_job_is_found_before_an_old_one_of_just_that_name(tmp_path: Path) -> None:
    """`team/one` of nobody was there first; then a tenant `team` comes that has a job `one`."""
    old = Old(tmp_path / "journal.db", snapshot=True)
    records = old.service.records
    old.step(PutTenant(ADMIN, Tenant("team")))
    for tenant in ("sales", "team"):
        old.step(SubmitJobs(ADMIN, (job("one", tenant=tenant),)))
    found = [display_name(records, ADMIN, each) for each in records.jobs.values()]
    assert found[2:] == ["/team/one", "sales/one", "team/one"]
    assert [find(records, ADMIN, name) for name in found] == list(records.jobs.values())
    old.service.close()
