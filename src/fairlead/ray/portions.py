"""A `map` that chooses by itself how many of its calls are a task: its first calls are measured."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import RLock
from typing import Protocol

from ray import cloudpickle

from fairlead.ray.errors import build_error
from fairlead.ray.future import Future
from fairlead.ray.options import Options

MEASURED = 8
"""Calls that are a task each before the others are submitted."""

LONG = 0.1
"""Seconds that a task should take. Engines tell of a start after about as long."""

TASKS = 16
"""Tasks at least that the other calls are: a few machines are busy with them, and on many machines
no more than the time of a task is lost."""

MOST = 1000
"""Calls of a task at most."""

CARRIED = 1_000_000
"""Bytes of a function and all arguments beyond which each call is a task: they may go through Ray's
store then."""

LEFT_ALONE = ("lost", "memory", "signalled")
"""Ends of a task that one of its calls may have caused and the others have to bear."""


class Put(Protocol):
    """Submits a job with a task for each item: a pickled list of so many calls, pickled each."""

    def __call__(
        self, items: Sequence[bytes], futures: list[Future], together: int, of: Portions | None
    ) -> None: ...


@dataclass(frozen=True)
class Submitter:
    """Puts jobs into the service's queue. `lock` is held by whoever tells of their events."""

    put: Put
    stop: Callable[[Future], bool]
    lock: RLock


def worthwhile(options: Options, function: bytes, calls: Sequence[bytes]) -> bool:
    """Whether several calls may be a task though nobody said so: not where what befalls a task is
    said for each of them (a limit, a gang, where it runs beside others), nor where none may be made
    twice, nor where there are few."""
    plain = (
        options.retries is None
        and options.rerunnable
        and options.time_limit is None
        and options.duration is None
        and options.gang == 1
        and not options.spread
    )
    few = len(calls) < MEASURED + 2 * TASKS
    return plain and not few and len(function) + sum(map(len, calls)) <= CARRIED


def choose_size(calls: int, seconds: Sequence[float]) -> int:
    """Chooses how many of these calls are a task, by the times of the first ones: as many as take
    about `LONG`, and no more than leave `TASKS`."""
    if not seconds:
        return 1
    mean = max(sum(seconds) / len(seconds), 1e-6)
    return max(1, min(int(LONG / mean), calls // TASKS, MOST))


class Portions:
    """The calls of such a map: some jobs, the second of which is submitted when the calls of the
    first are over, or one of them takes as long as a task should."""

    def __init__(self, what: str, calls: Sequence[bytes], submitter: Submitter) -> None:
        self.futures = [Future(what, self._cancel) for _ in calls]
        self._calls = dict(zip(self.futures, calls, strict=True))
        self._submitter = submitter
        self._seconds: list[float] = []
        self._jobs: list[list[Future]] = []
        self._left = MEASURED
        self._rest = self.futures[MEASURED:]
        self._cancelled = False
        first = self.futures[:MEASURED]
        for future in first:
            future.listeners.append(self._one_over)
        self._put(first, 1)

    def add_seconds(self, seconds: float) -> None:
        """One of the first calls took so long."""
        with self._submitter.lock:
            if self._rest:
                self._seconds.append(seconds)
                if seconds >= LONG:
                    self.submit_rest()

    def mark_started(self) -> None:
        """One of them runs, and has for a while."""
        with self._submitter.lock:
            if self._rest:
                self._seconds.append(LONG)
                self.submit_rest()

    def submit_rest(self) -> None:
        """Submits all that is not submitted yet, as things stand."""
        with self._submitter.lock:
            rest, self._rest = self._rest, []
            if rest:
                self._put(rest, choose_size(len(rest), self._seconds))

    def apart(self, futures: list[Future], cause: str) -> bool:
        """Makes the calls of a task that ended so again, each by itself; whether it does."""
        with self._submitter.lock:
            if self._cancelled or len(futures) == 1 or cause not in LEFT_ALONE:
                return False
            self._put(futures, 1)
            return True

    def _put(self, futures: list[Future], together: int) -> None:
        self._jobs.append(futures)
        calls = [self._calls[each] for each in futures]
        begins = range(0, len(calls), together)
        items = [cloudpickle.dumps(calls[begin : begin + together]) for begin in begins]
        self._submitter.put(items, futures, together, self)

    def _one_over(self, _: Future) -> None:
        with self._submitter.lock:
            self._left -= 1
            if not self._left:
                self.submit_rest()

    def _cancel(self, _: Future) -> bool:
        """Cancels all of them: whether any could still be."""
        with self._submitter.lock:
            self._cancelled = True
            rest, self._rest = self._rest, []
            jobs = list(self._jobs)
        for future in rest:
            future.settle(error=build_error("cancelled", "", future.what))
        asked = bool(rest)
        for job in jobs:
            left = next((future for future in job if not future.done()), None)
            if left is not None:
                asked |= self._submitter.stop(left)
        return asked
