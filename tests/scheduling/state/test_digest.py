"""The digest: the same events give the same bytes, in any process and under any hash seed."""

from __future__ import annotations

from tests.scheduling.agreement import core_refuses, make_core
from tests.scheduling.draw import Case, draw
from tests.surroundings import said_under_another_hash_seed

SEEDS = range(8)

PROGRAM = """
from tests.scheduling.draw import draw
from tests.scheduling.state.test_digest import SEEDS, digests
for seed in SEEDS:
    print(*digests(draw(seed)))
"""


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
        case = draw(seed)
        assert digests(case) == digests(case)


def test_every_instant_in_which_something_happened_has_another_digest() -> None:
    for seed in SEEDS:
        found = digests(draw(seed))
        assert len(set(found)) > len(found) // 2


def test_the_hash_seed_does_not_matter() -> None:
    said = said_under_another_hash_seed("-c", PROGRAM)
    assert said.splitlines() == [" ".join(digests(draw(seed))) for seed in SEEDS]
