"""The users of the system as whom tasks run."""

from __future__ import annotations

import contextlib
import os
import pwd
import stat
from dataclasses import dataclass
from pathlib import Path

from fairlead.engines.interface import EngineError
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


def make_work_folder(work: Path) -> None:
    """Makes the folder of the working folders: to be passed through, not to be listed."""
    with contextlib.suppress(FileExistsError):
        work.mkdir(0o711)
    about = work.lstat()
    if not stat.S_ISDIR(about.st_mode) or about.st_uid != os.geteuid():
        raise EngineError(f"{work} is not a folder of the service's own; remove it")
    work.chmod(0o711)
