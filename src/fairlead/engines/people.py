"""The users of the system as whom tasks run."""

from __future__ import annotations

import os
import pwd
from dataclasses import dataclass

from fairlead.model.errors import FairleadError


class CannotRunError(FairleadError):
    """A task cannot run as it is; the text says why."""


@dataclass(frozen=True, slots=True)
class Person:
    """A user of the system."""

    name: str
    uid: int
    gid: int
    groups: tuple[int, ...]
    home: str
    shell: str


def person(name: str, otherwise: str) -> Person | None:
    """The user of this name; None: as the service, who that is. `otherwise`: what follows where it
    does not run as root. Raises CannotRunError."""
    try:
        found = pwd.getpwnam(name)
    except KeyError:
        raise CannotRunError(f'there is no user "{name}" on this machine') from None
    if found.pw_uid == os.geteuid():
        return None
    if os.geteuid() != 0:
        raise CannotRunError(f"the service does not run as root, so {otherwise}")
    groups = tuple(sorted(os.getgrouplist(name, found.pw_gid)))
    shell = found.pw_shell or "/bin/sh"
    return Person(name, found.pw_uid, found.pw_gid, groups, found.pw_dir, shell)
