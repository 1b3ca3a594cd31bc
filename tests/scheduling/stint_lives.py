"""Lives of small clusters in which tenants send gangs above their parts, again and again."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from contextlib import suppress
from fractions import Fraction
from random import Random

from fairlead.model.job import Job
from fairlead.model.machine import Machine
from fairlead.model.tenant import Tenant
from fairlead.scheduling import events
from fairlead.scheduling.decisions import Launch
from fairlead.scheduling.events import Event
from tests.reference.online_apply import RefusedError, apply
from tests.reference.online_scales import FAIR
from tests.scheduling.draw import PLACEMENTS, SECOND, Case

WHOSE = ("a", "a", "b", "c", "d", "d/x", "d/y", None)
"""Jobs are of these tenants, or of nobody; of some there are more."""
SIZES = (1, 1, 1, 10**12, 1, Fraction(1, 10**6))
"""By the seed: all weights that are told in a life are so many times what is drawn."""
LIMITED = (3, 5)
"""And of such a life b and c have a limit."""
AT_ONCE = 7
"""So many jobs wait, or run, at most."""


def life(seed: int, length: int = 60) -> Case:
    """So many instants, lived through by the plain reference."""
    random = Random(seed)
    case = Case(
        seed=seed,
        policy=random.choice(FAIR),
        placement=random.choice(PLACEMENTS),
        reserve_after=20 * SECOND,
        reserve_for=random.choice((20, 200)) * SECOND,
        filling=True,
        instants=(),
    )
    return Case(**{**vars(case), "instants": tuple(_instants(random, case, length))})


def _begun(random: Random, seed: int) -> Iterator[Event]:
    kind = seed % len(SIZES)
    for name in sorted({whose for whose in WHOSE if whose}):
        parent = name.split("/")[0] if "/" in name else None
        weight = random.choice((None, None, 1, 2, Fraction(1, 3)))
        weight = None if weight is None else weight * SIZES[kind]
        limit = {"cpu": 2} if kind in LIMITED and name in "bc" else {}
        yield events.TenantChanged(0, Tenant(name, parent=parent, weight=weight, limit=limit))
    for i in range(random.randint(2, 4)):
        size = {"cpu": random.choice((2, 4)), "memory": 4}
        yield events.MachineJoined(0, Machine(f"m{i}", size, {"zone": random.choice("ab")}))


def _job(random: Random, number: int) -> Job:
    gang = random.choice((1, 1, 2, 3, 4))
    return Job(
        f"j{number}",
        {"cpu": random.choice((1, 1, 2)), "memory": random.choice((1, 1, 2))},
        tenant=random.choice(WHOSE),
        tasks=gang * random.choice((1, 1, 3)) + random.choice((0, 0, 1)),
        gang=gang,
        where=f"zone = {random.choice('ab')}" if random.random() < 0.2 else "",
    )


def _instants(random: Random, case: Case, length: int) -> Iterator[tuple[Event, ...]]:
    """Tasks end after times of their jobs, jobs come, and some are cancelled; and what wakes."""
    decider = case.reference()
    world = decider.world
    ends: list[tuple[int, int, str, int]] = []
    told: list[Event] = list(_begun(random, case.seed))
    launched = 0
    for _ in range(length):
        for event in told:
            with suppress(RefusedError):  # what it cancels may have ended just now
                apply(decider, event)
        yield tuple(told)
        for decision in decider.decide():
            if isinstance(decision, Launch):
                last = random.choice((5, 30, 30, 300)) * SECOND
                heapq.heappush(ends, (world.now + last, launched, decision.job, decision.task))
                launched += 1
        wake, come = decider.wake(), world.now + random.choice((1, 7, 40)) * SECOND
        now = min([come, *([wake] if wake else []), *([ends[0][0]] if ends else [])])
        told = [events.TimePassed(now)]
        while ends and ends[0][0] == now:
            _, _, name, number = heapq.heappop(ends)
            job = world.job_named(name)
            if job is not None and any(task.number == number for task in world.tasks_of(job)):
                kind = events.TaskStopped if job.cancelled else events.TaskFinished
                told.append(kind(now, name, number))
        there = [job.job.name for job in world.jobs if not world.over(job) and not job.cancelled]
        if now == come and len(there) < AT_ONCE:
            told.append(events.JobSubmitted(now, _job(random, len(world.jobs))))
        elif now == come and random.random() < 0.2:
            told.append(events.JobCancelled(now, random.choice(there)))
