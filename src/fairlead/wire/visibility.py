"""The fields that a token may see of others: each field of every answer, and who is told it."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from fairlead.wire import events, fairness, jobs, machines, status, tenants, tokens
from fairlead.wire.shape import ResponseBody


class Seen(Enum):
    """The readers of a field."""

    ALL = "all"  # who may use the route
    OWNER = "owner"  # of what it is about: its tenant, those above it, and admins
    ADMIN = "admin"


def _fields(all_see: str, owner: str = "", admin: str = "") -> Mapping[str, Seen]:
    listed = ((all_see, Seen.ALL), (owner, Seen.OWNER), (admin, Seen.ADMIN))
    return {name: seen for names, seen in listed for name in names.split()}


_JOB = "name id tenant state tasks submitted ended"
_MACHINE = "name state drained capacity free labels tasks quarantine problem"
_TENANT = "name parent weight pool limit jobs"

LIST: Mapping[type[ResponseBody], Mapping[str, Seen]] = {
    jobs.JobRow: _fields(_JOB),
    jobs.Jobs: _fields("schema_ jobs next"),
    jobs.JobDetail: _fields(f"schema_ {_JOB}", owner="job reason by"),
    jobs.TaskCounts: _fields("waiting launched running stopping finished failed dropped"),
    jobs.Submitted: _fields("schema_ jobs repeated warnings forgotten"),  # by the token that asked
    jobs.SubmissionWarning: _fields("job sentence"),
    jobs.CancelledJob: _fields(f"{_JOB} changed"),
    jobs.Cancelled: _fields("schema_ jobs"),
    jobs.Forgotten: _fields("schema_ jobs"),
    # Only its owner is shown a job's tasks, its outputs, and why it waits: Access.OWN.
    jobs.Tasks: _fields("schema_ job tasks next"),
    jobs.Task: _fields("task state attempts"),
    jobs.TaskAttempt: _fields("number machine launched started ended cause code message"),
    fairness.WhyAnswer: _fields(
        "schema_ job tenant state tasks sentences reasons machines holders holders_more fair change"
        " changes expected_start priority"
    ),
    fairness.WhyPriority: _fields("total parts"),
    fairness.WhyMachines: _fields(
        "excluded too_small draining one_each no_room reserved not_preferred room"
    ),
    fairness.WhyHolder: _fields("tenant tasks amounts"),
    fairness.WhyReason: _fields("kind sentence values"),
    fairness.WhyFair: _fields("tasks guaranteed running short since moment sentence"),
    fairness.WhyChange: _fields("kind sentence values"),
    tenants.TenantRow: _fields(_TENANT, admin="user"),
    tenants.Tenants: _fields("schema_ tenants next"),
    tenants.TenantDetail: _fields(f"schema_ {_TENANT} below", admin="user"),
    machines.MachineRow: _fields(_MACHINE),
    machines.Machines: _fields("schema_ machines next"),
    machines.MachineDetail: _fields(f"schema_ {_MACHINE}"),
    # Why it rests is what the engine said of somebody's task.
    machines.Quarantine: _fields("until failures", admin="why"),
    fairness.Shares: _fields("schema_ time policy exact behind tenants jobs never never_more"),
    fairness.TenantShare: _fields(
        "name parent weight running waiting share fair guaranteed asked shortfall"
    ),
    fairness.NeverRuns: _fields("job tenant sentence"),
    fairness.JobShareNow: _fields(
        "name tenant running waiting share fair fair_tasks guaranteed asked"
    ),
    fairness.SharesHistory: _fields("schema_ since until step tenants"),
    fairness.TenantHistory: _fields("name points"),
    fairness.SharePoint: _fields("time share fair running waiting"),
    fairness.SharesMarks: _fields("schema_ since until marks"),
    fairness.Mark: _fields("time last kind count tenant machine weight"),
    # Of others' jobs that can run nowhere it says so, and not by what constraint.
    fairness.WhatIfAnswer: _fields("schema_ time whatif sentences"),
    fairness.CanRun: _fields("schema_ time now never machines waiting expected_start sentences"),
    # Constraints are no part of it, and of others no warning.
    fairness.LiveAllocation: _fields("schema_ time picture problem"),
    fairness.LiveAudit: _fields(
        "schema_ time exact behind policy tenants gap shortfalls more below_fair below_fair_more"
        " never never_more problem"
    ),
    fairness.Shortfall: _fields(
        "tenant guaranteed has shortfall tasks job since cause counts lacking able machines"
        " sentence"
    ),
    fairness.BelowFair: _fields(
        "tenant fair has gap fair_tasks guaranteed job cause counts lacking able machines sentence"
    ),
    tokens.TokenRow: _fields("name role tenant made"),
    tokens.Tokens: _fields("schema_ tokens"),
    tokens.MadeToken: _fields("schema_ name role tenant made token"),
    tokens.SignIn: _fields("schema_ issuer audience client scopes"),
    tokens.Me: _fields("schema_ name role tenant tenants"),
    tokens.Session: _fields("schema_ me graphs addresses"),
    events.ServerEvent: _fields(
        "seq time kind job tenant task attempt machine back", owner="cause code"
    ),
    events.Events: _fields("schema_ events next"),
    status.Version: _fields("schema_ version api"),
    status.Health: _fields("ok"),
    status.Ready: _fields("ready why leads leader age"),
}
"""A new field of an answer is put here, or a test fails. The names of jobs, tenants and machines
are told to all. What is in no answer (keys, hashes of tokens) nobody is told."""
