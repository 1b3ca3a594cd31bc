"""The table of tasks: small, and right after rows were moved and swept out."""

from __future__ import annotations

import json
import random
from dataclasses import replace

import pytest

from fairlead.model.alike import jobs_of, plain_jobs
from fairlead.model.tenant import Tenant
from fairlead.scheduling.transitions import TaskState
from fairlead.service.records.dump import load, take
from fairlead.service.records.marks import Marks
from fairlead.service.records.tasks import COLUMNS, TaskTable
from fairlead.service.requests import ChangeJob, ForgetJob
from fairlead.service.settings import Settings
from tests.engines.world import Fate
from tests.service.loop.stage import ADMIN, SECOND, Stage, job
from tests.service.loop.test_journal import same
from tests.service.older import VERSIONS, older


def test_a_task_takes_few_bytes() -> None:
    table = TaskTable()
    table.add(1000)
    assert sum(len(column) * column.itemsize for column in table.columns().values()) == 42_000


def test_rows_are_swept_out_and_the_others_stay_what_they_were() -> None:
    table, draw = TaskTable(), random.Random(7)
    ranges: list[tuple[int, int]] = []
    for number in range(60):
        count = draw.randrange(1, 300)
        first = table.add(count)
        for row in range(first, first + count):
            table.attempt[row], table.ended[row] = number, row - first
        ranges.append((first, count))
    kept = draw.sample(range(60), 20)
    table.free = sum(count for number, (_, count) in enumerate(ranges) if number not in kept)
    assert table.wasteful()
    firsts = table.sweep([ranges[number] for number in kept])
    assert len(table) == sum(ranges[number][1] for number in kept)
    for number, first in zip(kept, firsts, strict=True):
        count = ranges[number][1]
        assert list(table.attempt[first : first + count]) == [number] * count
        assert list(table.ended[first : first + count]) == list(range(count))
    assert not table.wasteful()
    assert all(len(column) == len(table) for column in table.columns().values())
    assert set(table.columns()) == set(COLUMNS)


def test_jobs_keep_their_outcomes_when_others_grow_and_are_forgotten() -> None:
    stage = Stage(fates={"a": [Fate(SECOND, code=7)], "b": [Fate(SECOND)]})
    stage.submit(job("a", 3))
    stage.submit(job("big", 3000, demand={"cpu": 9}), job("b", 2))
    stage.settle(3)
    stage.step(ChangeJob(ADMIN, "big", 9000))
    assert [stage.task("a", number).code for number in range(3)] == [7, 7, 7]
    stage.submit(job("c", 5000, demand={"cpu": 9}))
    for _ in range(9):
        stage.step(ChangeJob(ADMIN, "c", 20_000))
        stage.step(ChangeJob(ADMIN, "c", 5000))
    stage.step(ForgetJob(ADMIN, "b"))
    record = stage.service.records.job("big")
    assert record is not None
    assert record.counts[TaskState.WAITING] == 9000
    assert len(stage.service.records.table) < 60_000
    assert [stage.task("a", number).code for number in range(3)] == [7, 7, 7]
    same(stage)


def test_jobs_that_are_alike_come_back_as_they_were() -> None:
    jobs = [
        job("a", 3),
        job("b", 3),
        job("c", 3, command=["python", "x.py"]),
        job("d", 4, where="zone = east", env={"A": "1"}, retries=2, time_limit=5),
        job("e", 4, where="zone = east", env={"A": "1"}, retries=2, time_limit=5),
        job("f", 1, command=None, call="abc", rerunnable=False),
    ]
    kinds, each = plain_jobs(jobs)
    assert len(kinds) == 3
    again = jobs_of(json.loads(json.dumps(kinds)), json.loads(json.dumps(each)))
    assert again == jobs
    assert [hash(one) for one in again] == [hash(one) for one in jobs]
    assert [type(one.command) for one in again] == [type(one.command) for one in jobs]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_dump_of_a_version_before_is_read(version: int) -> None:
    """A shortened journal has nothing else of what was removed."""
    stage = Stage(settings=Settings(tenants=(Tenant("a"),)), fates={"x": [Fate(0)]})
    stage.submit(job("x", 2, tenant="a"), key="k")
    stage.submit(job("y", 2, tenant="a"))
    stage.settle(3)
    records = stage.service.records
    assert len(records.marks)
    data = take(records).encode()
    assert load(data) == records
    if version < 5 and records.start is not None:
        records.start = replace(records.start, owner=0)  # no starts were counted
    if version < 7:
        records.marks = Marks()
    for each in records.jobs.values() if version < 5 else ():
        each.seq = records.seq  # it is not known when they were submitted
    assert load(older(data, version)) == records
