"""Variables of a job's environment that are not the job's to set: engines say them to its tasks."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from fairlead.model.command import DEVICE_VARIABLES, OWN_VARIABLES
from fairlead.model.errors import Mistake
from fairlead.model.job import Job
from fairlead.service.records.book import Records

GPU = "gpu"
"""The resource of which engines show a task its own pieces, and no others."""

NONE = ("", "-1", "NoDevFiles")
"""Values that name no GPU: what a task without any finds in any case."""


def has_gpus(records: Records) -> bool:
    """Whether one of the machines that are there has any."""
    there = (record.machine for record in records.machines.values())
    return any(machine is not None and machine.capacity.get(GPU, 0) for machine in there)


def variables_of_others(job: Job, gpus: Callable[[], bool]) -> Iterator[Mistake]:
    """Those that would be overwritten, or would lead a task to GPUs of others. `gpus`: whether
    a machine of the cluster has any."""
    about = ("job", job.name, "env")
    for name in sorted(OWN_VARIABLES.intersection(job.env)):
        yield Mistake(
            "this variable says to each task what it is, whatever its job says of it",
            "leave it out, or choose another name",
            about=(*about, name),
        )
    asks = job.demand.get(GPU, 0) > 0
    for name in sorted(DEVICE_VARIABLES.intersection(job.env)):
        if asks:
            yield Mistake(
                "this variable says to each task which GPUs are its own, whatever its job says",
                "leave it out: a task sees its own, and no others",
                about=(*about, name),
            )
        elif job.env[name].strip() not in NONE and gpus():
            yield Mistake(
                "this variable names GPUs, and the job asks for none: its tasks see none",
                "leave it out, and ask for as many as a task needs, as in gpu: 1",
                about=(*about, name),
            )
