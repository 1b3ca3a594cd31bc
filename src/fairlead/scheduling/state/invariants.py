"""Invariants of the core's state: everything is computed again from the held tasks.

`check` is on in every test and can be switched on anywhere (`Core(checked=True)`). It is slow: it
looks at every machine, job, tenant and task.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from fairlead.model.errors import InternalError
from fairlead.scheduling.kernels.memory.state import Ints, State
from fairlead.scheduling.kernels.memory.tables import ALONE, FREE, MANY, NONE, SHARE, UNLIMITED
from fairlead.scheduling.kernels.search.levels import levels_of
from fairlead.scheduling.state.plainly_possible import could_run
from fairlead.scheduling.state.rows import (
    bits,
    chain,
    jobs_kept,
    machines_there,
    tasks_held,
    tasks_of,
    tasks_on,
    tenant_slots,
)
from fairlead.scheduling.state.search_invariants import search_structures
from fairlead.scheduling.state.stake_invariants import levels_since, weight_of
from fairlead.scheduling.transitions import HELD, MachineState, TaskState


def check(state: State) -> None:
    """Raises InternalError, with one sentence, where the state contradicts itself."""
    sentence = next(broken(state), None)
    if sentence is not None:
        raise InternalError(f"the core's state contradicts itself: {sentence}")


def broken(state: State) -> Iterator[str]:
    """Yields a sentence for each invariant that is broken. Later ones may follow from the first."""
    for part in (
        tasks,
        machines,
        rooms,
        placements,
        jobs,
        shares,
        tenants,
        caps,
        search_structures,
    ):
        yield from part(state)


def tasks(state: State) -> Iterator[str]:
    """Every task is in exactly one state: in its job's queue, or with its job and its machine."""
    count = int(state.header[0]["tasks"])
    table = state.task
    job, machine, kinds = (table[name].tolist() for name in ("job", "machine", "state"))
    by_job: Counter[int] = Counter()
    by_machine: Counter[int] = Counter()
    queued: Counter[int] = Counter()
    for j in jobs_kept(state).tolist():
        for t in tasks_of(state, j):
            by_job[t] += 1
            if job[t] != j:
                yield f"task slot {t} is listed with job {j} but is one of {job[t]}"
        for t in chain(table, state.job[j]["queue_first"], "job_next"):
            queued[t] += 1
            if job[t] != j:
                yield f"task slot {t} waits with job {j} but is one of {job[t]}"
    for m in range(int(state.header[0]["machines"])):
        for t in tasks_on(state, m):
            by_machine[t] += 1
            if machine[t] != m:
                yield f"task slot {t} is listed on machine {m} but is on {machine[t]}"
    free = Counter(chain(table, state.header[0]["free_task"], "machine_next"))
    for t, kind in enumerate(kinds[:count]):
        where = (by_job[t], by_machine[t], queued[t], free[t])
        right = (0, 0, 0, 1)
        if kind in HELD:
            right = (1, 1, 0, 0)
        elif kind == TaskState.WAITING:
            right = (0, 0, 1, 0)
        elif kind != FREE:
            yield f"task slot {t} is in state {kind}, which no task that is kept is in"
        if where != right:
            yield (
                f"task slot {t} in state {kind} is {where[0]} times with a job, {where[1]} on a"
                f" machine, {where[2]} waiting, {where[3]} free"
            )
    numbers = Counter(
        (job[t], number)
        for t, number in enumerate(table["number"][:count].tolist())
        if kinds[t] != FREE
    )
    for (j, number), times in numbers.items():
        if times > 1:
            yield f"task {number} of job {j} is there {times} times"


def machines(state: State) -> Iterator[str]:
    """The counts of machines, and what they and no others have."""
    there = machines_there(state).tolist()
    if state.header[0]["present"] != len(there):
        yield f"{len(there)} machines are there, not {state.header[0]['present']}"
    have = (state.capacity[there] > 0).sum(axis=0)
    if (have != state.have).any():
        yield f"machines with each resource: {have.tolist()}, not {state.have.tolist()}"
    satisfied = bits(state.satisfies[there]).sum(axis=0)[: len(state.satisfied)]
    if (satisfied != state.satisfied).any():
        yield "how many machines satisfy each term is wrong"
    on = Counter(int(state.task[t]["machine"]) for t in tasks_held(state).tolist())
    for m in range(int(state.header[0]["machines"])):
        kind = int(state.machine[m]["state"])
        if kind not in (MachineState.UP, MachineState.DRAINING, MachineState.GONE):
            yield f"machine {m} is in state {kind}"
        if state.machine[m]["tasks"] != on[m]:
            yield f"machine {m} runs {on[m]} tasks, not {state.machine[m]['tasks']}"
        if kind == MachineState.GONE and on[m]:
            yield f"machine {m} is gone and runs {on[m]} tasks"


def rooms(state: State) -> Iterator[str]:
    """Free amounts, pieces, and the largest demand that fits, from the tasks that are there."""
    on: dict[int, list[int]] = {m: [] for m in machines_there(state).tolist()}
    for t in tasks_held(state).tolist():
        on.setdefault(int(state.task[t]["machine"]), []).append(t)
    for m in machines_there(state).tolist():
        free = state.capacity[m].copy()
        pieces = _whole_pieces(state, m)
        for t in on[m]:
            demand = state.demand[state.task[t]["job"]]
            free -= demand
            bits = int(state.task[t]["pieces"])
            for r, need in enumerate(demand.tolist()):
                unit = int(state.unit[r])
                if unit == 0 or need == 0:
                    continue
                taken = [p for p in _places(state, r) if bits >> p & 1]
                wanted = max(1, need // unit)
                if len(taken) != wanted:
                    yield f"task slot {t} holds {len(taken)} pieces, not {wanted}"
                for p in taken:
                    pieces[p] -= min(need, unit)
        if (free != state.free[m]).any():
            yield f"machine {m} has {free.tolist()} free, not {state.free[m].tolist()}"
        for p, left in pieces.items():
            if state.piece[m, p] != left:
                yield f"piece {p} of machine {m} has {left} free, not {state.piece[m, p]}"
        room = [_room(state, m, r, free.tolist(), pieces) for r in range(state.resources)]
        if room != state.room[m].tolist():
            yield f"machine {m} has room for {room}, not {state.room[m].tolist()}"


def _places(state: State, r: int) -> range:
    first = int(state.column[r])
    return range(first, first + state.most_pieces)


def _whole_pieces(state: State, m: int) -> dict[int, int]:
    """Each piece of a machine that nothing runs on."""
    pieces: dict[int, int] = {}
    for r, unit in enumerate(state.unit.tolist()):
        if unit:
            count = int(state.capacity[m, r]) // unit
            places = _places(state, r)
            pieces |= {p: unit if p - places.start < count else 0 for p in places}
    return pieces


def _room(state: State, m: int, r: int, free: list[int], pieces: dict[int, int]) -> int:
    unit = int(state.unit[r])
    if unit == 0:
        return max(free[r], 0)
    first = int(state.column[r])
    mine = [pieces[p] for p in range(first, first + int(state.capacity[m, r]) // unit)]
    whole = sum(left == unit for left in mine)
    return whole * unit if whole else max([0, *mine])


def placements(state: State) -> Iterator[str]:
    """No machine holds more than it has, no task is on a machine that it may not use, and no job
    that spreads has two on one, but for machines that changed under their tasks, or on which
    another scheduler placed some."""
    pairs: Counter[tuple[int, int]] = Counter()
    for t in tasks_held(state).tolist():
        j, m = int(state.task[t]["job"]), int(state.task[t]["machine"])
        pairs[j, m] += 1
        if pairs[j, m] == 2 and state.job[j]["spread"] and not state.machine[m]["changed"]:
            yield f"job {j} spreads and has several tasks on machine {m}"
        if (state.needs[j] & ~state.satisfies[m]).any() and not state.machine[m]["changed"]:
            yield f"job {j} may not use machine {m} and runs there"
    for m in machines_there(state).tolist():
        if state.machine[m]["changed"] and not state.machine[m]["tasks"]:
            yield f"machine {m} is empty and still counts as changed under its tasks"
        over = state.free[m] < 0
        if over.any() and not state.machine[m]["changed"]:
            yield f"machine {m} holds more than it has: {state.free[m].tolist()} is free"


def jobs(state: State) -> Iterator[str]:
    """The counts of every job, and whether it can run and wants to."""
    there = machines_there(state).tolist()
    for j in jobs_kept(state).tolist():
        job = state.job[j]
        held = tasks_of(state, j)
        queue = chain(state.task, job["queue_first"], "job_next")
        if job["held"] != len(held):
            yield f"job {j} holds {len(held)} tasks, not {job['held']}"
        if (queue[-1] if queue else NONE) != job["queue_last"]:
            yield f"the queue of job {j} does not end where it says"
        if job["cancelled"]:
            if job["waiting"] or queue:
                yield f"job {j} is cancelled and has tasks waiting"
        else:
            waiting = int(job["total"] - job["next"]) + len(queue)
            if job["total"] == UNLIMITED:
                waiting = MANY
            if job["waiting"] != waiting:
                yield f"{waiting} tasks of job {j} wait, not {job['waiting']}"
            if job["next"] != len(held) + len(queue) + job["over"]:
                yield f"job {j} launched {job['next']} tasks, which are not all somewhere"
        for t in (*held, *queue):
            if not 0 <= state.task[t]["number"] < job["next"]:
                yield f"job {j} has a task {state.task[t]['number']} that it never launched"
        usable = could_run(state, j, there)
        if job["usable"] != usable:
            yield f"job {j} is said to be usable: {job['usable']}, and is: {usable}"
        active = usable > 0 and job["waiting"] > 0
        active = active and (usable != ALONE or job["waiting"] < job["gang"])
        if job["active"] != active:
            yield f"job {j} is said to be active: {bool(job['active'])}, and is: {active}"
        machine = state.machine[there]
        reserved = int(((machine["reserved"] == j) & (machine["pledged"] == 0)).sum())
        if job["reserved"] != reserved:
            yield f"{reserved} machines are reserved for job {j}, not {job['reserved']}"
        kept = int(((machine["reserved"] == j) & (machine["kept"] == 1)).sum())
        if job["kept"] != kept:
            yield f"the room of {kept} machines is kept for job {j}, not of {job['kept']}"


def shares(state: State) -> Iterator[str]:
    """Shares of jobs, from their counts and scales."""
    for j in jobs_kept(state).tolist():
        job = state.job[j]
        scale = float(job["scale"])
        unit = round(SHARE / scale) if scale > 0 else 0
        if not state.header[0]["fifo"] and job["unit"] != unit:
            yield f"a task of job {j} counts {unit} of {SHARE}, not {job['unit']}"
        mu = float(job["held"]) / scale if scale > 0 and not state.header[0]["fifo"] else 0.0
        if job["mu"] != mu:
            yield f"the share of job {j} is {mu}, not {job['mu']}"


def tenants(state: State) -> Iterator[str]:
    """Tenants: active children, weights, idle holdings."""
    slots = tenant_slots(state)
    own: dict[int, list[int]] = {t: [] for t in slots}
    below: dict[int, list[int]] = {t: [] for t in slots}
    for j in jobs_kept(state).tolist():
        own[int(state.job[j]["tenant"])].append(j)
    for t in slots:
        parent = int(state.tenant[t]["parent"])
        if parent >= 0:
            below[parent].append(t)
    for t in slots:
        listed = chain(state.tenant, state.tenant[t]["child"], "sibling")
        below[t].sort(key=lambda child: int(state.tenant[child]["seq"]))
        if listed != below[t]:
            yield f"the children of tenant {t} are {below[t]}, not {listed}"
    held: dict[int, int] = {}
    busy: dict[int, bool] = {}

    def gather(t: int) -> None:
        for child in below[t]:
            gather(child)
        job = state.job
        held[t] = sum(int(job[j]["held"] * job[j]["unit"]) for j in own[t])
        held[t] += sum(held[child] for child in below[t])
        busy[t] = any(job[j]["active"] for j in own[t]) or any(busy[c] for c in below[t])

    def compare(t: int) -> Iterator[str]:
        tenant, job = state.tenant[t], state.job
        active = [j for j in own[t] if job[j]["active"]]
        children = [c for c in below[t] if busy[c]]
        moving = sum(int(job[j]["held"] * job[j]["unit"]) for j in active)
        moving += sum(held[c] for c in children)
        exactly = sum((weight_of(state, c) for c in children), Fraction(0))
        weights = float(exactly)
        found = {
            "held": held[t],
            "moving": moving,
            "jobs": len(active),
            "children": len(children),
            "weights": weights,
        }
        if busy[t] and not tenant["single"]:
            found["beside"] = weights + len(active)
            found["idle"] = (held[t] - moving) / SHARE
        if tenant["leveled"] >= levels_since(state, t):
            for each in (j for j in active if job[j]["held"] == 0):
                found["nothing"] = float(levels_of(state.handle, np.array([each]))[0])
        for name, value in found.items():
            if tenant[name] != value:
                yield f"tenant {t}: {name} is {value}, not {tenant[name]}"

    for t in slots:
        if state.tenant[t]["parent"] < 0:
            gather(t)
    for t in slots:
        yield from compare(t)


def caps(state: State) -> Iterator[str]:
    """The amounts that all below a tenant with a limit hold, or have set aside."""
    used = {t: np.zeros(state.resources, np.int64) for t in tenant_slots(state)}
    for j in jobs_kept(state).tolist():
        t = int(state.job[j]["tenant"])
        while t >= 0:
            used[t] += state.demand[j] * (state.job[j]["held"] + state.job[j]["aside"])
            t = int(state.tenant[t]["parent"])
    for t, amounts in used.items():
        limited = (state.limit[t] != UNLIMITED).any()
        capped = limited or (
            state.tenant[t]["parent"] >= 0 and state.tenant[state.tenant[t]["parent"]]["capped"]
        )
        if state.tenant[t]["capped"] != capped:
            yield f"tenant {t} is said to have limits: {bool(state.tenant[t]['capped'])}"
        if limited and (state.used[t] != amounts).any():
            yield f"tenant {t} holds {amounts.tolist()}, not {state.used[t].tolist()}"
        owed, ending = _asides(state, t)
        if (state.owed[t] != owed).any():
            yield f"below tenant {t} {owed.tolist()} are set aside, not {state.owed[t].tolist()}"
        if (state.ending[t] != ending).any():
            yield f"below tenant {t} {ending.tolist()} must end, not {state.ending[t].tolist()}"
    listed = state.asides[: int(state.header[0]["asides"])]
    aside = np.flatnonzero((state.tenant["used"] == 1) & (state.tenant["aside"] != NONE))
    if not np.array_equal(np.sort(listed), aside):
        yield f"room is set aside for tenants {aside.tolist()}, not {listed.tolist()}"


def _asides(state: State, t: int) -> tuple[Ints, Ints]:
    """How much is set aside below a tenant, and how much tasks hold there that do not fit below its
    limits beside all of that."""
    limit = state.limit[t]
    owed, ending = np.zeros_like(limit), np.zeros_like(limit)
    below = [j for j in jobs_kept(state).tolist() if t in _above(state, j)]
    for j in below:
        owed += state.demand[j] * state.job[j]["aside"]
    limited = (limit != UNLIMITED) & (owed > 0)
    for j in below:
        if (limited & (state.demand[j] + owed > limit)).any():
            ending += state.demand[j] * state.job[j]["held"]
    return owed, ending


def _above(state: State, j: int) -> list[int]:
    """The job's tenant, and those above it."""
    found, t = [], int(state.job[j]["tenant"])
    while t >= 0:
        found.append(t)
        t = int(state.tenant[t]["parent"])
    return found
