"""The online rules in plain Python with heaps, driven by a heap of events or by SimPy.

What somebody writes in an afternoon, without arrays and without compiling, and not foolishly: the
waiting jobs are walked in the order of their levels, only until the machines that changed have no
room for the smallest of them. It keeps to one tenant a job, equal weights, TSF's scale in whole
tasks, first fit, no gangs, no devices, no reservations; there its decisions are those of the core.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left, insort
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from fairlead.model.machine import Machine
from fairlead.scheduling.state.terms import satisfies
from fairlead.simulation.workload import MachineEvent, Workload

Amounts = tuple[int, ...]


@dataclass
class PlainMachine:
    """A machine: what is free, and the bits of the terms that it satisfies."""

    free: list[int]
    terms: int
    tasks_of: dict[int, int] = field(default_factory=dict)


@dataclass
class PlainJob:
    """A job: `next` tasks have started, `held` of them run."""

    demand: Amounts
    needs: int
    spread: bool
    durations: list[int]
    alone: int
    next: int = 0
    held: int = 0
    turn: int = 0  # when it was submitted, or had a task started

    @property
    def waits(self) -> int:
        """The tasks that have not started."""
        return len(self.durations) - self.next


class PlainScheduler:
    """Machines and jobs, and who is next. `launch(job, task, machine, duration)` is called for
    each task that starts."""

    def __init__(
        self, machines: list[PlainMachine], launch: Callable[[int, int, int, int], None]
    ) -> None:
        self.machines = machines
        self.launch = launch
        self.jobs: dict[int, PlainJob] = {}
        self.waiting: list[tuple[float, int, int]] = []  # sorted: level, turn, number of the job
        self.turns = 0
        self.changed: set[int] = set()
        self.submitted: set[int] = set()
        # For each resource the demands of the waiting jobs, and of some that wait no longer.
        self.smallest: list[list[tuple[int, int]]] = [[] for _ in machines[0].free]

    def submit(self, number: int, job: PlainJob) -> None:
        """The job waits from now on."""
        self.jobs[number] = job
        self._take_turn(job)
        if job.alone:
            self._wait(job, number)
            self.submitted.add(number)
            for r, need in enumerate(job.demand):
                heapq.heappush(self.smallest[r], (need, number))

    def finish(self, number: int, machine: int) -> None:
        """A task of the job on the machine has ended."""
        job, there = self.jobs[number], self.machines[machine]
        if job.waits:
            before = bisect_left(self.waiting, (job.held / job.alone, job.turn, number))
            del self.waiting[before]
        job.held -= 1
        if job.waits:
            self._wait(job, number)
        for r, amount in enumerate(job.demand):
            there.free[r] += amount
        there.tasks_of[number] -= 1
        if not there.tasks_of[number]:
            del there.tasks_of[number]
        self.changed.add(machine)

    def decide(self) -> None:
        """Places what can be placed: the least level first, on the first machine that fits."""
        changed = self._roomy(sorted(self.changed))
        place = 0
        while place < len(self.waiting) and (changed or self.submitted):
            number = self.waiting[place][2]
            job = self.jobs[number]
            anywhere = number in self.submitted
            machine = self._first(job, number, range(len(self.machines)) if anywhere else changed)
            if machine is None:
                self.submitted.discard(number)
                place += 1
                continue
            self._start(job, number, machine)
            del self.waiting[place]
            if job.waits:
                # Those before it did not fit and will not: room only shrinks from here.
                self._wait(job, number, place)
            else:
                self.submitted.discard(number)
            if machine in self.changed:
                changed = self._roomy(changed)
        self.changed.clear()
        self.submitted.clear()

    def _take_turn(self, job: PlainJob) -> None:
        job.turn = self.turns
        self.turns += 1

    def _wait(self, job: PlainJob, number: int, place: int = 0) -> None:
        insort(self.waiting, (job.held / job.alone, job.turn, number), lo=place)

    def _roomy(self, machines: list[int]) -> list[int]:
        """Those that have room for the smallest demand of each resource that waits."""
        least = []
        for heap in self.smallest:
            while heap and self.jobs[heap[0][1]].waits == 0:
                heapq.heappop(heap)
            least.append(heap[0][0] if heap else 0)
        return [
            m
            for m in machines
            if all(need <= free for need, free in zip(least, self.machines[m].free, strict=True))
        ]

    def _first(self, job: PlainJob, number: int, machines: Any) -> int | None:
        demand, needs = job.demand, job.needs
        for m in machines:
            there = self.machines[m]
            if needs & ~there.terms or (job.spread and number in there.tasks_of):
                continue
            for need, free in zip(demand, there.free, strict=True):
                if need > free:
                    break
            else:
                return int(m)
        return None

    def _start(self, job: PlainJob, number: int, machine: int) -> None:
        there = self.machines[machine]
        for r, amount in enumerate(job.demand):
            there.free[r] -= amount
        there.tasks_of[number] = there.tasks_of.get(number, 0) + 1
        task = job.next
        job.next += 1
        job.held += 1
        self._take_turn(job)
        self.launch(number, task, machine, job.durations[task])


def read(workload: Workload) -> tuple[list[PlainMachine], list[tuple[int, PlainJob]]]:
    """The workload's machines, all there from the start, and its jobs with their times."""
    table = workload.machines
    assert all(kind == MachineEvent.ADD for kind in table.kind)
    terms = list(workload.terms)
    batches = list(workload.batches())
    for batch in batches:
        terms += batch.terms
    machines = []
    for i, m in enumerate(table.machine.tolist()):
        machine = Machine(table.names[m], {}, dict(table.labels[m]))
        bits = sum(1 << k for k, term in enumerate(terms) if satisfies(machine, term))
        machines.append(PlainMachine(table.capacity[i].tolist(), bits))
    capacities: dict[Amounts, int] = {}
    for machine_ in machines:
        key = tuple(machine_.free)
        capacities[key] = capacities.get(key, 0) + 1
    jobs = []
    for batch in batches:
        for i in range(len(batch)):
            demand = tuple(batch.demand[i].tolist())
            spread = bool(batch.spread[i])
            durations = batch.durations[batch.first[i] : batch.first[i + 1]].tolist()
            if len(durations) == 1:
                durations *= int(batch.tasks[i])
            alone = sum(count * _holds(demand, has, spread) for has, count in capacities.items())
            needs = sum(int(word) << (64 * w) for w, word in enumerate(batch.needs[i]))
            jobs.append((int(batch.submit[i]), PlainJob(demand, needs, spread, durations, alone)))
    return machines, jobs


def _holds(demand: Amounts, capacity: Amounts, spread: bool) -> int:
    tasks = min(has // need for need, has in zip(demand, capacity, strict=True) if need)
    return min(tasks, 1) if spread else tasks


def with_heaps(workload: Workload) -> list[float]:
    """Runs the workload from a heap of events. The sum of each job's starting times, in seconds."""
    machines, arrivals = read(workload)
    started = [0] * len(arrivals)
    events: list[tuple[int, int, int, int]] = []  # time, order, job, machine
    now = order = 0

    def launch(job: int, _task: int, machine: int, duration: int) -> None:
        nonlocal order
        started[job] += now
        order += 1
        heapq.heappush(events, (now + duration, order, job, machine))

    scheduler = PlainScheduler(machines, launch)
    arrived = 0
    while events or arrived < len(arrivals):
        coming = arrivals[arrived][0] if arrived < len(arrivals) else None
        now = min(x for x in (coming, events[0][0] if events else None) if x is not None)
        while events and events[0][0] == now:
            _, _, job, machine = heapq.heappop(events)
            scheduler.finish(job, machine)
        while arrived < len(arrivals) and arrivals[arrived][0] == now:
            scheduler.submit(arrived, arrivals[arrived][1])
            arrived += 1
        scheduler.decide()
    return [time / 1e6 for time in started]


def with_simpy(workload: Workload) -> list[float]:
    """Runs the workload as SimPy's users do: a process of arrivals, a timeout for each task."""
    import simpy

    machines, arrivals = read(workload)
    started = [0] * len(arrivals)
    environment = simpy.Environment()

    def launch(job: int, _task: int, machine: int, duration: int) -> None:
        started[job] += int(environment.now)
        end = environment.timeout(duration)
        end.callbacks.append(lambda _: ended(job, machine))

    scheduler = PlainScheduler(machines, launch)

    def settle() -> None:
        # One instant is decided at once: only its last event decides.
        if environment.peek() > environment.now:
            scheduler.decide()

    def ended(job: int, machine: int) -> None:
        scheduler.finish(job, machine)
        settle()

    def arriving() -> Any:
        for number, (time, job) in enumerate(arrivals):
            if time > environment.now:
                settle()
                yield environment.timeout(time - environment.now)
            scheduler.submit(number, job)
        settle()

    environment.process(arriving())
    environment.run()
    return [time / 1e6 for time in started]
