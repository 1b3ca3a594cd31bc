"""Verdicts on whole tasks against everything that small inputs allow, by enumeration."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

from fairlead.audit.finding import Finding, Input, Moment, Verdict
from fairlead.audit.lottery import after_draw, ask
from fairlead.audit.outcome import Options, Outcome, solve
from fairlead.audit.properties.registry import PROPERTIES
from fairlead.model.eligibility import may_use
from fairlead.model.errors import InputError
from fairlead.model.shares import Tasks
from tests.sharing.whole_tasks.small import Draw, counted, drawn, feasible

RULES = ["tsf", "most-tasks", "independent", "moving-knife", "serial-dictatorship"]
LOTTERIES = ["cdrf-lottery", "serial-dictatorship(lottery=true)"]


def solved(seed: int, rule: str, limits: bool = False) -> tuple[Outcome, np.ndarray] | None:
    """An outcome, and every whole-task allocation that there is, in the order of its jobs."""
    cluster, jobs = drawn(seed, Draw(finite=seed % 2 == 0, weights=seed % 3 == 0, limits=limits))
    try:
        outcome = solve(Input(cluster, jobs), rule, Tasks.WHOLE)
    except InputError:
        return None
    counts = counted(cluster, jobs)
    place = [counts.problem.job_names.index(job.name) for job in jobs]
    return outcome, feasible(counts)[:, place]


def tasks_of(outcome: Outcome) -> np.ndarray:
    return np.array([job.tasks for job in outcome.allocation.jobs])


def finding(name: str, outcome: Outcome, moment: Moment | None) -> Finding:
    (found,) = (one for one in ask(PROPERTIES[name], outcome, Options()) if one.lottery is moment)
    return found


def is_dominated(tasks: np.ndarray, points: np.ndarray) -> bool:
    return bool(((points >= tasks).all(axis=1) & (points > tasks).any(axis=1)).any())


@pytest.mark.parametrize("rule", RULES)
def test_pareto_optimality_is_that_of_all_allocations(rule: str, cases: int) -> None:
    seen = set()
    for seed in range(8 * cases):
        if (known := solved(seed, rule, limits=seed % 5 == 0)) is None:
            continue
        outcome, points = known
        found = finding("pareto-optimality", outcome, None)
        if found.verdict is Verdict.NOT_APPLICABLE:
            continue
        seen.add(found.verdict)
        dominated = is_dominated(tasks_of(outcome), points)
        assert (found.verdict is Verdict.VIOLATED) is dominated, seed
        assert found.verdict is not Verdict.NOT_FOUND, seed
        if found.witness is not None:
            better = dict(found.witness.jobs)
            row = [better[job.name] for job in outcome.allocation.jobs]
            assert row in points.tolist(), seed
            who = [job.name for job in outcome.allocation.jobs if job.tenant in found.witness.who]
            most = points[(points >= tasks_of(outcome)).all(axis=1)]
            at = outcome.allocation.jobs.index(outcome.allocation.job(who[0]))
            assert found.witness.before == most[:, at].max(), seed
    assert Verdict.HOLDS in seen


@pytest.mark.parametrize("rule", LOTTERIES)
def test_pareto_optimality_before_and_after_the_draw(rule: str, cases: int) -> None:
    seen = set()
    for seed in range(20 * cases):
        if (known := solved(seed, rule, limits=seed % 5 == 0)) is None:
            continue
        outcome, points = known
        before = finding("pareto-optimality", outcome, Moment.EX_ANTE)
        if before.verdict is Verdict.NOT_APPLICABLE:
            continue
        tasks = tasks_of(outcome)
        scale = np.maximum(tasks, 1.0)
        best = linprog(
            -(points / scale).sum(axis=1),
            A_ub=-points.T,
            b_ub=-tasks * (1 - 1e-10),
            A_eq=[np.ones(len(points))],
            b_eq=[1.0],
        )
        gain = -best.fun - float((tasks / scale).sum())
        seen.add(before.verdict)
        assert (before.verdict is Verdict.VIOLATED) is (gain > 1e-5), (seed, gain)
        assert before.verdict is not Verdict.NOT_FOUND, seed
        after = finding("pareto-optimality", outcome, Moment.EX_POST)
        dominated = [is_dominated(tasks_of(one), points) for one in after_draw(outcome)]
        assert (after.verdict is Verdict.VIOLATED) is any(dominated), seed
    assert Verdict.HOLDS in seen
    assert (Verdict.VIOLATED in seen) is (rule != "cdrf-lottery")


def container_tasks(outcome: Outcome, i: int, j: int) -> Fraction:
    """The tasks of job i in the containers of job j, machine by machine, from the model alone."""
    given, whole = outcome.input, outcome.allocation.whole
    assert whole is not None
    me, other = given.jobs[i], given.jobs[j]
    fit = min(other.demand.get(r, Fraction(0)) // d for r, d in me.demand.items() if d)
    machines = {machine.name: machine for machine in given.cluster.machines}
    members = {each.index: each.machines for each in outcome.allocation.classes}
    chances = [(one.probability, one.packings) for one in whole.lottery]
    total = Fraction(0)
    for probability, packings in chances or [(Fraction(1), whole.packings)]:
        could = Fraction(0)
        for one in packings:
            if may_use(me, machines[members[one.machine_class][0]]):
                held = dict(one.jobs).get(other.name, 0)
                could += one.machines * (min(1, held * fit) if me.spread else held * fit)
        total += probability * (could if me.tasks is None else min(could, me.tasks))
    return total


@pytest.mark.parametrize("rule", [*RULES, *LOTTERIES])
def test_envy_is_counted_container_by_container(rule: str, cases: int) -> None:
    for seed in range(10 * cases):
        if seed % 3 == 0 or (known := solved(seed, rule)) is None:  # equal weights
            continue
        outcome, points = known
        found = finding("envy-freeness", outcome, outcome.moment)
        if found.verdict is Verdict.NOT_APPLICABLE:
            continue
        runs = [k for k in range(points.shape[1]) if points[:, k].any()]
        envious = [
            (i, j)
            for i in runs
            for j in runs
            if i != j
            and float(container_tasks(outcome, i, j)) > tasks_of(outcome)[i] * (1 + 1e-6) + 1e-12
        ]
        assert dict(found.counts)["envious"] == len(envious), (seed, envious)


@pytest.mark.parametrize("rule", [*RULES, *LOTTERIES])
def test_the_sharing_incentive_is_a_part_of_what_one_could_run_alone(rule: str, cases: int) -> None:
    for seed in range(10 * cases):
        if seed % 3 == 0 or (known := solved(seed, rule)) is None:  # equal weights
            continue
        outcome, _ = known
        found = finding("sharing-incentive", outcome, outcome.moment)
        if found.verdict is Verdict.NOT_APPLICABLE:
            continue
        given = outcome.input
        alone = []
        for one in given.jobs:
            fits = [
                min(m.capacity.get(r, Fraction(0)) // d for r, d in one.demand.items() if d)
                for m in given.cluster.machines
                if may_use(one, m)
            ]
            alone.append(sum(min(fit, 1) if one.spread else fit for fit in fits))
        count = sum(each > 0 for each in alone)
        below = 0
        for one, could, has in zip(given.jobs, alone, tasks_of(outcome), strict=True):
            part = Fraction(could, count) if outcome.moment else Fraction(could // count)
            promised = part if one.tasks is None else min(part, one.tasks)
            below += float(promised) * (1 - 1e-6) > has
        assert dict(found.counts)["below"] == below, seed
