"""Stints: who held more than its part while others waited rests after it, and no longer."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from fractions import Fraction
from functools import cache
from random import Random

import pytest

from fairlead.model.job import Job
from fairlead.model.machine import Machine
from fairlead.model.tenant import Tenant
from fairlead.scheduling.core import Core
from fairlead.scheduling.dump import dump, load
from fairlead.scheduling.events import (
    Event,
    JobCancelled,
    JobSubmitted,
    MachineJoined,
    TaskFinished,
    TaskStopped,
    TenantChanged,
    TimePassed,
)
from fairlead.scheduling.kernels.memory.tables import POINTS
from fairlead.scheduling.reconfigure import reconfigure
from fairlead.scheduling.state.ids import Unit
from fairlead.scheduling.why.rests import AfterStint
from tests.reference import online, online_apply, online_stints
from tests.scheduling.agreement import failure
from tests.scheduling.draw import Case
from tests.scheduling.loop import Seen, run
from tests.scheduling.stint_lives import life
from tests.scheduling.test_dump import without

SECOND = 10**6
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
CPUS = 8
SMALL = ("b", "c", "d")
LIVES = (0, 1, 2, 4, 6, 7, 8, 9, 10, 15)
"""Lives that find what is planted in the reference: see `SEEDS` in `test_agreement`."""
APART = 20
"""With `--cases` the seeds that come after each of them are so far from each other."""
FIELDS = ("stint", "owes", "rate", "part", "alone", "took", "measured", "stale")
FOUND_OUT: dict[str, tuple[int, Callable[..., object] | None]] = {
    "charge": (2, None),
    "rests": (2, lambda *_: False),
    "end_rests": (2, None),
    "next_rested": (1, None),
    "_find_part": (1, None),
    "_is_full": (15, lambda *_: False),
    "_weight": (4, lambda *_: 2**20),
}
"""Seeds of lives that need these of the reference, and what stands for them."""


@cache
def known(seed: int) -> Case:
    """A life, for all who look at it."""
    return life(seed)


def single(tenant: str, name: str = "") -> Job:
    return Job(name or tenant, {"cpu": 1}, tenant=tenant)


def gang(tenant: str, name: str = "", size: int = CPUS, tasks: int | None = None) -> Job:
    return Job(name or tenant, {"cpu": 1}, tenant=tenant, gang=size, tasks=tasks)


def begun(cpus: int = CPUS, tenants: Iterable[Tenant] = ()) -> list[Event]:
    """Machines of one CPU, and tenants."""
    told: list[Event] = [MachineJoined(0, Machine(f"m{i}", {"cpu": 1})) for i in range(cpus)]
    names = [Tenant(name) for name in ("a", *SMALL)]
    return [*told, *(TenantChanged(0, tenant) for tenant in (*names, *tenants))]


def lived(told: Iterable[Event], hours: int = 8) -> Seen:
    """What runs where gangs take half an hour, and all other tasks a minute on average."""
    random = Random(1)

    def duration(job: str, _task: int) -> int:
        return 30 * MINUTE if job.startswith("a") else round(random.uniform(1, 2 * MINUTE))

    return run(Core([Unit("cpu", Fraction(1, 100))]), told, duration, hours * HOUR)


def held(seen: Seen, whose: str, hours: int = 8) -> float:
    """How many tasks of jobs that begin so run on average, after the first two hours."""
    total, start = 0.0, 2 * HOUR
    for i, time in enumerate(seen.times):
        until = seen.times[i + 1] if i + 1 < len(seen.times) else hours * HOUR
        tasks = sum(n for job, n in seen.running[i].items() if job.startswith(whose))
        total += tasks * max(0, until - max(time, start))
    return total / (hours * HOUR - start)


def others(time: int = 0) -> list[Event]:
    """Three tenants of which tasks of one CPU always wait."""
    return [JobSubmitted(time, single(name)) for name in SMALL]


def again() -> list[Event]:
    return [JobSubmitted(0, gang("a")), *others()]


def before_all() -> list[Event]:
    """Forty gangs come before anybody else does."""
    return [*(JobSubmitted(0, gang("a", f"a{i}", tasks=CPUS)) for i in range(40)), *others(MINUTE)]


def ever_new() -> list[Event]:
    """Each gang asks for less than the one before."""
    demands = [{"cpu": 1 - Fraction(i, 100)} for i in range(30)]
    gangs = [
        Job(f"a{i}", demand, tenant="a", gang=CPUS, tasks=CPUS) for i, demand in enumerate(demands)
    ]
    return [*(JobSubmitted(0, each) for each in gangs), *others()]


def half() -> list[Event]:
    return [JobSubmitted(0, gang("a", size=CPUS // 2)), *others()]


def with_single_tasks() -> list[Event]:
    """What it has of single tasks counts, too: they go on while it rests."""
    return [*again(), JobSubmitted(0, single("a", "single"))]


@pytest.mark.parametrize("world", [again, before_all, ever_new, half])
def test_a_tenant_of_large_gangs_holds_its_part_and_no_more(
    world: Callable[[], list[Event]],
) -> None:
    seen, part = lived([*begun(), *world()]), CPUS / 4
    assert 0.6 * part < held(seen, "a") < 1.1 * part
    assert all(0.85 * part < held(seen, name) for name in SMALL)


def test_single_tasks_beside_its_gangs_gain_it_nothing() -> None:
    seen, part = lived([*begun(), *with_single_tasks()]), CPUS / 4
    assert held(seen, "a") + held(seen, "single") < 1.2 * part


def test_users_below_one_tenant_hold_its_part_together() -> None:
    users = [Tenant(f"a{i}", parent="a") for i in range(3)]
    told = [*begun(tenants=users), *(JobSubmitted(0, gang(each.name)) for each in users), *others()]
    assert held(lived(told), "a") < 1.1 * CPUS / 4


def test_weights_say_what_a_part_is() -> None:
    told = [*begun(), TenantChanged(0, Tenant("a", weight=3)), *again()]
    assert 0.7 * CPUS / 2 < held(lived(told), "a") < 1.1 * CPUS / 2


def test_who_is_alone_does_not_rest() -> None:
    assert held(lived([*begun(), JobSubmitted(0, gang("a"))]), "a") == CPUS


STARTED = 10 * SECOND
LONG = 100 * SECOND
"""For so long the gang runs."""


def after_a_stint(*more: Event, ends: bool = True) -> Core:
    """A gang of all four CPUs ran while another tenant waited, and another gang waits."""
    core = Core([Unit("cpu")], checked=True)
    for event in begun(4):
        core.apply(event)
    core.apply(JobSubmitted(STARTED, gang("a", "first", 4, 4)))
    core.apply(JobSubmitted(STARTED, single("b")))
    for event in more:
        core.apply(event)
    core.decide()
    core.apply(JobSubmitted(STARTED + LONG, gang("a", "second", 4, 4)))
    for task in range(4) if ends else ():
        core.apply(TaskFinished(STARTED + LONG, "first", task))
    core.decide()
    return core


def owed(core: Core, tenant: str = "a") -> int:
    """Microseconds for which the tenant rests yet."""
    return int(core.state.tenant["owes"][core.ids.tenants[tenant]]) // POINTS


def running(core: Core, job: str) -> int:
    return core.why(job).running if job in core.ids.jobs else 0


def test_it_rests_until_its_average_is_its_part() -> None:
    core = after_a_stint()
    # It held four for this time, where two are its part.
    assert owed(core) == LONG
    assert (running(core, "second"), running(core, "b")) == (0, 4)
    core.handle(TimePassed(STARTED + LONG + LONG // 2))
    assert owed(core) == LONG // 2
    assert core.state.header[0]["reservations"] == 0
    core.handle(TimePassed(STARTED + 2 * LONG))
    # Now machines are reserved for it.
    assert owed(core) == 0
    assert core.state.header[0]["reservations"] == 4


@pytest.mark.parametrize("size", [Fraction(1, 2000), 10**12])
def test_weights_of_any_size_say_what_a_part_is(size: Fraction | int) -> None:
    # As those of pools, which are shares: a pool of two of a thousand machines weighs 0.002.
    weights = [Tenant("a", weight=3 * size), Tenant("b", weight=size)]
    core = after_a_stint(*(TenantChanged(STARTED, each) for each in weights))
    # It held four for this time, where three are its part.
    assert abs(owed(core) - LONG // 3) < LONG // 500


def test_tasks_that_are_next_to_nothing_of_a_cluster_count() -> None:
    core = Core([Unit("cpu"), Unit("memory")], policy="kdf(k=2)", checked=True)
    huge, where = {"cpu": 10**6, "memory": 10**6}, {"zone": "elsewhere"}
    for event in [MachineJoined(0, Machine("huge", huge, where)), *begun(0)]:
        core.apply(event)
    for i in range(4):
        core.apply(MachineJoined(0, Machine(f"m{i}", {"cpu": 1, "memory": 1}, {"zone": "here"})))
    one = Job("b", {"cpu": 1, "memory": 1}, tenant="b", where="zone = here")
    core.apply(
        JobSubmitted(STARTED, replace(one, name="first", tenant="a", gang=4, tasks=Fraction(4)))
    )
    core.handle(JobSubmitted(STARTED, one))
    core.handle(TimePassed(STARTED + LONG))
    assert abs(owed(core) - LONG) < LONG // 500


def test_it_wakes_when_the_rest_is_over_and_machines_are_reserved_soon() -> None:
    core = after_a_stint()
    times = []
    while not core.state.header[0]["reservations"]:
        wake = core.wake()
        assert wake is not None
        times.append(wake)
        core.handle(TimePassed(wake))
    assert STARTED + 2 * LONG in times
    assert STARTED + 2 * LONG <= times[-1] < STARTED + 2 * LONG + MINUTE


def test_why_says_that_it_rests_and_for_how_long() -> None:
    core = after_a_stint()
    core.handle(TimePassed(STARTED + LONG + 10 * SECOND))
    (rest,) = (each for each in core.why("second").reasons if isinstance(each, AfterStint))
    assert rest == AfterStint("a", holds=False, seconds=Fraction(90))
    assert str(rest) == (
        "tenant a held more than its part while others waited, and rests for 90 s more: until then"
        " the gang starts only where nobody else can use the room"
    )
    still = after_a_stint(ends=False)
    (rest,) = (each for each in still.why("second").reasons if isinstance(each, AfterStint))
    assert str(rest) == (
        "tenant a holds its part or more while others wait, and rests for 100 s after it: until"
        " then the gang starts only where nobody else can use the room"
    )


def test_who_cancels_and_sends_again_rests_as_long() -> None:
    core = after_a_stint()
    core.handle(JobCancelled(STARTED + LONG, "second"))
    core.handle(JobSubmitted(STARTED + LONG, gang("a", "third", 4, 4)))
    assert owed(core) == LONG
    assert running(core, "third") == 0


def test_a_gang_that_is_stopped_counts_for_as_long_as_it_ran() -> None:
    core = after_a_stint(ends=False)
    core.handle(JobCancelled(STARTED + LONG, "first"))
    for task in range(4):
        core.apply(TaskStopped(STARTED + LONG + 20 * SECOND, "first", task))
    core.decide()
    assert owed(core) == LONG + 20 * SECOND


def test_it_starts_at_once_where_nobody_else_can_use_the_room() -> None:
    # Of the others a task waits that runs on one machine only.
    one = JobSubmitted(STARTED, replace(single("c"), machines=("m3",), tasks=Fraction(2)))
    core = after_a_stint(JobCancelled(STARTED, "b"), one)
    assert owed(core) == LONG
    core.handle(JobSubmitted(STARTED + LONG, gang("a", "small", 3, 3)))
    assert (running(core, "c"), running(core, "small"), running(core, "second")) == (1, 3, 0)


def test_who_could_not_use_what_it_took_does_not_make_it_rest() -> None:
    told = [MachineJoined(STARTED, Machine("other", {"cpu": 1}, {"zone": "b"}))]
    waits = JobSubmitted(STARTED, Job("c", {"cpu": 1}, tenant="c", where="zone = b"))
    core = after_a_stint(*told, JobCancelled(STARTED, "b"), waits)
    assert owed(core) == 0
    assert running(core, "second") == 4


def test_who_holds_all_that_its_limit_allows_does_not_make_it_rest_for_longer() -> None:
    limited = [Tenant(f"l{i}", limit={"cpu": 1}) for i in range(2)]
    told = [*begun(6, limited), *(JobSubmitted(0, single(each.name)) for each in limited)]
    core = Core([Unit("cpu")], checked=True)
    for event in told:
        core.apply(event)
    core.decide()
    core.apply(JobSubmitted(STARTED, gang("a", "first", 4, 4)))
    core.handle(JobSubmitted(STARTED, single("b")))
    core.handle(TimePassed(STARTED + LONG))
    # Of the four CPUs that the others leave two are its part.
    assert owed(core) == LONG
    core.handle(JobCancelled(STARTED + LONG, "b"))
    while (wake := core.wake()) is not None and core.now < STARTED + 3 * LONG:
        core.handle(TimePassed(wake))
    assert owed(core) == 0  # only those wait that may not have more


OWN = ("own0", "own1")


def with_its_own(own_gang: bool) -> list[Event]:
    """Tenant a has two machines that nobody else can use, and gangs that run anywhere, or there."""
    machines = [MachineJoined(0, Machine(name, {"cpu": 1})) for name in OWN]
    rest = [JobSubmitted(0, replace(single(name), exclude=OWN)) for name in SMALL]
    gangs = [JobSubmitted(0, gang("a"))]
    if own_gang:
        gangs.append(JobSubmitted(0, replace(gang("a", "own", 2), machines=OWN)))
    return [*machines, *gangs, *rest]


@pytest.mark.parametrize("own_gang", [False, True])
def test_time_on_machines_that_nobody_else_can_use_is_no_rest(own_gang: bool) -> None:
    seen = lived([*begun(), *with_its_own(own_gang)])
    assert held(seen, "a") < 1.2 * (CPUS + 2) / 4
    assert all(held(seen, name) > 0.8 * CPUS / 4 for name in SMALL)


def test_a_gang_within_its_part_starts_as_if_nobody_rested() -> None:
    core = after_a_stint()
    time = STARTED + LONG
    core.handle(JobSubmitted(time, gang("a", "within", 2, 2)))
    core.apply(TaskFinished(time + SECOND, "b", 0))
    core.apply(TaskFinished(time + SECOND, "b", 1))
    core.decide()
    assert (running(core, "within"), running(core, "second")) == (2, 0)


def test_who_does_not_rest_comes_before_who_does_whatever_their_levels() -> None:
    core = after_a_stint()
    time = STARTED + LONG + SECOND
    core.apply(JobSubmitted(time, gang("c", "wide", 4, 4)))
    core.apply(JobCancelled(time, "b"))
    for task in range(3):
        core.apply(TaskStopped(time, "b", task))
    core.decide()
    core.handle(JobSubmitted(time, gang("a", "three", 3, 3)))
    # Three CPUs are free: they are kept for who does not rest.
    assert running(core, "three") == 0
    core.handle(TaskStopped(time, "b", 3))
    assert (running(core, "wide"), running(core, "three")) == (4, 0)


@pytest.mark.parametrize("seed", LIVES)
def test_the_core_decides_as_the_reference_in_lives_of_gangs(seed: int, cases: int) -> None:
    for number in range(cases):
        assert failure(known(seed) if number == 0 else life(seed + APART * number)) is None


@pytest.mark.parametrize("name", sorted(FOUND_OUT))
def test_a_reference_without_stints_is_found_out(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed, stands = FOUND_OUT[name]
    case = known(seed)
    for place in (online, online_apply, online_stints):
        if hasattr(place, name):
            monkeypatch.setattr(place, name, stands or (lambda *_: None))
    assert failure(case) is not None


def test_a_dump_holds_what_is_owed() -> None:
    core = after_a_stint()
    again = load(dump(core))
    assert again.digest() == core.digest()
    again.check()
    for each in (core, again):
        each.handle(TimePassed(STARTED + 2 * LONG))
    assert again.digest() == core.digest()


def test_the_digest_tells_who_owes() -> None:
    core, other = after_a_stint(), after_a_stint()
    other.state.tenant["owes"][other.ids.tenants["a"]] += 1
    assert core.digest() != other.digest()


def test_what_an_older_version_left_is_read_and_nobody_owes() -> None:
    names = ("stints", "job.behind", *(f"tenant.{name}" for name in FIELDS))
    header = [f"whole.{name}" for name in ("stints", "rested", "last")]
    again = load(without(dump(after_a_stint()), *names, *header))
    again.check()
    assert owed(again) == 0


def test_another_policy_forgets_what_is_owed() -> None:
    core = after_a_stint()
    other = reconfigure(core, core.now, "drf", "best-fit", core.options)
    assert owed(other) == 0
    other.check()
