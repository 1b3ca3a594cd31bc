"""Changes tried one after the other: who is hurt by each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from fairlead.audit.change import apply
from fairlead.audit.finding import Change
from fairlead.audit.outcome import Outcome, Shown, solve
from fairlead.model.errors import InputError

Hurt = tuple[tuple[str, ...], Change | None, Shown]
Compare = Callable[[Outcome, Outcome, str], Shown | None]

T = TypeVar("T")


@dataclass(frozen=True)
class Tried:
    """The number of changes that could be made, and each violation. `all`: no change was left out,
    as somebody wanted no more."""

    trials: int
    found: tuple[Hurt, ...]
    all: bool


def try_changes(
    outcome: Outcome,
    changes: Sequence[Change],
    compare: Compare,
    go_on: Callable[[int, int], bool],
) -> Tried:
    """Makes each change, solves again, and compares what each tenant has. A change that cannot be
    made, or whose result the policy refuses, is no trial. `go_on`: as of the options."""
    trials = 0
    found: list[Hurt] = []
    tenants = list(dict.fromkeys(job.tenant for job in outcome.allocation.jobs))
    for number, change in enumerate(changes):
        if not go_on(number, len(changes)):
            return Tried(trials, tuple(found), all=False)
        try:
            after = solve(apply(change, outcome.input), outcome.rule)
        except InputError:
            continue
        trials += 1
        for tenant in tenants:
            shown = compare(outcome, after, tenant)
            if shown is not None and shown.slack > 0:
                found.append(((tenant,), change, shown))
    return Tried(trials, tuple(found), all=True)


def sample(items: Sequence[T], most: int, seed: int) -> list[T]:
    """The items, or so many of them drawn with the seed, in their order."""
    if len(items) <= most:
        return list(items)
    draw = np.random.Generator(np.random.PCG64(seed))
    return [items[int(i)] for i in np.sort(draw.choice(len(items), size=most, replace=False))]
