"""Reservations, plainly: who is first in line, and which machines are kept free for him."""

from __future__ import annotations

from collections.abc import Mapping, Set
from fractions import Fraction

from fairlead.model.tenant import Tenant
from fairlead.scheduling.state.terms import needed_by
from fairlead.scheduling.transitions import MachineState
from tests.reference.online_order import SHARE, levels
from tests.reference.online_state import (
    UNLIMITED,
    Clock,
    Lease,
    PlainJob,
    PlainMachine,
    PlainTask,
    Reservation,
    Room,
    World,
    fits_now,
    holds_empty,
    leaves,
    may_use,
    must_end,
    needed,
    preferred,
    room,
    take,
    tasks_that_fit,
)

NEVER = float("inf")
KINDS = 16
"""So many kinds of jobs are asked until machines can be reserved for one."""
LOOKS = 4
"""It is looked so often at most in `after`."""


def owner(world: World, machine: PlainMachine) -> int | None:
    """The job that the machine is reserved for."""
    for job, reservation in world.reserved.items():
        if machine.seq in reservation.machines:
            return job
    return next((job for job, machines in world.kept.items() if machine.seq in machines), None)


RESTS = 9
"""So many times as long as something was held in vain nothing is held for the tenant."""
LONGER = 2
"""So many times as long as the longest run a lease is at least."""
REMEMBERED = 8
"""The longest run is forgotten by half after so many times as long without another one."""


def give_up(world: World, job: int, in_vain: bool) -> None:
    """Nothing is reserved, kept or set aside for the job any more."""
    in_vain = in_vain and _holds(world, job)
    world.reserved.pop(job, None)
    world.aside.pop(job, None)
    world.kept.pop(job, None)
    world.stir()
    end_lease(world, job, in_vain)


def _holds(world: World, seq: int) -> bool:
    """Does a job with a lease hold machines, or room that a cap leaves already?"""
    job = world.jobs[seq]
    if seq not in world.aside or seq in world.reserved or seq in world.kept:
        return True
    return any(
        _taken(world, tenant, r, job) * measure.unit < tenant.limit[measure.name]
        for tenant in world.ancestors(job)
        for r, measure in enumerate(world.measures)
        if measure.name in tenant.limit and job.demand[r] > 0
    )


def lease(world: World, job: int, anew: bool) -> None:
    """The job has a lease from now on; only `anew` another one where it has one."""
    if world.hold_for is None or (job in world.leases and not anew):
        return
    since = world.leases[job].since if job in world.leases else world.now
    end = world.now + _term(world, world.hold_for)
    world.leases[job] = Lease(since, end, needed(world.jobs[job]), world.now)


def _term(world: World, least: int) -> int:
    """How long a lease is."""
    return max(least, LONGER * world.longest)


def extend_lease(world: World, task: PlainTask, time: int) -> None:
    """A task leaves a machine: if it was there before what is held there was, that begins anew. So
    does the lease of whom room is set aside for below a cap of its tenants that is exceeded."""
    holders = {owner(world, world.machines[task.machine])}
    for tenant in world.ancestors(world.jobs[task.job]):
        below = {job.seq for job in world.holders(tenant.name)}
        if any(
            _taken(world, tenant, r) * measure.unit > tenant.limit[measure.name]
            for r, measure in enumerate(world.measures)
            if measure.name in tenant.limit
        ):
            holders |= below & set(world.aside)
    for holder in holders:
        held = None if holder is None else world.leases.get(holder)
        if held is not None and world.hold_for is not None and task.launched < held.begun:
            held.end = max(held.end, time + _term(world, world.hold_for))


def pass_on(world: World, job: PlainJob, active: Set[int]) -> None:
    """The last task of the job starts elsewhere: what is reserved for it is for the twin that is
    last to start."""
    held = world.leases.get(job.seq)
    if held is None or job.waiting > 0 or held.tasks > 1 or job.seq not in world.reserved:
        return
    heirs = [
        (world.turn(other), seq)
        for seq in active
        if seq not in world.reserved
        and seq not in world.kept
        and _are_twins(world, job, other := world.jobs[seq])
        and needed(other) == 1
        and (other.job.spread, bool(other.job.prefer)) == (job.job.spread, bool(job.job.prefer))
    ]
    heir = max(heirs)[1] if heirs and not job.job.prefer else None
    if heir is not None and under_caps(world, world.jobs[heir], 1):
        world.reserved[heir] = world.reserved.pop(job.seq)
        world.leases[heir] = world.leases.pop(job.seq)
        set_aside(world, world.jobs[heir], 1)


def end_lease(world: World, job: int, in_vain: bool) -> None:
    """It has none any more; what was held in vain makes its tenant rest."""
    ended = world.leases.pop(job, None)
    if ended is not None and in_vain:
        rest = world.now + RESTS * (world.now - ended.since)
        if rest > world.now:
            world.look_at = world.now
        whose = world.whose(job)
        if rest > max(world.now, world.rests.get(whose, 0)):
            world.rests[whose] = rest


def lapse(world: World) -> None:
    """Leases and rests that are over end."""
    for job in [job for job, lease in world.leases.items() if lease.end <= world.now]:
        world.due = [each for each in world.due if each != job]
        give_up(world, job, in_vain=True)
    over = [whose for whose, until in world.rests.items() if until <= world.now]
    if over:
        world.stir()
        world.look_at = world.now
    for whose in over:
        del world.rests[whose]


def forget_over(world: World) -> None:
    """What was remembered of jobs that are over, and of no tenant."""
    over = {job.seq for job in world.jobs if world.over(job)}
    for seq in over:
        world.leases.pop(seq, None)
        world.rests.pop(seq, None)
        world.stints.pop(seq, None)


def remember_run(world: World, task: PlainTask, time: int) -> None:
    """A task ended by itself."""
    if world.hold_for is None:
        return
    if time - world.longest_at > REMEMBERED * world.longest:
        world.longest, world.longest_at = world.longest // 2, time
    if time - task.launched >= world.longest:
        world.longest, world.longest_at = time - task.launched, time


def may_pass(world: World, job: PlainJob, machine: PlainMachine, left: Room | None = None) -> bool:
    """May the job be placed there in spite of reservations? It may if nobody else has reserved
    the machine, or if its task, whose duration is told, ends before the other is to start, or if
    the tasks that are counted on there, and each smaller number of them, find as much once all has
    ended that must. `left`: as if that were free."""
    other = owner(world, machine)
    if other is None or other == job.seq:
        return True
    kept = world.kept.get(other, {})
    if machine.seq not in kept:
        start = world.reserved[other].start
        if job.expected > 0 and start is not None and world.now + job.expected <= start:
            return True
    if world.hold_for is None:
        return False
    tasks = (kept if machine.seq in kept else world.reserved[other].machines)[machine.seq]
    left = left or room(world, machine)
    fits = tasks_that_fit(world, job, left) > 0
    its = world.jobs[other]
    return fits and all(
        leaves(world, job, its, number, left, must_end(world, its, number, machine))
        for number in range(1, tasks + 1)
    )


def places(world: World, job: PlainJob, machine: PlainMachine) -> int:
    """How many of its tasks may be placed there at once."""
    left, count = room(world, machine), 0
    most = fits_now(world, job, machine)
    while count < most and may_pass(world, job, machine, left):
        take(world, job, left)
        count += 1
    return count


def under_caps(world: World, job: PlainJob, count: int) -> bool:
    """Do the caps of the job's tenant, and of those above it, allow so many tasks more, beside what
    is set aside for others and not held by what must end first? What the job does not demand does
    not matter."""
    for tenant in world.ancestors(job):
        for r, measure in enumerate(world.measures):
            if measure.name not in tenant.limit or job.demand[r] == 0:
                continue
            own = world.aside.get(job.seq, 0) * job.demand[r]
            held = _taken(world, tenant, r) - max(own, _eased(world, tenant, r))
            if (held + count * job.demand[r]) * measure.unit > tenant.limit[measure.name]:
                return False
    return True


def _taken(world: World, tenant: Tenant, r: int, but: PlainJob | None = None) -> int:
    """How much of a resource all jobs of a tenant, and below it, hold or have set aside; `but`:
    what is set aside for this one does not count."""
    return sum(
        j.demand[r] * (len(world.tasks_of(j)) + (world.aside.get(j.seq, 0) if j is not but else 0))
        for j in world.holders(tenant.name)
    )


def _eased(world: World, tenant: Tenant, r: int) -> int:
    """How much of what is set aside below a tenant, where its cap is exceeded so, is held by tasks
    that must end before it is used: it would not fit beside them, did nobody hold anything else."""
    below = world.holders(tenant.name)
    owed = [
        sum(world.aside.get(j.seq, 0) * j.demand[q] for j in below)
        for q in range(len(world.measures))
    ]
    caps = {
        q: tenant.limit[measure.name] / measure.unit
        for q, measure in enumerate(world.measures)
        if measure.name in tenant.limit
    }
    if not any(owed) or not any(_taken(world, tenant, q) > cap for q, cap in caps.items()):
        return 0
    ends = [
        j
        for j in below
        if any(owed[q] > 0 and j.demand[q] + owed[q] > cap for q, cap in caps.items())
    ]
    return min(owed[r], sum(j.demand[r] * len(world.tasks_of(j)) for j in ends))


def _can_set_aside(
    world: World, job: PlainJob, order: Set[int], scales: Mapping[int, float], refused: set[str]
) -> bool:
    """May room be set aside for the job, which a cap holds back? Not below a cap that is then
    exceeded, where anything is promised to others there, or one of another tenant waits that would
    have less. `refused`: below these tenants one was refused now."""
    count = needed(job)
    unit = round(SHARE / scales[job.seq])
    grows = world.levelled and held_by(world, world.whose(job.seq), scales) >= count * unit
    for tenant in world.ancestors(job):
        below = {j.seq for j in world.holders(tenant.name)}
        others = {seq for seq in below & order if world.whose(seq) != world.whose(job.seq)}
        for r, measure in enumerate(world.measures):
            if measure.name in tenant.limit and job.demand[r] > 0:
                taken = _taken(world, tenant, r) + count * job.demand[r]
                if taken * measure.unit <= tenant.limit[measure.name]:
                    continue
                if grows and others:
                    then = levels(world, scales, {job.seq: count})
                    if any(then[seq] < then[job.seq] for seq in others):
                        refused.add(tenant.name)
                if tenant.name in refused or below & {*world.reserved, *world.aside}:
                    return False
    return True


def set_aside(world: World, job: PlainJob, count: int) -> bool:
    """Set room below its tenant's caps aside for so many tasks of the job, if none is for another
    job of its tenant."""
    another = any(world.whose(seq) == world.whose(job.seq) for seq in world.aside)
    capped = any(tenant.limit for tenant in world.ancestors(job))
    if world.hold_for is None or another or not capped:
        return False
    world.aside[job.seq] = count
    return True


def release(world: World, job: PlainJob, machine: PlainMachine) -> float:
    """When a task of the job is expected to fit: now, when enough tasks of told duration have
    ended, or NEVER where nobody knows."""
    told = [t for t in world.tasks_on(machine) if world.jobs[t.job].expected > 0]
    told.sort(key=lambda t: _end(world, t))

    def fits(ended: list[PlainTask]) -> bool:
        there = [t for t in world.tasks_on(machine) if not any(t is other for other in ended)]
        if job.job.spread and any(t.job == job.seq for t in there):
            return False
        return tasks_that_fit(world, job, room(world, machine, ended)) > 0

    if fits([]):
        return world.now
    for count in range(1, len(told) + 1):
        if fits(told[:count]):
            return max(world.now, _end(world, told[count - 1]))
    return NEVER


def _end(world: World, task: PlainTask) -> int:
    return task.launched + world.jobs[task.job].expected


def missing(world: World, job: PlainJob, machine: PlainMachine) -> Fraction:
    """The largest part of the machine that is missing for a task, over its resources."""
    left = room(world, machine)
    return max(
        Fraction(max(0, d - left.free[r]), machine.capacity[r])
        for r, d in enumerate(job.demand)
        if d > 0
    )


def misses(world: World, job: PlainJob, machine: PlainMachine) -> list[int]:
    """The resources of which a task of the job finds too little free on the machine."""
    return [
        r
        for r, need in enumerate(job.demand)
        if need > most_of(world, machine, r, need <= world.measures[r].piece)
    ]


def most_of(world: World, machine: PlainMachine, r: int, part: bool = False) -> int:
    """How much of a resource a task finds on the machine: free, or in whole devices, or in `part`
    of one."""
    left, piece = room(world, machine), world.measures[r].piece
    if not piece:
        return max(left.free[r], 0)
    if part:
        return max(left.pieces[r], default=0)
    return piece * sum(free == piece for free in left.pieces[r])


def others(
    world: World,
    job: PlainJob,
    machine: PlainMachine,
    order: Mapping[int, float],
    then: Mapping[int, float] | None,
) -> bool:
    """Do the tasks on the machine that are of a higher level, and too small to make room alone,
    make none together? What a tenant has there is its own to start again, by the first of its jobs
    that `takes` it, or is, of a single task, the job's own, or makes room for that. `then`: the
    levels at which all would be with what the job starts together, where that is asked. To an older
    version one such task was enough."""
    single = needed(job) == 1

    def starts_again(other: PlainJob) -> bool:
        if _are_twins(world, job, other):
            return single or then is not None
        takers = [world.jobs[seq] for seq in order if takes(world, world.jobs[seq], machine, other)]
        if not takers:
            return False
        other = min(takers, key=lambda taker: (order[taker.seq], world.turn(taker)))
        if other is job:
            return not single and then is not None
        if world.hold_for is not None and job.job.tenant and other.job.tenant == job.job.tenant:
            return (order[other.seq], world.turn(other)) < (order[job.seq], world.turn(job))
        if then is not None:
            return then[other.seq] < then[job.seq]
        return order[other.seq] <= order[job.seq] if world.levelled else other.seq < job.seq

    def makes_room(other: PlainJob) -> bool:
        if job.job.spread and any(t.job == job.seq for t in there):
            return False
        return all(other.demand[r] >= job.demand[r] for r in missed)

    missed = misses(world, job, machine)
    there = world.tasks_on(machine)
    jobs_there = [world.jobs[task.job] for task in there]
    if not there:
        return single
    give = [o for o in jobs_there if not starts_again(o) and not (single and makes_room(o))]
    if not give or world.hold_for is None:
        return not give
    free = room(world, machine).free
    return any(
        need > 0 and sum(other.demand[r] for other in give) + max(free[r], 0) < need
        for r, need in enumerate(job.demand)
    )


def takes(world: World, taker: PlainJob, machine: PlainMachine, other: PlainJob) -> bool:
    """May the job take the place of a task of the other one there, when all ends that their tenant
    has there? A single task that has room already is kept from it by something else. An older
    version asked only the task's own job."""
    finds = tasks_that_fit(world, taker, room(world, machine)) > 0
    if world.hold_for is None:
        return taker is other and not finds
    if world.whose(taker.seq) != world.whose(other.seq) or (finds and needed(taker) == 1):
        return False
    there = [world.jobs[task.job] for task in world.tasks_on(machine)]
    mine = [each for each in there if world.whose(each.seq) == world.whose(other.seq)]
    if needed(taker) > max(each.job.gang for each in mine) or not _accepts(taker, machine, world):
        return False
    for r in misses(world, taker, machine):
        need, piece = taker.demand[r], world.measures[r].piece
        demands = [each.demand[r] for each in mine]
        if not piece:
            holds = room(world, machine).free[r] + sum(demands)
        elif need < piece:
            holds = max(demands)
        else:
            holds = most_of(world, machine, r) + sum(d for d in demands if d >= piece)
        if need > holds:
            return False
    return True


def _are_twins(world: World, job: PlainJob, other: PlainJob) -> bool:
    """Are they of one tenant, and ask machines for the same? An older version asked of no other."""
    if world.hold_for is None or job.job.tenant is None:
        return job.seq == other.seq
    one, two = ((j.job.tenant, tuple(j.demand), frozenset(needed_by(j.job))) for j in (job, other))
    return one == two


def _kind(job: PlainJob) -> tuple[object, ...]:
    """What the job asks machines for."""
    return (needed(job), job.job.spread, tuple(job.demand), frozenset(needed_by(job.job)))


def choose(
    world: World, job: PlainJob, order: Mapping[int, float], scales: Mapping[int, float]
) -> Reservation | None:
    """The machines to reserve for the job, among those that nobody else has reserved; None if
    even all of them together are too few."""
    able = [m for m in world.machines if _stands(job, m, world) and owner(world, m) is None]
    if world.filling:
        wanted = needed(job)
        then = None
        if world.hold_for is not None and world.levelled:
            whose, unit = world.whose(job.seq), round(SHARE / scales[job.seq])
            soon = reserved_for(world, whose, scales)
            if held_by(world, whose, scales) + soon >= wanted * unit:
                then = levels(world, scales, {job.seq: wanted + soon // unit})
        able = [m for m in able if not others(world, job, m, order, then)]
    elif needed(job) == 1:
        # Where nobody else has a task, those of its own that end make room for its next.
        able = [m for m in able if _own(world, job, m) < len(world.tasks_on(m))]
    able.sort(
        key=lambda m: (
            release(world, job, m),
            _age(world, job, m),
            _own(world, job, m),
            missing(world, job, m),
            m.seq,
        )
    )
    # What is kept for it already is a part of it.
    counted = dict(world.kept.get(job.seq, {}))
    there = sum(holds_empty(world, job, world.machines[seq]) for seq in counted)
    while able and there < needed(job):
        machine = able.pop(0)
        holds = holds_empty(world, job, machine)
        counted[machine.seq] = min(holds, needed(job) - there)
        there += holds
    if there < needed(job):
        return None
    start = max(release(world, job, world.machines[seq]) for seq in counted)
    return Reservation(counted, None if start == NEVER else int(start))


def _age(world: World, job: PlainJob, machine: PlainMachine) -> int:
    """For how long the oldest task of others runs there, in doublings of the wait."""
    if world.hold_for is None:
        return 0
    others = [
        task.launched
        for task in world.tasks_on(machine)
        if not _are_twins(world, job, world.jobs[task.job])
    ]
    return int((world.now - min(others, default=world.now)) // world.after).bit_length()


def _own(world: World, job: PlainJob, machine: PlainMachine) -> int:
    tasks = world.tasks_on(machine)
    return sum(_are_twins(world, job, world.jobs[task.job]) for task in tasks)


def drop_idle(world: World, active: Set[int]) -> None:
    """Nothing stays reserved for a job that has no task that it could launch."""
    for seq in sorted({*world.reserved, *world.kept, *world.aside} - active):
        give_up(world, seq, in_vain=True)


def review(world: World, machine: PlainMachine, active: Set[int], time: int) -> None:
    """After a machine drained, changed or left at a time: a reservation that it no longer serves
    then is dropped whole, and made anew after the next round of decisions. One that it serves
    stays, whatever would be chosen now."""
    world.now = time
    seq = owner(world, machine)
    world.stir()
    if seq is not None and not _stands(world.jobs[seq], machine, world):
        whole, held = seq in world.reserved, world.leases.get(seq)
        give_up(world, seq, in_vain=False)
        # Whether a machine could run it is asked once all of the moment has happened.
        if whole and (seq in active or world.jobs[seq].waiting > 0):
            world.due.append(seq)
            if held is not None:
                world.leases[seq] = held


def run_clocks(world: World, active: Set[int], after: int | None, begins: bool) -> None:
    """As a round `begins`, the clocks of tenants begin whose jobs wait from now on; those of who
    waits no more end, then and after it."""
    waiting = {world.whose(seq) for seq in active}
    for gone in world.clocks.keys() - waiting:
        del world.clocks[gone]
    for whose in waiting - world.clocks.keys() if begins else ():
        world.clocks[whose] = Clock(world.now)
        if after is not None:
            world.look_at = min(world.look_at, world.now + after)


def held_by(world: World, whose: str | int, scales: Mapping[int, float]) -> int:
    """What the tenant holds, in units."""
    jobs = [world.jobs[whose]] if isinstance(whose, int) else world.holders(whose)
    there = [job for job in jobs if scales[job.seq] > 0]
    return sum(len(world.tasks_of(job)) * round(SHARE / scales[job.seq]) for job in there)


def reserved_for(world: World, whose: str | int, scales: Mapping[int, float]) -> int:
    """What the tenant will hold more, in units, once all starts that machines are reserved for."""
    return sum(
        sum(reservation.machines.values()) * round(SHARE / scales[seq])
        for seq, reservation in world.reserved.items()
        if world.whose(seq) == whose
    )


def comes_forward(world: World, job: PlainJob, scales: Mapping[int, float]) -> bool:
    """After a launch of the job: has its tenant more than it held since its clock began?"""
    clock, held = world.clocks[world.whose(job.seq)], held_by(world, world.whose(job.seq), scales)
    if held <= clock.best:
        return False
    clock.since, clock.best = world.now, held
    return True


def look(
    world: World,
    order: Mapping[int, float],
    scales: Mapping[int, float],
    after: int | None,
    resting: Set[int],
) -> None:
    """At the end of a round of decisions: make anew what was dropped, and reserve where it is time
    to. `order` gives the active jobs' levels; for those who are `resting` after a stint nothing
    is."""
    if after is None:
        return
    for seq in sorted(world.due):
        made = seq in order and _reserve(world, seq, order, scales, anew=False)
        if not made and seq not in world.kept:
            end_lease(world, seq, in_vain=False)
    world.due = []
    if world.hold_for is None:
        _look_for_first(world, order, after)
    elif not order:
        world.look_at = UNLIMITED
    elif world.now >= world.look_at:
        _look_in_line(world, order, scales, after, resting)


def _look_in_line(
    world: World,
    order: Mapping[int, float],
    scales: Mapping[int, float],
    after: int,
    resting: Set[int],
) -> None:
    """Reserve for the first of those whose tenants have waited for long for whom there are
    machines, and find when to look again. A tenant who was asked waits anew."""

    def begin_anew(whose: str | int, failed: int | None) -> None:
        clock = world.clocks[whose]
        clock.since, clock.best = world.now, held_by(world, whose, scales)
        clock.failed = failed

    def in_time(whose: str | int) -> bool:
        return world.clocks[whose].since + after <= world.now >= world.rests.get(whose, 0)

    for seq in [seq for seq in world.reserved if seq in order]:
        if not under_caps(world, world.jobs[seq], needed(world.jobs[seq])):
            give_up(world, seq, in_vain=True)
            begin_anew(world.whose(seq), world.clocks[world.whose(seq)].failed)
    waiting = _line(world, order, held_back=True)
    line = [seq for *_, seq in waiting if in_time(world.whose(seq)) and seq not in resting]
    if world.crowded:
        line.sort(key=lambda seq: world.clocks[world.whose(seq)].since)
    kinds: list[tuple[object, ...]] = []
    asked: set[str | int] = set()
    soon = world.now + max(after // LOOKS, 1)
    full = False
    held_back: set[str | int] = set()
    refused: set[str] = set()
    for seq in line:
        job, whose = world.jobs[seq], world.whose(seq)
        if not under_caps(world, job, needed(job)):
            first = whose not in held_back and not any(world.whose(k) == whose for k in world.aside)
            if (
                first
                and _can_set_aside(world, job, set(order), scales, refused)
                and set_aside(world, job, needed(job))
            ):
                lease(world, seq, anew=False)
                begin_anew(whose, None)
            held_back.add(whose)
            continue
        kind = _kind(job)
        if kind in kinds:
            continue
        full = len(kinds) == KINDS
        if full:
            break
        asked.add(world.whose(seq))
        if _reserve(world, seq, order, scales):
            begin_anew(world.whose(seq), None)
            world.look_at, world.vain = world.now + after, False
            return
        kinds.append(kind)
    world.crowded = full
    for whose in [whose for whose in world.clocks if in_time(whose)]:
        if not full:
            begin_anew(whose, world.stirs)
        elif whose in asked:
            begin_anew(whose, world.clocks[whose].failed)
    times = [
        clock.since + after
        for whose, clock in world.clocks.items()
        if clock.failed != world.stirs and world.now >= world.rests.get(whose, 0)
    ]
    world.vain = not times
    world.look_at = max(min(times), soon) if times else world.now + after


def _line(
    world: World, order: Mapping[int, float], held_back: bool = False
) -> list[tuple[float, int, int]]:
    """Those for whom nothing is reserved, by (level, turn), `held_back` with those whom a limit
    holds back."""
    return sorted(
        (level, world.turn(world.jobs[seq]), seq)
        for seq, level in order.items()
        if seq not in world.reserved
        and (held_back or under_caps(world, world.jobs[seq], needed(world.jobs[seq])))
    )


def _look_for_first(world: World, order: Mapping[int, float], after: int) -> None:
    """As an older version did: find the first in line, and reserve for it if it has been first for
    so long without holding more than it ever did then. In vain, it is tried again after as long; by
    a version without filling, each time."""
    while True:
        line = _line(world, order)
        if not line:
            world.first = None
            return
        first = line[0][2]
        held = len(world.tasks_of(world.jobs[first]))
        if first != world.first or held > world.first_held:
            world.first, world.first_since, world.first_held = first, world.now, held
            world.vain = False
        if world.now - world.first_since < after:
            return
        if not world.filling:
            if not _reserve(world, first, order, {}):
                return
        elif _reserve(world, first, order, {}):
            pass
        elif _reserve_behind(world, [seq for *_, seq in line], order):
            world.first = None  # begins anew
        else:
            world.first_since, world.vain = world.now, True
            return


def _reserve_behind(world: World, line: list[int], order: Mapping[int, float]) -> bool:
    """Reserve for the first one behind the first in line for whom there are machines. Of those that
    are alike one is asked, and of so many kinds."""
    kinds = [_kind(world.jobs[line[0]])]
    for seq in line:
        kind = _kind(world.jobs[seq])
        if kind in kinds:
            continue
        if _reserve(world, seq, order, {}):
            return True
        if len(kinds) == KINDS:
            return False
        kinds.append(kind)
    return False


def _reserve(
    world: World,
    seq: int,
    order: Mapping[int, float],
    scales: Mapping[int, float],
    anew: bool = True,
) -> bool:
    made = choose(world, world.jobs[seq], order, scales)
    if made is not None:
        world.reserved[seq] = made
        world.kept.pop(seq, None)
        lease(world, seq, anew)
        set_aside(world, world.jobs[seq], needed(world.jobs[seq]))
    return made is not None


def _stands(job: PlainJob, machine: PlainMachine, world: World) -> bool:
    """May the machine be reserved for the job?"""
    up = machine.state is MachineState.UP
    return up and _accepts(job, machine, world) and holds_empty(world, job, machine) > 0


def _accepts(job: PlainJob, machine: PlainMachine, world: World) -> bool:
    """May it use the machine, and does it not decline it as it waits for what it prefers?"""
    tired = world.hold_for is None or world.now >= job.since + job.patience
    return may_use(job, machine) and (tired or preferred(job, machine))
