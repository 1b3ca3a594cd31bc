"""A core whose policy, rule or options were changed decides as the plain reference does under them,
and knows all that it knew."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from random import Random

import pytest

from fairlead.model.errors import InputError
from fairlead.model.job import Job
from fairlead.model.machine import Machine
from fairlead.model.tenant import Tenant
from fairlead.model.values import FrozenMap
from fairlead.scheduling import events
from fairlead.scheduling.core import Core
from fairlead.scheduling.decisions import Launch, Stop
from fairlead.scheduling.dump import dump, load
from fairlead.scheduling.options import Options
from fairlead.scheduling.reconfigure import reconfigure
from fairlead.scheduling.state.ids import Unit
from tests.reference.online import Decider
from tests.reference.online_scales import rounded_scales
from tests.scheduling.agreement import CHECKED, core_refuses, make_core, reference_refuses
from tests.scheduling.draw import PLACEMENTS, SECOND, Case, draw

CASES = 8
POLICIES = ("tsf", "cdrf", "drfh", "drf", "asset", "fifo")
# Not those that have no scale for a job which asks for no cpu, as a case may have some.


def other(case: Case, random: Random) -> Case:
    """The same events under another policy, rule and patience; perhaps the same of some."""
    return replace(
        case,
        policy=random.choice(POLICIES),
        placement=random.choice(PLACEMENTS),
        reserve_after=random.choice((None, 20 * SECOND, 60 * SECOND)),
        filling=random.random() < 0.7,
        reserve_for=random.choice((None, SECOND, 10 * SECOND)),
    )


def switched(reference: Decider, case: Case) -> Decider:
    """The reference as it goes on: the same world, nothing reserved, nobody first in line."""
    world = reference.world
    world.reserved.clear()
    world.kept.clear()
    world.due.clear()
    world.leases.clear()
    world.rests.clear()
    world.stints.clear()
    world.rested = False
    world.first = None
    world.look_at = 0
    world.filling = case.filling
    if case.placement != "price-guided":
        world.advice.clear()
    decider = Decider(
        world,
        lambda world: rounded_scales(world, case.policy),
        placement=case.placement,
        reserve_after=case.reserve_after,
        reserve_for=case.reserve_for,
        levelled=case.policy != "fifo",
    )
    if world.hold_for is None:
        world.longest = 0
    return decider


@pytest.mark.parametrize("chunk", range(4))
def test_a_changed_core_decides_as_the_reference_under_what_it_was_changed_to(
    chunk: int, cases: int
) -> None:
    compared = 0
    for seed in range(chunk, CASES * cases, 4):
        case, random = draw(seed), Random(seed)
        later = other(case, random)
        core, reference = make_core(case), case.reference()
        at = random.randrange(len(case.instants))
        for place, instant in enumerate(case.instants):
            if place == at:
                time = core.now + random.choice((0, SECOND))
                time = min(time, instant[0].time if instant else time)
                options = Options(
                    reserve_after=later.reserve_after,
                    reserve_for=later.reserve_for,
                    filling=later.filling,
                )
                core = reconfigure(core, time, later.policy, later.placement, options)
                reference = switched(reference, later)
                reference.world.now = time
                assert core.decide() == reference.decide(), (seed, "at once")
                core.check()
            for event in instant:
                said, refused = core_refuses(core, event), reference_refuses(reference, event)
                assert bool(said) == bool(refused), (seed, place)
            assert core.decide() == reference.decide(), (seed, place)
            compared += place > at
            if place >= at and (place + seed) % CHECKED == 0:
                core.check()
        core.check()
    assert compared > 5 * cases


CPU = (Unit("cpu", Fraction(1, 2)), Unit("gpu", Fraction(1, 4), 4))


def busy() -> Core:
    """Two machines with tasks of two tenants; the rest waits."""
    core = Core(CPU, "tsf", "best-fit", Options(preempt_after=SECOND), checked=True)
    for name in "ab":
        core.apply(events.TenantChanged(0, Tenant(name)))
    for name in ("m1", "m2"):
        core.apply(events.MachineJoined(0, Machine(name, {"cpu": 2, "gpu": 2})))
    core.apply(events.JobSubmitted(0, Job("one", {"cpu": 1}, tenant="a", tasks=4)))
    core.decide()
    core.apply(events.JobSubmitted(1, Job("two", {"cpu": 1}, tenant="b", tasks=4)))
    core.decide()
    return core


def test_all_that_is_known_stays_and_the_first_core_is_untouched() -> None:
    core = busy()
    before = core.digest()
    new = reconfigure(core, 5, "drfh", "worst-fit", Options(reserve_after=None))
    assert core.digest() == before != new.digest()
    assert vars(new.ids) == vars(core.ids)
    for name in ("number", "state", "machine", "attempt", "launched", "job"):
        assert (new.state.task[name] == core.state.task[name]).all(), name
    for name in ("seq", "total", "waiting", "held", "over", "next", "launches", "since"):
        assert (new.state.job[name] == core.state.job[name]).all(), name
    assert (new.state.free == core.state.free).all()
    assert new.now == 5
    assert new.handle(events.TaskFinished(6, "one", 0)) == [Launch("two", 0, "m1", 1)]
    assert core.digest() == before


def test_who_waits_already_gets_machines_where_reservations_are_switched_on() -> None:
    core = Core([Unit("cpu")], options=Options(reserve_after=None), checked=True)
    core.apply(events.MachineJoined(0, Machine("m", {"cpu": 2})))
    core.handle(events.JobSubmitted(0, Job("small", {"cpu": 1})))
    core.handle(events.JobSubmitted(1, Job("large", {"cpu": 2})))
    new = reconfigure(core, 2, "tsf", "best-fit", Options(reserve_after=SECOND))
    new.decide()
    new.handle(events.TimePassed(3 * SECOND))
    assert new.state.machine["reserved"][0] == new.ids.jobs["large"]


def test_the_same_change_gives_the_same_digest_also_of_a_core_that_was_loaded() -> None:
    def told(core: Core) -> str:
        return reconfigure(core, 9, "fifo", "first-fit", Options()).digest()

    assert told(busy()) == told(load(dump(busy())))
    new = reconfigure(busy(), 9, "fifo", "first-fit", Options())
    assert new.digest() != reconfigure(busy(), 9, "fifo", "best-fit", Options()).digest()
    new.decide()
    assert load(dump(new)).digest() == new.digest()


def test_pledges_end_and_are_made_again_only_where_the_options_say_so() -> None:
    core = busy()
    core.apply(events.GuaranteesChanged(2, FrozenMap({"two": 2})))
    assert core.decide() == []
    stops = core.handle(events.TimePassed(2 + SECOND))
    assert stops
    assert all(isinstance(each, Stop) for each in stops)
    assert core.state.header[0]["reservations"] > 0
    new = reconfigure(core, 3 * SECOND, "tsf", "best-fit", Options())
    assert new.state.header[0]["reservations"] == 0
    assert new.decide() == []
    assert new.stopping is None
    options = Options(reserve_after=None, preempt_after=SECOND)
    again = reconfigure(new, 3 * SECOND, "tsf", "best-fit", options)
    assert again.decide() == []
    assert again.wake() is None  # guarantees are told anew


def test_what_cannot_be_is_refused_and_changes_nothing() -> None:
    core = busy()
    before = core.digest()
    with pytest.raises(InputError, match="one"):
        reconfigure(core, 5, "cmmf(gpu)", "best-fit", Options())
    with pytest.raises(InputError, match="no placement rule"):
        reconfigure(core, 5, "tsf", "nearest", Options())
    with pytest.raises(InputError):
        reconfigure(core, 5, "fairest", "best-fit", Options())
    assert core.digest() == before


def test_a_core_with_decisions_unsaid_is_not_changed() -> None:
    core = busy()
    core.apply(events.JobCancelled(2, "one"))
    with pytest.raises(ValueError, match="did not say"):
        reconfigure(core, 5, "drf", "best-fit", Options())
