"""What jobs take of the memory, as their tenants are counted by it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from fairlead.model.job import Job
from fairlead.service.records.people import KeyOwner
from fairlead.service.records.tasks import AttemptRecord

BESIDE = 100
"""Bytes that each text takes beside its letters: a list of short ones is mostly these."""

ATTEMPT = 300
"""Bytes that an attempt takes that is not its task's last, beside what there is to say of it."""


def job_bytes(job: Job) -> int:
    """Of what its tenant wrote of the job: the same on each machine and after each start, and about
    what Python holds. How it was written is not the measure: `n[1-9999]` is ten thousand names."""
    return text_bytes(_texts(job))


def text_bytes(texts: Iterable[str]) -> int:
    """Of texts: four of each letter, as soon as one of them is not ASCII's."""
    return sum(BESIDE + len(each) * (1 if each.isascii() else 4) for each in texts)


def key_bytes(owner: KeyOwner, names: Iterable[str]) -> int:
    """Of an idempotency key, and of the names of its jobs, which it keeps."""
    return text_bytes([owner[2], *names])


def attempt_bytes(attempt: AttemptRecord) -> int:
    """Of an attempt that is not its task's last."""
    return ATTEMPT + why_bytes(attempt.why)


def why_bytes(why: str) -> int:
    """Of what there is to say of an end."""
    return text_bytes([why]) if why else 0


def _texts(job: Job) -> Iterator[str]:
    yield job.name
    yield from (each for each in (job.tenant, job.cwd, job.call) if each is not None)
    if job.command is not None:
        yield from (job.command,) if isinstance(job.command, str) else job.command
    yield from chain(job.demand, *job.env.items(), job.machines or (), job.exclude)
    for requirement in chain(job.where.requirements, job.prefer.requirements):
        yield requirement.key
        yield from requirement.values
