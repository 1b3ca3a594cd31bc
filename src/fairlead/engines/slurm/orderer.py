"""The engine of a cluster of Slurm whose queue is put into order: it observes, and writes the site
factors of jobs that wait."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fairlead.engines.interface import EngineError
from fairlead.engines.slurm.observer import Ask, Observer
from fairlead.engines.slurm.ordering import AT_ONCE, Factors, factors_for, write_factors
from fairlead.engines.slurm.reading.commands import ask


class Orderer(Observer):
    """As its base, and writes by `write` in the same thread. What it wrote it remembers until it
    ends: another one begins by writing all of it again."""

    def __init__(
        self,
        every: int,
        asked: Ask = ask,
        cluster: Callable[[], str] = lambda: "",
        write: Callable[[Factors], None] = write_factors,
    ) -> None:
        self._write = write
        self._line: tuple[str, ...] = ()
        self._known: dict[str, int] = {}
        self._refusal = ""
        super().__init__(every, asked, cluster)

    def order(self, jobs: Sequence[str]) -> None:
        with self._lock:
            self._line = tuple(jobs)
        self._todo.set()

    def _act(self) -> None:
        with self._lock:
            line = self._line
        known = {name: factor for name in line if (factor := self._known.get(name)) is not None}
        wanted = factors_for(line, known)
        changed = [name for name in line if known.get(name) != wanted[name]][:AT_ONCE]
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
        self._refusal = ""
