"""A plan of stops and starts that brings jobs nearer to their guarantees and harms nobody's.

A plan leaves nobody below its guarantee who was not, deepens nobody's shortfall, and lowers the sum
over jobs of max(0, guarantee - running). Starts alone never raise that sum, so between two events
from outside there are at most as many plans as it is large: they cannot go in a circle.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from fairlead.scheduling.preemption.picture import (
    BOUNDLESS,
    Held,
    HeldJob,
    HeldMachine,
    HeldTask,
    Room,
)

MOST_MOVED = 4
"""So many tasks at most are moved to make room for one. A longer chain was never needed in what we
drew, and the search grows with each."""

MOST_LOOKS = 50_000
"""So often a plan looks at a machine before it is content with what it has found."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Tasks to stop, as (job, number), and starts, as (job, machine), that need their room. At
    most one job starts on a machine."""

    stops: tuple[tuple[int, int], ...]
    starts: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class _Way:
    """A machine that a task may start on once these tasks have gone; the last `moved` of them
    belong to jobs that can spare none, so that they must start elsewhere."""

    machine: int
    stops: tuple[HeldTask, ...]
    moved: tuple[HeldTask, ...]

    def cost(self) -> tuple[int, int, int, int]:
        """The loss: first by how many tasks, then by how long they have run."""
        gone = self.stops + self.moved
        oldest = min((task.launched for task in gone), default=0)
        return len(self.moved), len(gone), -oldest, self.machine


class _Draft:
    """The changes of a plan so far. A copy changes by itself."""

    def __init__(self) -> None:
        self.rooms: dict[int, Room] = {}
        self.running: dict[int, int] = {}
        self.gone: dict[tuple[int, int], None] = {}
        self.starts: list[tuple[int, int]] = []
        self.taken: dict[int, int] = {}  # machine -> the only job that may start there

    def copy(self) -> _Draft:
        twin = _Draft()
        twin.rooms = dict(self.rooms)
        twin.running = dict(self.running)
        twin.gone = dict(self.gone)
        twin.starts = list(self.starts)
        twin.taken = dict(self.taken)
        return twin


def plan(held: Held, guarantee: Mapping[int, int], helped: Sequence[int]) -> Plan | None:
    """Stops and starts for as many tasks of the helped jobs, in their order, as a bounded search
    finds; None if it finds none. Gangs are neither helped nor stopped: they are whole or nothing.
    Nor is a task stopped that must not start again.

    The tasks stopped are those of jobs above their guarantees, the furthest above first, of each
    the newest; where that is not enough a task of another job is moved. A job that has room
    without a stop is waiting for something else, so nobody is stopped for it.
    """
    search = _Search(held, guarantee)
    draft = _Draft()
    under_limits = False
    for seq in helped:
        job = search.jobs.get(seq)
        if job is None or job.gang > 1:
            continue
        bounded = job.room < BOUNDLESS
        if bounded and under_limits:
            continue  # what is left of limits that both may share is not known any more
        before = len(draft.starts)
        wanted = min(guarantee.get(seq, 0) - job.running, job.waiting, job.room)
        draft = search.help(draft, job, wanted)
        under_limits |= bounded and len(draft.starts) > before
    return Plan(tuple(draft.gone), tuple(draft.starts)) if draft.starts else None


class _Search:
    """The bounded search. Its answers depend on nothing but the values that it was given."""

    def __init__(self, held: Held, guarantee: Mapping[int, int]) -> None:
        self.held, self.guarantee = held, guarantee
        self.jobs = {job.seq: job for job in held.jobs}
        self.machines = {m.seq: m for m in sorted(held.machines, key=lambda m: m.seq) if m.open}
        self.tasks: dict[int, list[HeldTask]] = {}
        for task in sorted(held.tasks, key=lambda t: (-t.launched, -t.job, -t.number)):
            self.tasks.setdefault(task.machine, []).append(task)
        self.looks = MOST_LOOKS

    def help(self, draft: _Draft, job: HeldJob, wanted: int) -> _Draft:
        """The draft with up to so many more tasks of a job that is below its guarantee."""
        ways = sorted(self._ways(draft, job, 0), key=_Way.cost)
        if ways and not ways[0].stops:
            return draft
        for way in ways:
            machine = self.machines[way.machine]
            while wanted > 0 and (now := self._way(draft, job, machine, 0)) is not None:
                draft = self._taking(draft, job, now)
                wanted -= 1
        moves = 1
        while wanted > 0 and moves <= MOST_MOVED:
            placed = self._place(draft, job, moves)
            if placed is None:
                moves += 1
            else:
                draft = placed[0]
                wanted -= 1
        return draft

    def _place(self, draft: _Draft, job: HeldJob, moves: int) -> tuple[_Draft, int] | None:
        """The draft with a task of the job placed, by at most so many moves; how many are left."""
        for way in sorted(self._ways(draft, job, moves), key=_Way.cost):
            left = moves - len(way.moved)
            trial: _Draft | None = self._taking(draft, job, way)
            for task in way.moved:
                assert trial is not None
                placed = self._place(trial, self.jobs[task.job], left)
                if placed is None:
                    trial = None
                    break
                trial, left = placed
            if trial is not None:
                return trial, left
        return None

    def _taking(self, draft: _Draft, job: HeldJob, way: _Way) -> _Draft:
        """The draft after the stops of a way and the start on its machine."""
        trial = draft.copy()
        room = self._room(trial, way.machine).copy()
        for task in way.stops + way.moved:
            room.leave(self.jobs[task.job].demand, task.pieces)
            trial.gone[task.job, task.number] = None
        for task in way.stops:
            trial.running[task.job] = self._running(trial, self.jobs[task.job]) - 1
        room.enter(job.demand)
        trial.rooms[way.machine] = room
        trial.starts.append((job.seq, way.machine))
        trial.taken[way.machine] = job.seq
        return trial

    def _ways(self, draft: _Draft, job: HeldJob, moves: int) -> Iterator[_Way]:
        """The machines where a task of the job could start, each with what must go for it."""
        for seq, machine in self.machines.items():
            if self.looks <= 0:
                return
            if job.needs & ~machine.terms or draft.taken.get(seq, job.seq) != job.seq:
                continue
            self.looks -= 1
            way = self._way(draft, job, machine, moves)
            if way is not None:
                yield way

    def _way(self, draft: _Draft, job: HeldJob, machine: HeldMachine, moves: int) -> _Way | None:
        """The tasks that must go from this machine for one of the job; None if that is too much."""
        if job.spread and self._is_on(draft, job, machine.seq):
            return None
        room = self._room(draft, machine.seq)
        if room.fits(job.demand):
            return _Way(machine.seq, (), ())
        spare, held_fast = self._who_may_go(draft, job, machine.seq)
        if not spare and not (moves and held_fast):
            return None
        room = room.copy()
        going: list[HeldTask] = []
        for task in spare + held_fast[:moves]:
            going.append(task)
            room.leave(self.jobs[task.job].demand, task.pieces)
            if room.fits(job.demand):
                break
        else:
            return None
        # Who was taken first may not be needed after all: moves are spared first, then the old.
        for task in sorted(going, key=lambda t: (t in spare, t.launched, t.job, t.number)):
            without = self._room(draft, machine.seq).copy()
            for other in going:
                if other is not task:
                    without.leave(self.jobs[other.job].demand, other.pieces)
            if without.fits(job.demand):
                going.remove(task)
        return _Way(
            machine.seq,
            tuple(task for task in going if task in spare),
            tuple(task for task in going if task not in spare),
        )

    def _who_may_go(
        self, draft: _Draft, job: HeldJob, machine: int
    ) -> tuple[list[HeldTask], list[HeldTask]]:
        """Tasks on the machine that can be spared, the furthest above their guarantee first, then
        the newest; and those of jobs that can spare none, the newest first."""
        spare: list[tuple[float, int, HeldTask]] = []
        fast: list[HeldTask] = []
        taken: dict[int, int] = {}
        for place, task in enumerate(self.tasks.get(machine, ())):
            other = self.jobs.get(task.job)
            if other is None or other is job or other.gang > 1 or other.once or task.stopping:
                continue
            if (task.job, task.number) in draft.gone:
                continue
            above = self._running(draft, other) - self.guarantee.get(other.seq, 0)
            above -= taken.get(other.seq, 0)
            if above > 0:
                taken[other.seq] = taken.get(other.seq, 0) + 1
                spare.append((-above * other.each, place, task))
            else:
                fast.append(task)
        return [task for _, _, task in sorted(spare, key=lambda item: item[:2])], fast

    def _running(self, draft: _Draft, job: HeldJob) -> int:
        return draft.running.get(job.seq, job.running)

    def _is_on(self, draft: _Draft, job: HeldJob, machine: int) -> bool:
        """Does the machine have a task of the job, or will it?"""
        on = any(task.job == job.seq for task in self.tasks.get(machine, ()))
        return on or (job.seq, machine) in draft.starts

    def _room(self, draft: _Draft, machine: int) -> Room:
        """The free resources there after the changes of the draft, and once all that was told to
        stop before has stopped."""
        if machine not in draft.rooms:
            room = Room(self.held, self.machines[machine])
            for task in self.tasks.get(machine, ()):
                if task.stopping and task.job in self.jobs:
                    room.leave(self.jobs[task.job].demand, task.pieces)
            draft.rooms[machine] = room
        return draft.rooms[machine]
