"""Every route of the API: its address, who may use it, what goes in and what comes out."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from fairlead.wire import events, fairness, jobs, machines, status, tenants, tokens
from fairlead.wire.shape import RequestBody, ResponseBody


class Access(Enum):
    """A route's callers."""

    PUBLIC = "public"  # without a token
    SEE = "see"  # any token; what is not one's own is left out of the answer
    OWN = "own"  # admin, or a tenant for what is its own or of tenants below it
    ADMIN = "admin"


@dataclass(frozen=True)
class Route:
    """A method and an address, with `{…}` where names and numbers stand."""

    name: str
    method: str
    path: str
    access: Access
    summary: str
    answer: type[ResponseBody] | None = None  # None: not JSON, `media` says what
    body: type[RequestBody] | None = None
    query: tuple[str, ...] = ()
    status: int = 200
    media: str = "application/json"
    owned: str | None = None  # by the owner of the `job` in the path, of the jobs in the `body`


STREAM = "text/event-stream"

ROUTES: tuple[Route, ...] = (
    Route(
        "submit",
        "POST",
        "/v1/jobs",
        Access.OWN,
        "Submit jobs: all of them or none. The body is a file of jobs, in JSON or YAML.",
        jobs.Submitted,
        jobs.Submission,
        status=201,
        query=("strict",),
        owned="body",
    ),
    Route(
        "list_jobs",
        "GET",
        "/v1/jobs",
        Access.SEE,
        "Jobs that are known, oldest first or newest first: unfinished ones, or all.",
        jobs.Jobs,
        query=("all", "state", "tenant", "prefix", "waiting", "newest", "cursor", "limit"),
    ),
    Route("show_job", "GET", "/v1/jobs/{job}", Access.SEE, "One job.", jobs.JobDetail),
    Route(
        "grow_job",
        "PATCH",
        "/v1/jobs/{job}",
        Access.OWN,
        "Give a job another number of tasks.",
        jobs.JobDetail,
        jobs.Grow,
        owned="job",
    ),
    Route(
        "cancel_job",
        "POST",
        "/v1/jobs/{job}/cancel",
        Access.OWN,
        "Cancel a job: waiting tasks are dropped, running ones stopped. Again: no change.",
        jobs.JobDetail,
        owned="job",
    ),
    Route(
        "cancel_jobs",
        "POST",
        "/v1/cancel",
        Access.OWN,
        "Cancel several jobs, or all of a tenant: all of them, or none where one is not known or"
        " another's. A finished one stays as it is. Again: no change.",
        jobs.Cancelled,
        jobs.CancelJobs,
        owned="body",
    ),
    Route(
        "forget_job",
        "DELETE",
        "/v1/jobs/{job}",
        Access.OWN,
        "Forget a finished job, with its outputs; its name is free again.",
        status=204,
        owned="job",
    ),
    Route(
        "forget_jobs",
        "POST",
        "/v1/forget",
        Access.OWN,
        "Forget several finished jobs: all of them, or none.",
        jobs.Forgotten,
        jobs.ForgetJobs,
        owned="body",
    ),
    Route(
        "list_tasks",
        "GET",
        "/v1/jobs/{job}/tasks",
        Access.OWN,
        "The tasks of a job, with the attempts at each.",
        jobs.Tasks,
        query=("state", "cursor", "limit"),
        owned="job",
    ),
    Route(
        "read_output",
        "GET",
        "/v1/jobs/{job}/tasks/{task}/output",
        Access.OWN,
        "What an attempt at a task wrote, as bytes. A negative offset counts from the end. With"
        " follow, the answer goes on until the attempt ends.",
        query=("stream", "attempt", "offset", "limit", "follow"),
        media="application/octet-stream",
        owned="job",
    ),
    Route(
        "why",
        "GET",
        "/v1/jobs/{job}/why",
        Access.OWN,
        "Why a job waits, how far it is from its fair share, and what would start it.",
        fairness.WhyAnswer,
        owned="job",
    ),
    Route(
        "list_tenants",
        "GET",
        "/v1/tenants",
        Access.SEE,
        "Tenants, by name, by jobs or by weight: all of them, or a page.",
        tenants.Tenants,
        query=("prefix", "parent", "order", "cursor", "limit"),
    ),
    Route(
        "show_tenant",
        "GET",
        "/v1/tenants/{tenant}",
        Access.SEE,
        "One tenant.",
        tenants.TenantDetail,
    ),
    Route(
        "put_tenant",
        "PUT",
        "/v1/tenants/{tenant}",
        Access.ADMIN,
        "Make a tenant, or change its weight, pool, limit or user. Its parent stays.",
        tenants.TenantDetail,
        tenants.PutTenant,
    ),
    Route(
        "put_tenants",
        "PUT",
        "/v1/tenants",
        Access.ADMIN,
        "Make or change several tenants: all of them, or none. Those that are not named stay.",
        tenants.Tenants,
        tenants.PutTenants,
    ),
    Route(
        "list_machines",
        "GET",
        "/v1/machines",
        Access.SEE,
        "The machines that are there, by name or by tasks.",
        machines.Machines,
        query=("prefix", "state", "where", "order", "cursor", "limit"),
    ),
    Route(
        "show_machine",
        "GET",
        "/v1/machines/{machine}",
        Access.SEE,
        "One machine.",
        machines.MachineDetail,
    ),
    Route(
        "drain_machine",
        "POST",
        "/v1/machines/{machine}/drain",
        Access.ADMIN,
        "Give a machine nothing new; what runs on it goes on. Again: no change.",
        machines.MachineDetail,
    ),
    Route(
        "undrain_machine",
        "POST",
        "/v1/machines/{machine}/undrain",
        Access.ADMIN,
        "Let a machine that was drained take tasks again. Its quarantine goes on.",
        machines.MachineDetail,
    ),
    Route(
        "drain_machines",
        "POST",
        "/v1/drain",
        Access.ADMIN,
        "Drain several machines: all of them, or none where one is not known. Again: no change.",
        machines.Machines,
        machines.MachineNames,
    ),
    Route(
        "undrain_machines",
        "POST",
        "/v1/undrain",
        Access.ADMIN,
        "Let several machines take tasks again: all of them, or none.",
        machines.Machines,
        machines.MachineNames,
    ),
    Route(
        "shares",
        "GET",
        "/v1/shares",
        Access.SEE,
        "What each tenant has now, and what would be fair. With jobs: of each job too; with own: of"
        " those without a tenant.",
        fairness.Shares,
        query=("jobs", "own"),
    ),
    Route(
        "shares_history",
        "GET",
        "/v1/shares/history",
        Access.SEE,
        "Shares over time.",
        fairness.SharesHistory,
        query=("since", "until", "points", "tenant"),
    ),
    Route(
        "shares_marks",
        "GET",
        "/v1/shares/marks",
        Access.SEE,
        "What changed who gets what over time: tasks that were stopped, machines that came, went,"
        " were drained or rest, tenants that were changed, starts of the service.",
        fairness.SharesMarks,
        query=("since", "until", "tenant"),
    ),
    Route(
        "whatif",
        "POST",
        "/v1/whatif",
        Access.SEE,
        "Who would gain and who would lose by a change of the present cluster. A change of a job's"
        " demand or constraint can be tried for one's own jobs.",
        fairness.WhatIfAnswer,
        fairness.WhatIfAsked,
    ),
    Route(
        "can_run",
        "POST",
        "/v1/can-run",
        Access.SEE,
        "Whether a job would start if it came now: where, or why not, and when. Nothing is"
        " submitted. A token of a tenant asks for itself and those below it.",
        fairness.CanRun,
        fairness.CanRunAsked,
    ),
    Route(
        "allocation",
        "GET",
        "/v1/allocation",
        Access.SEE,
        "The exact allocation of what is present: its levels, what stops whom, and who fills which"
        " machines.",
        fairness.LiveAllocation,
    ),
    Route(
        "audit",
        "GET",
        "/v1/audit",
        Access.SEE,
        "Who has less now than the exact allocation guarantees, since when, and why.",
        fairness.LiveAudit,
    ),
    Route(
        "updates",
        "GET",
        "/v1/updates",
        Access.SEE,
        "That something happened, once a second at most, as server-sent events; with shares: shares"
        " and the live audit, and then what changed of them.",
        query=("shares",),
        media=STREAM,
    ),
    Route("list_tokens", "GET", "/v1/tokens", Access.ADMIN, "All tokens.", tokens.Tokens),
    Route(
        "make_token",
        "POST",
        "/v1/tokens",
        Access.ADMIN,
        "Make a token. Its secret is shown only once.",
        tokens.MadeToken,
        tokens.MakeToken,
        status=201,
    ),
    Route(
        "revoke_token",
        "DELETE",
        "/v1/tokens/{token}",
        Access.ADMIN,
        "Revoke a token: the next request with it is refused.",
        status=204,
    ),
    Route("me", "GET", "/v1/me", Access.SEE, "Whose token this is.", tokens.Me),
    Route(
        "session",
        "GET",
        "/v1/session",
        Access.PUBLIC,
        "Whose session a browser has; of nobody, `me` is null.",
        tokens.Session,
    ),
    Route(
        "sign_in",
        "POST",
        "/v1/session",
        Access.PUBLIC,
        "Sign a browser in: the token becomes a cookie that no script can read.",
        tokens.Me,
        tokens.SessionToken,
    ),
    Route(
        "sign_out",
        "DELETE",
        "/v1/session",
        Access.PUBLIC,
        "Sign a browser out: it forgets the cookie. The token stays good.",
        status=204,
    ),
    Route(
        "signin",
        "GET",
        "/v1/signin",
        Access.PUBLIC,
        "Where people sign in whose JWTs are taken here.",
        tokens.SignIn,
    ),
    Route(
        "events",
        "GET",
        "/v1/events",
        Access.SEE,
        "What happens, as server-sent events, from now on or from after an entry of the journal"
        " (since, or the header Last-Event-ID).",
        query=("since",),
        media=STREAM,
    ),
    Route(
        "list_events",
        "GET",
        "/v1/events/past",
        Access.SEE,
        "What happened, the newest first, as far back as the journal goes.",
        events.Events,
        query=("kind", "tenant", "job", "machine", "cursor", "limit"),
    ),
    Route("version", "GET", "/v1/version", Access.PUBLIC, "The service's version.", status.Version),
    Route("health", "GET", "/v1/health", Access.PUBLIC, "The process answers.", status.Health),
    Route(
        "ready",
        "GET",
        "/v1/ready",
        Access.PUBLIC,
        "Whether new work is accepted; 503 if not.",
        status.Ready,
    ),
    Route("metrics", "GET", "/metrics", Access.SEE, "Metrics, for Prometheus.", media="text/plain"),
    Route(
        "openapi",
        "GET",
        "/openapi.json",
        Access.PUBLIC,
        "This API as OpenAPI 3.1.",
        media="application/json",
    ),
    Route("dashboard", "GET", "/", Access.PUBLIC, "The dashboard's page.", media="text/html"),
    Route(
        "dashboard_file",
        "GET",
        "/dashboard/{file}",
        Access.PUBLIC,
        "A file of the dashboard: a script, a style.",
        media="text/*",
    ),
    Route(
        "dashboard_room",
        "GET",
        "/dashboard/{room}/{module}",
        Access.PUBLIC,
        "A file of the dashboard in a folder.",
        media="text/*",
    ),
)

BY_NAME = {route.name: route for route in ROUTES}
