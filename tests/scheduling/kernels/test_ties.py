"""Scores that tie in fractions tie in the core, and those that do not are in the right order."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import numpy as np
import pytest

from fairlead.compiling import kernel
from fairlead.model.job import Job
from fairlead.model.machine import Machine
from fairlead.scheduling.core import Core
from fairlead.scheduling.decisions import Launch
from fairlead.scheduling.events import JobSubmitted, MachineJoined
from fairlead.scheduling.kernels.memory.state import Ints, int64
from fairlead.scheduling.kernels.numbers.fractions import put_part, put_product, sign_of
from fairlead.scheduling.state.ids import Unit
from fairlead.scheduling.transitions import TaskState
from tests.reference.online_scores import SCORES
from tests.reference.online_state import Measure, PlainJob, PlainMachine, PlainTask, World

RESOURCES = ("cpu", "memory", "disk")


@kernel
def _sign(kinds: Ints, a: Ints, b: Ints, under: Ints, size: int) -> int:
    """The sign of the sum of a / under (kind 0) and a b / under^2 (kind 1)."""
    ones, twos, below = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.int64)
    whole = int64(0)
    for i in range(size):
        if kinds[i] == 0:
            whole += put_part(ones, twos, below, i, a[i], under[i])
        else:
            whole += put_product(ones, twos, below, i, a[i], b[i], under[i])
    return sign_of(whole, ones, twos, below, size)


def test_the_sign_of_a_sum_of_fractions_is_that_of_the_exact_sum(cases: int) -> None:
    random, signs = Random(1), set()
    for _ in range(300 * cases):
        terms: list[tuple[int, int, int, int]] = []
        most = 2 ** random.choice((2, 3, 5, 8, 20, 31, 40, 52))
        for _ in range(random.randint(0, 6)):
            under = random.randint(1, most)
            if random.random() < 0.5:
                terms.append((0, random.randint(-under, under), 0, under))
            else:
                free = random.randint(-65 * under, under)
                terms.append((1, random.randint(0, under), free, under))
        if random.random() < 0.5:  # the same once more, below 0: nothing, or next to nothing
            off = random.choice((0, 0, 1))
            terms += [(1, a, -b, u) if k else (0, -a + off, 0, u) for k, a, b, u in terms]
        exact = sum((Fraction(a * b, u * u) if k else Fraction(a, u) for k, a, b, u in terms), 0)
        columns = np.array(terms or [(0, 0, 0, 1)], np.int64).T.copy()
        expected = (exact > 0) - (exact < 0)
        kinds, a, b, under = columns
        assert _sign(kinds, a, b, under, len(terms)) == expected, terms
        signs.add(expected)
    assert signs == {-1, 0, 1}


def _placed(
    rule: str, free: list[tuple[int, int, int]], capacity: list[tuple[int, int, int]]
) -> str:
    """The machine of a task of one unit of each resource, among a, b, … with so much free."""
    core = Core([Unit(name) for name in RESOURCES], placement=rule)
    for place, have in enumerate(capacity):
        name = chr(ord("a") + place)
        core.handle(MachineJoined(0, Machine(name, dict(zip(RESOURCES, have, strict=True)))))
    for place, (have, rest) in enumerate(zip(capacity, free, strict=True)):
        name = chr(ord("a") + place)
        taken = {r: h - f for r, h, f in zip(RESOURCES, have, rest, strict=True) if h > f}
        if taken:
            filler = Job(f"on-{name}", taken, machines=(name,), tasks=1)
            core.handle(JobSubmitted(0, filler))
    said = core.handle(JobSubmitted(0, Job("asks", dict.fromkeys(RESOURCES, 1), tasks=1)))
    core.check()
    (launch,) = said
    assert isinstance(launch, Launch)
    return launch.machine


@pytest.mark.parametrize("rule", ["best-fit", "price-guided", "scarce-last"])
def test_of_machines_with_equally_much_left_the_first_is_taken(rule: str) -> None:
    # Left of 10: 1 + 2 + 3 against 6 + 0 + 0. In doubles 0.1 + 0.2 + 0.3 is more than 0.6.
    assert _placed(rule, [(2, 3, 4), (7, 1, 1)], [(10, 10, 10)] * 2) == "a"
    assert _placed(rule, [(7, 1, 1), (2, 3, 4)], [(10, 10, 10)] * 2) == "a"
    # 1/3 + 1/3 + 1/3 of 3, 1/7 + 3/7 + 3/7 of 7.
    assert _placed(rule, [(2, 4, 4), (2, 2, 2)], [(7, 7, 7), (3, 3, 3)]) == "a"
    assert _placed(rule, [(2, 2, 2), (2, 4, 4)], [(3, 3, 3), (7, 7, 7)]) == "a"


def test_by_worst_fit_too() -> None:
    assert _placed("worst-fit", [(2, 3, 4), (7, 1, 1)], [(10, 10, 10)] * 2) == "a"
    assert _placed("worst-fit", [(7, 1, 1), (2, 3, 4)], [(10, 10, 10)] * 2) == "a"


def test_and_by_alignment() -> None:
    # The products are (1 + 2 + 3) / 100 and (4 + 1 + 1) / 100.
    for one in ((1, 2, 3), (4, 1, 1), (2, 2, 2)):
        for other in ((1, 2, 3), (4, 1, 1), (2, 2, 2), (3, 2, 1)):
            assert _placed("alignment", [one, other], [(10, 10, 10)] * 2) == "a"


def test_scores_that_are_one_double_are_told_apart() -> None:
    # Of 2^52 and 2^52 - 1 units one is left on each: by best fit the larger machine is fuller.
    large = 2**52
    assert _placed("best-fit", [(2, 9, 9), (2, 9, 9)], [(large - 1, 9, 9), (large, 9, 9)]) == "b"
    assert _placed("worst-fit", [(2, 9, 9), (2, 9, 9)], [(large, 9, 9), (large - 1, 9, 9)]) == "b"
    assert _placed("alignment", [(2, 9, 9), (2, 9, 9)], [(large, 9, 9), (large - 1, 9, 9)]) == "b"


@pytest.mark.parametrize("rule", ["best-fit", "worst-fit", "alignment", "scarce-last"])
def test_drawn_machines_are_chosen_as_fractions_choose(rule: str, cases: int) -> None:
    random = Random(2)
    for _ in range(10 * cases):
        capacity: list[tuple[int, int, int]] = []
        free: list[tuple[int, int, int]] = []
        for _ in range(random.randint(2, 5)):
            have = random.choice((3, 5, 6, 7, 10, 12))
            capacity.append((have, have, have))
            free.append((random.randint(1, have), random.randint(1, have), random.randint(1, have)))
        world = World(tuple(Measure(name, Fraction(1)) for name in RESOURCES))
        job = PlainJob(
            0, Job("asks", dict.fromkeys(RESOURCES, 1), tasks=1), [1, 1, 1], 1, 0, 0, 1, 0
        )
        keys = []
        for seq, (all_of_it, rest) in enumerate(zip(capacity, free, strict=True)):
            machine = PlainMachine(seq, Machine(str(seq), {}), list(all_of_it))
            keys.append((_score(rule, world, job, machine, list(rest)), seq))
        assert _placed(rule, free, capacity) == chr(ord("a") + min(keys)[1])


def _score(
    rule: str, world: World, job: PlainJob, machine: PlainMachine, free: list[int]
) -> Fraction:
    """The reference's score of a machine with so much free: one on which a task takes the rest."""
    taken = [have - rest for have, rest in zip(machine.capacity, free, strict=True)]
    world.machines[:] = [machine]
    world.jobs[:] = [PlainJob(0, job.job, taken, 1, 0, 0, 1, 0)]
    world.tasks[:] = [_held(machine.seq)]
    return SCORES[rule](world, job, machine)


def _held(machine: int) -> PlainTask:
    return PlainTask(0, 0, machine, TaskState.RUNNING, 1, 0, [])
