"""The plain reference of the online core: every pair of job and machine is looked at each time.

It takes the same events and gives the same decisions as `fairlead.scheduling.core.Core`, and is
written to be read. Where the semantics leave room, it reads them like this:

- What a task does not demand does not matter: neither free room below 0 nor a cap that is passed.
- A job of which nothing waits and nothing is held is over: it is forgotten, its name free again.
- Scales count the machines that are not gone, as `usable` does.
- A machine that leaves loses its tasks in the order (job, number); they wait in that order.
- The patience of a job that prefers machines begins anew whenever it begins to wait: submitted,
  grown or lost back to having waiting tasks, and at each launch on a preferred machine.
- Reservations are made at the end of a round of decisions. Their expected start stays what it was
  when they were made. One ends when its job launches on one of its machines, or has nothing left
  that it could launch. It is dropped whole when one of its machines can no longer be used, and
  made anew, at once, after the next round.
- Others may have what is free on a reserved machine beyond the tasks that the reservation counts on
  there, resource by resource; of devices of which these take parts, nothing.
- What is reserved or kept for a job is given back when its lease ends, at the beginning of a round:
  `reserve_for`, or twice the longest run of a task that ended by itself, after it was made (after
  the first machine was kept; a reservation that is dropped for a machine goes on with its lease).
  It begins anew when a task that was there before it leaves one of the machines, and goes on for a
  twin (of the same tenant, asking for the same) of a job whose last task starts elsewhere.
  Where it ends, but for a machine's sake, its tenant rests for nine times as long as it was held
  since as many tasks as it was for last started together. A tenant that rests is passed over.
- Before a task is placed where a gang of lesser level could have one, but does not fit yet, the
  machine is kept for the gang, until the gang launches on one of its machines. What fits there
  counts as held. At the first task of another gang this is asked, at its others not.
- Where the places of all tasks on a machine are taken by jobs of no higher level, at the end of the
  round, it is not reserved: what a tenant has there is taken by the first of its jobs that misses
  the room and has it when all of that ends. Where nothing could be, time alone changes nothing
  until a task is launched, a reservation ends or a machine changes.
- Where a limit holds the first in line of a tenant back that has waited for `reserve_after`, or
  machines are reserved for a job, room below its limits is set aside for what it starts together:
  it counts against them for all others. It is given back as machines are.
- A gang of which fewer tasks wait than belong together launches them one by one. A gang's machines
  are those that were permissible when its first task was placed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction

from fairlead.scheduling.decisions import Decision, Launch, Reject, Stop
from fairlead.scheduling.transitions import MachineState, TaskState
from tests.reference.online_line import (
    comes_forward,
    drop_idle,
    end_lease,
    give_up,
    lapse,
    lease,
    look,
    may_pass,
    owner,
    pass_on,
    places,
    run_clocks,
    under_caps,
)
from tests.reference.online_order import active_jobs, levels, may_ever_start
from tests.reference.online_scores import SCORES
from tests.reference.online_state import (
    UNLIMITED,
    PlainJob,
    PlainMachine,
    PlainTask,
    World,
    choose_pieces,
    fits_now,
    holds_empty,
    may_use,
    needed,
    preferred,
    room,
)
from tests.reference.online_stints import begin, end_rests, measure, next_rested, rests

Scales = Callable[[World], Mapping[int, float]]
MILLION = 10**6


class Decider:
    """Decides what to launch. What happened is told to its `world` by `apply`, elsewhere."""

    def __init__(
        self,
        world: World,
        scales: Scales,
        placement: str = "best-fit",
        reserve_after: int | None = 60 * MILLION,
        reserve_for: int | None = None,
        levelled: bool = True,
    ) -> None:
        self.world = world
        self.pending: list[Stop | Reject] = []
        self._scales = scales
        self._placement = placement
        self._reserve_after = reserve_after
        world.levelled = levelled
        world.hold_for = reserve_for if world.filling and reserve_after is not None else None
        world.after = reserve_after or 0

    def levels(self) -> dict[int, float]:
        """The active jobs' levels; all 0 where the first come is first served."""
        return self._levels(self._scales(self.world))

    def _levels(
        self, scales: Mapping[int, float], more: Mapping[int, int] | None = None
    ) -> dict[int, float]:
        found = levels(self.world, scales, more)
        return found if self.world.levelled else dict.fromkeys(found, 0.0)

    def active(self) -> set[int]:
        """The jobs that have tasks waiting and could run them."""
        return active_jobs(self.world, self._scales(self.world))

    def decide(self) -> list[Decision]:
        """Launch, pair by pair, all that can be launched."""
        decisions: list[Decision] = [*self.pending]
        self.pending = []
        scales = self._scales(self.world)  # launches change none
        active = active_jobs(self.world, scales)
        jobs = self.world.jobs
        self.world.never_together = {
            job.seq for job in jobs if not may_ever_start(self.world, job, job.gang)
        }
        drop_idle(self.world, active)
        run_clocks(self.world, active, self._reserve_after, begins=True)
        lapse(self.world)
        end_rests(self.world)
        while True:
            level = self._levels(scales)
            able = [job for seq in level if self._together(job := self.world.jobs[seq])]
            first = [job for job in able if not rests(self.world, job, scales)]
            if able and not first:
                first = [min(able, key=lambda job: (level[job.seq], self.world.turn(job)))]
            pairs = [
                (self._key(job, machine, level[job.seq]), job, machine)
                for job in first
                for machine in self.world.machines
                if self._permissible(job, machine)
            ]
            if not pairs:
                break
            _, job, machine = min(pairs, key=lambda pair: pair[0])
            gang = self._keeper(job, machine, level, scales)
            if gang is not None:
                together = needed(self.world.jobs[gang])
                holds = holds_empty(self.world, self.world.jobs[gang], machine)
                kept = self.world.kept.setdefault(gang, {})
                kept[machine.seq] = min(holds, together)
                lease(self.world, gang, anew=False)
                continue
            decisions += self._launch(job, machine, scales)
            drop_idle(self.world, active_jobs(self.world, scales))
        run_clocks(self.world, set(level), self._reserve_after, begins=False)
        measure(self.world, set(level), scales)
        resting = {seq for seq in level if rests(self.world, jobs[seq], scales)}
        look(self.world, level, scales, self._reserve_after, resting)
        return decisions

    def wake(self) -> int | None:
        """The earliest moment at which time alone changes something."""
        world = self.world
        moments = [
            job.since + job.patience
            for seq in self.levels()
            if (job := world.jobs[seq]).patience and job.since + job.patience > world.now
        ]
        if world.hold_for is not None:
            if self.levels() and not world.vain and world.look_at < UNLIMITED:
                moments += [int(world.look_at)]
        elif self._reserve_after is not None and world.first is not None and not world.vain:
            moments += [world.first_since + self._reserve_after]
        moments += [lease.end for lease in world.leases.values()]
        if self.levels():
            moments += world.rests.values()
            moments += [moment] if (moment := next_rested(world)) is not None else []
        return min((moment for moment in moments if moment > world.now), default=None)

    def _keeper(
        self,
        job: PlainJob,
        machine: PlainMachine,
        level: Mapping[int, float],
        scales: Mapping[int, float],
    ) -> int | None:
        """The gang that the machine is kept for when a task of the job would be placed there: of
        those that could have one there, but not yet all that start together, the first that comes
        before the job, also if it held what would fit where room is kept for it. Of a tenant's
        gangs one after the other keeps room, and none while another gang keeps room that it could
        use."""
        world = self.world
        if not world.filling or self._reserve_after is None or owner(world, machine) is not None:
            return None
        after_all = rests(world, job, scales)
        waiting = [
            (level[seq], world.turn(gang), seq)
            for seq in level
            if needed(gang := world.jobs[seq]) > 1
            and (after_all or (level[seq], world.turn(gang)) < (level[job.seq], world.turn(job)))
            and not world.is_resting(seq)
            and not rests(world, gang, scales)
            and seq != job.seq
            and self._permissible(gang, machine)
            and under_caps(world, gang, needed(gang))
            and not self._together(gang)
            and not any(
                holds_empty(world, gang, m) > 0 and may_use(gang, m)
                for m in world.machines
                if any(m.seq in kept for other, kept in world.kept.items() if other != seq)
            )
            and (seq in world.kept or not any(s in world.kept for s in _siblings(world, gang)))
        ]
        for _, turn, seq in sorted(waiting):
            kept = [m for m in world.machines if m.seq in world.kept.get(seq, ())]
            if after_all:
                return seq
            more = sum(fits_now(world, world.jobs[seq], m) for m in kept)
            if (self._levels(scales, {seq: more})[seq], turn) < (level[job.seq], world.turn(job)):
                return seq
        return None

    def _key(
        self, job: PlainJob, machine: PlainMachine, level: float
    ) -> tuple[int, int, float, int, Fraction, int]:
        tier, urgency = self._tier(job, machine)
        score = SCORES[self._placement](self.world, job, machine)
        return (tier, urgency, level, self.world.turn(job), score, machine.seq)

    def _tier(self, job: PlainJob, machine: PlainMachine) -> tuple[int, int]:
        """The advice on the pair, under the rule that follows it."""
        if self._placement != "price-guided":
            return 0, 0
        advice = [a for a in self.world.advice if a.job == job.seq]
        if not advice:
            return 0, 0
        for each in advice:
            if machine.seq in each.machines:
                tasks = self.world.tasks_of(job)
                held = sum(1 for task in tasks if task.machine in each.machines)
                return each.rank, MILLION * held - each.target if each.rank else 0
        return self.world.last_rank, 0

    def _permissible(self, job: PlainJob, machine: PlainMachine) -> bool:
        """May a single task of the job be placed there now?"""
        return (
            machine.state is MachineState.UP
            and may_use(job, machine)
            and fits_now(self.world, job, machine) > 0
            and under_caps(self.world, job, 1)
            and may_pass(self.world, job, machine)
            and (self._tired(job) or preferred(job, machine))
        )

    def _tired(self, job: PlainJob) -> bool:
        """Has the job waited long enough for the machines that it prefers?"""
        return self.world.now >= job.since + job.patience

    def _together(self, job: PlainJob) -> bool:
        """Can all that must start together be placed now?"""
        count = needed(job)
        machines = [m for m in self.world.machines if self._permissible(job, m)]
        there = sum(places(self.world, job, m) for m in machines)
        return there >= count and under_caps(self.world, job, count)

    def _launch(
        self, job: PlainJob, machine: PlainMachine, scales: Mapping[int, float]
    ) -> list[Launch]:
        """Launch a task there, and with it the rest of its gang, each on the machine that is then
        best of those that the gang may use. Where that is reserved for it, the reservation ends if
        its tenant comes forward by that."""
        allowed = [m for m in self.world.machines if self._permissible(job, m)]
        reserved = self.world.reserved.get(job.seq)
        kept = self.world.kept.get(job.seq, ())
        held, together = self.world.leases.get(job.seq), needed(job)
        if held is not None and together >= held.tasks:
            held.since = self.world.now
        launches: list[Launch] = []
        for _ in range(together):
            if launches:
                able = [m for m in allowed if places(self.world, job, m) > 0]
                machine = min(able, key=lambda m: self._key(job, m, 0.0))
            launches.append(self._start(job, machine))
            forward = self.world.hold_for is None or comes_forward(self.world, job, scales)
            there = reserved is not None and machine.seq in reserved.machines
            only_aside = job.seq in self.world.aside and reserved is None and not kept
            self.world.aside.pop(job.seq, None)
            held_back = self.world.hold_for is not None and not under_caps(
                self.world, job, needed(job)
            )
            if only_aside:
                end_lease(self.world, job.seq, in_vain=True)
            if machine.seq in kept or (there and (forward or together > 1 or held_back)):
                give_up(self.world, job.seq, in_vain=True)
            else:
                pass_on(self.world, job, active_jobs(self.world, scales))
        if together > 1:
            names = [launch.machine for launch in reversed(launches)]
            taken = [m for name in names if (m := self.world.machine_named(name)) is not None]
            begin(self.world, job, taken, active_jobs(self.world, scales))
        return launches

    def _start(self, job: PlainJob, machine: PlainMachine) -> Launch:
        world = self.world
        world.stir()
        if job.queue:
            number = job.queue.pop(0)
        else:
            number = job.next
            job.next += 1
        job.launches[number] = job.launches.get(number, 0) + 1
        if world.filling:
            world.take_turn(job)
        pieces = choose_pieces(world, job, room(world, machine))
        if preferred(job, machine):
            job.since = world.now
        world.tasks.append(
            PlainTask(
                job=job.seq,
                number=number,
                machine=machine.seq,
                state=TaskState.LAUNCHED,
                attempt=job.launches[number],
                launched=world.now,
                pieces=pieces,
            )
        )
        named = tuple((world.measures[r].name, piece) for r, piece in pieces)
        return Launch(job.job.name, number, machine.machine.name, job.launches[number], named)


def _siblings(world: World, job: PlainJob) -> list[int]:
    """The jobs of the same tenant."""
    own = job.job.tenant
    return [] if own is None else [other.seq for other in world.jobs if other.job.tenant == own]
