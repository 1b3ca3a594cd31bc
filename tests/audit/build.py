"""Inputs and allocations for the auditor's tests, in a line each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from fairlead.audit.change import apply
from fairlead.audit.finding import Finding, Input, Verdict, Witness
from fairlead.audit.outcome import Options, Outcome, Shown, solve
from fairlead.audit.registry import PROPERTIES
from fairlead.model.job import Job
from fairlead.model.machine import Cluster, Machine
from fairlead.model.shares import MachineClass, Placement
from fairlead.model.tenant import Tenant

OPTIONS = Options(trials=20, seed=1)


def given(where: Iterable[Machine], jobs: Sequence[Job], tenants: Iterable[Tenant] = ()) -> Input:
    """An input."""
    return Input(Cluster(where, tenants), tuple(jobs))


def audited(name: str, what: Input, policy: str, options: Options = OPTIONS) -> Finding:
    """The finding on one property."""
    return PROPERTIES[name].check(solve(what, policy), options)


def made(what: Input, placed: Mapping[str, Mapping[str, float]], policy: str = "tsf") -> Outcome:
    """An outcome whose allocation is made by hand: for each job its tasks on each machine."""
    outcome = solve(what, policy)
    names = [machine.name for machine in what.cluster.machines]
    jobs = tuple(
        replace(
            job,
            tasks=sum(placed[job.name].values()),
            placements=tuple(
                Placement(names.index(name), tasks) for name, tasks in placed[job.name].items()
            ),
        )
        for job in outcome.allocation.jobs
    )
    classes = tuple(MachineClass(index, (name,)) for index, name in enumerate(names))
    return Outcome(what, outcome.rule, replace(outcome.allocation, classes=classes, jobs=jobs))


def judged(name: str, outcome: Outcome) -> Finding:
    """The finding on one property of an allocation that is already there."""
    return PROPERTIES[name].check(outcome, OPTIONS)


def witness_of(finding: Finding) -> Witness:
    """The witness that a violation must have."""
    assert finding.verdict is Verdict.VIOLATED
    assert finding.witness is not None
    return finding.witness


def shown_again(witness: Witness) -> Shown | None:
    """The witness's numbers, computed again from its inputs."""
    first = solve(witness.input, witness.policy)
    change = witness.change
    second = None if change is None else solve(apply(change, witness.input), first.rule)
    return PROPERTIES[witness.property].measure(first, second, witness.who)
