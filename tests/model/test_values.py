"""Machines, jobs and tenants from Python: checked, frozen, alike where they are equal."""

from __future__ import annotations

import dataclasses
import pickle
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from fairlead.model.constraint import Operator, Requirement, Selector
from fairlead.model.errors import InputError, Mistake, Place
from fairlead.model.job import Job
from fairlead.model.machine import Cluster, Machine
from fairlead.model.tenant import Tenant
from fairlead.model.times import read_duration, write_duration
from fairlead.model.values import FrozenMap, believing


def test_a_machine_keeps_exact_amounts_and_labels_as_written() -> None:
    machine = Machine("a1", {"cpu": 0.1, "memory": "1Ki"}, {"kernel": "5.10", "gen": 5, "v": 5.5})
    assert machine.capacity == {"cpu": Fraction(1, 10), "memory": 1024}
    assert machine.labels == {"kernel": "5.10", "gen": Decimal(5), "v": Decimal("5.5")}


def test_machines_that_are_alike_share_their_values() -> None:
    one = Machine("a1", {"cpu": 4, "memory": "1Ki"}, {"zone": "east", "gen": 5})
    other = Machine("a2", {"memory": 1024, "cpu": "4"}, {"gen": Decimal(5), "zone": "east"})
    assert one.capacity is other.capacity
    assert one.labels is other.labels


def test_labels_that_are_equal_as_numbers_only_are_not_equal() -> None:
    one = Machine("a", {}, {"v": Decimal("5.10")})
    other = Machine("a", {}, {"v": Decimal("5.1")})
    assert one != other
    assert one.labels != other.labels
    assert one.labels != FrozenMap({"v": Decimal("5.1")})
    assert str(one.labels["v"]) == "5.10"
    assert Machine("a", {}, {"v": "5"}) != Machine("a", {}, {"v": 5})


def test_values_are_frozen_and_hashable_and_survive_pickling() -> None:
    machine = Machine("a", {"cpu": 1}, {"v": Decimal("5.10")})
    job = Job("j", {"cpu": 1}, where="v = 5.10", prefer="v", prefer_for="5m")
    cluster = Cluster([machine], [Tenant("t", weight="1/3")], ["cpu"])
    for value in (machine, job, cluster):
        assert hash(value) == hash(pickle.loads(pickle.dumps(value)))
        assert value == pickle.loads(pickle.dumps(value))
    with pytest.raises(dataclasses.FrozenInstanceError):
        machine.name = "b"  # type: ignore[misc]  # what is tested


def test_values_can_be_replaced() -> None:
    job = Job("j", {"cpu": 1}, machines=["a[1-3]"], where="zone = east", tasks=3)
    other = dataclasses.replace(job, tasks=None)
    assert other == Job("j", {"cpu": 1}, machines=["a[1-3]"], where="zone = east")
    tenant = dataclasses.replace(Tenant("t", weight=2), weight=Fraction(3))
    assert tenant == Tenant("t", weight=3)


def test_ranges_become_plain_names() -> None:
    job = Job("j", {"cpu": 1}, machines=["b", "a[1-2]"], exclude=["a[1-2]"])
    assert job.machines == ("a1", "a2", "b")
    assert job.exclude == ("a1", "a2")
    assert Tenant("t", pool=["a[09-10]"]).pool == ("a09", "a10")


def test_machines_of_a_cluster_are_in_the_order_of_their_names() -> None:
    one, two = Machine("a", {}), Machine("b", {})
    assert Cluster([two, one]) == Cluster([one, two])
    assert Cluster([two, one], devices="gpu").devices == {"gpu"}


def test_a_selector_may_be_given_as_such() -> None:
    selector = Selector([Requirement("zone", Operator.EQUAL, "east")])
    assert Job("j", {"cpu": 1}, where=selector) == Job("j", {"cpu": 1}, where="zone = east")


MACHINE_MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"name": "a b"}, 'machine "a b": "a b" is not the name of one machine'),
    ({"name": "a[1-2]"}, '"a[1-2]" is not the name of one machine'),
    ({"name": ""}, "a name cannot be empty"),
    ({"name": 5}, "a name is text, not 5"),
    ({"name": "a" * 256}, "a name of 256 characters; use at most 255"),
    ({"capacity": {"cpu": -1}}, 'machine "a", capacity, cpu: -1 is negative'),
    ({"capacity": {"cpu": float("inf")}}, "capacity, cpu: inf is not a finite number"),
    ({"capacity": {"cpu": True}}, "capacity, cpu: True is not a number"),
    ({"capacity": {"": 1}}, "a name cannot be empty"),
    ({"capacity": {"a\nb": 1}}, "holds a control character"),
    ({"capacity": [1]}, "[1] names no resources"),
    ({"labels": {"x": True}}, 'labels, x: True is no label; write it as text: "True"'),
    ({"labels": {"x": 1e-9}}, "1e-09 is no label"),
    ({"labels": {"x": Decimal("NaN")}}, "is no label"),
    ({"labels": {"x": None}}, "None is no label"),
    ({"labels": {"x": "\n"}}, "control characters"),
    ({"labels": {" x": "y"}}, "begins or ends with a space"),
    ({"labels": ["x"]}, "['x'] names no labels"),
]


@pytest.mark.parametrize(("fields", "sentence"), MACHINE_MISTAKES)
def test_a_mistaken_machine_is_refused(fields: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        Machine(**{"name": "a", "capacity": {"cpu": 1}, **fields})
    assert sentence in str(caught.value)


TENANT_MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"weight": 0}, 'tenant "t", weight: 0 is not positive; write more than 0'),
    ({"weight": -2}, "weight: -2 is not positive"),
    ({"weight": float("nan")}, "weight: nan is not a finite number"),
    ({"weight": 1, "pool": ["a"]}, "a tenant has a weight or a pool, not both"),
    ({"pool": []}, "pool: the list of machines is empty"),
    ({"pool": ["a["]}, "pool: a number is missing in brackets"),
    ({"limit": {"gpu": -1}}, "limit, gpu: -1 is negative"),
    ({"parent": ""}, "parent: a name cannot be empty"),
    ({"name": " t"}, "begins or ends with a space"),
]


@pytest.mark.parametrize(("fields", "sentence"), TENANT_MISTAKES)
def test_a_mistaken_tenant_is_refused(fields: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        Tenant(**{"name": "t", **fields})
    assert sentence in str(caught.value)


JOB_MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"demand": {}}, "a task that needs nothing at all has no share"),
    ({"demand": {"cpu": 0}}, "a task that needs nothing at all has no share"),
    ({"demand": {"cpu": -1}}, "demand, cpu: -1 is negative"),
    ({"tasks": 0}, "tasks: 0 is not a number of tasks; write a positive whole number"),
    ({"tasks": 1.5}, "tasks: 1.5 is not a number of tasks"),
    ({"tasks": -3}, "tasks: -3 is not a number of tasks"),
    ({"tasks": True}, "tasks: True is not a number"),
    ({"where": "a b"}, "where: the constraint does not parse"),
    ({"where": 5}, "where: 5 is not a constraint"),
    ({"machines": []}, "machines: the list of machines is empty"),
    ({"machines": ["a]"]}, "machines: a closing bracket"),
    ({"exclude": ["a]"]}, "exclude: a closing bracket"),
    ({"spread": 1}, "spread: 1 is neither true nor false"),
    ({"spread": "yes"}, "spread: 'yes' is neither true nor false"),
    ({"prefer": "zone"}, "nothing says how long to wait"),
    ({"prefer_for": "30s"}, "nothing says what to wait for"),
    ({"gang": 0}, "gang: 0 is not a number of tasks that start together"),
    ({"gang": "1.5"}, "gang: 1.5 is not a number of tasks that start together"),
    ({"gang": 5, "tasks": 4}, "gang: a gang of 5 is more than all 4 tasks; write at most 4"),
    ({"duration": "30"}, '"30" is not a duration; write the unit: 30s'),
    ({"duration": "-1"}, '"-1" is not a duration; write the unit: 1s, 1m or 1h'),
    ({"duration": 0}, "duration: 0 is not positive"),
    ({"prefer": "zone", "prefer_for": "30"}, '"30" is not a duration; write the unit: 30s'),
    ({"prefer": "zone", "prefer_for": "soon"}, '"soon" is not a duration; write a number and'),
    ({"prefer": "zone", "prefer_for": "0s"}, "prefer_for: 0 is not positive"),
    ({"tenant": ""}, "tenant: a name cannot be empty"),
]


@pytest.mark.parametrize(("fields", "sentence"), JOB_MISTAKES)
def test_a_mistaken_job_is_refused(fields: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        Job(**{"name": "j", "demand": {"cpu": 1}, **fields})
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Machine("a b", {"cpu": -1, "gpu": "x"}, {"k": True}),
        lambda: Job("j", {"cpu": 0}, tasks=0, where="a b", spread=1),  # type: ignore[arg-type]
        lambda: Tenant("", weight=0, limit={"cpu": -1}, parent=""),
    ],
)
def test_all_mistakes_of_a_value_are_reported_together(make: Callable[[], object]) -> None:
    with pytest.raises(InputError) as caught:
        make()
    assert len(caught.value.mistakes) == 4


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("30s", 30), ("5m", 300), ("2h", 7200), ("1d", 86400), ("500ms", Fraction(1, 2)), (7, 7)],
)
def test_durations(text: str, seconds: Fraction) -> None:
    assert read_duration(text) == seconds
    assert read_duration(write_duration(Fraction(seconds))) == seconds


@pytest.mark.parametrize("text", ["100001d", "99999999999h", "1e30s", 10**10])
def test_a_duration_is_bounded_but_for_one_that_was_accepted_before(text: str | int) -> None:
    with pytest.raises(InputError, match=rf"{text} is too long; write at most 100000d"):
        read_duration(text)
    with believing():
        assert read_duration(text) > 100_000 * 86_400


def test_a_mistake_is_one_sentence_with_its_place() -> None:
    mistake = Mistake("it is wrong", "write it right", Place("f.yaml", 3, 5), "    x\n    ^")
    assert str(mistake) == "f.yaml:3:5: it is wrong; write it right\n    x\n    ^"
    error = InputError([mistake, Mistake("so is this", about=("job", "j", "demand", "cpu"))])
    assert str(error).endswith('job "j", demand, cpu: so is this')
    assert pickle.loads(pickle.dumps(error)).mistakes == error.mistakes


def test_a_frozen_map_is_a_mapping_in_the_order_of_names() -> None:
    frozen = FrozenMap({"b": 2, "a": 1})
    assert list(frozen.items()) == [("a", 1), ("b", 2)]
    assert list(frozen) == list(frozen.keys()) == ["a", "b"]
    assert list(frozen.values()) == [1, 2]
    assert frozen == {"a": 1, "b": 2}
    assert frozen != {"a": 1}
    assert frozen != 5
    assert "a" in frozen
    assert len(frozen) == 2
    assert frozen["b"] == 2
    assert repr(frozen) == "{'a': 1, 'b': 2}"


UNSHOWN = [
    "\u202e",
    "\u2066",
    "\u200f",
    "\u061c",
    "\u200b",
    "\u2060",
    "\ufeff",
    "\u00ad",
    "\u3164",
    "\u115f",
]
UNSHOWN += [
    "\u2800",
    "\ufe0f",
    "\u034f",
    "\U000e0041",
    "\u00a0",
    "\u3000",
    "\ue000",
    "\ud800",
    "\u0378",
]


@pytest.mark.parametrize("letter", UNSHOWN, ids=ascii)
def test_names_hold_nothing_that_is_not_shown_or_turns_text_around(letter: str) -> None:
    name = f"a{letter}b"
    for made in (
        lambda: Job(name, {"cpu": 1}),
        lambda: Job("a", {"cpu": 1}, tenant=name),
        lambda: Job("a", {name: 1}),
        lambda: Job("a", {"cpu": 1}, machines=[name]),
        lambda: Job("a", {"cpu": 1}, where=f'zone = "{name}"'),
        lambda: Tenant(name),
        lambda: Tenant("a", user=name),
        lambda: Machine(name, {"cpu": 1}),
        lambda: Machine("a", {name: 1}),
        lambda: Machine("a", {"cpu": 1}, {name: "x"}),
        lambda: Machine("a", {"cpu": 1}, {"zone": name}),
    ):
        with pytest.raises(InputError) as caught:
            made()
        assert letter.isprintable() or letter not in str(caught.value)


@pytest.mark.parametrize("name", ["Zürich", "名前", "משימה", "مهمة", "é", "🚀", "a/b:c"])
def test_names_in_any_script_are_names(name: str) -> None:
    assert Job(name, {"cpu": 1}, tenant=name).name == name
    assert Machine(name, {"cpu": 1}, {name: name}).name == name


def test_a_job_of_another_tenant_is_the_same_but_for_that() -> None:
    job = Job("a", {"cpu": "0.1"}, tasks=2, where="zone = east", command="true")
    other = job.of("t", "b")
    values = {each.name: getattr(job, each.name) for each in dataclasses.fields(job)}
    assert other == Job(**(values | {"name": "b", "tenant": "t"}))
    assert (job.name, job.tenant) == ("a", None)
