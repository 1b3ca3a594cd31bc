"""Can I run? A job that nobody submitted is tried on a copy of the core."""

from __future__ import annotations

from dataclasses import replace

from fairlead.model.errors import InputError
from fairlead.model.job import Job
from fairlead.model.names import compress
from fairlead.model.words import counted
from fairlead.scheduling.decisions import Launch
from fairlead.scheduling.events import JobSubmitted
from fairlead.scheduling.reading.core_copy import FrozenCore
from fairlead.service.fairness.causes import DisplayName
from fairlead.service.why.answer import describe_start, start_of
from fairlead.service.why.trial import STAND_IN, decide_fully, nameless
from fairlead.wire.fairness import CanRun


def can_run(copy: FrozenCore, job: Job, display_name: DisplayName = str) -> CanRun:
    """The fate of the job if it came now: how many of its tasks would start at once, and
    where; of the others why they would wait, and till when. Everybody who comes before it comes
    before it here too. Raises InputError where the job would be refused.

    It touches nothing that the loop owns: to be called in any thread."""
    core = copy.core
    if not core.placement.places:
        raise InputError("another scheduler places tasks here", "ask that one whether it would run")
    name = STAND_IN
    while name in core.ids.jobs:
        name += "-"
    with nameless():
        core.apply(JobSubmitted(core.now, replace(job, name=name)))
    machines = [
        each.machine for each in decide_fully(core) if isinstance(each, Launch) and each.job == name
    ]
    sentences = []
    where = list(compress(dict.fromkeys(machines)))
    if machines:
        sentences.append(f"{counted(len(machines), 'task')} would start now, on {', '.join(where)}")
    why = core.why(name, display_name)
    start = None
    if why.waiting != 0:
        sentences += [str(reason) for reason in why.reasons]
        start = start_of(core, why)
        if start is not None:
            sentences.append(describe_start(core.now, start))
    return CanRun(
        time=core.now,
        now=len(machines),
        machines=where,
        waiting=why.waiting,
        never=why.never,
        expected_start=None if start is None else start.time,
        sentences=sentences,
    )
