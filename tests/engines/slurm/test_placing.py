"""Tasks as jobs of a real Slurm: what is done by hand, and what dies."""

from __future__ import annotations

import os
import signal
import time
from fractions import Fraction
from pathlib import Path

import pytest

from fairlead.engines.interface import Attempt, Cause, Ended, EngineError, Health, Lost, Stream
from fairlead.engines.slurm.placing.controller import Commands
from fairlead.engines.slurm.placing.placer import Placer
from fairlead.engines.slurm.placing.rounds import Allowance
from fairlead.model.errors import InputError
from fairlead.model.values import FrozenMap
from tests.cli.live.place import until
from tests.engines.contract import Doing, begun, collect, end_of, reconciled, wait
from tests.engines.slurm.bed import OFTEN, SlurmBed, assign, fixture_bed

__all__ = ["fixture_bed"]

pytestmark = pytest.mark.slow

A, B, C = Attempt(1, 0, 1), Attempt(1, 1, 1), Attempt(2, 0, 1)


def numbers(bed: SlurmBed) -> dict[str, str]:
    """The number in Slurm of each attempt that is queued or runs there."""
    rows = bed.ground.run("squeue", "-h", "-p", "fair", "-o", "%k %i").splitlines()
    return {row.split()[0].rpartition(":")[2]: row.split()[1] for row in rows}


def cpus(engine: Placer, name: str) -> int:
    (node,) = [each for each in engine.nodes() if each.machine.name == name]
    return int(node.machine.capacity["cpu"])


def test_a_task_runs_on_its_node_as_its_user(bed: SlurmBed) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can submit as another user")
    bed.starting.chmod(0o777)
    engine = bed.engine()
    engine.reconcile([])
    demand = FrozenMap({"cpu": Fraction(2), "memory": Fraction(2**28), "gpu": Fraction(1)})
    said = 'echo "$(id -un) $SLURMD_NODENAME $FAIRLEAD_TASK $HOME $SLURM_CPUS_PER_TASK"'
    engine.launch([assign(A, said, "a2", user="nobody", demand=demand)])
    end = end_of(bed, engine, A)
    assert isinstance(end, Ended)
    assert end.code == 0, (end, engine.output(A, Stream.ERR, 0, 1000))
    assert engine.output(A, Stream.OUT, 0, 1000).data == b"nobody a2 0 /nonexistent 2\n"
    row = bed.ground.run("squeue", "-h", "-t", "all", "-p", "fair", "-o", "%k %u %b %m")
    assert f"{A} nobody gres:gpu:1 256M" in row
    # What he could read by a link there, he could not read himself.
    written = bed.folder / "state.slurm" / str(A) / "stdout"
    written.unlink()
    written.symlink_to("/etc/shadow")
    assert engine.output(A, Stream.OUT, 0, 1000).data == b""


def test_what_slurm_cannot_give_is_refused_with_a_reason(bed: SlurmBed) -> None:
    engine = bed.engine()
    engine.reconcile([])
    half = FrozenMap({"cpu": Fraction(1, 2)})
    engine.launch(
        [
            assign(A, "true", demand=half),
            assign(B, "true", user="no-such-user"),
            assign(C, "true", demand=FrozenMap({"cpu": Fraction(99)})),
        ]
    )
    for attempt, why in ((A, "whole parts of cpu"), (B, "no user"), (C, "PartitionConfig")):
        end = end_of(bed, engine, attempt)
        assert isinstance(end, Ended)
        assert end.cause is Cause.NOT_STARTED
        assert why in end.message
    with pytest.raises(InputError, match='no partition "none" with nodes; it has fair, gpu, main'):
        Placer(bed.state, "none", OFTEN, Commands(), lambda: Allowance(10_000))


def test_jobs_of_others_count_as_taken_and_a_full_node_gives_the_task_back(
    bed: SlurmBed, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = bed.engine()
    engine.reconcile([])
    assert cpus(engine, "d3") == 8
    words = ("sbatch", "--parsable", "-o", "/dev/null", "-p", "main", "-w", "d3", "-c", "6")
    other = bed.ground.run(*words, "--wrap=sleep 1000").strip()
    wait(bed, lambda: cpus(engine, "d3") == 2)
    demand = FrozenMap({"cpu": Fraction(4), "memory": Fraction(2**20)})
    engine.launch([assign(A, "true", "d3", demand=demand), assign(B, "true", "d3")])
    over = end_of(bed, engine, B)
    assert isinstance(over, Ended)
    assert over.code == 0
    # As it was read: what Slurm says by now may be newer.
    wait(bed, lambda: engine._tasks.known[A].reason == "Resources")  # noqa: SLF001
    monkeypatch.setattr("fairlead.engines.slurm.placing.rounds.BOUNCE", 0.0)
    lost = end_of(bed, engine, A)
    assert isinstance(lost, Lost)
    assert not lost.started
    assert any(
        "does not start on its node (Slurm says Resources)" in each for each in engine.take_faults()
    )
    bed.ground.run("scancel", other)
    wait(bed, lambda: cpus(engine, "d3") == 8)


@pytest.mark.deep
def test_hands_are_respected(bed: SlurmBed) -> None:
    engine, run = bed.engine(), bed.ground.run
    engine.reconcile([])
    engine.launch([bed.assignment(A, Doing.LASTING), bed.assignment(B, Doing.LASTING)])
    begun(bed, engine, A, B)
    run("scancel", numbers(bed)[str(A)])
    end = end_of(bed, engine, A)
    assert isinstance(end, Ended)
    assert (end.cause, end.message) == (Cause.SIGNALLED, "it was cancelled in Slurm")
    run("scontrol", "update", "NodeName=c2", "State=DRAIN", "Reason=fan")
    try:
        wait(bed, lambda: any(node.health is Health.DRAINING for node in engine.nodes()))
        (problem,) = [node.problem for node in engine.nodes() if node.problem]
        assert problem == "it is drain (fan)"
        engine.launch([assign(C, "true", "c2")])
        wait(bed, lambda: str(C) in numbers(bed))
        run("scontrol", "hold", numbers(bed)[str(C)])
        wait(
            bed,
            lambda: any("held in Slurm (JobHeldAdmin)" in each for each in engine.take_faults()),
        )
    finally:
        run("scontrol", "update", "NodeName=c2", "State=RESUME")
    collect(bed, engine, lambda _: all(node.health is Health.READY for node in engine.nodes()))
    assert bed.starts(C) == 0
    run("scontrol", "release", numbers(bed)[str(C)])
    end = end_of(bed, engine, C)
    assert isinstance(end, Ended)
    assert end.code == 0
    assert bed.runs(B)


def test_a_node_fails_and_nothing_runs_twice(bed: SlurmBed) -> None:
    engine, run = bed.engine(), bed.ground.run
    engine.reconcile([])
    like = bed.assignment(A, Doing.LASTING)
    assert like.command is not None
    engine.launch([assign(A, like.command, "c4")])
    begun(bed, engine, A)
    # As slurmctld does where a slurmd is silent for long; that it is there brings the node back.
    run("scontrol", "update", "NodeName=c4", "State=DOWN", "Reason=tried")
    end = end_of(bed, engine, A)
    assert isinstance(end, Lost)
    assert end.started
    assert end.machine_at_fault
    assert str(A) not in numbers(bed)
    wait(bed, lambda: not bed.runs(A))
    assert bed.starts(A) == 1
    bed.ground.wait_until_idle("c4")


@pytest.mark.deep
def test_slurmctld_is_killed_and_nothing_is_lost_or_doubled(bed: SlurmBed) -> None:
    """It loses what it did not write down: jobs that run are gone, or wait once more."""
    engine = bed.engine()
    engine.reconcile([])
    ran, new = bed.assignment(A, Doing.LASTING), bed.assignment(B, Doing.LASTING)
    # Held, and so written down: at the next start slurmctld has it waiting.
    bed.ground.run("scontrol", "update", "PartitionName=fair", "State=DOWN")
    engine.launch([ran])
    wait(bed, lambda: str(A) in numbers(bed))
    # It writes all down, nodes last, and seconds later: that other tests gave a node back, too.
    before, saved = time.time(), bed.ground.folder / "state"
    bed.ground.run("scontrol", "reconfigure")
    nodes = saved / "node_state"  # of a cluster that has just begun not there yet
    wait(bed, lambda: nodes.exists() and nodes.stat().st_mtime > before)
    assert str(A).encode() in (saved / "job_state").read_bytes()
    bed.ground.run("scontrol", "update", "PartitionName=fair", "State=UP")
    engine.launch([new])
    until(lambda: bed.starts(A) == bed.starts(B) == 1)
    last = max(map(int, numbers(bed).values()))
    bed.ground.kill("slurmctld", signal.SIGKILL)
    try:
        with pytest.raises(EngineError):
            wait(bed, lambda: bool(engine.poll()) and False)
    finally:
        bed.ground.start("slurmctld")
        bed.ground.wait_until_up()
    assert reconciled(engine, [ran, new]) == []  # both have started, whatever slurmctld knows

    def over(attempt: Attempt) -> Ended | Lost | None:
        try:
            ends = [each for each in engine.poll() if isinstance(each, Ended | Lost)]
        except EngineError:  # slurmctld is busy with itself
            reconciled(engine, [ran, new])
            return None
        return next((each for each in ends if each.attempt == attempt), None)

    def goes_on(attempt: Attempt) -> bool:
        """slurmctld had just written down that it runs: nothing of it is lost."""
        running = bed.ground.run("squeue", "-h", "-t", "R", "-o", "%k").split()
        return any(comment.endswith(f":{attempt}") for comment in running)

    def known() -> bool:
        if "drain" in bed.ground.run("sinfo", "-h", "-n", "a1", "-O", "StateLong"):
            # It started a job again that the node still runs, and put the node aside for it.
            bed.ground.run("scontrol", "update", "NodeName=a1", "State=RESUME")
        return all(over(each) is not None or goes_on(each) for each in (A, B))

    until(known)
    for attempt in (A, B):
        end = over(attempt)
        if end is None:
            assert bed.runs(attempt)
        else:
            assert isinstance(end, Lost) or end.cause is Cause.SIGNALLED
            until(lambda attempt=attempt: not bed.runs(attempt))  # type: ignore[misc]
        assert bed.starts(attempt) == 1
    # It gives numbers again that it had given and lost; where a node knows the job that had one, it
    # puts that node aside. So jobs that reach no node take them.
    held = ("sbatch", "--parsable", "--hold", "-p", "main", "-o", "/dev/null", "--wrap", "true")
    until(lambda: int(bed.ground.run(*held)) > last)
    bed.ground.run("scancel", "-u", "root")
    if "drain" in bed.ground.run("sinfo", "-h", "-n", "a1", "-O", "StateLong"):
        bed.ground.run("scontrol", "update", "NodeName=a1", "State=RESUME")
    bed.ground.wait_until_idle()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_submission_in_flight_is_found_by_its_claim(
    bed: SlurmBed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The service is killed after Slurm took the job, and before it wrote the number down."""
    first = bed.engine()
    first.reconcile([], 1)
    one = bed.assignment(A, Doing.LASTING)
    submit = Commands.submit

    def killed(self: Commands, job: object) -> int:
        submit(self, job)  # type: ignore[arg-type]
        raise ZeroDivisionError  # the thread ends: nothing more is written

    with monkeypatch.context() as patch:
        patch.setattr(Commands, "submit", killed)
        first.launch([one])
        wait(bed, lambda: bed.starts(A) == 1)
    second = bed.engine()
    assert second.reconcile([one], 2) == []
    begun(bed, second, A)
    second.launch([one])
    bed.settle()
    assert bed.starts(A) == 1
    # What nobody found is none of ours: another one with the same claim ends before it begins.
    row = bed.ground.run("scontrol", "write", "batch_script", numbers(bed)[str(A)], "-")
    comment = next(
        line for line in bed.ground.run("squeue", "-h", "-p", "fair", "-o", "%k").splitlines()
    )
    script = Path(bed.folder / "again")
    script.write_text(row[row.index("#!") :])
    again = ("sbatch", "--parsable", "-o", "/dev/null", "-p", "fair", f"--comment={comment}")
    stray = bed.ground.run(*again, str(script)).strip()
    wait(bed, lambda: stray not in numbers(bed).values())
    assert bed.starts(A) == 1
    second.cancel([A])
    end_of(bed, second, A)
