"""The compiled core and the plain reference decide the same over random sequences of events."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import get_args

import pytest

from fairlead.model.errors import InputError
from fairlead.scheduling.decisions import Decision
from fairlead.scheduling.events import Event, GuaranteesChanged, JobSubmitted, TaskPlaced
from fairlead.sharing.rules.registry import POLICIES
from tests.reference.online_scales import FAIR, UNFAIR
from tests.scheduling.agreement import failure, make_core, out_of_order, reference_refuses, shrunk
from tests.scheduling.draw import PLACEMENTS, Case, draw
from tests.scheduling.written import written_case

SEEDS = (0, 3, 4, 7, 8, 9, 10, 11, 12, 13, 14, 18, 19, 21, 23, 27, 29, 31, 33, 39)
"""Of the first forty sequences those by which, with the lives of gangs (`LIVES` in `test_stints`),
each of the 221 mistakes is found, nearly all by three, that were planted in the reference one by
one and that all forty and twelve lives find. `./check search` draws new ones by the thousand."""
CHUNKS = 10

NOT_DRAWN = {
    "per-machine-drf": "it has no scale for all machines, and the core refuses it",
    "2df": "it is `kdf(k=2)`, which is drawn",
}
"""Policies that the reference of the core does not know, each with its reason."""


@cache
def drawn(seed: int) -> Case:
    """A sequence, for all who look at it."""
    return draw(seed)


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_the_core_decides_as_the_reference(chunk: int, cases: int) -> None:
    for seed in sorted({*SEEDS, *range(40 * (cases - 1))})[chunk::CHUNKS]:
        case = drawn(seed) if seed in SEEDS else draw(seed)
        if failure(case) is not None:
            small = shrunk(case)
            print(written_case(small))  # noqa: T201  pytest shows it where the test fails
            pytest.fail(f"seed {case.seed}: {failure(small)}")


def test_the_reference_knows_each_policy_by_which_the_core_can_share() -> None:
    known = {policy.partition("(")[0] for policy in FAIR}
    lacking = {*POLICIES} - known - {*NOT_DRAWN}
    assert not lacking, f"give its scale and its name in FAIR: {lacking}, online_scales.py"


def test_the_sequences_meet_whatever_can_be_drawn() -> None:
    """Fewer sequences would prove less: each policy, rule, event and wish is in one at least."""
    them = [drawn(seed) for seed in SEEDS]
    assert {case.policy for case in them} == {*FAIR, *UNFAIR}
    assert {case.placement for case in them} == {*PLACEMENTS}
    happened = [event for case in them for instant in case.instants for event in instant]
    # What guarantees do is tried in tests/scheduling/preemption; where others place, nothing is
    # decided (tests/scheduling/test_elsewhere.py).
    elsewhere = {GuaranteesChanged, TaskPlaced}
    assert {type(event) for event in happened} == {*get_args(Event)} - elsewhere
    jobs = [event.job for event in happened if isinstance(event, JobSubmitted)]
    for wish in ("where", "machines", "exclude", "spread", "prefer", "tenant", "duration"):
        assert any(getattr(job, wish) for job in jobs), wish
    assert any(job.gang > 1 for job in jobs)
    owners = [
        Counter(e.job.tenant for i in case.instants for e in i if isinstance(e, JobSubmitted))
        for case in them
    ]
    assert any(jobs > 8 for each in owners for tenant, jobs in each.items() if tenant)
    assert any(job.demand.get("gpu", 0) % 1 for job in jobs)


@pytest.mark.parametrize("chunk", range(4))
def test_floating_point_orders_levels_as_fractions_do(chunk: int, cases: int) -> None:
    for number in range(5 * cases):
        case = draw(100_000 + chunk + 4 * number)
        reference = case.reference()
        for instant in case.instants:
            for event in instant:
                reference_refuses(reference, event)
            reference.decide()
            assert out_of_order(reference, case.policy) is None


def decided(case: Case, between: bool = False) -> list[list[Decision]]:
    """The core's decisions at each instant. `between`: it is asked once more after each."""
    core = make_core(case)
    found = []
    for instant in case.instants:
        for event in instant:
            try:
                core.apply(event)
            except InputError:
                continue
        found.append(core.decide())
        if between:
            assert core.decide() == []
    return found


def test_asking_again_decides_nothing(cases: int) -> None:
    for seed in range(200_000, 200_000 + 3 * cases):
        case = draw(seed)
        assert decided(case, between=True) == decided(case)
