"""The compiled core beside the plain reference: the first thing in which they differ, if any."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

from fairlead.model.errors import InputError
from fairlead.scheduling.core import Core
from fairlead.scheduling.events import Event
from fairlead.scheduling.options import Options
from fairlead.scheduling.state.ids import Unit
from tests.reference.online import Decider
from tests.reference.online_apply import RefusedError, apply
from tests.reference.online_order import exact_levels
from tests.reference.online_scales import exact_scale
from tests.scheduling.draw import MEASURES, Case

CHECKED = 4
"""After so many instants the core's state is checked: a check takes longer than the decisions, and
what contradicts itself mostly goes on so."""

NEAR = Fraction(1, 10**9)
"""Levels that are nearer to each other may be ordered either way by floating point."""


def disagreement(case: Case) -> str | None:
    """The first instant at which the core does otherwise than the reference, and how. One way is
    known, and stated (`test_turns`): levels of a tenant's jobs that tie where shares do not."""
    core, reference = make_core(case), case.reference()
    for place, instant in enumerate(case.instants):
        at = f"instant {place}"
        for event in instant:
            said, refused = core_refuses(core, event), reference_refuses(reference, event)
            if bool(said) != bool(refused):
                return f"{at}, {event}: core {said or 'takes it'}, reference {refused or 'too'}"
        decisions, expected = core.decide(), reference.decide()
        if decisions != expected:
            return f"{at}: core {decisions}, reference {expected}"
        if (place + case.seed) % CHECKED == 0 or place + 1 == len(case.instants):
            core.check()
        if core.wake() != reference.wake():
            return f"{at}: core wakes {core.wake()}, reference {reference.wake()}"
        wrong = out_of_order(reference, case.policy)
        if wrong:
            return f"{at}: {wrong}"
    return None


def make_core(case: Case) -> Core:
    """A new core with the case's options, of which the state is not checked by itself."""
    return Core(
        [Unit(m.name, m.unit, m.piece) for m in MEASURES],
        policy=case.policy,
        placement=case.placement,
        options=Options(
            reserve_after=case.reserve_after, reserve_for=case.reserve_for, filling=case.filling
        ),
    )


def out_of_order(reference: Decider, policy: str) -> str | None:
    """Two jobs that floating point orders otherwise than fractions do, though they are not near
    each other."""
    if policy == "fifo":
        return None
    scales = {job.seq: exact_scale(reference.world, job, policy) for job in reference.world.jobs}
    exact, found = exact_levels(reference.world, scales), reference.levels()
    for a, b in combinations(exact, 2):
        if (exact[a] - exact[b]) * (1 if found[a] < found[b] else -1) > NEAR:
            return f"levels {found[a]} and {found[b]} are {exact[a]} and {exact[b]}"
    return None


def failure(case: Case) -> str | None:
    """As `disagreement`, and whatever else goes wrong."""
    try:
        return disagreement(case)
    except Exception as error:  # noqa: BLE001  all that goes wrong in a case is shown
        return f"{type(error).__name__}: {error}"


def shrunk(case: Case) -> Case:
    """A part of a case in which something alike goes wrong, such that no event can be left out."""
    kind = _kind(failure(case))
    while True:
        part = next((part for part in _parts(case) if _kind(failure(part)) == kind), None)
        if part is None:
            return case
        case = part


def _parts(case: Case) -> Iterator[Case]:
    """The case without half of its instants, a quarter, … one; then without one event."""
    instants = case.instants
    width = len(instants) // 2
    while width:
        for start in range(0, len(instants), width):
            yield replace(case, instants=instants[:start] + instants[start + width :])
        width //= 2
    for place, instant in enumerate(instants):
        for gone in range(len(instant)) if len(instant) > 1 else ():
            rest = instant[:gone] + instant[gone + 1 :]
            yield replace(case, instants=(*instants[:place], rest, *instants[place + 1 :]))


def _kind(what: str | None) -> str:
    """A complaint without its times, names and numbers."""
    if what is None:
        return ""
    for kind in ("core wakes", "BUT CHANGED", "reference too", "core takes it", ": core ["):
        if kind in what:
            return kind
    return re.sub(r"[0-9.]+", "", what)[:60]


def core_refuses(core: Core, event: Event) -> str:
    """The sentence with which the core refuses the event; empty where it takes it."""
    before = core.digest()
    try:
        core.apply(event)
    except InputError as error:
        if core.digest() != before:
            return f"{error}, BUT CHANGED ITS STATE"
        return str(error)
    return ""


def reference_refuses(reference: Decider, event: Event) -> str:
    """Why the reference refuses the event; empty where it takes it."""
    try:
        apply(reference, event)
    except RefusedError as error:
        return str(error)
    return ""
