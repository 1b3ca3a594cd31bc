"""The users of the system as whom jobs are submitted."""

from __future__ import annotations

import os
import pwd
from dataclasses import dataclass

from fairlead.model.errors import FairleadError


class CannotRunError(FairleadError):
    """A task cannot be a job of Slurm as it is; the text says why."""


@dataclass(frozen=True, slots=True)
class Person:
    """A user of the system."""

    name: str
    uid: int
    gid: int
    home: str
    shell: str


def person(name: str | None) -> Person | None:
    """The user as whom to submit; None: as the service, who that is. Raises CannotRunError."""
    if name is None:
        return None
    try:
        found = pwd.getpwnam(name)
    except KeyError:
        raise CannotRunError(f'there is no user "{name}" on this machine') from None
    if found.pw_uid == os.geteuid():
        return None
    if os.geteuid() != 0:
        raise CannotRunError(
            f'the service does not run as root, so Slurm takes no jobs of "{name}" from it'
        )
    return Person(name, found.pw_uid, found.pw_gid, found.pw_dir, found.pw_shell or "/bin/sh")
