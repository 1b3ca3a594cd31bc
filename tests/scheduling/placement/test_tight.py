"""A tight rule on many machines decides as the same rule does where all that fit are scored."""

from __future__ import annotations

import importlib
import inspect
from fractions import Fraction

import numpy as np
import pytest

from fairlead.model.job import Job
from fairlead.model.machine import Machine
from fairlead.scheduling import events
from fairlead.scheduling.core import Core
from fairlead.scheduling.decisions import Launch
from fairlead.scheduling.kernels.memory.state import State
from fairlead.scheduling.kernels.room.choice import FEW
from fairlead.scheduling.kernels.room.rules import score_of
from fairlead.scheduling.placement.registry import BUILT_IN, find
from fairlead.scheduling.state.ids import Unit
from fairlead.simulation.engine.run import simulate
from fairlead.simulation.workloads.registry import generate

ROUNDING = 1e-12
TIGHT = [name for name in BUILT_IN if find(name).tight]


@pytest.fixture(scope="module")
def in_full(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Each tight rule in a file of one's own, of which nobody knows that it is tight."""
    found = {}
    for name in TIGHT:
        function = BUILT_IN[name]
        file = tmp_path_factory.mktemp("rule") / f"{function}.py"
        source = inspect.getsource(
            importlib.import_module(f"fairlead.scheduling.placement.{function}")
        )
        known = f"def {function}("
        assert known in source
        imported = "from fairlead.scheduling.placement.registry import placement\n"
        head, _, tail = source.partition(known)
        file.write_text(f"{head}{imported}@placement('mine')\n{known}{tail}", encoding="utf-8")
        found[name] = f"{file}:mine"
        assert not find(found[name]).tight
    return found


def test_best_fit_and_scarce_last_are_tight() -> None:
    assert {"best-fit", "scarce-last"} <= {*TIGHT}


@pytest.mark.parametrize("name", TIGHT)
def test_a_tight_rule_keeps_what_it_says(name: str, cases: int) -> None:
    """No score is less than what would be left of any one resource, nor, of a rule that says so,
    than the scarcity; and a task on a machine makes no score there larger."""
    rule, random = find(name).rule, np.random.default_rng(1)
    page = importlib.import_module(f"fairlead.scheduling.placement.{BUILT_IN[name]}")
    scarce = getattr(page, "SCARCE", False)
    for resources in (1, 2, 4):
        state = State([0] * resources)
        for _ in range(50 * cases):
            need = random.integers(0, 4, resources) * random.integers(1, 9)
            need[random.integers(resources)] += 1
            capacity = 2 * need + random.integers(0, 60, resources)
            free = 2 * need + random.integers(0, capacity - 2 * need + 1)
            scarcity = int(random.integers(0, 3))
            state.demand[0], state.capacity[0], state.free[0] = need, capacity, free
            state.scarcity[0] = scarcity
            score = score_of(state.handle, rule, 0, 0)
            asks = need > 0
            assert score >= ((free - need)[asks] / capacity[asks]).max() - ROUNDING
            if scarce:
                assert score >= 2 * resources * scarcity - ROUNDING
            state.free[0] = free - need
            assert score_of(state.handle, rule, 0, 0) <= score + ROUNDING


@pytest.mark.parametrize("rule", TIGHT)
@pytest.mark.parametrize(
    "text",
    [
        "overload(machines=700, jobs=150, each=40)",
        "overload(machines=3000, jobs=60, each=40)",
        "tsf-study(machines=400, jobs=500, tasks=12000)",
        "choosy-study(machines=300, jobs=40)",
    ],
)
def test_the_machines_are_the_same(
    text: str, rule: str, in_full: dict[str, str], cases: int
) -> None:
    for seed in range(cases):
        workload = generate(text, seed)
        assert len(workload.machines.names) > 2 * FEW
        digest = simulate(workload, placement=rule).digest
        assert digest == simulate(workload, placement=in_full[rule]).digest


@pytest.mark.parametrize("rule", TIGHT)
@pytest.mark.parametrize("tight", [True, False])
def test_so_they_are_while_a_machine_that_lost_devices_holds_tasks(
    rule: str, in_full: dict[str, str], *, tight: bool
) -> None:
    core = Core(
        [Unit("cpu", Fraction(1, 2)), Unit("gpu", Fraction(1, 4), 4)],
        placement=rule if tight else in_full[rule],
        checked=True,
    )
    y = Machine("y", {"cpu": 10, "gpu": 4}, {"name": "y"})
    x = Machine("x", {"cpu": 10, "gpu": 4}, {"name": "x"})
    for machine in (y, x):
        core.handle(events.MachineJoined(0, machine))
    half = Fraction(1, 2)
    for name, cpu, where, tasks in (
        ("stays", Fraction(2), "name = y", 3),
        ("ends", Fraction(4), "name = y", 1),
        ("first", 3 + half, "name = x", 2),  # on the devices that are left
        ("last", 1 + half, "name = x", 2),
        ("waits", Fraction(1), "", 1),
    ):
        core.handle(
            events.JobSubmitted(0, Job(name, {"cpu": cpu, "gpu": 1}, where=where, tasks=tasks))
        )
    lessened = Machine("x", {"cpu": 10, "gpu": 2}, {"name": "x"})
    told: list[events.Event] = [
        *(events.TaskFinished(1, "first", task) for task in range(2)),
        events.MachineChanged(1, lessened),
        events.TaskFinished(1, "ends", 0),
    ]
    for event in told:
        core.apply(event)
    # On y 3 of 10 CPUs would be left. On x 6 of 10, and 1 GPU of 2 too little.
    launched = [each for each in core.decide() if isinstance(each, Launch)]
    assert [(each.job, each.machine) for each in launched] == [("waits", "x")]
