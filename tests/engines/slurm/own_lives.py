"""Lives of the service that places users' own jobs, over the model of Slurm, with faults: one for
each seed."""

from __future__ import annotations

import tempfile
from contextlib import suppress
from pathlib import Path

from fairlead.engines.interface import EngineError
from fairlead.engines.slurm.placing.placer import Placer
from fairlead.engines.slurm.placing.rounds import Allowance
from fairlead.scheduling.transitions import HELD
from fairlead.service.journal.memory import MemoryStore, Place
from fairlead.service.loop.loop import Service
from fairlead.service.settings import Settings, without_devices
from tests.engines.slurm.lives import Faulty, FoundError, KilledError
from tests.engines.slurm.model import CPUS

STEPS, QUIET = 100, 800
LIMIT = 1000
SECOND = 1_000_000

FAULTS = {
    "read": ("before",),
    "change": ("before", "after", "killed", "half", "half killed", "lost"),
    "cancel": ("before",),
}
"""Where a command may fail: before Slurm has it, after, in the middle, so that the service is
killed then, or so that slurmctld is."""


class OwnLife(Faulty):
    """Users submit and cancel, an administrator holds, releases and gives back. `problems`: where
    what holds for users' own jobs was not so."""

    def __init__(self, seed: int, folder: Path, whole: bool) -> None:
        super().__init__(seed, FAULTS, whole)
        self.folder, self.place = folder, Place()
        self.by_hand: set[int] = set()  # released by an administrator
        self.disasters = 0  # that the service had seen the end of when it last read
        self._open()
        self.faults = True

    def run(self) -> None:
        """All of it."""
        for _ in range(STEPS):
            self._happen()
            self._step()
        self._mend()
        for number, job in list(self.model.mind.jobs.items()):
            if job.reason == "JobHeldAdmin":
                self.model.change([f"uhold {number}"])
        for _ in range(QUIET):
            self._step()
            self.engine.go_round()
            self.service.step(int(self.model.now * SECOND))  # it has taken what was just read
            if not self.service.trouble:  # what failed last is made good first
                self._check_shares()
            if not self._unfinished():
                break
        self.problems += [f"job {number} never ended" for number in self._unfinished()]
        self.service.close()

    def _unfinished(self) -> list[int]:
        return [n for n, job in self.model.mind.jobs.items() if job.state in ("PENDING", "RUNNING")]

    def _open(self) -> None:
        while True:
            try:
                self.engine = Placer(
                    self.folder / "state", "fair", 1, self.model, lambda: Allowance(LIMIT),
                    threaded=False, clock=lambda: self.model.now,
                )  # fmt: skip
                break
            except EngineError:
                self.model.begin()
        self.place.writer = None
        settings = without_devices(Settings())
        self.service = Service(MemoryStore(self.place), self.engine, settings)

    def _happen(self) -> None:
        model, draw = self.model, self.random.random()
        if model.up and draw < 0.30:
            elements = self.random.choice([0, 0, 2, 4])
            user = self.random.choice(["man", "games"])
            cpus = self.random.choice([1, 1, 2, CPUS])
            model.user(self.random.choice([0, 5, 30, 60]), elements, user, cpus)
        elif draw < 0.45:
            model.save()
        elif draw < 0.50 and model.up:
            self._note("slurmctld is killed")
            model.kill()
        elif draw < 0.62 and not model.up:
            model.begin()
        elif draw < 0.65:
            self._note("a node fails")
            model.fail_node(self.random.choice(model.nodes))
        elif draw < 0.72:
            for name in list(model.down):
                model.mend_node(name)
        elif draw < 0.86 and model.up and model.mind.jobs:
            self._by_hand(self.random.choice(sorted(model.mind.jobs)))

    def _by_hand(self, number: int) -> None:
        model, job = self.model, self.model.mind.jobs[number]
        if job.which or job.state not in ("PENDING", "RUNNING"):
            return
        what = self.random.choice(["hold", "release", "cancel", "give back", "uhold"])
        self._note(f"somebody says {what}")
        self.faults = False
        if what == "cancel":
            model.by_hand(number)
        elif what == "give back":
            if job.state == "RUNNING":
                model.give_back(number)
        else:
            model.change([f"{what} {number}"])
            if what == "release":
                self.by_hand.add(number)
        self.faults = True

    def _step(self) -> None:
        """A step of the service, which may be killed in it."""
        disasters = self.model.disasters
        try:
            self.service.step(int(self.model.now * SECOND))
            self.engine.go_round()
            if self.model.up and not self.service.trouble:
                self.disasters = disasters
        except KilledError:
            self._note("the service is killed")
            self._open()
        if self.faults and self.random.random() < 0.03:
            self._note("the service begins anew")
            self._open()
        before = {n: job for n, job in self.model.mind.jobs.items() if job.state == "PENDING"}
        self.model.pass_time(self.random.choice([0.1, 1, 1, 5]))
        for number, job in self.model.mind.jobs.items():
            if number in before and job.state == "RUNNING":
                self._check_start(number)

    def _check_start(self, number: int) -> None:
        """What starts was released to its node, by the service or by hand; or slurmctld was killed
        and begins again with what was so before."""
        job = self.model.mind.jobs[number]
        which = str(job.array or job.number), job.element
        placed = job.required == job.node_list == self._held().get(which, ("", 0))[0]
        excused = number in self.by_hand or self.disasters != self.model.disasters
        self._check(placed or excused, f"job {number} started by itself: {job}")

    def _held(self) -> dict[tuple[str, str], tuple[str | None, int | None]]:
        """The machine of each part that the records hold, and when it started."""
        records, found = self.service.records, {}
        for record in records.jobs.values():
            for task, part in (record.parts or {}).items():
                known = records.task(record, task)
                if known.state in HELD:
                    found[record.name, part] = known.machine, known.started
        return found

    def _check_shares(self) -> None:
        """When all is quiet, the records hold what was released here and runs, where it runs."""
        on_its_way = {
            (str(job.array or job.number), job.element)
            for job in self.model.mind.jobs.values()
            if job.state == "PENDING" and job.priority
        }
        held = {
            which: machine
            for which, (machine, started) in self._held().items()
            if started and which not in on_its_way
        }
        model = self.model
        running = [job for job in model.mind.jobs.values() if job.state == "RUNNING"]
        found = {(str(job.array or job.number), job.element): job.node_list for job in running}
        for which, machine in held.items():
            self._check(found.get(which) == machine, f"{which} is held on {machine}: {found}")
        for job in running:
            which = str(job.array or job.number), job.element
            apart = self.service.apart.get(which[0])
            said = self.service.scheduler_reason(which[0]) if apart is None else apart.why
            told = "counts as taken" in said
            self._check(which in held or told, f"{which} is not held: {job}")
        taken = dict.fromkeys(model.nodes, 0)
        for job in running:
            taken[job.node_list] += job.cpus
        self._check(max(taken.values()) <= CPUS, f"too much runs: {taken}")


def live(seed: int, whole: bool = True) -> tuple[list[str], dict[str, int]]:
    """The problems of the life with this seed, or the first one, and what happened in it."""
    with tempfile.TemporaryDirectory(prefix="fairlead-own-lives-") as folder:
        life = OwnLife(seed, Path(folder), whole)
        with suppress(FoundError):
            life.run()
        return life.problems, life.tally
