"""The moment of a run at which most wait, as a file for exact shares."""

from __future__ import annotations

from pathlib import Path

from fairlead.files import load
from fairlead.simulation.engine.run import simulate
from fairlead.simulation.measure.crowded import FILE, Crowded
from fairlead.simulation.measure.moment import Moment
from fairlead.simulation.measure.sinks import RunInfo
from fairlead.simulation.workloads.registry import generate


class Looked(Crowded):
    """Remembers what it was told."""

    moments: tuple[Moment, ...] = ()

    def sample(self, moment: Moment) -> None:
        super().sample(moment)
        self.moments = (*self.moments, moment)


def test_the_moment_at_which_most_wait_is_kept_as_it_was(tmp_path: Path) -> None:
    sink = Looked(tmp_path / FILE, 5_000_000)
    work = generate("table-ii", 0)
    simulate(work, policy="tsf", sinks=[sink])
    waits = [(int((m.waiting > 0).sum()), int(m.waiting.sum())) for m in sink.moments]
    worst = sink.moments[waits.index(max(waits))]
    cluster, jobs = load(str(tmp_path / FILE))
    assert len(cluster.machines) == len(worst.machine)
    present = worst.waiting + worst.held
    assert sorted(job.tasks or 0 for job in jobs) == sorted(present[present > 0].tolist())
    numbers = worst.job[present > 0].tolist()  # these have no tenants, so each is its own
    assert {job.name for job in jobs} == {f"job-{number}" for number in numbers}
    # Its first line says when and how many wait.
    tenants, tasks = max(waits)
    first = (tmp_path / FILE).read_text(encoding="utf-8").splitlines()[0]
    assert first.endswith(f"tasks of {tenants} tenants wait, {tasks} tasks in all.")


def test_where_nobody_waits_no_moment_is_kept(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("of an earlier run", encoding="utf-8")
    sink = Crowded(tmp_path / FILE)
    sink.start(RunInfo(generate("table-ii", 0), "tsf", "best-fit", 0, str))
    sink.finish()
    assert not (tmp_path / FILE).exists()


def test_jobs_list_no_machines_that_are_gone(tmp_path: Path) -> None:
    work = generate("random", 11)
    simulate(work, policy="tsf", sinks=[Crowded(tmp_path / FILE, 1_000_000)])
    cluster, jobs = load(str(tmp_path / FILE))  # which refuses names that no machine has
    names = {machine.name for machine in cluster.machines}
    assert names < set(work.machines.names)
    assert any(job.machines or job.exclude for job in jobs)
