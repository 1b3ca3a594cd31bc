"""The placing engine over a model of Slurm, with faults, and what they catch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fairlead.engines.interface import Attempt, Cause, Ended, EngineError, Lost
from fairlead.engines.slurm.placing import ends, rounds
from fairlead.engines.slurm.placing.batch import claim
from fairlead.engines.slurm.placing.folder import Folder
from fairlead.engines.slurm.placing.placer import Placer
from fairlead.engines.slurm.placing.rounds import Allowance, Rounds
from tests.engines.slurm.bed import assign
from tests.engines.slurm.lives import live, lived
from tests.engines.slurm.model import SlurmModel

pytestmark = pytest.mark.slow

LIVES = 6
"""So many are lived through at `--cases 1`."""


def test_nothing_is_lost_or_runs_twice_whatever_fails(cases: int) -> None:
    assert lived(live, range(LIVES * cases)).keys() >= {
        *("slurmctld is killed", "a node fails", "somebody cancels", "the service is killed"),
        *("the service begins anew", "submit fails after", "submit fails killed"),
    }


def _keep_permits(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Folder, "revoke", lambda self, attempt: self.started(attempt) is None)


def _do_not_wait_for_nodes(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Rounds, "_is_settled", lambda *_: True)


def _believe_numbers(patch: pytest.MonkeyPatch) -> None:
    def job(self: Any, task: Any) -> Any:
        return next((each for each in self.picture.jobs if each.number == task.number), None)

    patch.setattr(Rounds, "_job", job)


def _believe_codes(patch: pytest.MonkeyPatch) -> None:
    def end_of(attempt: Any, job: Any, *rest: Any) -> Any:
        end = ends.end_of(attempt, job, *rest)
        if isinstance(end, Lost) and end.why == ends.UNWRITTEN:
            return Ended(attempt, Cause.EXITED, job.exit >> 8, 0)
        return end

    patch.setattr(rounds, "end_of", end_of)


def _look_for_no_claims(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Rounds, "_by_attempt", lambda _: {})


BUGS: tuple[tuple[Callable[[pytest.MonkeyPatch], None], int], ...] = (
    (_keep_permits, 5),
    (_do_not_wait_for_nodes, 46),
    (_believe_numbers, 10),
    (_believe_codes, 1),
    (_look_for_no_claims, 14),
)
"""Each with a life in which it shows."""


@pytest.mark.parametrize(("plant", "seed"), BUGS)
def test_a_planted_bug_is_caught(
    plant: Callable[[pytest.MonkeyPatch], None], seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    assert live(seed, whole=False)[0]


def test_slurmctld_loses_that_a_job_was_cancelled_and_is_told_again(tmp_path: Path) -> None:
    model, one = SlurmModel(), Attempt(1, 0, 1)
    engine = Placer(
        tmp_path / "state", "fair", 1, model, lambda: Allowance(100),
        threaded=False, clock=lambda: model.now,
    )  # fmt: skip
    engine.reconcile([])

    def go_on(rounds_: int) -> None:
        for _ in range(rounds_):
            engine.go_round()
            model.pass_time(5)

    engine.launch([assign(one, ("last", "1000000", "0"), "n1")])
    go_on(2)
    model.save()
    engine.cancel([one])
    engine.go_round()
    model.kill()
    model.begin()
    go_on(3)
    assert model.processes
    go_on(10)
    (end,) = engine.poll()
    assert isinstance(end, Ended)
    assert end.cause is Cause.STOPPED
    assert not model.processes
    engine.close()


def test_a_claim_in_the_comment_of_another_user_gives_nobody_a_turn(tmp_path: Path) -> None:
    """The service is killed before it submits; meanwhile somebody writes that he is the attempt."""
    model, one = SlurmModel(), Attempt(1, 0, 1)
    task = assign(one, ("last", "1000000", "0"), "n1")

    def opened() -> Placer:
        return Placer(
            tmp_path / "state", "fair", 1, model, lambda: Allowance(100),
            threaded=False, clock=lambda: model.now,
        )  # fmt: skip

    first = opened()
    first.reconcile([])
    first.launch([task])
    first.close()
    number = model.user(1000)
    jobs = model.mind.jobs
    claimed = claim(first.identity.removeprefix("slurm:"), one)
    jobs[number] = replace(jobs[number], comment=claimed)
    second = opened()
    assert second.reconcile([task]) == [one]  # it never started, so it is launched again
    second.launch([task])
    for _ in range(3):
        second.go_round()
        model.pass_time(5)
    (process,) = model.processes.values()
    assert process.attempt == str(one)
    assert jobs[number].state != "RUNNING"


def test_nobody_waits_for_a_slurm_that_is_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command hangs for 50 seconds where munge is away: whoever asks the engine hears at once."""
    model = SlurmModel()
    engine = Placer(
        tmp_path / "state", "fair", 1, model, lambda: Allowance(100),
        threaded=False, clock=lambda: model.now,
    )  # fmt: skip
    engine.reconcile([])
    with monkeypatch.context() as hanging:
        model.kill()
        engine.go_round()
        with pytest.raises(EngineError):
            engine.poll()
        hanging.delattr(SlurmModel, "read")
        with pytest.raises(EngineError):
            engine.reconcile([])
    model.begin()
    engine.go_round()
    engine.reconcile([])
    assert list(engine.poll()) == []
