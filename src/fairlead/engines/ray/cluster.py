"""Ray's words and Fairlead's: a node as a machine, a demand as what a task asks of Ray."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import floor
from typing import Any

from fairlead.engines.interface import Health, Node
from fairlead.model.errors import InputError
from fairlead.model.machine import Machine

NAMES = {"CPU": "cpu", "GPU": "gpu"}
"""Resources that Ray calls otherwise; all others keep their names."""

LEFT_OUT = ("object_store_memory",)
"""No task asks for it: Ray's object store is for all who run there."""

FINEST = 10_000
"""Ray counts resources in parts of 1/10000."""

HEAD_LABEL = "ray-head"

ACCELERATOR = "accelerator_type:"


def node_of_row(row: Mapping[str, Any]) -> Node | None:
    """The machine that a node of Ray is; None for one that cannot be a machine."""
    capacity: dict[str, str] = {}
    labels = {key: text for key, text in row["labels"].items() if key != "ray.io/node-id"}
    for name, amount in row["resources"].items():
        if name == "node:__internal_head__":
            labels[HEAD_LABEL] = "true"
        elif name.startswith(ACCELERATOR):
            labels["accelerator-type"] = name.removeprefix(ACCELERATOR)
        elif not name.startswith("node:") and "_group_" not in name and name not in LEFT_OUT:
            capacity[NAMES.get(name, name)] = _text(amount)
    try:
        machine = Machine(row["name"], capacity, labels)
    except InputError:
        return None
    health = Health.TROUBLED if row["problem"] else Health.READY
    return Node(machine, health, row["problem"])


def _text(amount: float) -> str:
    """The amount as a decimal, as finely as Ray counts."""
    scaled = round(amount * FINEST)
    whole, rest = divmod(scaled, FINEST)
    return f"{whole}.{rest:04d}" if rest else str(whole)


def options_of(demand: Mapping[str, Fraction]) -> dict[str, Any]:
    """Ray's options of a task with this demand. Amounts finer than Ray's are rounded down: the
    machine's capacity is kept by who decided that it runs there."""
    options: dict[str, Any] = {"num_cpus": 0}
    resources: dict[str, float] = {}
    for name, amount in demand.items():
        number = floor(amount * FINEST) / FINEST
        if not number:
            continue
        if name == "cpu":
            options["num_cpus"] = number
        elif name == "gpu":
            options["num_gpus"] = number
        elif name == "memory":
            options["memory"] = floor(amount)
        else:
            resources[name] = number
    if resources:
        options["resources"] = resources
    return options
