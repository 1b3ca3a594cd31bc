"""The environment of a task."""

from __future__ import annotations

from collections.abc import Mapping

from fairlead.engines.interface import Assignment
from fairlead.engines.local.hardware import Maker
from fairlead.engines.people import Person

RUN = "FAIRLEAD_RUN"
"""Names the engine and the attempt: processes are known by it wherever they went. Inside of a task
of another Fairlead it holds that one's, too."""

PASSED_ON = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ")
"""Variables that tasks have from the service's environment: the rest may hold its secrets."""

HOME = ("HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "VIRTUAL_ENV")
"""Variables that they have beside those where they run as the service's own user."""

USUAL_PATH = "/usr/local/bin:/usr/bin:/bin"


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
        env["HOME"], env["SHELL"] = someone.home, someone.shell
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
    command = assignment.command
    assert command is not None
    return ("/bin/sh", "-c", command) if isinstance(command, str) else command
