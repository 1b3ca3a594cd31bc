"""Requests: each becomes entries of the step, or is refused and changes nothing."""

from __future__ import annotations

from fairlead.model.errors import InputError
from fairlead.model.values import plain_name
from fairlead.scheduling.events import JobCancelled, JobChanged, MachineDrained, TenantChanged
from fairlead.scheduling.reading.lookup import is_cancelled, machine_state
from fairlead.scheduling.transitions import MachineState
from fairlead.service.loop.refusals import RefusedError, only_admin, refuse
from fairlead.service.loop.step import Step
from fairlead.service.loop.submitting import submit
from fairlead.service.records.jobs import JobRecord
from fairlead.service.requests import (
    Caller,
    CancelJob,
    ChangeJob,
    DrainMachine,
    ForgetJob,
    JobKey,
    MakeToken,
    PutTenant,
    Refused,
    Request,
    RevokeToken,
    Role,
    SubmitJobs,
    SubmittedJobs,
    Wrong,
)
from fairlead.service.settings import Limits

Value = SubmittedJobs | int | None


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
            case ForgetJob():
                return _forget(step, request)
            case PutTenant():
                return _put_tenant(step, request)
            case DrainMachine():
                return _drain(step, request)
            case MakeToken():
                return _make_token(step, request)
            case RevokeToken():
                return _revoke_token(step, request)
    except RefusedError as error:
        return error.refused
    except InputError as error:
        return Refused(Wrong.INPUT, str(error))


def _own_job(step: Step, caller: Caller, key: JobKey) -> JobRecord:
    """The job, if there is one on which the caller may act."""
    job = step.records.job(key)
    if job is None or job.id in step.removals:
        named = f'named "{key}"' if isinstance(key, str) else f"number {key}"
        refuse(Wrong.NOT_FOUND, f"there is no job {named}", "it may have been forgotten")
    if caller.role is Role.ADMIN:
        return job
    below = caller.tenant is not None and step.records.is_below(job.job.tenant, caller.tenant)
    if caller.role is not Role.TENANT or not below:
        refuse(Wrong.FORBIDDEN, "this token may not act on it", about=("job", job.name))
    return job


def _change(step: Step, limits: Limits, request: ChangeJob) -> int:
    job = _own_job(step, request.caller, request.job)
    if job.over:
        refuse(Wrong.CONFLICT, "it has finished", "submit another job", ("job", job.name))
    if request.tasks > limits.tasks_per_job:
        refuse(
            Wrong.INPUT,
            f"{request.tasks} tasks are more than one job may have",
            f"write at most {limits.tasks_per_job}",
            ("job", job.name, "tasks"),
        )
    taken = step.additions.setdefault(job.tenant, [0, 0])
    totals = step.records.totals[job.tenant]
    # Beyond what the records know: this step may have changed the job before.
    before = max(0, step.sizes.get(job.id, job.tasks) - job.tasks)
    more = max(0, request.tasks - job.tasks) - before
    if more > 0 and totals.tasks + taken[1] + more > limits.tasks_per_tenant:
        refuse(
            Wrong.TOO_MANY,
            f'tenant "{job.tenant}" would have more than {limits.tasks_per_tenant}'
            " unfinished tasks",
            "wait until some finish",
        )
    step.apply(JobChanged(step.time, job.name, request.tasks))
    step.sizes[job.id] = request.tasks
    taken[1] += more
    return job.id


def _cancel(step: Step, request: CancelJob) -> int:
    job = _own_job(step, request.caller, request.job)
    if job.cancelled or is_cancelled(step.core, job.name):
        return job.id
    if job.over or job.name not in step.core.ids.jobs:
        refuse(Wrong.CONFLICT, "it has already finished", about=("job", job.name))
    step.apply(JobCancelled(step.time, job.name))
    return job.id


def _forget(step: Step, request: ForgetJob) -> int:
    job = _own_job(step, request.caller, request.job)
    if not job.over:
        refuse(Wrong.CONFLICT, "it has not finished", "cancel it first", ("job", job.name))
    away = step.records.away.get(job.id)
    if away:
        refuse(
            Wrong.CONFLICT,
            f"{away} of its attempts may still run on machines that are away",
            "wait until these are back, or for a day",
            ("job", job.name),
        )
    step.forget(job)
    return job.id


def _put_tenant(step: Step, request: PutTenant) -> Value:
    only_admin(request.caller)
    step.apply(TenantChanged(step.time, request.tenant))
    return None


def _drain(step: Step, request: DrainMachine) -> Value:
    only_admin(request.caller)
    name, back = request.machine, request.back
    record = step.records.machines.get(name)
    state = machine_state(step.core, name)
    left = record is not None and record.machine is not None and state is MachineState.ABSENT
    if record is None or left or (record.machine is None and not record.drained):
        refuse(Wrong.NOT_FOUND, f'there is no machine "{name}"')
    drained = step.drains.get(name, record.drained)
    if drained is not back:
        return None  # it is as it is wished to be
    step.note("drain_asked", machine=name, back=back)
    step.drains[name] = not back
    if back and state is MachineState.DRAINING:
        kept = record.quarantine is not None and name not in step.releases
        if not kept and name not in step.quarantines:
            step.apply(MachineDrained(step.time, name, back=True), why="admin")
    elif not back and state is MachineState.UP:
        step.apply(MachineDrained(step.time, name), why="admin")
    return None


def _make_token(step: Step, request: MakeToken) -> Value:
    only_admin(request.caller)
    name = plain_name(request.name)
    if step.tokens.get(name, name in step.records.tokens):
        refuse(Wrong.CONFLICT, f'there is a token "{name}"', "choose another name, or revoke it")
    if (request.role is Role.TENANT) is (request.tenant is None):
        refuse(Wrong.INPUT, "a token of the role tenant has a tenant, and no other token has one")
    if request.tenant is not None and request.tenant not in step.core.ids.tenants:
        refuse(Wrong.NOT_FOUND, f'there is no tenant "{request.tenant}"', "make it first")
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
        refuse(Wrong.NOT_FOUND, f'there is no token "{name}"')
    step.note("token_revoked", name=name)
    step.tokens[name] = False
    return None
