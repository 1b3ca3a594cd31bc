"""What every engine must keep: one suite, run over the fake, over local processes and over Ray.

A file of tests inherits from `EngineContract` and gives it a fixture `bed`, the ground that
outlives engine objects. What runs and how often it started is asked of the bed, never of the
engine.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from enum import Enum
from fractions import Fraction
from typing import Protocol

import pytest

from fairlead.engines.interface import (
    Assignment,
    Attempt,
    Cause,
    Ended,
    Engine,
    EngineError,
    Lost,
    Report,
    Started,
    Stream,
)

PATIENCE = 120.0
"""Seconds until a test gives up: a machine that is busy with other things is no failure."""


class Doing(Enum):
    """What an attempt of the contract does."""

    WELL = "ends well at once"
    BADLY = "exits with 3 at once"
    PRINTING = 'writes "out" and a new line to stdout, "err" and a new line to stderr, ends well'
    LASTING = "runs until it is stopped"
    SLOW = "runs for half a second and ends well"
    MISSING = "names a program that is not there"


class Bed(Protocol):
    """Where an engine's tasks run, whatever becomes of the engine object."""

    def engine(self) -> Engine:
        """A new engine over this ground; whoever drove it before was closed or is killed now."""

    def assignment(self, attempt: Attempt, doing: Doing) -> Assignment:
        """An assignment to a machine that is there; it counts its starts."""

    def starts(self, attempt: Attempt) -> int:
        """How often this attempt started."""

    def runs(self, attempt: Attempt) -> bool:
        """Whether anything of a LASTING attempt runs now."""

    def settle(self) -> None:
        """Let a little time pass."""


def wait(bed: Bed, condition: Callable[[], bool]) -> None:
    """Let time pass until it is so."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "it never came to be so"
        bed.settle()


def collect(bed: Bed, engine: Engine, done: Callable[[Sequence[Report]], bool]) -> list[Report]:
    """Poll without acknowledging until what came satisfies; the last answer."""
    last: list[Report] = []

    def look() -> bool:
        last[:] = engine.poll()
        return done(last)

    wait(bed, look)
    return last


def end_of(bed: Bed, engine: Engine, attempt: Attempt) -> Ended | Lost:
    """The end of an attempt once it is reported; not acknowledged."""
    reports = collect(bed, engine, lambda found: any(_ends(r, attempt) for r in found))
    (end,) = [report for report in reports if _ends(report, attempt)]
    assert not isinstance(end, Started)
    return end


def started(bed: Bed, engine: Engine, *attempts: Attempt) -> None:
    """Wait until all of these are reported started."""

    def all_started(reports: Sequence[Report]) -> bool:
        begun = {report.attempt for report in reports if isinstance(report, Started)}
        return begun >= set(attempts)

    collect(bed, engine, all_started)


def begun(bed: Bed, engine: Engine, *attempts: Attempt) -> None:
    """Wait until all of these are reported started, and have counted their starts: an engine says
    that a command was started, not how far it has come."""
    started(bed, engine, *attempts)
    collect(bed, engine, lambda _: all(bed.starts(attempt) for attempt in attempts))


def reconciled(engine: Engine, expected: list[Assignment]) -> list[Attempt]:
    """Reconcile until it is reached again."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            return list(engine.reconcile(expected))
        except EngineError:
            assert time.monotonic() < end, "it never came back"
            time.sleep(0.02)


def _ends(report: Report, attempt: Attempt) -> bool:
    return report.attempt == attempt and not isinstance(report, Started)


A, B, C = Attempt(1, 0, 1), Attempt(1, 1, 1), Attempt(2, 0, 1)


class EngineContract:
    """The suite. `bed` is the inheriting file's fixture."""

    def fresh(self, bed: Bed, *expected: Assignment) -> tuple[Engine, list[Attempt]]:
        """An engine that was reconciled with what is expected, and what never started."""
        engine = bed.engine()
        return engine, list(engine.reconcile(expected))

    def test_nodes_are_there_in_the_order_of_their_names(self, bed: Bed) -> None:
        engine = bed.engine()
        nodes = engine.nodes()
        names = [node.machine.name for node in nodes]
        assert names == sorted(names)
        assert bed.assignment(A, Doing.WELL).machine in names
        engine.close()

    def test_nothing_but_nodes_and_output_before_reconcile(self, bed: Bed) -> None:
        engine = bed.engine()
        engine.nodes()
        assert engine.output(A, Stream.OUT, 0, 10).data == b""
        with pytest.raises(EngineError):
            engine.poll()
        with pytest.raises(EngineError):
            engine.launch([bed.assignment(A, Doing.WELL)])
        with pytest.raises(EngineError):
            engine.cancel([A])
        assert engine.reconcile([]) == [] or engine.reconcile([]) == ()
        assert not engine.poll()
        engine.close()
        assert bed.starts(A) == 0

    def test_an_engine_knows_what_was_launched_here(self, bed: Bed) -> None:
        first = bed.engine()
        assert not first.knows(None)
        assert not first.knows("another")
        assert first.knows(first.identity)
        first.reconcile([], 1)
        first.close()
        second = bed.engine()
        assert second.identity == first.identity
        assert second.knows(None)
        assert second.knows(first.identity)
        second.close()

    def test_who_was_overtaken_starts_nothing(self, bed: Bed) -> None:
        engine = bed.engine()
        engine.reconcile([], 7)
        engine.close()
        old = bed.engine()
        with pytest.raises(EngineError, match="owner"):
            old.reconcile([], 6)
        with pytest.raises(EngineError):
            old.launch([bed.assignment(A, Doing.WELL)])
        old.close()
        engine = bed.engine()
        assert list(engine.reconcile([], 7)) == []
        assert bed.starts(A) == 0
        engine.close()

    def test_an_attempt_starts_and_ends_well(self, bed: Bed) -> None:
        engine, _ = self.fresh(bed)
        engine.launch([bed.assignment(A, Doing.WELL)])
        end = end_of(bed, engine, A)
        assert isinstance(end, Ended)
        assert (end.cause, end.code) == (Cause.EXITED, 0)
        assert end.started is None or end.started <= end.time
        assert bed.starts(A) == 1
        engine.close()

    def test_an_exit_code_is_told(self, bed: Bed) -> None:
        engine, _ = self.fresh(bed)
        engine.launch([bed.assignment(A, Doing.BADLY)])
        end = end_of(bed, engine, A)
        assert isinstance(end, Ended)
        assert (end.cause, end.code) == (Cause.EXITED, 3)
        engine.close()

    def test_nothing_to_run_ends_well(self, bed: Bed) -> None:
        engine, _ = self.fresh(bed)
        like = bed.assignment(A, Doing.WELL)
        engine.launch([Assignment(A, like.machine, like.name, like.tenant, like.demand)])
        end = end_of(bed, engine, A)
        assert isinstance(end, Ended)
        assert (end.cause, end.code) == (Cause.EXITED, 0)
        engine.close()

    def test_a_running_attempt_is_reported_started_before_its_end(self, bed: Bed) -> None:
        engine, _ = self.fresh(bed)
        engine.launch([bed.assignment(A, Doing.LASTING)])
        started(bed, engine, A)
        assert bed.runs(A)
        engine.cancel([A])
        end_of(bed, engine, A)
        kinds = [isinstance(report, Started) for report in engine.poll() if report.attempt == A]
        assert kinds in ([True, False], [False])
        engine.close()

    def test_launching_again_starts_nothing_twice(self, bed: Bed) -> None:
        engine, _ = self.fresh(bed)
        one, other = bed.assignment(A, Doing.LASTING), bed.assignment(B, Doing.WELL)
        engine.launch([one, other, one])
        engine.launch([one, other])
        begun(bed, engine, A)
        end_of(bed, engine, B)
        engine.launch([one, other])
        for _ in range(5):
            bed.settle()
            engine.poll()
        assert (bed.starts(A), bed.starts(B)) == (1, 1)
        engine.cancel([A])
        end_of(bed, engine, A)
        engine.close()

    def test_reports_are_repeated_until_acknowledged(self, bed: Bed) -> None:
        engine, _ = self.fresh(bed)
        engine.launch([bed.assignment(A, Doing.BADLY), bed.assignment(B, Doing.LASTING)])
        end = end_of(bed, engine, A)
        started(bed, engine, B)
        again = list(engine.poll())
        assert end in again
        assert list(engine.poll()) == again
        engine.acknowledge([end])
        assert {report.attempt for report in engine.poll()} == {B}
        engine.acknowledge(again)
        assert not engine.poll()
        engine.acknowledge(again)
        assert not engine.poll()
        engine.cancel([B])
        end_of(bed, engine, B)
        engine.close()

    def test_acknowledging_a_start_late_keeps_the_end(self, bed: Bed) -> None:
        engine, _ = self.fresh(bed)
        engine.launch([bed.assignment(A, Doing.LASTING)])
        started(bed, engine, A)
        (start,) = engine.poll()
        engine.cancel([A])
        end = end_of(bed, engine, A)
        engine.acknowledge([start])
        assert list(engine.poll()) == [end]
        engine.acknowledge([end])
        assert not engine.poll()
        engine.close()

    def test_cancel_while_it_runs(self, bed: Bed) -> None:
        engine, _ = self.fresh(bed)
        engine.launch([bed.assignment(A, Doing.LASTING), bed.assignment(B, Doing.LASTING)])
        started(bed, engine, A, B)
        engine.cancel([A])
        engine.cancel([A])
        end = end_of(bed, engine, A)
        assert isinstance(end, Ended)
        assert end.cause is Cause.STOPPED
        assert not bed.runs(A)
        assert bed.runs(B)
        engine.cancel([B])
        end_of(bed, engine, B)
        engine.close()

    def test_cancel_right_after_the_launch(self, bed: Bed) -> None:
        engine, _ = self.fresh(bed)
        engine.launch([bed.assignment(A, Doing.LASTING)])
        engine.cancel([A])
        end = end_of(bed, engine, A)
        if isinstance(end, Ended):
            assert end.cause is Cause.STOPPED
            assert bed.starts(A) <= 1  # it may have been stopped before it did anything
        else:
            assert end.started or bed.starts(A) == 0
        assert not bed.runs(A)
        engine.close()

    def test_cancel_before_the_launch_keeps_it_from_starting(self, bed: Bed) -> None:
        engine, _ = self.fresh(bed)
        engine.cancel([A])
        engine.launch([bed.assignment(A, Doing.LASTING)])
        end = end_of(bed, engine, A)
        assert isinstance(end, Lost)
        assert not end.started
        for _ in range(5):
            bed.settle()
        assert bed.starts(A) == 0
        engine.acknowledge([end])
        assert not engine.poll()
        engine.close()

    def test_cancel_after_the_end_changes_nothing(self, bed: Bed) -> None:
        engine, _ = self.fresh(bed)
        engine.launch([bed.assignment(A, Doing.BADLY)])
        end = end_of(bed, engine, A)
        engine.cancel([A])
        bed.settle()
        assert end_of(bed, engine, A) == end
        engine.close()

    def test_what_cannot_be_launched_is_reported(self, bed: Bed) -> None:
        engine, _ = self.fresh(bed)
        engine.launch([bed.assignment(A, Doing.MISSING)])
        end = end_of(bed, engine, A)
        assert isinstance(end, Ended)
        assert end.cause is Cause.NOT_STARTED
        assert end.message
        engine.close()

    def test_a_machine_that_is_not_there(self, bed: Bed) -> None:
        engine, _ = self.fresh(bed)
        like = bed.assignment(A, Doing.WELL)
        absent = Assignment(
            A, "no-such-machine", like.name, like.tenant, like.demand, like.command, like.call
        )
        engine.launch([absent])
        end = end_of(bed, engine, A)
        assert isinstance(end, Lost)
        assert not end.started
        assert end.machine_at_fault
        assert bed.starts(A) == 0
        engine.close()

    def test_a_time_limit_stops_it(self, bed: Bed) -> None:
        engine, _ = self.fresh(bed)
        like = bed.assignment(A, Doing.LASTING)
        limited = Assignment(
            A,
            like.machine,
            like.name,
            like.tenant,
            like.demand,
            like.command,
            like.call,
            like.env,
            like.cwd,
            Fraction(1, 2),
        )
        engine.launch([limited])
        end = end_of(bed, engine, A)
        assert isinstance(end, Ended)
        assert end.cause is Cause.TIME_LIMIT
        assert not bed.runs(A)
        engine.close()

    def test_a_running_attempt_is_found_again(self, bed: Bed) -> None:
        first, _ = self.fresh(bed)
        assignment = bed.assignment(A, Doing.LASTING)
        first.launch([assignment])
        begun(bed, first, A)
        first.acknowledge(first.poll())
        first.close()
        first.close()
        bed.settle()
        assert bed.runs(A)
        second, never = self.fresh(bed, assignment)
        assert never == []
        started(bed, second, A)
        second.launch([assignment])
        bed.settle()
        assert bed.starts(A) == 1
        second.cancel([A])
        end = end_of(bed, second, A)
        assert isinstance(end, Ended)
        assert end.cause is Cause.STOPPED
        assert not bed.runs(A)
        second.close()

    def test_an_end_that_nobody_acknowledged_is_reported_again(self, bed: Bed) -> None:
        first, _ = self.fresh(bed)
        assignment = bed.assignment(A, Doing.BADLY)
        first.launch([assignment])
        end = end_of(bed, first, A)
        first.close()
        second, never = self.fresh(bed, assignment)
        assert never == []
        assert end_of(bed, second, A) == end
        second.close()

    def test_an_end_while_nobody_looked_is_found(self, bed: Bed) -> None:
        first, _ = self.fresh(bed)
        assignment = bed.assignment(A, Doing.SLOW)
        first.launch([assignment])
        # Not until it is said to have started: of what is over by then only the end is said.
        collect(bed, first, lambda _: bed.starts(A) == 1)
        first.close()
        wait(bed, lambda: not bed.runs(A))
        second, never = self.fresh(bed, assignment)
        assert never == []
        end = end_of(bed, second, A)
        assert isinstance(end, Ended)
        assert (end.cause, end.code) == (Cause.EXITED, 0)
        assert bed.starts(A) == 1
        second.close()

    def test_what_never_started_is_returned_and_can_be_launched(self, bed: Bed) -> None:
        first, _ = self.fresh(bed)
        first.close()
        one, other = bed.assignment(A, Doing.WELL), bed.assignment(B, Doing.WELL)
        second, never = self.fresh(bed, one, other)
        assert never == [A, B]
        assert not second.poll()
        second.launch([one])
        end = end_of(bed, second, A)
        assert isinstance(end, Ended)
        assert (bed.starts(A), bed.starts(B)) == (1, 0)
        second.close()
        third, never = self.fresh(bed, one, other)
        assert never == [B]
        third.close()

    def test_what_nobody_expects_is_stopped_and_not_reported(self, bed: Bed) -> None:
        first, _ = self.fresh(bed)
        assignments = [
            bed.assignment(A, Doing.LASTING),
            bed.assignment(B, Doing.LASTING),
            bed.assignment(C, Doing.BADLY),
        ]
        first.launch(assignments)
        begun(bed, first, A, B)
        end_of(bed, first, C)
        first.close()
        second, never = self.fresh(bed, assignments[0])
        assert never == []
        seen: set[Attempt] = set()

        def gone() -> bool:
            seen.update(report.attempt for report in second.poll())
            return not bed.runs(B)

        wait(bed, gone)
        started(bed, second, A)
        assert seen <= {A}
        assert bed.runs(A)
        second.cancel([A])
        end_of(bed, second, A)
        second.close()

    def test_reconciling_an_engine_that_works_loses_nothing(self, bed: Bed) -> None:
        engine, _ = self.fresh(bed)
        one, other = bed.assignment(A, Doing.LASTING), bed.assignment(B, Doing.BADLY)
        engine.launch([one, other])
        begun(bed, engine, A)
        end = end_of(bed, engine, B)
        engine.acknowledge([report for report in engine.poll() if report.attempt == A])
        assert list(engine.reconcile([one, other])) == []
        started(bed, engine, A)
        assert end_of(bed, engine, B) == end
        assert (bed.starts(A), bed.starts(B)) == (1, 1)
        engine.cancel([A])
        end_of(bed, engine, A)
        engine.close()

    def test_output_in_parts(self, bed: Bed) -> None:
        engine, _ = self.fresh(bed)
        engine.launch([bed.assignment(A, Doing.PRINTING)])
        end = end_of(bed, engine, A)
        whole = engine.output(A, Stream.OUT, 0, 1000)
        assert (whole.data, whole.offset, whole.size, whole.over) == (b"out\n", 0, 4, True)
        assert engine.output(A, Stream.ERR, 0, 1000).data == b"err\n"
        part = engine.output(A, Stream.OUT, 1, 2)
        assert (part.data, part.offset, part.size) == (b"ut", 1, 4)
        tail = engine.output(A, Stream.OUT, -2, 1000)
        assert (tail.data, tail.offset) == (b"t\n", 2)
        assert engine.output(A, Stream.OUT, -100, 1000).data == b"out\n"
        assert engine.output(A, Stream.OUT, 100, 1000).data == b""
        engine.acknowledge([end])
        assert engine.output(A, Stream.OUT, 0, 1000).data == b"out\n"
        engine.forget([A])
        engine.forget([A])
        assert engine.output(A, Stream.OUT, 0, 1000).data == b""
        engine.close()

    def test_the_output_of_a_running_attempt_is_not_over(self, bed: Bed) -> None:
        engine, _ = self.fresh(bed)
        engine.launch([bed.assignment(A, Doing.LASTING)])
        started(bed, engine, A)
        assert not engine.output(A, Stream.OUT, 0, 10).over
        engine.cancel([A])
        end_of(bed, engine, A)
        assert engine.output(A, Stream.OUT, 0, 10).over
        engine.close()

    def test_output_survives_the_engine(self, bed: Bed) -> None:
        first, _ = self.fresh(bed)
        first.launch([bed.assignment(A, Doing.PRINTING)])
        first.acknowledge([end_of(bed, first, A)])
        first.close()
        second, _ = self.fresh(bed)
        assert second.output(A, Stream.OUT, 0, 10).data == b"out\n"
        second.forget([A])
        assert second.output(A, Stream.OUT, 0, 10).data == b""
        second.close()

    def test_many_at_once(self, bed: Bed) -> None:
        engine, _ = self.fresh(bed)
        attempts = [Attempt(7, task, 1) for task in range(20)]
        engine.launch([bed.assignment(one, Doing.WELL) for one in attempts])
        ended: dict[Attempt, Report] = {}

        def over() -> bool:
            reports = engine.poll()
            ended.update((r.attempt, r) for r in reports if not isinstance(r, Started))
            engine.acknowledge(reports)
            return len(ended) == len(attempts)

        wait(bed, over)
        assert all(isinstance(report, Ended) and report.code == 0 for report in ended.values())
        assert [bed.starts(one) for one in attempts] == [1] * len(attempts)
        assert not engine.poll()
        engine.close()
