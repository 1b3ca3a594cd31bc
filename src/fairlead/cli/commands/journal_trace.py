"""`fairlead journal trace`: what a service did, as a trace that `fairlead simulate` replays."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from statistics import median

import numpy as np

from fairlead.cli.common.inputs import say
from fairlead.model.errors import InputError
from fairlead.model.job import Job
from fairlead.model.machine import Cluster, Machine
from fairlead.model.tenant import Tenant
from fairlead.model.words import counted
from fairlead.scheduling import events
from fairlead.scheduling.decisions import Launch
from fairlead.service.journal.codec import DECISIONS, EVENTS, decision_of, event_of
from fairlead.service.journal.entry import Entry
from fairlead.simulation.traces.own.form import Form
from fairlead.simulation.traces.own.writing import write
from fairlead.simulation.workload import Workload
from fairlead.simulation.workloads.described import described

SECOND = 1_000_000


def trace(name: str, entries: Iterable[Entry], args: argparse.Namespace) -> None:
    """Writes the trace into a directory that is not there yet. Raises InputError where the journal
    tells of no job of which a task ended well."""
    history = History()
    for entry in entries:
        history.take(entry)
    workload = history.workload(name)
    jobs, tasks = write(workload, Path(args.out), Form.PARQUET)
    size = f"{counted(jobs, 'job')} with {counted(tasks, 'task')}"
    machines = counted(len(workload.machines.names), "machine")
    say([*workload.notes, f"wrote {args.out}: {machines}, {size}"])


@dataclass
class _Ran:
    """A job and its tasks that ended well, with how long the last attempt took (microseconds)."""

    job: Job
    submitted: int
    started: dict[int, int] = field(default_factory=dict)
    lasted: dict[int, int] = field(default_factory=dict)
    cancelled: bool = False


@dataclass
class History:
    """All that entries tell of machines, tenants, jobs and how long tasks took."""

    machines: dict[str, Machine] = field(default_factory=dict)
    tenants: dict[str, Tenant] = field(default_factory=dict)
    devices: set[str] = field(default_factory=set)
    ran: list[_Ran] = field(default_factory=list)
    called: dict[str, _Ran] = field(default_factory=dict)  # by the name, which may be used again

    def take(self, entry: Entry) -> None:
        if entry.kind == "service_started":
            self.devices |= {each["name"] for each in entry.body["units"] if each["piece"]}
        if entry.kind in DECISIONS:
            decision = decision_of(entry)
            if isinstance(decision, Launch) and decision.job in self.called:
                # Where no engine tells when it started, that is when.
                self.called[decision.job].started[decision.task] = entry.time
        if entry.kind not in EVENTS:
            return
        match event_of(entry):
            case events.MachineJoined(_, machine) | events.MachineChanged(_, machine):
                self.machines[machine.name] = machine
            case events.TenantChanged(_, tenant):
                self.tenants[tenant.name] = tenant
            case events.JobSubmitted(time, job):
                self.called[job.name] = _Ran(job, time)
                self.ran.append(self.called[job.name])
            case events.JobChanged(_, name, tasks) if name in self.called:
                most = None if tasks is None else Fraction(tasks)
                self.called[name].job = replace(self.called[name].job, tasks=most)
            case events.JobCancelled(_, name) if name in self.called:
                self.called[name].cancelled = True
            case events.TaskStarted(time, name, task) if name in self.called:
                self.called[name].started[task] = time
            case events.TaskFinished(time, name, task) if name in self.called:
                ran = self.called[name]
                if task in ran.started:
                    ran.lasted[task] = max(1, time - ran.started[task])

    def workload(self, name: str) -> Workload:
        """The same jobs at the same times, on the machines as they were last. Raises InputError."""
        known = [each for each in self.ran if each.lasted]
        if not known:
            raise InputError(
                f"{name} tells of no job of which a task ended well",
                "give the journal of a service that has run some",
            )
        first = min(each.submitted for each in known)
        jobs, lasted, guessed = [], [], 0
        for each in known:
            # Of what was cancelled, or has no end, what ended well is all that is known.
            whole = each.job.tasks is not None and not each.cancelled
            tasks = range(int(each.job.tasks or 0)) if whole else sorted(each.lasted)
            guessed += len(tasks) - len(each.lasted)
            usual = int(median(each.lasted.values()))
            lasted.append(np.array([each.lasted.get(t, usual) for t in tasks], np.int64))
            jobs.append(
                replace(
                    each.job,
                    tasks=Fraction(len(lasted[-1])),
                    gang=min(each.job.gang, len(lasted[-1])),
                    arrive=Fraction(each.submitted - first, SECOND),
                    every=None,
                    repeat=None,
                )
            )
        notes = [
            f"what the service of {name} did, from its first job on",
            "machines are there from the start, as they were last, and neither come nor go",
        ]
        if guessed:
            notes.append(
                f"{counted(guessed, 'task')} that did not end well take the median of their job"
            )
        if len(known) < len(self.ran):
            left = counted(len(self.ran) - len(known), "job")
            notes.append(f"{left} of which no task ended well are left out")
        named = {job.tenant for job in jobs} - set(self.tenants) - {None}
        tenants = [*self.tenants.values(), *(Tenant(each) for each in sorted(map(str, named)))]
        cluster = Cluster(list(self.machines.values()), tenants, sorted(self.devices))
        return described(name, cluster, jobs, notes=notes, lasted=lasted)
