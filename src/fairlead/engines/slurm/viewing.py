"""From pictures of Slurm to views of the cluster, one after the other: what did not change since
the last one is not translated again."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain, count

from fairlead.engines.interface import Cause, Health, Node
from fairlead.engines.observing import Apart, Part, PartEnd, SeenJob, View
from fairlead.engines.slurm.demands import NotUnderstoodError, Request, request_of
from fairlead.engines.slurm.lying import by_tasks, nodes_of, places_of_tasks
from fairlead.engines.slurm.reading.parse import elements_of
from fairlead.engines.slurm.reading.values import Picture, SlurmJob, SlurmNode
from fairlead.engines.slurm.rough import rough_request_of
from fairlead.engines.slurm.translation import (
    RUNNING,
    Places,
    describe_job,
    find_hold,
    is_usable,
    machine_of,
    places_of,
    take_from,
    tenant_of,
    tenants_of,
)
from fairlead.model.errors import InputError
from fairlead.model.job import Job
from fairlead.model.names import compress

SECOND = 1_000_000

THROTTLED = "JobArrayTaskLimit"
"""Slurm's reason where an array has as many elements under way as it may (`%`)."""

DELAYED = "BeginTime"
"""Slurm's reason for a job that it gave back to the queue: it waits two minutes before it may start
again. It claims its share meanwhile, and goes on as the job that it was."""

UNEQUAL = "how its tasks lie on its nodes"

ROUGH = "counts by the CPUs, memory and devices that can be read of it"

_CAUSES: Mapping[str, tuple[Cause | None, str]] = {
    "TIMEOUT": (Cause.TIME_LIMIT, ""),
    "OUT_OF_MEMORY": (Cause.MEMORY, ""),
    "CANCELLED": (Cause.STOPPED, "it was cancelled"),
    "PREEMPTED": (Cause.STOPPED, "it was preempted"),
    "DEADLINE": (Cause.STOPPED, "its deadline was over"),
    "REVOKED": (Cause.STOPPED, "another cluster runs it"),
    "NODE_FAIL": (None, "a node failed under it"),
    "BOOT_FAIL": (None, "a node did not boot"),
}
"""Slurm's states of jobs that ended otherwise than by themselves."""


@dataclass(frozen=True, slots=True)
class _Read:
    """What a row asks for. `why` it is not understood; then `request` is rough, or None."""

    request: Request | None
    why: str = ""


@dataclass
class _Found:
    """The rows of one job, summed up."""

    job: Job
    elements: int = 0  # that wait
    throttle: int = 0
    running: list[Part] = field(default_factory=list)
    ended: list[PartEnd] = field(default_factory=list)
    again: set[str] = field(default_factory=set)
    queued: list[tuple[str, ...]] = field(default_factory=list)
    said: str = ""

    def to_seen_job(self) -> SeenJob:
        """All of it. An array waits with no more elements than may run beside those that do."""
        elements = self.elements
        if self.throttle:
            elements = min(elements, max(0, self.throttle - len(self.running)))
        waiting, said = elements * int(self.job.gang), self.said
        if elements < self.elements:
            said += (
                f"; {self.elements} of its elements wait, of which {elements} may start now: it may"
                f" have {self.throttle} at a time (%)"
            )
        return SeenJob(
            self.job,
            waiting,
            tuple(self.running),
            tuple(self.ended),
            frozenset(self.again),
            self.queued[0] if len(self.queued) == 1 else tuple(chain(*self.queued)),
            said=said,
        )


@dataclass
class _Draft:
    """A view in the making. `shown`: the nodes that are there for us, smaller by what is taken."""

    picture: Picture
    usable: Sequence[SlurmNode]
    shown: list[SlurmNode]
    problems: dict[str, str]
    places: Places
    found: dict[str, _Found] = field(default_factory=dict)
    apart: dict[str, Apart] = field(default_factory=dict)
    over: dict[str, Job] = field(default_factory=dict)  # that were apart, and never ran
    notes: list[str] = field(default_factory=list)


class Viewer:
    """Makes views of one cluster. Jobs are called by Slurm's number, that of their array where
    they are in one; elements that ask for something else than the others, by that and a number.
    `held`: why a job that waits has no turn, in a sentence; empty where it waits for one. `beyond`:
    what becomes of one that waits and is not understood. `roughly`: what is not understood is its
    tenant's as others are, as far as it can be read (`rough`)."""

    def __init__(
        self,
        held: Callable[[SlurmJob, Picture], str] | None = None,
        beyond: str = "",
        roughly: bool = False,
    ) -> None:
        self._held, self._beyond, self._roughly = held or _why_held, beyond, roughly
        self._shape: object = None
        self._requests: dict[int, tuple[SlurmJob, _Read]] = {}
        self._jobs: dict[int, dict[tuple[str, Request], Job]] = {}
        self._apart: frozenset[str] = frozenset()  # those of the last view, and what is over of it
        self._elements: dict[str, list[str]] = {}  # of jobs that are a part of an array
        # Of jobs that wait: Slurm's own priorities, the least of a job's, and where they may start.
        self.priorities: dict[str, int] = {}
        self.partitions: dict[str, tuple[str, ...]] = {}

    def view(self, picture: Picture, time: int) -> View:
        notes: list[str] = []
        usable = [node for node in picture.nodes if is_usable(node, notes)]
        shape = [
            (each.name, each.partitions, each.features, each.gres, each.has) for each in usable
        ]
        if shape != self._shape:  # which nodes a constraint leaves depends on them
            self._shape = shape
            self._requests.clear()
        open_ = {node.name for node in usable}
        busy = {name for job in picture.jobs if job.state in RUNNING for name in nodes_of(job)}
        shown = [node for node in picture.nodes if node.name in open_ or node.name in busy]
        problems = {node.name: _why_closed(node) for node in shown if node.name not in open_}
        draft = _Draft(picture, usable, shown, problems, places_of(picture), notes=notes)
        reads = [self._read(job, draft) for job in picture.jobs]
        self._forget(draft, reads)
        self._elements = {}
        self.priorities, self.partitions = {}, {}
        for job, read in zip(picture.jobs, reads, strict=True):
            self._take(draft, job, read)
        for number, over in draft.over.items():
            if number not in draft.apart:
                draft.found.setdefault(over.name, _Found(over))
        self._apart = frozenset((*draft.apart, *draft.over))
        tenants = tenants_of(picture, notes)
        jobs = {name: each.to_seen_job() for name, each in draft.found.items()}
        return View(
            time=time,
            nodes=tuple(_node(node, node.name in open_, problems) for node in draft.shown),
            tenants=tuple(tenants),
            weighed=bool(picture.associations),
            jobs=jobs,
            apart={name: each for name, each in draft.apart.items() if name not in jobs},
            notes=tuple(notes),
        )

    def rows(self, values: Mapping[str, int]) -> dict[str, int]:
        """Values of jobs as values of what Slurm calls them: jobs, arrays, or some elements."""
        found: dict[str, int] = {}
        for name, value in values.items():
            found |= dict.fromkeys(self._elements.get(name, (name,)), value)
        return found

    def _take(self, draft: _Draft, job: SlurmJob, read: _Read) -> None:
        number, tenant = _number(job), tenant_of(job, draft.places)
        waits, runs = job.state == "PENDING", job.state in RUNNING
        if waits and (reason := self._held(job, draft.picture)):
            draft.apart[str(number)] = Apart(tenant or None, reason)
            return
        request = read.request
        machines = () if request is None or waits else places_of_tasks(job, request.gang)
        if self._roughly and request is not None and not (waits or machines):
            machines = (nodes_of(job) * request.gang)[: request.gang]
        if request is None or not (waits or machines):
            why = read.why or UNEQUAL
            if waits:
                said = f"it is not understood: {why}{self._beyond}"
                draft.apart[str(number)] = Apart(tenant or None, said)
                draft.notes.append(f"{describe_job(job)} is left out: {why}")
            elif runs:
                _count_as_taken(draft, job, why)
            elif request is not None and str(number) in self._apart and not nodes_of(job):
                draft.over[str(number)] = self._job(number, tenant, request)
            return
        if read.why and (waits or runs):
            draft.notes.append(f"{describe_job(job)} is not understood: {read.why}; {ROUGH}")
        of = self._job(number, tenant, request)
        found = draft.found.setdefault(of.name, _Found(of))
        found.throttle = job.throttle
        if waits:
            found.elements += job.elements
            before = self.priorities.get(of.name, job.priority)
            self.priorities[of.name] = min(before, job.priority)
            self.partitions[of.name] = job.partitions
            if of.name != str(number):
                self._elements.setdefault(of.name, []).append(f"{number}_{job.element}")
            if job.elements == 1:
                found.again.add(job.element)
            found.queued.append(_element_names(job.which) if job.which else (job.element,))
            found.said = f"Slurm says: {job.reason or 'no reason yet'}, priority {job.priority}"
            if read.why:
                found.said += f"; it is not understood ({read.why}), and {ROUGH}"
            return
        part = Part(job.element, machines, job.started * SECOND)
        if runs:
            found.running.append(part)
        else:
            found.ended.append(_end(job, part))

    def _read(self, job: SlurmJob, draft: _Draft) -> _Read:
        """The demand of a part of the job, the same whether it runs or not; or why that cannot be
        said."""
        known = self._requests.get(job.number)
        if known is not None and (known[0] is job or known[0] == job):
            return known[1]
        if known is not None and _is_over_that_ran(job, known[0]):
            return known[1]
        found = _understood(job, draft.usable)
        if self._roughly and job.elements:
            found = _roughly(job, draft, found)
        self._requests[job.number] = (job, found)
        return found

    def _job(self, number: int, tenant: str, request: Request) -> Job:
        alike = self._jobs.setdefault(number, {})
        job = alike.get((tenant, request))
        if job is None:
            taken = {each.name for each in alike.values()}
            names = (f"{number}-{k}" if k > 1 else str(number) for k in count(1))
            job = Job(
                next(name for name in names if name not in taken),
                dict(request.demand),
                tenant=tenant or None,
                tasks=request.gang,
                gang=request.gang,
                spread=request.spread and request.gang > 1,
                where=request.where,
                machines=request.machines,
                exclude=request.exclude,
            )
            alike[tenant, request] = job
        return job

    def _forget(self, draft: _Draft, reads: Sequence[_Read]) -> None:
        """Forgets what Slurm has forgotten, and what no element asks for any more."""
        rows = {job.number for job in draft.picture.jobs}
        asked: dict[int, list[tuple[str, Request]]] = {}  # no sets: hashes of fractions take long
        for job, read in zip(draft.picture.jobs, reads, strict=True):
            if read.request is not None:
                key = tenant_of(job, draft.places), read.request
                keys = asked.setdefault(_number(job), [])
                if not keys or keys[-1] != key:
                    keys.append(key)
        self._requests = {at: known for at, known in self._requests.items() if at in rows}
        self._jobs = {
            at: known
            if all(key in asked[at] for key in known)
            else {key: job for key, job in known.items() if key in asked[at]}
            for at, known in self._jobs.items()
            if at in asked
        }


@lru_cache(maxsize=256)
def _element_names(which: str) -> tuple[str, ...]:
    """The names of several elements. Most arrays are as they were at the reading before."""
    return tuple(str(number) for each in elements_of(which) for number in each)


def _number(job: SlurmJob) -> int:
    """Slurm's number of the job, or of its array."""
    return job.array or job.number


def _why_held(job: SlurmJob, picture: Picture) -> str:
    """Why Slurm holds a job that waits, in a sentence; empty where it waits for its turn."""
    if job.throttle and job.reason == THROTTLED:
        return ""
    if job.restarts and job.reason == DELAYED:
        return ""
    reason = find_hold(job, picture)
    return reason or ("" if job.priority else "Slurm holds it (its priority is 0)")


def _has_begun(job: SlurmJob) -> bool:
    return job.state != "PENDING" and job.running_on > 0


def _is_over_that_ran(job: SlurmJob, before: SlurmJob) -> bool:
    """Whether it is over, and `before` the same run of it. Where its devices lay is forgotten by
    Slurm then."""
    return job.state not in (*RUNNING, "PENDING") and 0 < job.started == before.started


def _understood(job: SlurmJob, nodes: Sequence[SlurmNode]) -> _Read:
    """What it asks for by its nodes; by its tasks where it runs and lies only so."""
    try:
        request = request_of(replace(job, running_on=0), nodes)
    except (NotUnderstoodError, InputError) as error:
        return _Read(None, str(error))
    if not job.elements:
        return _Read(None, "the list of its elements was cut")
    if _has_begun(job) and not places_of_tasks(job, request.gang):
        try:
            alike = request_of(by_tasks(job), nodes)
        except (NotUnderstoodError, InputError):
            return _Read(request)  # as it was asked for; it lies otherwise
        if places_of_tasks(job, alike.gang):
            return _Read(alike)
    return _Read(request)


def _roughly(job: SlurmJob, draft: _Draft, read: _Read) -> _Read:
    """The same, and as far as it can be read what is not understood, or runs otherwise than it
    asked for."""
    began = _has_begun(job)
    if read.request is not None and not (began and not places_of_tasks(job, read.request.gang)):
        return read
    row, nodes = replace(job, running_on=0), draft.usable
    if began:
        closed = {*nodes_of(job)} - {node.name for node in nodes}
        row, nodes = job, [*nodes, *(n for n in draft.picture.nodes if n.name in closed)]
    try:
        return _Read(rough_request_of(row, nodes), read.why or UNEQUAL)
    except (NotUnderstoodError, InputError) as error:
        return _Read(None, str(error))


def _end(job: SlurmJob, part: Part) -> PartEnd:
    ended = job.ended * SECOND
    if job.state in _CAUSES:
        cause, message = _CAUSES[job.state]
        return PartEnd(part, cause, 0, ended, message)
    if os.WIFSIGNALED(job.exit):
        return PartEnd(part, Cause.SIGNALLED, os.WTERMSIG(job.exit), ended)
    return PartEnd(part, Cause.EXITED, os.waitstatus_to_exitcode(job.exit), ended)


def _count_as_taken(draft: _Draft, job: SlurmJob, why: str) -> None:
    names = [node.name for node in draft.shown if node.name in nodes_of(job)]
    take_from(job, names, draft.shown)
    taken = f"it counts as taken on {', '.join(compress(names)) or 'no node that is there'}"
    draft.notes.append(f"{describe_job(job)} is not understood: {why}; {taken}")
    tenant = tenant_of(job, draft.places) or None
    draft.apart[str(_number(job))] = Apart(tenant, f"it is not understood: {why}; {taken}", True)
    for name in names:
        said = f"job {job.number} is not understood ({why}) and counts as taken"
        draft.problems[name] = "; ".join(filter(None, (draft.problems.get(name, ""), said)))


def _why_closed(node: SlurmNode) -> str:
    states = ", ".join(sorted(node.states)).lower()
    return f"Slurm says: {states}" + (f" ({node.reason})" if node.reason else "")


def _node(node: SlurmNode, is_open: bool, problems: Mapping[str, str]) -> Node:
    health = Health.READY if is_open else Health.DRAINING
    return Node(machine_of(node), health, problems.get(node.name, ""))
