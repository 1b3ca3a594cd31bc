"""Another service on the same partition, and jobs that come there without a hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairlead.engines.interface import Attempt, EngineError
from fairlead.engines.slurm.opening import look_at_slurm, open_slurm
from fairlead.engines.slurm.placing.placer import Placer
from fairlead.engines.slurm.placing.rounds import Allowance
from fairlead.model.errors import InputError
from tests.engines.slurm.bed import assign
from tests.engines.slurm.ground import Ground
from tests.engines.slurm.model import SlurmModel


@pytest.fixture(name="model")
def fixture_model() -> SlurmModel:
    return SlurmModel()


def engine(model: SlurmModel, state: Path, made: str = "") -> Placer:
    """The engine of a state folder, which was made before another one where its name is less."""
    if made:
        (state / "slurm").mkdir(parents=True)
        (state / "slurm" / "engine").write_text(f"{made} 1\n")
    opened = Placer(
        state, "fair", 1, model, lambda: Allowance(1000),
        threaded=False, clock=lambda: model.now,
    )  # fmt: skip
    opened.reconcile([], 1)
    opened.go_round()
    return opened


def launch(engine: Placer, number: int, node: str) -> None:
    engine.launch([assign(Attempt(number, 0, 1), "true", node, name=str(number), part="")])
    engine.go_round()


def why(engine: Placer, number: int) -> str:
    seen = engine.adopted()
    assert seen is not None
    found = seen.apart.get(str(number))
    return seen.jobs[str(number)].said if found is None else found.why


ELDER, YOUNGER = "00000000000a", "00000000000b"


def test_of_two_services_in_one_partition_only_that_places_which_was_there_first(
    model: SlurmModel, tmp_path: Path
) -> None:
    first, second = (engine(model, tmp_path / name, name) for name in (ELDER, YOUNGER))
    jobs = [model.user(1000, cpus=4) for _ in range(3)]
    first.go_round()
    second.go_round()
    # Nothing of the first one was seen so far: what the second one releases is left alone.
    launch(second, jobs[0], "n1")
    model.pass_time(1)
    first.go_round()
    assert "counts as taken" in why(first, jobs[0])
    assert any(f"the engine {YOUNGER}, places jobs" in each for each in first.take_faults())
    launch(first, jobs[1], "n2")
    for _ in range(3):
        model.pass_time(1)
        first.go_round()
        second.go_round()
    assert [model.mind.jobs[each].node_list for each in jobs] == ["n1", "n2", ""]
    said = (
        f"another service places jobs in partition fair: its engine {ELDER} released job {jobs[1]}"
    )
    with pytest.raises(EngineError, match=said):
        second.poll()
    with pytest.raises(EngineError, match=said):
        second.reconcile([], 1)
    first.poll()
    with pytest.raises(InputError, match=r"another service places .*; stop one of"):
        engine(model, tmp_path / "third")
    # What it had released waits for a turn of the first one once it is given back.
    model.give_back(jobs[0])
    model.change([f"uhold {jobs[0]}"])
    first.go_round()
    first.go_round()
    assert model.mind.jobs[jobs[0]].remark == ""
    for each in (first, second):
        each.close()


def test_marks_of_a_version_that_named_no_engine_are_ones_own(
    model: SlurmModel, tmp_path: Path
) -> None:
    number = model.user(1000)
    model.change([f"update JobId={number} ReqNodeList=n1 AdminComment=fairlead:0:asked=n2;x"])
    opened = engine(model, tmp_path / "state")
    opened.go_round()
    job = model.mind.jobs[number]
    assert (job.required, job.remark) == ("n2", "x")
    opened.close()


def test_a_job_that_nobody_held_says_so(model: SlurmModel, tmp_path: Path) -> None:
    before, held = model.user(1000, cpus=4), model.user(1000, cpus=4)
    model.change([f"release {before}"])
    opened = engine(model, tmp_path / "state")
    assert "it was released by hand" in why(opened, before)
    came = model.user(1000)
    model.change([f"release {came}"])
    opened.go_round()
    assert "it was not held when it came, and Slurm starts it" in why(opened, came)
    (fault,) = opened.take_faults()
    assert fault.startswith("jobs come into partition fair that nobody holds: users' jobs are to")
    model.change([f"release {held}"])
    model.pass_time(1)
    opened.go_round()
    seen = opened.adopted()
    assert seen is not None
    assert "it was not held when it came: what it" in seen.apart[str(came)].why
    assert "it was not released here: what it holds counts" in seen.apart[str(held)].why
    assert list(opened.take_faults()) == []
    opened.close()


@pytest.mark.slow
def test_that_nothing_holds_jobs_is_said_before_there_are_any(
    slurm: Ground, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name, value in slurm.environment.items():
        monkeypatch.setenv(name, value)
    assert look_at_slurm("place", "fair") == ("slurm 22.05.8: cluster tests, 12 nodes", [])
    with pytest.raises(InputError, match='no partition "none" with nodes'):
        look_at_slurm("place", "none")
    monkeypatch.setattr("fairlead.engines.slurm.opening.setting", lambda _: "(null)")
    _, (warning,) = look_at_slurm("place", "fair")
    assert warning.startswith("nothing holds jobs that come into partition fair: users' jobs")
    monkeypatch.setattr("fairlead.engines.slurm.opening.allowance", lambda: Allowance(1000))
    opened, warnings = open_slurm("place", 10**6, tmp_path / "state", "fair")
    opened.close()
    assert warnings == [warning]
    settings = {"PriorityType": "priority/multifactor", "SchedulerParameters": "x,enable_user_top"}
    monkeypatch.setattr(
        "fairlead.engines.slurm.opening.setting", lambda name: settings.get(name, "")
    )
    _, (warning,) = look_at_slurm("order", None)
    assert warning.startswith("slurm.conf has enable_user_top")
