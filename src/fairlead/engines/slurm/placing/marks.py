"""The words on a users' own job that was released: to which nodes, and what its user had asked for;
and the lines of `scontrol` that write them, and that take them back."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from fairlead.engines.interface import Assignment
from fairlead.engines.slurm.reading.values import SlurmJob
from fairlead.engines.slurm.translation import IMPOSSIBLE

MARK = re.compile(r"fairlead:([0-9]+):asked=([^;/]*)(?:/([0-9]+)-([0-9]+))?;?(.*)", re.DOTALL)
"""The administrator's comment of what was released: how often it had been given back to the queue,
the nodes that its user asked for and how many where a most was set, since those that were chosen
are in their place, and what the comment was before."""

Key = tuple[int, str]
"""Slurm's number of a job or an array, and the element; empty where it is in no array."""


def number_of(name: str) -> int:
    """Slurm's number of a job that is called so here."""
    return int(name.partition("-")[0])


def key_of(assignment: Assignment) -> Key:
    """The part that was launched."""
    return number_of(assignment.name), assignment.part or ""


def called(key: Key) -> str:
    """A job or an element as `scontrol` names it."""
    return f"{key[0]}_{key[1]}" if key[1] else str(key[0])


def mark_of(job: SlurmJob) -> re.Match[str] | None:
    """The words that were written on a job when it was released; None where it has none."""
    return MARK.fullmatch(job.remark)


def as_asked(job: SlurmJob) -> SlurmJob:
    """A job that may have been released, as its user asked for it."""
    mark = mark_of(job)
    if mark is None:
        return job
    job = replace(job, required=mark[2], remark=mark[5])
    return replace(job, nodes=int(mark[3]), most_nodes=int(mark[4])) if mark[3] else job


def pin(key: Key, job: SlurmJob, machines: Sequence[str]) -> str:
    """The line by which a job, as it was asked for, goes to these machines and no others once it
    is released: where its user set a most, Slurm would take as many nodes as it may."""
    nodes = list(Counter(machines))
    words = [f"update JobId={called(key)}", f"ReqNodeList={','.join(nodes)}"]
    asked = job.required
    if job.most_nodes not in (0, job.nodes):
        words.append(f"NumNodes={len(nodes)}-{len(nodes)}")
    if job.most_nodes:  # it is not said of a job that runs
        asked += f"/{job.nodes}-{job.most_nodes}"
    remark = f"fairlead:{job.restarts}:asked={asked}{f';{job.remark}' if job.remark else ''}"
    words.append(f"AdminComment={remark}")
    if job.restarts:  # it was given back to the queue, and would wait for minutes
        words.append("StartTime=now")
    return " ".join(words)


def put_back(key: Key, job: SlurmJob) -> list[str]:
    """The lines by which a job that waits and was released once is held, as its user asked; none
    where it was not. One that Slurm found impossible (`BadConstraints`) it would start at the next
    change, and it takes only an administrator's hold in the place of that."""
    mark = mark_of(job)
    if mark is None:
        return []
    many = f" NumNodes={mark[3]}-{mark[4]}" if mark[3] != mark[4] else ""
    back = f"update JobId={called(key)} ReqNodeList={mark[2]}{many} AdminComment={mark[5]}"
    held = ["uhold"] if job.priority else ["hold", "uhold"] if job.reason in IMPOSSIBLE else []
    return [*(f"{word} {called(key)}" for word in held), back]
