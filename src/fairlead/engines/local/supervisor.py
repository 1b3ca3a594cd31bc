"""Follows every attempt from its shim's start to its end, and stops those that are to stop."""

from __future__ import annotations

import contextlib
import os
import resource
import select
import signal
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice

from fairlead.engines.interface import Attempt, Cause, Ended, Lost, Report, Started
from fairlead.engines.local.ending import Remnants, end, memory_message
from fairlead.engines.local.groups import Groups
from fairlead.engines.local.memory import MemoryWatch, limit_of
from fairlead.engines.local.processes import Process, alive, descendants, kill, opened, process
from fairlead.engines.local.records import Claim, Records, Unclaimed
from fairlead.engines.local.spawner_link import Dead, Failed, NotRemoved, Spawned, Word
from fairlead.engines.local.task import Phase, Task, Timer, Timers

YOUNG = 0.1
"""Seconds in which a shim has long started its task: a gentle signal before would be lost."""

SHORT = 0.05
"""Seconds: that a task started which is over sooner is not said. Its end says when that was, and
the journal has an entry less for each."""

PART = 10
"""Looking through all processes may take one part in so many of the time."""

SWEEP = 1.0
"""Seconds between two looks at shims that are not watched."""

CLEARING = 0.02
"""Seconds between two looks whether what was killed is gone."""

AT_A_TIME = 200
"""So many of these are looked at even if they wrote down no end."""

DESCRIPTORS = 4
"""Watching shims may take one in so many of the files that this process may have open."""


class Supervisor:
    """Follows the engine's attempts while they are under way."""

    def __init__(
        self,
        records: Records,
        engine: str,
        grace: float,
        memory: MemoryWatch | None,
        groups: Groups | None,
    ) -> None:
        self.tasks: dict[Attempt, Task] = {}
        self.reports: dict[tuple[Attempt, bool], Report] = {}
        """Reports, oldest first, by their attempts and whether they are ends."""
        self.silenced: list[Attempt] = []
        """Attempts that nobody expected and that are over."""
        self.stray: set[Attempt] = set()
        """Attempts that are not followed, and have control groups, which are cleared."""
        self.news = False
        """Whether reports came that nobody was told yet."""
        self._records = records
        self._grace = grace
        self._memory = memory
        self._groups = groups
        self._remnants = Remnants(engine)
        self._pids: dict[int, Attempt] = {}
        self._clearing: dict[Attempt, Task] = {}
        self._limited: dict[Attempt, int] = {}  # bytes of memory of those that are looked at
        self._timers = Timers(self.tasks)
        self._epoll = select.epoll()
        self._watched: dict[int, Attempt] = {}  # by the descriptor of a shim that is no child
        self._unwatched: dict[Attempt, Claim] = {}
        self._most_watched = resource.getrlimit(resource.RLIMIT_NOFILE)[0] // DESCRIPTORS
        self._reaper = 0
        self._next_sweep = 0.0
        self._next_search = 0.0
        self._next_clearing = 0.0

    def close(self) -> None:
        """Let go of every process."""
        for descriptor in self._watched:
            os.close(descriptor)
        self._watched.clear()
        self._epoll.close()

    def finish(self, task: Task, over: Ended | Lost) -> None:
        """An attempt is over, and nothing of it runs any more."""
        over = replace(over, output=self._records.written(task.attempt))
        task.phase, task.over = Phase.OVER, over
        self._clearing.pop(task.attempt, None)
        if task.silent:
            self.silenced.append(task.attempt)
            del self.tasks[task.attempt]
            return
        if isinstance(over, Lost) and not over.started:
            unheard = self.reports.pop((task.attempt, False), None)
            if task.start_reported and unheard is None:
                # Its start was believed: that it never came to it can no longer be said.
                over = self._after_all(task, over)
                task.over = over
        self.reports[task.attempt, True] = over
        self.news = True

    def _after_all(self, task: Task, over: Lost) -> Ended | Lost:
        if task.stopping is None:
            return replace(over, started=True)
        now, output = max(time.time_ns() // 1000, task.time), over.output
        return Ended(over.attempt, task.stopping, signal.SIGTERM, now, task.time, over.why, output)

    def adopt(self, task: Task, claim: Claim) -> None:
        """An attempt's shim, which is no child of ours, runs: say so, and watch it."""
        task.phase, task.pid, task.own = Phase.RUNNING, claim.pid, False
        task.start, task.uid = claim.start, claim.uid
        task.grouped = self._groups is not None and self._groups.has(task.attempt)
        task.begun = time.monotonic() - max(0.0, time.time() - claim.time / 1_000_000)
        self._begin(task, claim.time)
        self._report_start(task)
        if len(self._watched) >= self._most_watched:
            self._unwatched[task.attempt] = claim
            return None
        descriptor = opened(claim.pid)
        if descriptor is None:
            return self.mark_dead(task, None)
        self._watched[descriptor] = task.attempt
        self._epoll.register(descriptor, select.EPOLLIN)
        # The number may have been given anew before the descriptor was opened.
        if not alive(claim.pid, claim.start):
            return self._unwatch(descriptor)
        return None

    def _begin(self, task: Task, when: int) -> None:
        task.time = when
        limit = task.assignment.time_limit if task.assignment else None
        if limit is not None:
            self._timers.add(task.begun + float(limit), task, Timer.LIMIT)
        most = limit_of(task.assignment)
        if most is not None and not (task.grouped and self._groups and self._groups.limits_memory):
            self._limited[task.attempt] = most

    def _report_start(self, task: Task) -> None:
        task.start_reported = True
        if not task.silent and (task.attempt, False) not in self.reports:
            self.reports[task.attempt, False] = Started(task.attempt, task.time)
            self.news = True

    def again(self) -> None:
        """Say anew of everything that runs that it started."""
        for task in self.tasks.values():
            if task.phase is Phase.RUNNING:
                self._report_start(task)

    def take(self, words: Sequence[Word]) -> None:
        for word in words:
            if isinstance(word, NotRemoved):
                self._records.faults.append(f"a working folder is left: {word.why}")
            elif isinstance(word, Dead):
                task = self.tasks.get(self._pids.pop(word.pid))
                if task is not None and task.own and task.pid == word.pid:
                    self.mark_dead(task, word.code)
            elif isinstance(word, Failed):
                self._take_failed(word)
            else:
                self._take_spawned(word)

    def _take_spawned(self, word: Spawned) -> None:
        self._pids[word.pid] = word.attempt
        task = self.tasks.get(word.attempt)
        if task is None or task.phase is not Phase.ORDERED:
            return
        task.phase, task.pid, task.begun = Phase.RUNNING, word.pid, time.monotonic()
        self._begin(task, word.time)
        self._timers.add(task.begun + SHORT, task, Timer.SAY)
        if task.stopping is not None:
            cause, task.stopping = task.stopping, None
            self.stop(task, cause)

    def _take_failed(self, word: Failed) -> None:
        task = self.tasks.get(word.attempt)
        if task is None or task.phase is not Phase.ORDERED:
            return
        self._forbid(task)
        if word.command_at_fault:
            now = time.time_ns() // 1000
            self.finish(task, Ended(task.attempt, Cause.NOT_STARTED, 1, now, None, word.why))
        else:
            self.finish(task, Lost(task.attempt, False, f"it could not be started: {word.why}"))

    def mark_dead(self, task: Task, code: int | None) -> None:
        """The shim of an attempt is dead; `code`: with what it exited, if that is known."""
        attempt = task.attempt
        self._limited.pop(attempt, None)
        claim = self._records.claim(attempt)
        over: Ended | Lost
        if isinstance(claim, Unclaimed):
            over = self._end_unclaimed(task, code, claim)
        else:
            if task.own and claim.pid != task.pid:
                # Another shim of this attempt, started before the engine was, was faster.
                if alive(claim.pid, claim.start):
                    return self.adopt(task, claim)
                task.pid, task.own, code = claim.pid, False, None
            now = time.time_ns() // 1000
            stopped = self._records.why(attempt)
            if stopped is None and task.stopping is not None:
                stopped = task.stopping, task.stopped
            status = self._records.status(attempt)
            over = end(attempt, task.assignment, claim, status, stopped, code, now)
            task.uid = claim.uid
            task.grouped = self._groups is not None and self._groups.has(attempt)
            if stopped is None and self._ran_out_of_memory(task):
                ended = over.time if isinstance(over, Ended) else max(now, claim.time)
                over = Ended(attempt, Cause.MEMORY, signal.SIGKILL, ended, claim.time)
            if isinstance(over, Ended) and over.cause is Cause.MEMORY:
                over = replace(over, message=memory_message(task.assignment, task.used))
        task.phase, task.over = Phase.CLEARING, over
        self._clearing[attempt] = task
        return None

    def _ran_out_of_memory(self, task: Task) -> bool:
        """Whether the kernel killed the attempt for its memory."""
        return self._groups is not None and self._groups.ran_out_of_memory(task.attempt)

    def _end_unclaimed(self, task: Task, code: int | None, claim: Unclaimed) -> Ended | Lost:
        """The end of an attempt whose shim is dead and has no claim; and no other shall."""
        attempt = task.attempt
        if claim is Unclaimed.UNREADABLE or not task.own:  # it had one when it was found
            why = "its record was removed or overwritten, so its exit code is not known"
            return Lost(attempt, True, why, machine_at_fault=False)
        try:
            self._records.forbid(attempt)
        except OSError as error:
            return Lost(attempt, False, f"its record cannot be written: {error}")
        if task.stopping is not None:
            why = "it was stopped before it started"
            return Lost(attempt, False, why, machine_at_fault=False)
        return Lost(attempt, False, f"its shim ended ({code}) before it claimed the attempt")

    def stop(self, task: Task, cause: Cause) -> None:
        """Stop an attempt, gently and then by force; one that takes too much memory at once."""
        if task.stopping is not None or task.phase in (Phase.CLEARING, Phase.OVER):
            return
        task.stopping = cause
        if task.phase is Phase.ORDERED:
            return
        task.stopped = time.time_ns()
        with contextlib.suppress(OSError):  # a full disk: then a restart forgets the cause
            self._records.stop(task.attempt, cause)
        # If it was not claimed yet, its shim finds that out and ends.
        self._forbid(task)
        now = time.monotonic()
        if cause is Cause.MEMORY:
            self._timers.add(now, task, Timer.BY_FORCE)
            return
        gently = max(now, task.begun + YOUNG)
        self._timers.add(gently, task, Timer.GENTLY)
        self._timers.add(gently + self._grace, task, Timer.BY_FORCE)

    def _forbid(self, task: Task) -> None:
        """Nobody who has not yet claimed the attempt will."""
        with contextlib.suppress(OSError):  # a full disk: a shim cannot claim it either
            self._records.forbid(task.attempt)

    def events(self) -> dict[int, int]:
        """The event of epoll, by its descriptor, at which a shim that is no child has ended."""
        return {self._epoll.fileno(): select.EPOLLIN}

    def due(self) -> float:
        """When, by the steady clock, there may be something to do that no descriptor tells of."""
        due = 0.0 if self.news else self._timers.due()
        if self._unwatched:
            due = min(due, self._next_sweep)
        if self._clearing or self.stray:
            due = min(due, self._next_clearing)
        return due

    def look(self, reaper: int) -> None:
        """Let everything happen that is due: ends, time limits, force, and what is left of the
        dead."""
        self._reaper = reaper
        self._see_ends()
        self._ring()
        self._watch_memory()
        self._clear_groups()
        self._clear(reaper)
        self._next_clearing = time.monotonic() + CLEARING

    def _watch_memory(self) -> None:
        if self._memory is None:
            return
        for attempt, used in self._memory.take_exceeding():
            task = self.tasks.get(attempt)
            if task is not None:
                task.used = task.used or used
                self.stop(task, Cause.MEMORY)
        if self._limited and self._memory.due():
            limited = self._limited.items()
            self._memory.look({self.tasks[one].pid: (limit, one) for one, limit in limited})

    def _see_ends(self) -> None:
        if self._watched:
            for descriptor, _ in self._epoll.poll(0):
                self._unwatch(descriptor)
        if self._unwatched and time.monotonic() >= self._next_sweep:
            self._next_sweep = time.monotonic() + SWEEP
            # Those that wrote down their ends, and in turn some others: a shim can be killed.
            ended = self._records.collect_ended()
            looked = [attempt for attempt in self._unwatched if attempt in ended]
            looked += list(islice(self._unwatched, AT_A_TIME))
            for attempt in dict.fromkeys(looked):
                claim = self._unwatched.pop(attempt)
                if alive(claim.pid, claim.start):
                    self._unwatched[attempt] = claim  # last in line
                else:
                    self._mark_dead_unwatched(attempt)

    def _unwatch(self, descriptor: int) -> None:
        attempt = self._watched.pop(descriptor)
        self._epoll.unregister(descriptor)
        os.close(descriptor)
        self._mark_dead_unwatched(attempt)

    def _mark_dead_unwatched(self, attempt: Attempt) -> None:
        task = self.tasks.get(attempt)
        if task is not None and task.phase is Phase.RUNNING:
            self.mark_dead(task, None)

    def _ring(self) -> None:
        gently: list[Task] = []
        for task, timer in self._timers.take(time.monotonic()):
            if timer is Timer.SAY:
                self._report_start(task)
            elif timer is Timer.LIMIT:
                self.stop(task, Cause.TIME_LIMIT)
            elif timer is Timer.GENTLY:
                gently.append(task)
            else:
                self._signal(task, signal.SIGKILL)
        if gently:
            self._tell(gently)

    def _signal(self, task: Task, sent: signal.Signals) -> None:
        """Send a signal to the group of processes of an attempt, unless its number is another's by
        now."""
        shim = process(task.pid)
        if shim is None or shim.zombie:
            return
        if shim.parent == self._reaper if task.own else shim.start == task.start:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(task.pid, sent)

    def _tell(self, tasks: Sequence[Task]) -> None:
        """Send the gentle signal to the groups of processes of these, and to what left them but is
        in their control groups, or without these below their shims."""
        for task in tasks:
            found = self._members(task)
            below = [one for one in found if one.group != task.pid]
            self._signal(task, signal.SIGTERM)
            for one in below:
                kill(one.pid, one.start, signal.SIGTERM)

    def _members(self, task: Task) -> Iterable[Process]:
        if task.grouped and self._groups is not None:
            members = (process(pid) for pid in self._groups.members(task.attempt))
            return [one for one in members if one is not None]
        return descendants(task.pid)

    def _clear_groups(self) -> None:
        """Kill what is in the control groups of the dead; report those of which they are gone."""
        if self._groups is None:
            return
        self.stray = {attempt for attempt in self.stray if not self._groups.clear(attempt)}
        for task in list(self._clearing.values()):
            if task.grouped and self._groups.clear(task.attempt) and task.over is not None:
                self.finish(task, task.over)

    def _clear(self, reaper: int) -> None:
        """Report those of which nothing runs any more, kill what is left of the others."""
        for own in (True, False):
            tasks = [
                task for task in self._clearing.values() if task.own is own and not task.grouped
            ]
            begin = time.monotonic()
            if not tasks or (not own and begin < self._next_search):
                continue
            dead: Mapping[Attempt, int] = {task.attempt: task.pid for task in tasks}
            users = {task.attempt: task.uid for task in tasks}
            left = self._remnants.clear(dead, users, reaper if own else None, self._pids)
            for task in tasks:
                if task.attempt not in left and task.over is not None:
                    self.finish(task, task.over)
            if not own:  # among all processes of the machine, which may be many
                now = time.monotonic()
                self._next_search = now + PART * (now - begin)
