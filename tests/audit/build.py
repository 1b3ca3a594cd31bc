"""Inputs and allocations for the auditor's tests, in a line each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from fairlead.audit.change import apply
from fairlead.audit.finding import Finding, Input, Verdict, Witness
from fairlead.audit.lottery import ask, measure_at
from fairlead.audit.outcome import Options, Outcome, Shown, solve
from fairlead.audit.properties.registry import PROPERTIES
from fairlead.model.check import with_implied_tenants
from fairlead.model.job import Job
from fairlead.model.machine import Cluster, Machine
from fairlead.model.shares import MachineClass, Placement, Tasks
from fairlead.model.tenant import Tenant
from fairlead.model.wholes import Chance, Packing, Whole

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


def made_whole(what: Input, *chances: tuple[str, Mapping[str, Mapping[str, int]]]) -> Outcome:
    """An outcome of whole tasks that is made by hand: for each allocation its probability and, for
    each machine, the tasks of the jobs on it. One with the probability 1 is no lottery."""
    names = [machine.name for machine in what.cluster.machines]
    tenants = with_implied_tenants(what.cluster, what.jobs)
    made_of = tuple(
        Chance(
            Fraction(probability),
            tuple(
                (job.name, sum(on.get(job.name, 0) for on in placed.values())) for job in what.jobs
            ),
            tuple(
                Packing(names.index(name), Fraction(1), tuple(sorted(on.items())))
                for name, on in placed.items()
                if any(on.values())
            ),
        )
        for probability, placed in chances
    )
    mean = {
        job.name: sum((one.probability * dict(one.jobs)[job.name] for one in made_of), Fraction(0))
        for job in what.jobs
    }
    outcome = solve(Input(tenants, what.jobs), "tsf", Tasks.WHOLE)
    single = len(made_of) == 1 and made_of[0].probability == 1
    whole = Whole(made_of[0].packings) if single else Whole((), lottery=made_of)
    jobs = tuple(
        replace(job, tasks=float(mean[job.name]), placements=()) for job in outcome.allocation.jobs
    )
    classes = tuple(MachineClass(index, (name,)) for index, name in enumerate(names))
    allocation = replace(outcome.allocation, classes=classes, jobs=jobs, whole=whole)
    return Outcome(what, outcome.rule, allocation)


def asked_of(name: str, outcome: Outcome, options: Options = OPTIONS) -> list[Finding]:
    """The findings on one property: of a lottery before the draw and perhaps after it."""
    return list(ask(PROPERTIES[name], outcome, options))


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
    first = solve(witness.input, witness.policy, witness.tasks)
    change = witness.change
    second = None if change is None else solve(apply(change, witness.input), first.rule)
    known = PROPERTIES[witness.property]
    return measure_at(known, first, second, witness.who, witness.lottery)
