"""Drives the compiled loop: feeds it jobs, applies machine events, tells the sinks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any

import numpy as np

from fairlead.scheduling.kernels.alarms import wake
from fairlead.scheduling.kernels.change.machine_events import end
from fairlead.scheduling.kernels.memory.codes import DecisionCode, TrailCode
from fairlead.scheduling.kernels.memory.tables import NEVER, NONE
from fairlead.simulation.engine.changes import Change, Changes, Kind
from fairlead.simulation.engine.feed import Chunk, Durations, chunks
from fairlead.simulation.engine.options import Options
from fairlead.simulation.engine.pace import Pace
from fairlead.simulation.engine.workload_core import WorkloadCore
from fairlead.simulation.kernels.heap import longer
from fairlead.simulation.kernels.loop import (
    advance,
    complete,
    lose,
    lose_all,
    queue_completions,
    write_job,
)
from fairlead.simulation.kernels.tables import (
    CLOCK,
    JOB_RECORD,
    JOB_SIDE,
    NOT_YET,
    TASK_RECORD,
    TASK_SIDE,
    VOID,
    Phase,
    Why,
)
from fairlead.simulation.measure.moment import Moment
from fairlead.simulation.measure.moments import moment_of
from fairlead.simulation.measure.sampling import Sampling
from fairlead.simulation.measure.sinks import JobRecords, Sink, TaskRecords
from fairlead.simulation.workload import Workload

RECORDS = 1 << 16
"""Records of each kind that are told at once."""

BUDGET = 40_000
"""Instants and launches between two looks at Ctrl-C and the progress bar: some tenths of a second,
also where thousands of tasks end at once."""


class Driver:
    """One run. `go` does it; then the counts are in `clock`."""

    def __init__(
        self,
        workload: Workload,
        policy: str,
        placement: str | None,
        seed: int,
        sinks: Sequence[Sink],
        options: Options,
    ) -> None:
        self.core = WorkloadCore(workload, policy, placement, options)
        self.policy, self.placement = self.core.book.scaler.spec, self.core.placement.name
        self.clock = np.zeros(1, CLOCK)
        self._workload = workload
        self._options = options
        self._sinks = sinks
        self._changes = Changes(workload, options, seed)
        self._chunks: Iterator[Chunk] = chunks(workload.batches())
        self._chunk = Chunk.empty(len(workload.resources))
        self._names: dict[int, str] = {}
        self._durations = Durations()
        self._queue = longer(np.zeros((0, 2), np.int64), 1 << 12)
        self._job_side = np.zeros(0, JOB_SIDE)
        self._task_side = np.zeros(0, TASK_SIDE)
        self._grow_sides()
        keep_jobs = any(sink.wants_jobs for sink in sinks)
        keep_tasks = any(sink.wants_tasks for sink in sinks)
        self._job_out = np.zeros((RECORDS if keep_jobs else 1, len(JOB_RECORD)), np.int64)
        self._task_out = np.zeros((RECORDS if keep_tasks else 1, len(TASK_RECORD)), np.int64)
        clock = self.clock[0]
        clock["now"] = -1
        clock["exact"], clock["pools"] = self.core.exact, self.core.pools
        clock["weighed"] = -1
        clock["preempts"] = self.core.stopping is not None
        clock["preempt_at"] = NEVER
        clock["keep_jobs"], clock["keep_tasks"] = keep_jobs, keep_tasks
        self._sampling = Sampling(sinks)

    @property
    def jobs(self) -> int:
        """The jobs that were submitted so far."""
        return int(self.clock[0]["jobs_so_far"])

    @property
    def tasks(self) -> int:
        return int(self.clock[0]["tasks_so_far"])

    def job_name(self, number: int) -> str:
        """The name of a job that is present, or whose record is being told."""
        return self._names.get(number) or str(number)

    def digest(self) -> str:
        return self.core.digest()

    def go(self, pace: Pace) -> None:
        """Runs until nothing is left to do."""
        clock = self.clock[0]
        self._feed()
        self._sampling.start(int(self._chunk.rows["submit"][0]) if clock["jobs"] else 0)
        while True:
            clock["stop"] = self._stop()
            clock["may_help"] = self._changes.may_help()
            clock["budget"] = BUDGET
            why = self._advance()
            if why == Why.JOBS:
                self._feed()
            elif why == Why.RECORDS:
                self._tell()
            elif why == Why.QUEUE:
                self._queue = longer(self._queue, 2 * len(self._queue))
            elif why == Why.FULL:
                self.core.state.grow(int(clock["full"]))
                self._grow_sides()
            elif why == Why.ADVICE:
                for event in self.core.follow_exact(self._moment(int(clock["now"])), self.job_name):
                    for sink in self._sinks:
                        sink.event(event)
                clock["advise_at"] = int(clock["now"]) + self._options.advise
            elif why == Why.POOLS:
                self.core.reweigh()
            elif why == Why.ROUND:
                self._decide()
            elif (why == Why.STOP and not self._timers()) or why == Why.DONE:
                break
            pace.look(clock)
        self._leave_unfinished()
        self._tell()
        if self._options.check:
            self.core.check()

    def _advance(self) -> Why:
        core, chunk = self.core, self._chunk
        return Why(
            advance(
                core.state.handle,
                core.placement.rule,
                self.clock,
                chunk.rows,
                chunk.demand,
                chunk.needs,
                chunk.prefers,
                self._job_side,
                self._task_side,
                self._queue,
                self._durations.array,
                self._job_out,
                self._task_out,
            )
        )

    def _feed(self) -> None:
        """The next chunk of jobs, or the end of them."""
        clock = self.clock[0]
        chunk = next(self._chunks, None)
        clock["at"] = 0
        if chunk is None:
            clock["last"] = 1
            clock["jobs"] = 0
            return
        self.core.learn(chunk.terms)
        self.core.fit(chunk)
        first, thrown = self._durations.add(chunk.durations, self._job_side, int(clock["dead"]))
        if thrown:
            clock["dead"] = 0
        chunk.rows["first"] += first
        if chunk.names is not None:
            self._names.update(zip(chunk.rows["number"].tolist(), chunk.names, strict=True))
        self._chunk = chunk
        clock["jobs"] = len(chunk.rows)

    # Time

    def _stop(self) -> int:
        """Events before this moment need nothing of Python's."""
        stop = NEVER
        change = self._changes.due()
        if change is not None:
            stop = change
        sample = self._sampling.next()
        if sample != NEVER:
            stop = min(stop, sample + 1)
        if self._options.until is not None:
            stop = min(stop, self._options.until + 1)
        return stop

    def _timers(self) -> bool:
        """All before `stop` is done: what is due there. False where the run is over."""
        stop = int(self.clock[0]["stop"])
        if not self._goes_on():
            return False
        self._samples(stop - 1)
        if self._options.until is not None and stop > self._options.until:
            return False
        if self._changes.due() == stop:
            self._change(stop)
        return True

    def _goes_on(self) -> bool:
        """May anything happen still, samples and endless failures apart?"""
        clock = self.clock[0]
        if clock["at"] < clock["jobs"] or not clock["last"]:
            return True
        if int(clock["over"]) == self.jobs:
            return False
        wakes = wake(self.core.state.handle) != NEVER
        return bool(clock["queue"] > 0 or wakes or self._changes.may_help())

    def _samples(self, time: int) -> None:
        due = self._sampling.due(time)
        if not due:
            return
        moment = self._moment(time)
        if self._options.check:
            self.core.check()
        for sink in due:
            sink.sample(moment)
        self._sampling.pass_by(time)

    def _moment(self, time: int) -> Moment:
        core = self.core
        return moment_of(
            core.state,
            self._job_side,
            core.machine_index,
            core.tenant_slots,
            core.terms,
            time,
        )

    def _change(self, time: int) -> None:
        """Applies what happens to machines at this moment, after its completions."""
        clock, core = self.clock[0], self.core
        core.book.pass_time(time)
        clock["now"] = clock["end"] = time
        while (
            complete(
                core.state.handle,
                self.clock,
                self._job_side,
                self._task_side,
                self._queue,
                self._job_out,
                self._task_out,
            )
            == Why.RECORDS
        ):
            self._tell()
        # While nothing runs and nothing comes, nothing fails: or what can run only when all
        # machines are there would be waited for for ever.
        busy = bool(clock["queue"] > 0 or clock["at"] < clock["jobs"] or not clock["last"])
        for kind, alike in groupby(self._changes.take(time, failing=busy), attrgetter("kind")):
            if kind is Kind.JOIN:
                core.join(list(alike))  # nothing happens between them
            else:
                for change in alike:
                    self._apply(change)
        core.refresh()
        # Other machines: another exact allocation, other pools.
        clock["advised"] = clock["weighed"] = -1
        clock["phase"] = Phase.EVENTS

    def _apply(self, change: Change) -> None:
        core = self.core
        match change.kind:
            case Kind.UPDATE:
                assert change.capacity is not None  # what else would change
                core.update(change.machine, change.capacity)
            case Kind.LEAVE:
                slot = core.slot(change.machine)
                while self._lose_all(slot) == Why.RECORDS:
                    self._make_room(int(core.state.machine["tasks"][slot]))
                core.leave(change.machine)
            case Kind.EVICT:
                task = core.newest(change.machine, self._task_side["key"])
                if task != NONE:
                    self._make_room(1)
                    self._end(task, TrailCode.LOST)

    # Preemption

    def _decide(self) -> None:
        """Lets the core decide, with preemption. What it stops has stopped at once; then it decides
        again, still at this moment."""
        clock, core = self.clock[0], self.core
        while True:
            core.run_round()
            decisions = core.take_decisions()
            self._grow_sides()
            while int(clock["queue"]) + len(decisions) > len(self._queue):
                self._queue = longer(self._queue, 2 * len(self._queue))
            queue_completions(
                decisions,
                self.clock,
                self._job_side,
                self._task_side,
                self._queue,
                self._durations.array,
            )
            stops = decisions["task"][decisions["kind"] == DecisionCode.STOP].tolist()
            if not stops:
                break
            self._make_room(len(stops))
            for task in stops:
                self._end(task, TrailCode.STOPPED)
            clock["stopped"] += len(stops)
        clock["phase"] = Phase.OVER
        clock["preempt_at"] = core.preempt_at()

    # Tasks that are lost

    def _lose_all(self, slot: int) -> int:
        sides = self._job_side, self._task_side
        return lose_all(self.core.state.handle, self.clock, *sides, self._task_out, slot)

    def _end(self, task: int, how: TrailCode) -> None:
        """The task in this slot is lost, or has stopped; it waits again."""
        handle = self.core.state.handle
        lose(handle, self.clock, self._job_side, self._task_side, self._task_out, task)
        end(handle, task, int(how))

    # What was measured

    def _make_room(self, tasks: int) -> None:
        if int(self.clock[0]["task_records"]) + tasks > len(self._task_out):
            self._tell()
        if tasks > len(self._task_out) and self.clock[0]["keep_tasks"]:
            self._task_out = np.zeros((tasks, len(TASK_RECORD)), np.int64)

    def _tell(self) -> None:
        clock = self.clock[0]
        jobs, tasks = int(clock["job_records"]), int(clock["task_records"])
        clock["job_records"] = clock["task_records"] = 0
        if tasks:
            columns = dict(zip(TASK_RECORD, self._task_out[:tasks].T.copy(), strict=True))
            lost = columns.pop("lost") == 1
            # Slots of the core; a machine that came back has another one.
            columns["machine"] = self.core.machine_index[columns["machine"]]
            of_tasks = TaskRecords(**columns, lost=lost)
            for sink in self._sinks:
                if sink.wants_tasks:
                    sink.tasks(of_tasks)
        if jobs:
            of_jobs = JobRecords(
                **dict(zip(JOB_RECORD, self._job_out[:jobs].T.copy(), strict=True))
            )
            for sink in self._sinks:
                if sink.wants_jobs:
                    sink.jobs(of_jobs)
            for number in of_jobs.number.tolist():
                self._names.pop(number, None)

    def _leave_unfinished(self) -> None:
        """Records of the jobs that are not over, in the order of submission."""
        clock = self.clock[0]
        if not clock["keep_jobs"]:
            return
        slots = np.flatnonzero(self._job_side["used"] == 1)
        for slot in slots[np.argsort(self.core.state.job["seq"][slots])].tolist():
            if int(clock["job_records"]) == len(self._job_out):
                self._tell()
            write_job(self.clock, self._job_side, self._job_out, slot, NOT_YET)

    def _grow_sides(self) -> None:
        """The tables beside the core's are as long as those."""
        state = self.core.state
        self._job_side = _as_long(self._job_side, len(state.job))
        before = len(self._task_side)
        self._task_side = _as_long(self._task_side, len(state.task))
        self._task_side["key"][before:] = VOID


def _as_long(array: Any, rows: int) -> Any:
    if len(array) == rows:
        return array
    longer = np.zeros((rows, *array.shape[1:]), array.dtype)
    longer[: len(array)] = array
    return longer
