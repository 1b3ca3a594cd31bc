"""Jobs as plain trees where most are alike: what they share is written and read once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import Any

from fairlead.model.command import Command
from fairlead.model.job import Job
from fairlead.model.plain import Plain, kept_job_of, plain_job

_OWN = ("name", "command")
_SHARED = tuple(each.name for each in fields(Job) if each.name not in _OWN)


def plain_jobs(jobs: Iterable[Job]) -> tuple[list[Plain], list[list[Any]]]:
    """The trees of kinds of jobs, and of each job its kind, name and command."""
    kinds: list[Plain] = []
    known: dict[tuple[Any, ...], int] = {}
    each: list[list[Any]] = []
    for job in jobs:
        key = tuple(getattr(job, name) for name in _SHARED)
        kind = known.get(key)
        if kind is None:
            kind = known[key] = len(kinds)
            kinds.append(plain_job(job))
        each.append([kind, job.name, job.command])
    return kinds, each


def jobs_of(kinds: Sequence[object], each: Sequence[Sequence[Any]]) -> list[Job]:
    """The jobs. Raises InputError for a kind that is no job; names and commands are believed."""
    made = [kept_job_of(tree) for tree in kinds]
    return [_like(made[kind], name, _command(command)) for kind, name, command in each]


def _command(command: Any) -> Command | None:
    return command if command is None or isinstance(command, str) else tuple(command)


def _like(kind: Job, name: str, command: Command | None) -> Job:
    """The same job under another name, with another command. It was one before: it is not checked
    again, which would take most of the time of reading a snapshot."""
    job = object.__new__(Job)
    for field in _SHARED:
        object.__setattr__(job, field, getattr(kind, field))
    object.__setattr__(job, "name", name)
    object.__setattr__(job, "command", command)
    return job
