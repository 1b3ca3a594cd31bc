"""An adviser in a process of its own: a long solution never makes a decision wait."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from queue import SimpleQueue

import numpy as np

from fairlead import children
from fairlead.service.fairness.interface import NOBODY, Answer, Answered, Question
from fairlead.service.fairness.solve import answer
from fairlead.sharing.present import Snapshot, Tenants

READY = "ready"
RESTED = 4.0
"""After an answer it rests so many times as long as that took: one fifth of a core at most."""
BEHIND = 5
"""By how much it is nicer than the service (a third of the part of a processor that others have):
an answer may come a little later, and who asks the service waits for it."""
FAREWELL = 2.0
"""Seconds that a process has to end by itself."""
MOST_WAIT = 60.0
"""Seconds that it rests at most, and after which a process that keeps dying is started again."""


class WorkerAdviser:
    """Answers in a process that is started once, and again where it dies.

    An answer that takes longer than `limit` seconds is given up, and says so; the process is then
    another one, and rests for as long before its next question.
    """

    def __init__(self, limit: float = 60.0, clock: Callable[[], float] = time.monotonic) -> None:
        self._limit, self._clock = limit, clock
        self._context = children.spawning()
        self._process: SpawnProcess | None = None
        self._line: _Line | None = None
        self._ready = False
        self._asked: Question | None = None  # what it computes
        self._next: Question | None = None
        self._found: Answered | None = None
        self._since = 0.0
        self._not_before = 0.0
        self._deaths = 0
        self.restarts = 0
        self._start()

    def ask(self, question: Question) -> None:
        """Computes the answer after the one that is being computed, if there is one."""
        self._next = question
        self._go_on()

    def answer(self) -> Answered | None:
        """The newest answer that is there, once."""
        self._go_on()
        found, self._found = self._found, None
        return found

    def close(self) -> None:
        self._next = self._asked = None
        self._end()

    @property
    def busy(self) -> bool:
        """Is a question being answered, or waiting?"""
        return self._asked is not None or self._next is not None

    def _go_on(self) -> None:
        """Does whatever can be done without waiting."""
        self._listen()
        now = self._clock()
        if self._asked is not None and self._ready and now - self._since > self._limit:
            self._give_up(f"the exact allocation took longer than {self._limit:g} s", now)
        if self._process is None and now >= self._not_before:
            self._start()
        idle = self._asked is None and self._ready and now >= self._not_before
        if self._next is not None and idle:
            self._send(self._next, now)

    def _listen(self) -> None:
        line = self._line
        if line is None:
            return
        while not line.messages.empty():
            message = line.messages.get()
            if message is None:
                self._restart()
                return
            if message == READY:
                self._ready = True
            elif isinstance(message, Answer) and self._asked is not None:
                self._accept(message, self._asked)
        if self._process is not None and not self._process.is_alive():
            self._restart()

    def _accept(self, message: Answer, asked: Question) -> None:
        # Names do not travel back: they are here.
        jobs = message.jobs if message.problem else replace(message.jobs, names=asked.jobs)
        jobs = jobs if len(jobs.tasks) else NOBODY
        self._found = Answered(asked, replace(message, jobs=jobs))
        self._asked = None
        self._deaths = 0
        self._not_before = self._clock() + min(RESTED * message.seconds, MOST_WAIT)

    def _send(self, question: Question, now: float) -> None:
        assert self._line is not None  # it said that it is ready
        self._next, self._asked, self._since = None, question, now
        self._line.questions.put(question)

    def _restart(self) -> None:
        """Starts again: at once the first time, then after growing waits."""
        self._deaths += 1
        now = self._clock()
        if self._asked is not None:
            self._give_up("the process that computes the exact allocation died", now)
        else:
            self._end()
        wait = 0.0 if self._deaths == 1 else min(MOST_WAIT, 2.0 ** (self._deaths - 2))
        self._not_before = now + wait

    def _give_up(self, why: str, now: float) -> None:
        asked, took = self._asked, now - self._since
        assert asked is not None
        gave_up = Answer(asked.number, asked.time, problem=why, seconds=took)
        self._found = Answered(asked, gave_up)
        self._asked = None
        self._end()
        self._not_before = now + min(RESTED * took, MOST_WAIT)

    def _start(self) -> None:
        ours, theirs = self._context.Pipe()
        self._process = self._context.Process(
            target=serve, args=(theirs,), name="fairlead-adviser", daemon=True
        )
        self._process.start()
        theirs.close()
        self._line = _Line(ours)
        self._ready = False

    def _end(self) -> None:
        process, line = self._process, self._line
        self._process = self._line = None
        self._ready = False
        if process is not None:
            self.restarts += 1
            process.kill()
            process.join(FAREWELL)
        if line is not None:
            line.close()


class _Line:
    """The connection to a process, in a thread of its own: with 100,000 jobs a question has 10 MB,
    and the loop must not wait until they are written or read. `messages`: of the process;
    None: it is gone."""

    def __init__(self, ours: Connection) -> None:
        self.questions: SimpleQueue[Question | None] = SimpleQueue()
        self.messages: SimpleQueue[Answer | str | None] = SimpleQueue()
        self._ours = ours
        self._thread = threading.Thread(target=self._run, name="adviser", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """The process has ended: the thread ends, too."""
        self.questions.put(None)
        self._thread.join(FAREWELL)

    def _run(self) -> None:
        try:
            self.messages.put(self._ours.recv())  # that it is ready
            while (question := self.questions.get()) is not None:
                self._ours.send(question)
                self.messages.put(self._ours.recv())
        except (EOFError, OSError):
            self.messages.put(None)
        finally:
            self._ours.close()


def serve(theirs: Connection) -> None:
    """Answers what it is asked until nobody is there to ask."""
    children.end_with_parent()
    _go_last()
    with suppress(EOFError, OSError):
        load()  # the first answer would take as long as that
        theirs.send(READY)
        while True:
            question: Question = theirs.recv()
            begun = time.perf_counter()
            found = answer(question)
            found = replace(found, seconds=time.perf_counter() - begun)
            if found.jobs is not NOBODY:
                found = replace(found, jobs=replace(found.jobs, names=()))
            theirs.send(found)


def load() -> None:
    """Loads the solver."""
    answer(small_question())


def _go_last() -> None:
    """Has others on the machine go before this process, which computes for long: also where the
    service was started before all others (`chrt`), since of such the system lets each go on for a
    tenth of a second."""
    if hasattr(os, "SCHED_BATCH"):  # of Linux
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    os.nice(BEHIND)


def small_question() -> Question:
    """Two jobs on a machine with two resources: few enough to be solved at once, and more than
    what is solved without a solver."""
    ones = np.ones(2, np.int64)
    now = Snapshot(
        time=0,
        capacity=np.array([[4, 4]]),
        satisfies=np.zeros((1, 1), np.uint64),
        job=np.arange(2),
        tenant=-ones,
        demand=np.array([[1, 2], [2, 1]]),
        needs=np.zeros((2, 1), np.uint64),
        spread=np.zeros(2, bool),
        waiting=9 * ones,
        held=0 * ones,
        scale=np.array([2.0, 2.0]),
    )
    nobody = Tenants(np.zeros(0, np.int64), np.zeros(0), np.zeros((0, 2), np.int64))
    up = np.ones(1, bool)
    names = ("cpu", "memory"), ("m",), ("a", "b"), ()
    return Question(0, 0, "tsf", *names, now, nobody, up, np.arange(2), np.arange(2), advice=True)
