"""A workload under an ideal scheduler: the same events, the same sinks, the same measures."""

from __future__ import annotations

import hashlib
import heapq
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from fairlead.model.errors import InputError, Mistake
from fairlead.scheduling.scales import FIFO
from fairlead.sharing.whole import scaled
from fairlead.simulation.distances import Distances
from fairlead.simulation.ideal.follow import Follow
from fairlead.simulation.ideal.given import Given, given
from fairlead.simulation.ideal.kinds import Kind
from fairlead.simulation.ideal.slots import Placed, Slots
from fairlead.simulation.moment import Moment
from fairlead.simulation.result import Result
from fairlead.simulation.sinks import NEVER, JobRecords, RunInfo, Sink, TaskRecords
from fairlead.simulation.workload import Bools, Ints, Workload


class Room(Protocol):
    """Who decides: told what happens at a moment, it says who gets how many more tasks."""

    stays: bool

    def join(self, job: int, usable: Bools, tasks: int, unit: float) -> None: ...
    def leave(self, job: int) -> None: ...
    def weigh(self, job: int, unit: float) -> None: ...
    def end(self, job: int, machine: int) -> None: ...
    def decide(self) -> list[Placed]: ...
    def on_classes(self) -> dict[int, Ints]: ...


@dataclass
class _Job:
    """A job that is there."""

    waiting: int
    next: int = 0  # the first task that was never launched
    paused: deque[tuple[int, int, int, int]] = field(default_factory=deque)
    running: list[int] = field(default_factory=list)  # launches, the latest last
    first_start: int = NEVER
    finished: int = 0
    launches: int = 0
    waited: int = 0
    work: int = 0
    longest: int = 0


@dataclass
class _Launch:
    """A task that runs: `left` is what it still needed when it was started or resumed."""

    job: int
    task: int
    machine: int
    start: int  # for the first time
    resumed: int
    left: int
    done: bool = False


def run_ideal(
    workload: Workload,
    kind: Kind,
    policy: str = "tsf",
    *,
    seed: int = 0,
    sinks: Sequence[Sink] = (),
    ties: int | None = None,
) -> Result:
    """The workload under an ideal scheduler that is as fair as it may be by the policy's shares.

    Tasks that are moved lose nothing; tasks that are paused go on from where they were, the one
    started last being paused first. The result's placement is `ideal-KIND`. Where all tasks take
    one slot and several free machines are as good for the moment, a task gets the first of them;
    with `ties`, the first in an order that is drawn with this seed. Raises InputError for what the
    ideal schedulers do not know (`given`, `Follow`).
    """
    began = time.perf_counter()
    if policy == FIFO:
        raise InputError(
            Mistake("`fifo` knows no shares", "an ideal scheduler needs a policy such as tsf")
        )
    rule = scaled(policy)
    run = _Run(given(workload, rule), kind, sinks, ties)
    info = RunInfo(workload, rule.spec, f"ideal-{kind.value}", seed, run.given.names.__getitem__)
    try:
        for sink in sinks:
            sink.start(info)
        end = run.all()
        for sink in sinks:
            sink.finish()
    except BaseException:
        for sink in sinks:
            sink.abandon()
        raise
    rmse, shortfall = next(
        (sink.figures() for sink in sinks if isinstance(sink, Distances)), (None, None)
    )
    return Result(
        policy=rule.spec,
        placement=info.placement,
        seed=seed,
        tasks=int(run.given.tasks.sum()),
        placed=run.placed,
        seconds=time.perf_counter() - began,
        rmse_percent=rmse,
        largest_shortfall=shortfall,
        digest=run.trail.hexdigest(),
        jobs=len(run.given.tasks),
        finished=run.finished,
        launches=run.launches,
        lost=0,
        end=end,
    )


class _Run:
    """The events of one run and who is where."""

    def __init__(self, to_do: Given, kind: Kind, sinks: Sequence[Sink], ties: int | None) -> None:
        self.given = to_do
        self.sinks = sinks
        self.room = _room(to_do, kind, ties)
        if not self.room.stays and any(sink.wants_tasks for sink in sinks):
            raise InputError(
                Mistake(
                    f"under {kind.value} tasks move, so there is no machine to tell of each",
                    "leave the records of tasks out",
                )
            )
        self.there: dict[int, _Job] = {}
        self.ends: list[tuple[int, int]] = []  # (time, launch)
        self.runs: dict[int, _Launch] = {}
        self.trail = hashlib.blake2b(digest_size=16)
        self.now = 0
        self.placed = self.finished = self.launches = 0
        self._weight = np.array([float(t.weight or 1) for t in to_do.workload.tenants])
        self._of_tenant: dict[int, list[int]] = {}
        self._over: list[tuple[int, int]] = []  # (job, when)
        self._closed: dict[int, _Job] = {}

    def all(self) -> int:
        """Everything that happens; the time of the last event."""
        submit = self.given.submit
        coming = 0
        every = [sink.every for sink in self.sinks if sink.every]
        while coming < len(submit) or self.ends:
            at = min(
                int(submit[coming]) if coming < len(submit) else 1 << 62,
                self.ends[0][0] if self.ends else 1 << 62,
            )
            if every:
                self._samples(self.now, at)
            self.now = at
            while self.ends and self.ends[0][0] == at:
                self._end(heapq.heappop(self.ends)[1])
            while coming < len(submit) and submit[coming] == at:
                self._submit(coming)
                coming += 1
            for change in self.room.decide():
                self._change(change)
        self._tell_jobs()
        return self.now

    def _submit(self, job: int) -> None:
        tasks = int(self.given.tasks[job])
        self.there[job] = _Job(tasks)
        if self.given.scale[job] > 0:
            self.room.join(job, self.given.holds[job] > 0, tasks, 0.0)
            self._weigh(job, joins=True)

    def _weigh(self, job: int, *, joins: bool) -> None:
        """The tenant's jobs that are there share its weight."""
        tenant = int(self.given.tenant[job])
        if tenant < 0:
            if joins:
                self.room.weigh(job, 1.0 / float(self.given.scale[job]))
            return
        jobs = self._of_tenant.setdefault(tenant, [])
        jobs.append(job) if joins else jobs.remove(job)
        for other in jobs:
            share = self._weight[tenant] / len(jobs)
            self.room.weigh(other, 1.0 / (float(self.given.scale[other]) * share))

    def _end(self, number: int) -> None:
        launch = self.runs.get(number)
        if launch is None or launch.resumed + launch.left != self.now:
            return  # it was paused since
        del self.runs[number]
        job = self.there[launch.job]
        job.running.remove(number)
        duration = self.given.duration(launch.job, launch.task)
        job.finished += 1
        job.work += duration
        job.longest = max(job.longest, duration)
        self.finished += 1
        self.room.end(launch.job, launch.machine)
        self._tell_task(launch)
        if not job.running and not job.waiting:
            self.room.leave(launch.job)
            self._weigh(launch.job, joins=False)
            self._over.append((launch.job, self.now))
            self._closed[launch.job] = self.there.pop(launch.job)

    def _change(self, change: Placed) -> None:
        self.trail.update(
            np.array([self.now, change.job, change.tasks, change.machine], np.int64).tobytes()
        )
        job = self.there[change.job]
        for _ in range(change.tasks):
            self._start(change.job, job, change.machine)
        for _ in range(-change.tasks):
            number = job.running.pop()
            launch = self.runs.pop(number)
            left = launch.resumed + launch.left - self.now
            job.paused.appendleft((number, launch.task, launch.start, left))
            job.waiting += 1

    def _start(self, number: int, job: _Job, machine: int) -> None:
        job.waiting -= 1
        if job.paused:
            again, task, start, left = job.paused.popleft()
        else:
            again, task, start = self.launches, job.next, self.now
            left = self.given.duration(number, task)
            job.next += 1
            job.launches += 1
            job.waited += self.now - int(self.given.submit[number])
            job.first_start = self.now if job.first_start == NEVER else job.first_start
            self.launches += 1
            self.placed += 1
        self.runs[again] = _Launch(number, task, machine, start, self.now, left)
        job.running.append(again)
        heapq.heappush(self.ends, (self.now + left, again))

    # --- sinks ------------------------------------------------------------------------------

    def _samples(self, since: int, until: int) -> None:
        """The samples that are due after `since` and before `until`: nothing changes between."""
        due = sorted(
            {
                at
                for every in {sink.every for sink in self.sinks if sink.every}
                for at in range(-(-since // every) * every, until, every)
                if at >= since and self.there
            }
        )
        for at in due:
            moment = self.moment(at)
            for sink in self.sinks:
                if sink.every and at % sink.every == 0:
                    sink.sample(moment)

    def moment(self, at: int) -> Moment:
        """The state as sinks see it. Where tasks move, those on a class are anywhere in it."""
        g = self.given
        jobs = np.array(sorted(self.there), np.int64)
        place = {int(job): index for index, job in enumerate(jobs)}
        pairs = self._pairs(place)
        free = g.capacity.copy()
        np.subtract.at(free, pairs[:, 1], g.demand[jobs[pairs[:, 0]]] * pairs[:, 2:])
        held = np.array([len(self.there[j].running) for j in jobs.tolist()], np.int64)
        placed = np.bincount(pairs[:, 0], pairs[:, 2], len(jobs)).astype(np.int64)
        _take_anywhere(free, (held - placed) @ g.demand[jobs])
        return Moment(
            time=at,
            machine=g.machine.copy(),
            capacity=g.capacity.copy(),
            free=free,
            satisfied=g.satisfied.copy(),
            open=np.ones(len(g.machine), np.bool_),
            job=jobs,
            tenant=g.tenant[jobs],
            submitted=g.submit[jobs],
            demand=g.demand[jobs],
            needs=g.needs[jobs],
            spread=g.spread[jobs],
            gang=g.gang[jobs],
            waiting=np.array([self.there[j].waiting for j in jobs.tolist()], np.int64),
            held=held,
            scale=g.scale[jobs],
            pair_job=pairs[:, 0].copy(),
            pair_machine=pairs[:, 1].copy(),
            pair_tasks=pairs[:, 2].copy(),
            tenant_weight=self._weight.copy(),
            terms=g.terms,
        )

    def _pairs(self, place: dict[int, int]) -> Ints:
        """(P, 3) job, machine and tasks."""
        counts: dict[tuple[int, int], int] = {}
        if self.room.stays:
            for launch in self.runs.values():
                key = (place[launch.job], launch.machine)
                counts[key] = counts.get(key, 0) + 1
        else:
            counts = self._spread_out(place)
        rows = [(job, machine, tasks) for (job, machine), tasks in sorted(counts.items())]
        return np.array(rows, np.int64).reshape(-1, 3)

    def _spread_out(self, place: dict[int, int]) -> dict[tuple[int, int], int]:
        """Tasks on a class, machine after machine in order, as many as each holds."""
        counts: dict[tuple[int, int], int] = {}
        g = self.given
        members = [
            np.flatnonzero(g.classes.of_machine == c).tolist() for c in range(len(g.classes.count))
        ]
        room = [0] * len(g.machine)
        for job, on in sorted(self.room.on_classes().items()):
            for c in np.flatnonzero(on).tolist():
                most = max(1, int(g.holds[job, c]))
                left = int(on[c])
                for machine in members[c]:
                    some = min(left, most - room[machine])
                    if some > 0:
                        room[machine] += some
                        left -= some
                        counts[place[job], machine] = some
        return counts

    def _tell_task(self, launch: _Launch) -> None:
        if not self.room.stays:
            return
        one = TaskRecords(
            job=np.array([launch.job]),
            task=np.array([launch.task]),
            attempt=np.ones(1, np.int64),
            machine=self.given.machine[[launch.machine]],
            waiting_since=self.given.submit[[launch.job]],
            start=np.array([launch.start]),
            end=np.array([self.now]),
            lost=np.zeros(1, np.bool_),
        )
        for sink in self.sinks:
            if sink.wants_tasks:
                sink.tasks(one)

    def _tell_jobs(self) -> None:
        """All jobs: those that are over, in the order in which they ended, then the others."""
        rows = [(job, when, self._closed[job]) for job, when in self._over]
        rows += [(job, NEVER, state) for job, state in sorted(self.there.items())]
        numbers = np.array([job for job, _, _ in rows], np.int64)
        states = [state for _, _, state in rows]
        records = JobRecords(
            number=numbers,
            tenant=self.given.tenant[numbers],
            submitted=self.given.submit[numbers],
            first_start=np.array([state.first_start for state in states], np.int64),
            completed=np.array([when for _, when, _ in rows], np.int64),
            tasks=self.given.tasks[numbers],
            finished=np.array([state.finished for state in states], np.int64),
            launches=np.array([state.launches for state in states], np.int64),
            waited=np.array([state.waited for state in states], np.int64),
            work=np.array([state.work for state in states], np.int64),
            longest=np.array([state.longest for state in states], np.int64),
        )
        for sink in self.sinks:
            if sink.wants_jobs:
                sink.jobs(records)


def _take_anywhere(free: Ints, amounts: Ints) -> None:
    """Takes the amounts of tasks that are on no one machine, from the first machines on."""
    for r, amount in enumerate(amounts.tolist()):
        before = np.concatenate([[0], np.cumsum(free[:, r])[:-1]])
        free[:, r] -= np.clip(amount - before, 0, free[:, r])


def _room(to_do: Given, kind: Kind, ties: int | None) -> Room:
    """Slots where all tasks take the same of one resource, else who follows the exact shares."""
    slots = slots_of(to_do)
    if slots is None:
        return Follow(to_do, kind)
    order = (
        None if ties is None else np.random.Generator(np.random.PCG64(ties)).permutation(len(slots))
    )
    return Slots(kind, to_do.classes.of_machine, slots, len(to_do.classes.count), order)


def slots_of(to_do: Given) -> Ints | None:
    """(M,) the tasks that each machine holds, whichever job's they are; None if that differs."""
    distinct = np.unique(to_do.demand, axis=0)
    if len(distinct) != 1 or np.count_nonzero(distinct[0]) != 1:
        return None
    most = to_do.holds.max(axis=0, initial=0)
    slots: Ints = most[to_do.classes.of_machine]
    # One task a machine of a job that spreads is another matter where there is room for several.
    return None if to_do.spread.any() and slots.max(initial=0) > 1 else slots
