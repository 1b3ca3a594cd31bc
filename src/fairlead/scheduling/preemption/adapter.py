"""Preemption as it meets the core: its state in plain values, orders as changes of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from fairlead.model.errors import InputError
from fairlead.scheduling.events import GuaranteesChanged
from fairlead.scheduling.kernels.change.machine_events import stop
from fairlead.scheduling.kernels.change.pledges import pledge, release
from fairlead.scheduling.kernels.memory.codes import Full
from fairlead.scheduling.kernels.memory.state import Ints, Records, State
from fairlead.scheduling.kernels.memory.trail import mix
from fairlead.scheduling.preemption.picture import (
    BOUNDLESS,
    Held,
    HeldJob,
    HeldMachine,
    HeldTask,
    free_pieces,
    pieces_of,
)
from fairlead.scheduling.preemption.rule import Memory, Preemption
from fairlead.scheduling.state.book import Book
from fairlead.scheduling.state.digest import word_of
from fairlead.scheduling.state.rows import (
    STOPPING,
    UP,
    eased,
    jobs_kept,
    limits,
    stopping_tasks,
    tasks_held,
)

Launches = Sequence[tuple[int, int]]
"""Of a round of decisions: the slots of job and machine."""


class Stopping:
    """Stops tasks for jobs below their guarantees, by the orders of `Preemption`."""

    def __init__(self, after: int) -> None:
        self._preemption = Preemption(after)
        self._slot: dict[int, int] = {}  # of the jobs that are guaranteed anything, by seq

    def set_guarantees(self, book: Book, event: GuaranteesChanged) -> None:
        """Replaces all guarantees; those of jobs that are gone by now are left out."""
        guarantees_changed(book, event)
        known = [name for name in event.guarantees if name in book.ids.jobs]
        slots = [book.ids.jobs[name] for name in known]
        seqs = book.state.job["seq"][slots].tolist()
        self._slot = dict(zip(seqs, slots, strict=True))
        self._preemption.set_guarantees(
            {seq: event.guarantees[name] for seq, name in zip(seqs, known, strict=True)}
        )

    def apply_orders(self, book: Book, launches: Launches) -> bool:
        """Does what there is to do after these launches; whether there was anything. There may
        be something to launch then, and more to do after that."""
        state = book.state
        by_seq = [(int(state.job[j]["seq"]), m) for j, m in launches]
        orders = self._preemption.orders(
            book.now,
            self._standing(book).get,
            by_seq,
            lambda pledged: collect_held(book, pledged),
        )
        for m in orders.released:
            release(state.handle, m)
        slots = _slots(book) if orders.stops or orders.pledges else {}
        tasks = _tasks(book) if orders.stops else {}
        while len(state.out) < int(state.header[0]["out"]) + len(orders.stops):
            state.grow(Full.OUT)
        for seq, number in orders.stops:
            stop(state.handle, tasks[slots[seq], number])
        for m, seq in orders.pledges:
            pledge(state.handle, m, slots[seq])
        return bool(orders)

    def wake(self) -> int | None:
        """The earliest moment at which somebody will have waited long enough."""
        return self._preemption.wake()

    def state(self) -> tuple[int, ...]:
        """All that is remembered, in integers."""
        return self._preemption.state()

    def memory(self) -> tuple[tuple[tuple[int, int], ...], Memory]:
        """All that is remembered: jobs' slots by their seqs, and what preemption remembers."""
        return tuple(self._slot.items()), self._preemption.memory()

    def remember(self, slots: Sequence[tuple[int, int]], memory: Memory) -> None:
        """From now on this remembers what that one did."""
        self._slot = dict(slots)
        self._preemption.remember(memory)

    def _standing(self, book: Book) -> dict[int, tuple[int, int]]:
        """Of the jobs that are guaranteed anything, are there and can run somewhere, by their seqs:
        how many tasks run, those told to stop left out, and how many wait."""
        if not self._slot:
            return {}
        seqs = np.fromiter(self._slot, np.int64, len(self._slot))
        slots = np.fromiter(self._slot.values(), np.int64, len(self._slot))
        jobs = book.state.job[slots]
        there = (jobs["used"] > 0) & (jobs["seq"] == seqs) & (jobs["usable"] > 0)
        waiting = np.where(jobs["cancelled"] > 0, 0, jobs["waiting"])
        running = jobs["held"] - stopping_tasks(book.state)[slots]
        stands = zip(running[there].tolist(), waiting[there].tolist(), strict=True)
        return dict(zip(seqs[there].tolist(), stands, strict=True))


def guarantees_changed(book: Book, event: GuaranteesChanged) -> None:
    """Updates the core on the event, whether it follows guarantees or not."""
    for name, tasks in event.guarantees.items():
        if tasks < 0:
            raise InputError(
                f"a guarantee of {tasks} tasks", "write 0 or more", about=("job", name)
            )
    book.pass_time(event.time)
    mix(book.state.handle, word_of(list(event.guarantees.items())))


def collect_held(book: Book, pledged: Mapping[int, int] | None) -> Held:
    """What `Preemption` asks for: the tasks held on the machines that are pledged, or on all. Its
    time grows with what is there, so a pledge that stands is not paid for by all jobs."""
    state = book.state
    header = state.header[0]
    up = np.flatnonzero(state.machine["state"][: int(header["machines"])] == UP)
    tasks = state.task[tasks_held(state)]
    jobs = np.flatnonzero(
        state.job["used"][: int(header["jobs"])] & (state.job["usable"][: int(header["jobs"])] > 0)
    )
    if pledged is not None:
        up = up[np.isin(up, list(pledged))]
        tasks = tasks[np.isin(tasks["machine"], up)]
        holds = np.isin(state.job["seq"][jobs], list(pledged.values()))
        jobs = jobs[holds | np.isin(jobs, tasks["job"])]
    else:
        tasks = tasks[state.machine["state"][tasks["machine"]] == UP]
    stopping = stopping_tasks(state)
    return Held(
        machines=tuple(_machine(book, m) for m in up.tolist()),
        jobs=tuple(_job(book, j, stopping) for j in jobs.tolist()),
        tasks=_tasks_of(state, tasks),
        piece=tuple(state.unit.tolist()),
    )


def _tasks_of(state: State, tasks: Records) -> tuple[HeldTask, ...]:
    """These rows; column by column, as each field of a row takes as long as all of a column."""
    columns = (
        state.job["seq"][tasks["job"]],
        tasks["number"],
        tasks["machine"],
        tasks["launched"],
        tasks["pieces"],
        tasks["state"] == STOPPING,
    )
    return tuple(
        HeldTask(job, number, machine, launched, pieces_of(state, pieces), stopping)
        for job, number, machine, launched, pieces, stopping in zip(
            *(column.tolist() for column in columns), strict=True
        )
    )


def _machine(book: Book, m: int) -> HeldMachine:
    state = book.state
    return HeldMachine(
        seq=m,
        free=tuple(state.free[m].tolist()),
        terms=int.from_bytes(state.satisfies[m].astype("<u8").tobytes(), "little"),
        pieces=free_pieces(state, m),
        open=bool(state.machine[m]["reserved"] < 0),
    )


def _job(book: Book, j: int, stopping: Ints) -> HeldJob:
    state = book.state
    job = state.job[j]
    words = state.needs[j] | (state.prefers[j] if job["patient"] else np.uint64(0))
    rate = _rate(state, int(job["tenant"]))
    running = int(job["held"]) - int(stopping[j])
    told = book.ids.job_at.get(j)  # no job that was put in without a name is kept
    return HeldJob(
        seq=int(job["seq"]),
        demand=tuple(state.demand[j].tolist()),
        running=running,
        waiting=0 if job["cancelled"] else int(job["waiting"]),
        stopping=0 if job["cancelled"] else int(stopping[j]),
        needs=int.from_bytes(words.astype("<u8").tobytes(), "little"),
        spread=bool(job["spread"]),
        gang=int(job["gang"]),
        room=_room(book, j),
        each=1.0 / float(job["scale"]) / rate if rate > 0 else 0.0,
        once=told is not None and not told.rerunnable,
    )


def _rate(state: State, t: int) -> float:
    """How much weight each active job of a tenant has; of a tenant that has none, a job that would
    be the only one."""
    if state.header[0]["fifo"]:
        return 1.0
    return _weight(state, t) / (float(state.tenant[t]["beside"]) or 1.0)


def _weight(state: State, t: int) -> float:
    """A tenant's weight, as those above it are split among their active children and jobs."""
    weight, parent = float(state.tenant[t]["weight"]), int(state.tenant[t]["parent"])
    if parent < 0:
        return weight
    return _weight(state, parent) * weight / (float(state.tenant[parent]["beside"]) or weight)


def _room(book: Book, j: int) -> int:
    """How many more tasks the limits of the job's tenants allow."""
    state, need = book.state, book.state.demand[j]
    aside, free = need * state.job[j]["aside"], eased(state)
    left = (
        max(limit - int(state.used[t, r] - max(aside[r], free[t, r])), 0) // int(need[r])
        for t, r, limit in limits(state, int(state.job[j]["tenant"]), need)
    )
    return min(left, default=BOUNDLESS)


def _slots(book: Book) -> Mapping[int, int]:
    """The jobs' slots by their seqs."""
    jobs = jobs_kept(book.state)
    return dict(zip(book.state.job["seq"][jobs].tolist(), jobs.tolist(), strict=True))


def _tasks(book: Book) -> Mapping[tuple[int, int], int]:
    """The slots of held tasks by job slot and number."""
    state = book.state
    return {
        (int(state.task[t]["job"]), int(state.task[t]["number"])): t
        for t in tasks_held(state).tolist()
    }
