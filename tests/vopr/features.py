"""What jobs and tenants may ask for beside tasks, and whether the journal's launches keep to it:
gangs, spread, preferences, limits, pools, trees, devices in pieces, growth, preemption."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from enum import Enum

from fairlead.scheduling.transitions import TaskState
from tests.vopr.faults import SECOND, BrokenPromiseError
from tests.vopr.lines import NOTHING, Amounts, Body, JobLine, MachineLine, TaskLine, amounts


class Feature(Enum):
    """What was asked for, and mattered. Each must be met in a run of many seeds."""

    GANG = "a gang was launched together"
    GANG_REST = "a task of a gang was launched alone, since fewer waited"
    SPREAD = "a second task of a job was launched on another machine, as it asked"
    PREFERRED = "a job got a machine that it prefers"
    PATIENCE_OVER = "a job took another machine after it had waited"
    LIMIT_FULL = "a tenant reached its limit"
    LIMIT_ABOVE = "a tenant reached the limit of one above it"
    POOL = "a tenant with a pool got something"
    TREE = "a tenant two below another got something"
    PIECE = "a part of a device was given"
    SHARED_PIECE = "a device was shared by two tasks"
    PREEMPTED = "a task was stopped for another tenant"
    GROWN = "a job got more tasks"
    SHRUNK = "a job got fewer tasks"
    ONCE = "a task that must not be tried again was given up"
    CONSTRAINED = "a job with a constraint got a machine"


class Features:
    """Judges each launch, and each step of launches. Shares nothing with the service."""

    def __init__(self, tenants: dict[str, Body]) -> None:
        self.tenants = tenants
        self.met: Counter[Feature] = Counter()
        self.used: dict[str, Amounts] = {}  # by tenants, with those below them
        self._launched: dict[int, tuple[JobLine, int, int]] = {}  # waited before, launched since

    def take(self, line: JobLine, sign: int) -> None:
        """A task of the job has its machine, or not any more."""
        for tenant in self._above(line.tenant):
            used = self.used.setdefault(tenant, {})
            for resource, amount in line.demand.items():
                used[resource] = used.get(resource, NOTHING) + sign * amount

    def launched(
        self, line: JobLine, task: TaskLine, name: str, machine: MachineLine, time: int
    ) -> None:
        """A task was launched, and is counted as taken already, but not as held."""
        waits = self._launched.get(line.id)
        if waits is None:
            count = line.states().count(TaskState.WAITING) + 1
            waits = line, count, 0
        self._launched[line.id] = line, waits[1], waits[2] + 1
        self._limits(line)
        self._where(line, name, machine, time)
        if line.tree.get("spread"):
            held = [each for (job, _), each in machine.held.items() if job == line.id]
            if any(each is not task for each in held):
                self._wrong(
                    "at most one task a machine where that is asked", f"{line.name}, {name}"
                )
            if len([each for each in line.tasks.values() if each.machine]) > 1:
                self.met[Feature.SPREAD] += 1
        for resource, piece in task.pieces:
            if line.demand[resource] < 1:
                self.met[Feature.PIECE] += 1
                others = sum((resource, piece) in each.pieces for each in machine.held.values())
                self.met[Feature.SHARED_PIECE] += others > 1

    def step(self) -> None:
        """A step is over: gangs were launched whole."""
        for line, waited, launched in self._launched.values():
            gang = int(line.tree.get("gang", 1))
            if gang == 1:
                continue
            left, waiting = launched, waited
            while left > 0:
                together = gang if waiting >= gang else 1
                if left < together:
                    self._wrong(
                        "a gang starts together or not at all",
                        f"{launched} of {line.name} were launched, {waited} waited, gang {gang}",
                    )
                self.met[Feature.GANG if together > 1 else Feature.GANG_REST] += 1
                left, waiting = left - together, waiting - together
        self._launched.clear()

    def _above(self, tenant: str | None) -> Iterator[str]:
        while tenant is not None:
            yield tenant
            tenant = self.tenants.get(tenant, {}).get("parent")

    def _limits(self, line: JobLine) -> None:
        above = list(self._above(line.tenant))
        for at, tenant in enumerate(above):
            limit = amounts(self.tenants.get(tenant, {}).get("limit", {}))
            used = self.used.get(tenant, {})
            for resource, most in limit.items():
                if line.demand.get(resource) and used.get(resource, NOTHING) > most:
                    self._wrong(
                        "limits are kept",
                        f"{tenant} has {used[resource]} of {resource}, and at most {most}",
                    )
                if used.get(resource) == most:
                    self.met[Feature.LIMIT_ABOVE if at else Feature.LIMIT_FULL] += 1
            self.met[Feature.POOL] += "pool" in self.tenants.get(tenant, {})
        self.met[Feature.TREE] += len(above) > 2

    def _where(self, line: JobLine, name: str, machine: MachineLine, time: int) -> None:
        labels = machine.tree.get("labels", {})
        if line.tree.get("where"):
            if not _meets(line.tree["where"], labels):
                self._wrong("constraints are kept", f"{line.name} on {name}, {labels}")
            self.met[Feature.CONSTRAINED] += 1
        if not line.tree.get("prefer"):
            return
        if _meets(line.tree["prefer"], labels):
            self.met[Feature.PREFERRED] += 1
            return
        if time < line.submitted + line.patience:
            self._wrong(
                "a job waits for what it prefers",
                f"{line.name} on {name} after {(time - line.submitted) / SECOND} s",
            )
        self.met[Feature.PATIENCE_OVER] += 1

    def _wrong(self, rule: str, what: str) -> None:
        raise BrokenPromiseError(rule, what)


def _meets(text: str, labels: dict[str, str]) -> bool:
    """Whether a machine is of the zone that such a text of a plan names."""
    return labels.get("zone") == text.removeprefix("zone = ")
