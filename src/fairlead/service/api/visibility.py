"""Leaves out of an answer what its reader may not see, by the list of `wire.visibility`."""

from __future__ import annotations

from typing import TypeVar

from fairlead.service.requests import Caller
from fairlead.wire.kinds import Role
from fairlead.wire.shape import ResponseBody
from fairlead.wire.visibility import LIST, Seen

R = TypeVar("R", bound=ResponseBody)


def as_seen(answer: R, caller: Caller, *, own: bool = False) -> R:
    """The answer with what the caller may not see as if it were not known. `own`: it is about what
    belongs to the caller's tenant, or to one below it."""
    admin = caller.role is Role.ADMIN
    kind = type(answer)
    hidden = {
        name: kind.model_fields[name].get_default(call_default_factory=True)
        for name, seen in LIST[kind].items()
        if not (admin or seen is Seen.ALL or (own and seen is Seen.OWNER))
    }
    return answer.model_copy(update=hidden) if hidden else answer
