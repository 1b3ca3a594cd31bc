"""Answers what-if against the live state: the changes of `fairlead whatif`, on what is present
now."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from types import MappingProxyType

import numpy as np

from fairlead.audit.finding import Input
from fairlead.audit.outcome import Outcome
from fairlead.audit.whatif.as_data import tree
from fairlead.audit.whatif.compare import Moved, WhatIf, what_if
from fairlead.audit.whatif.parse import read_edits
from fairlead.model.errors import InputError, Mistake
from fairlead.model.job import Job
from fairlead.model.machine import Cluster, Machine
from fairlead.model.never import why_never
from fairlead.model.tenant import Tenant
from fairlead.model.values import FrozenMap
from fairlead.model.words import counted, listing, number
from fairlead.scheduling.core import Core
from fairlead.scheduling.reading.present import Jobs, Machines, Tenants
from fairlead.scheduling.state.scales import FIFO
from fairlead.service.why.as_live import LiveInput, solve_as_live
from fairlead.wire.fairness import WhatIfAnswer

CHANGES = ("add", "remove", "weight", "drop_constraint", "set_demand", "set_limit")
"""The kinds of changes, as `fairlead whatif` calls its options."""

NOTHING: Mapping[str, str] = MappingProxyType({})

MOST = 20_000
"""Present jobs at most: each is solved for by itself, before and after."""


@dataclass(frozen=True)
class Present:
    """The present of a moment: machines, those of them that take tasks, tenants, and jobs with what
    is left of them (None: without end). Nothing in it changes later."""

    machines: tuple[Machine, ...]
    up: tuple[bool, ...]
    tenants: tuple[Tenant, ...]
    jobs: tuple[Job, ...]
    left: tuple[int | None, ...]
    held: tuple[int, ...]  # of that
    otherwise: Mapping[str, str]  # names that the reader is told, where they are not these
    devices: tuple[str, ...]


def take_present(core: Core, otherwise: Mapping[str, str] = NOTHING) -> Present:
    """The machines that are there and the jobs with what is left of them: what waits and what is
    held. `otherwise`: names that the reader is told, where they are not the core's. Quick, and to
    be called in the loop's thread. Raises InputError where there are too many jobs."""
    jobs = Jobs(core)
    if len(jobs.slot) > MOST:
        raise InputError(
            f"there are {len(jobs.slot)} jobs, and what-if takes {MOST} at most",
            "ask again when fewer wait, or ask `fairlead whatif` about a file",
        )
    machines = Machines(core)
    there = np.flatnonzero(~jobs.cancelled)
    endless, left = jobs.endless[there], (jobs.waiting + jobs.held)[there]
    held = jobs.held[there].tolist()
    return Present(
        machines=machines.values,
        up=tuple(machines.up.tolist()),
        tenants=Tenants(core).values,
        jobs=tuple(core.ids.job_at[slot] for slot in jobs.slot[there].tolist()),
        left=tuple(
            None if ends else count
            for ends, count in zip(endless.tolist(), left.tolist(), strict=True)
        ),
        held=tuple(held),
        otherwise=otherwise,
        devices=tuple(unit.name for unit in core.ids.units if unit.piece),
    )


def live_input_of(present: Present) -> LiveInput:
    """Makes the input of an allocation of what is present. The commands and environments of jobs
    are left out. To be called in any thread. Raises InputError where there is nothing to share."""
    machines = present.machines
    if not any(present.up):
        raise InputError("no machine takes tasks now", "add one, or end its drain")
    if not present.jobs:
        raise InputError("no job is present", "submit one first")
    there = {machine.name: None for machine in machines}
    jobs: list[Job] = []
    lost = []
    for job, left, held in zip(present.jobs, present.left, present.held, strict=True):
        name = present.otherwise.get(job.name, job.name)
        if job.machines is not None and not any(each in there for each in job.machines):
            lost.append(name)
            job = replace(job, machines=None, exclude=tuple(there))
        jobs.append(_bare(job, name, left, held, there))
    resources = {name for machine in machines for name in machine.capacity}
    devices = [name for name in present.devices if name in resources]
    tenants = [_tenant(tenant, there, resources) for tenant in present.tenants]
    names = [job.name for job in jobs]
    return LiveInput(
        Input(Cluster(machines, tenants, devices), tuple(jobs)),
        idle=frozenset(
            machine.name for machine, up in zip(machines, present.up, strict=True) if not up
        ),
        held=FrozenMap(dict(zip(names, present.held, strict=True))),
        came=FrozenMap(
            {name: (job.tasks, job.gang) for name, job in zip(names, present.jobs, strict=True)}
        ),
        lost=tuple(lost),
    )


def _tenant(tenant: Tenant, there: Collection[str], resources: set[str]) -> Tenant:
    """The tenant with what is there of its pool, and limits of what there is. Where nothing of the
    pool is there it weighs 1, as in the core."""
    pool = None
    if tenant.pool is not None:
        pool = tuple(name for name in tenant.pool if name in there) or None
    limit = FrozenMap({name: tenant.limit[name] for name in tenant.limit if name in resources})
    return replace(tenant, pool=pool, limit=limit)


def _bare(job: Job, name: str, left: int | None, held: int, there: Collection[str]) -> Job:
    """The job under this name with what shares depend on, and nothing else. Machines that are gone
    are off its lists; where too few tasks wait for a gang, each starts alone."""
    return Job(
        name,
        job.demand,
        tenant=job.tenant,
        tasks=None if left is None else Fraction(left),
        gang=job.gang if left is None or left - held >= job.gang else 1,
        where=job.where,
        machines=None if job.machines is None else [n for n in job.machines if n in there],
        exclude=[name for name in job.exclude if name in there],
        spread=job.spread,
    )


def _with_reasons(
    outcome: Outcome, given: Input, live: LiveInput, others: Collection[str]
) -> Outcome:
    """The outcome with the reasons why jobs can never run on the machines as they are; of the
    `others`, whose constraint is nobody's business, only that they cannot."""
    allocation = outcome.allocation
    none = {share.name for share in allocation.jobs if share.nowhere is not None}
    if not none:
        return outcome
    never = why_never(given.cluster, tuple(job for job in given.jobs if job.name in none))
    lost = {name for name in live.lost if name in never and _excluded_from_all(given, name)}
    plain = (never.keys() & set(others)) | lost
    return replace(
        outcome,
        allocation=replace(
            allocation,
            jobs=tuple(
                replace(share, nowhere=None if share.name in plain else never.get(share.name))
                for share in allocation.jobs
            ),
            warnings=(
                *allocation.warnings,
                *(f"job {name} can never run" for name in sorted(plain & set(others))),
                *(
                    f"job {name} can never run: none of the machines on its list is there"
                    for name in sorted(lost - set(others))
                ),
                *(
                    f"job {name} runs nothing: no machine that could run it takes tasks now"
                    for name in sorted(none - never.keys())
                ),
            ),
        ),
    )


def _excluded_from_all(given: Input, name: str) -> bool:
    """Whether the job, of whose listed machines none was there, still has that constraint."""
    return any(job.name == name and job.exclude for job in given.jobs)


def answer_what_if(
    time: int,
    live: LiveInput,
    asked: Mapping[str, Sequence[str]],
    policy: str,
    others: Collection[str] = frozenset(),
) -> WhatIfAnswer:
    """Solves before and after the changes. Raises InputError where a change cannot be made, or the
    policy refuses. `others`: jobs of which only that is told what everybody may see.

    It touches nothing that the loop owns."""
    try:
        return _answer(time, live, asked, policy, others)
    except InputError as error:
        raise InputError([_of_all(mistake, others) for mistake in error.mistakes]) from None


def _of_all(mistake: Mistake, others: Collection[str]) -> Mistake:
    """The mistake, without what it says of a job of others."""
    if len(mistake.about) > 1 and mistake.about[1] in others:
        return Mistake("it cannot be shared out like this", about=mistake.about[:2])
    return mistake


def _answer(
    time: int,
    live: LiveInput,
    asked: Mapping[str, Sequence[str]],
    policy: str,
    others: Collection[str],
) -> WhatIfAnswer:
    if policy == FIFO:
        raise InputError("fifo has no shares to compare", "ask with the policy tsf, or another one")
    unknown = [name for name in asked if name not in CHANGES]
    if unknown:
        raise InputError(f'there is no change "{unknown[0]}"', f"use {listing(CHANGES)}")
    if not any(asked.values()):
        raise InputError("nothing is changed", 'say what, as in add: ["4 x h01"]')
    texts = {name: asked.get(name, ()) for name in CHANGES}
    given = live.input
    edits = read_edits(
        given,
        add=texts["add"],
        remove=texts["remove"],
        weight=texts["weight"],
        drop_constraint=texts["drop_constraint"],
        set_demand=texts["set_demand"],
        set_limit=texts["set_limit"],
    )
    found = what_if(given, edits, policy, partial(solve_as_live, live))
    found = replace(
        found,
        before=_with_reasons(found.before, given, live, others),
        after=_with_reasons(found.after, found.made.input, live, others),
    )
    return WhatIfAnswer(time=time, whatif=tree(found), sentences=list(_sentences(found)))


def _sentences(found: WhatIf) -> Iterator[str]:
    """The jobs that gain and those that lose, the largest changes first."""
    for word, way in (("gain", 1), ("lose", -1)):
        who = [job for job in found.jobs if job.change == way]
        who.sort(key=lambda job: -abs(job.by))
        if who:
            does = word if len(who) > 1 else word + "s"
            named = listing([f"{job.name} {_more(job)}" for job in who], most=3)
            yield f"{counted(len(who), 'job')} {does}, in tasks: {named}"
    same = sum(job.change == 0 for job in found.jobs)
    if same:
        yield f"{counted(same, 'job')} as before"


def _more(job: Moved) -> str:
    return f"{'+' if job.change > 0 else '-'}{number(abs(job.by), 4)}"
