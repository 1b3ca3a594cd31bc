"""The body of a request, no longer and no slower than is allowed, and what it asks."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from typing import Protocol, TypeVar

from fastapi import Request
from pydantic import ValidationError
from starlette.requests import ClientDisconnect
from starlette.types import Scope

from fairlead.service.api.refusal import RefusalError, of_validation
from fairlead.service.api.settings import ApiSettings
from fairlead.service.api.strict import json_of
from fairlead.wire.errors import ErrorKind
from fairlead.wire.shape import RequestBody

A = TypeVar("A", bound=RequestBody)

MOST_ASKED = 100_000
"""Values in a body that describes no jobs: names, mostly. All of it is checked in one go, in which
nobody is answered."""

HELD = "fairlead.held"
"""In the scope of a request: whose its body is, and how many bytes of it came."""

CLOSE: Mapping[str, str] = {"Connection": "close"}
"""The rest of the body is not read, so nothing can follow on this connection."""


DIGITS = 20
"""Of a length; Python makes no number of thousands of them."""


class Holding(Protocol):
    """The count of bytes of all bodies that are there at one moment, by whose they are."""

    held: Counter[str]
    settings: ApiSettings


async def receive(request: Request, api: Holding, who: str, most: int) -> bytes:
    """The body, of `most` bytes at most, and no more than all bodies of one may have. Raises
    RefusalError, also where who sends it, or all together, send too much at this moment. It counts
    until the request is over (`give_back`): it may wait long for its turn."""
    settings, held = api.settings, api.held
    most = min(most, settings.tenant_bodies_bytes, settings.bodies_bytes)
    said = request.headers.get("content-length", "0")
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise RefusalError(
            ErrorKind.WRONG_TYPE, "the body is compressed", "send it as it is", headers=CLOSE
        )
    if not said.isdecimal() or len(said) > DIGITS or int(said) > most:
        raise _too_large(most)
    chunks: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(settings.body_seconds):
            async for chunk in request.stream():
                size += len(chunk)
                held[who] += len(chunk)
                request.scope[HELD] = who, size
                if size > most:
                    raise _too_large(most)
                if held[who] > settings.tenant_bodies_bytes:
                    raise RefusalError(
                        ErrorKind.TOO_MANY, "you send too much at once", headers=CLOSE
                    )
                if held.total() > settings.bodies_bytes:
                    raise RefusalError(
                        ErrorKind.UNAVAILABLE, "too much is being sent at once", headers=CLOSE
                    )
                chunks.append(chunk)
    except TimeoutError as error:
        raise RefusalError(
            ErrorKind.SLOW,
            f"the body did not come within {settings.body_seconds:g} seconds",
            headers=CLOSE,
        ) from error
    except ClientDisconnect as error:
        raise RefusalError(ErrorKind.BAD_REQUEST, "the body is not whole") from error
    return b"".join(chunks)


def give_back(scope: Scope, held: Counter[str]) -> None:
    """The request is over, and what it held of a body."""
    who, size = scope.pop(HELD, ("", 0))
    if size:
        held[who] -= size
        if not held[who]:
            del held[who]


def model_of(body: bytes, model: type[A]) -> A:
    """The body, a JSON object, as a model. Raises RefusalError with every mistake."""
    try:
        return model.model_validate(json_of(body, MOST_ASKED))
    except ValidationError as error:
        raise of_validation(error) from error


def _too_large(most: int) -> RefusalError:
    return RefusalError(
        ErrorKind.TOO_LARGE,
        f"the body is longer than {most} bytes",
        "send less at once",
        headers=CLOSE,
    )
