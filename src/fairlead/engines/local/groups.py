"""Control groups (version 2), one for each attempt: nothing leaves one, its limits hold at once.

    PARENT/fairlead-ENGINE/1.0.1

The parent is a group in which this service may make others: by systemd's delegation, or, for root,
the top. The groups outlive the service, as tasks do, and only the engine removes them: so the end
of an attempt that ran out of memory can be told after a restart.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from fairlead.engines.interface import Assignment, Attempt
from fairlead.engines.local.memory import INTERVAL, limit_of
from fairlead.engines.local.records import parse

CONTROLLERS = ("memory", "pids", "cpu")

SERVICE = "service"
"""The group of the unit that holds the service itself, by systemd's `DelegateSubgroup=`: a group
whose own groups have limits can hold no process."""

PROCESSES = 4096
"""Processes and threads of an attempt. The system has 32768 numbers for them where nobody set more:
seven such tasks leave room for everybody else."""

WEIGHT_OF_CORE = 100
"""The kernel's weight of a group of which nothing is said."""

LIGHTEST, HEAVIEST = 1, 10_000
"""The kernel's limits of a weight."""

KILL = "cgroup.kill"
"""The file that kills all of a group: Linux has it since 5.14."""

ADVICE = (
    "have systemd delegate them: Delegate=yes and DelegateSubgroup=service in the unit, or"
    " systemd-run --user -p Delegate=yes -p DelegateSubgroup=service fairlead serve ..."
)


@dataclass(frozen=True, slots=True)
class NoGroups:
    """No control groups can be had; `why` says so, and what to do."""

    why: str


class Groups:
    """The control groups of one engine's attempts. `controllers`: what they limit."""

    def __init__(self, folder: Path, controllers: frozenset[str]) -> None:
        self._folder = folder
        self.controllers = controllers
        self._swap = False  # whether what a task takes of it can be limited

    def prepare(self) -> None:
        """Make what holds the groups, and let it limit them. Raises OSError."""
        self._folder.mkdir(mode=0o755, exist_ok=True)
        for group in (self._folder.parent, self._folder):
            control = group / "cgroup.subtree_control"
            on = control.read_text().split()
            for name in sorted(self.controllers.difference(on)):
                control.write_text(f"+{name}")
        self._swap = (self._folder / "memory.swap.max").exists()

    @property
    def parent(self) -> Path:
        """The group in which they are made."""
        return self._folder.parent

    @property
    def limits_memory(self) -> bool:
        """Whether they hold a task to its memory."""
        return "memory" in self.controllers

    def path(self, attempt: Attempt) -> str:
        return f"{self._folder}/{attempt}"

    def limits(self, assignment: Assignment, memory: bool) -> dict[str, str]:
        """The contents of the files of an attempt's group; `memory`: whether it is limited."""
        found = {"cgroup.max.descendants": "0"}
        most = limit_of(assignment)
        if memory and self.limits_memory and most is not None:
            # All of it is killed at once: half a task is of no use to anybody.
            found |= {"memory.max": str(most), "memory.oom.group": "1"}
            if self._swap:
                found["memory.swap.max"] = "0"
        if "pids" in self.controllers:
            found["pids.max"] = str(PROCESSES)
        if "cpu" in self.controllers:
            weight = round(WEIGHT_OF_CORE * assignment.demand.get("cpu", 0))
            found["cpu.weight"] = str(max(LIGHTEST, min(HEAVIEST, weight)))
        return found

    def has(self, attempt: Attempt) -> bool:
        return os.path.isdir(self.path(attempt))

    def present(self) -> list[Attempt]:
        found = (parse(name) for name in os.listdir(self._folder))  # and the kernel's own files
        return sorted(attempt for attempt in found if attempt is not None)

    def members(self, attempt: Attempt) -> list[int]:
        try:
            return [int(word) for word in self._file(attempt, "cgroup.procs").read_text().split()]
        except OSError:
            return []

    def ran_out_of_memory(self, attempt: Attempt) -> bool:
        """Whether the kernel killed something of the attempt because it took too much memory."""
        return self._number(attempt, "memory.events", "oom_kill") > 0

    def clear(self, attempt: Attempt) -> bool:
        """Kill all of an attempt, and remove its group; whether it is gone."""
        path = self.path(attempt)
        try:
            os.rmdir(path)
        except FileNotFoundError:
            return True
        except OSError:
            with contextlib.suppress(FileNotFoundError):
                self._file(attempt, KILL).write_text("1")
            return False
        return True

    def close(self) -> None:
        """Remove what holds the groups, unless there are any."""
        with contextlib.suppress(OSError):
            self._folder.rmdir()

    def _file(self, attempt: Attempt, name: str) -> Path:
        return Path(self.path(attempt), name)

    def _number(self, attempt: Attempt, file: str, name: str) -> int:
        try:
            lines = self._file(attempt, file).read_text().splitlines()
        except OSError:
            return 0
        return sum(int(line.split()[1]) for line in lines if line.split()[0] == name)


def confinement(had: Groups | NoGroups, memory: bool) -> list[str]:
    """The obstacles to groups of tasks, in sentences; `memory`: whether that is to be limited."""
    polled = (
        f"memory is checked every {INTERVAL:g} s: a task that takes more than its demand is stopped"
        if memory
        else "memory is not limited"
    )
    if isinstance(had, NoGroups):
        return [had.why, polled]
    said = {
        "memory": "no more memory than its demand" if memory else "memory without limit",
        "pids": f"at most {PROCESSES} processes",
        "cpu": "processors by its demand where there are too few",
    }
    has = ", ".join(said[name] for name in CONTROLLERS if name in had.controllers)
    lacks = [name for name in CONTROLLERS if name not in had.controllers]
    notes = [f"each task has a control group of its own{': ' if has else ''}{has}"]
    if lacks:
        notes.append(
            f"control groups limit no {', no '.join(lacks)} here: {had.parent} has not the"
            f" controller{'' if len(lacks) == 1 else 's'}"
        )
    if "memory" in lacks:
        notes.append(polled)
    return notes


def find(engine: str) -> Groups | NoGroups:
    """The control groups of the engine with this name, which are prepared."""
    mount = _mount()
    if mount is None:
        return NoGroups(
            "this machine has no control groups of version 2 (start it with"
            " systemd.unified_cgroup_hierarchy=1)"
        )
    why = "none that this service may divide was found"
    for parent in _parents(mount):
        folder = parent / f"fairlead-{engine}"
        try:
            return _prepare(parent, folder)
        except OSError as error:
            why = f"{folder}: {error.strerror}"
            with contextlib.suppress(OSError):
                folder.rmdir()
    return NoGroups(f"control groups cannot be used ({why}); {ADVICE}")


def of_service(process: int, engine: str) -> Groups | NoGroups:
    """The control groups that the engine with this name has, whose service is that process: as
    they are, nothing is made."""
    mount = _mount()
    for parent in () if mount is None else _parents(mount, str(process)):
        folder = parent / f"fairlead-{engine}"
        if folder.is_dir():
            had = (folder / "cgroup.controllers").read_text().split()
            return Groups(folder, frozenset(name for name in CONTROLLERS if name in had))
    return NoGroups(f"the service that runs has no control groups for its tasks; {ADVICE}")


def _prepare(parent: Path, folder: Path) -> Groups:
    had = set((parent / "cgroup.controllers").read_text().split())
    groups = Groups(folder, frozenset(name for name in CONTROLLERS if name in had))
    groups.prepare()
    if not (folder / KILL).exists():
        raise OSError(errno.ENOSYS, "the kernel is older than 5.14")
    # Moving a process takes the right to write in the group above both.
    if not os.access(parent / "cgroup.procs", os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    return groups


def _mount() -> Path | None:
    """Where control groups of version 2 are mounted."""
    for line in Path("/proc/self/mounts").read_text().splitlines():
        words = line.split()
        if words[2] == "cgroup2":
            return Path(words[1].encode().decode("unicode_escape"))
    return None


def _parents(mount: Path, process: str = "self") -> Iterator[Path]:
    """The groups in which that process may make others for tasks, the best first."""
    own = next(
        (
            line[3:]
            for line in Path(f"/proc/{process}/cgroup").read_text().splitlines()
            if line.startswith("0::")
        ),
        "/",
    )
    here = mount / own.lstrip("/")
    if here.name == SERVICE and here.parent != mount:
        yield here.parent
    if os.geteuid() == 0:
        yield mount
