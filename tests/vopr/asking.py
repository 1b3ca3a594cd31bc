"""What the API is asked over HTTP for each request, and what its answers mean."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

from fairlead.model.plain import plain_job, plain_tenant
from fairlead.service.requests import (
    CancelJob,
    CancelJobs,
    ChangeJob,
    Done,
    DrainMachine,
    DrainMachines,
    ForgetJob,
    ForgetJobs,
    MakeToken,
    PutTenant,
    PutTenants,
    Refused,
    Reply,
    Request,
    RevokeToken,
    SubmitJobs,
    SubmittedJobs,
    Wrong,
)
from tests.vopr.faults import BrokenPromiseError
from tests.vopr.network import Answer, Call

WRONG = {
    400: Wrong.INPUT,
    403: Wrong.FORBIDDEN,
    404: Wrong.NOT_FOUND,
    409: Wrong.CONFLICT,
    422: Wrong.INPUT,
    429: Wrong.TOO_MANY,
    503: Wrong.UNAVAILABLE,
}
"""What a status means. Others are never answered to what is asked here."""


def call_of(request: Request, token: str) -> Call:
    """The request as HTTP."""
    match request:
        case SubmitJobs():
            key = () if request.key is None else (("Idempotency-Key", request.key),)
            body = _json(jobs=[plain_job(job) for job in request.jobs])
            query = "?strict=true" if request.strict else ""
            return Call("POST", f"/v1/jobs{query}", token, body=body, headers=key)
        case ChangeJob():
            return Call(
                "PATCH", f"/v1/jobs/{_quoted(request.job)}", token, body=_json(tasks=request.tasks)
            )
        case CancelJob():
            return Call("POST", f"/v1/jobs/{_quoted(request.job)}/cancel", token)
        case ForgetJob():
            return Call("DELETE", f"/v1/jobs/{_quoted(request.job)}", token)
        case PutTenant():
            tree = dict(plain_tenant(request.tenant))
            return Call("PUT", f"/v1/tenants/{tree.pop('name')}", token, body=_json(**tree))
        case DrainMachine():
            verb = "undrain" if request.back else "drain"
            return Call("POST", f"/v1/machines/{request.machine}/{verb}", token)
        case MakeToken():
            tree = {"name": request.name, "role": request.role.value}
            if request.tenant is not None:
                tree["tenant"] = request.tenant
            return Call("POST", "/v1/tokens", token, body=_json(**tree))
        case RevokeToken():
            return Call("DELETE", f"/v1/tokens/{request.name}", token)
        case CancelJobs():
            return Call("POST", "/v1/cancel", token, body=_json(jobs=request.jobs))
        case ForgetJobs():
            return Call("POST", "/v1/forget", token, body=_json(jobs=request.jobs))
        case PutTenants():
            trees = [plain_tenant(tenant) for tenant in request.tenants]
            return Call("PUT", "/v1/tenants", token, body=_json(tenants=trees))
        case DrainMachines():
            verb = "undrain" if request.back else "drain"
            return Call("POST", f"/v1/{verb}", token, body=_json(machines=request.machines))


def reply_of(request: Request, answer: Answer) -> Reply:
    """What the answer says."""
    if answer.status >= 400:
        if answer.status not in WRONG:
            raise BrokenPromiseError(
                "answers are of the kinds that are promised", f"{request} got {answer}"
            )
        # A status does not tell whether it may be done after all.
        return Refused(WRONG[answer.status], str(tree_of(answer)["error"]), answer.status == 503)
    if not isinstance(request, SubmitJobs):
        return Done(None, 0)
    tree = tree_of(answer)
    rows = tree["jobs"]
    value = SubmittedJobs(
        tuple(row["id"] for row in rows), tuple(row["name"] for row in rows), tree["repeated"]
    )
    return Done(value, 0)


def tree_of(answer: Answer) -> Any:
    """The body, which is JSON."""
    try:
        return json.loads(answer.body)
    except ValueError as error:
        raise BrokenPromiseError("answers can be read", str(answer)) from error


def _quoted(name: object) -> str:
    return quote(str(name), safe="")


def _json(**tree: object) -> bytes:
    return json.dumps(tree).encode()
