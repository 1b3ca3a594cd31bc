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
from fairlead.scheduling.kernels.memory.tables import ALONE, FREE, JOB, MANY, NONE, SHARE, UNLIMITED
from fairlead.scheduling.kernels.search.levels import levels_of
from fairlead.scheduling.state.plainly_possible import could_run
from fairlead.scheduling.state.rows import (
    DRAINING,
    ON_MACHINES,
    UP,
    bits,
    chain,
    columns,
    ever_used,
    jobs_kept,
    machines_there,
    tasks_held,
    tenant_slots,
)
from fairlead.scheduling.state.search_invariants import search_structures
from fairlead.scheduling.state.stake_invariants import levels_since, weight_of
from fairlead.scheduling.transitions import MachineState, TaskState

GONE, WAITING = int(MachineState.GONE), int(TaskState.WAITING)
JOB_FIELDS = JOB.names or ()


def check(state: State) -> None:
    """Raises InternalError, with one sentence, where the state contradicts itself."""
    try:
        sentence = next(broken(state), None)
    except IndexError:
        sentence = "a row is named that nobody has used"
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
    job, machine, kinds, of_job, on_machine, number = columns(
        ever_used(state, "task"), "job", "machine", "state", "job_next", "machine_next", "number"
    )
    first_task, queue_first = columns(ever_used(state, "job"), "first_task", "queue_first")
    by_job: Counter[int] = Counter()
    by_machine: Counter[int] = Counter()
    queued: Counter[int] = Counter()
    for j in jobs_kept(state).tolist():
        for t in chain(of_job, first_task[j]):
            by_job[t] += 1
            if job[t] != j:
                yield f"task slot {t} is listed with job {j} but is one of {job[t]}"
        for t in chain(of_job, queue_first[j]):
            queued[t] += 1
            if job[t] != j:
                yield f"task slot {t} waits with job {j} but is one of {job[t]}"
    for m, first in enumerate(state.machine["first"][: int(state.header[0]["machines"])].tolist()):
        for t in chain(on_machine, first):
            by_machine[t] += 1
            if machine[t] != m:
                yield f"task slot {t} is listed on machine {m} but is on {machine[t]}"
    free = Counter(chain(on_machine, state.header[0]["free_task"]))
    for t, kind in enumerate(kinds[:count]):
        where = (by_job[t], by_machine[t], queued[t], free[t])
        right = (0, 0, 0, 1)
        if kind in ON_MACHINES:
            right = (1, 1, 0, 0)
        elif kind == WAITING:
            right = (0, 0, 1, 0)
        elif kind != FREE:
            yield f"task slot {t} is in state {kind}, which no task that is kept is in"
        if where != right:
            yield (
                f"task slot {t} in state {kind} is {where[0]} times with a job, {where[1]} on a"
                f" machine, {where[2]} waiting, {where[3]} free"
            )
    numbers = Counter((job[t], number[t]) for t in range(count) if kinds[t] != FREE)
    for (j, which), times in numbers.items():
        if times > 1:
            yield f"task {which} of job {j} is there {times} times"


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
    on = Counter(state.task["machine"][tasks_held(state)].tolist())
    kinds, counts = columns(state.machine[: int(state.header[0]["machines"])], "state", "tasks")
    for m, (kind, count) in enumerate(zip(kinds, counts, strict=True)):
        if kind not in (UP, DRAINING, GONE):
            yield f"machine {m} is in state {kind}"
        if count != on[m]:
            yield f"machine {m} runs {on[m]} tasks, not {count}"
        if kind == GONE and on[m]:
            yield f"machine {m} is gone and runs {on[m]} tasks"


def rooms(state: State) -> Iterator[str]:
    """Free amounts, pieces, and the largest demand that fits, from the tasks that are there."""
    there = machines_there(state).tolist()
    on: dict[int, list[int]] = {m: [] for m in there}
    job, machine, bits = columns(ever_used(state, "task"), "job", "machine", "pieces")
    units = state.unit.tolist()
    demands = state.demand[: int(state.header[0]["jobs"])].tolist()
    for t in tasks_held(state).tolist():
        on.setdefault(machine[t], []).append(t)
    for m in there:
        free = state.capacity[m].tolist()
        pieces = _whole_pieces(state, m)
        for t in on[m]:
            for r, (need, unit) in enumerate(zip(demands[job[t]], units, strict=True)):
                free[r] -= need
                if unit == 0 or need == 0:
                    continue
                taken = [p for p in _places(state, r) if bits[t] >> p & 1]
                wanted = max(1, need // unit)
                if len(taken) != wanted:
                    yield f"task slot {t} holds {len(taken)} pieces, not {wanted}"
                for p in taken:
                    pieces[p] -= min(need, unit)
        if free != state.free[m].tolist():
            yield f"machine {m} has {free} free, not {state.free[m].tolist()}"
        for p, left in pieces.items():
            if state.piece[m, p] != left:
                yield f"piece {p} of machine {m} has {left} free, not {state.piece[m, p]}"
        room = [_room(state, m, r, free, pieces) for r in range(state.resources)]
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
    held = tasks_held(state)
    job, machine = state.task["job"][held], state.task["machine"][held]
    kept_out = (state.needs[job] & ~state.satisfies[machine]).any(axis=1).tolist()
    spread = ever_used(state, "job")["spread"].tolist()
    changed, tasks = columns(state.machine, "changed", "tasks")
    for j, m, out in zip(job.tolist(), machine.tolist(), kept_out, strict=True):
        pairs[j, m] += 1
        if pairs[j, m] == 2 and spread[j] and not changed[m]:
            yield f"job {j} spreads and has several tasks on machine {m}"
        if out and not changed[m]:
            yield f"job {j} may not use machine {m} and runs there"
    there = machines_there(state)
    for m, free in zip(there.tolist(), state.free[there].tolist(), strict=True):
        if changed[m] and not tasks[m]:
            yield f"machine {m} is empty and still counts as changed under its tasks"
        if not changed[m] and min(free) < 0:
            yield f"machine {m} holds more than it has: {free} is free"


def jobs(state: State) -> Iterator[str]:
    """The counts of every job, and whether it can run and wants to."""
    there = machines_there(state)
    number, of_job = columns(ever_used(state, "task"), "number", "job_next")
    machine = state.machine[there]
    owners = machine["reserved"]
    reservations = Counter(owners[machine["pledged"] == 0].tolist())
    rooms_kept = Counter(owners[machine["kept"] == 1].tolist())
    jobs = jobs_kept(state)
    for j, usable in zip(jobs.tolist(), could_run(state, jobs, there), strict=True):
        job = dict(zip(JOB_FIELDS, state.job[j].item(), strict=True))
        held = chain(of_job, job["first_task"])
        queue = chain(of_job, job["queue_first"])
        if job["held"] != len(held):
            yield f"job {j} holds {len(held)} tasks, not {job['held']}"
        if (queue[-1] if queue else NONE) != job["queue_last"]:
            yield f"the queue of job {j} does not end where it says"
        if job["cancelled"]:
            if job["waiting"] or queue:
                yield f"job {j} is cancelled and has tasks waiting"
        else:
            waiting = job["total"] - job["next"] + len(queue)
            if job["total"] == UNLIMITED:
                waiting = MANY
            if job["waiting"] != waiting:
                yield f"{waiting} tasks of job {j} wait, not {job['waiting']}"
            if job["next"] != len(held) + len(queue) + job["over"]:
                yield f"job {j} launched {job['next']} tasks, which are not all somewhere"
        for t in (*held, *queue):
            if not 0 <= number[t] < job["next"]:
                yield f"job {j} has a task {number[t]} that it never launched"
        if job["usable"] != usable:
            yield f"job {j} is said to be usable: {job['usable']}, and is: {usable}"
        active = usable > 0 and job["waiting"] > 0
        active = active and (usable != ALONE or job["waiting"] < job["gang"])
        if job["active"] != active:
            yield f"job {j} is said to be active: {bool(job['active'])}, and is: {active}"
        reserved = reservations[j]
        if job["reserved"] != reserved:
            yield f"{reserved} machines are reserved for job {j}, not {job['reserved']}"
        kept = rooms_kept[j]
        if job["kept"] != kept:
            yield f"the room of {kept} machines is kept for job {j}, not of {job['kept']}"


def shares(state: State) -> Iterator[str]:
    """Shares of jobs, from their counts and scales."""
    scales, units, helds, mus = columns(ever_used(state, "job"), "scale", "unit", "held", "mu")
    fifo = bool(state.header[0]["fifo"])
    for j in jobs_kept(state).tolist():
        scale = scales[j]
        unit = round(SHARE / scale) if scale > 0 else 0
        if not fifo and units[j] != unit:
            yield f"a task of job {j} counts {unit} of {SHARE}, not {units[j]}"
        mu = helds[j] / scale if scale > 0 and not fifo else 0.0
        if mus[j] != mu:
            yield f"the share of job {j} is {mu}, not {mus[j]}"


def tenants(state: State) -> Iterator[str]:
    """Tenants: active children, weights, idle holdings."""
    slots = tenant_slots(state)
    tenant_rows, job_rows = ever_used(state, "tenant"), ever_used(state, "job")
    parents, seqs, first, sibling = columns(tenant_rows, "parent", "seq", "child", "sibling")
    tenant_of, holds, unit, is_active = columns(job_rows, "tenant", "held", "unit", "active")
    own: dict[int, list[int]] = {t: [] for t in slots}
    below: dict[int, list[int]] = {t: [] for t in slots}
    for j in jobs_kept(state).tolist():
        own[tenant_of[j]].append(j)
    for t in slots:
        if parents[t] >= 0:
            below[parents[t]].append(t)
    for t in slots:
        listed = chain(sibling, first[t])
        below[t].sort(key=lambda child: int(seqs[child]))
        if listed != below[t]:
            yield f"the children of tenant {t} are {below[t]}, not {listed}"
    held: dict[int, int] = {}
    busy: dict[int, bool] = {}

    def gather(t: int) -> None:
        for child in below[t]:
            gather(child)
        held[t] = sum(holds[j] * unit[j] for j in own[t])
        held[t] += sum(held[child] for child in below[t])
        busy[t] = any(is_active[j] for j in own[t]) or any(busy[c] for c in below[t])

    def compare(t: int) -> Iterator[str]:
        tenant = state.tenant[t]
        active = [j for j in own[t] if is_active[j]]
        children = [c for c in below[t] if busy[c]]
        moving = sum(holds[j] * unit[j] for j in active)
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
            for each in [j for j in active if holds[j] == 0][-1:]:
                found["nothing"] = float(levels_of(state.handle, np.array([each]))[0])
        for name, value in found.items():
            if tenant[name] != value:
                yield f"tenant {t}: {name} is {value}, not {tenant[name]}"

    for t in slots:
        if parents[t] < 0:
            gather(t)
    for t in slots:
        yield from compare(t)


def caps(state: State) -> Iterator[str]:
    """The amounts that all below a tenant with a limit hold, or have set aside."""
    slots = tenant_slots(state)
    amounts = {t: [0] * state.resources for t in slots}
    below: dict[int, list[int]] = {t: [] for t in slots}
    parents, capped = columns(ever_used(state, "tenant"), "parent", "capped")
    tenant_of, held, aside = columns(ever_used(state, "job"), "tenant", "held", "aside")
    jobs = jobs_kept(state)
    for j, demand in zip(jobs.tolist(), state.demand[jobs].tolist(), strict=True):
        count, t = held[j] + aside[j], tenant_of[j]
        while t >= 0:
            for r, need in enumerate(demand):
                amounts[t][r] += need * count
            below[t].append(j)
            t = parents[t]
    tables = (state.limit, state.used, state.owed, state.ending)
    rows = zip(slots, *(table[slots].tolist() for table in tables), strict=True)
    nothing = [0] * state.resources
    for t, limits, used, set_aside, must_end in rows:
        limited = any(limit != UNLIMITED for limit in limits)
        if capped[t] != (limited or (parents[t] >= 0 and capped[parents[t]])):
            yield f"tenant {t} is said to have limits: {bool(capped[t])}"
        if limited and used != amounts[t]:
            yield f"tenant {t} holds {amounts[t]}, not {used}"
        owed, ending = nothing, nothing
        if any(aside[j] for j in below[t]):
            owed, ending = _asides(state, t, np.array(below[t], np.intp))
        if set_aside != owed:
            yield f"below tenant {t} {owed} are set aside, not {set_aside}"
        if must_end != ending:
            yield f"below tenant {t} {ending} must end, not {must_end}"
    listed = state.asides[: int(state.header[0]["asides"])]
    apart = np.flatnonzero((state.tenant["used"] == 1) & (state.tenant["aside"] != NONE))
    if not np.array_equal(np.sort(listed), apart):
        yield f"room is set aside for tenants {apart.tolist()}, not {listed.tolist()}"


def _asides(state: State, t: int, below: Ints) -> tuple[list[int], list[int]]:
    """How much is set aside for the jobs below a tenant, and how much tasks of theirs hold that do
    not fit below its limits beside all of that."""
    limit, demand = state.limit[t], state.demand[below]
    owed = (demand * state.job["aside"][below, None]).sum(axis=0)
    limited = (limit != UNLIMITED) & (owed > 0)
    over = (limited & (demand + owed > limit)).any(axis=1)
    ending = (demand * state.job["held"][below, None])[over].sum(axis=0)
    return owed.tolist(), ending.tolist()
