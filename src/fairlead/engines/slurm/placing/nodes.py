"""Slurm's nodes as machines to place on: smaller by what others' jobs hold there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from fairlead.engines.interface import Health, Node
from fairlead.engines.slurm.reading.values import Picture, SlurmJob, SlurmNode
from fairlead.engines.slurm.translation import MEBIBYTE, RUNNING, is_usable, machine_of, take_from
from fairlead.model.errors import InputError
from fairlead.model.names import expand_all

AWAY = frozenset({"UNKNOWN", "NOT_RESPONDING"})
"""States of a node that has not said since when it is there: what ran there may run still."""


Amounts = Mapping[str, Fraction]
"""Of each resource, in the model's words."""


def nodes_of(
    picture: Picture, partition: str, ours: Mapping[int, Mapping[str, Amounts]]
) -> Sequence[Node]:
    """The nodes of the partition, in the order of their names. `ours`: numbers of jobs that do not
    count as taken; where amounts on nodes are said, what they hold there beyond these does. What
    runs on a node that takes nothing new goes on: Slurm says how it ends."""
    shown = [each for each in picture.nodes if partition in each.partitions]
    shown.sort(key=lambda each: each.name)
    for job in picture.jobs:
        known = ours.get(job.number)
        if job.state in RUNNING and (known is None or known):
            names = expand_all([job.node_list]) if job.node_list else ()
            before = list(shown)
            take_from(job, [each.name for each in shown if each.name in names], shown)
            if known:
                shown = [
                    _return_amounts(now, whole, known.get(now.name, {}))
                    for now, whole in zip(shown, before, strict=True)
                ]
    closed = f"partition {partition} is not up" if partition in picture.closed else ""
    return tuple(_node(each, closed) for each in shown)


def check_partition(picture: Picture, partition: str) -> None:
    """Raises InputError where no node is in it."""
    names = sorted({name for node in picture.nodes for name in node.partitions})
    if partition not in names:
        raise InputError(
            f'Slurm has no partition "{partition}" with nodes', f"it has {', '.join(names)}"
        )


def is_there(picture: Picture, name: str) -> bool:
    """Whether a node has reported what runs there since slurmctld began; or is no node any more,
    or down: then nothing of it counts."""
    node = next((each for each in picture.nodes if each.name == name), None)
    return node is None or not {state.rstrip("*~#%$@^!+-") for state in node.states} & AWAY


def still_waits(job: SlurmJob) -> bool:
    """Whether Slurm has not begun with it."""
    return job.state == "PENDING"


def _return_amounts(node: SlurmNode, before: SlurmNode, amounts: Amounts) -> SlurmNode:
    """A node with these amounts more, and with no more than it had."""
    cpus, memory = amounts.get("cpu", 0), amounts.get("memory", 0)
    return replace(
        node,
        cpus=min(before.cpus, node.cpus + int(cpus)),
        memory=min(before.memory, node.memory + int(memory / MEBIBYTE)),
        gres=tuple(
            replace(now, count=min(had.count, now.count + int(amounts.get(now.kind, 0))))
            for now, had in zip(node.gres, before.gres, strict=True)
        ),
    )


def _node(node: SlurmNode, closed: str) -> Node:
    notes: list[str] = []
    usable = is_usable(node, notes)
    problem = closed or (notes[0].partition(": ")[2] if notes else "")
    health = Health.READY if usable and not closed else Health.DRAINING
    return Node(machine_of(replace(node, states=frozenset())), health, problem)
