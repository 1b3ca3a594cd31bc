"""Strategy-proofness: who could run more of its true tasks by a lie? A search, never a proof."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from fairlead.audit.change import apply
from fairlead.audit.finding import Change, Finding, Input, Lie, Witness
from fairlead.audit.holdings.slack import shortfall
from fairlead.audit.outcome import Options, Outcome, Shown, solve
from fairlead.audit.properties.base import Property, not_applicable, not_found, violated, witness_of
from fairlead.audit.properties.strategy_least import choose, least, room_for
from fairlead.audit.properties.strategy_lies import (
    Claimed,
    Liar,
    Scene,
    directed,
    draw_lie,
    in_small_tasks,
    larger_pools,
    lie_of,
    scene_of,
    smaller_pools,
    splits,
    too_small,
    unusable_pools,
)
from fairlead.audit.properties.strategy_value import Range, claims_of, gets, own_job
from fairlead.audit.properties.try_changes import sample
from fairlead.model.eligibility import may_use
from fairlead.model.errors import InputError
from fairlead.model.job import Job
from fairlead.model.tenant import Tenant
from fairlead.model.unrounded import change as risen
from fairlead.model.unrounded import compared
from fairlead.model.words import counted, listing, number

NAME = "strategy-proofness"
SMALLER = "requests for smaller containers are not tried: no whole task fits into them"
ALL_SMALLEST = "all {0} of the smallest lies were tried"
SOME_SMALLEST = "{0} of the {1} smallest lies were tried"
MOST_LIARS = 64
"""So many tenants are tried at most, drawn with the seed."""

Violation = tuple[tuple[str, ...], Change | None, Shown]


class _Smallest(NamedTuple):
    """The number of the smallest lies that were tried (the policy refuses what some of them make of
    the input), how many there are, and how many there was room for."""

    tried: int
    there: int
    room: int


@dataclass(frozen=True)
class _Gain:
    """The gain of one liar by a lie."""

    tenant: str
    truth: Fraction
    range: Range
    within: Fraction  # to what part of themselves the numbers are known

    @property
    def sure(self) -> float:
        """In parts of what the truth gives, in every placement."""
        return risen(self.truth, self.range.least) or 0.0

    @property
    def possible(self) -> float:
        """In parts of what the truth gives, in the best placement."""
        return risen(self.truth, self.range.most, self.within) or 0.0

    @property
    def slack(self) -> float:
        """By how much the truth gives less than the lie in every placement; 0 if it does not."""
        return shortfall(self.range.least, self.truth, self.within) if self.truth else 0.0


@dataclass
class _Search:
    """The lies that were tried so far, and the best of them. `go_on`: as of the options; `over`:
    it said no."""

    outcome: Outcome
    go_on: Callable[[int, int], bool]
    over: bool = False
    trials: int = 0
    best: float = -np.inf
    found: list[Violation] = field(default_factory=list)
    possible: tuple[float, str] = (0.0, "")
    nearest: tuple[Liar, Job] | None = None
    known: set[Lie] = field(default_factory=set)

    def tell_all(self, scene: Scene, lies: Iterable[Claimed], most: int) -> None:
        """Tells the lies one after the other, but for those that were told already or are of no
        use, until so many more were told."""
        begun, most = self.trials, most + self.trials
        for change, claim in lies:
            if self.trials >= most or self.ends(self.trials - begun, most - begun):
                break
            if not self.outcome.whole and isinstance(change, Lie):
                machines = scene.given.cluster.machines
                claimed = tuple(in_small_tasks(job, machines) for job in change.claimed)
                change = replace(change, claimed=claimed)
            if change in self.known or (self.outcome.whole and _of_no_use(change, scene)):
                continue
            self.known.add(change)
            sure = self.tell(change, change.liars)
            if sure is not None and sure >= self.best and claim is not None:
                self.nearest = claim

    def ends(self, tried: int, most: int) -> bool:
        """Whether nobody wants more of it, where so many were tried of at most so many."""
        self.over = self.over or not self.go_on(tried, most)
        return self.over

    def tell(self, change: Change, who: tuple[str, ...]) -> float | None:
        """Tells the lie: by how much it pays those who tell it, at least; None where it cannot
        be told."""
        gains = _tell(self.outcome, change, who)
        if gains is None:
            return None
        self.trials += 1
        sure = min(gain.sure for gain in gains[1])
        self.best = max(self.best, sure)
        shown = _show(self.outcome, gains[0], gains[1])
        if shown.slack > 0:
            self.found.append((who, change, shown))
        else:
            possible = min(gain.possible for gain in gains[1])
            if possible > self.possible[0]:
                self.possible = (possible, shown.sentence)
        return sure


def check(outcome: Outcome, options: Options) -> Finding:
    """Whether anybody could run more of its true tasks by lying (TSF, section III.2).

    Lies about demands, constraints, both, pools, and of two tenants together who must both gain:
    the smallest ones, beside `trials`; then those that the prices point at, then those drawn with
    the seed. A lie counts where every
    optimal placement gives more than the truth; what only some placement gives is told apart. Told
    apart as well is what pays under most policies: coming as two tenants with half the weight
    each, or bringing machines that are not one's own. A search can refute, and nothing more.

    Whole tasks are counted in the containers that the liar gets, of the size that it claimed (CDRF,
    section 2.1); of a lottery, in expectation.
    """
    scene = scene_of(outcome)
    if not scene.liars:
        return not_applicable(NAME, outcome, "no tenant has just one job that runs")
    search = _Search(outcome, options.go_on)
    draw = np.random.Generator(np.random.PCG64(options.seed))
    liars = sample(scene.liars, MOST_LIARS, options.seed)
    # A search that tries many inputs asks for none of them, and they take a while to make.
    smallest = ([], []) if options.smallest == 0 else least(scene, liars)
    room = room_for(scene, options.trials) if options.smallest is None else options.smallest
    search.tell_all(scene, choose(smallest, room, options.seed), room)
    room = search.trials if search.over else room
    small = _Smallest(search.trials, sum(map(len, smallest)), room)
    search.tell_all(scene, _lies(scene, liars, options, draw, search), options.trials)
    apart, count = _apart(scene, liars, search, max(2, options.trials // 4))
    counts = (
        ("liars", len(liars)),
        ("smallest lies", small.there),
        ("of them tried", small.tried),
        ("apart", count),
        ("violations", len(search.found)),
    )
    rest = {
        "seed": options.seed,
        "best": None if search.best == -np.inf else round(search.best, 9) + 0.0,
        "note": _note(scene, search, small, apart),
        "counts": counts,
        "apart": apart,
    }
    if search.found:
        return violated(NAME, outcome, search.found, trials=search.trials, **rest)
    return not_found(NAME, outcome, search.trials, **rest)


def _lies(
    scene: Scene,
    liars: list[Liar],
    options: Options,
    draw: np.random.Generator,
    search: _Search,
) -> Iterator[Claimed]:
    """The lies to tell, without end: half of the trials, or all that there are, directed; then by
    turns something at random, near the best so far, and two together."""
    known = {liar.tenant: directed(scene, liar) for liar in liars}
    first: list[Claimed] = []
    for row in range(max(map(len, known.values()))):
        for liar in liars:
            if row < len(known[liar.tenant]):
                claim = known[liar.tenant][row]
                first.append((lie_of((liar, claim)), (liar, claim)))
    first += [(lie, None) for liar in liars for lie in smaller_pools(liar)]
    half = options.trials - options.trials // 2
    if len(first) > half:
        # A few of the first, and some of all.
        head = first[: half // 2]
        first = head + sample(first[half // 2 :], half - len(head), int(draw.integers(2**31)))
    yield from first
    for turn in range(20 * options.trials + 20):
        liar = liars[int(draw.integers(len(liars)))]
        if turn % 3 == 0 and len(liars) > 1:
            other = [each for each in liars if each is not liar][int(draw.integers(len(liars) - 1))]
            pair = [
                (each, known[each.tenant][int(draw.integers(len(known[each.tenant])))])
                if known[each.tenant] and draw.random() < 0.7
                else (each, draw_lie(scene, each, draw))
                for each in (liar, other)
            ]
            yield lie_of(*pair), None
        elif turn % 3 == 1 and search.nearest is not None:
            liar, claim = search.nearest
            near = draw_lie(scene, Liar(liar.tenant, claim, liar.price, liar.cost, liar.own), draw)
            yield lie_of((liar, near)), (liar, near)
        else:
            claim = draw_lie(scene, liar, draw)
            yield lie_of((liar, claim)), (liar, claim)


def _of_no_use(lie: Lie, scene: Scene) -> bool:
    """Does somebody ask for containers into which nothing of its own fits?"""
    true = {liar.job.name: liar.job for liar in scene.liars}
    return any(too_small(claim, true[claim.name]) for claim in lie.claimed)


def _apart(
    scene: Scene, liars: list[Liar], before: _Search, most: int
) -> tuple[tuple[Witness, ...], int]:
    """Lies that pay under most policies: the best way found to come as two, and the best machine
    that is not one's own; and how many ways were tried."""
    kinds: list[list[tuple[Change, str]]] = [
        [(change, liar.tenant) for liar in liars for change in splits(scene, liar)],
        [(lie, liar.tenant) for liar in liars for lie in larger_pools(scene, liar)],
    ]
    witnesses, trials, outcome = [], 0, before.outcome
    for ways in kinds:
        search = _Search(outcome, before.go_on, before.over)
        some = ways[-most:] if len(ways) > most else ways
        for tried, (change, tenant) in enumerate(some):
            if search.ends(tried, len(some)):
                break
            search.tell(change, (tenant,))
        trials += search.trials
        if search.found:
            who, change_, shown = min(search.found, key=lambda one: -one[2].slack)
            witnesses.append(witness_of(NAME, outcome, who, change_, shown))
    return tuple(witnesses), trials


def _note(scene: Scene, search: _Search, small: _Smallest, apart: Iterable[Witness]) -> str:
    """Sentences that a reader needs to read the verdict right."""
    parts = []
    if small.tried:
        parts.append((SOME_SMALLEST if small.room < small.there else ALL_SMALLEST).format(*small))
    tenants = len({job.tenant or job.name for job in scene.given.jobs})
    if tenants > len(scene.liars):
        parts.append(
            f"{len(scene.liars)} of {tenants} tenants could be tried: those with one job that runs"
            " and does not spread"
        )
    owners = unusable_pools(scene.given)
    if owners:
        parts.append(f"{listing(owners, 4)} cannot use all of what they brought as pools")
    if scene.whole:
        parts.append(SMALLER)
    if search.possible[1]:
        parts.append(f"not counted, because only some placements give it: {search.possible[1]}")
    parts += [f"apart, because it pays under most policies: {one.sentence}" for one in apart]
    return " ".join(part if part.endswith(".") else part + "." for part in parts)


def measure(outcome: Outcome, changed: Outcome | None, who: tuple[str, ...]) -> Shown | None:
    """The tasks that the liar who gains least runs by the truth, and can run by the lie."""
    if changed is None:
        return None
    gains = _gains(outcome, changed, who)
    return None if gains is None else _show(outcome, changed, gains)


def _tell(
    outcome: Outcome, change: Change, who: tuple[str, ...]
) -> tuple[Outcome, list[_Gain]] | None:
    try:
        after = solve(apply(change, outcome.input), outcome.rule)
    except InputError:
        return None
    gains = _gains(outcome, after, who)
    return None if gains is None else (after, gains)


def _gains(before: Outcome, after: Outcome, who: tuple[str, ...]) -> list[_Gain] | None:
    """The gain of each liar; None where one is not a tenant whose lies can be counted."""
    gains = []
    for tenant in who:
        true = own_job(before.input, tenant)
        claims = [] if true is None else claims_of(before.input, after.input, true)
        if true is None or true.spread or not claims:
            return None
        truth = before.numbers.tasks[true.name]
        found = gets(true, claims, after, truth)
        within = max(before.numbers.within, found.within)
        gains.append(_Gain(tenant, truth, found, within))
    return gains


def _show(before: Outcome, after: Outcome, gains: list[_Gain]) -> Shown:
    """The numbers of the liar who gains least."""
    worst = min(gains, key=lambda gain: (gain.slack, gain.sure, gain.tenant))
    first = counted(float(worst.truth), "task")
    least, most = float(worst.range.least), float(worst.range.most)
    if compared(worst.range.least, worst.range.most, worst.range.within):
        then = f"{number(least)} to {number(most)} true tasks, by the placement that comes out"
    else:
        then = f"{number(least)} true {'task' if number(least) == '1' else 'tasks'}"
        if worst.slack and number(least) == number(float(worst.truth)):
            then += f" ({worst.slack:.1g} of them more)"
    hows = [(gain.tenant, _how(before.input, after.input, gain.tenant)) for gain in gains]
    how = listing(text if len(gains) == 1 else f"{tenant} {text}" for tenant, text in hows)
    sentence = f"{worst.tenant} gets {first}; {how} it can run {then}."
    if len(gains) > 1:
        others = listing(gain.tenant for gain in gains if gain is not worst)
        sentence = (
            f"{worst.tenant} gets {first}; when {how} it can run {then}, and {others} gains more."
        )
    return Shown(
        before=float(worst.truth),
        after=least,
        slack=worst.slack,
        sentence=sentence,
    )


def _how(before: Input, after: Input, tenant: str) -> str:
    """The lie in words."""
    true = own_job(before, tenant)
    assert true is not None  # the callers have seen to that
    claims = claims_of(before, after, true)
    if len(claims) > 1 or claims[0].name != true.name:
        parts = [f"coming as {len(claims)} tenants"]
        lists = [f"({', '.join(c.machines)})" for c in claims if c.machines is not None]
        return " ".join(parts + ([f"on {listing(lists)}"] if lists else []))
    (claim,) = claims
    parts = []
    if claim.demand != true.demand:
        told, really = ({r: d for r, d in job.demand.items() if d} for job in (claim, true))
        parts.append(f"claiming that a task takes {_amounts(told)}, not {_amounts(really)}")
    names = [m.name for m in after.cluster.machines if may_use(claim, m)]
    if names != [m.name for m in before.cluster.machines if may_use(true, m)]:
        parts.append(f"claiming that it may use {listing(names, 4)}")
    if claim.tasks != true.tasks:
        parts.append(f"claiming {'no end of' if claim.tasks is None else claim.tasks} tasks")
    pools = [_pool(each, tenant) for each in (before, after)]
    if pools[0] != pools[1]:
        parts.append(f"claiming that it brought {listing(pools[1] or (), 4)}")
    return listing(parts) or "saying the same"


def _amounts(demand: dict[str, Fraction]) -> str:
    return ", ".join(f"{number(float(need))} {r}" for r, need in sorted(demand.items()))


def _pool(given: Input, tenant: str) -> tuple[str, ...] | None:
    found: Tenant | None = next((t for t in given.cluster.tenants if t.name == tenant), None)
    return None if found is None else found.pool


PROPERTY = Property(
    NAME, "nobody could run more of its true tasks by a lie (searched)", check, measure
)
