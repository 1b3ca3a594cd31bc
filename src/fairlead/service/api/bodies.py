"""The body of a request, no longer and no slower than is allowed."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Protocol

from fastapi import Request
from starlette.requests import ClientDisconnect

from fairlead.service.api.refusal import RefusalError
from fairlead.service.api.settings import ApiSettings
from fairlead.wire.errors import ErrorKind

CLOSE: Mapping[str, str] = {"Connection": "close"}
"""The rest of the body is not read, so nothing can follow on this connection."""


DIGITS = 20
"""Of a length; Python makes no number of thousands of them."""


class Holding(Protocol):
    """The count of bytes of all bodies that are there at one moment."""

    held: int
    settings: ApiSettings


async def receive(request: Request, api: Holding) -> bytes:
    """The body. Raises RefusalError."""
    settings = api.settings
    said = request.headers.get("content-length", "0")
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise RefusalError(
            ErrorKind.WRONG_TYPE, "the body is compressed", "send it as it is", headers=CLOSE
        )
    if not said.isdecimal() or len(said) > DIGITS or int(said) > settings.body_bytes:
        raise _too_large(settings)
    chunks: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(settings.body_seconds):
            async for chunk in request.stream():
                size += len(chunk)
                api.held += len(chunk)
                if size > settings.body_bytes:
                    raise _too_large(settings)
                if api.held > settings.bodies_bytes:
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
    finally:
        api.held -= size
    return b"".join(chunks)


def _too_large(settings: ApiSettings) -> RefusalError:
    return RefusalError(
        ErrorKind.TOO_LARGE,
        f"the body is longer than {settings.body_bytes} bytes",
        "send less at once",
        headers=CLOSE,
    )
