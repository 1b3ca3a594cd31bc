"""From a mistake to the one shape of errors that refuses a request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil
from typing import Any

from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from starlette.responses import Response

from fairlead.model.errors import InputError, Mistake, brief
from fairlead.service.requests import Refused, Wrong
from fairlead.wire.errors import STATUS, ErrorAnswer, ErrorBody, ErrorKind, WireMistake, to_wire

MOST_MISTAKES = 100
"""Told in one answer; the rest are counted."""

MOST_LISTED = 1000
"""Mistakes in the shape of a body that are told apart at all: of more, only how many they are. To
list a million takes half a minute, in which nobody is answered."""

LONGEST_MESSAGE = 2000
"""Characters of one sentence: it may quote what was sent."""

RETRY_SECONDS = 2
"""The wait that a client is asked for where nothing better is known."""

KINDS = {
    Wrong.INPUT: ErrorKind.INVALID,
    Wrong.NOT_FOUND: ErrorKind.NOT_FOUND,
    Wrong.CONFLICT: ErrorKind.CONFLICT,
    Wrong.FORBIDDEN: ErrorKind.FORBIDDEN,
    Wrong.TOO_MANY: ErrorKind.TOO_MANY,
    Wrong.UNAVAILABLE: ErrorKind.UNAVAILABLE,
    Wrong.NOT_LEADING: ErrorKind.NOT_LEADING,
    Wrong.FAILED: ErrorKind.INTERNAL,
}


class RefusalError(Exception):
    """A request is refused, and nothing was done."""

    def __init__(
        self,
        kind: ErrorKind,
        what: str = "",
        right: str = "",
        *,
        mistakes: Sequence[Mistake] = (),
        retry: float | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(what)
        self.kind = kind
        self.mistakes = tuple(mistakes) or (Mistake(what, right),)
        self.headers = dict(headers or {})
        if retry is None and STATUS[kind] in (429, 503):
            retry = RETRY_SECONDS
        if retry is not None:
            self.headers["Retry-After"] = str(max(1, ceil(retry)))


def answer(refusal: RefusalError) -> Response:
    shown = [_short(to_wire(mistake)) for mistake in refusal.mistakes[:MOST_MISTAKES]]
    more = len(refusal.mistakes) - len(shown)
    if more > 0:
        shown.append(WireMistake(message=f"there are {more} more mistakes"))
    body = ErrorAnswer(error=ErrorBody(kind=refusal.kind, mistakes=shown))
    return Response(
        body.model_dump_json().encode(errors="backslashreplace"),
        STATUS[refusal.kind],
        {**refusal.headers, "Cache-Control": "no-store"},
        "application/json",
    )


def of_reply(refused: Refused) -> RefusalError:
    return RefusalError(KINDS[refused.wrong], refused.what, mistakes=refused.mistakes)


def of_input(error: InputError) -> RefusalError:
    """A user's mistakes."""
    return RefusalError(ErrorKind.INVALID, str(error), mistakes=error.mistakes)


def of_validation(error: RequestValidationError | ValidationError) -> RefusalError:
    """The mistakes that a model found, each with its place."""
    if isinstance(error, ValidationError) and (count := error.error_count()) > MOST_LISTED:
        what = f"{count} values are not what they are to be"
        return RefusalError(ErrorKind.INVALID, what, "look it up in /openapi.json")
    mistakes = []
    for one in error.errors():
        where = [part for part in one["loc"] if part != "body"]
        about = tuple(part if isinstance(part, int) else str(part) for part in where)
        what, right = _said(one)
        mistakes.append(Mistake(what, right, about=about))
    return RefusalError(ErrorKind.INVALID, "the request is not valid", mistakes=mistakes)


def _said(error: Mapping[str, Any]) -> tuple[str, str]:
    """What is wrong with a value, and what would be right: of a query's parameters in our own
    words."""
    bounds = error.get("ctx") or {}
    right = {
        "greater_than_equal": "write {ge} or more",
        "greater_than": "write more than {gt}",
        "less_than_equal": "write {le} or less",
        "less_than": "write less than {lt}",
        "int_parsing": "write a whole number",
        "int_from_float": "write a whole number",
        "float_parsing": "write a number",
        "bool_parsing": "write true or false",
        "enum": "write {expected}",
        "literal_error": "write {expected}",
    }.get(error["type"])
    given = error.get("input")
    if right is not None and isinstance(given, (str, int, float)):
        return f'"{brief(str(given))}" cannot be', right.format_map(bounds)
    message = str(bounds.get("error") or error["msg"])  # where we say it, without their words
    return message[:1].lower() + message[1:], ""


def _short(mistake: WireMistake) -> WireMistake:
    if len(mistake.message) <= LONGEST_MESSAGE:
        return mistake
    cut = {
        name: text if len(text) <= LONGEST_MESSAGE else text[: LONGEST_MESSAGE - 3] + "..."
        for name in ("message", "what", "right")
        if (text := getattr(mistake, name))
    }
    return mistake.model_copy(update=cut)
