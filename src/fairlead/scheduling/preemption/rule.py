"""Guaranteed preemption: when somebody has been below its guarantee for long, make room for it.

This keeps the guarantees, who is below since when, and the pledges: machines whose room is being
freed for one job. The core asks after each round of launches, and does what it is told.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from fairlead.scheduling.preemption.picture import Held, Room
from fairlead.scheduling.preemption.plan import plan

Standing = Callable[[int], tuple[int, int] | None]
"""Of a job's seq: how many of its tasks run (not those told to stop) and how many wait; None where
there is no such job, or it can run nowhere."""

Look = Callable[[Mapping[int, int] | None], Held]
"""The amounts held on machines that are pledged, to the job beside each (None: on all machines), of
those of them that are up; with the jobs that have tasks there, and these (None: all that can run
and have tasks)."""


@dataclass(frozen=True, slots=True)
class Orders:
    """Orders to the core: end the pledges of these machines, stop these tasks (job, number),
    and pledge machines to jobs (machine, job)."""

    released: tuple[int, ...] = ()
    stops: tuple[tuple[int, int], ...] = ()
    pledges: tuple[tuple[int, int], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.released or self.stops or self.pledges)


@dataclass(frozen=True, slots=True)
class Memory:
    """All that preemption remembers, as pairs in their order."""

    guarantee: tuple[tuple[int, int], ...] = ()
    since: tuple[tuple[int, int], ...] = ()
    tried: tuple[tuple[int, int], ...] = ()
    pledged: tuple[tuple[int, int, int], ...] = ()  # machine, job, starts
    now: int = 0


class Preemption:
    """Stops tasks for jobs that were below their guarantees for `after` microseconds.

    One plan at a time: while a pledge stands there is no other. A job for which nothing was found
    is looked at again when it has waited as long once more.
    """

    def __init__(self, after: int) -> None:
        self.after = after
        self._guarantee: dict[int, int] = {}
        self._since: dict[int, int] = {}
        self._tried: dict[int, int] = {}
        self._pledged: dict[int, tuple[int, int]] = {}  # machine -> job, starts
        self._now = 0

    def set_guarantees(self, guarantees: Mapping[int, int]) -> None:
        """These are the guarantees from now on, by the jobs' seqs; 0 where missing."""
        self._guarantee = {job: guarantees[job] for job in sorted(guarantees) if guarantees[job]}

    def orders(
        self, now: int, standing: Standing, launches: Sequence[tuple[int, int]], look: Look
    ) -> Orders:
        """The orders after these launches (job, machine) of this moment. To be asked again after
        it was done and what could be launched then was launched, until there is nothing to do."""
        self._now = now
        released = self._end_pledges(launches)
        stands = {job: standing(job) for job in self._guarantee}
        self._clock(now, stands)
        if self._pledged:
            released += self._broken(look({m: job for m, (job, _) in self._pledged.items()}))
        if self._pledged:
            return Orders(released=tuple(released))
        ripe = [job for job in self._since if self._ripens(job) <= now]
        if ripe:
            ripe.sort(key=lambda job: (self._since[job], job))
            found = plan(look(None), self._guarantee, ripe)
            if found is not None:
                for job, machine in found.starts:
                    _, starts = self._pledged.get(machine, (job, 0))
                    self._pledged[machine] = (job, starts + 1)
                pledges = tuple((machine, job) for machine, (job, _) in self._pledged.items())
                again = tuple(m for m in released if m not in self._pledged)
                return Orders(again, found.stops, pledges)
            for job in ripe:
                self._tried[job] = now
        return Orders(released=tuple(released))

    def wake(self) -> int | None:
        """The earliest moment at which somebody will have waited long enough."""
        moments = (self._ripens(job) for job in self._since)
        return min((moment for moment in moments if moment > self._now), default=None)

    def state(self) -> tuple[int, ...]:
        """All that is remembered, in integers, in one order."""
        parts: list[int] = []
        for table in (self._guarantee, self._since, self._tried):
            parts += [len(table), *(n for job in sorted(table) for n in (job, table[job]))]
        parts.append(len(self._pledged))
        parts += [n for m in sorted(self._pledged) for n in (m, *self._pledged[m])]
        return tuple(parts)

    def memory(self) -> Memory:
        """All that is remembered, to be remembered by another one."""
        return Memory(
            tuple(self._guarantee.items()),
            tuple(self._since.items()),
            tuple(self._tried.items()),
            tuple((machine, job, starts) for machine, (job, starts) in self._pledged.items()),
            self._now,
        )

    def remember(self, memory: Memory) -> None:
        """From now on this remembers what that one did."""
        self._guarantee = dict(memory.guarantee)
        self._since = dict(memory.since)
        self._tried = dict(memory.tried)
        self._pledged = {machine: (job, starts) for machine, job, starts in memory.pledged}
        self._now = memory.now

    def _ripens(self, job: int) -> int:
        return max(self._since[job], self._tried.get(job, 0)) + self.after

    def _clock(self, now: int, stands: Mapping[int, tuple[int, int] | None]) -> None:
        """Since when each job is below its guarantee and has tasks that wait, without a gap."""
        below = {
            job: now
            for job, stand in stands.items()
            if stand is not None and stand[0] < self._guarantee[job] and stand[1] > 0
        }
        self._since = {job: self._since.get(job, since) for job, since in below.items()}
        self._tried = {job: when for job, when in self._tried.items() if job in self._since}

    def _end_pledges(self, launches: Sequence[tuple[int, int]]) -> list[int]:
        """The machines whose pledges these launches have kept."""
        done = []
        for job, machine in launches:
            holder, starts = self._pledged.get(machine, (None, 0))
            if holder != job:
                continue
            if starts > 1:
                self._pledged[machine] = (job, starts - 1)
            else:
                del self._pledged[machine]
                done.append(machine)
        return done

    def _broken(self, held: Held) -> list[int]:
        """The machines whose pledges cannot be kept any more: the machine is not up, nothing of
        the job waits or will wait again, or it does not fit even when all that was told to stop
        has."""
        jobs = {job.seq: job for job in held.jobs}
        machines = {machine.seq: machine for machine in held.machines}
        broken = []
        for seq, (holder, _) in self._pledged.items():
            job, machine = jobs.get(holder), machines.get(seq)
            if machine is not None and job is not None and job.waiting + job.stopping > 0:
                room = Room(held, machine)
                for task in held.tasks:
                    if task.machine == seq and task.stopping and task.job in jobs:
                        room.leave(jobs[task.job].demand, task.pieces)
                if room.fits(job.demand):
                    continue
            broken.append(seq)
        for seq in broken:
            del self._pledged[seq]
        return broken
