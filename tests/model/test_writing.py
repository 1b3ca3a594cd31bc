"""Writing a cluster and jobs as YAML that reads back as equal values."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest
import yaml
from hypothesis import given

from fairlead.model.job import Job
from fairlead.model.machine import Cluster, Machine
from fairlead.model.quantity import Amount
from fairlead.model.reading import read
from fairlead.model.tenant import Tenant
from fairlead.model.writing import write
from tests.model.draw import inputs


@given(inputs())
def test_what_is_written_reads_back_equal(given_input: tuple[Cluster, tuple[Job, ...]]) -> None:
    cluster, jobs = given_input
    text = write(cluster, jobs)
    assert read([("f.yaml", text)]) == (cluster, jobs)
    assert write(*read([("f.yaml", text)])) == text
    assert yaml.safe_load(text)["machines"]  # another reader can read it too


SAID: dict[str, Any] = {
    "tenant": "t",
    "tasks": 7,
    "where": "zone = east",
    "machines": ["m"],
    "exclude": ["m"],
    "spread": True,
    "prefer": "zone = east",
    "prefer_for": 90,
    "gang": 2,
    "duration": {"median": "10m", "p90": "1h"},
    "arrive": 60,
    "every": 30,
    "repeat": 3,
    "command": ["sh", "-c", "echo 'a: b' #c"],
    "env": {"A": "b: {c}"},
    "cwd": "/a b",
    "time_limit": 90,
    "retries": 2,
    "rerunnable": False,
    "call": "name",
}
"""Something else than the default of each field of a job."""

NEEDS = {"prefer": "prefer_for", "prefer_for": "prefer", "repeat": "every"}
"""Fields that mean nothing without another one."""


def test_each_field_of_a_job_has_something_else_than_its_default() -> None:
    assert [*SAID] == [field.name for field in fields(Job)][2:]


@pytest.mark.parametrize("field", SAID)
def test_whatever_is_said_of_a_job_reads_back(field: str) -> None:
    cluster = Cluster([Machine("m", {"cpu": 4}, {"zone": "east"})], [Tenant("t")])
    said = {name: SAID[name] for name in (field, NEEDS.get(field)) if name}
    job = Job("j", {"cpu": 1}, **said)
    assert getattr(job, field) != getattr(Job("j", {"cpu": 1}), field)
    assert read([("f.yaml", write(cluster, [job]))]) == (cluster, (job,))


@pytest.mark.parametrize(
    "said", [{"pool": ["m"]}, {"user": "ada"}, {"limit": {"cpu": 2}}, {"weight": 2}], ids=str
)
def test_whatever_is_said_of_a_tenant_reads_back(said: dict[str, Any]) -> None:
    cluster = Cluster([Machine("m", {"cpu": 4})], [Tenant("t", **said)])
    assert read([("f.yaml", write(cluster, []))]) == (cluster, ())


def test_it_is_written_as_a_person_would() -> None:
    big: dict[str, Amount] = {"cpu": 16, "memory": "64GiB", "gpu": 4}
    cluster = Cluster(
        [
            *(
                Machine(f"a{n:02}", big, {"zone": "east", "kernel": "5.15", "gen": 2})
                for n in (1, 2)
            ),
            Machine("b", {"cpu": 0.5}),
            *(
                Machine(f"a{n:02}", big, {"zone": "east", "kernel": "5.15", "gen": 2})
                for n in (3, 9)
            ),
        ],
        [Tenant("vision", weight=2, limit={"gpu": 40}), Tenant("no", parent="vision")],
        ["gpu"],
    )
    jobs = [
        Job(
            "train",
            {"cpu": 4, "gpu": 1},
            tenant="vision",
            tasks=100,
            where="zone != west, kernel >= 5.10",
            machines=["a[01-02]"],
            exclude=["b"],
            spread=True,
            prefer="gen = 2",
            prefer_for=90,
            gang=4,
            duration=7200,
        )
    ]
    assert (
        write(cluster, jobs)
        == """\
machines:
  - name: "a[01-03,09]"
    capacity: {cpu: 16, gpu: 4, memory: 64Gi}
    labels: {gen: 2, kernel: "5.15", zone: east}
  - name: b
    capacity: {cpu: 0.5}
devices: [gpu]
tenants:
  - name: vision
    weight: 2
    limit: {gpu: 40}
  - name: "no"
    parent: vision
jobs:
  - name: train
    tenant: vision
    demand: {cpu: 4, gpu: 1}
    tasks: 100
    where: "zone != west, kernel >= 5.10"
    machines: ["a[01-02]"]
    exclude: [b]
    spread: true
    prefer: "gen = 2"
    prefer_for: 90s
    gang: 4
    duration: 2h
"""
    )


def test_machines_whose_labels_are_equal_as_numbers_only_stay_apart() -> None:
    text = (
        "machines: [{name: a1, capacity: {}, labels: {v: 5.10}}, "
        "{name: a2, capacity: {}, labels: {v: 5.1}}]"
    )
    cluster, _ = read([("f.yaml", text)])
    again, _ = read([("f.yaml", write(cluster))])
    assert [str(machine.labels["v"]) for machine in again.machines] == ["5.10", "5.1"]
