"""Envy-freeness: would anybody rather have what another one holds?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np

from fairlead.audit.finding import Finding
from fairlead.audit.holdings import exact
from fairlead.audit.holdings.arrays import POOLED, Held, hold
from fairlead.audit.holdings.bundle import (
    SURE,
    Bundles,
    better_share,
    could_run,
    held_bundles,
    may_hold,
    whole_part,
)
from fairlead.audit.holdings.exact import Has, satisfied
from fairlead.audit.holdings.slack import shortfall
from fairlead.audit.outcome import Options, Outcome, Shown
from fairlead.audit.properties.base import (
    MOST_OTHERS,
    Property,
    holds,
    not_applicable,
    not_found,
    violated,
)
from fairlead.audit.properties.tenant_shares import amounts
from fairlead.model.words import number
from fairlead.sharing.certificate.arrays import Floats, Ints

NAME = "envy-freeness"

Against = tuple[int, Ints, Floats, Floats, float]
"""A party, others, what it could have with what each of them holds, by how much that is more (of
one with several jobs: exactly), and what it has: tasks where it has one job, else a share."""


def check(outcome: Outcome, options: Options) -> Finding:  # noqa: ARG001  exact: nothing to search
    """Whether anybody could run more with another's resources, scaled by their weights (TSF,
    Definition 3).

    What i could run with j's resources is counted machine by machine, on the machines that i may
    use, and is at most i's number of tasks. All pairs are looked at; a tenant with one job takes
    arithmetic alone. One with several jobs envies where it could run at least as much of every
    job and reach a larger share, which takes a program for those pairs that no bound rules out.

    Whole tasks are those that fit into j's containers, one by one (CDRF, section 2.1), rounded
    down where weights scale them; of a lottery, in expectation. Pairs that doubles cannot tell
    apart are compared in rationals.
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
    pair = _Pairs(held)
    for i, theirs, could, slack, runs in everybody:
        if len(held.parties[i].jobs) == 1:
            slack = pair.slack(i, theirs, could, runs)
            far += pair.envious_of_more(i, theirs, could, runs) if held.drawn else 0
        found = theirs[slack > 0]
        envious += len(found)
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
        (
            (names[i], names[j]),
            None,
            _show(held, i, j, could, runs, float(weight[i] / weight[j]), -slack),
        )
        for slack, i, j, could, runs in sorted(worst)[: MOST_OTHERS + 1]
    ]
    return violated(NAME, outcome, shown, counts=counts)


def _everybody(held: Held) -> Iterator[Against]:
    """Each party against all others."""
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
            could = np.minimum(could[others], held.ceiling(job))
            yield i, others, could, could, float(held.total[job])
            continue
        possible = others[may_hold(held, party, scaled)[others]]
        pairs = [_several(held, i, int(j), scaled.of(int(j))) for j in possible]
        runs = float(held.worth(party.jobs, [held.runs(job) for job in party.jobs.tolist()]))
        yield i, possible, *_columns(pairs), runs


def _whole_tasks(held: Held, unsure: list[int]) -> Iterator[Against]:
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
            yield i, others, could[others], could[others], float(held.total[party.jobs[0]])
            continue
        found, pairs = [], []
        for j in others.tolist():
            bundle = _scale(held, together.of(j), float(times[j]))
            if not may_hold(held, party, bundle)[0]:
                continue
            found.append(j)
            pairs.append(_several(held, i, j, bundle, unsure))
        runs = float(held.worth(party.jobs, [held.runs(job) for job in party.jobs.tolist()]))
        yield i, np.array(found, dtype=np.int64), *_columns(pairs), runs


def _several(
    held: Held, i: int, j: int, bundle: Bundles, unsure: list[int] | None = None
) -> tuple[float, float]:
    """The share that a party with several jobs could reach with what another holds, and by how much
    that is more than it has."""
    party = held.parties[i]

    def has() -> Has:
        return exact.times(exact.what_holds(held, held.parties[j]), held.part[i] / held.part[j])

    reach = better_share(held, party, bundle, has)
    if not reach.proved and unsure is not None:
        unsure.append(j)
    runs = held.worth(party.jobs, [held.runs(job) for job in party.jobs.tolist()])
    share = runs if reach.share is None else reach.share
    return float(share), shortfall(share, runs, reach.within)


def _columns(pairs: Sequence[tuple[float, float]]) -> tuple[Floats, Floats]:
    table = np.array(pairs, dtype=float).reshape(len(pairs), 2)
    return table[:, 0], table[:, 1]


class _Pairs:
    """Pairs of which the first has one job: who envies whom, exactly. What is alike is compared
    once."""

    def __init__(self, held: Held) -> None:
        self._held = held
        self._holds: dict[int, tuple[int, Has]] = {}
        self._kinds: dict[Has, int] = {}
        self._known: dict[tuple[object, ...], tuple[Fraction, Fraction]] = {}

    def slack(self, i: int, theirs: Ints, could: Floats, runs: float) -> Floats:
        """By how much it could run more with what each of them holds: 0 where it could not. What it
        could run is `could`, in doubles."""
        found: Floats = np.where(could > runs, 1 - runs / np.where(could > 0, could, 1.0), 0.0)
        # Before a draw, or by a mechanism, doubles are all that there is to compare.
        for k in np.flatnonzero(np.abs(could - runs) <= SURE * np.maximum(could, runs)).tolist():
            found[k] = shortfall(*self._exactly(i, int(theirs[k])), self._held.within)
        if self._held.drawn:
            # Whole parts of numbers that are next to whole ones: doubles may be off by one task.
            for k in np.flatnonzero(found > 0).tolist():
                found[k] = shortfall(*self._exactly(i, int(theirs[k])), self._held.within)
        return found

    def envious_of_more(self, i: int, theirs: Ints, could: Floats, runs: float) -> int:
        """The number of them that hold what would be more than a task more."""
        several = np.flatnonzero(could > runs + 1 - SURE * (could + 1)).tolist()
        pairs = (self._exactly(i, int(theirs[k])) for k in several)
        return sum(more > has + 1 for more, has in pairs)

    def _exactly(self, i: int, j: int) -> tuple[Fraction, Fraction]:
        """The tasks that the first could run with what the second holds, and those that it runs."""
        held = self._held
        job = int(held.parties[i].jobs[0])
        kind, has = self._what(j)
        key = (
            tuple(held.need(job)),
            held.classes.usable[job].tobytes(),
            bool(held.seen.spread[job]),
            held.most(job),
            held.runs(job),
            held.part[i],
            held.part[j],
            kind,
        )
        if key not in self._known:
            self._known[key] = could_with(held, i, j, has), held.runs(job)
        return self._known[key]

    def _what(self, j: int) -> tuple[int, Has]:
        """A party's holdings, and a number that they share with those that are alike: what they
        are made of is compared once, not with each pair."""
        if j not in self._holds:
            held = self._held
            if held.drawn:
                self._holds[j] = j, ()
            else:
                has = exact.what_holds(held, held.parties[j])
                self._holds[j] = self._kinds.setdefault(has, j), has
        return self._holds[j]


def could_with(held: Held, i: int, j: int, has: Has) -> Fraction:
    """The tasks that the only job of a party could run with what another holds, exactly. Whole
    tasks: in its containers, their mean over what may be drawn."""
    job = int(held.parties[i].jobs[0])
    factor = held.part[i] / held.part[j]
    if not held.drawn:
        return exact.at_most(held, job, exact.could_run(held, job, exact.times(has, factor)))
    total = Fraction(0)
    for each in held.drawn:
        could = factor * exact.could_run(held, job, exact.containers(held, held.parties[j], each))
        could = could if held.ex_ante else exact.whole_part(could)
        total += each.chance * exact.at_most(held, job, could)
    return total


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


def _scale(held: Held, bundle: Bundles, times: float) -> Bundles:
    return bundle.times(times) if held.ex_ante else bundle.times(times, whole_part)


def measure(outcome: Outcome, _changed: Outcome | None, who: tuple[str, ...]) -> Shown | None:
    """The tasks or share that the first could have with the second's holdings, and has."""
    held = hold(outcome)
    place = {party.name: i for i, party in enumerate(held.parties)}
    if held.tasks is None or len(who) != 2 or not set(who) <= place.keys():
        return None
    i, j = place[who[0]], place[who[1]]
    party, times = held.parties[i], float(held.weight[i] / held.weight[j])
    if len(party.jobs) == 1:
        has = () if held.drawn else exact.what_holds(held, held.parties[j])
        could, runs = could_with(held, i, j, has), held.runs(int(party.jobs[0]))
        slack = shortfall(could, runs, held.within)
        return _show(held, i, j, float(could), float(runs), times, slack)
    bundle = _scale(held, held_bundles(held, held.tasks).of(j), times)
    now = float(held.worth(party.jobs, [held.runs(job) for job in party.jobs.tolist()]))
    if satisfied(held, party) or not may_hold(held, party, bundle)[0]:
        return _show(held, i, j, now, now, times, 0.0)
    share, slack = _several(held, i, j, bundle)
    return _show(held, i, j, share, now, times, slack)


def _show(
    held: Held, i: int, j: int, could: float, runs: float, times: float, slack: float
) -> Shown:
    me, other = held.parties[i].name, held.parties[j].name
    unit = "tasks" if len(held.parties[i].jobs) == 1 else "share"
    # Doubles: what is nearer than they can tell is told by how much it is apart.
    what, with_it = amounts(Fraction(runs), Fraction(could), unit)
    if what == with_it and slack > 0:
        with_it += f" ({slack:.1g} of {'them' if unit == 'tasks' else 'it'} more)"
    scaled = "" if held.part[i] == held.part[j] else f" {number(times)} times"
    return Shown(
        before=could,
        after=runs,
        slack=slack,
        sentence=f"{me} gets {what}; with{scaled} what {other} holds it could have {with_it}.",
        unit=unit,
    )


PROPERTY = Property(
    NAME, "nobody could run more with what another holds", check, measure, after_draw=True
)
