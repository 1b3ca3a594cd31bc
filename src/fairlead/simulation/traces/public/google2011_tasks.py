"""Google 2011's task events brought down to tasks: who asked for what, when, and how long it ran.

Events come in parts, in order of time. Each part is reduced to one row a task and merged with its
neighbours, so that what is in memory are a few numbers for each task, never its events.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np

from fairlead.model.errors import InputError
from fairlead.simulation.traces.tables import MISSING, Part
from fairlead.simulation.workload import Bools, Ints

SUBMIT, SCHEDULE, EVICT, FAIL, FINISH, KILL, LOST = range(7)
"""The event types of the trace's documentation; 7 and 8 are updates."""

START = 600_000_000
"""Microseconds: the trace begins here; time 0 means "already there when it began"."""

_INDEX_BITS = 24  # of a task's number in its job; 39 are left for the job

ROWS = 1_000_000
"""Events that are collected before they are reduced."""


@dataclass(frozen=True)
class Tasks:
    """A row for each task that has an event, in the order of job and number. MISSING: not known.

    `submit` is its first submission. The user is that of its first event that names one; demands
    and flag are those of its first event that has both demands. `began` and `ended` are of the last
    run that ended in a way that counts; `running` is when the last run began that has not. `orphan`
    is such an end whose beginning is in an earlier part.
    """

    key: Ints
    submit: Ints
    user: Ints
    cpu: Ints
    memory: Ints
    different: Ints
    began: Ints
    ended: Ints
    running: Ints
    orphan: Ints

    @property
    def job(self) -> Ints:
        """The trace's number of the job."""
        return self.key >> _INDEX_BITS


def reduce_events(
    parts: Iterable[Part], ends: Sequence[int], rows_at_once: int = ROWS
) -> tuple[Tasks, Mapping[int, int]]:
    """The tasks of all parts, and how many events of each type there are. A run counts as ended
    by the event types in `ends`. Raises InputError where events are out of order."""
    # Rows that were reduced, the earliest and longest first. Neighbours of like length are merged,
    # so that a task is merged as often as the logarithm of the number of tasks.
    levels: list[Tasks] = [_empty()]
    counts = np.zeros(9, dtype=np.int64)
    waiting: list[Part] = []
    rows = 0
    last = 0
    for part in parts:
        time = part["time"]
        if len(time) and (time[0] < last or (np.diff(time) < 0).any()):
            raise InputError(
                "the task events are not in the order of their times",
                "give the parts as they were published, in the order of their names",
            )
        last = int(time[-1]) if len(time) else last
        counts += np.bincount(part["event"], minlength=9)
        waiting.append(part)
        rows += len(time)
        if rows >= rows_at_once:
            levels.append(_of_part(_join(waiting), ends))
            waiting, rows = [], 0
            while len(levels) > 1 and len(levels[-2].key) <= 2 * len(levels[-1].key):
                after = levels.pop()
                levels.append(_merge(levels.pop(), after))
    if rows:
        levels.append(_of_part(_join(waiting), ends))
    while len(levels) > 1:
        after = levels.pop()
        levels.append(_merge(levels.pop(), after))
    return levels[0], {kind: int(count) for kind, count in enumerate(counts)}


def _empty() -> Tasks:
    return Tasks(*(np.zeros(0, dtype=np.int64) for _ in fields(Tasks)))


def _join(parts: Sequence[Part]) -> Part:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _of_part(part: Part, ends: Sequence[int]) -> Tasks:
    if part["index"].max() >> _INDEX_BITS or part["job"].max() >> (63 - _INDEX_BITS):
        raise InputError(
            "a job's number is 2^39 or more, or a task's 2^24 or more",
            "this is not the trace that Google published",
        )
    key = part["job"] << _INDEX_BITS | part["index"]
    order = np.argsort(key, kind="stable")
    key, event = key[order], part["event"][order]
    # Time 0 is "before the beginning"; the workload's time starts where the trace does.
    time = np.maximum(part["time"][order] - START, 0)
    starts = np.flatnonzero(np.concatenate(([True], key[1:] != key[:-1])))
    place = np.arange(len(key))
    begin = np.repeat(starts, np.diff(np.append(starts, len(key))))  # of each row's task

    never = len(key)
    first = np.minimum.reduceat(np.where(event == SUBMIT, place, never), starts)
    submitted = first < never

    def of_first(having: Bools, name: str) -> Ints:
        """The value in each task's first row of those that have it."""
        place_of = np.minimum.reduceat(np.where(having[order], place, never), starts)
        there = place_of < never
        return np.where(there, part[name][order[np.where(there, place_of, 0)]], MISSING)

    asking = (part["cpu"] != MISSING) & (part["memory"] != MISSING)

    # For each row, the last row of its task up to here that is of the kind; -1: none.
    scheduled = np.maximum.accumulate(np.where(event == SCHEDULE, place, -1))
    scheduled = np.where(scheduled >= begin, scheduled, -1)
    ending = np.isin(event, ends)
    whole = np.maximum.reduceat(np.where(ending & (scheduled >= 0), place, -1), starts)
    lone = np.maximum.reduceat(np.where(ending & (scheduled < 0), place, -1), starts)
    running = np.maximum.reduceat(np.where(event == SCHEDULE, place, -1), starts)
    return Tasks(
        key=key[starts],
        submit=np.where(submitted, time[np.where(submitted, first, 0)], MISSING),
        user=of_first(part["user"] != MISSING, "user"),
        cpu=of_first(asking, "cpu"),
        memory=of_first(asking, "memory"),
        different=of_first(asking, "different"),
        began=np.where(whole >= 0, time[scheduled[whole]], MISSING),
        ended=np.where(whole >= 0, time[whole], MISSING),
        running=np.where(running >= 0, time[running], MISSING),
        orphan=np.where(lone >= 0, time[lone], MISSING),
    )


def _merge(before: Tasks, after: Tasks) -> Tasks:
    """The rows of both, one for each task; the events of `after` come right after those of
    `before`. Associative: neighbours may be merged in any order."""
    key = np.concatenate((before.key, after.key))
    order = np.argsort(key, kind="stable")
    key = key[order]
    same = np.concatenate((key[1:] == key[:-1], [False])) if len(key) else np.zeros(0, np.bool_)
    kept = np.concatenate(([True], ~same[:-1])) if len(key) else same
    both = same[kept]  # the row goes on in the next one

    def columns(name: str) -> tuple[Ints, Ints]:
        """The values known before, and those that come after where the task has both."""
        values = np.concatenate((getattr(before, name), getattr(after, name)))[order]
        earlier = values[kept]
        later = np.full(len(earlier), MISSING, dtype=np.int64)
        later[both] = values[1:][same[:-1]]
        return earlier, later

    merged = {"key": key[kept]}
    for name in ("submit", "user", "cpu", "memory"):
        earlier, later = columns(name)
        merged[name] = np.where(earlier == MISSING, later, earlier)
    earlier, later = columns("different")  # MISSING in an event that has demands is no flag
    merged["different"] = np.where(columns("cpu")[0] == MISSING, later, earlier)
    began, began_later = columns("began")
    ended, ended_later = columns("ended")
    running, running_later = columns("running")
    orphan_before, orphan = columns("orphan")
    across = (ended_later == MISSING) & (orphan != MISSING) & (running != MISSING)
    merged["began"] = np.select([ended_later != MISSING, across], [began_later, running], began)
    merged["ended"] = np.select([ended_later != MISSING, across], [ended_later, orphan], ended)
    merged["running"] = np.where(running_later != MISSING, running_later, running)
    # Its beginning may be earlier still.
    lone = (orphan != MISSING) & (running == MISSING)
    merged["orphan"] = np.where(lone, orphan, orphan_before)
    return Tasks(**merged)
