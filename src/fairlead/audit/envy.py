"""Envy-freeness: would anybody rather have what another one holds?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from fairlead.audit.bundle import (
    Bundles,
    better_share,
    could_run,
    held_bundles,
    may_hold,
    satisfied,
    whole_part,
)
from fairlead.audit.finding import Finding
from fairlead.audit.held import POOLED, Held, hold
from fairlead.audit.outcome import Options, Outcome, Shown
from fairlead.audit.property import (
    MOST_OTHERS,
    Property,
    holds,
    not_applicable,
    not_found,
    violated,
)
from fairlead.audit.tolerance import TOLERANCE, shortfall
from fairlead.model.words import counted, number
from fairlead.sharing.certificate.seen import Floats, Ints

NAME = "envy-freeness"


def check(outcome: Outcome, options: Options) -> Finding:  # noqa: ARG001  exact: nothing to search
    """Whether anybody could run more with another's resources, scaled by their weights (TSF,
    Definition 3).

    What i could run with j's resources is counted machine by machine, on the machines that i may
    use, and is at most i's number of tasks. All pairs are looked at; a tenant with one job takes
    arithmetic alone. One with several jobs envies where it could run at least as much of every
    job and reach a larger share, which takes a program for those pairs that no bound rules out.

    Whole tasks are those that fit into j's containers, one by one (CDRF, section 2.1), rounded
    down where weights scale them; of a lottery, in expectation.
    """
    held = hold(outcome)
    if not held.parties:
        return not_applicable(NAME, outcome, "nobody can run anything")
    if held.tasks is None:
        return not_applicable(NAME, outcome, POOLED.format(policy=outcome.rule.spec))
    weight = held.weight
    unsure: list[int] = []
    worst: list[tuple[float, int, int, float, float]] = []
    envious, far, pairs = 0, 0, len(held.parties) * (len(held.parties) - 1)
    everybody = _whole_tasks(held, unsure) if held.drawn else _everybody(held)
    for i, theirs, could, runs in everybody:
        slack = np.where(could > runs, 1 - runs / np.where(could > 0, could, 1.0), 0.0)
        found = theirs[slack > TOLERANCE]
        envious += len(found)
        if len(held.parties[i].jobs) == 1:
            far += int((could[slack > TOLERANCE] > runs + 1 + TOLERANCE).sum())
        order = np.argsort(-slack, kind="stable")[: min(len(found), MOST_OTHERS + 1)]
        worst += [(-float(slack[k]), i, int(theirs[k]), float(could[k]), runs) for k in order]
        if len(worst) > 4096:
            worst = sorted(worst)[: MOST_OTHERS + 1]
    counts: tuple[tuple[str, int], ...] = (("pairs", pairs), ("envious", envious))
    if held.drawn:
        counts += (("envious of more than a task", far),)
    if not worst:
        if unsure:
            note = f"{len(unsure)} of {pairs} pairs were too large to be sure"
            return not_found(NAME, outcome, pairs - len(unsure), counts=counts, note=note)
        return holds(NAME, outcome, counts=counts)
    names = [party.name for party in held.parties]
    shown = [
        ((names[i], names[j]), None, _shown(held, i, j, could, runs, float(weight[i] / weight[j])))
        for _, i, j, could, runs in sorted(worst)[: MOST_OTHERS + 1]
    ]
    return violated(NAME, outcome, shown, counts=counts)


def _everybody(held: Held) -> Iterator[tuple[int, Ints, Floats, float]]:
    """For each party: itself, the others, what it could have with what each of them holds, and
    what it has: tasks where it has one job, else a share."""
    assert held.tasks is not None  # the caller has seen to that
    bundles = held_bundles(held, held.tasks)
    everyone = np.arange(len(held.parties))
    known: dict[tuple[bytes, bytes], Floats] = {}
    for i, party in enumerate(held.parties):
        if satisfied(held, party):
            continue
        scaled = (
            Bundles(
                bundles.owners,
                bundles.owner,
                bundles.at,
                bundles.amount * (held.weight[i] / held.weight[bundles.owner])[:, None],
                bundles.machines,
            )
            if len(party.jobs) > 1 or held.seen.spread[party.jobs[0]]
            else bundles
        )
        others = everyone[everyone != i]
        if len(party.jobs) == 1:
            job = int(party.jobs[0])
            if held.seen.spread[job]:
                could = could_run(held, job, scaled)
            else:
                key = (held.seen.demand[job].tobytes(), held.classes.usable[job].tobytes())
                if key not in known:
                    known[key] = could_run(held, job, bundles) / held.weight
                could = known[key] * held.weight[i]
            yield i, others, np.minimum(could[others], held.ceiling(job)), float(held.total[job])
            continue
        runs = held.share(party.jobs, held.total[party.jobs])
        possible = others[may_hold(held, party, scaled)[others]]
        shares = [better_share(held, party, scaled.of(int(j))).share or 0.0 for j in possible]
        yield i, possible, np.array(shares), runs


def _whole_tasks(held: Held, unsure: list[int]) -> Iterator[tuple[int, Ints, Floats, float]]:
    """The same in whole tasks. `unsure` is told of each pair that could not be decided."""
    assert held.tasks is not None  # whole tasks are always somewhere
    everyone = np.arange(len(held.parties))
    together = held_bundles(held, held.tasks)
    draws = [(each.probability, held_bundles(held, each.tasks)) for each in held.drawn]
    for i, party in enumerate(held.parties):
        if satisfied(held, party):
            continue
        others = everyone[everyone != i]
        times = held.weight[i] / held.weight
        if len(party.jobs) == 1:
            could = _in_containers(held, int(party.jobs[0]), draws, times)
            yield i, others, could[others], float(held.total[party.jobs[0]])
            continue
        found, shares = [], []
        for j in others.tolist():
            bundle = _scaled(held, together.of(j), float(times[j]))
            if not may_hold(held, party, bundle)[0]:
                continue
            reach = better_share(held, party, bundle)
            found.append(j)
            shares.append(reach.share or 0.0)
            if not reach.proved:
                unsure.append(j)
        runs = held.share(party.jobs, held.total[party.jobs])
        yield i, np.array(found, dtype=np.int64), np.array(shares, dtype=float), runs


def _in_containers(
    held: Held, job: int, draws: Sequence[tuple[float, Bundles]], times: Floats
) -> Floats:
    """(N,) the whole tasks of a job in each party's containers, as many times as the weights say
    and no more than it has; their mean over what may be drawn."""
    ceiling = held.ceiling(job)
    found = np.zeros(len(times))
    for probability, bundles in draws:
        could = could_run(held, job, bundles) * times
        found += probability * np.minimum(could if held.ex_ante else whole_part(could), ceiling)
    return found


def _scaled(held: Held, bundle: Bundles, times: float) -> Bundles:
    return bundle.times(times) if held.ex_ante else bundle.times(times, whole_part)


def measure(
    outcome: Outcome,
    changed: Outcome | None,  # noqa: ARG001  the property is about no change
    who: tuple[str, ...],
) -> Shown | None:
    """What the first could have with what the second holds, and what it has."""
    held = hold(outcome)
    place = {party.name: i for i, party in enumerate(held.parties)}
    if held.tasks is None or len(who) != 2 or not set(who) <= place.keys():
        return None
    i, j = place[who[0]], place[who[1]]
    party, times = held.parties[i], float(held.weight[i] / held.weight[j])
    bundle = _scaled(held, held_bundles(held, held.tasks).of(j), times)
    if len(party.jobs) == 1:
        job = int(party.jobs[0])
        if held.drawn:
            draws = [(each.probability, held_bundles(held, each.tasks)) for each in held.drawn]
            could = float(_in_containers(held, job, draws, held.weight[i] / held.weight)[j])
        else:
            could = min(float(could_run(held, job, bundle)[0]), held.ceiling(job))
        return _shown(held, i, j, could, float(held.total[job]), times)
    runs = held.share(party.jobs, held.total[party.jobs])
    could = runs
    if not satisfied(held, party) and may_hold(held, party, bundle)[0]:
        could = better_share(held, party, bundle).share or runs
    return _shown(held, i, j, could, runs, times)


def _shown(held: Held, i: int, j: int, could: float, runs: float, times: float) -> Shown:
    me, other = held.parties[i].name, held.parties[j].name
    unit = "tasks" if len(held.parties[i].jobs) == 1 else "share"
    what = counted(runs, "task") if unit == "tasks" else f"the share {number(runs)}"
    with_it = counted(could, "task") if unit == "tasks" else f"the share {number(could)}"
    scaled = "" if abs(times - 1) < TOLERANCE else f" {number(times)} times"
    return Shown(
        before=could,
        after=runs,
        slack=shortfall(could, runs),
        sentence=f"{me} gets {what}; with{scaled} what {other} holds it could have {with_it}.",
        unit=unit,
    )


PROPERTY = Property(
    NAME, "nobody could run more with what another holds", check, measure, after_draw=True
)
