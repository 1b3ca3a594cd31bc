"""What requests do: each becomes entries of the draft, or is refused and changes nothing."""

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


def take_request(draft: Step, limits: Limits, request: Request) -> Value | Refused:
    """What the request gives once the draft is durable; or why it is refused."""
    try:
        match request:
            case SubmitJobs():
                return submit(draft, limits, request)
            case ChangeJob():
                return _change(draft, limits, request)
            case CancelJob():
                return _cancel(draft, request)
            case ForgetJob():
                return _forget(draft, request)
            case PutTenant():
                return _put_tenant(draft, request)
            case DrainMachine():
                return _drain(draft, request)
            case MakeToken():
                return _make_token(draft, request)
            case RevokeToken():
                return _revoke_token(draft, request)
    except RefusedError as error:
        return error.refused
    except InputError as error:
        return Refused(Wrong.INPUT, str(error))


def _own_job(draft: Step, caller: Caller, key: JobKey) -> JobRecord:
    """The job, if there is one on which the caller may act."""
    job = draft.records.job(key)
    if job is None or job.id in draft.forgotten:
        named = f'named "{key}"' if isinstance(key, str) else f"number {key}"
        refuse(Wrong.NOT_FOUND, f"there is no job {named}", "it may have been forgotten")
    if caller.role is Role.ADMIN:
        return job
    below = caller.tenant is not None and draft.records.is_below(job.job.tenant, caller.tenant)
    if caller.role is not Role.TENANT or not below:
        refuse(Wrong.FORBIDDEN, "this token may not act on it", about=("job", job.name))
    return job


def _change(draft: Step, limits: Limits, request: ChangeJob) -> int:
    job = _own_job(draft, request.caller, request.job)
    if job.over:
        refuse(Wrong.CONFLICT, "it is over", "submit another job", ("job", job.name))
    if request.tasks > limits.tasks_per_job:
        refuse(
            Wrong.INPUT,
            f"{request.tasks} tasks are more than one job may have",
            f"write at most {limits.tasks_per_job}",
            ("job", job.name, "tasks"),
        )
    taken = draft.taken.setdefault(job.tenant, [0, 0])
    totals = draft.records.totals[job.tenant]
    # Beyond what the records know: this step may have changed the job before.
    before = max(0, draft.changed.get(job.id, job.tasks) - job.tasks)
    more = max(0, request.tasks - job.tasks) - before
    if more > 0 and totals.tasks + taken[1] + more > limits.tasks_per_tenant:
        refuse(
            Wrong.TOO_MANY,
            f'tenant "{job.tenant}" would have more than {limits.tasks_per_tenant} tasks that are'
            " not over",
            "wait until some are over",
        )
    draft.tell(JobChanged(draft.time, job.name, request.tasks))
    draft.changed[job.id] = request.tasks
    taken[1] += more
    return job.id


def _cancel(draft: Step, request: CancelJob) -> int:
    job = _own_job(draft, request.caller, request.job)
    if job.cancelled or is_cancelled(draft.core, job.name):
        return job.id
    if job.over or job.name not in draft.core.ids.jobs:
        refuse(Wrong.CONFLICT, "it is over already", about=("job", job.name))
    draft.tell(JobCancelled(draft.time, job.name))
    return job.id


def _forget(draft: Step, request: ForgetJob) -> int:
    job = _own_job(draft, request.caller, request.job)
    if not job.over:
        refuse(Wrong.CONFLICT, "it is not over", "cancel it first", ("job", job.name))
    away = draft.records.away.get(job.id)
    if away:
        refuse(
            Wrong.CONFLICT,
            f"{away} of its attempts may still run on machines that are away",
            "wait until these are back, or for a day",
            ("job", job.name),
        )
    draft.forget(job)
    return job.id


def _put_tenant(draft: Step, request: PutTenant) -> Value:
    only_admin(request.caller)
    draft.tell(TenantChanged(draft.time, request.tenant))
    return None


def _drain(draft: Step, request: DrainMachine) -> Value:
    only_admin(request.caller)
    name, back = request.machine, request.back
    record = draft.records.machines.get(name)
    state = machine_state(draft.core, name)
    left = record is not None and record.machine is not None and state is MachineState.ABSENT
    if record is None or left or (record.machine is None and not record.drained):
        refuse(Wrong.NOT_FOUND, f'there is no machine "{name}"')
    drained = draft.drains.get(name, record.drained)
    if drained is not back:
        return None  # it is as it is wished to be
    draft.note("drain_asked", machine=name, back=back)
    draft.drains[name] = not back
    if back and state is MachineState.DRAINING:
        kept = record.quarantine is not None and name not in draft.released
        if not kept and name not in draft.quarantined:
            draft.tell(MachineDrained(draft.time, name, back=True), why="admin")
    elif not back and state is MachineState.UP:
        draft.tell(MachineDrained(draft.time, name), why="admin")
    return None


def _make_token(draft: Step, request: MakeToken) -> Value:
    only_admin(request.caller)
    name = plain_name(request.name)
    if draft.tokens.get(name, name in draft.records.tokens):
        refuse(Wrong.CONFLICT, f'there is a token "{name}"', "choose another name, or revoke it")
    if (request.role is Role.TENANT) is (request.tenant is None):
        refuse(Wrong.INPUT, "a token of the role tenant has a tenant, and no other token has one")
    if request.tenant is not None and request.tenant not in draft.core.ids.tenants:
        refuse(Wrong.NOT_FOUND, f'there is no tenant "{request.tenant}"', "make it first")
    draft.note(
        "token_made",
        name=name,
        tenant=request.tenant,
        role=request.role.value,
        hash=request.hash,
        salt=request.salt,
    )
    draft.tokens[name] = True
    return None


def _revoke_token(draft: Step, request: RevokeToken) -> Value:
    only_admin(request.caller)
    name = request.name
    if not draft.tokens.get(name, name in draft.records.tokens):
        refuse(Wrong.NOT_FOUND, f'there is no token "{name}"')
    draft.note("token_revoked", name=name)
    draft.tokens[name] = False
    return None
