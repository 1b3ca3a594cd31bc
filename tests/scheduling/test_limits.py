"""Room below a limit: it is set aside for the first of its tenant's jobs that the limit holds back,
so that large jobs start beside small ones."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from random import Random
from typing import Any

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
    TenantChanged,
    TimePassed,
)
from fairlead.scheduling.kernels.change.leases import RESTS
from fairlead.scheduling.options import TIMES, Options
from fairlead.scheduling.reconfigure import reconfigure
from fairlead.scheduling.state.ids import Unit
from fairlead.scheduling.why.rests import Resting
from fairlead.scheduling.why.values import Cap, Term
from tests.reference import online_line
from tests.scheduling.agreement import failure
from tests.scheduling.draw import draw
from tests.scheduling.loop import run
from tests.scheduling.test_dump import without

SECOND = 10**6
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
AFTER = Options().reserve_after or 0
FOR = TIMES * AFTER


def core_of(*told: Event) -> Core:
    """Three machines of 4 CPUs, where this happened at once."""
    core = Core([Unit("cpu")])
    for event in (*(MachineJoined(0, Machine(f"m{i}", {"cpu": 4})) for i in range(3)), *told):
        core.apply(event)
    core.decide()
    return core


def job(name: str, cpus: int, tasks: int | None = 1, tenant: str = "a") -> JobSubmitted:
    return JobSubmitted(0, Job(name, {"cpu": cpus}, tenant=tenant, tasks=tasks))


def limited(tenant: str = "a", cpus: int = 4, parent: str | None = None) -> TenantChanged:
    return TenantChanged(0, Tenant(tenant, limit={"cpu": cpus}, parent=parent))


def at(core: Core, time: int, *ended: tuple[str, int]) -> set[str]:
    """The jobs that start tasks once these have ended."""
    core.apply(TimePassed(time))
    for name, task in ended:
        core.apply(TaskFinished(time, name, task))
    return {str(each.job) for each in core.decide()}


def cap_of(core: Core, name: str) -> Cap:
    (found,) = (each for each in core.why(name).reasons if isinstance(each, Cap))
    return found


def full() -> Core:
    """Four small tasks run below a limit of 4 CPUs; a large one waits, and more small ones."""
    core = core_of(limited(), job("small", 1, 4))
    core.apply(job("large", 4))
    core.apply(job("more", 1, None))
    assert not at(core, 0)
    return core


def waiting() -> Core:
    """The large one has waited for so long that room is set aside for it."""
    core = full()
    assert not at(core, AFTER)
    return core


def test_what_ends_below_a_limit_is_set_aside_for_the_first_whom_it_holds_back() -> None:
    core = waiting()
    for task in range(3):
        assert not at(core, AFTER + task, ("small", task))
    assert at(core, AFTER + 3, ("small", 3)) == {"large"}


def test_before_that_it_is_anybodys() -> None:
    core = full()
    assert at(core, AFTER - 1, ("small", 0)) == {"more"}


def test_others_are_not_kept_from_their_own() -> None:
    core = waiting()
    core.apply(TenantChanged(AFTER, Tenant("b")))
    core.apply(JobSubmitted(AFTER, Job("b", {"cpu": 1}, tenant="b", tasks=3)))
    assert at(core, AFTER + 1) == {"b"}


def test_it_is_set_aside_while_machines_are_reserved() -> None:
    """A small job of the same tenant would find room elsewhere, and take what its limit leaves."""
    core = core_of(limited(), TenantChanged(0, Tenant("b")), job("others", 1, 11, tenant="b"))
    core.apply(job("large", 4))
    at(core, 0)
    at(core, AFTER)
    assert core.state.job["reserved"][core.ids.jobs["large"]] == 1
    core.apply(MachineJoined(AFTER, Machine("apart", {"cpu": 1})))
    core.apply(JobSubmitted(AFTER, Job("more", {"cpu": 1}, tenant="a")))
    assert not at(core, AFTER)
    ended = [("others", task) for task in range(11)]
    assert at(core, AFTER + 1, *ended) == {"large"}


def test_why_says_for_whom_room_is_set_aside() -> None:
    core = waiting()
    at(core, AFTER + MINUTE, ("small", 0))
    four, three = Fraction(4), Fraction(3)
    assert cap_of(core, "more") == Cap("a", "cpu", three, four, four, ("large",))
    assert str(cap_of(core, "more")) == (
        "tenant a holds 3 cpu of the 4 that it may hold; the first 4 that are free are set aside"
        " for large"
    )
    own = cap_of(core, "large")
    assert own == Cap("a", "cpu", three, four, own=Term(Fraction(60), Fraction(FOR, SECOND)))
    assert str(own) == (
        "tenant a holds 3 cpu of the 4 that it may hold; room below it is set aside for this one,"
        " for 60 s already, and 10 min more if no task ends there"
    )


def test_who_is_cancelled_leaves_the_room_to_others() -> None:
    core = waiting()
    core.apply(JobCancelled(AFTER, "large"))
    assert at(core, AFTER + 1, ("small", 0)) == {"more"}


def test_room_that_is_held_in_vain_is_given_back_and_the_tenant_rests() -> None:
    core = waiting()
    at(core, AFTER + 1, ("small", 0))
    assert at(core, AFTER + 1 + FOR) == {"more"}
    (rest,) = (each for each in core.why("large").reasons if isinstance(each, Resting))
    assert (rest.machines, rest.held) == (0, Fraction(FOR + 1, SECOND))
    assert str(rest).startswith("room below a limit was set aside for a job of tenant a for 10 min")
    # Nor is anything held while it rests, however long it waits.
    assert at(core, (RESTS - 1) * FOR, ("small", 1)) == {"more"}


def test_where_no_room_was_left_nothing_was_held_in_vain() -> None:
    core = waiting()
    assert not at(core, AFTER + FOR)
    assert not any(isinstance(each, Resting) for each in core.why("large").reasons)
    at(core, 2 * AFTER + FOR)
    assert not at(core, 2 * AFTER + FOR, ("small", 0))
    assert cap_of(core, "more").whom == ("large",)


def test_room_below_a_limit_above_is_held_in_vain_where_the_own_limit_is_full() -> None:
    """Whoever waits for its own endless tasks does not hold the room of all for ever."""
    core = core_of(
        limited("top", 8),
        TenantChanged(0, Tenant("a", parent="top")),
        limited("b", 4, "top"),
        job("endless", 4, tenant="b"),
    )
    core.apply(job("large", 4, tenant="b"))
    at(core, AFTER)
    core.apply(JobSubmitted(AFTER, Job("more", {"cpu": 1}, tenant="a")))
    assert not at(core, AFTER)
    assert at(core, AFTER + FOR) == {"more"}
    assert any(isinstance(each, Resting) for each in core.why("large").reasons)


def test_what_ends_below_the_limit_begins_the_lease_anew() -> None:
    core = waiting()
    for task in range(3):
        assert not at(core, AFTER + (task + 1) * (FOR - 1), ("small", task))
    assert cap_of(core, "more").whom == ("large",)
    assert at(core, 10 * FOR) == {"more"}


def family(*more: Event) -> Core:
    """Two tenants below one with a limit of 4 CPUs, all of which the first holds."""
    core = core_of(
        limited("top"),
        TenantChanged(0, Tenant("a", parent="top")),
        TenantChanged(0, Tenant("b", parent="top")),
        job("small", 1, 4),
    )
    for event in (job("more", 1, None), *more):
        core.apply(event)
    assert not at(core, 0)
    return core


def test_below_one_limit_room_is_set_aside_for_the_first_in_line_alone() -> None:
    """Else each would wait for what is set aside for the other."""
    core = family(job("large", 4, tenant="b"))
    at(core, AFTER)
    assert cap_of(core, "more") == Cap(
        "top", "cpu", Fraction(4), Fraction(4), Fraction(4), ("large",)
    )
    at(core, 3 * AFTER)
    assert cap_of(core, "large").own is not None
    assert cap_of(core, "large").whom == ()


def test_who_would_have_more_than_another_below_the_limit_gets_nothing_set_aside() -> None:
    """Of two that hold two CPUs each the one with large jobs waits as the other does."""
    core = core_of(
        limited("top"),
        TenantChanged(0, Tenant("a", parent="top")),
        TenantChanged(0, Tenant("b", parent="top")),
        job("small", 1, 2),
        job("large", 2, 1, tenant="b"),
    )
    for event in (job("more", 1, None), job("next", 2, tenant="b")):
        core.apply(event)
    assert not at(core, AFTER)
    assert cap_of(core, "next").own is None
    assert cap_of(core, "more").whom == ()
    assert at(core, AFTER + 1, ("small", 0)) == {"more"}
    # Once the other one waits no more it may have more.
    core.apply(JobCancelled(AFTER + 1, "more"))
    at(core, 3 * AFTER)
    assert cap_of(core, "next").own is not None


def wide() -> Core:
    """A task of 3 CPUs and three of 1 run below a limit of 6, and room is set aside there for one
    of 4; more of 1 wait."""
    core = core_of(limited(cpus=6), job("wide", 3, 1), job("small", 1, 3))
    core.apply(job("large", 4))
    core.apply(job("more", 1, None))
    assert not at(core, 0)
    assert not at(core, AFTER)
    assert cap_of(core, "more").whom == ("large",)
    return core


def test_what_must_end_below_a_limit_is_not_waited_for_with_idle_room() -> None:
    """Beside 3 of 6 CPUs 4 never fit: until those are free 2 are left for others."""
    core = wide()
    assert not at(core, AFTER + 1, ("small", 0))
    assert at(core, AFTER + 2, ("small", 1)) == {"more"}
    assert at(core, AFTER + 3, ("small", 2)) == {"more"}
    core.check()
    assert at(core, AFTER + 4, ("wide", 0)) == {"large"}


def test_what_it_would_fit_beside_below_the_limit_need_not_end() -> None:
    core = core_of(limited(cpus=6), job("wide", 2, 1), job("small", 1, 4))
    core.apply(job("large", 4))
    core.apply(job("more", 1, None))
    at(core, 0)
    at(core, AFTER)
    for task in range(3):
        assert not at(core, AFTER + 1 + task, ("small", task))
    assert at(core, AFTER + 4, ("small", 3)) == {"large"}


def test_a_snapshot_of_a_version_that_let_it_stand_idle_is_read() -> None:
    core = load(without(dump(wide()), "owed"))
    core.check()
    at(core, AFTER + 1, ("small", 0))
    assert at(core, AFTER + 2, ("small", 1)) == {"more"}


def test_a_new_limit_counts_what_is_set_aside_and_none_does_not() -> None:
    core = waiting()
    at(core, AFTER + 1, ("small", 0))
    core.apply(TenantChanged(AFTER + 2, Tenant("a", limit={"cpu": 8})))
    assert at(core, AFTER + 2) == {"large", "more"}
    core = waiting()
    core.apply(TenantChanged(AFTER + 2, Tenant("a")))
    assert at(core, AFTER + 2) == {"large", "more"}


def test_a_snapshot_has_it_and_other_options_end_it() -> None:
    core = load(dump(waiting()))
    assert core.digest() == waiting().digest()
    assert not at(core, AFTER + 1, ("small", 0))
    other = reconfigure(core, core.now, "drf", "best-fit", core.options)
    assert {str(each.job) for each in other.decide()} == {"more"}


@pytest.mark.parametrize("seed", range(3))
def test_large_jobs_start_beside_a_stream_of_small_ones_below_a_limit(seed: int) -> None:
    """In six hours; of 36 that come. Before, none or one."""
    random, until = Random(seed), 6 * HOUR
    told: list[Event] = [MachineJoined(0, Machine(f"m{i}", {"cpu": 16})) for i in range(2)]
    told.append(limited("a", 24))
    for i, time in enumerate(range(0, until, 10 * SECOND)):
        told.append(JobSubmitted(time, Job(f"s{i}", {"cpu": 1}, tenant="a", tasks=1)))
    for i, time in enumerate(range(0, until, 10 * MINUTE)):
        demand = {"cpu": random.randint(10, 16)}
        told.append(JobSubmitted(time, Job(f"large{i}", demand, tenant="a", tasks=1)))

    def lasts(name: str, _task: int) -> int:
        mean = 20 * MINUTE if name.startswith("large") else 5 * MINUTE
        return SECOND + round(random.expovariate(1 / mean))

    seen = run(Core([Unit("cpu")]), told, lasts, until)
    assert sum(done for name, done in seen.done.items() if name.startswith("large")) >= 6


WITHOUT: dict[str, Callable[..., object]] = {
    "set_aside": lambda *_: False,
    "_can_set_aside": lambda *_: True,
    "_holds": lambda *_: True,
}
FOUND_OUT = {"set_aside": 52, "_can_set_aside": 156, "_holds": 460}
"""Seeds of sequences that need these of the reference."""


@pytest.mark.parametrize("name", WITHOUT)
def test_the_sequences_meet_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert failure(draw(FOUND_OUT[name])) is None
    monkeypatch.setattr(online_line, name, WITHOUT[name])
    assert failure(draw(FOUND_OUT[name])) is not None


EASED = 64
"""The seed of a sequence in which tasks that must end are below a limit that is exceeded."""


def test_the_sequences_meet_what_must_end_below_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    eased, seen = online_line._eased, set()  # noqa: SLF001  the reference's own

    def noted(*asked: Any) -> int:
        found = eased(*asked)
        seen.add(found > 0)
        return found

    monkeypatch.setattr(online_line, "_eased", noted)
    assert failure(draw(EASED)) is None
    assert seen == {False, True}
