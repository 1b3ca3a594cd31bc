"""Requests: each becomes entries of the step, or is refused and changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from fairlead.model.errors import About, InputError
from fairlead.model.hints import Known
from fairlead.model.tenant import Tenant
from fairlead.model.values import plain_name
from fairlead.model.words import plural
from fairlead.scheduling.events import JobCancelled, JobChanged, MachineDrained, TenantChanged
from fairlead.scheduling.reading.core_copy import copy_core
from fairlead.scheduling.reading.lookup import is_cancelled, machine_state
from fairlead.scheduling.transitions import MachineState
from fairlead.service.loop.refusals import RefusedError, only_admin, refuse
from fairlead.service.loop.step import Step
from fairlead.service.loop.submitting import submit
from fairlead.service.records.book import Totals
from fairlead.service.records.jobs import JobRecord
from fairlead.service.records.lookup import display_name, find
from fairlead.service.records.people import MachineRecord
from fairlead.service.requests import (
    Caller,
    CancelJob,
    CancelJobs,
    CancelledJobs,
    ChangeJob,
    DrainMachine,
    DrainMachines,
    ForgetJob,
    ForgetJobs,
    JobKey,
    MakeToken,
    PutTenant,
    PutTenants,
    Refused,
    Request,
    RevokeToken,
    SubmitJobs,
    SubmittedJobs,
    Wrong,
)
from fairlead.service.settings import Limits
from fairlead.wire.kinds import Role

K = TypeVar("K")
T = TypeVar("T")

MAKE = "make it first, as with `fairlead tenants --apply FILE`"

Value = SubmittedJobs | CancelledJobs | int | None


def take_request(step: Step, limits: Limits, request: Request) -> Value | Refused:
    """Takes a request in: its value once the step is durable; or why it is refused."""
    try:
        match request:
            case SubmitJobs():
                return submit(step, limits, request)
            case ChangeJob():
                return _change(step, limits, request)
            case CancelJob():
                return _cancel(step, request)
            case CancelJobs():
                return _cancel_jobs(step, limits, request)
            case ForgetJob():
                return _forget(step, request)
            case ForgetJobs():
                return _forget_jobs(step, limits, request)
            case PutTenant():
                return _put_tenants(step, request.caller, (request.tenant,))
            case PutTenants():
                return _put_tenants(step, request.caller, request.tenants)
            case DrainMachine():
                return _drain(step, request.caller, (request.machine,), request.back)
            case DrainMachines():
                return _drain(step, request.caller, request.machines, request.back)
            case MakeToken():
                return _make_token(step, request)
            case RevokeToken():
                return _revoke_token(step, request)
    except RefusedError as error:
        return error.refused
    except InputError as error:
        return Refused(Wrong.INPUT, error.mistakes)


def _own_job(step: Step, caller: Caller, key: JobKey) -> JobRecord:
    """The job that the caller means, if there is one on which he may act."""
    try:
        job = find(step.records, caller, key)
    except InputError as error:
        raise RefusedError(Wrong.INPUT, error.mistakes) from error
    if job is None or job.id in step.removals:
        named = f'"{key}"' if isinstance(key, str) else f"number {key}"
        refuse(Wrong.NOT_FOUND, f"there is no job {named}", "it may have been forgotten")
    if caller.role is Role.ADMIN:
        return job
    below = caller.tenant is not None and step.records.is_below(job.job.tenant, caller.tenant)
    if caller.role is not Role.TENANT or not below:
        what, about = "this token may not act on it", _about(step, caller, job)
        refuse(Wrong.FORBIDDEN, what, _for_whom(caller), about=about)
    return job


def _for_whom(caller: Caller) -> str:
    """Whose jobs the caller may change."""
    if caller.role is not Role.TENANT or caller.tenant is None:
        return "it changes nothing"
    return f'it is for tenant "{caller.tenant}" and those below it'


def _about(step: Step, caller: Caller, job: JobRecord, *more: str) -> About:
    """The place of a mistake, as the caller is told it."""
    return ("job", display_name(step.records, caller, job), *more)


def _own_jobs(step: Step, limits: Limits, caller: Caller, names: Sequence[str]) -> list[JobRecord]:
    """The jobs, each once. Refuses all where one is not known, or the caller may not act on it,
    with a sentence on each such one."""
    if not 0 < len(names) <= limits.jobs_per_request:
        refuse(Wrong.INPUT, f"{len(names)} jobs at once", f"name 1 to {limits.jobs_per_request}")
    jobs = _each(lambda name: _own_job(step, caller, name), names)
    return list({job.id: job for job in jobs}.values())


def _each(function: Callable[[K], T], asked: Sequence[K]) -> list[T]:
    """Returns the function's result for each. Where it refuses some, one refusal says so of all
    of them."""
    found: list[T] = []
    refusals: list[Refused] = []
    for each in dict.fromkeys(asked):
        try:
            found.append(function(each))
        except RefusedError as error:
            refusals.append(error.refused)
    if refusals:
        mistakes = {str(mistake): mistake for each in refusals for mistake in each.mistakes}
        raise RefusedError(refusals[0].wrong, mistakes.values())
    return found


def _change(step: Step, limits: Limits, request: ChangeJob) -> int:
    job = _own_job(step, request.caller, request.job)
    if job.over:
        about = _about(step, request.caller, job)
        refuse(Wrong.CONFLICT, "it has finished", "submit another job", about)
    most = min(limits.tasks_per_job, limits.tasks_per_tenant)
    if request.tasks > most:
        refuse(
            Wrong.INPUT,
            f"{request.tasks} tasks are more than one job may have",
            f"write at most {most}",
            _about(step, request.caller, job, "tasks"),
        )
    taken = step.additions.setdefault(job.tenant, Totals())
    totals = step.records.totals[job.tenant]
    # Beyond what the records know: this step may have changed the job before.
    before = max(0, step.sizes.get(job.id, job.tasks) - job.tasks)
    more = max(0, request.tasks - job.tasks) - before
    if more > 0 and totals.tasks + taken.tasks + more > limits.tasks_per_tenant:
        refuse(
            Wrong.TOO_MANY,
            f'tenant "{job.tenant}" would have more than'
            f" {limits.tasks_per_tenant} {plural('unfinished task', limits.tasks_per_tenant)}",
            "wait until some finish",
        )
    step.apply(JobChanged(step.time, job.name, request.tasks))
    step.sizes[job.id] = request.tasks
    taken.tasks += more
    return job.id


def _cancel(step: Step, request: CancelJob) -> int:
    job = _own_job(step, request.caller, request.job)
    if job.cancelled or is_cancelled(step.core, job.name):
        return job.id
    if job.over or job.name not in step.core.ids.jobs:
        refuse(Wrong.CONFLICT, "it has already finished", about=_about(step, request.caller, job))
    step.apply(JobCancelled(step.time, job.name))
    return job.id


def _cancel_jobs(step: Step, limits: Limits, request: CancelJobs) -> CancelledJobs:
    if (request.tenant is None) is not bool(request.jobs):
        refuse(Wrong.INPUT, "the jobs to cancel are named, or a tenant is", "write one of the two")
    if request.tenant is None:
        jobs = _own_jobs(step, limits, request.caller, request.jobs)
    else:
        jobs = _jobs_of(step, request.caller, request.tenant)
    present = [
        job
        for job in jobs
        if not job.cancelled
        and job.name in step.core.ids.jobs
        and not is_cancelled(step.core, job.name)
    ]
    for job in present:
        step.apply(JobCancelled(step.time, job.name))
    return CancelledJobs(tuple(job.id for job in jobs), frozenset(job.id for job in present))


def _jobs_of(step: Step, caller: Caller, tenant: str) -> list[JobRecord]:
    """The jobs of the tenant and of those below it that are not over, oldest first; not those
    that are the cluster's own."""
    records = step.records
    if caller.role is not Role.ADMIN and not (
        caller.tenant is not None and _is_below(step, tenant, caller.tenant)
    ):
        what, about = "this token may not act for it", ("tenant", tenant)
        refuse(Wrong.FORBIDDEN, what, _for_whom(caller), about=about)
    if tenant not in records.tenants and tenant not in records.totals:
        refuse(Wrong.NOT_FOUND, f'there is no tenant "{tenant}"')
    known = (records.job(name) for name in step.core.ids.jobs)
    ours = (job for job in known if job is not None and job.parts is None)
    jobs = [job for job in ours if _is_below(step, job.tenant, tenant)]
    if caller.role is not Role.ADMIN:  # to whom jobs without a tenant belong
        jobs = [job for job in jobs if job.job.tenant is not None]
    return sorted(jobs, key=lambda job: job.id)


def _is_below(step: Step, tenant: str, above: str) -> bool:
    """Whether a tenant is that one, or below it. A job without a tenant is its own."""
    return tenant == above or step.records.is_below(tenant, above)


def _forget(step: Step, request: ForgetJob) -> int:
    job = _own_job(step, request.caller, request.job)
    _check_over(step, request.caller, job)
    step.forget(job)
    return job.id


def _forget_jobs(step: Step, limits: Limits, request: ForgetJobs) -> Value:
    jobs = _own_jobs(step, limits, request.caller, request.jobs)
    records = step.records.jobs
    _each(
        lambda number: _check_over(step, request.caller, records[number]), [job.id for job in jobs]
    )
    for job in jobs:
        step.forget(job)
    return None


def _check_over(step: Step, caller: Caller, job: JobRecord) -> None:
    """Refuses to forget a job that is not over, or of which something may still run."""
    if not job.over:
        about = _about(step, caller, job)
        refuse(Wrong.CONFLICT, "it has not finished", "cancel it first", about)
    away = step.records.away.get(job.id)
    if away:
        refuse(
            Wrong.CONFLICT,
            f"{away} of its attempts may still run on machines that are away",
            "wait until these are back, or for a day",
            _about(step, caller, job),
        )


def _put_tenants(step: Step, caller: Caller, tenants: Sequence[Tenant]) -> Value:
    only_admin(caller)
    changes = [TenantChanged(step.time, tenant) for tenant in tenants]
    if not changes:
        refuse(Wrong.INPUT, "there is no tenant", "write at least one")
    if len(changes) > 1:  # each by what those before it made: tried where nothing is kept
        trial = copy_core(step.core)
        for change in changes:
            trial.apply(change)
    for change in changes:
        step.apply(change)
    return None


def _drain(step: Step, caller: Caller, names: Sequence[str], back: bool) -> Value:
    only_admin(caller)
    if not names:
        refuse(Wrong.INPUT, "there is no machine", "name at least one")
    for record in _each(lambda name: _machine(step, name), names):
        _drain_one(step, record, back)
    return None


def _machine(step: Step, name: str) -> MachineRecord:
    """The machine, if it is there or was drained before it went."""
    record = step.records.machines.get(name)
    state = machine_state(step.core, name)
    left = record is not None and record.machine is not None and state is MachineState.ABSENT
    if record is None or left or (record.machine is None and not record.drained):
        known = Known(step.records.machines)
        hint = known.hint(name, "`fairlead machines` lists those that are")
        refuse(Wrong.NOT_FOUND, f'there is no machine "{name}"', hint)
    return record


def _drain_one(step: Step, record: MachineRecord, back: bool) -> None:
    name, state = record.name, machine_state(step.core, record.name)
    drained = step.drains.get(name, record.drained)
    if drained is not back:
        return  # it is as it is wished to be
    step.note("drain_asked", machine=name, back=back)
    step.drains[name] = not back
    if back and state is MachineState.DRAINING:
        kept = record.quarantine is not None and name not in step.releases
        if not kept and name not in step.quarantines:
            step.apply(MachineDrained(step.time, name, back=True), why="admin")
    elif not back and state is MachineState.UP:
        step.apply(MachineDrained(step.time, name), why="admin")


def _make_token(step: Step, request: MakeToken) -> Value:
    only_admin(request.caller)
    name = plain_name(request.name)
    if step.tokens.get(name, name in step.records.tokens):
        refuse(Wrong.CONFLICT, f'there is a token "{name}"', "choose another name, or revoke it")
    if (request.role is Role.TENANT) is (request.tenant is None):
        refuse(Wrong.INPUT, "a token of the role tenant has a tenant, and no other token has one")
    if request.tenant is not None and request.tenant not in step.core.ids.tenants:
        refuse(Wrong.NOT_FOUND, f'there is no tenant "{request.tenant}"', MAKE)
    step.note(
        "token_made",
        name=name,
        tenant=request.tenant,
        role=request.role.value,
        hash=request.hash,
        salt=request.salt,
    )
    step.tokens[name] = True
    return None


def _revoke_token(step: Step, request: RevokeToken) -> Value:
    only_admin(request.caller)
    name = request.name
    if not step.tokens.get(name, name in step.records.tokens):
        hint = "`fairlead token list` names those that are"
        refuse(Wrong.NOT_FOUND, f'there is no token "{name}"', hint)
    if not request.lock_out:
        _check_lock_out(step, request)
    step.note("token_revoked", name=name)
    step.tokens[name] = False
    return None


def _check_lock_out(step: Step, request: RevokeToken) -> None:
    """Refuses what would lock out whoever asks, or all administrators, with no way back but to
    start the service again."""
    admins = [
        token.name
        for token in step.records.tokens.values()
        if token.role is Role.ADMIN and step.tokens.get(token.name, True)
    ]
    if request.caller.token == request.name:
        what = "the token that is asked with"
    elif admins == [request.name]:
        what = "the last token of an administrator"
    else:
        return
    refuse(
        Wrong.CONFLICT,
        f'"{request.name}" is {what}',
        "make another one (`fairlead token create NAME --role admin`), ask with that, and revoke"
        " this one then; or say --lock-out (`lock_out=true`)",
    )
