"""A workload under an ideal scheduler: the same events, the same sinks, the same measures."""

from __future__ import annotations

import hashlib
import heapq
import time
from collections.abc import Sequence

import numpy as np

from fairlead.model.errors import InputError
from fairlead.scheduling.state.scales import FIFO
from fairlead.sharing.rules.registry import scaled
from fairlead.simulation.engine.progress import Bar
from fairlead.simulation.engine.progress import progress as shown
from fairlead.simulation.ideal.follow import Follow
from fairlead.simulation.ideal.instance import Instance, build_instance
from fairlead.simulation.ideal.kinds import Kind
from fairlead.simulation.ideal.machines import NOWHERE, Turn
from fairlead.simulation.ideal.records import Job, Launch, There, job_records, moment_of
from fairlead.simulation.ideal.slots import Placed, Slots
from fairlead.simulation.ideal.weights import Weights
from fairlead.simulation.measure.distances import Distances
from fairlead.simulation.measure.moment import Moment
from fairlead.simulation.measure.result import Result
from fairlead.simulation.measure.sinks import NEVER, RunInfo, Sink, TaskRecords, telling
from fairlead.simulation.workload import Floats, Ints, Workload

TOGETHER = 4096
"""Of so many tasks sinks are told at a time."""


def run_ideal(
    workload: Workload,
    kind: Kind,
    policy: str = "tsf",
    *,
    seed: int = 0,
    sinks: Sequence[Sink] = (),
    ties: int | None = None,
    progress: bool = False,
) -> Result:
    """The workload under an ideal scheduler that is as fair as it may be by the policy's shares.

    Tasks that are moved lose nothing; tasks that are paused go on from where they were, the one
    started last being paused first. Where tasks stay, those on a machine that goes start over. The
    result's placement is `ideal-KIND`. Where all tasks take one slot and several free machines are
    as good for the moment, a task gets the first of them; with `ties`, the first in an order that
    is drawn with this seed. Raises InputError where there is no ideal (`build_instance`, `Follow`).
    """
    began = time.perf_counter()
    if policy == FIFO:
        raise InputError("`fifo` knows no shares", "an ideal scheduler needs a policy such as tsf")
    rule = scaled(policy)
    run = _Run(build_instance(workload, rule), kind, sinks, ties)
    info = RunInfo(workload, rule.spec, f"ideal-{kind.value}", seed, run.instance.names.__getitem__)
    bar = shown(int(run.instance.tasks.sum()), "task", wanted=progress)
    with telling(sinks, info), bar as told:
        end = run.all(told)
    rmse, shortfall = next(
        (sink.figures() for sink in sinks if isinstance(sink, Distances)), (None, None)
    )
    return Result(
        policy=rule.spec,
        placement=info.placement,
        seed=seed,
        tasks=int(run.instance.tasks.sum()),
        placed=run.placed,
        seconds=time.perf_counter() - began,
        rmse_percent=rmse,
        largest_shortfall=shortfall,
        digest=run.trail.hexdigest(),
        jobs=len(run.instance.tasks),
        finished=run.finished,
        launches=run.launches,
        lost=run.lost,
        end=end,
    )


class _Run:
    """The events of one run and who is where."""

    def __init__(
        self, instance: Instance, kind: Kind, sinks: Sequence[Sink], ties: int | None
    ) -> None:
        self.instance = instance
        self.sinks = sinks
        self.weights = Weights(instance)
        self.scale = np.zeros(len(instance.tasks))  # of the jobs that came, on the machines of now
        self.present = np.zeros(len(instance.machine), np.bool_)
        self.room = _room(instance, kind, ties, self.weights, self.scale)
        self.follow = self.room if isinstance(self.room, Follow) else None
        self._tells_tasks = any(sink.wants_tasks for sink in sinks)
        if not self.room.stays and self._tells_tasks:
            raise InputError(
                f"under {kind.value} tasks move, so there is no machine to tell of each",
                "leave the records of tasks out",
            )
        self.there: dict[int, Job] = {}
        self.ends: list[tuple[int, int]] = []  # (time, launch)
        self.runs: dict[int, Launch] = {}
        self.trail = hashlib.blake2b(digest_size=16)
        self.now = 0
        self.placed = self.finished = self.launches = self.lost = 0
        self._unit: dict[int, float] = {}
        self._stale = False  # who is there, or where, has changed since all were weighed
        self._over: list[tuple[int, int]] = []  # (job, when)
        self._closed: dict[int, Job] = {}
        self._left: list[tuple[int, ...]] = []  # of each task that left: as in TaskRecords

    def all(self, bar: Bar) -> int:
        """Everything that happens; the time of the last event. The bar hears of tasks placed."""
        submit, turns = self.instance.submit, self.instance.turns
        coming, turning = 0, 0
        every = [sink.every for sink in self.sinks if sink.every]
        while True:
            while self.ends and self._over_then(self.ends[0][1]) != self.ends[0][0]:
                heapq.heappop(self.ends)  # it was paused or lost since
            times = [int(submit[coming])] if coming < len(submit) else []
            times += [self.ends[0][0]] if self.ends else []
            if turning < len(turns) and (times or any(job.waiting for job in self.there.values())):
                times.append(turns[turning].time)
            if not times:
                break
            at = min(times)
            if every:
                self._samples(self.now, at)
            self.now = at
            while self.ends and self.ends[0][0] == at:
                self._end(heapq.heappop(self.ends)[1])
            if turning < len(turns) and turns[turning].time == at:
                self._turn(turns[turning])
                turning += 1
            first = coming
            while coming < len(submit) and submit[coming] == at:
                coming += 1
            if coming > first:
                self._submit(np.arange(first, coming))
            self._weigh()
            before = self.placed
            for change in self.room.decide():
                self._change(change)
            bar.update(self.placed - before)
        self._tell_tasks()
        self._tell_jobs()
        return self.now

    def _submit(self, jobs: Ints) -> None:
        self.scale[jobs] = self.instance.scale(jobs, self.present)
        for job in jobs.tolist():
            tasks = int(self.instance.tasks[job])
            self.there[job] = Job(tasks)
            if self.scale[job] > 0 or self.follow is not None:
                self.room.join(job, self.instance.holds[job] > 0, tasks, 0.0)
        self._stale = True

    def _weigh(self) -> None:
        """After somebody came or went: what a task of each job adds to its level."""
        if not self._stale:
            return
        self._stale = False
        self.weights.follow_pools(self.there, self.present, self.scale)
        rates = self.weights.rates(job for job in self.there if self.scale[job] > 0)
        for job, rate in rates.items():
            unit = 1.0 / (float(self.scale[job]) * rate)
            if self._unit.get(job) != unit:
                self._unit[job] = unit
                self.room.weigh(job, unit)
        if self.follow is not None:
            self.follow.changed()

    def _turn(self, turn: Turn) -> None:
        """Machines come, go and change."""
        for step in turn.steps:
            if step.was != NOWHERE:
                self.present[step.was] = False
            if step.now != NOWHERE:
                self.present[step.now] = True
            if self.follow is None:
                continue  # all are there before anybody is
            if step.was == NOWHERE:
                self.follow.come(step.now)
            elif step.now == NOWHERE:
                self._lose(step.was)
                self.follow.go(step.was)
            else:
                self.follow.become(step.was, step.now)
                for launch in self.runs.values():
                    if launch.machine == step.was:
                        launch.machine = step.now
        jobs = np.array(sorted(self.there), np.int64)
        self.scale[jobs] = self.instance.scale(jobs, self.present)
        self._stale = True

    def _lose(self, machine: int) -> None:
        """The tasks on a machine that goes wait again, at the head of their jobs."""
        if not self.room.stays:
            return  # nobody is on any one machine
        on = [number for number, launch in self.runs.items() if launch.machine == machine]
        for number in sorted(on, key=lambda n: (self.runs[n].job, self.runs[n].task), reverse=True):
            launch = self.runs.pop(number)
            job = self.there[launch.job]
            job.running.remove(number)
            job.waiting += 1
            job.lost.appendleft((launch.task, launch.attempt, self.now))
            self.lost += 1
            self._tell_task(launch, lost=True)

    def _over_then(self, number: int) -> int:
        """When a launch ends, if nothing comes between; NEVER if it is none any more."""
        launch = self.runs.get(number)
        return NEVER if launch is None else launch.resumed + launch.left

    def _end(self, number: int) -> None:
        if self._over_then(number) != self.now:
            return  # it was paused or lost since
        launch = self.runs.pop(number)
        job = self.there[launch.job]
        job.running.remove(number)
        duration = self.instance.duration(launch.job, launch.task)
        job.finished += 1
        job.work += duration
        job.longest = max(job.longest, duration)
        self.finished += 1
        self.room.end(launch.job, launch.machine)
        self._tell_task(launch)
        if not job.running and not job.waiting:
            self.room.leave(launch.job)
            self._stale = True
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

    def _start(self, number: int, job: Job, machine: int) -> None:
        job.waiting -= 1
        since, attempts = int(self.instance.submit[number]), 0
        if job.paused:
            again, task, start, left = job.paused.popleft()
        else:
            if job.lost:
                task, attempts, since = job.lost.popleft()
            else:
                task = job.next
                job.next += 1
                self.placed += 1
            again, start = self.launches, self.now
            left = self.instance.duration(number, task)
            job.launches += 1
            job.waited += self.now - since
            job.first_start = self.now if job.first_start == NEVER else job.first_start
            self.launches += 1
        self.runs[again] = Launch(number, task, machine, start, self.now, left, since, attempts + 1)
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
        """The state as sinks see it."""
        on = None if self.room.stays else self.room.on_classes()
        there = There(self.there, self.present, self.scale, self.weights.weight)
        return moment_of(self.instance, there, self.runs, on, at)

    def _tell_task(self, launch: Launch, *, lost: bool = False) -> None:
        if not self._tells_tasks:
            return
        machine = int(self.instance.machine[launch.machine])
        times = (launch.since, launch.start, self.now)
        self._left.append((launch.job, launch.task, launch.attempt, machine, *times, lost))
        if len(self._left) == TOGETHER:
            self._tell_tasks()

    def _tell_tasks(self) -> None:
        """Tells of the tasks that left their machines since this was done last."""
        if not self._left:
            return
        job, task, attempt, machine, since, start, end, lost = np.array(self._left, np.int64).T
        self._left.clear()
        records = TaskRecords(job, task, attempt, machine, since, start, end, lost == 1)
        for sink in self.sinks:
            if sink.wants_tasks:
                sink.tasks(records)

    def _tell_jobs(self) -> None:
        rows = [(job, when, self._closed[job]) for job, when in self._over]
        rows += [(job, NEVER, state) for job, state in sorted(self.there.items())]
        records = job_records(self.instance, rows)
        for sink in self.sinks:
            if sink.wants_jobs:
                sink.jobs(records)


def _room(
    instance: Instance, kind: Kind, ties: int | None, weights: Weights, scale: Floats
) -> Slots | Follow:
    """Slots where all tasks take the same of one resource, on machines that stay, without limits;
    else who follows the exact shares."""
    slots = slots_of(instance) if instance.steady and not (weights.limit >= 0).any() else None
    if slots is None:
        return Follow(instance, kind, weights, scale)
    order = (
        None if ties is None else np.random.Generator(np.random.PCG64(ties)).permutation(len(slots))
    )
    return Slots(kind, instance.classes.of_machine, slots, len(instance.classes.count), order)


def slots_of(instance: Instance) -> Ints | None:
    """(M,) the tasks that each machine holds, whichever job's they are; None if that differs."""
    distinct = np.unique(instance.demand, axis=0)
    if len(distinct) != 1 or np.count_nonzero(distinct[0]) != 1:
        return None
    most = instance.holds.max(axis=0, initial=0)
    slots: Ints = most[instance.classes.of_machine]
    # One task a machine of a job that spreads is another matter where there is room for several.
    return None if instance.spread.any() and slots.max(initial=0) > 1 else slots
