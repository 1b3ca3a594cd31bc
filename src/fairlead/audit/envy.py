"""Envy-freeness: would anybody rather have what another one holds?"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fairlead.audit.bundle import (
    Bundles,
    better_share,
    could_run,
    held_bundles,
    may_hold,
    satisfied,
)
from fairlead.audit.finding import Finding
from fairlead.audit.held import POOLED, Held, hold
from fairlead.audit.outcome import Options, Outcome, Shown
from fairlead.audit.property import MOST_OTHERS, Property, holds, not_applicable, violated
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
    """
    held = hold(outcome)
    if not held.parties:
        return not_applicable(NAME, outcome, "nobody can run anything")
    if held.tasks is None:
        return not_applicable(NAME, outcome, POOLED.format(policy=outcome.rule.spec))
    bundles = held_bundles(held, held.tasks)
    weight = held.weight
    worst: list[tuple[float, int, int, float, float]] = []
    envious, pairs = 0, len(held.parties) * (len(held.parties) - 1)
    for i, theirs, could, runs in _everybody(held, bundles):
        slack = np.where(could > runs, 1 - runs / np.where(could > 0, could, 1.0), 0.0)
        found = theirs[slack > TOLERANCE]
        envious += len(found)
        order = np.argsort(-slack, kind="stable")[: min(len(found), MOST_OTHERS + 1)]
        worst += [(-float(slack[k]), i, int(theirs[k]), float(could[k]), runs) for k in order]
        if len(worst) > 4096:
            worst = sorted(worst)[: MOST_OTHERS + 1]
    counts = (("pairs", pairs), ("envious", envious))
    if not worst:
        return holds(NAME, outcome, counts=counts)
    names = [party.name for party in held.parties]
    shown = [
        ((names[i], names[j]), None, _shown(held, i, j, could, runs, float(weight[i] / weight[j])))
        for _, i, j, could, runs in sorted(worst)[: MOST_OTHERS + 1]
    ]
    return violated(NAME, outcome, shown, counts=counts)


def _everybody(held: Held, bundles: Bundles) -> Iterator[tuple[int, Ints, Floats, float]]:
    """For each party: itself, the others, what it could have with what each of them holds, and
    what it has: tasks where it has one job, else a share."""
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
        shares = [better_share(held, party, scaled.of(int(j))) or 0.0 for j in possible]
        yield i, possible, np.array(shares), runs


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
    bundle = held_bundles(held, held.tasks).of(j).times(times)
    if len(party.jobs) == 1:
        job = int(party.jobs[0])
        could = min(float(could_run(held, job, bundle)[0]), held.ceiling(job))
        return _shown(held, i, j, could, float(held.total[job]), times)
    runs = held.share(party.jobs, held.total[party.jobs])
    could = runs
    if not satisfied(held, party) and may_hold(held, party, bundle)[0]:
        could = better_share(held, party, bundle) or runs
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


PROPERTY = Property(NAME, "nobody could run more with what another holds", check, measure)
