"""A real Slurm, observed: what runs there is what the service knows, whatever is done by hand."""

from __future__ import annotations

import json
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fairlead.engines.slurm.observer import Observer, cluster_name
from fairlead.engines.slurm.reading.commands import ask
from fairlead.engines.slurm.reading.parse import parse
from fairlead.model.names import expand_all
from fairlead.scheduling.reading.lookup import job_counts
from fairlead.scheduling.transitions import HELD
from fairlead.service.fairness.observer import Unobserved
from fairlead.service.journal.memory import MemoryStore, Place
from fairlead.service.loop.loop import Service
from fairlead.service.recovery.replay import replay
from fairlead.service.settings import Settings, where_others_place
from fairlead.service.why.answer import explain_taken, take
from fairlead.wire.kinds import JobState
from tests.engines.slurm.ground import Ground

pytestmark = pytest.mark.slow

PATIENCE = 240.0
"""Seconds until a test gives up: a machine that is busy with other things is no failure."""
OFTEN = 200_000
"""Microseconds between two readings, of which each starts three commands."""


class Watch:
    """A service that observes, driven by hand."""

    def __init__(
        self,
        ground: Ground,
        monkeypatch: pytest.MonkeyPatch,
        opened: Callable[[], Observer] = lambda: Observer(OFTEN, ask, cluster_name),
    ) -> None:
        for name, value in ground.environment.items():
            monkeypatch.setenv(name, value)
        self.ground, self.place, self.opened = ground, Place(), opened
        self.service = self._service()

    def _service(self) -> Service:
        engine = self.opened()
        settings = where_others_place(Settings(node_interval=OFTEN))
        return Service(MemoryStore(self.place), engine, settings, None, Unobserved())

    def restart(self) -> None:
        """The service ends as by a kill, and another one begins."""
        self.service.engine.close()
        self.place.writer = None
        self.service = self._service()

    def step(self) -> None:
        self.service.step(time.time_ns() // 1000)

    def until(self, seen: Callable[[], bool]) -> None:
        """Steps until that is so."""
        end = time.monotonic() + PATIENCE
        while True:
            self.step()
            if seen():
                return
            assert time.monotonic() < end, self.ground.run("squeue", "-a")
            time.sleep(0.05)

    def sbatch(self, *words: str, wrap: str = "sleep 1000") -> str:
        asked = ("sbatch", "--parsable", "-o", "/dev/null", *words, f"--wrap={wrap}")
        return self.ground.run(*asked).strip()

    def where(self, name: str) -> dict[str, list[str]]:
        """The machines of the parts of a job that run."""
        record = self.service.records.job(name)
        found: dict[str, list[str]] = {}
        if record is None:
            return found
        for task, part in (record.parts or {}).items():
            known = self.service.records.task(record, task)
            if known.state in HELD:
                found.setdefault(part, []).append(str(known.machine))
        return {part: sorted(machines) for part, machines in found.items()}

    def cpus(self, name: str) -> int | None:
        """The CPUs of a node that are not taken by what is not understood."""
        machine = self.service.records.machines[name].machine
        return None if machine is None else int(machine.capacity["cpu"])

    def waits(self, name: str) -> int:
        core = self.service.core
        return job_counts(core, name).waiting if core and name in core.ids.jobs else 0

    def state(self, name: str) -> JobState | None:
        record = self.service.records.job(name)
        return None if record is None else record.state

    def agrees(self) -> bool:
        """Whether all that Slurm runs now is what the records have running."""
        rows = json.loads(self.ground.run("squeue", "--json"))["jobs"]
        wanted: dict[str, dict[str, set[str]]] = {}
        for row in rows:
            if row["job_state"] == "RUNNING":
                name = str(row["array_job_id"] or row["job_id"])
                part = str(row["array_task_id"]) if row["array_job_id"] else ""
                wanted.setdefault(name, {})[part] = set(expand_all([row["nodes"]]))
        records = self.service.records
        found = {job.name: self.where(job.name) for job in records.jobs.values() if job.held}
        return wanted == {
            name: {part: set(machines) for part, machines in parts.items()}
            for name, parts in found.items()
        }


@pytest.fixture
def watch(slurm: Ground, monkeypatch: pytest.MonkeyPatch) -> Iterator[Watch]:
    made = Watch(slurm, monkeypatch)
    yield made
    made.service.close()
    slurm.run("scancel", "-u", "root")
    slurm.wait_until_idle()


def test_what_slurm_runs_is_what_is_known_and_a_kill_doubles_nothing(watch: Watch) -> None:
    one = watch.sbatch("-c", "2", "--mem=500M")
    gang = watch.sbatch("-N", "2", "-n", "4")  # mostly three tasks and one
    spread = watch.sbatch("-n", "20")
    devices = watch.sbatch("--gres=gpu:a100:3", "-C", "a100")
    array = watch.sbatch("--array=1-6%2")
    waits = watch.sbatch("--gres=gpu:a100:4", "-N", "2", "-C", "a100")
    watch.until(lambda: watch.agrees() and len(watch.where(array)) == 2)
    (cores,) = (dict(each.cores) for each in parse(ask()).jobs if str(each.number) == gang)
    tasks = Counter(watch.where(gang)[""])
    assert {node: 4 * count for node, count in tasks.items()} == {
        node: tasks.total() * count for node, count in cores.items()
    }
    assert len(watch.where(spread)[""]) == 20
    assert watch.where(devices)[""][0] in ("a1", "a2")
    assert len(watch.where(one)[""]) == 1
    watch.until(lambda: watch.waits(waits) == 2)
    assert watch.waits(array) == 0  # it waits for itself
    core, records = watch.service.core, watch.service.records
    assert core is not None
    watch.until(lambda: "Slurm says: Resources" in watch.service.scheduler_reason(waits))
    beside = watch.service.scheduler_reason(waits)
    said = explain_taken(
        take(records.time, records, watch.service.frozen, None, waits, beside=beside)
    ).sentences()
    assert beside in said
    assert any("too little gpu" in each for each in said), said
    before = {job.name: (job.id, watch.where(job.name)) for job in records.jobs.values()}
    watch.restart()
    watch.step()
    watch.until(watch.agrees)
    after = {
        job.name: (job.id, watch.where(job.name)) for job in watch.service.records.jobs.values()
    }
    assert after == before
    watch.ground.run("scancel", array + "_1", one)
    watch.until(lambda: watch.agrees() and "3" in watch.where(array))
    assert watch.state(one) is JobState.FAILED
    assert watch.state(array) is JobState.RUNNING
    store = watch.service.store
    assert watch.service.core is not None
    assert replay(store.read()).digest == watch.service.core.digest()


def test_what_is_done_by_hand_is_seen(watch: Watch, tmp_path: Path) -> None:
    big = ("-N", "2", "--exclusive")  # not understood, and in the way
    taken = watch.sbatch("-w", "a[1-2]", *big)
    ours = watch.sbatch("--gres=gpu:a100:1", "-C", "a100")
    watch.until(lambda: watch.waits(ours) == 1)
    watch.until(lambda: watch.cpus("a1") == 0)
    assert f"job {taken} is not understood" in watch.service.nodes["a1"].problem
    run = watch.ground.run
    run("scontrol", "hold", ours)
    watch.until(lambda: ours in watch.service.apart)
    assert "JobHeldAdmin" in watch.service.apart[ours].why
    assert watch.waits(ours) == 0
    run("scontrol", "release", ours)
    watch.until(lambda: watch.waits(ours) == 1)
    run("scontrol", "update", f"JobId={ours}", "NumCPUs=3")
    watch.until(lambda: watch.service.records.names[ours].job.demand["cpu"] == 3)
    run("scancel", taken)
    watch.until(lambda: bool(watch.where(ours)) and watch.cpus("a1") == 16)
    run("scontrol", "requeue", ours)
    watch.until(lambda: watch.waits(ours) == 1)  # Slurm lets it wait for a while
    after = watch.sbatch(f"--dependency=afterok:{ours}")
    watch.until(lambda: after in watch.service.apart)
    run("scontrol", "update", "NodeName=c1", "State=DRAIN", "Reason=fan")
    machines = watch.service.records.machines
    watch.until(lambda: "c1" not in machines or machines["c1"].draining)
    run("scontrol", "update", "NodeName=c1", "State=RESUME")
    watch.until(lambda: "c1" in machines and not machines["c1"].draining)
    seen = tmp_path / "seen"  # what comes and goes between two readings is not
    quick = watch.sbatch(wrap=f"until [ -e {seen} ]; do sleep 0.05; done; exit 3")
    watch.until(lambda: bool(watch.where(quick)))
    seen.touch()
    watch.until(lambda: watch.state(quick) is JobState.FAILED)
    assert watch.service.records.task(watch.service.records.names[quick], 0).code == 3


@pytest.mark.deep
def test_a_node_fails_and_slurmctld_is_away(watch: Watch) -> None:
    lost = watch.sbatch("-w", "d1", "-c", "8")
    kept = watch.sbatch("-w", "d2", "-c", "8")
    watch.until(lambda: bool(watch.where(lost)) and bool(watch.where(kept)))
    number = watch.service.records.names[lost].id
    # As slurmctld does where a slurmd is silent for long; that it is there brings the node back.
    watch.ground.run("scontrol", "update", "NodeName=d1", "State=DOWN", "Reason=tried")
    watch.until(lambda: watch.waits(lost) == 1)
    seqs = [watch.service.records.seq]

    def is_away() -> bool:
        seqs.append(watch.service.records.seq)
        return not watch.service.ready

    watch.ground.kill("slurmctld", signal.SIGTERM)  # by SIGKILL it loses what it did not write down
    try:
        watch.until(is_away)
        assert "what is shown is" in watch.service.trouble
        assert seqs[-1] == seqs[-2]
        assert watch.where(kept) == {"": ["d2"]}
    finally:
        watch.ground.start("slurmctld")
        watch.ground.wait_until_up()
    watch.until(lambda: watch.service.ready and "d1" in watch.service.records.machines)
    watch.until(lambda: watch.agrees() and watch.where(kept) == {"": ["d2"]})
    assert watch.service.records.names[lost].id == number
