"""A round of placing: what waits is submitted or released, what is to stop is cancelled, and what
Slurm says of all jobs becomes reports."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from threading import RLock

from fairlead.engines.interface import Assignment, Attempt, Cause, Ended, EngineError, Lost
from fairlead.engines.people import CannotRunError, person
from fairlead.engines.slurm.budget import Budget, Unlimited
from fairlead.engines.slurm.placing.adopted import Adopted
from fairlead.engines.slurm.placing.batch import attempt_of_comment, claim, is_of, script, words
from fairlead.engines.slurm.placing.controller import NO_RIGHT, Controller, RefusedError, Submission
from fairlead.engines.slurm.placing.ends import end_of, had_no_permit, may_write
from fairlead.engines.slurm.placing.folder import Folder
from fairlead.engines.slurm.placing.nodes import Amounts, is_there, still_waits
from fairlead.engines.slurm.placing.tasks import BOUNCE, Phase, Task, Tasks
from fairlead.engines.slurm.reading.reader import processor_time
from fairlead.engines.slurm.reading.values import Picture, SlurmJob
from fairlead.engines.slurm.translation import IMPOSSIBLE, OWN_HOLD, RUNNING

LOOKS = 2
"""Readings in a row in which a job is not there: then Slurm does not know it."""

AGAIN = 30.0
"""Seconds after which a job that was cancelled and is still there is cancelled again: slurmctld may
have lost that."""

DELAY = 60.0
"""Seconds until a file that a node wrote is seen here: a shared file system keeps what it knew."""


@dataclass(frozen=True, slots=True)
class Allowance:
    """The part of Slurm that may be used. `jobs`: that slurmctld may have, with those of others;
    `requests`: to it, but for readings."""

    jobs: int
    requests: Budget | Unlimited = field(default_factory=Unlimited)


class Rounds:
    """`picture`: Slurm as it was read last, which `took` so many seconds of a processor. Methods
    raise EngineError and OSError; `lock` is held where tasks change, and never while Slurm is
    asked."""

    def __init__(
        self,
        folder: Folder,
        controller: Controller,
        partition: str,
        lock: RLock,
        clock: Callable[[], float],
    ) -> None:
        self.tasks, self.picture = Tasks(), Picture("", "", (), (), (), frozenset())
        self._folder, self._controller, self._partition = folder, controller, partition
        self.allowance, self._lock, self._clock = Allowance(0), lock, clock
        self.took = 0.0
        self.gone: Callable[[Attempt], object] = folder.remove  # it was what nobody expected
        self._rows: dict[int, tuple[Attempt, SlurmJob]] = {}  # with a claim of this engine
        self._faults: list[str] = []
        self._told: set[str] = set()
        self.adopted = Adopted(partition, folder.identity, clock, self._tell)

    def ours(self) -> Mapping[int, Mapping[str, Amounts]]:
        """Numbers of the jobs whose room the service counts itself; of one that lies otherwise than
        it was placed, how much on each node."""
        known = self.tasks.known.values()
        return {**{t.number: {} for t in known if not t.silent}, **self.adopted.counted()}

    def take_faults(self) -> Sequence[str]:
        """Sentences that were not told yet."""
        faults, self._faults = self._faults, []
        return faults

    def due(self) -> float:
        """When a time limit is over, by the monotonic clock."""
        with self._lock:
            ends = [
                task.started / 1e6 + float(task.assignment.time_limit)
                for task in self.tasks.of(Phase.GIVEN)
                if task.started is not None
                and task.stopped is None
                and task.assignment is not None
                and task.assignment.time_limit is not None
            ]
        return min(ends) - self._clock() + time.monotonic() if ends else float("inf")

    def stop(self, task: Task, cause: Cause) -> None:
        """It is to end: durably, so that it is said to have been stopped whoever sees its end."""
        if task.stopped is None:
            task.stopped = cause
            note = self._folder.note(task.attempt)
            self._folder.write(task.attempt, replace(note, stopped=cause.value))

    def never(self, task: Task) -> None:
        """It is over before it was given to Slurm."""
        self._folder.revoke(task.attempt)
        why = "it was stopped before it started"
        self.tasks.finish(task, Lost(task.attempt, False, why, machine_at_fault=False))

    def keep_over(self, task: Task) -> None:
        """Its end was acknowledged."""
        note = self._folder.note(task.attempt)
        if note.permits:  # of what was never given to Slurm there is nothing to be found again
            self._folder.write(task.attempt, replace(note, over=True))

    def find(self, expected: Sequence[Assignment]) -> list[Attempt]:
        """Finds out what became of all that is expected, and stops all else; those that never
        started and never will."""
        self._read()
        self.tasks.behind.clear()
        self.adopted.expect(expected, self.picture)
        rows = self._by_attempt()
        wanted = {each.attempt: each for each in expected if each.part is None}
        never = [each.attempt for each in wanted.values() if not self._find(each, rows)]
        for attempt in self._folder.present():
            if attempt not in wanted and attempt not in self.tasks.known:
                self.tasks.known[attempt] = self._recover_task(attempt, None, rows)
        for task in [task for task in self.tasks.known.values() if task.attempt not in wanted]:
            self._silence(task)
        self.tasks.again()
        return never

    def go_round(self, reading: bool = True) -> None:
        """Submits; if a reading is due, reads, reports, and cancels; releases. What is cancelled
        was just seen to be ours: numbers of jobs that slurmctld has lost are given again."""
        self._submit()
        if reading:
            self._follow()
        self._release()

    def _follow(self) -> None:
        # Before the reading: what starts meanwhile is no start that slurmctld does not know of.
        begun = {task.attempt for task in self.tasks.of(Phase.GIVEN) if self._has_started(task)}
        began = processor_time()
        self._read()
        self._look(begun)
        with self._lock:
            self.adopted.look(self.picture)
        self.took = processor_time() - began
        self._cancel()

    def _release(self) -> None:
        """Releases users' own jobs whose turn it is."""
        with self._lock:
            room = self.allowance.jobs - len(self.picture.jobs)
            pins, others = self.adopted.lines(room, self.allowance.requests.affords)
        refused = dict(self._controller.change(list(pins.values())))
        if "" in refused:  # it may have been any
            refused |= dict.fromkeys(pins, refused[""])
        # What has not got its nodes would start anywhere.
        releases = [f"release {job}" for job in pins if job not in refused]
        refused |= self._controller.change([*releases, *others])
        with self._lock:
            self.adopted.rest_refused(refused)
            if any(word in said for said in refused.values() for word in NO_RIGHT):
                self._tell(
                    "Slurm does not let this service change jobs of its users, which wait: it must"
                    " be an administrator of Slurm's, and one of the placers of job_submit.lua"
                )

    def _silence(self, task: Task) -> None:
        """Nobody expects it; that is written down, as its number may be given again."""
        if self.tasks.silence(task):
            self._folder.disown(task.attempt)
        else:
            self._folder.remove(task.attempt)

    def _find(self, assignment: Assignment, rows: dict[Attempt, SlurmJob]) -> bool:
        """Finds an attempt; False: it never started, and now never will."""
        attempt = assignment.attempt
        known = self.tasks.known.get(attempt)
        if known is None and (note := self._folder.note(attempt)).old:
            if note.over:
                self._folder.clear(attempt)
                return False
            known = self.tasks.known[attempt] = self._recover_task(attempt, None, rows)
            self._silence(known)
        if known is not None and known.silent:  # it is what nobody expects, and had its name
            return False
        if known is not None and known.phase is not Phase.QUEUED:
            known.assignment = known.assignment or assignment
            return True
        self.tasks.known.pop(attempt, None)
        task = self._recover_task(attempt, assignment, rows)
        if not task.number and self._folder.revoke(attempt):
            return False
        self.tasks.known[attempt] = task
        return True

    def _recover_task(
        self, attempt: Attempt, assignment: Assignment | None, rows: dict[Attempt, SlurmJob]
    ) -> Task:
        """An attempt as it is found in the folder and in Slurm."""
        note = self._folder.note(attempt)
        known, job = self._rows.get(note.number, (None, None))
        job = job if known == attempt else rows.get(attempt)
        if job is not None and assignment is not None and not is_of(job, assignment):
            job = None  # anybody may write a claim into a comment, and would get its turn by it
        task = Task(attempt, assignment, Phase.GIVEN, since=self._clock())
        task.number = note.number if job is None else job.number
        task.stopped = Cause(note.stopped) if note.stopped else None
        task.started = self._folder.started(attempt)
        return task

    def _by_attempt(self) -> dict[Attempt, SlurmJob]:
        """The first job of each attempt, and rather one that found its permit."""
        found = sorted(self._rows.items(), key=lambda each: (had_no_permit(each[1][1]), each[0]))
        return {attempt: job for _, (attempt, job) in reversed(found)}

    def _job(self, task: Task) -> SlurmJob | None:
        """The task's job. One of its number may be another's: slurmctld gives those again that it
        has lost."""
        attempt, job = self._rows.get(task.number, (None, None))
        return job if attempt == task.attempt else None

    def _submit(self) -> None:
        most = self.allowance.jobs
        room = most - len(self.picture.jobs)
        with self._lock:
            waiting = self.tasks.of(Phase.QUEUED)
        for task in waiting:
            if room <= 0:
                return self._tell(f"Slurm has {most} jobs, its MaxJobCount: others wait")
            if not self.allowance.requests.affords(1):
                return None
            with self._lock:
                if task.phase is not Phase.QUEUED:
                    continue
                task.phase = Phase.GIVEN
            try:
                self._give(task)
            except EngineError:
                with self._lock:  # it may have arrived: without its permit it starts nothing
                    if self._folder.revoke(task.attempt):
                        task.phase, task.number = Phase.QUEUED, 0
                raise
            except (CannotRunError, RefusedError) as error:
                now = int(self._clock() * 1e6)
                over = Ended(task.attempt, Cause.NOT_STARTED, 1, now, None, str(error))
                with self._lock:
                    self._folder.revoke(task.attempt)
                    self.tasks.finish(task, over)
            room -= 1
        return None

    def _give(self, task: Task) -> None:
        assert task.assignment is not None
        name = task.assignment.user
        otherwise = f'Slurm takes no jobs of "{name}" from it'
        who = None if name is None else person(name, otherwise)
        comment = claim(self._folder.identity, task.attempt)
        asked = words(task.assignment, self._partition, comment, self._folder.path(task.attempt))
        with self._lock:  # it may be stopped meanwhile, which is written down in the same place
            permit = self._folder.issue(task.attempt, who)
        job = Submission(asked, script(task.assignment, permit, who), who)
        task.number = self._controller.submit(job)
        task.since = self._clock()
        with self._lock:
            note = self._folder.note(task.attempt)
            self._folder.write(task.attempt, replace(note, number=task.number))

    def _cancel(self) -> None:
        """Cancels what is to stop, and what is none of ours any more."""
        with self._lock:
            stopping = [
                task
                for task in self.tasks.of(Phase.GIVEN)
                if task.stopped is not None and self._is_to_be_cancelled(task)
            ]
            for task in stopping:
                self._folder.revoke(task.attempt)
        strays = self._strays()
        self._controller.cancel([*(task.number for task in stopping if task.number), *strays])
        with self._lock:
            for task in stopping:
                task.cancelled = self._clock()

    def _is_to_be_cancelled(self, task: Task) -> bool:
        """Whether Slurm has its job, and was not told of late."""
        job = self._job(task)
        there = job is not None and (still_waits(job) or job.state in RUNNING)
        return there and (task.cancelled is None or self._clock() - task.cancelled > AGAIN)

    def _strays(self) -> list[int]:
        """Jobs with a claim of this engine that no task stands for."""
        known = {task.attempt: task.number for task in self.tasks.known.values()}
        return [
            number
            for number, (attempt, job) in self._rows.items()
            if (still_waits(job) or job.state in RUNNING) and known.get(attempt) != number
        ]

    def _read(self) -> None:
        picture = self._controller.read()
        if elder := self.adopted.elder(picture):
            raise EngineError(elder)
        self.picture = picture
        self._rows = {
            job.number: (attempt, job)
            for job in self.picture.jobs
            if (attempt := attempt_of_comment(job.comment, self._folder.identity)) is not None
        }

    def _has_started(self, task: Task) -> bool:
        return task.started is not None or self._folder.started(task.attempt) is not None

    def _look(self, begun: Collection[Attempt]) -> None:
        """Compares each task with its job. `begun`: those that had started before the reading."""
        release: list[str] = []
        with self._lock:
            for task in self.tasks.of(Phase.GIVEN):
                self._look_at(task, self._job(task), task.attempt in begun, release)
        self._controller.change(release)

    def _look_at(self, task: Task, job: SlurmJob | None, begun: bool, release: list[str]) -> None:
        started = self._folder.started(task.attempt)
        task.missing = 0 if job is not None else task.missing + 1
        if started is not None:
            self.tasks.start(task, started)
        if job is None:
            if started is None and self._folder.revoke(task.attempt):
                self._finish(task, None, None)
            elif task.missing >= LOOKS and self._is_settled(task):
                self._finish(task, None, started)
        elif still_waits(job):
            self._look_at_waiting(task, job, begun, release)
        elif job.state in RUNNING:
            self._look_at_time(task)
        elif started is not None:
            # Slurm had it over in its records: what it runs still, its node ends when it reports.
            if self._is_settled(task) and not self._is_on_its_way(task, job):
                self._finish(task, job, started)
        elif self._folder.revoke(task.attempt):
            self._finish(task, job, None)

    def _look_at_waiting(self, task: Task, job: SlurmJob, begun: bool, release: list[str]) -> None:
        if begun:
            # Without its permit it does not run again; its node ends what runs when it reports.
            task.late = "slurmctld has lost that it ran"
            task.stopped = task.stopped or Cause.STOPPED
            return
        if job.priority == 0 and job.reason == OWN_HOLD and not task.released:
            task.released = True
            release.append(f"release {job.number}")
            return
        if job.priority == 0:
            self._tell(f"job {job.number} ({job.name}) is held in Slurm ({job.reason}): it waits")
            return
        task.reason = job.reason or task.reason  # while slurmctld looks at it, it says none
        impossible = job.reason in IMPOSSIBLE
        if task.stopped is not None or not (impossible or self._clock() - task.since > BOUNCE):
            return
        if self._folder.revoke(task.attempt):
            why = f"it does not start on its node (Slurm says {task.reason or 'nothing'})"
            task.refusal, task.late = (why, "") if impossible else ("", why)
            self._tell(f"job {job.number} ({job.name}): {why}")
            self.stop(task, Cause.STOPPED)

    def _look_at_time(self, task: Task) -> None:
        limit = None if task.assignment is None else task.assignment.time_limit
        if limit is None or task.started is None or task.stopped is not None:
            return
        if self._clock() >= task.started / 1e6 + float(limit):
            self.stop(task, Cause.TIME_LIMIT)

    def _is_settled(self, task: Task) -> bool:
        """Whether its node has reported since slurmctld began: what was not known there is gone."""
        machine = None if task.assignment is None else task.assignment.machine
        return machine is None or is_there(self.picture, machine)

    def _is_on_its_way(self, task: Task, job: SlurmJob) -> bool:
        """Whether the end that its script wrote may not be seen here yet."""
        if self._folder.end(task.attempt) is not None or not may_write(job):
            return False
        return self._clock() - job.ended < DELAY

    def _finish(self, task: Task, job: SlurmJob | None, started: int | None) -> None:
        now = int(self._clock() * 1e6)
        end = None if started is None else self._folder.end(task.attempt)
        over = end_of(task.attempt, job, started, end, task.stopped, now)
        if started is None and task.refusal:
            over = Ended(task.attempt, Cause.NOT_STARTED, 1, now, None, task.refusal)
        elif task.late and not isinstance(over, Lost) and end is None:
            over = Lost(task.attempt, started is not None, task.late, machine_at_fault=False)
        self.tasks.finish(task, over)
        if task.silent:
            self.gone(task.attempt)

    def _tell(self, fault: str) -> None:
        """Says a sentence once."""
        if fault not in self._told:
            self._told = {*list(self._told)[-1000:], fault}
            self._faults.append(fault)
