"""Nodes, jobs and accounts of Slurm as frozen values, whatever version wrote them."""

from __future__ import annotations

from dataclasses import dataclass, field

UNUSABLE = frozenset(
    {
        *("DOWN", "DRAIN", "DRAINED", "DRAINING", "FAIL", "FAILING", "FUTURE", "MAINT", "UNKNOWN"),
        *("NOT_RESPONDING", "REBOOT_ISSUED", "ERROR"),
    }
)
"""States and flags of a node that takes no new job. A node that saves power wakes for a job, and
says nothing until it is there (`WAKING`)."""

WAKING = "POWERING_UP"


@dataclass(frozen=True, slots=True)
class Gres:
    """Devices of a kind, as in `gpu:a100:4`. `model` is empty where no type is named."""

    kind: str
    model: str
    count: int


@dataclass(frozen=True, slots=True)
class SlurmNode:
    """A node. `memory` in MiB; `states`: its state and flags in capitals; `has`: what jobs may want
    of a node and do not use up, by `sbatch`'s words for that, as far as Slurm says it."""

    name: str
    cpus: int
    memory: int
    features: tuple[str, ...]
    gres: tuple[Gres, ...]
    partitions: tuple[str, ...]
    states: frozenset[str]
    reason: str
    has: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class SlurmJob:
    """A job, or those elements of an array that one row stands for (`elements` of them).

    `number`: its own; `array`: that of its array, 0 where it is in none. `nodes`: the least number
    that it asks for; `most_nodes` 0 where it sets none, or runs; `running_on`: the number that it
    has. `cpus` and `memory` (MiB) are of all its nodes together; `memory_of_node`: it asked for the
    latter by node. `node_list`: where it runs, as Slurm writes it; `cores`: how many it has on each
    of these; `devices`: those that it has there, while it runs, as far as Slurm says it. `element`:
    which one of its array it is, where the row stands for one; `which`: which ones, where it stands
    for several. Times are in seconds, 0 where it has not begun or ended; `exit`: as `wait` returns
    it. `depends`: on other jobs that are not over as it wants them; `eligible`: before then it may
    not start, 0 where nothing is said; `remark`: the administrator's comment.
    """

    number: int
    array: int
    elements: int
    throttle: int
    name: str
    user: str
    account: str
    state: str
    reason: str
    partitions: tuple[str, ...]
    nodes: int
    most_nodes: int
    running_on: int
    tasks: int
    cpus: int
    cpus_per_gpu: int
    memory: int
    memory_of_node: bool
    per_job: tuple[Gres, ...]
    per_node: tuple[Gres, ...]
    per_task: tuple[Gres, ...]
    features: str
    required: str
    excluded: str
    minutes: int
    node_list: str
    beyond: tuple[str, ...]
    """The wishes of the job that have no counterpart here, in Slurm's words."""
    element: str = ""
    which: str = ""
    started: int = 0
    ended: int = 0
    exit: int = 0
    cores: tuple[tuple[str, int], ...] = ()
    devices: tuple[tuple[str, tuple[Gres, ...]], ...] = ()
    restarts: int = 0
    priority: int = field(default=0, compare=False)
    comment: str = field(default="", compare=False)
    depends: str = ""
    eligible: int = 0
    remark: str = ""
    least: tuple[tuple[str, int], ...] = ()
    """The least that each of its nodes must have (`SlurmNode.has`)."""


ASKING = (
    *("user", "account", "partitions", "nodes", "most_nodes", "tasks", "cpus", "cpus_per_gpu"),
    *("memory", "memory_of_node", "per_job", "per_node", "per_task", "features", "required"),
    *("excluded", "beyond", "least"),
)
"""The fields by which a job says whose it is and what it asks for."""


@dataclass(frozen=True, slots=True)
class Association:
    """An account, or a user's place in one (`user` is not empty). `share` as Slurm writes it."""

    cluster: str
    account: str
    user: str
    parent: str
    share: str
    limits: str


@dataclass(frozen=True, slots=True)
class Picture:
    """A cluster at a moment. `closed`: partitions that start nothing. `dated`: why its associations
    are those of an earlier one; empty where they are not."""

    version: str
    cluster: str
    nodes: tuple[SlurmNode, ...]
    jobs: tuple[SlurmJob, ...]
    associations: tuple[Association, ...]
    closed: frozenset[str]
    dated: str = ""
