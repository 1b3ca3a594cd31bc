"""The machines of the engine, as they come, change, get into trouble and go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from fairlead.engines.interface import Attempt, Health, Node
from fairlead.model.errors import InputError
from fairlead.model.machine import Machine
from fairlead.scheduling.events import (
    MachineChanged,
    MachineDrained,
    MachineJoined,
    MachineLeft,
    TaskFailed,
)
from fairlead.scheduling.reading.lookup import is_cancelled, machine_state, task_state
from fairlead.scheduling.state.ids import Unit
from fairlead.scheduling.transitions import MachineState, TaskState
from fairlead.service.loop.reports import may_be_tried, retries_of
from fairlead.service.loop.step import Step
from fairlead.service.records.people import MachineRecord
from fairlead.service.settings import Settings


@dataclass
class Machines:
    """The engine's machines as of its last answer; none of it is in the journal.

    `problems`: why a machine that is there cannot be used as it is. `amounts`: each machine as
    the engine says it, and as the core counts it. `refused`: those that the core does not take as
    they are, and `untold` what of it nobody has heard yet."""

    settings: Settings
    nodes: dict[str, Node] = field(default_factory=dict)
    looked: int | None = None
    troubled: dict[str, int] = field(default_factory=dict)  # since when
    problems: dict[str, str] = field(default_factory=dict)
    amounts: dict[str, tuple[Machine, Machine, str]] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    untold: list[str] = field(default_factory=list)

    def due(self, time: int) -> bool:
        """Whether it is time to ask the engine."""
        return self.looked is None or time >= self.looked + self.settings.node_interval

    def look(self, step: Step, nodes: Sequence[Node]) -> None:
        """Tells the core what changed."""
        self.looked = step.time
        before, self.nodes = self.nodes, {node.machine.name: node for node in nodes}
        self.problems.clear()
        for kept in (self.troubled, self.amounts, self.refused):
            for name in [name for name in kept if name not in self.nodes]:
                del kept[name]
        for away in [
            each for each in step.records.machines.values() if each.name not in self.nodes
        ]:
            quarantine = away.quarantine
            if away.machine is not None:
                _leave(step, away, "the machine is gone")
            elif quarantine is not None and step.time >= quarantine.until:
                step.note("quarantine_ended", machine=away.name)
            self._drop_given_up(step, away)
        for name, node in self.nodes.items():
            record = step.records.machines.get(name)
            known = self.amounts.get(name)
            if known is None or node != before.get(name) or not _is_well(record, node):
                try:
                    self._see(step, record, node)
                    self.refused.pop(name, None)
                except InputError as error:
                    self._refuse(name, str(error))
            elif known[2]:
                self.problems[name] = known[2]

    def _refuse(self, name: str, why: str) -> None:
        """The core does not take the machine as it is. It is looked at again."""
        self.problems[name] = why
        self.amounts.pop(name, None)
        if self.refused.get(name) != why:
            self.refused[name] = why
            self.untold.append(f"a machine is not taken in as it is: {why}")

    def take_untold(self) -> list[str]:
        """What became of machines since the last call that an administrator should hear."""
        told, self.untold = self.untold, []
        return told

    def wake(self) -> int | None:
        """The time to ask it again; None if it was never asked."""
        return None if self.looked is None else self.looked + self.settings.node_interval

    def in_trouble(self, step: Step, name: str, why: str) -> None:
        """A machine failed: it gets nothing for a while, longer each time in a row."""
        record = step.records.machines.get(name)
        if record is None or record.machine is None or record.quarantine is not None:
            return
        if name in step.quarantines or machine_state(step.core, name) is MachineState.ABSENT:
            return
        step.quarantines.add(name)
        failures = record.failures + 1
        wait = self.settings.quarantine * 2 ** min(failures - 1, 40)
        until = step.time + min(wait, self.settings.quarantine_most)
        step.note("machine_quarantined", machine=name, until=until, failures=failures, why=why)
        _drain(step, name, "trouble")

    def _see(self, step: Step, record: MachineRecord | None, node: Node) -> None:
        name = node.machine.name
        machine, problem = self._count(step, node.machine)
        if problem:
            self.problems[name] = problem
        if node.health is Health.READY:
            self.troubled.pop(name, None)
        if record is not None and record.machine is not None:
            if machine_state(step.core, name) is MachineState.ABSENT:
                return  # it left in this step
            if machine != record.machine:
                step.apply(MachineChanged(step.time, machine))
            self._health(step, record, node)
        elif node.health is not Health.TROUBLED:
            self._join(step, name, machine, record)

    def _count(self, step: Step, machine: Machine) -> tuple[Machine, str]:
        """The machine as the core counts it. Most are what they were."""
        known = self.amounts.get(machine.name)
        if known is None or known[0] != machine:
            known = (machine, *count_amounts(machine, step.core.ids.units))
            self.amounts[machine.name] = known
        return known[1], known[2]

    def _join(self, step: Step, name: str, machine: Machine, record: MachineRecord | None) -> None:
        left = [] if record is None else [a for a in record.given_up if a not in step.ends]
        if left:
            # What runs there still would not be counted: it is stopped first.
            step.cancels += left
            self.problems[name] = f"{len(left)} earlier tasks are being stopped"
            return
        step.apply(MachineJoined(step.time, machine))
        if record is not None and (record.drained or record.quarantine):
            _drain(step, name, "admin" if record.drained else "trouble")
        elif self.nodes[name].health is Health.DRAINING:
            _drain(step, name, "cluster")

    def _health(self, step: Step, record: MachineRecord, node: Node) -> None:
        name, time = record.name, step.time
        if node.health is Health.TROUBLED:
            since = self.troubled.setdefault(name, time)
            self.in_trouble(step, name, node.problem)
            if time >= since + self.settings.lost_after:
                _leave(step, record, node.problem or "the machine does not answer")
        elif node.health is Health.DRAINING:
            _drain(step, name, "cluster")
        elif record.quarantine is not None and time >= record.quarantine.until:
            step.note("quarantine_ended", machine=name)
            step.releases.add(name)
            if not step.drains.get(name, record.drained):
                step.apply(MachineDrained(time, name, back=True), why="trouble")
        elif record.quarantine is None and record.draining and not record.drained:
            _bring_back(step, name)

    def _drop_given_up(self, step: Step, record: MachineRecord) -> None:
        """Takes attempts for over that were given up on a machine that has been away for long."""
        for attempt, time in record.given_up.items():
            if step.time >= time + self.settings.given_up_for and attempt not in step.ends:
                step.give_back(attempt, record.name)


def _is_well(record: MachineRecord | None, node: Node) -> bool:
    """Whether there is nothing to do about a machine that did not change since the last look."""
    if record is None or record.machine is None or record.quarantine is not None:
        return False
    if node.health is Health.TROUBLED:
        return False
    return record.drained or record.draining is (node.health is Health.DRAINING)


def _drain(step: Step, name: str, why: str) -> None:
    """The core gives it nothing more, if it did."""
    if machine_state(step.core, name) is MachineState.UP:
        step.apply(MachineDrained(step.time, name), why=why)


def _bring_back(step: Step, name: str) -> None:
    """The cluster gives it tasks again, and the core does too."""
    if machine_state(step.core, name) is MachineState.DRAINING:
        step.apply(MachineDrained(step.time, name, back=True), why="cluster")


def _leave(step: Step, record: MachineRecord, why: str) -> None:
    """It is given up, with all that runs on it. What must not be tried again has failed."""
    for (number, task), attempt in record.held.items():
        job = step.records.jobs[number]
        state = task_state(step.core, job.name, task)
        if state is None:
            continue
        # If it can still be told: what is lost here is to run on elsewhere only.
        step.cancels.append(Attempt(number, task, attempt))
        if is_cancelled(step.core, job.name):
            continue
        stopping = state is TaskState.STOPPING
        tries = step.records.table.tries[job.first + task]
        if may_be_tried(job.job) and (stopping or tries < retries_of(job.job, lost=True)):
            continue
        step.apply(
            TaskFailed(step.time, job.name, task),
            id=number,
            attempt=attempt,
            machine=record.name,
            cause="lost",
            code=0,
            started=None,
            ended=step.time,
            why=why,
            retry=False,
            given_up=True,
        )
    step.apply(MachineLeft(step.time, record.name), why=why)


def count_amounts(machine: Machine, units: Sequence[Unit]) -> tuple[Machine, str]:
    """The machine with what the core counts of it, in whole units and devices, rounded down; and
    what was left out, in a sentence."""
    known = {unit.name: unit for unit in units}
    capacity, left = {}, []
    for name, amount in machine.capacity.items():
        if name not in known:
            left.append(name)
            continue
        least = known[name].unit * (known[name].piece or 1)
        capacity[name] = amount // least * least
    if not left and capacity == dict(machine.capacity):
        return machine, ""
    problem = f"nothing counts its {', '.join(left)}" if left else ""
    return Machine(machine.name, capacity, machine.labels), problem
