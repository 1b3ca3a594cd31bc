"""The digest: the same events give the same bytes."""

from __future__ import annotations

from functools import cache

from tests.scheduling.agreement import core_refuses, make_core
from tests.scheduling.draw import Case, draw

SEEDS = range(4)


@cache
def digests_of(seed: int) -> list[str]:
    """The digests of what the seed draws."""
    return digests(draw(seed))


def digests(case: Case) -> list[str]:
    """The digest after each instant."""
    core = make_core(case)
    found = []
    for instant in case.instants:
        for event in instant:
            core_refuses(core, event)
        core.decide()
        found.append(core.digest())
    return found


def test_two_runs_have_the_same_digests() -> None:
    for seed in SEEDS:
        assert digests(draw(seed)) == digests_of(seed)


def test_every_instant_in_which_something_happened_has_another_digest() -> None:
    for seed in SEEDS:
        found = digests_of(seed)
        assert len(set(found)) > len(found) // 2
