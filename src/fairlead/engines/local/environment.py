"""The environment of a task, and the user of the system as whom it runs."""

from __future__ import annotations

import os
import pwd
from collections.abc import Mapping
from dataclasses import dataclass

from fairlead.engines.interface import Assignment
from fairlead.engines.local.hardware import Maker

RUN = "FAIRLEAD_RUN"
"""Names the engine and the attempt: processes are known by it wherever they went. Inside of a task
of another Fairlead it holds that one's, too."""

PASSED_ON = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ")
"""Variables that tasks have from the service's environment: the rest may hold its secrets."""

HOME = ("HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "VIRTUAL_ENV")
"""Variables that they have beside those where they run as the service's own user."""

USUAL_PATH = "/usr/local/bin:/usr/bin:/bin"


@dataclass(frozen=True, slots=True)
class Person:
    """A user of the system."""

    name: str
    uid: int
    gid: int
    groups: tuple[int, ...]
    home: str
    shell: str


class CannotRunError(Exception):
    """A task cannot run here as it is; the text says why."""


def person(name: str) -> Person | None:
    """The user as whom to run; None: as the service, who that is. Raises CannotRunError."""
    try:
        found = pwd.getpwnam(name)
    except KeyError:
        raise CannotRunError(f'there is no user "{name}" on this machine') from None
    if found.pw_uid == os.geteuid():
        return None
    if os.geteuid() != 0:
        raise CannotRunError(f'the service does not run as root, so it cannot become "{name}"')
    if found.pw_uid == 0:
        return None
    groups = tuple(sorted(os.getgrouplist(name, found.pw_gid)))
    return Person(name, found.pw_uid, found.pw_gid, groups, found.pw_dir, found.pw_shell)


def environment(
    assignment: Assignment,
    someone: Person | None,
    run: str,
    visible: tuple[int, ...] | None,
    maker: Maker,
    outer: Mapping[str, str],
) -> dict[str, str]:
    """All variables of a task. Its job's win over the service's, and those that name the task win
    over its job's. `visible`: its pieces of the machine's GPUs, None where it has none."""
    names = PASSED_ON + (HOME if someone is None else ())
    env = {name: outer[name] for name in names if name in outer}
    env.setdefault("PATH", USUAL_PATH)
    if someone is not None:
        env["HOME"], env["SHELL"] = someone.home, someone.shell or "/bin/sh"
        env["USER"] = env["LOGNAME"] = someone.name
    env.update(assignment.env)
    env.update(assignment.variables())
    env[RUN] = f"{outer[RUN]} {run}" if RUN in outer else run
    if visible is not None:
        shown = ",".join(map(str, visible))
        if maker is Maker.AMD:
            env["ROCR_VISIBLE_DEVICES"] = shown
        else:
            env["CUDA_VISIBLE_DEVICES"] = shown
    return env


def argv(assignment: Assignment) -> tuple[str, ...]:
    """The program of a task and its arguments."""
    command = assignment.command
    assert command is not None
    return ("/bin/sh", "-c", command) if isinstance(command, str) else command
