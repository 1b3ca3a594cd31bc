"""Does what the service has in memory say the same as the durable journal, folded by other code?"""

from __future__ import annotations

from fairlead.scheduling.core import Core
from fairlead.scheduling.transitions import HELD, MachineState, TaskState
from fairlead.service.loop.loop import Service
from fairlead.service.records.book import Records
from tests.vopr.faults import BrokenPromiseError
from tests.vopr.ledger import Ledger
from tests.vopr.lines import JobLine


def agree(service: Service, ledger: Ledger, *, thorough: bool) -> None:
    """Raises BrokenPromiseError where the records or the core say something else than the ledger.
    `thorough`: every task is looked at, not only how many stand where."""
    records, core = service.records, service.core
    if records.seq != ledger.seq:
        _wrong(f"the records are at entry {records.seq}, the journal at {ledger.seq}")
    if records.jobs.keys() != ledger.jobs.keys():
        _wrong(f"the jobs are {list(records.jobs)}, in the journal {list(ledger.jobs)}")
    for number, line in ledger.jobs.items():
        record = records.jobs[number]
        if (record.name, record.called, record.tasks, record.cancelled) != (
            line.name,
            line.called,
            line.count,
            line.cancelled,
        ):
            _wrong(f"job {line.name}: {record}")
        states = line.states()
        if record.counts != [states.count(state) for state in TaskState]:
            _wrong(f"tasks of {line.name} are {record.counts}, in the journal {states}")
        if record.over != line.over():
            _wrong(f"job {line.name} is over: {record.over}")
    if core is None:
        return  # the engine was never reached
    _machines(records, core, ledger)
    if thorough:
        for number, line in ledger.jobs.items():
            for task in range(line.count):
                known, said = line.task(task), records.task(records.jobs[number], task)
                mine = (known.state, known.attempt, known.tries)
                if mine != (said.state, said.attempt, said.tries):
                    _wrong(f"task {task} of {line.name} is {said}, in the journal {known}")
        core_agrees(core, ledger)


def core_agrees(core: Core, ledger: Ledger) -> None:
    """The jobs and the tasks of the core are those that the journal has on machines."""
    unknown = core.ids.jobs.keys() - {line.name for line in ledger.jobs.values()}
    if unknown:
        _wrong(f"the core has jobs {sorted(unknown)}, the journal has not")
    for line in ledger.jobs.values():
        _core(core, line)


def _machines(records: Records, core: Core, ledger: Ledger) -> None:
    there = {name for name, line in ledger.machines.items() if line.state is not MachineState.GONE}
    for name, record in records.machines.items():
        if record.drained != (name in ledger.drained):
            _wrong(f"machine {name} is drained by an administrator: {record.drained}")
        if (record.machine is not None) != (name in there):
            _wrong(f"machine {name} is there: {record.machine is not None}")
        if name not in there:
            continue
        line = ledger.machines[name]
        kept = name in ledger.drained or name in ledger.quarantined
        if kept and line.state is not MachineState.DRAINING:
            raise BrokenPromiseError("a drain is kept to", f"machine {name} takes tasks")
        if record.draining != (line.state is MachineState.DRAINING):
            _wrong(f"machine {name} drains: {record.draining}")
        held = {key: task.attempt for key, task in line.held.items()}
        if record.held != held:
            _wrong(f"machine {name} holds {record.held}, in the journal {held}")
        if (record.quarantine is not None) != (name in ledger.quarantined):
            _wrong(f"machine {name} is in quarantine: {record.quarantine}")
    if not there <= records.machines.keys():
        _wrong(f"machines {sorted(there)} are there, the records have others")
    if set(core.ids.machines) != there:
        _wrong(f"the core has the machines {sorted(core.ids.machines)}")


def _core(core: Core, line: JobLine) -> None:
    """The core's tasks of a job are those that the journal has on machines."""
    ids, state = core.ids, core.state
    slot = ids.jobs.get(line.name)
    if (slot is None) != line.over():
        _wrong(f"job {line.name} is in the core: {slot is not None}")
    if slot is None:
        return
    held = {
        number: TaskState(int(state.task[at]["state"]))
        for number, at in ids.tasks.get(slot, {}).items()
        if int(state.task[at]["state"]) in HELD
    }
    said = {number: task.state for number, task in line.tasks.items() if task.state in HELD}
    if held != said:
        _wrong(f"job {line.name} holds {held} in the core, in the journal {said}")


def _wrong(what: str) -> None:
    raise BrokenPromiseError("records and core are the fold of the journal", what)
