"""The engine in memory keeps the contract, and does what is planted in it."""

from __future__ import annotations

from fractions import Fraction

import pytest

from fairlead.engines.interface import (
    Assignment,
    Attempt,
    Cause,
    Ended,
    EngineError,
    Health,
    Lost,
    Started,
    Stream,
)
from fairlead.model.machine import Machine
from fairlead.model.values import FrozenMap
from tests.engines.contract import Bed, Doing, EngineContract
from tests.engines.fake import Call, FakeEngine, Planted
from tests.engines.world import Fate, Happening, World, lasting, random_fates

MACHINES = [Machine("b", {"cpu": 64, "gpu": 2}), Machine("a", {"cpu": 2})]

FATES = {
    Doing.WELL.value: Fate(1000),
    Doing.BADLY.value: Fate(1000, code=3),
    Doing.PRINTING.value: Fate(1000, out=b"out\n", err=b"err\n"),
    Doing.LASTING.value: Fate(None, grace=500),
    Doing.SLOW.value: Fate(500_000),
    Doing.MISSING.value: Fate(launchable=False, message="there is no such program"),
}


class Clock:
    """Time that passes when it is told to."""

    def __init__(self) -> None:
        self.now = 1_000_000

    def __call__(self) -> int:
        return self.now


class FakeBed:
    """A world whose clock goes on by a quarter of a second whenever a test waits."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.world = World(MACHINES, self.clock, lambda one: FATES[str(one.command)], record=True)

    def engine(self) -> FakeEngine:
        return FakeEngine(self.world)

    def assignment(self, attempt: Attempt, doing: Doing) -> Assignment:
        return assign(attempt, command=doing.value)

    def starts(self, attempt: Attempt) -> int:
        record = self.world.record or []
        return sum(one[1:] == (Happening.STARTED, attempt) for one in record)

    def runs(self, attempt: Attempt) -> bool:
        return any(one.attempt == attempt for one in self.world.running())

    def settle(self) -> None:
        self.clock.now += 250_000


class TestContract(EngineContract):
    """The common suite."""

    @pytest.fixture
    def bed(self) -> Bed:
        return FakeBed()


A, B = Attempt(1, 0, 1), Attempt(1, 1, 1)


def assign(
    attempt: Attempt,
    machine: str = "b",
    command: str = "work",
    cpu: int = 1,
    pieces: tuple[tuple[str, int], ...] = (),
) -> Assignment:
    demand = FrozenMap({"cpu": Fraction(cpu)})
    return Assignment(attempt, machine, "job", "tenant", demand, command, pieces=pieces)


def ready(world: World, faults: Planted | None = None) -> FakeEngine:
    engine = FakeEngine(world, faults)
    engine.reconcile([])
    return engine


def test_the_same_seed_gives_the_same_ends() -> None:
    def ends(seed: int) -> list[tuple[int, int]]:
        clock = Clock()
        world = World(MACHINES, clock, random_fates(seed, mean=1_000_000, failing=0.3))
        engine = ready(world)
        engine.launch([assign(Attempt(1, task, 1)) for task in range(50)])
        while (wake := world.wake()) is not None:
            clock.now = wake
            world.advance()
        reports = [one for one in engine.poll() if isinstance(one, Ended)]
        assert [one.time for one in reports] == sorted(one.time for one in reports)
        return [(one.time, one.code) for one in reports]

    assert ends(1) == ends(1)
    assert ends(1) != ends(2)
    assert {code for _, code in ends(1)} == {0, 1}


def test_wake_says_when_the_next_thing_happens() -> None:
    clock = Clock()
    world = World(MACHINES, clock, lambda _: Fate(70, delay=30))
    engine = ready(world)
    assert world.wake() is None
    engine.launch([assign(A)])
    assert world.wake() == clock.now + 30
    clock.now += 30
    assert engine.poll() == (Started(A, clock.now),)
    assert world.wake() == clock.now + 70
    clock.now += 500
    end = Ended(A, Cause.EXITED, 0, clock.now - 430, clock.now - 500)
    assert engine.poll() == (Started(A, clock.now - 500), end)
    assert world.wake() is None


@pytest.mark.parametrize("done", [0, 1, 2])
def test_a_planted_failure_does_so_much_and_wants_reconcile(done: int) -> None:
    faults = Planted()
    world = World(MACHINES, Clock(), lasting(None))
    engine = ready(world, faults)
    faults.plant(Call.LAUNCH, done=done)
    batch = [assign(A), assign(B)]
    with pytest.raises(EngineError, match="planted"):
        engine.launch(batch)
    with pytest.raises(EngineError, match="reconcile"):
        engine.poll()
    assert list(engine.reconcile(batch)) == [A, B][done:]
    assert [report.attempt for report in engine.poll()] == [A, B][:done]


def test_held_reports_come_later() -> None:
    faults = Planted()
    world = World(MACHINES, Clock(), lasting(None))
    engine = ready(world, faults)
    faults.hold(A)
    engine.launch([assign(A), assign(B)])
    assert [report.attempt for report in engine.poll()] == [B]
    faults.let_go(A)
    assert [report.attempt for report in engine.poll()] == [A, B]


def test_a_machine_that_leaves_loses_what_ran_on_it() -> None:
    clock = Clock()
    world = World(MACHINES, clock, lambda one: Fate(None, delay=one.attempt.task * 100))
    engine = ready(world)
    engine.launch([assign(A), assign(B), assign(Attempt(2, 0, 1), "a")])
    engine.acknowledge(engine.poll())
    world.leave("b")
    assert [node.machine.name for node in engine.nodes()] == ["a"]
    lost = {report.attempt: report for report in engine.poll() if isinstance(report, Lost)}
    assert {attempt: report.started for attempt, report in lost.items()} == {A: True, B: False}
    assert all(report.machine_at_fault for report in lost.values())
    clock.now += 1_000_000
    assert len(engine.poll()) == 2
    world.join(MACHINES[0])
    assert [node.machine.name for node in engine.nodes()] == ["a", "b"]


def test_trouble_is_seen_and_mended() -> None:
    world = World(MACHINES, Clock())
    engine = ready(world)
    world.trouble("a", "no answer")
    assert [(node.health, node.problem) for node in engine.nodes()] == [
        (Health.TROUBLED, "no answer"),
        (Health.READY, ""),
    ]
    world.mend("a")
    assert {node.health for node in engine.nodes()} == {Health.READY}


def test_a_frozen_machine_goes_on_when_it_thaws() -> None:
    clock = Clock()
    world = World(MACHINES, clock, lasting(100))
    engine = ready(world)
    engine.launch([assign(A)])
    engine.acknowledge(engine.poll())
    world.freeze("b")
    engine.launch([assign(B)])
    clock.now += 1000
    assert not engine.poll()
    world.thaw("b")
    assert {report.attempt for report in engine.poll()} == {A, B}


def test_a_process_that_vanished_is_lost() -> None:
    world = World(MACHINES, Clock(), lasting(None))
    engine = ready(world)
    engine.launch([assign(A)])
    engine.poll()
    world.lose(A)
    assert engine.poll()[-1] == Lost(A, True, "its process is gone", machine_at_fault=False)


def test_more_than_a_machine_has_is_seen() -> None:
    world = World(MACHINES, Clock(), lasting(None))
    engine = ready(world)
    engine.launch([assign(A, "a"), assign(B, "a")])
    engine.poll()
    assert world.overloaded() == []
    engine.launch([assign(Attempt(2, 0, 1), "a")])
    engine.poll()
    assert world.overloaded() == ["a: 3 of cpu is taken, it has 2"]


def test_a_piece_that_two_hold_is_seen() -> None:
    world = World(MACHINES, Clock(), lasting(None))
    engine = ready(world)
    engine.launch([assign(A, pieces=(("gpu", 0),)), assign(B, pieces=(("gpu", 1), ("gpu", 0)))])
    engine.poll()
    assert world.overloaded() == ["b: gpu 0 is held by 1.0.1 and 1.1.1"]


def test_only_one_engine_has_the_world() -> None:
    world = World(MACHINES, Clock())
    first = ready(world)
    second = ready(world)
    with pytest.raises(EngineError):
        first.poll()
    second.close()
    with pytest.raises(EngineError):
        second.nodes()
    with pytest.raises(EngineError):
        second.output(A, Stream.OUT, 0, 1)


def test_nothing_is_kept_of_what_was_acknowledged_and_forgotten() -> None:
    clock = Clock()
    world = World(MACHINES, clock, lambda _: Fate(10, out=b"text"))
    engine = ready(world)
    for task in range(100):
        attempt = Attempt(1, task, 1)
        engine.launch([assign(attempt)])
        clock.now += 20
        engine.acknowledge(engine.poll())
        engine.forget([attempt])
    assert (world.tasks, world.outputs, world.news, world.wake()) == ({}, {}, [], None)
    assert world.started == 100
