"""Answers of the service that refuse a request."""

from __future__ import annotations

from enum import Enum

from pydantic import Field, ValidationError

from fairlead.model.errors import Mistake, Place
from fairlead.wire.shape import ResponseBody


class ErrorKind(Enum):
    """Why a request was refused. Each kind has one status code."""

    BAD_REQUEST = "bad_request"  # it cannot be read at all
    UNAUTHENTICATED = "unauthenticated"  # no token, or none that is valid
    FORBIDDEN = "forbidden"  # the token may not do this
    NOT_FOUND = "not_found"
    NO_METHOD = "no_method"
    SLOW = "slow"  # the body did not come in time
    CONFLICT = "conflict"  # what is there already stands against it
    TOO_LARGE = "too_large"
    WRONG_TYPE = "wrong_type"  # the body is neither JSON nor YAML, or says it is not
    INVALID = "invalid"  # it was read, and there are mistakes in it
    TOO_MANY = "too_many"  # requests, connections, jobs or tasks
    INTERNAL = "internal"
    NOT_LEADING = "not_leading"  # another service leads: ask that one
    UNAVAILABLE = "unavailable"  # nothing can be made durable now, or the service stops


STATUS = {
    ErrorKind.BAD_REQUEST: 400,
    ErrorKind.UNAUTHENTICATED: 401,
    ErrorKind.FORBIDDEN: 403,
    ErrorKind.NOT_FOUND: 404,
    ErrorKind.NO_METHOD: 405,
    ErrorKind.SLOW: 408,
    ErrorKind.CONFLICT: 409,
    ErrorKind.TOO_LARGE: 413,
    ErrorKind.WRONG_TYPE: 415,
    ErrorKind.NOT_LEADING: 421,
    ErrorKind.INVALID: 422,
    ErrorKind.TOO_MANY: 429,
    ErrorKind.INTERNAL: 500,
    ErrorKind.UNAVAILABLE: 503,
}


class WireMistake(ResponseBody):
    """One thing that is wrong. `message` is the whole sentence; the rest are its parts, as far as
    they are known."""

    message: str
    what: str = ""
    right: str = Field(default="", description="what to write instead")
    file: str | None = None
    line: int | None = None
    column: int | None = None
    about: list[str | int] = Field(
        default_factory=list, description="kind, name, field and what is in it"
    )


class ErrorBody(ResponseBody):
    """The kind of the error, and every mistake that was found."""

    kind: ErrorKind
    mistakes: list[WireMistake]


class ErrorAnswer(ResponseBody):
    """The body of every answer whose status is 400 or more."""

    error: ErrorBody


def to_wire(mistake: Mistake) -> WireMistake:
    """The mistake as the API says it."""
    place = mistake.place
    return WireMistake(
        message=str(mistake),
        what=mistake.what,
        right=mistake.right,
        file=place.file if place else None,
        line=place.line if place else None,
        column=place.column if place else None,
        about=list(mistake.about),
    )


def from_wire(tree: object) -> Mistake | None:
    """The mistake that the API said; its whole sentence alone where its parts make another one.
    None where it is none."""
    try:
        said = WireMistake.model_validate(tree)
    except ValidationError:
        return None
    place = None
    if said.file is not None and said.line is not None and said.column is not None:
        place = Place(said.file, said.line, said.column)
    context = said.message.partition("\n")[2]
    mistake = Mistake(said.what, said.right, place, context, about=tuple(said.about))
    return mistake if str(mistake) == said.message else Mistake(said.message)
