"""An allocation as plain data, and its warnings in sentences."""

from __future__ import annotations

import json

import pytest

from fairlead.model.allocation import Allocation
from fairlead.model.report import nowhere_sentence, stop_tree
from fairlead.model.shares import (
    JobShare,
    Level,
    MachineClass,
    Nowhere,
    Placement,
    Stop,
    Tasks,
    TenantShare,
)

LOST = Nowhere(3, (("zone = west", 3),), ())
ALLOCATION = Allocation(
    policy="tsf",
    tasks=Tasks.DIVISIBLE,
    tenants=(TenantShare("t", None, 2.0, 0.25, 0), TenantShare("lost", None, 1.0, 0.0, None)),
    jobs=(
        JobShare("a", "t", 4.0, 8.0, 8.0, 0.5, 0, (Placement(0, 4.0),)),
        JobShare("lost", "lost", 0.0, 8.0, 0.0, 0.0, None, (), LOST),
    ),
    classes=(MachineClass(0, ("m1", "m2", "m3")),),
    levels=(Level(0.25, ("t",), ("a",), (Stop(0.01, machine_class=0, resource="cpu"),)),),
    certificate=None,
    warnings=("beware",),
)


def test_rows_are_flat_and_have_the_same_columns() -> None:
    table = ALLOCATION.table()
    assert [row["job"] for row in table] == ["a", "lost"]
    assert table[0] == {
        "job": "a",
        "tenant": "t",
        "weight": 2.0,
        "tenant_share": 0.25,
        "share": 0.5,
        "level": 0,
        "tasks": 4.0,
        "alone": 8.0,
        "scale": 8.0,
        "policy": "tsf",
    }
    assert len({tuple(row) for row in table}) == 1


def test_the_tree_is_json_and_names_ranges() -> None:
    tree = json.loads(json.dumps(ALLOCATION.tree(), allow_nan=False))
    assert tree["classes"] == [{"class": 0, "machines": ["m[1-3]"], "count": 3}]
    assert tree["levels"][0]["stopped_by"] == [{"class": 0, "resource": "cpu", "price": 0.01}]
    assert tree["jobs"][1]["nowhere"]["constraint"] == [{"part": "zone = west", "excludes": 3}]
    assert tree["certificate"] is None


def test_warnings_come_with_the_jobs_that_can_run_nowhere() -> None:
    assert ALLOCATION.sentences() == (
        "beware.",
        "job lost can never run: each of the 3 machines is excluded by `zone = west`.",
    )


@pytest.mark.parametrize(
    ("stop", "tree"),
    [
        (Stop(1.0, machine_class=0, resource="cpu"), {"class": 0, "resource": "cpu", "price": 1}),
        (Stop(1.0, tenant="t", resource="cpu"), {"tenant": "t", "resource": "cpu", "price": 1}),
        (Stop(1.0, job="a"), {"job": "a", "price": 1}),
        (Stop(1.0, job="a", machine_class=2), {"job": "a", "class": 2, "price": 1}),
    ],
)
def test_a_stop_has_the_keys_of_its_kind(stop: Stop, tree: dict[str, object]) -> None:
    assert stop_tree(stop) == tree


@pytest.mark.parametrize(
    ("reason", "text"),
    [
        (Nowhere(0, (), ()), "there are no machines."),
        (Nowhere(1, (("!gpu", 1),), ()), "the only machine is excluded by `!gpu`."),
        (Nowhere(4, (("!gpu", 4),), ()), "each of the 4 machines is excluded by `!gpu`."),
        (Nowhere(4, (), (("gpu", 4),)), "each of the 4 machines has no gpu."),
        (Nowhere(4, (("machines", 4),), ()), "each of the 4 machines is not in its list of"),
        (
            Nowhere(4, (("a = b", 1), ("exclude", 2)), (("gpu", 1),)),
            "of 4 machines, 1 is excluded by `a = b`, 2 are in its list of `exclude` and 1 has no",
        ),
    ],
)
def test_the_reason_is_counted_and_agrees_in_number(reason: Nowhere, text: str) -> None:
    assert nowhere_sentence(reason).startswith(text)
