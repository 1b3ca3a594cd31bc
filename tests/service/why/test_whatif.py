"""What-if against the live state: the same as `fairlead whatif` of what is present."""

from __future__ import annotations

import pickle
from fractions import Fraction

import pytest

from fairlead.audit.finding import Input
from fairlead.audit.whatif.as_data import tree
from fairlead.audit.whatif.compare import what_if
from fairlead.audit.whatif.parse import read_edits
from fairlead.cli.commands.whatif_live import lines
from fairlead.cli.common.screen import Screen
from fairlead.model.errors import InputError
from fairlead.model.job import Job
from fairlead.model.machine import Cluster, Machine
from fairlead.model.tenant import Tenant
from fairlead.service.why.as_live import LiveInput
from fairlead.service.why.whatif import answer_what_if, live_input_of, take_present
from tests.service.fairness.live import Live, runs

TENANTS = (Tenant("vision"), Tenant("language"))
MACHINES = [Machine(f"m{i}", {"cpu": 4, "memory": 8}) for i in (1, 2)]


def stand() -> Live:
    live = Live(MACHINES, TENANTS)
    live.submit(runs("train", {"cpu": 1}, tenant="vision", tasks=12, env={"KEY": "secret"}))
    live.submit(runs("eval", {"cpu": 2}, tenant="language", tasks=3))
    return live


def taken(live: Live) -> LiveInput:
    core = live.service.core
    assert core is not None
    return live_input_of(take_present(core))


def test_it_is_what_the_command_says_of_a_file() -> None:
    live = stand()
    asked = {"add": ["1 x m1"], "weight": ["vision=3"]}
    found = answer_what_if(live.now, taken(live), asked, "tsf")
    jobs = (
        Job("train", {"cpu": 1}, tenant="vision", tasks=12),
        Job("eval", {"cpu": 2}, tenant="language", tasks=3),
    )
    given = Input(Cluster(MACHINES, TENANTS), jobs)
    by_file = what_if(given, read_edits(given, add=asked["add"], weight=asked["weight"]), "tsf")
    assert found.whatif == tree(by_file)
    assert found.time == live.now
    assert found.sentences


def test_a_job_that_no_machine_holds_runs_nothing_until_one_does() -> None:
    live = stand()
    live.submit(runs("large", {"cpu": 6}, tenant="language", tasks=1))
    given = taken(live)
    found = answer_what_if(live.now, given, {"weight": ["vision=3"]}, "tsf")
    jobs = {job["job"]: job for job in found.whatif["jobs"]}
    assert (jobs["large"]["before"], jobs["large"]["after"]) == (0, 0)
    (warning,) = found.whatif["warnings_before"]
    assert warning.startswith("job large can never run: each of the 2 machines has too little cpu")
    small = answer_what_if(live.now, given, {"set_demand": ["large:cpu=4"]}, "tsf")
    jobs = {job["job"]: job for job in small.whatif["jobs"]}
    assert jobs["large"]["before"] == 0
    assert jobs["large"]["after"] > 0
    assert any("large +" in text for text in small.sentences)


def test_what_is_over_counts_no_more_and_secrets_stay_here() -> None:
    live = stand()
    live.drain("m2")
    live.submit(runs("tiny", {"cpu": 1}, tenant="language", tasks=1))
    live.cancel("tiny")
    present = taken(live)
    given = present.input
    assert [machine.name for machine in given.cluster.machines] == ["m1", "m2"]
    assert present.idle == {"m2"}
    assert [(job.name, job.tasks) for job in given.jobs] == [
        ("train", Fraction(12)),
        ("eval", Fraction(3)),
    ]
    assert b"secret" not in pickle.dumps(present)
    assert all(job.command is None for job in given.jobs)


def test_what_cannot_be_asked_is_refused() -> None:
    live = stand()
    given = taken(live)
    for asked, what in (
        ({"add": ["1 x nothing"]}, "nothing"),
        ({}, "nothing is changed"),
        ({"buy": ["all"]}, 'no change "buy"'),
    ):
        with pytest.raises(InputError, match=what):
            answer_what_if(live.now, given, asked, "tsf")
    with pytest.raises(InputError, match="fifo"):
        answer_what_if(live.now, given, {"weight": ["vision=3"]}, "fifo")
    with pytest.raises(InputError, match="no job is present"):
        taken(Live(MACHINES, TENANTS))


def test_jobs_without_a_machine_are_named_and_count_for_nothing() -> None:
    live = stand()
    live.submit(
        runs("pinned", {"cpu": 1}, tenant="language", tasks=2, machines=["m2"]),
        runs("theirs", {"cpu": 1}, tenant="vision", tasks=2, machines=["m2"]),
    )
    asked = {"weight": ["vision=3"]}
    live.drain("m2")
    found = answer_what_if(live.now, taken(live), asked, "tsf")
    assert found.whatif["warnings_before"] == [
        "job pinned runs nothing: no machine that could run it takes tasks now.",
        "job theirs runs nothing: no machine that could run it takes tasks now.",
    ]
    live.world.leave("m2")
    live.step(seconds=60)
    given = taken(live)
    found = answer_what_if(live.now, given, asked, "tsf", others={"theirs"})
    assert found.whatif["warnings_before"] == [
        "job theirs can never run.",
        "job pinned can never run: none of the machines on its list is there.",
    ]
    text = "\n".join(lines(found, Screen()))
    assert "warning: job pinned can never run: none of the machines on its list is there." in text
    rows = {row["job"]: row for row in found.whatif["jobs"]}
    assert (rows["pinned"]["before"], rows["pinned"]["after"]) == (0, 0)
    freed = answer_what_if(live.now, given, {"drop_constraint": ["pinned"]}, "tsf")
    rows = {row["job"]: row for row in freed.whatif["jobs"]}
    assert rows["pinned"]["before"] == 0
    assert rows["pinned"]["after"] > 0
