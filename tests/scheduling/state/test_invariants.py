"""The invariants hold of a busy core, and each of them notices its planted fault."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np
import pytest

from fairlead.model.errors import InternalError
from fairlead.model.job import Job
from fairlead.model.machine import Machine
from fairlead.model.tenant import Tenant
from fairlead.scheduling import events
from fairlead.scheduling.core import Core
from fairlead.scheduling.decisions import Launch
from fairlead.scheduling.kernels.memory.state import State
from fairlead.scheduling.kernels.memory.tables import GRADES, RESOURCES, UPS
from fairlead.scheduling.options import Options
from fairlead.scheduling.state import invariants, search_invariants, stake_invariants
from fairlead.scheduling.state.ids import Unit
from fairlead.scheduling.state.invariants import broken, check
from fairlead.scheduling.state.rows import machines_there, tasks_held
from fairlead.scheduling.transitions import TaskState
from tests.scheduling.agreement import core_refuses, make_core
from tests.scheduling.draw import draw

SECOND = 10**6


def busy() -> Core:
    """A core with a bit of everything: a tree with limits, devices, a lost task that waits, a
    spread job, a draining machine, a reservation."""
    units = [Unit("cpu", Fraction(1, 2)), Unit("gpu", Fraction(1, 4), 4)]
    core = Core(units, policy="tsf", options=Options(reserve_after=10 * SECOND), checked=True)
    told: list[events.Event] = [
        events.TenantChanged(0, Tenant("top", weight=2)),
        events.TenantChanged(0, Tenant("mid", weight=3, parent="top", limit={"cpu": 6})),
        events.TenantChanged(0, Tenant("low", parent="mid")),
        *(
            events.MachineJoined(0, Machine(f"m{i}", {"cpu": 4, "gpu": 2}, {"zone": "ab"[i % 2]}))
            for i in range(4)
        ),
        events.MachineJoined(0, Machine("plain", {"cpu": 2}, {"zone": "a"})),
        events.JobSubmitted(0, Job("capped", {"cpu": 1}, tenant="low")),
        events.JobSubmitted(0, Job("parts", {"cpu": 1, "gpu": Fraction(1, 4)}, tenant="top")),
        events.JobSubmitted(0, Job("zoned", {"cpu": 1}, where="zone = a", tasks=50)),
        events.JobSubmitted(0, Job("apart", {"cpu": Fraction(1, 2)}, spread=True, tasks=9)),
        events.JobSubmitted(0, Job("large", {"cpu": 4, "gpu": 2}, tasks=2)),
    ]
    for event in told:
        core.apply(event)
    launches = core.decide()
    first = next(d for d in launches if isinstance(d, Launch) and d.job == "zoned")
    core.apply(events.MachineDrained(SECOND, "plain"))
    core.apply(events.TaskLost(SECOND, "zoned", first.task))
    core.apply(events.TimePassed(SECOND))
    core.decide()
    for time in (15 * SECOND, 30 * SECOND):
        core.handle(events.TimePassed(time))
    return core


def test_they_hold_of_a_busy_core() -> None:
    state = busy().state
    assert list(broken(state)) == []
    held = tasks_held(state).tolist()
    assert held
    assert (state.machine["reserved"][machines_there(state)] >= 0).any()
    assert any(state.task[t]["pieces"] for t in held)


def job_named(core: Core, name: str) -> int:
    return int(core.ids.jobs[name])


def some_task(state: State) -> int:
    return int(tasks_held(state)[0])


def queued(core: Core) -> int:
    """A task that waits again."""
    kinds = core.state.task["state"][: int(core.state.header[0]["tasks"])]
    return int(np.flatnonzero(kinds == TaskState.WAITING)[0])


Fault = Callable[[Core], None]
FAULTS: dict[str, tuple[Callable[[State], Iterator[str]], Fault]] = {}


def fault(noticed_by: Callable[[State], Iterator[str]]) -> Callable[[Fault], Fault]:
    """Registers a planted fault, and which invariant must notice it."""

    def register(plant: Fault) -> Fault:
        FAULTS[plant.__name__] = (noticed_by, plant)
        return plant

    return register


@fault(invariants.tasks)
def a_task_in_no_known_state(core: Core) -> None:
    core.state.task[some_task(core.state)]["state"] = 6


@fault(invariants.tasks)
def a_held_task_that_says_it_waits(core: Core) -> None:
    core.state.task[some_task(core.state)]["state"] = TaskState.WAITING


@fault(invariants.tasks)
def a_task_on_another_machine_than_the_one_that_lists_it(core: Core) -> None:
    task = core.state.task[some_task(core.state)]
    task["machine"] = (task["machine"] + 1) % 4


@fault(invariants.tasks)
def a_task_of_another_job_than_the_one_that_lists_it(core: Core) -> None:
    task = core.state.task[some_task(core.state)]
    task["job"] = (task["job"] + 1) % 5


@fault(invariants.tasks)
def two_tasks_of_one_number(core: Core) -> None:
    job = core.state.job[job_named(core, "capped")]
    first = core.state.task[job["first_task"]]
    core.state.task[first["job_next"]]["number"] = first["number"]


@fault(invariants.machines)
def a_machine_too_many(core: Core) -> None:
    core.state.header[0]["present"] += 1


@fault(invariants.machines)
def a_wrong_count_of_machines_with_a_resource(core: Core) -> None:
    core.state.have[0] += 1


@fault(invariants.machines)
def a_wrong_count_of_machines_of_a_term(core: Core) -> None:
    core.state.satisfied[0] += 1


@fault(invariants.machines)
def a_wrong_count_of_tasks(core: Core) -> None:
    core.state.machine[0]["tasks"] += 1


@fault(invariants.machines)
def a_machine_that_is_gone_and_runs_tasks(core: Core) -> None:
    core.state.machine[0]["state"] = 3


@fault(invariants.rooms)
def a_free_amount(core: Core) -> None:
    core.state.free[0, 0] += 1


@fault(invariants.rooms)
def a_piece_that_is_freer_than_it_is(core: Core) -> None:
    core.state.piece[0, core.state.column[1]] += 1


@fault(invariants.rooms)
def a_room(core: Core) -> None:
    core.state.room[1, 0] += 1


@fault(invariants.rooms)
def a_task_without_its_piece(core: Core) -> None:
    slots = tasks_held(core.state).tolist()
    task = next(t for t in slots if core.state.task[t]["pieces"])
    core.state.task[task]["pieces"] = 0


@fault(invariants.placements)
def more_than_the_machine_has(core: Core) -> None:
    core.state.free[0, 0] = -1


@fault(invariants.placements)
def a_task_on_a_machine_that_it_may_not_use(core: Core) -> None:
    core.state.satisfies[0] = 0
    core.state.satisfies[2] = 0


@fault(invariants.placements)
def two_tasks_of_a_job_that_spreads(core: Core) -> None:
    core.state.job[job_named(core, "capped")]["spread"] = 1


@fault(invariants.jobs)
def a_count_of_held_tasks(core: Core) -> None:
    core.state.job[job_named(core, "zoned")]["held"] += 1


@fault(invariants.jobs)
def a_count_of_waiting_tasks(core: Core) -> None:
    core.state.job[job_named(core, "zoned")]["waiting"] += 1


@fault(invariants.jobs)
def a_task_that_is_nowhere(core: Core) -> None:
    core.state.job[job_named(core, "capped")]["over"] += 1


@fault(invariants.jobs)
def a_usable_job_that_is_not(core: Core) -> None:
    core.state.job[job_named(core, "zoned")]["usable"] = 0


@fault(invariants.jobs)
def an_active_job_that_is_not(core: Core) -> None:
    core.state.job[job_named(core, "zoned")]["active"] = 0


@fault(invariants.jobs)
def a_count_of_reserved_machines(core: Core) -> None:
    core.state.job[job_named(core, "large")]["reserved"] += 1


@fault(invariants.jobs)
def a_count_of_machines_whose_room_is_kept(core: Core) -> None:
    core.state.job[job_named(core, "large")]["kept"] += 1


@fault(invariants.shares)
def a_share(core: Core) -> None:
    core.state.job[job_named(core, "zoned")]["mu"] += 0.5


@fault(invariants.shares)
def what_a_task_counts(core: Core) -> None:
    core.state.job[job_named(core, "zoned")]["unit"] += 1


@fault(invariants.tenants)
def what_a_tenant_holds(core: Core) -> None:
    core.state.tenant[core.state.job[job_named(core, "capped")]["tenant"]]["held"] += 1


@fault(invariants.tenants)
def what_the_active_ones_of_a_tenant_hold(core: Core) -> None:
    core.state.tenant[core.state.job[job_named(core, "parts")]["tenant"]]["moving"] += 1


@fault(invariants.tenants)
def a_rate(core: Core) -> None:
    core.state.tenant[core.state.job[job_named(core, "capped")]["tenant"]]["beside"] *= 2


@fault(invariants.tenants)
def what_is_idle(core: Core) -> None:
    core.state.tenant[core.state.job[job_named(core, "capped")]["tenant"]]["idle"] += 0.1


@fault(invariants.tenants)
def a_lost_child(core: Core) -> None:
    core.state.tenant[core.state.job[job_named(core, "parts")]["tenant"]]["child"] = -1


@fault(invariants.caps)
def what_counts_against_a_limit(core: Core) -> None:
    tenant = core.state.tenant[core.state.job[job_named(core, "capped")]["tenant"]]
    core.state.used[tenant["parent"], 0] += 1


@fault(invariants.caps)
def a_limit_that_nobody_looks_at(core: Core) -> None:
    core.state.tenant[core.state.job[job_named(core, "capped")]["tenant"]]["capped"] = 0


@fault(search_invariants.sets)
def a_machine_that_the_search_thinks_free(core: Core) -> None:
    core.state.sets[0, RESOURCES + GRADES - 1, 0] |= np.uint64(1) << np.uint64(63)


@fault(search_invariants.sets)
def a_machine_that_the_search_does_not_know(core: Core) -> None:
    core.state.sets[0, UPS, 0] = 0


@fault(search_invariants.sets)
def a_term_that_the_search_does_not_know(core: Core) -> None:
    core.state.sets[0, RESOURCES + GRADES * core.state.resources, 0] ^= 1


@fault(search_invariants.sets)
def room_that_grew_and_nobody_looked_at(core: Core) -> None:
    core.state.machine[0]["near"] = 1


@fault(search_invariants.tries)
def a_job_that_the_search_does_not_know(core: Core) -> None:
    core.state.tenant[core.state.job[job_named(core, "capped")]["tenant"]]["root"] = -1


@fault(search_invariants.tries)
def a_place_in_line(core: Core) -> None:
    core.state.node[core.state.job[job_named(core, "capped")]["leaf"]]["key"] += 1


@fault(search_invariants.tries)
def what_a_leaf_needs(core: Core) -> None:
    core.state.need[core.state.job[job_named(core, "capped")]["leaf"], 0] += 1


@fault(search_invariants.tries)
def a_tenant_in_another_place(core: Core) -> None:
    core.state.node[core.state.header[0]["root"]]["turn"] += 1


@fault(search_invariants.tries)
def a_node_that_needs_less_in_brief(core: Core) -> None:
    core.state.node[core.state.job[job_named(core, "capped")]["leaf"]]["brief"] -= 2


@fault(search_invariants.tries)
def a_node_that_needs_other_terms_in_brief(core: Core) -> None:
    core.state.node[core.state.header[0]["root"]]["word"] ^= np.uint64(1)


def a_stake(core: Core) -> np.void:
    """The first of those of the tenant that has most."""
    tenants = core.state.tenant
    roots = tenants["stakes"][: int(core.state.header[0]["tenants"])]
    found: np.void = core.state.stake[
        roots[(roots >= 0) & (tenants["single"][: len(roots)] == 0)][0]
    ]
    return found


@fault(stake_invariants.stakes)
def what_a_child_counts(core: Core) -> None:
    a_stake(core)["amounts"] += 0.1


@fault(stake_invariants.stakes)
def the_most_of_first_tasks(core: Core) -> None:
    a_stake(core)["most"] *= 2


@fault(stake_invariants.stakes)
def a_lost_stake(core: Core) -> None:
    job = core.state.job[job_named(core, "parts")]
    core.state.tenant[job["tenant"]]["stakes"] = -1


@fault(search_invariants.refused)
def a_machine_that_is_said_to_take_nobody(core: Core) -> None:
    core.state.machine["dirty"] = core.state.machine["refused"] = 1
    core.state.before[:] = 1 << 40


@fault(search_invariants.reservations)
def a_count_of_reservations(core: Core) -> None:
    core.state.header[0]["reservations"] += 1


@fault(search_invariants.reservations)
def what_a_tenants_gangs_keep(core: Core) -> None:
    core.state.tenant[core.state.job[job_named(core, "capped")]["tenant"]]["kept"] += 1


@fault(search_invariants.reservations)
def a_list_of_gangs(core: Core) -> None:
    core.state.header[0]["gangs"] = job_named(core, "capped")


@pytest.mark.parametrize("name", FAULTS)
def test_each_planted_fault_is_noticed(name: str) -> None:
    noticed_by, plant = FAULTS[name]
    core = busy()
    plant(core)
    assert list(noticed_by(core.state)) != []
    with pytest.raises(InternalError):
        check(core.state)


def test_a_list_that_goes_on_where_nobody_has_been_is_noticed() -> None:
    core = busy()
    core.state.task[some_task(core.state)]["job_next"] = core.state.header[0]["tasks"]
    with pytest.raises(InternalError, match="a row is named that nobody has used"):
        check(core.state)


def test_every_invariant_has_a_planted_fault() -> None:
    parts = {invariants.tasks, invariants.machines, invariants.rooms, invariants.placements}
    parts |= {invariants.jobs, invariants.shares, invariants.tenants, invariants.caps}
    parts |= {search_invariants.sets, search_invariants.tries, search_invariants.reservations}
    parts |= {search_invariants.refused, stake_invariants.stakes}
    assert {noticed_by for noticed_by, _ in FAULTS.values()} == parts


def test_a_core_that_is_not_checked_can_be(cases: int) -> None:
    for seed in range(300_000, 300_000 + 4 * cases):
        case = draw(seed)
        core = make_core(case)
        for instant in case.instants:
            for event in instant:
                core_refuses(core, event)
            core.decide()
            core.check()


def test_a_double_may_be_either_of_two_only_in_their_middle() -> None:
    below, above, middle = 2.0**53, 2.0**53 + 2, Fraction(2**53 + 1)
    trifle = stake_invariants.NEAR * middle / 2
    for exactly in (middle - trifle, middle, middle + trifle):
        assert stake_invariants.rounds_to(exactly, below)
        assert stake_invariants.rounds_to(exactly, above)
        assert not stake_invariants.rounds_to(exactly, above + 2)
    assert stake_invariants.rounds_to(middle - 4 * trifle, below)
    assert not stake_invariants.rounds_to(middle - 4 * trifle, above)
    assert not stake_invariants.rounds_to(middle + 4 * trifle, below)
