"""Puts the API together: routes with their handlers, errors, and its description as OpenAPI."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from inspect import getmembers, iscoroutinefunction
from typing import TYPE_CHECKING, Any, TypeVar

from fastapi import APIRouter, FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from pydantic.json_schema import models_json_schema
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from fairlead.model.errors import InputError, InternalError
from fairlead.service.api.middleware import Middleware
from fairlead.service.api.neighbours.own_time import own_time
from fairlead.service.api.refusal import RefusalError, answer, of_input, of_validation
from fairlead.service.api.request_context import Api, wall_clock
from fairlead.service.api.routes import (
    dashboard,
    events,
    fairness,
    history,
    jobs,
    machines,
    session,
    shares,
    status,
    tasks,
    tenants,
    tokens,
)
from fairlead.service.api.service_view import Entrance
from fairlead.service.api.settings import ApiSettings
from fairlead.service.precedence import Precedence
from fairlead.service.signin.settings import SignInSettings
from fairlead.version import __version__
from fairlead.wire.errors import STATUS, ErrorAnswer, ErrorKind
from fairlead.wire.jobs import KEY, LONGEST_KEY
from fairlead.wire.route import Access, Route
from fairlead.wire.routes import ROUTES

if TYPE_CHECKING:
    from fairlead.service.telemetry.telemetry import Telemetry

Handler = Callable[..., Awaitable[Response]]

E = TypeVar("E", bound=Exception)

HANDLERS: Mapping[str, Handler] = {
    name: handler
    for subject in (
        *(jobs, tasks, tenants, machines, shares, fairness, history),
        *(tokens, session),
        *(events, status, dashboard),
    )
    for name, handler in getmembers(subject, iscoroutinefunction)
    if handler.__module__ == subject.__name__ and not name.startswith("_")
}
"""The handler of each route, by its name: the public functions of the files in `routes`."""


ABOUT: dict[str, Any] = {
    "title": "Fairlead",
    "version": __version__,
    "summary": "Share a cluster fairly",
}

YAML = "application/yaml"

BEARER = "a token, fl_NAME_SECRET, or a JWT of the issuer that /v1/signin names"

_KINDS = {status: kind for kind, status in STATUS.items()}


def application(
    mailbox: Entrance,
    settings: ApiSettings | None = None,
    *,
    no_auth: bool = False,
    behind_proxy: bool = False,
    clock: Callable[[], float] | None = None,
    draw: Callable[[int], bytes] = secrets.token_bytes,
    wall: Callable[[], int] | None = None,
    tell_metrics: Callable[[], Awaitable[bytes]] | None = None,
    on_answer: Callable[[str, str, int, float], None] | None = None,
    telemetry: Telemetry | None = None,
    sign_in: SignInSettings | None = None,
    say_issuer: Callable[[str | None, float], None] = lambda _, __: None,
    precedence: Precedence | None = None,
) -> Middleware:
    """The API as an ASGI application; `.api` is what its requests share.

    It reads no clock but the event loop's (or `clock`) and draws nothing but the secrets of tokens,
    so that a simulation can call it without sockets. `on_answer` is called with every answer: the
    route's address, the method, the status, and seconds until it began. `sign_in`: the issuer of
    people's JWTs; `say_issuer` hears why it cannot be asked, and that it can again. `precedence`:
    that of the loop."""
    chosen = settings or ApiSettings()
    clock = clock or (lambda: asyncio.get_running_loop().time())
    people = None
    if sign_in is not None:
        from fairlead.service.signin.people import People

        people = People(sign_in, clock, wall or wall_clock, say_issuer)
    api = Api(
        mailbox,
        chosen,
        clock,
        no_auth=no_auth,
        draw=draw,
        tell_metrics=tell_metrics,
        on_answer=on_answer,
        stopwatch=own_time if chosen.threads else lambda: 0.0,  # repeatable where it must be
        wall=wall or wall_clock,
        telemetry=telemetry,
        people=people,
        precedence=precedence or Precedence(),
    )
    app = FastAPI(
        **ABOUT,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        routes=list(routes()),
    )
    app.state.api = api
    app.add_exception_handler(RefusalError, _answering(RefusalError, lambda error: error))
    app.add_exception_handler(InputError, _answering(InputError, of_input))
    app.add_exception_handler(
        RequestValidationError, _answering(RequestValidationError, of_validation)
    )
    app.add_exception_handler(HTTPException, _unrouted)
    app.add_exception_handler(Exception, _failed)
    app.openapi = description  # type: ignore[method-assign]  # FastAPI's own way to extend it
    return Middleware(app, api, no_auth=no_auth, behind_proxy=behind_proxy)


@cache
def routes() -> list[BaseRoute]:
    """The routes, which know no application: made once for all of a process, in 40 ms."""
    router = APIRouter()
    for route in ROUTES:
        _add(router, route)
    return router.routes


def _handler(route: Route) -> Handler:
    """The handler of a route. Raises InternalError where nobody has written it yet."""
    handler = HANDLERS.get(route.name)
    if handler is None:
        raise InternalError(
            f"the route {route.name!r} ({route.method} {route.path}) has no handler: write an async"
            f" function {route.name} in a file of fairlead/service/api/routes, and name a new file"
            " in HANDLERS of api/app.py"
        )
    return handler


def _add(router: APIRouter, route: Route) -> None:
    router.add_api_route(
        route.path,
        _handler(route),
        methods=[route.method],
        name=route.name,
        operation_id=route.name,
        summary=route.summary,
        status_code=route.status,
        response_class=Response,
        response_model=None,
        responses=_responses(route),
        openapi_extra=_extra(route),
        tags=[route.path.split("/")[2] if route.path.startswith("/v1/") else "service"],
    )
    if route.method == "GET" and route.access is Access.PUBLIC:  # as balancers and browsers ask
        router.add_api_route(
            route.path,
            _handler(route),
            methods=["HEAD"],
            name=route.name,
            include_in_schema=False,
            response_model=None,
        )


def _responses(route: Route) -> dict[int | str, dict[str, Any]]:
    good: dict[str, Any] = {"description": route.summary}
    if route.answer is not None:
        good["content"] = {route.media: {"schema": _ref(route.answer)}}
    elif route.name == "openapi":
        good["content"] = {route.media: {"schema": {"type": "object"}}}
    elif route.status != 204:
        good["content"] = {route.media: {"schema": {"type": "string", "format": "binary"}}}
    found: dict[int | str, dict[str, Any]] = {route.status: good}
    if route.answer is not None and route.method == "GET":
        found[304] = {"description": "What the client has is what there is (If-None-Match)."}
    for code in _codes(route):
        found[code] = {
            "description": (_KINDS[code].value.replace("_", " ")),
            "content": {"application/json": {"schema": _ref(ErrorAnswer)}},
        }
    if route.name == "ready" and route.answer is not None:
        found[503]["content"]["application/json"]["schema"] = {
            "anyOf": [_ref(route.answer), _ref(ErrorAnswer)]
        }
    return found


def _codes(route: Route) -> list[int]:
    kinds = [ErrorKind.BAD_REQUEST, ErrorKind.INVALID, ErrorKind.TOO_MANY]
    kinds += [ErrorKind.INTERNAL, ErrorKind.UNAVAILABLE]
    if route.access is not Access.PUBLIC or route.path == "/v1/session":
        kinds.append(ErrorKind.UNAUTHENTICATED)
        kinds.append(ErrorKind.FORBIDDEN)
    if "{" in route.path or route.method != "GET":
        kinds.append(ErrorKind.NOT_FOUND)
    if route.method != "GET":
        kinds.append(ErrorKind.CONFLICT)
    if route.body is not None:
        kinds += [ErrorKind.SLOW, ErrorKind.TOO_LARGE, ErrorKind.WRONG_TYPE]
    return sorted(STATUS[kind] for kind in kinds)


def _extra(route: Route) -> dict[str, Any]:
    extra: dict[str, Any] = {}
    if route.access is not Access.PUBLIC:
        extra["security"] = [{"token": []}]
    if route.body is not None:
        content: dict[str, Any] = {"application/json": {"schema": _ref(route.body)}}
        if route.name == "submit":
            content[YAML] = {"schema": {"type": "string", "description": "a file of jobs"}}
        extra["requestBody"] = {"required": True, "content": content}
    headers = {"submit": ("Idempotency-Key", "string"), "events": ("Last-Event-ID", "integer")}
    if route.name in headers:
        name, kind = headers[route.name]
        schema: dict[str, Any] = {"type": kind}
        schema |= (
            {"minLength": 1, "maxLength": LONGEST_KEY, "pattern": f"^{KEY}$"}
            if kind == "string"
            else {"minimum": 0, "maximum": 2**53 - 1}
        )
        extra["parameters"] = [{"name": name, "in": "header", "required": False, "schema": schema}]
    return extra


def _ref(model: type) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{model.__name__}"}


@cache
def description() -> dict[str, Any]:
    """FastAPI's description with our models and our way of authentication: made once for all of a
    process, too, in a tenth of a second."""
    tree = get_openapi(**ABOUT, routes=routes())
    told = [route.answer for route in ROUTES if route.answer is not None] + [ErrorAnswer]
    asked = [route.body for route in ROUTES if route.body is not None]
    _, schemas = models_json_schema(
        [(model, "serialization") for model in told] + [(model, "validation") for model in asked],
        ref_template="#/components/schemas/{model}",
    )
    components = tree.setdefault("components", {})
    components["schemas"] = components.get("schemas", {}) | schemas["$defs"]
    components["securitySchemes"] = {
        "token": {"type": "http", "scheme": "bearer", "description": BEARER}
    }
    return tree


def _answering(
    kind: type[E], refusal: Callable[[E], RefusalError]
) -> Callable[[Request, Exception], Awaitable[Response]]:
    """The handler of one kind of errors, which a refusal stands for."""

    async def handle(_request: Request, error: Exception) -> Response:
        if not isinstance(error, kind):
            raise error
        return answer(refusal(error))

    return handle


async def _unrouted(request: Request, error: Exception) -> Response:
    """No such address, or not with this method."""
    if not isinstance(error, HTTPException):
        raise error
    path = request.scope["path"][:80]
    if error.status_code == STATUS[ErrorKind.NO_METHOD]:
        headers = {name: value for name, value in (error.headers or {}).items() if name == "Allow"}
        what = f"{request.method} is not possible here"
        return answer(RefusalError(ErrorKind.NO_METHOD, what, headers=headers))
    kind = _KINDS.get(error.status_code, ErrorKind.BAD_REQUEST)
    return answer(RefusalError(kind, f"there is nothing at {path}", "see /openapi.json"))


async def _failed(_request: Request, _error: Exception) -> Response:
    """An error of ours. It is raised once more for the log, which alone says what it was."""
    return answer(RefusalError(ErrorKind.INTERNAL, "the service failed at this; see its log"))
