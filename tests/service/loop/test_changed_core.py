"""A restart under another policy, rule or option: nothing is lost, and a replay goes along."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from fractions import Fraction

import pytest

from fairlead.model.errors import InputError
from fairlead.model.machine import Machine
from fairlead.model.tenant import Tenant
from fairlead.scheduling.options import Options
from fairlead.service.journal.entry import CorruptJournalError, Entry, JournalError
from fairlead.service.process.logs import Logs
from fairlead.service.recovery.recover import Recovery
from fairlead.service.recovery.replay import replay
from fairlead.service.recovery.snapshots import load, take
from fairlead.service.recovery.verify import verify
from fairlead.service.requests import PutTenant, SubmitJobs
from fairlead.service.settings import Settings
from fairlead.wire.kinds import JobState
from tests.engines.world import Fate
from tests.service.loop.stage import ADMIN, SECOND, Stage, job
from tests.service.recovered import recover

FINE = Fraction(1, 100_000)

OTHERS = (
    Settings(policy="drfh"),
    Settings(policy="fifo"),
    Settings(placement="worst-fit"),
    Settings(options=Options(reserve_after=None)),
    Settings(options=Options(preempt_after=5 * SECOND, whole=False)),
    Settings(policy="drf", placement="price-guided"),
)


def busy(settings: Settings | None = None) -> Stage:
    """Two tenants with tasks that run and tasks that wait."""
    stage = Stage(settings=settings, fates={"one": [Fate(5 * SECOND)]})
    for name in ("x", "y"):
        stage.step(PutTenant(ADMIN, Tenant(name)))
    stage.submit(job("one", 6, tenant="x"))
    stage.submit(job("two", 6, tenant="y", demand={"cpu": 2}))
    stage.settle(2)
    return stage


def test_the_log_tells_the_options_as_json() -> None:
    stage, stream = busy(), io.StringIO()
    stage.restart(Settings(options=Options(reserve_after=None)))
    stage.service.listeners.append(Logs(stream, lambda: stage.now).write_entries)
    stage.step()
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    (told,) = [line for line in lines if line["event"] == "core_changed"]
    assert told["options"]["reserve_after"] is None


@pytest.mark.parametrize("other", OTHERS, ids=str)
def test_all_goes_on_under_what_was_chosen_anew(other: Settings) -> None:
    stage = busy()
    running, rows = stage.running(), stage.service.records.table.columns()
    stage.restart(other)
    stage.step()
    assert stage.running() == running
    assert stage.service.records.table.columns() == rows
    (entry,) = stage.entries("core_changed")
    assert entry.body["policy"] == other.policy
    assert entry.body["placement"] == other.placement
    start = stage.service.records.start
    core = stage.service.core
    assert start is not None
    assert core is not None
    core.check()
    assert start.policy == core.book.scaler.spec == other.policy
    assert start.placement == core.placement.name == other.placement
    assert core.options == other.options
    stage.settle(60)
    record = stage.service.records.job("one")
    assert record is not None
    assert record.state is JobState.FINISHED


@pytest.mark.parametrize("other", OTHERS, ids=str)
def test_every_entry_leads_over_the_change_to_the_same_core(other: Settings) -> None:
    stage = busy()
    stage.restart(other)
    stage.step()
    stage.submit(job("three", 2, tenant="x"))
    stage.restart(Settings())
    stage.settle(1)
    core = stage.service.core
    assert core is not None
    assert len(stage.entries("core_changed")) == 2
    assert replay(stage.entries()).digest == core.digest()
    assert verify(stage.entries()).digest == core.digest()
    again, records = load(take(core, stage.service.records).encode())
    assert again.digest() == core.digest()
    assert records.start == stage.service.records.start
    stage.restart()
    assert stage.service.core is not None
    assert stage.service.core.digest() == core.digest()


def test_the_next_decisions_are_those_of_the_new_policy() -> None:
    stage = Stage(fates={name: [Fate(5 * SECOND)] for name in ("first", "second")})
    stage.submit(job("first", 8), job("second", 8))
    stage.restart(Settings(policy="fifo"))
    stage.step()
    before = len(stage.entries("launch"))
    stage.settle(7)
    launched = [entry.body["job"] for entry in stage.entries("launch")[before:]]
    assert launched == ["first"] * 4


def test_the_same_settings_leave_no_such_entry() -> None:
    stage = busy()
    stage.restart()
    stage.step()
    assert stage.entries("core_changed") == []


REFUSED = {
    "no placement rule": Settings(placement="nearest"),
    "cannot be the policy of the jobs that are there": Settings(policy="cmmf(gpu)"),
    "counts cpu, memory, gpu, and not tpu": Settings(resources=("cpu", "tpu")),
    "cpu comes in no devices": Settings(devices=("gpu", "cpu")),
    "gpu comes in devices": Settings(devices=()),
    "counts cpu in units of 1/1000, and not of 1/100000": Settings(units={"cpu": FINE}),
}


@pytest.mark.parametrize("why", REFUSED)
def test_what_cannot_change_is_refused_before_anything_is_written(why: str) -> None:
    stage = busy()
    before = stage.service.records.seq
    with pytest.raises(InputError, match=why):
        stage.restart(REFUSED[why])
    stage.restart(Settings())
    assert stage.service.records.seq == before
    stage.settle(1)
    assert stage.entries("core_changed") == []


def test_amounts_are_as_fine_as_the_unit_that_was_said() -> None:
    small = {"cpu": FINE * 3}
    machines = (Machine("m", {"cpu": FINE * 10, "memory": 1}),)
    stage = Stage(machines)
    refused = stage.refused(SubmitJobs(ADMIN, (job("fine", 5, demand=small),)))
    assert "finer than the unit, which is 1/1000" in refused.what
    stage = Stage(machines, Settings(units={"cpu": FINE}))
    stage.submit(job("fine", 5, demand=small))
    stage.settle(1)
    assert len(stage.running()) == 3
    stage.restart(Settings())  # what is not said stays
    stage.settle(1)
    assert len(stage.running()) == 3


@pytest.mark.parametrize(
    ("name", "why"),
    [("gpu", "this is a device"), ("cqu", "it is not counted; what is: cpu, memory.*")],
)
def test_a_unit_of_what_has_none_is_refused(name: str, why: str) -> None:
    stage = Stage(settings=Settings(units={name: FINE}))
    with pytest.raises(InputError, match=f'setting "units", {name}: {why}; leave its unit out'):
        stage.step()


def test_a_change_that_cannot_have_happened_is_damage() -> None:
    stage = busy()
    entries = stage.entries()
    last = entries[-1]
    body = {"policy": "cmmf(gpu)", "placement": "best-fit", "options": {}}
    wrong = Entry(last.seq + 1, last.step + 1, last.time, "core_changed", body)
    with pytest.raises(CorruptJournalError, match="cannot have happened"):
        replay([*entries, wrong])
    recovery = Recovery(*recover(stage.service.store))
    with pytest.raises(CorruptJournalError, match="cannot have happened"):
        recovery.take(wrong)


def test_what_a_newer_version_wrote_is_not_guessed_at() -> None:
    stage = busy()
    (start,) = stage.entries("service_started")
    newer = replace(start, body=start.body | {"schema": 99, "version": "99.0"})
    with pytest.raises(JournalError, match=r"version 99\.0"):
        Recovery(None, stage.service.records).take(newer)
