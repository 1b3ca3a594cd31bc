"""Rationals alone find what doubles lead to: whatever programs say, the shares are the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

import numpy as np
import pytest
from flint import fmpq

from fairlead.model.errors import SolverError
from fairlead.sharing.filling import climb, component, fill
from fairlead.sharing.filling.climb import Climb, NoRoomError
from fairlead.sharing.filling.component import Component, Programs
from fairlead.sharing.filling.corner import Corner
from fairlead.sharing.filling.groups import coalesce
from fairlead.sharing.numbers import sums
from fairlead.sharing.numbers.amounts import rationals
from fairlead.sharing.problem.problem import Problem
from fairlead.sharing.solvers.simplex import Simplex
from fairlead.sharing.solvers.step import StepProblem, StepSolution
from tests.sharing.build import build
from tests.sharing.draws import adversarial, chain, drawn, few_classes, ties
from tests.sharing.filling.proof import proved

WAYS = ("highest", "again", "settle")


def problems(number: int) -> Iterator[tuple[Problem, Sequence[Any]]]:
    """Many that are small, and a few of each hard kind."""
    for seed in range(number):
        problem, scale = adversarial(np.random.default_rng(seed))
        yield problem, scale.tolist()
    for problem in (
        drawn(1, jobs=12, classes=5, resources=3, density=0.6),
        few_classes(1, jobs=20, classes=8),
        ties(1, jobs=10, classes=6),
        ties(2, jobs=4, classes=9),
        chain(4, 1000, 1e-9),
    ):
        yield problem, problem.alone.tolist()


def the_same(number: int, *, trust: bool = True) -> None:
    """The filling with whatever is forced now is proved, and has the shares that it had before."""
    known = TRUSTED.setdefault(number, [])
    for index, (problem, scale) in enumerate(problems(number)):
        weight = problem.tree.weight
        found = fill.fill(problem, scale, weight, trust=trust)
        proved(problem, scale, weight, found)
        assert found.share == known[index]


TRUSTED: dict[int, list[tuple[fmpq, ...]]] = {}


@pytest.fixture(autouse=True)
def trusted(cases: int) -> int:
    """The number of problems; what the filling gives as it is, is known then."""
    number = 7 * cases
    if number not in TRUSTED:
        TRUSTED[number] = [
            fill.fill(problem, scale, problem.tree.weight).share
            for problem, scale in problems(number)
        ]
    return number


def test_rationals_alone_give_the_same_shares(trusted: int) -> None:
    the_same(trusted, trust=False)


def test_rationals_alone_come_to_an_end_by_the_first_that_gains(
    trusted: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(climb, "_FAST", 0)
    the_same(trusted, trust=False)


@pytest.mark.parametrize("part", [1.0, 0.5])
def test_programs_that_fail_change_nothing(
    part: float, trusted: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = Random(1)

    def failing(as_ever: Any) -> Any:
        def program(*given: Any) -> None:
            if random.random() < part:
                raise SolverError("the linear program ended as 'Unknown'")
            as_ever(*given)

        return program

    for name in WAYS:
        monkeypatch.setattr(Programs, name, failing(getattr(Programs, name)))
    the_same(trusted)


def test_the_simplex_may_fail_at_any_time(trusted: int, monkeypatch: pytest.MonkeyPatch) -> None:
    random, as_ever = Random(4), Simplex.rise

    def failing(simplex: Simplex, problem: StepProblem, *more: Any) -> StepSolution | None:
        if random.random() < 0.3:
            raise SolverError("the linear program ended as 'Unknown'")
        return as_ever(simplex, problem, *more)

    monkeypatch.setattr(Simplex, "rise", failing)
    monkeypatch.setattr(component, "_LITTLE", 0)  # with few places at first, and then more
    monkeypatch.setattr(component, "_MUCH", -1)
    the_same(trusted)


def spoilt(random: Random, part: Component, places: Any, resources: int) -> None:
    """Another corner than the one that was found: a place or a row less, or more, or elsewhere."""
    assert part.corner is not None
    own = {g: list(part.corner.places(g)) for g in part.corner.first}
    tight = list(part.corner.tight)
    g = random.choice(list(own))
    there = [c for c in part.classes.tolist() if places[g, c]]
    what = random.choice(["less", "more", "elsewhere", "free", "full"])
    c = random.choice(there)
    if what == "less" and len(own[g]) > 1:
        own[g].pop(random.randrange(len(own[g])))
    elif what == "more" and c not in own[g]:
        own[g].append(c)
    elif what == "elsewhere":
        own[g] = [c]
    elif what == "free" and tight:
        tight.pop(random.randrange(len(tight)))
    elif what == "full":
        row = ("on", int(random.choice(part.classes.tolist())), random.randrange(resources))
        tight += [row] if row not in tight else []
    part.corner = Corner.of(own, tight)


def test_programs_that_end_in_a_wrong_corner_change_nothing(
    trusted: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = Random(2)

    def lying(as_ever: Any) -> Any:
        def program(programs: Programs, part: Component, places: Any, *more: Any) -> None:
            as_ever(programs, part, places, *more)
            if random.random() < 0.7:
                spoilt(random, part, places, programs.groups.demand.shape[1])

        return program

    for name in WAYS:
        monkeypatch.setattr(Programs, name, lying(getattr(Programs, name)))
    the_same(trusted)


@pytest.mark.parametrize("wrong", [False, True])
def test_corners_that_are_all_seen_to_change_nothing(
    wrong: bool, trusted: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sums, "_LONG", 0)
    monkeypatch.setattr(component, "_SURE", 1e9)  # every corner is seen to
    random, as_ever = Random(5), Programs.highest

    def lying(programs: Programs, part: Component, places: Any, *more: Any) -> None:
        as_ever(programs, part, places, *more)
        part.doubtful = None
        if wrong and random.random() < 0.3:
            spoilt(random, part, places, programs.groups.demand.shape[1])

    monkeypatch.setattr(Programs, "highest", lying)
    the_same(trusted)


@pytest.mark.parametrize("by", [0.25, 1 - 1e-7, 1 + 1e-7, 4.0])
def test_programs_that_are_wrong_about_the_level_change_nothing(
    by: float, trusted: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Components in a wrong order: a level below an earlier one is seen."""
    random = Random(3)
    as_ever = Programs.highest

    def lying(programs: Programs, part: Component, *more: Any) -> None:
        as_ever(programs, part, *more)
        if part.near is not None and random.random() < 0.5:
            part.near *= by

    monkeypatch.setattr(Programs, "highest", lying)
    the_same(trusted)


def test_corners_that_are_never_doubted_are_seen_to_in_the_end(
    trusted: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(component, "_SURE", -1e9)  # nothing is close to nothing, or to all
    the_same(trusted)


def test_where_there_is_no_room_at_the_level_to_start_from_it_is_said() -> None:
    problem = build([[1], [1]], [[10], [4]])
    groups = coalesce(problem, rationals([1, 1]), merge=False)
    pairs = [(0, 0), (0, 1), (1, 0), (1, 1)]
    rate = {0: fmpq(1), 1: fmpq(1)}
    start = Climb(groups, pairs, {0: fmpq(9), 1: fmpq(0)}, rate)
    start.start_at(fmpq(3))
    with pytest.raises(NoRoomError):
        start.highest()


@pytest.mark.parametrize("level", [0, 1, 2])
def test_a_climb_starts_at_whatever_level_there_is_room(level: int) -> None:
    """Also where nobody has a base, and everyone in the first place would not fit any more."""
    problem = build([[1], [1]], [[1], [9]])
    groups = coalesce(problem, rationals([1, 1]), merge=False)
    pairs = [(0, 0), (0, 1), (1, 0), (1, 1)]
    for base in ({0: fmpq(0), 1: fmpq(0)}, {0: fmpq(1), 1: fmpq(0)}):
        start = Climb(groups, pairs, base, {0: fmpq(1), 1: fmpq(1)})
        start.start_at(fmpq(level))
        corner = start.highest()
        assert start.level == (10 - sum(base.values(), fmpq(0))) / 2
        assert len(list(corner.beyond_first())) == len(corner.tight) - 1


@pytest.mark.parametrize("level", [0, 7])
def test_numbers_that_all_stop_somebody_leave_a_corner_whatever_the_level(level: int) -> None:
    """Shares of 7 and 3 on machines that hold 6 each: somebody is on both."""
    problem = build([[1], [1]], [[6], [6]])
    groups = coalesce(problem, rationals([1, 1]), merge=False)
    pairs = [(0, 0), (0, 1), (1, 0), (1, 1)]
    start = Climb(groups, pairs, {0: fmpq(7), 1: fmpq(3)}, {0: fmpq(0), 1: fmpq(0)})
    start.start_at(fmpq(level))
    corner = start.settle()
    assert len(list(corner.beyond_first())) == len(corner.tight)
    assert any(len(corner.places(g)) == 2 for g in corner.first)


def test_a_climb_goes_on_from_a_corner_that_fits_and_from_no_other() -> None:
    problem = build([[1], [1]], [[1], [9]])
    groups = coalesce(problem, rationals([1, 1]), merge=False)
    pairs = [(0, 0), (0, 1), (1, 0), (1, 1)]
    rate = {0: fmpq(1), 1: fmpq(1)}
    for places, tight, level in (
        ({0: (0,), 1: (1,)}, (("on", 0, 0),), 1),  # fits
        ({0: (0,), 1: (1,)}, (("on", 1, 0),), 0),  # 9 tasks where 1 fits
        ({0: (0, 1), 1: (1,)}, (("on", 0, 0),), 0),  # says no level
        ({0: (0,), 1: (0, 1)}, (("on", 0, 0),) * 2, 0),  # has no point
    ):
        start = Climb(groups, pairs, {0: fmpq(0), 1: fmpq(0)}, rate)
        start.start_in(Corner.of(places, tight))
        assert start.level == level
        start.highest()
        assert start.level == 5
