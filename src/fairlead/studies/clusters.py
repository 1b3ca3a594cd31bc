"""Two real backlogs: Alibaba's pods on its GPU nodes, and the first hour of Google's users."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from fairlead.audit.finding import Input
from fairlead.simulation.traces.backlog import as_input
from fairlead.simulation.traces.build import every_nth_machine, in_batches, part_of
from fairlead.simulation.traces.registry import load
from fairlead.simulation.workload import Workload
from fairlead.studies.study import Setting

PODS = "gpuspec33"
"""The list in which a third of the pods that want GPUs name their models."""


def alibaba_files(setting: Setting) -> tuple[str, str]:
    """The list of the 1,523 nodes, and that of the pods. Raises InputError."""
    there = setting.data("alibaba-gpu-2023")
    return (
        str(there / "openb_node_list_all_node.csv"),
        str(there / f"openb_pod_list_{PODS}.csv"),
    )


def alibaba(
    files: tuple[str, str],
    *,
    nth: int = 1,
    pods: int | None = None,
    options: Mapping[str, str] | None = None,
) -> Workload:
    """All pods, or so many of the first, waiting at time 0, on every so many-th of the nodes of
    each kind."""
    work = load(files, options={"arrivals": "backlog", **(options or {})})
    if pods is not None:
        first = part_of(next(work.batches()), 0, pods)
        work = replace(work, batches=in_batches(first), jobs=pods, tasks=int(first.tasks.sum()))
    return every_nth_machine(work, nth) if nth > 1 else work


@lru_cache(maxsize=1)
def google(folder: Path) -> Workload:
    """The jobs of the first hour, users being the tenants, on all machines: read once for all
    studies of a process."""
    return load([folder], options={"hours": "1", "machine-changes": "no"})


def backlog(work: Workload, *, endless: bool = False) -> Input:
    """All jobs at once on the machines of the beginning; `endless`: none runs out of tasks."""
    cluster, jobs, _ = as_input(work)
    return Input(cluster, tuple(replace(job, tasks=None) for job in jobs) if endless else jobs)
