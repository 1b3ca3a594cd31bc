"""What the durable journal says, folded a second time by code that shares nothing with the
service's: who stands where, what every transition was, and whether it was legal."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from typing import NoReturn

from fairlead.model.plain import plain_tenant
from fairlead.model.tenant import Tenant
from fairlead.scheduling.transitions import (
    HELD,
    MachineChange,
    MachineState,
    TaskChange,
    TaskState,
    machine_after,
    task_after,
)
from fairlead.service.journal.entry import Entry
from fairlead.wire.events import EventKind
from tests.vopr.faults import BrokenPromiseError
from tests.vopr.features import Feature, Features
from tests.vopr.lines import (
    NOTHING,
    Amounts,
    Body,
    JobLine,
    MachineLine,
    TaskLine,
    amounts,
    pieces_of,
)
from tests.vopr.naming import full

MOST_LOSSES = 3
"""Retries of a lost task whose job says nothing of them."""

TOLD = frozenset(kind.value for kind in EventKind)

NOT_OF_THE_CORE = (
    *("service_started", "token_made", "token_revoked", "job_forgotten"),
    *("machine_quarantined", "quarantine_ended", "attempt_gone", "drain_asked", "keys_forgotten"),
)
"""Entries that the core is not told of; they may stand anywhere in their step."""


class Ledger:
    """Everything that is durable, entry by entry. Raises BrokenPromiseError at the first entry that
    cannot be right after those before it."""

    def __init__(self) -> None:
        self.seq = self.step = self.time = 0
        self.jobs: dict[int, JobLine] = {}
        self.names: dict[str, JobLine] = {}
        self.machines: dict[str, MachineLine] = {}
        self.tenants: dict[str, Body] = {}
        self.tokens: set[str] = set()
        self.keys: dict[tuple[str | None, str], list[int]] = {}
        self.forgotten: dict[int, JobLine] = {}
        self.kinds: Counter[str] = Counter()
        self.visible: list[tuple[int, str]] = []  # the entries that whoever follows is told of
        self.owners: dict[int, str | None] = {}  # of the entries of these, by tenant
        self.task_changes: Counter[tuple[TaskState, TaskChange, bool]] = Counter()
        self.machine_changes: Counter[tuple[MachineState, MachineChange]] = Counter()
        self.now = 0  # the true time, beside the service's
        self.stopping: dict[tuple[int, int], TaskLine] = {}  # of cancelled jobs
        self.quarantined: set[str] = set()
        self.drained: set[str] = set()  # as administrators want it
        self.given_up: set[tuple[int, int, int]] = set()  # may run on, on machines that left
        self.features = Features(self.tenants)
        self._decided = False
        self._known: dict[str, Callable[[Body], None]] = {
            "machine_joined": self._joined,
            "machine_left": self._left,
            "machine_drained": self._drained,
            "machine_changed": self._changed,
            "machine_quarantined": self._quarantined,
            "quarantine_ended": self._quarantine_ended,
            "job_submitted": self._submitted,
            "job_changed": self._job_changed,
            "job_cancelled": self._cancelled,
            "job_forgotten": self._forgotten,
            "task_started": lambda body: self._reported(body, TaskChange.STARTED),
            "task_finished": lambda body: self._reported(body, TaskChange.FINISHED),
            "task_failed": lambda body: self._reported(body, TaskChange.FAILED),
            "task_lost": lambda body: self._reported(body, TaskChange.LOST),
            "task_stopped": lambda body: self._reported(body, TaskChange.STOPPED),
            "tenant_changed": self._tenant_changed,
            "time_passed": lambda _: None,
            "advice_changed": lambda _: None,
            "guarantees_changed": lambda _: None,
            "launch": self._launch,
            "stop": self._stop,
            "reject": self._reject,
            "service_started": lambda _: None,
            "core_changed": lambda _: None,
            "engine_changed": lambda _: None,
            "attempt_gone": lambda _: None,
            "keys_forgotten": lambda _: None,
            "drain_asked": self._drain_asked,
            "token_made": lambda body: self.tokens.add(body["name"]),
            "token_revoked": lambda body: self.tokens.discard(body["name"]),
        }

    def apply(self, entry: Entry) -> None:
        """One more entry is durable."""
        if entry.seq != self.seq + 1:
            self._wrong("entries have no gaps", f"{entry.seq} comes after {self.seq}")
        if entry.time < self.time or entry.step < self.step:
            self._wrong("time does not run back", f"entry {entry.seq} is before the one before it")
        if entry.step != self.step:
            self._decided = False
            self.features.step()
        elif entry.time != self.time:
            self._wrong("a step has one time", f"entry {entry.seq}")
        decision = entry.kind in ("launch", "stop", "reject")
        if self._decided and not decision and entry.kind not in NOT_OF_THE_CORE:
            self._wrong("decisions come last", f"entry {entry.seq}, {entry.kind}, comes after one")
        self._decided = self._decided or decision
        self.seq, self.step, self.time = entry.seq, entry.step, entry.time
        self.kinds[entry.kind] += 1
        if entry.kind in TOLD:
            self.visible.append((entry.seq, entry.kind))
            name = entry.body.get("job")
            line = self.names.get(name) if isinstance(name, str) else None
            if line is not None:
                self.owners[entry.seq] = line.tree.get("tenant")
        if entry.kind not in self._known:
            self._wrong("entries are of known kinds", f"{entry.kind}")
        self._known[entry.kind](entry.body)

    def held(self) -> dict[tuple[int, int, int], TaskLine]:
        """The attempts, as (job, task, attempt), that should be launched, running or stopping."""
        return {
            (job, task, line.attempt): line
            for machine in self.machines.values()
            for (job, task), line in machine.held.items()
        }

    def visible_after(self, seq: int) -> tuple[int, str] | None:
        """The next entry after that one which whoever follows is told of."""
        at = bisect_right(self.visible, seq, key=lambda each: each[0])
        return self.visible[at] if at < len(self.visible) else None

    def below(self, tenant: str | None, above: str) -> bool:
        """Whether a tenant is that one, or below it."""
        while tenant is not None and tenant != above:
            tenant = self.tenants.get(tenant, {}).get("parent")
        return tenant is not None

    def has_tenant(self, tenant: Tenant) -> bool:
        """Whether the tenant is as it should be."""
        known = self.tenants.get(tenant.name)
        wanted = plain_tenant(tenant)
        return known is not None and all(
            known.get(field) == wanted.get(field) for field in ("weight", "pool", "limit")
        )

    def find(self, job: int, task: int) -> TaskLine | None:
        """A task that was ever launched, of a job that is still known or was."""
        line = self.jobs.get(job) or self.forgotten.get(job)
        return None if line is None else line.tasks.get(task)

    # What each kind of entry changes

    def _joined(self, body: Body) -> None:
        tree = body["machine"]
        old = self.machines.get(tree["name"])
        there = old is not None and old.state is not MachineState.GONE
        self._machine_change(
            old.state if there and old else MachineState.ABSENT, MachineChange.JOINED, tree["name"]
        )
        self.machines[tree["name"]] = MachineLine(MachineState.UP, tree, amounts(tree["capacity"]))

    def _left(self, body: Body) -> None:
        machine = self._machine(body["machine"])
        machine.state = self._machine_change(machine.state, MachineChange.LEFT, body["machine"])
        for (job, task), line in list(machine.held.items()):
            line.tries += line.state is not TaskState.STOPPING
            self.features.take(self.jobs[job], -1)
            self._move(self.jobs[job], line, TaskChange.LOST)
            self.given_up.add((job, task, line.attempt))
            self.stopping.pop((job, task), None)
        machine.held.clear()

    def _drained(self, body: Body) -> None:
        machine = self._machine(body["machine"])
        change = MachineChange.BACK if body["back"] else MachineChange.DRAINED
        machine.state = self._machine_change(machine.state, change, body["machine"])

    def _drain_asked(self, body: Body) -> None:
        if body["back"]:
            self.drained.discard(body["machine"])
        else:
            self.drained.add(body["machine"])

    def _changed(self, body: Body) -> None:
        tree = body["machine"]
        machine = self._machine(tree["name"])
        machine.state = self._machine_change(machine.state, MachineChange.CHANGED, tree["name"])
        machine.tree, machine.capacity = tree, amounts(tree["capacity"])
        machine.changed = self.seq

    def _quarantined(self, body: Body) -> None:
        self.quarantined.add(body["machine"])

    def _quarantine_ended(self, body: Body) -> None:
        self.quarantined.discard(body["machine"])

    def _submitted(self, body: Body) -> None:
        tree, number = body["job"], body["id"]
        if number in self.jobs or number in self.forgotten:
            self._wrong("a job's number is used once", str(number))
        if tree["name"] in self.names:
            self._wrong("a job's name is unique", tree["name"])
        line = JobLine(
            id=number,
            name=tree["name"],
            called=body.get("called", tree["name"]),
            tree=tree,
            count=int(tree["tasks"]),
            demand=amounts(tree["demand"]),
            by=body.get("by"),
            key=body.get("key"),
            submitted=self.time,
        )
        if any(full(line) == full(other) for other in self.jobs.values()):
            self._wrong("a tenant's job has a name of its own", full(line))
        self.jobs[number] = self.names[line.name] = line
        if line.key is not None:
            self.keys.setdefault((line.by, line.key), []).append(number)

    def _job_changed(self, body: Body) -> None:
        line = self._job(body["job"])
        gone = [number for number in line.tasks if number >= body["tasks"]]
        if any(line.tasks.pop(number).attempt for number in gone):
            self._wrong("what was launched stays", f"job {line.name} shrank below it")
        more = body["tasks"] > line.count
        self.features.met[Feature.GROWN if more else Feature.SHRUNK] += body["tasks"] != line.count
        line.count = body["tasks"]

    def _cancelled(self, body: Body) -> None:
        line = self._job(body["job"])
        line.cancelled = True
        for number in range(line.count):
            task = line.tasks.get(number)
            if task is None or task.state is TaskState.WAITING:
                self._move(line, task or TaskLine(), TaskChange.DROP)

    def _forgotten(self, body: Body) -> None:
        line = self._job(body["job"])
        if body["id"] != line.id:
            self._wrong("what is forgotten was known", str(body))
        if not line.over():
            self._wrong("only what is over is forgotten", line.name)
        del self.jobs[line.id], self.names[line.name]
        self.forgotten[line.id] = line

    def _reported(self, body: Body, change: TaskChange) -> None:
        line = self._job(body["job"])
        task = line.task(body["task"])
        if body.get("attempt", task.attempt) != task.attempt:
            self._wrong(
                "a late result is ignored",
                f"{change.name} of attempt {body['attempt']} of {line.name} {body['task']},"
                f" which is at attempt {task.attempt}",
            )
        self._move(line, task, change)
        if task.state in (TaskState.FINISHED, TaskState.FAILED):
            if task.result:
                self._wrong("one result a task", f"{line.name} {body['task']}")
            task.result = change.name.lower()
        if body.get("retry"):
            task.tries += 1
            retries = line.tree.get("retries")
            if task.tries > (MOST_LOSSES if retries is None else retries):
                self._wrong("retries end", f"{line.name} {body['task']} has {task.tries}")
        if task.state not in HELD:
            self.features.take(line, -1)
            self.features.met[Feature.ONCE] += change is TaskChange.FAILED and not line.tree.get(
                "rerunnable", True
            )
            self.stopping.pop((line.id, body["task"]), None)
            self.machines[task.machine].held.pop((line.id, body["task"]), None)
            if body.get("given_up"):
                self.given_up.add((line.id, body["task"], task.attempt))

    def _tenant_changed(self, body: Body) -> None:
        self.tenants[body["tenant"]["name"]] = body["tenant"]

    def _launch(self, body: Body) -> None:
        line, machine = self._job(body["job"]), self._machine(body["machine"])
        task = line.task(body["task"])
        if not 0 <= body["task"] < line.count:
            self._wrong("only what was asked for is launched", f"{line.name} {body['task']}")
        if body["attempt"] != task.attempt + 1:
            self._wrong(
                "attempts are numbered without gaps",
                f"{line.name} {body['task']}: {body['attempt']} after {task.attempt}",
            )
        if body["machine"] in self.drained | self.quarantined:
            self._wrong("a drain is kept to", f"{body['machine']} gets {line.name}")
        if machine.state is not MachineState.UP:
            self._wrong("nothing new on a machine that drains or is gone", body["machine"])
        self._move(line, task, TaskChange.LAUNCH)
        task.attempt, task.machine = body["attempt"], body["machine"]
        task.pieces, task.launched = pieces_of(body), self.seq
        machine.held[line.id, body["task"]] = task
        self.features.take(line, 1)
        self.features.launched(line, task, body["machine"], machine, self.time)
        self._fits(body["machine"], machine, line.demand, task)

    def _stop(self, body: Body) -> None:
        line = self._job(body["job"])
        task = line.task(body["task"])
        if body["attempt"] != task.attempt:
            self._wrong("what is stopped is what runs", f"{line.name} {body['task']}")
        self._move(line, task, TaskChange.STOP)
        task.stopped_at = self.now
        self.features.met[Feature.PREEMPTED] += not line.cancelled
        if line.cancelled:
            self.stopping[line.id, body["task"]] = task

    def _reject(self, body: Body) -> None:
        line = self._job(body["job"])
        line.rejected = True
        for number in range(line.count):
            line.task(number).state = TaskState.DROPPED

    # What must hold

    def _fits(self, name: str, machine: MachineLine, wanted: Amounts, task: TaskLine) -> None:
        """What a launch takes must be free. Of the rest there may be too little: a machine may
        have shrunk under what it runs."""
        used: Amounts = {}
        devices: dict[tuple[str, int], Fraction] = {}
        for (job, _), line in machine.held.items():
            demand = self.jobs[job].demand
            for resource, amount in demand.items():
                used[resource] = used.get(resource, NOTHING) + amount
            for device in line.pieces:
                share = min(demand[device[0]], Fraction(1))
                devices[device] = devices.get(device, NOTHING) + share
        for resource in dict(task.pieces):
            del used[resource]  # by the piece, below: one in use may be on a device that is gone
        for resource, total in used.items():
            if wanted.get(resource) and total > machine.capacity.get(resource, 0):
                self._wrong("no machine over capacity", f"{name} has {total} of {resource} in use")
        for (resource, piece), total in devices.items():
            if (resource, piece) not in task.pieces:
                continue
            if total > 1 or piece >= machine.capacity.get(resource, 0):
                self._wrong("no device twice", f"{resource} {piece} of {name}")

    def _move(self, line: JobLine, task: TaskLine, change: TaskChange) -> None:
        after = task_after(task.state, change, line.cancelled)
        if after is None:
            self._wrong(
                "transitions are legal", f"{line.name}: {task.state.name} cannot be {change.name}"
            )
        # The states of a cancelled job's tasks differ in two places only: count those apart.
        special = line.cancelled and after is TaskState.DROPPED and change is not TaskChange.DROP
        self.task_changes[task.state, change, special] += 1
        task.state = after

    def _machine_change(
        self, state: MachineState, change: MachineChange, name: str
    ) -> MachineState:
        after = machine_after(state, change)
        if after is None:
            self._wrong("transitions are legal", f"{name}: {state.name} cannot be {change.name}")
        self.machine_changes[state, change] += 1
        return after

    def _job(self, name: str) -> JobLine:
        if name not in self.names:
            self._wrong("entries are of jobs that are known", name)
        return self.names[name]

    def _machine(self, name: str) -> MachineLine:
        if name not in self.machines:
            self._wrong("entries are of machines that are there", name)
        return self.machines[name]

    def _wrong(self, rule: str, what: str) -> NoReturn:
        raise BrokenPromiseError(rule, f"journal entry {self.seq}: {what}")
