"""The same events give the same digests, the same dump and the same life of the service in any
process, under any hash seed: one other process says all of it, since most of it is its start."""

from __future__ import annotations

from fairlead.scheduling.dump import dump
from tests.scheduling.state.test_digest import SEEDS, digests_of
from tests.scheduling.test_dump import busy_with
from tests.surroundings import said_under_another_hash_seed
from tests.vopr.faults import Trace
from tests.vopr.plan import draw
from tests.vopr.running import run

PROGRAM = "from tests.vopr.test_hash_seed import lines; print(*lines(), sep='\\n')"


def lines() -> list[str]:
    """The digests of each seed, a dump, and the trace of a life."""
    trace = Trace(wanted=True)
    run(draw(7), trace=trace)
    digests = [" ".join(digests_of(seed)) for seed in SEEDS]
    return "\n".join([*digests, dump(busy_with(7)).hex(), *trace.lines]).splitlines()


def test_another_process_has_another_hash_seed() -> None:
    told = said_under_another_hash_seed("-c", "print(*map(hash, ('one', 'other')))")
    assert told.split() != [str(hash("one")), str(hash("other"))]


def test_the_hash_seed_does_not_matter() -> None:
    found = lines()
    assert "life 1" in "\n".join(found)
    assert said_under_another_hash_seed("-c", PROGRAM).splitlines() == found
