"""The words on a users' own job that was released: to which nodes, and what its user had asked for;
and the lines of `scontrol` that write them, and that take them back."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from fairlead.engines.interface import Assignment
from fairlead.engines.slurm.placing.nodes import still_waits
from fairlead.engines.slurm.reading.values import SlurmJob
from fairlead.engines.slurm.translation import IMPOSSIBLE, RUNNING

MARK = re.compile(
    r"fairlead:(?:(?P<engine>[0-9a-f]{12}):)?(?P<times>[0-9]+):asked=(?P<nodes>[^;/]*)"
    r"(?:/(?P<least>[0-9]+)-(?P<most>[0-9]+))?;?(?P<before>.*)",
    re.DOTALL,
)
"""The administrator's comment of what was released: the engine that did (older versions did not say
it), how often it had been given back to the queue, the nodes that its user asked for and how many
where a most was set, since those that were chosen are in their place, and what the comment was
before."""

Key = tuple[int, str]
"""Slurm's number of a job or an array, and the element; empty where it is in no array."""


def number_of(name: str) -> int:
    """Slurm's number of a job that is called so here."""
    return int(name.partition("-")[0])


def key_of(assignment: Assignment) -> Key:
    """The part that was launched."""
    return number_of(assignment.name), assignment.part or ""


def slurm_id(key: Key) -> str:
    """A job or an element as `scontrol` names it."""
    return f"{key[0]}_{key[1]}" if key[1] else str(key[0])


def mark_of(job: SlurmJob) -> re.Match[str] | None:
    """The words that were written on a job when it was released; None where it has none."""
    return MARK.fullmatch(job.remark)


def as_asked(job: SlurmJob, **otherwise: Any) -> SlurmJob:
    """A job that may have been released, as its user asked for it; but for what is `otherwise`."""
    mark = mark_of(job)
    if mark is not None:
        asked = {"required": mark["nodes"], "remark": mark["before"]}
        if mark["most"]:
            asked |= {"nodes": int(mark["least"]), "most_nodes": int(mark["most"])}
        otherwise = asked | otherwise
    return replace(job, **otherwise) if otherwise else job


def is_let_go(job: SlurmJob) -> bool:
    """Whether it waits, and Slurm starts it where there is room."""
    return still_waits(job) and job.priority != 0


def released_by_another(job: SlurmJob, engine: str) -> str:
    """The engine by whose release a job runs or waits to run; empty where there is none, or it is
    this one."""
    mark = mark_of(job)
    if mark is None or not (is_let_go(job) or job.state in RUNNING):
        return ""
    other = mark["engine"] or engine
    return "" if other == engine else other


def pin(key: Key, job: SlurmJob, machines: Sequence[str], engine: str) -> str:
    """The line by which a job, as it was asked for, goes to these machines and no others once it
    is released: where its user set a most, Slurm would take as many nodes as it may."""
    nodes = list(Counter(machines))
    words = [f"update JobId={slurm_id(key)}", f"ReqNodeList={','.join(nodes)}"]
    asked = job.required
    if job.most_nodes not in (0, job.nodes):
        words.append(f"NumNodes={len(nodes)}-{len(nodes)}")
    if job.most_nodes:  # it is not said of a job that runs
        asked += f"/{job.nodes}-{job.most_nodes}"
    before = f";{job.remark}" if job.remark else ""
    words.append(f"AdminComment=fairlead:{engine}:{job.restarts}:asked={asked}{before}")
    if job.restarts:  # it was given back to the queue, and would wait for minutes
        words.append("StartTime=now")
    return " ".join(words)


def put_back(key: Key, job: SlurmJob) -> list[str]:
    """The lines by which a job that waits and was released once is held, as its user asked; none
    where it is so. One that Slurm found impossible (`BadConstraints`) it would start at the next
    change, and it takes only an administrator's hold in the place of that. Where a most was set the
    mark stays: 22.05 does not say that number any more once the job has run."""
    mark = mark_of(job)
    if mark is None:
        return []
    least, most = mark["least"], mark["most"]
    held = ["uhold"] if job.priority else ["hold", "uhold"] if job.reason in IMPOSSIBLE else []
    if least == most:
        rest = f"AdminComment={mark['before']}"
    elif job.required == mark["nodes"] and not held:
        return []
    else:
        rest = f"NumNodes={least}-{most}"
    back = f"update JobId={slurm_id(key)} ReqNodeList={mark['nodes']} {rest}"
    return [*(f"{word} {slurm_id(key)}" for word in held), back]
