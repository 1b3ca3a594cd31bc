"""The engine of a cluster of Slurm whose queue is put into order: it observes, and writes the site
factors of jobs that wait."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fairlead.engines.interface import EngineError
from fairlead.engines.observing import View
from fairlead.engines.slurm.budget import Budget
from fairlead.engines.slurm.observer import Observer
from fairlead.engines.slurm.ordering import SPACE, Factors, factors_for, write_factors
from fairlead.engines.slurm.placing.nodes import check_partition
from fairlead.engines.slurm.reading.commands import ask
from fairlead.engines.slurm.reading.reader import Ask
from fairlead.engines.slurm.reading.values import Picture
from fairlead.engines.slurm.viewing import Viewer

FOREMOST = 1000
"""Jobs that are put into order: Slurm looks at fewer of its queue (`bf_max_job_test` is 500), and
who has a factor is before all who have none."""


class Orderer(Observer):
    """As its base, and writes by `write` in the same thread, as many at once as the `budget` has,
    which is asked for before the first reading.
    What it wrote it remembers until it ends: another one begins by writing all of it again.
    `partition`: of jobs that may start in this one alone; None: of all."""

    def __init__(
        self,
        every: int,
        asked: Ask = ask,
        cluster: Callable[[], str] = lambda: "",
        write: Callable[[Factors], None] = write_factors,
        budget: Callable[[], Budget] = Budget,
        partition: str | None = None,
        identity: str | None = None,
    ) -> None:
        self._partition, self._granted = partition, budget
        self._write, self._budget = write, Budget(0)
        self._priorities: dict[str, int] = {}  # as they were read first after a factor was written
        self._line: tuple[str, ...] = ()
        self._known: dict[str, int] = {}
        self._refusal = ""
        # What is not understood has its turn, too: without a factor it would come after all others.
        super().__init__(every, asked, cluster, identity, Viewer(roughly=True))

    def order(self, jobs: Sequence[str]) -> None:
        with self._lock:
            self._line = tuple(jobs)
        self._todo.set()

    def _meet(self) -> str:
        self._budget = self._granted()
        self._every = max(self._every, self._budget.pause)
        return super()._meet()

    def _check(self, picture: Picture) -> None:
        if self._partition is not None:
            check_partition(picture, self._partition)

    def _read(self) -> View:
        view = super()._read()
        self._forget_lost()
        return view

    def _forget_lost(self) -> None:
        """Forgets factors that are not there any more: a slurmctld that is killed loses what it did
        not write down. A job's priority is the sum of its factor and of what differs by less."""
        seen = self._viewer.priorities
        for name in list(self._known):
            if (priority := seen.get(name)) is None:
                continue
            if abs(self._priorities.setdefault(name, priority) - priority) >= SPACE // 2:
                del self._known[name], self._priorities[name]

    def _act(self) -> None:
        with self._lock:
            line = self._line
        if self._partition is not None:
            within = self._viewer.partitions
            line = tuple(name for name in line if within.get(name) == (self._partition,))
        # Who had a factor before keeps its place among them.
        line = tuple(name for at, name in enumerate(line) if at < FOREMOST or name in self._known)
        known = {name: factor for name in line if (factor := self._known.get(name)) is not None}
        wanted = factors_for(line, known)
        changed = [name for name in line if known.get(name) != wanted[name]]
        changed = changed[: self._budget.take(len(changed))]
        # What is written of an array counts for elements that are a job of their own, too.
        again = {each for each in line for name in changed if each.startswith(f"{name}-")}
        names = [*changed, *sorted(again - set(changed))]
        self._known = known
        if not names:
            return
        try:
            self._write(self._viewer.rows({name: wanted[name] for name in names}))
        except EngineError as error:
            with self._lock:
                self._failure = error
                if str(error) != self._refusal:
                    self._faults.append(str(error))
                self._refusal = str(error)
            self._wake()
            return
        self._known |= {name: wanted[name] for name in names}
        self._priorities = {
            name: priority
            for name, priority in self._priorities.items()
            if name in self._known and name not in names
        }
        self._refusal = ""
