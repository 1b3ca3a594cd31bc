"""A cluster that another scheduler runs: what is seen there becomes the events that are missing.

Nothing is decided here. Where the records and the cluster differ, the cluster is right.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

from fairlead.engines.interface import Cause
from fairlead.engines.observing import Apart, Part, PartEnd, SeenJob, View
from fairlead.model.errors import InputError
from fairlead.model.job import Job
from fairlead.scheduling.events import (
    JobCancelled,
    JobChanged,
    JobSubmitted,
    TaskFailed,
    TaskFinished,
    TaskLost,
    TaskPlaced,
    TenantChanged,
)
from fairlead.scheduling.reading.lookup import job_counts, job_total, next_task
from fairlead.scheduling.transitions import HELD, OVER, TaskState
from fairlead.service.loop.step import Step
from fairlead.service.records.jobs import JobRecord
from fairlead.service.requests import (
    ForgetJob,
    ForgetJobs,
    MakeToken,
    PutTenant,
    PutTenants,
    Refused,
    Request,
    RevokeToken,
    Wrong,
)

WORK = ("demand", "tenant", "where", "machines", "exclude", "spread", "gang")
"""The parts of a job that are equal where two jobs ask for the same."""

HERE = (ForgetJob, ForgetJobs, MakeToken, RevokeToken)
"""Requests that change nothing but what is known here."""

LOST = "the cluster does not know it any more, and nobody saw how it ended"
AGAIN = "it was given back to the queue"


@dataclass(frozen=True, slots=True)
class _Held:
    """A task that runs, as the records have it."""

    task: int
    attempt: int
    machine: str
    started: int


@dataclass
class _Standing:
    """The parts of a job that run, each with its tasks, and names of those that are over."""

    number: int
    held: dict[str, list[_Held]] = field(default_factory=dict)
    over: set[str] = field(default_factory=set)


class Adoption:
    """Jobs, tenants and tasks of the cluster, step by step; `apart` and what is `said` are of its
    last view and in no journal. `weighed`: its tenants have weights of their own there. `other`:
    the name of the other scheduler; empty where there is none."""

    def __init__(self, other: str = "") -> None:
        self.other = other
        self.apart: Mapping[str, Apart] = {}
        self.weighed = False
        self._seen: Mapping[str, SeenJob] = {}
        self._done: dict[str, SeenJob] = {}  # the records say the same
        self._standing: dict[str, _Standing] = {}

    def said(self, name: str) -> str:
        """The cluster's own scheduler's reason why a job waits; empty where nothing."""
        seen = self._seen.get(name)
        return "" if seen is None or not seen.waiting else seen.said

    def refusal(self, request: Request) -> Refused | None:
        """Why a request is refused here, since it is for the other scheduler; None where not."""
        if not self.other or isinstance(request, HERE):
            return None
        if isinstance(request, PutTenant | PutTenants) and not self.weighed:
            return None
        return Refused(
            Wrong.CONFLICT,
            f"{self.other.capitalize()} runs this cluster, so nothing was changed here: use its own"
            " commands",
        )

    def take_ends(self, step: Step, view: View) -> None:
        """All that is over or was given back, before machines go."""
        self._standing = {}
        self._done = {
            name: seen for name, seen in self._done.items() if view.jobs.get(name) == seen
        }
        for name in list(step.core.ids.jobs):
            if name in self._done:
                continue
            record, seen = step.records.names[name], view.jobs.get(name)
            standing = _standing(step, record)
            if seen is None or not _same_work(record.job, seen.job):
                _leave(step, record, standing, forget=seen is not None or name in view.apart)
                continue
            new = [*_begun(standing, seen), *(each.part for each in _ended(standing, seen))]
            _grow(step, name, seen.waiting + sum(len(part.machines) for part in new))
            _end_parts(step, name, standing, seen)
            self._standing[name] = standing

    def take_rest(self, step: Step, view: View, own: Iterable[str]) -> None:
        """All that is new, once machines are there. `own`: tenants whom the service's own
        settings describe."""
        self._seen, self.weighed = view.jobs, view.weighed
        apart, mine = dict(view.apart), frozenset(own)
        for tenant in view.tenants:
            known = step.records.tenants.get(tenant.name)
            if tenant.name not in mine and (known is None or (view.weighed and known != tenant)):
                try:
                    step.apply(TenantChanged(step.time, tenant))
                except InputError as error:
                    apart[tenant.name] = Apart(tenant.name, str(error))
        for name in sorted(view.jobs.keys() - self._done.keys(), key=_by_number):
            try:
                if self._adopt(step, name, view.jobs[name]):
                    self._done[name] = view.jobs[name]
            except InputError as error:
                apart[name] = Apart(view.jobs[name].job.tenant, f"it is not understood: {error}")
        self.apart = apart

    def _adopt(self, step: Step, name: str, seen: SeenJob) -> bool:
        """Brings one job up to what is seen; whether that was possible in full."""
        standing = self._standing.get(name)
        if standing is None or name not in step.core.ids.jobs:
            if not seen.waiting and not seen.running:
                return True  # it is over, or came and went unseen
            standing = _Standing(_submit(step, name, seen))
        whole = _place_parts(step, name, standing, seen)
        if not _shrink(step, name, standing, seen.waiting):
            # A task that was given back and then cancelled: it comes back without that one.
            _leave(step, step.records.names[name], standing, forget=True)
            standing = _Standing(_submit(step, name, seen))
            whole = _place_parts(step, name, standing, seen)
        return whole


def _by_number(name: str) -> tuple[int, str]:
    digits = name.partition("-")[0]
    return (int(digits) if digits.isdecimal() else 0, name)


def _same_work(one: Job, other: Job) -> bool:
    return all(getattr(one, name) == getattr(other, name) for name in WORK)


def _standing(step: Step, record: JobRecord) -> _Standing:
    """The parts of a job before this step."""
    standing = _Standing(record.id)
    table = step.records.table
    for task, part in (record.parts or {}).items():
        row = record.first + task
        state = TaskState(table.state[row])
        if state in OVER:
            standing.over.add(part)
        elif state in HELD:
            machine = step.records.machine_names[table.machine[row]]
            held = _Held(task, table.attempt[row], machine, table.started[row])
            standing.held.setdefault(part, []).append(held)
    return standing


def _begun(standing: _Standing, seen: SeenJob) -> list[Part]:
    """Parts that run and of which the records do not know it."""
    return [part for part in seen.running if not _goes_on(standing, part)]


def _ended(standing: _Standing, seen: SeenJob) -> list[PartEnd]:
    """Parts that are over, and of which nobody ever saw that they ran."""
    known = standing.over | standing.held.keys()
    return [each for each in seen.ended if each.part.name not in known]


def _goes_on(standing: _Standing, part: Part) -> bool:
    """Whether it runs as it did: where it was, and since then."""
    held = standing.held.get(part.name, ())
    same = sorted(each.machine for each in held) == sorted(part.machines)
    return same and all(each.started == part.started for each in held)


def _end_parts(step: Step, name: str, standing: _Standing, seen: SeenJob) -> None:
    """Ends what runs no more as it did, and forgets it in `standing`."""
    running = {part.name: part for part in seen.running}
    ended = {each.part.name: each for each in seen.ended}
    for part in list(standing.held):
        if part in running and _goes_on(standing, running[part]):
            continue
        tasks = standing.held.pop(part)
        for held in tasks:
            if part in running or part in seen.again:
                _lose(step, name, standing.number, held)
            else:
                _end(step, name, standing.number, held, ended.get(part))
        if part not in running and part not in seen.again:
            standing.over.add(part)


def _leave(step: Step, record: JobRecord, standing: _Standing, *, forget: bool) -> None:
    """A job waits and runs no more. `forget`: as if it had never been, since it comes back."""
    name = record.name
    for tasks in standing.held.values():
        for held in tasks:
            if forget:
                _lose(step, name, record.id, held)
            else:
                _end(step, name, record.id, held, None)
    if name in step.core.ids.jobs:
        standing.held.clear()
        if forget or not job_counts(step.core, name).started:
            step.apply(JobCancelled(step.time, name))
        else:
            _shrink(step, name, standing, 0)
    if forget:
        step.forget(record)


def _submit(step: Step, name: str, seen: SeenJob) -> int:
    """A job is new; its number here."""
    before = step.records.names.get(name)
    if before is not None and before.id not in step.removals:
        step.forget(before)  # Slurm runs it again
    parts = (*seen.running, *(each.part for each in seen.ended))
    tasks = seen.waiting + sum(len(part.machines) for part in parts)
    number = step.records.next_id + step.numbers
    job = replace(seen.job, tasks=Fraction(max(tasks, int(seen.job.gang))))
    step.apply(JobSubmitted(step.time, job), id=number, by=None, key=None, request=None)
    step.numbers += 1
    return number


def _grow(step: Step, name: str, waiting: int) -> None:
    """At least so many tasks wait."""
    counts = job_counts(step.core, name)
    if counts.waiting < waiting:
        _resize(step, name, waiting - counts.waiting)


def _shrink(step: Step, name: str, standing: _Standing, waiting: int) -> bool:
    """No more tasks wait than so many; whether that is so. Of those that ran before, none is taken
    back unless all of the job is."""
    if name not in step.core.ids.jobs:
        return True
    counts, total = job_counts(step.core, name), job_total(step.core, name)
    less = min(counts.waiting - waiting, total - max(1, counts.gang, counts.started))
    if less > 0:
        _resize(step, name, -less)
    left = counts.waiting - max(less, 0) - waiting
    if left and not waiting and not standing.held:
        step.apply(JobCancelled(step.time, name))
        return True
    return left == 0


def _resize(step: Step, name: str, more: int) -> None:
    step.apply(JobChanged(step.time, name, job_total(step.core, name) + more))


def _place_parts(step: Step, name: str, standing: _Standing, seen: SeenJob) -> bool:
    """All parts that are not known to run or to be over do, or are; whether their machines are
    there."""
    machines, whole = step.core.ids.machines, True
    for part in _begun(standing, seen):
        if all(machine in machines for machine in part.machines):
            _place(step, name, standing, part)
        else:
            whole = False
    for each in _ended(standing, seen):
        if all(machine in machines for machine in each.part.machines):
            for held in _place(step, name, standing, each.part):
                _end(step, name, standing.number, held, each)
            del standing.held[each.part.name]
    return whole


def _place(step: Step, name: str, standing: _Standing, part: Part) -> list[_Held]:
    """The tasks of a part run, each on its machine."""
    placed = []
    for machine in part.machines:
        task, attempt = next_task(step.core, name)
        event = TaskPlaced(step.time, name, task, machine)
        body = {"id": standing.number, "attempt": attempt, "part": part.name}
        step.apply(event, **body, started=part.started)  # by that cluster's clock
        placed.append(_Held(task, attempt, machine, part.started))
    standing.held[part.name] = placed
    return placed


def _lose(step: Step, name: str, number: int, held: _Held) -> None:
    """It waits again."""
    event = TaskLost(step.time, name, held.task)
    step.apply(event, **_body(number, held, "lost", 0, step.time, AGAIN))


def _end(step: Step, name: str, number: int, held: _Held, end: PartEnd | None) -> None:
    """It is over, as far as anybody knows how."""
    if end is None or end.cause is None:
        why, ended = (LOST, step.time) if end is None else (end.message, end.ended)
        event = TaskFailed(step.time, name, held.task)
        step.apply(event, **_body(number, held, "lost", 0, ended, why))
        return
    well = end.cause is Cause.EXITED and end.code == 0
    kind = TaskFinished if well else TaskFailed
    body = _body(number, held, end.cause.value, end.code, end.ended, end.message)
    step.apply(kind(step.time, name, held.task), **body)


def _body(
    number: int, held: _Held, cause: str, code: int, ended: int, why: str
) -> dict[str, object]:
    return {
        "id": number,
        "attempt": held.attempt,
        "machine": held.machine,
        "cause": cause,
        "code": code,
        "started": held.started,
        "ended": ended,
        "why": why,
        "retry": False,
        "given_up": False,
    }
