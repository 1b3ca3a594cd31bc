"""What is said of jobs when they are submitted: all that is wrong, at once, and what they name that
is not there."""

from __future__ import annotations

import pytest

from fairlead.model.machine import Machine
from fairlead.model.tenant import Tenant
from fairlead.service.requests import Caller, PutTenant, SubmitJobs, Wrong
from fairlead.wire.kinds import Role
from tests.service.loop.stage import ADMIN, Stage, job

NODES = [
    Machine("node1", {"cpu": 2}, {"kernel": "generic"}),
    Machine("node2", {"cpu": 2}, {"kernel": "5.10"}),
]


@pytest.fixture
def stage() -> Stage:
    stage = Stage(NODES)
    stage.step()
    stage.step(PutTenant(ADMIN, Tenant("ops")))
    return stage


def test_a_list_with_names_of_no_machine_is_taken_with_a_warning(stage: Stage) -> None:
    submitted = stage.submit(
        job("some", machines=["node1", "nodee2"]),
        job("but", exclude=["nod1"]),
        job("all", machines=["nodes1", "x"]),
        job("fine", machines=["node1"], exclude=["node2"]),
    )
    some, but, every = submitted.warnings
    assert (some.job, some.sentence) == (
        "some",
        'there is no machine "nodee2"; did you mean "node2"?',
    )
    assert (but.job, but.sentence) == (
        "but",
        'there is no machine "nod1", which it excludes; did you mean "node1"?',
    )
    assert every.job == "all"
    assert every.sentence.startswith("it can never run, because none of 2 machines")
    assert every.sentence.count("there is no machine") == 2


def test_strictly_nothing_is_taken_where_a_list_names_no_machine(stage: Stage) -> None:
    jobs = (job("some", machines=["node1", "nodee2"]), job("fine"))
    refused = stage.refused(SubmitJobs(ADMIN, jobs, strict=True))
    assert refused.wrong is Wrong.INPUT
    assert refused.what == 'job "some": there is no machine "nodee2"; did you mean "node2"?'


def test_all_that_is_wrong_is_said_at_once(stage: Stage) -> None:
    stage.submit(job("there"))
    jobs = (
        job("there"),
        job("a", demand={"cpus": 1, "phone": 1}, tenant="opps", exclude=["node9"]),
        job("b", where="kernel > 5", command=None),
        job("far", machines=["east"]),
    )
    refused = stage.refused(SubmitJobs(ADMIN, jobs, strict=True))
    found = {(each.about[1:], each.what.split(" ")[0]) for each in refused.mistakes}
    assert found == {
        (("there",), "there"),  # is a job of this name
        (("a", "demand", "cpus"), "nothing"),
        (("a", "demand", "phone"), "nothing"),
        (("a", "tenant"), "there"),
        (("a",), "there"),  # is no machine that it excludes
        (("b", "where"), "`kernel"),
        (("b",), "it"),  # does not say what it runs
        (("far",), "it"),  # can never run
    }
    assert len(refused.mistakes) == len(found)
    assert 'there is no tenant "opps"; did you mean "ops"?' in refused.what


def test_a_comparison_names_the_job_and_the_machine_whose_label_has_no_order(stage: Stage) -> None:
    hard = job("new", where="kernel > 5")
    soft = job("new", prefer="kernel > 5", prefer_for="5s")
    for asked, field in ((hard, "where"), (soft, "prefer")):
        refused = stage.refused(SubmitJobs(ADMIN, (asked,)))
        assert refused.what == (
            f'job "new", {field}: `kernel > 5` compares the label kernel of machine "node1":'
            ' "generic" is neither a whole number nor a version, so it has no order; compare with ='
            ' or in, or give the machine a label such as "5.10"'
        )


def test_a_machine_whose_label_is_compared_is_named_where_it_has_no_order() -> None:
    stage = Stage(NODES[1:])
    stage.step()
    stage.submit(job("new", where="kernel > 5"))
    stage.world.join(NODES[0])
    stage.settle(5)
    assert stage.service.machines.problems["node1"] == (
        'machine "node1", labels, kernel: "generic" is neither a whole number nor a version, so it'
        ' has no order (a job asks for kernel > 5); write a label such as "5.10", or compare with ='
        " or in"
    )


def test_every_job_that_is_another_tenants_is_named(stage: Stage) -> None:
    stage.step(PutTenant(ADMIN, Tenant("mine")))
    caller = Caller("me", Role.TENANT, "mine")
    jobs = (job("a", tenant="ops"), job("b"), job("c", tenant="ops"))
    refused = stage.refused(SubmitJobs(caller, jobs))
    assert refused.wrong is Wrong.FORBIDDEN
    assert [each.about for each in refused.mistakes] == [
        ("job", "a", "tenant"),
        ("job", "c", "tenant"),
    ]
