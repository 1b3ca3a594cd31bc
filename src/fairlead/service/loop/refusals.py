"""Refusals, as what takes in a request raises them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NoReturn

from fairlead.model.errors import About, Mistake
from fairlead.service.requests import Caller, Refused, Wrong
from fairlead.wire.kinds import Role


class RefusedError(Exception):
    """The request is refused; nothing changed."""

    def __init__(self, wrong: Wrong, mistakes: Iterable[Mistake]) -> None:
        self.refused = Refused(wrong, mistakes)
        super().__init__(self.refused.what)


def refuse(wrong: Wrong, what: str, right: str = "", about: About = ()) -> NoReturn:
    raise RefusedError(wrong, [Mistake(what, right, about=about)])


def only_admin(caller: Caller) -> None:
    """Refuses all but administrators."""
    if caller.role is not Role.ADMIN:
        refuse(Wrong.FORBIDDEN, f"this takes an administrator, not a {caller.role.value}")
