"""Journals that are put back while whatever runs tasks is killed: numbers that are given again."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np
import pytest

from fairlead.engines.interface import Assignment, Attempt, Cause, Ended, EngineError, Lost, Stream
from fairlead.engines.local.processes import children, processes
from tests.engines.contract import reconciled, wait
from tests.engines.local.bed import assign, leftovers
from tests.engines.supervised.test_driver import RemoteBed, forked_drivers, remote_bed

__all__ = ["forked_drivers", "remote_bed"]


@dataclass
class Journal:
    """A service's journal, as far as engines matter. `killed`: attempts whose shims may have been
    killed, so that nobody knows how they ended."""

    under_way: dict[Attempt, Assignment] = field(default_factory=dict)
    words: dict[Attempt, str] = field(default_factory=dict)
    ended: dict[Attempt, Ended | Lost] = field(default_factory=dict)
    killed: set[Attempt] = field(default_factory=set)

    def copy(self) -> Journal:
        return Journal(self.under_way.copy(), self.words.copy(), self.ended.copy())


class Life:
    """What happens to one state folder, by the numbers that are drawn."""

    def __init__(self, bed: RemoteBed, seed: int) -> None:
        self.bed = bed
        self.draw = np.random.Generator(np.random.PCG64(seed))
        self.journal = Journal()
        self.backup = self.journal.copy()
        self.engine = bed.engine()
        self.said = 0
        self.begun: set[str] = set()
        self.forgotten: set[str] = set()  # a backup does not know of it
        reconciled(self.engine, [])

    def turn(self) -> None:
        """One thing that a service does, or that is done to it."""
        try:
            chance = self.draw.random()
            if chance < 0.3:
                self.launch()
            elif chance < 0.36:
                self.kill()
            elif chance < 0.40:
                self.restart()
            elif chance < 0.43:
                self.backup = self.journal.copy()
            elif chance < 0.46:
                self.restore()
            elif chance < 0.50:
                self.forget()
            else:
                self.hear()
        except EngineError:
            self.resume()
        time.sleep(float(self.draw.random()) * 0.02)

    def launch(self) -> None:
        """Durable first: an engine may not hear of it."""
        batch = []
        for _ in range(int(self.draw.integers(1, 5))):
            attempt = Attempt(1 + len(self.journal.words) // 5, len(self.journal.words) % 5, 1)
            self.said += 1
            word = f"word-{self.said}"
            lasts = float(self.draw.choice([0, 0.02, 0.3]))
            command = f"ls; echo {word} | tee {word}; sleep {lasts}; exit 3"
            self.journal.words[attempt] = word
            self.journal.under_way[attempt] = assign(attempt, command)
            batch.append(self.journal.under_way[attempt])
        if self.draw.random() < 0.8:
            self.engine.launch(batch)
        else:
            self.restart()

    def hear(self) -> None:
        """Each end is that of the task that has the number now, and there is one of it."""
        reports = self.engine.poll()
        for report in reports:
            assert report.attempt in self.journal.words, report
            self.begun.add(self.journal.words[report.attempt])
            if not isinstance(report, Ended | Lost):
                continue
            known = self.journal.ended.setdefault(report.attempt, report)
            assert known == report
            self.journal.under_way.pop(report.attempt, None)
        self.engine.acknowledge(reports)

    def listen(self) -> None:
        """Hears of what there is, whatever was killed."""
        try:
            self.hear()
        except EngineError:
            self.resume()

    def forget(self) -> None:
        over = list(self.journal.ended)
        self.check(over[:3])
        self.engine.forget(over[:3])
        for one in over[:3]:
            del self.journal.ended[one]
            self.forgotten.add(self.journal.words[one])

    def check(self, attempts: list[Attempt]) -> None:
        """What it wrote is its own word, and its folder was empty when it began."""
        for one in attempts:
            end, word = self.journal.ended[one], self.journal.words[one]
            text = self.engine.output(one, Stream.OUT, 0, 1000).data.decode()
            if isinstance(end, Ended) and one not in self.journal.killed:
                assert (end.cause, end.code) == (Cause.EXITED, 3), (one, end)
                assert text == f"{word}\n" or word in self.forgotten, (one, end)
            else:
                assert one in self.journal.killed, (one, end)
                assert text in ("", f"{word}\n"), (one, end)

    def kill(self) -> None:
        """The driver, what starts tasks, what removes folders, or what stands over a task."""
        driver = self.engine.pid
        if driver is None:
            return
        starts = children_of(driver)
        below = [each for one in starts for each in children(one)]
        whom = self.draw.choice([driver, *starts[:1], *below[:4]])
        if int(whom) in below:  # one of them may be the cleaner
            self.journal.killed |= self.journal.under_way.keys()
        with suppress(ProcessLookupError):
            os.kill(int(whom), signal.SIGKILL)

    def restart(self) -> None:
        """Closed in order, or not at all."""
        if self.draw.random() < 0.5 and self.engine.pid is not None:
            with suppress(ProcessLookupError):
                os.kill(self.engine.pid, signal.SIGKILL)
        self.engine = self.bed.engine()
        self.resume()

    def restore(self) -> None:
        """An older journal is put back once all that was launched has begun. Of its tasks, those
        that were killed since may have ended anyhow."""

        def begun() -> bool:
            self.listen()
            return self.begun >= {self.journal.words[one] for one in self.journal.under_way}

        wait(self.bed, begun)
        killed = self.journal.killed
        self.journal = self.backup.copy()
        self.journal.killed = killed & self.journal.words.keys()
        self.restart()

    def resume(self) -> None:
        while True:
            never = reconciled(self.engine, list(self.journal.under_way.values()))
            with suppress(EngineError):
                self.engine.launch([self.journal.under_way[one] for one in never])
                return


def children_of(pid: int) -> list[int]:
    """The children of a process that has several threads."""
    return [each.pid for each in processes() if each.parent == pid]


@pytest.mark.parametrize("seed", [1])
def test_each_task_has_its_own_end_whatever_had_its_number(
    remote_bed: RemoteBed, seed: int, cases: int
) -> None:
    life = Life(remote_bed, seed)
    for _ in range(80 * cases):
        life.turn()
    life.resume()

    def over() -> bool:
        life.listen()
        return not life.journal.under_way

    wait(remote_bed, over)
    life.check(list(life.journal.ended))
    life.engine.forget(list(life.journal.ended))
    life.engine.reconcile([])
    work = remote_bed.state / "local" / "work"
    work = work if work.exists() else remote_bed.state.with_name("state.work")

    def gone() -> bool:
        life.engine.poll()
        aside = [each for each in work.iterdir() if each.name.startswith(".")]
        return not leftovers(remote_bed.state) and not aside

    wait(remote_bed, gone)
