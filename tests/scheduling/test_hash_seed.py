"""The same events give the same digests and the same dump in any process, under any hash seed."""

from __future__ import annotations

from fairlead.scheduling.dump import dump
from tests.scheduling.state.test_digest import SEEDS, digests_of
from tests.scheduling.test_dump import busy_with
from tests.surroundings import said_under_another_hash_seed

PROGRAM = "from tests.scheduling.test_hash_seed import lines; print(*lines(), sep='\\n')"


def lines() -> list[str]:
    """The digests of each seed, and a dump."""
    return [*(" ".join(digests_of(seed)) for seed in SEEDS), dump(busy_with(7)).hex()]


def test_the_hash_seed_does_not_matter() -> None:
    assert said_under_another_hash_seed("-c", PROGRAM).splitlines() == lines()
