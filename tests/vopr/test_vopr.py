"""The whole service in simulation: nothing is lost, nothing doubled, and planted bugs are found."""

from __future__ import annotations

import pickle
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.once import once
from tests.vopr.__main__ import main
from tests.vopr.chosen import CAUGHT_BY, LIVES, MENDED
from tests.vopr.engine import SimEngine
from tests.vopr.faults import Trace
from tests.vopr.mutants import MUTANTS
from tests.vopr.plan import draw
from tests.vopr.running import Failure, run, run_many, shrink
from tests.vopr.tally import Tally, missing, table

CAUGHT_WITHIN = 400
"""Seeds within which every planted bug is found."""


PARTS = 4
"""Each a test of its own, so that several processes have some of the lives."""


def lived(part: int, cases: int, factory: pytest.TempPathFactory) -> tuple[list[Failure], Tally]:
    """The failures of a part of the lives, and what it met; whoever asks first runs them."""
    seeds = [*LIVES, *range(len(LIVES) * (cases - 1))][part::PARTS]

    def live(folder: Path) -> None:
        (folder / "lived").write_bytes(pickle.dumps(run_many(seeds)))

    folder = once(factory, f"lives-{part}", live)
    found: tuple[list[Failure], Tally] = pickle.loads((folder / "lived").read_bytes())
    return found


@pytest.mark.parametrize("part", range(PARTS))
def test_nothing_is_lost_and_nothing_doubled(
    part: int, cases: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    failures, _ = lived(part, cases, tmp_path_factory)
    assert not failures, "\n".join(str(failure) for failure in failures[:5])


def test_all_that_can_happen_is_met(cases: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    found: Tally = Counter()
    for part in range(PARTS):
        found.update(lived(part, cases, tmp_path_factory)[1])
    lacking = missing(found)
    assert not lacking, f"never met: {lacking}\n{table(found)}"


@pytest.mark.parametrize("seed", MENDED)
def test_what_was_found_once_is_mended(seed: int) -> None:
    failure, _ = run(draw(seed))
    assert failure is None, str(failure)


def test_every_planted_bug_has_a_seed_that_catches_it() -> None:
    assert sorted(CAUGHT_BY) == sorted(MUTANTS)


@pytest.mark.parametrize("name", sorted(MUTANTS))
def test_a_planted_bug_is_caught(name: str) -> None:
    for seed in (CAUGHT_BY[name], *range(CAUGHT_WITHIN)):
        failure, _ = run(draw(seed), name)
        if failure is not None:
            assert failure.rule in MUTANTS[name].rules, str(failure)
            # Seeds before it would be lived in vain in every gate.
            assert seed == CAUGHT_BY[name], f"{seed} catches it now: say so in tests/vopr/chosen.py"
            return
    pytest.fail(f"{name} was not caught in {CAUGHT_WITHIN} seeds")


def test_a_mistake_of_the_simulated_engine_itself_is_heard_of(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The service takes it for an engine that is away, and goes on."""

    def mistaken(_: object) -> None:
        raise KeyError

    monkeypatch.setattr(SimEngine, "poll", mistaken)
    failure, _ = run(draw(0))
    assert failure is not None
    assert failure.rule == "engine and service fail as foreseen"
    assert "the engine failed at `poll`, as nobody foresaw: KeyError" in failure.what


def test_the_command_that_a_failure_names_tells_a_life(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["tests.vopr", "--trace", "7"])
    assert main() == 0
    said = capsys.readouterr().out.splitlines()
    assert "life 1" in "\n".join(said)
    assert said[-1] == "no promise was broken"


def test_a_failing_run_is_shrunk() -> None:
    bug = "act-before-append"  # small after 20 runs, others after up to 300
    seed = CAUGHT_BY[bug]
    found = shrink(seed, bug)
    assert found is not None
    smaller, failure = found
    plan = draw(seed)
    assert len(smaller.asks) + len(smaller.incidents) < len(plan.asks) + len(plan.incidents)
    trace = Trace(wanted=True)
    again, _ = run(smaller, bug, trace)
    assert again == failure
    assert trace.lines
