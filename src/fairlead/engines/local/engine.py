"""The local engine: tasks are process groups of this machine.

Every attempt has a shim above it, which claims it and writes down its end; a small process of one
thread starts the shims. So the engine can be killed at any moment and finds everything again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from fairlead.engines.interface import (
    MOST_OUTPUT,
    Assignment,
    Attempt,
    Cause,
    Ended,
    EngineError,
    Lost,
    Node,
    Output,
    Report,
    Started,
    Stream,
    disk_trouble,
)
from fairlead.engines.local import hardware
from fairlead.engines.local.ending import kill_others
from fairlead.engines.local.groups import NoGroups, confinement
from fairlead.engines.local.groups import find as find_groups
from fairlead.engines.local.identity import Identity
from fairlead.engines.local.memory import MemoryWatch
from fairlead.engines.local.processes import alive
from fairlead.engines.local.records import UNKNOWN, Records, Unclaimed
from fairlead.engines.local.spawn_request import SpawnRequests
from fairlead.engines.local.spawner_link import Spawner, SpawnRequest, Word
from fairlead.engines.local.supervisor import Supervisor
from fairlead.engines.local.task import Phase, Task
from fairlead.engines.news import NewsWatch
from fairlead.engines.people import make_work_folder
from fairlead.model.machine import Cluster, Machine


class LocalEngine:
    """Tasks on this machine: divided into the machines of a cluster, or taken whole.

    `state`: the service's folder, in which the engine has its own. `grace`: seconds between the
    gentle signal and the force. `limit_memory`: whether tasks that take more memory than their
    demand are stopped. `most_output`: bytes that are kept of what an attempt writes. `notes`: what
    was found on this machine, in sentences; `warnings`: what is otherwise than expected of it."""

    name = "local"

    def __init__(
        self,
        state: Path,
        cluster: Cluster | None = None,
        grace: float = 10.0,
        limit_memory: bool = True,
        most_output: int = MOST_OUTPUT,
    ) -> None:
        found = hardware.find()
        self.notes = list(found.notes)
        self.warnings: list[str] = []
        if cluster is None:
            machines: tuple[Machine, ...] = (found.machine(),)
        else:
            machines, self.warnings = cluster.machines, list(hardware.compare(cluster, found))
        self._nodes = {machine.name: Node(machine) for machine in machines}
        state = state.absolute()
        state.mkdir(mode=0o700, parents=True, exist_ok=True)
        if state.stat().st_mode & 0o077:
            self.notes.append(f"others can look into {state}: chmod 700 keeps tasks of users out")
        closed = [str(one) for one in state.parents if not one.stat().st_mode & 0o001]
        if closed and os.geteuid() == 0:
            others = f"tasks as other users cannot pass {closed[0]}"
            self.notes.append(f"{others}: chmod o+x it for them")
        base = state / "local"
        # Tasks as other users cannot pass the state folder, which is closed to them.
        self._records = Records(
            base, state.with_name(state.name + ".work") if os.geteuid() == 0 else base / "work"
        )
        self._state = state
        self._grace = grace
        self._memory = MemoryWatch() if limit_memory else None
        self._news = NewsWatch()
        self._spawner: Spawner | None = None
        self._ready = False
        self._fenced: set[Attempt] = set()
        # Launched (None: and cancelled) under the name of what nobody expects and is not gone yet.
        self._behind: dict[Attempt, Assignment | None] = {}
        self._identity = Identity(base / "engine")
        self._owner = 0
        self.identity, self._kept = self._identity.name, not self._identity.new
        had = find_groups(self._identity.name)
        self._groups = None if isinstance(had, NoGroups) else had
        self.notes += confinement(had, limit_memory)
        self._requests = SpawnRequests(
            *(self._records, self._identity.name, machines, found.gpus),
            *(self._groups, limit_memory, most_output, grace),
        )
        self._supervisor = self._new_supervisor()

    def _new_supervisor(self) -> Supervisor:
        name = self._identity.name
        return Supervisor(self._records, name, self._grace, self._memory, self._groups)

    def knows(self, identity: str | None) -> bool:
        return self._kept if identity is None else identity == self.identity

    def nodes(self) -> Sequence[Node]:
        return tuple(self._nodes[name] for name in sorted(self._nodes))

    def listen(self, wake: Callable[[], None]) -> None:
        self._news.listen(wake)
        if self._memory is not None:
            self._memory.wake = wake

    def launch(self, batch: Sequence[Assignment]) -> None:
        spawner = self._check_connected()
        with disk_trouble():
            self._identity.check(self._owner)
        for assignment in batch:
            known = self._supervisor.tasks.get(assignment.attempt)
            if known is None:
                with disk_trouble():
                    self._launch(spawner, assignment)
            elif known.silent:
                self._behind.setdefault(assignment.attempt, assignment)
        self._flush(spawner)

    def _launch(self, spawner: Spawner, assignment: Assignment) -> None:
        attempt = assignment.attempt
        task = self._supervisor.tasks[attempt] = Task(
            attempt, assignment, grouped=self._groups is not None
        )
        try:
            request = self._request(assignment)
            if isinstance(request, SpawnRequest):
                return spawner.start(request)
            self._begin_with_nothing(spawner, attempt)
        except OSError:
            del self._supervisor.tasks[attempt]  # it was not launched, and may be again
            raise
        return self._supervisor.finish(task, request)

    def _request(self, assignment: Assignment) -> SpawnRequest | Ended | Lost:
        fresh = assignment.attempt not in self._fenced
        request = self._requests.build(assignment, fresh)
        if not fresh and isinstance(request, SpawnRequest):
            self._records.allow(assignment.attempt)
            self._fenced.discard(assignment.attempt)
        return request

    def poll(self) -> Sequence[Report]:
        spawner = self._check_connected()
        self._supervisor.take(self._words(spawner))
        self._supervisor.look(spawner.pid)
        self._supervisor.news = False
        self._tidy(spawner)
        return tuple(self._supervisor.reports.values())

    def acknowledge(self, reports: Sequence[Report]) -> None:
        spawner = self._check_connected()
        supervisor = self._supervisor
        gone = []
        for report in reports:
            task = supervisor.tasks.get(report.attempt)
            if isinstance(report, Started):
                supervisor.reports.pop((report.attempt, False), None)
            elif task is not None and task.over == report and task.phase is Phase.OVER:
                del supervisor.tasks[report.attempt]
                supervisor.reports.pop((report.attempt, True), None)
                supervisor.reports.pop((report.attempt, False), None)
                gone.append(report.attempt)
        self._remove(spawner, gone)
        self._flush(spawner)

    def _remove(self, spawner: Spawner, attempts: Sequence[Attempt]) -> None:
        """Remove the records of these, and their working folders if they are empty."""
        with disk_trouble():
            for attempt in attempts:
                self._records.remove(attempt)
        if attempts:
            spawner.remove(attempts, if_empty=True)

    def _tidy(self, spawner: Spawner) -> None:
        silenced, self._supervisor.silenced = self._supervisor.silenced, []
        behind = {one: self._behind.pop(one) for one in silenced if one in self._behind}
        # A folder that the next one of its name is to have is not taken away meanwhile.
        self._remove(spawner, [one for one in silenced if one not in behind])
        with disk_trouble():
            for attempt, assignment in behind.items():
                self._records.remove(attempt)
                if assignment is None:
                    self._begin_with_nothing(spawner, attempt)
                    self._give_up(attempt)
                else:
                    self._launch(spawner, assignment)
        self._flush(spawner)

    def cancel(self, batch: Sequence[Attempt]) -> None:
        spawner = self._check_connected()
        for attempt in batch:
            task = self._supervisor.tasks.get(attempt)
            if task is None:
                with disk_trouble():
                    self._give_up(attempt)
            elif task.silent:
                self._behind[attempt] = None
            else:
                self._supervisor.stop(task, Cause.STOPPED)
        self._flush(spawner)

    def _begin_with_nothing(self, spawner: Spawner, attempt: Attempt) -> None:
        """What has the name of an attempt that never ran is of another journal."""
        if self._records.empty(attempt):
            spawner.remove([attempt])

    def _give_up(self, attempt: Attempt) -> None:
        """It never was launched here, and never will be."""
        self._records.forbid(attempt)
        task = self._supervisor.tasks[attempt] = Task(attempt, None)
        why = "it was stopped before it started"
        self._supervisor.finish(task, Lost(attempt, False, why, machine_at_fault=False))

    def reconcile(self, expected: Sequence[Assignment], owner: int = 0) -> Sequence[Attempt]:
        self._ready = False
        self._news.release()
        self._behind.clear()
        self._owner = max(owner, self._owner)
        with disk_trouble():
            self._identity.take(self._owner)
        if self._spawner is not None:
            try:
                self._supervisor.take(self._words(self._spawner))
            except EngineError:
                self._spawner.close()
                self._spawner = None
        if self._spawner is None:
            # What the spawner of before had started is no child of the next one's: all is found
            # anew, as after a restart. Until the next one says that it is there, that of before
            # may still be starting something.
            self._supervisor.close()
            self._supervisor = self._new_supervisor()
            self._fenced.clear()
            records = self._records
            self._spawner = Spawner(records.lock, records.live, records.work, records.outputs)
            if self._groups is not None:
                with disk_trouble():
                    self._groups.prepare()
        with disk_trouble():
            never = self._find_all(self._spawner, expected)
        self._supervisor.again()
        self._ready = True
        self._tidy(self._spawner)
        return never

    def _find_all(self, spawner: Spawner, expected: Sequence[Assignment]) -> Sequence[Attempt]:
        """Find every attempt that is expected and stop all others; those that never started."""
        make_work_folder(self._records.work)
        present = self._records.present()
        grouped = self._groups.present() if self._groups is not None else []
        wanted = {one.attempt: one for one in expected}
        never = [each for each, one in wanted.items() if not self._find(each, one)]
        for attempt in present:
            if attempt not in wanted and attempt not in self._fenced:
                self._find(attempt, None)
        for attempt in self._fenced:
            self._begin_with_nothing(spawner, attempt)
        for task in [task for key, task in self._supervisor.tasks.items() if key not in wanted]:
            self._silence(task)
        followed = self._supervisor.tasks
        self._supervisor.stray = {one for one in grouped if one not in followed}
        kill_others(self._identity.name, followed)
        self._identity.keep()
        return never

    def _silence(self, task: Task) -> None:
        """Stop what nobody expects, and say nothing of it."""
        task.silent = True
        self._supervisor.reports.pop((task.attempt, False), None)
        self._supervisor.reports.pop((task.attempt, True), None)
        if task.over is not None and task.phase is Phase.OVER:
            self._supervisor.finish(task, task.over)
        else:
            self._records.disown(task.attempt)
            self._supervisor.stop(task, Cause.STOPPED)

    def _find(self, attempt: Attempt, assignment: Assignment | None) -> bool:
        """Find out what became of an attempt; False: it never started, and now never will."""
        if (known := self._supervisor.tasks.get(attempt)) is not None:
            return not known.silent  # else it is what nobody expected, and had its name before
        if attempt in self._fenced:
            return False
        if assignment is not None and self._records.is_old(attempt):  # of another journal
            if self._find(attempt, None):
                self._silence(self._supervisor.tasks[attempt])
            return False
        task = Task(attempt, assignment, own=False, silent=assignment is None)
        claim = self._records.last_claim(attempt, self._identity.same_boot)
        if claim is Unclaimed.ABSENT and assignment is not None and not self._identity.same_boot:
            # What was written right before a power failure may be gone, the claim too.
            self._records.forbid(attempt, UNKNOWN)
            claim = Unclaimed.UNKNOWN
        if claim in (Unclaimed.ABSENT, Unclaimed.FORBIDDEN):
            if assignment is None:
                self._supervisor.silenced.append(attempt)
            else:
                self._fenced.add(attempt)
            return False
        self._supervisor.tasks[attempt] = task
        if claim is Unclaimed.UNKNOWN:
            why = "the machine was restarted, and what it had started is not known"
            self._supervisor.finish(task, Lost(attempt, True, why, machine_at_fault=False))
        elif isinstance(claim, Unclaimed):
            why = "its record was overwritten, so what became of it is not known"
            self._supervisor.finish(task, Lost(attempt, True, why, machine_at_fault=False))
        elif self._identity.same_boot and alive(claim.pid, claim.start):
            self._supervisor.adopt(task, claim)
            stopped = self._records.why(attempt)
            if stopped is not None:
                self._supervisor.stop(task, stopped[0])
        else:
            self._supervisor.mark_dead(task, None)
        return True

    def output(self, attempt: Attempt, stream: Stream, offset: int, most: int) -> Output:
        # First whether it is over: what is read after that is all that there will be.
        task = self._supervisor.tasks.get(attempt)
        over = task is None or task.phase is Phase.OVER
        try:
            data, begin, size = self._records.part(attempt, stream, offset, most)
        except OSError as error:
            raise EngineError(f"the output of {attempt} cannot be read: {error}") from error
        return Output(data, begin, size, over)

    def forget(self, attempts: Sequence[Attempt]) -> None:
        spawner = self._check_connected()
        with disk_trouble():
            for attempt in attempts:
                self._records.forget(attempt)
        spawner.remove(attempts)
        self._flush(spawner)

    def limit_outputs(self, most: Mapping[str, int]) -> None:
        running: dict[str, list[Task]] = {tenant: [] for tenant in most}
        for task in self._supervisor.tasks.values():
            if task.assignment is not None and task.assignment.tenant in running:
                running[task.assignment.tenant].append(task)
        for tenant, tasks in running.items():
            if sum(self._records.written(task.attempt) for task in tasks) > most[tenant]:
                for task in tasks:
                    if task.phase is Phase.RUNNING and not task.cut:
                        task.cut = True
                        self._records.cut(task.attempt)

    def close(self) -> None:
        """Let go of everything; tasks go on running."""
        self._ready = False
        self._news.close()
        self._supervisor.close()
        if self._memory is not None:
            self._memory.close()
        if self._spawner is not None:
            # A shim that is about to make its task's group needs what holds the groups.
            tasks = self._supervisor.tasks.values()
            if self._groups is not None and not any(task.under_way() for task in tasks):
                self._groups.close()
            self._spawner.close()
            self._spawner = None

    def _check_connected(self) -> Spawner:
        if self._spawner is None or not self._ready:
            raise EngineError("reconcile comes first")
        return self._spawner

    def _words(self, spawner: Spawner) -> Sequence[Word]:
        try:
            return spawner.words()
        except EngineError:
            self._ready = False
            raise

    def _flush(self, spawner: Spawner) -> None:
        """Hands over what it takes, and waits for what comes: with this ends whatever changes
        something."""
        try:
            spawner.flush()
        except EngineError:
            self._ready = False
            raise
        self._news.arm(spawner.events() | self._supervisor.events(), self._supervisor.due())

    def take_faults(self) -> Sequence[str]:
        return self._records.take_faults()
