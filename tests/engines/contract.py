"""What every engine must keep: one suite, run over the fake and over all that launch tasks.

A file of tests inherits from `EngineContract` and gives it a fixture `bed`, the ground that
outlives engine objects. What runs and how often it started is asked of the bed, never of the
engine.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import Enum
from fractions import Fraction
from itertools import count
from threading import Event
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
    NotifiesNews,
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


def told(
    bed: Bed, engine: Engine, news: Event, done: Callable[[Sequence[Report]], bool]
) -> list[Report]:
    """Poll when there is news, and only then, until what came satisfies; the last answer."""
    while True:
        wait(bed, news.is_set)
        news.clear()
        last = list(engine.poll())
        if done(last):
            return last


def ended(*attempts: Attempt) -> Callable[[Sequence[Report]], bool]:
    """Whether the ends of all of these are among reports."""
    return lambda found: {one.attempt for one in found if _ends(one, one.attempt)} >= set(attempts)


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


JOBS = count(1)


def new_attempts() -> tuple[Attempt, Attempt, Attempt]:
    """Two tasks of a job and one of another, which nobody had before: no service gives a name twice
    either, and tests may share what outlives engines."""
    job = next(JOBS)
    return Attempt(job, 0, 1), Attempt(job, 1, 1), Attempt(next(JOBS), 0, 1)


class EngineContract:
    """The suite. `bed` is the inheriting file's fixture."""

    a: Attempt
    b: Attempt
    c: Attempt

    @pytest.fixture(autouse=True)
    def attempts(self) -> None:
        self.a, self.b, self.c = new_attempts()

    @pytest.fixture
    def new_bed(self, bed: Bed) -> Bed:
        """A ground on which no engine ever was: `bed`, where each test has one of its own."""
        return bed

    def fresh(self, bed: Bed, *expected: Assignment) -> tuple[Engine, list[Attempt]]:
        """An engine that was reconciled with what is expected, and what never started."""
        engine = bed.engine()
        return engine, list(engine.reconcile(expected))

    def test_nodes_are_there_in_the_order_of_their_names(self, bed: Bed) -> None:
        engine = bed.engine()
        nodes = engine.nodes()
        names = [node.machine.name for node in nodes]
        assert names == sorted(names)
        assert bed.assignment(self.a, Doing.WELL).machine in names
        engine.close()

    def test_nothing_but_nodes_and_output_before_reconcile(self, bed: Bed) -> None:
        engine = bed.engine()
        engine.nodes()
        assert engine.output(self.a, Stream.OUT, 0, 10).data == b""
        with pytest.raises(EngineError):
            engine.poll()
        with pytest.raises(EngineError):
            engine.launch([bed.assignment(self.a, Doing.WELL)])
        with pytest.raises(EngineError):
            engine.cancel([self.a])
        assert engine.reconcile([]) == [] or engine.reconcile([]) == ()
        assert not engine.poll()
        engine.close()
        assert bed.starts(self.a) == 0

    def test_an_engine_knows_what_was_launched_here(self, new_bed: Bed) -> None:
        first = new_bed.engine()
        assert not first.knows(None)
        assert not first.knows("another")
        assert first.knows(first.identity)
        first.reconcile([], 1)
        first.close()
        second = new_bed.engine()
        assert second.identity == first.identity
        assert second.knows(None)
        assert second.knows(first.identity)
        second.close()

    def test_who_was_overtaken_starts_nothing(self, new_bed: Bed) -> None:
        engine = new_bed.engine()
        engine.reconcile([], 7)
        engine.close()
        old = new_bed.engine()
        with pytest.raises(EngineError, match="owner"):
            old.reconcile([], 6)
        with pytest.raises(EngineError):
            old.launch([new_bed.assignment(self.a, Doing.WELL)])
        old.close()
        engine = new_bed.engine()
        assert list(engine.reconcile([], 7)) == []
        assert new_bed.starts(self.a) == 0
        engine.close()

    def test_an_attempt_starts_and_ends_well(self, bed: Bed) -> None:
        engine, _ = self.fresh(bed)
        engine.launch([bed.assignment(self.a, Doing.WELL)])
        end = end_of(bed, engine, self.a)
        assert isinstance(end, Ended)
        assert (end.cause, end.code) == (Cause.EXITED, 0)
        assert end.started is None or end.started <= end.time
        assert bed.starts(self.a) == 1
        engine.close()

    def test_an_exit_code_is_told(self, bed: Bed) -> None:
        engine, _ = self.fresh(bed)
        engine.launch([bed.assignment(self.a, Doing.BADLY)])
        end = end_of(bed, engine, self.a)
        assert isinstance(end, Ended)
        assert (end.cause, end.code) == (Cause.EXITED, 3)
        engine.close()

    def test_nothing_to_run_ends_well(self, bed: Bed) -> None:
        engine, _ = self.fresh(bed)
        like = bed.assignment(self.a, Doing.WELL)
        engine.launch([Assignment(self.a, like.machine, like.name, like.tenant, like.demand)])
        end = end_of(bed, engine, self.a)
        assert isinstance(end, Ended)
        assert (end.cause, end.code) == (Cause.EXITED, 0)
        engine.close()

    def test_a_running_attempt_is_reported_started_before_its_end(self, bed: Bed) -> None:
        engine, _ = self.fresh(bed)
        engine.launch([bed.assignment(self.a, Doing.LASTING)])
        begun(bed, engine, self.a)
        assert bed.runs(self.a)
        engine.cancel([self.a])
        end_of(bed, engine, self.a)
        kinds = [
            isinstance(report, Started) for report in engine.poll() if report.attempt == self.a
        ]
        assert kinds in ([True, False], [False])
        engine.close()

    def test_launching_again_starts_nothing_twice(self, bed: Bed) -> None:
        engine, _ = self.fresh(bed)
        one, other = bed.assignment(self.a, Doing.LASTING), bed.assignment(self.b, Doing.WELL)
        engine.launch([one, other, one])
        engine.launch([one, other])
        begun(bed, engine, self.a)
        end_of(bed, engine, self.b)
        engine.launch([one, other])
        for _ in range(5):
            bed.settle()
            engine.poll()
        assert (bed.starts(self.a), bed.starts(self.b)) == (1, 1)
        engine.cancel([self.a])
        end_of(bed, engine, self.a)
        engine.close()

    def test_reports_are_repeated_until_acknowledged(self, bed: Bed) -> None:
        engine, _ = self.fresh(bed)
        engine.launch([bed.assignment(self.a, Doing.BADLY), bed.assignment(self.b, Doing.LASTING)])
        end = end_of(bed, engine, self.a)
        started(bed, engine, self.b)
        again = list(engine.poll())
        assert end in again
        assert list(engine.poll()) == again
        engine.acknowledge([end])
        assert {report.attempt for report in engine.poll()} == {self.b}
        engine.acknowledge(again)
        assert not engine.poll()
        engine.acknowledge(again)
        assert not engine.poll()
        engine.cancel([self.b])
        end_of(bed, engine, self.b)
        engine.close()

    def test_acknowledging_a_start_late_keeps_the_end(self, bed: Bed) -> None:
        engine, _ = self.fresh(bed)
        engine.launch([bed.assignment(self.a, Doing.LASTING)])
        started(bed, engine, self.a)
        (start,) = engine.poll()
        engine.cancel([self.a])
        end = end_of(bed, engine, self.a)
        engine.acknowledge([start])
        assert list(engine.poll()) == [end]
        engine.acknowledge([end])
        assert not engine.poll()
        engine.close()

    def test_what_is_launched_right_before_the_engine_is_closed_runs(self, bed: Bed) -> None:
        first, _ = self.fresh(bed)
        assignment = bed.assignment(self.a, Doing.BADLY)
        first.launch([assignment])
        first.close()
        second, never = self.fresh(bed, assignment)
        second.launch([assignment] if never else [])
        end = end_of(bed, second, self.a)
        assert isinstance(end, Ended), end
        assert (end.cause, end.code) == (Cause.EXITED, 3)
        assert bed.starts(self.a) == 1
        second.close()

    def test_cancel_while_it_runs(self, bed: Bed) -> None:
        engine, _ = self.fresh(bed)
        engine.launch(
            [bed.assignment(self.a, Doing.LASTING), bed.assignment(self.b, Doing.LASTING)]
        )
        begun(bed, engine, self.a, self.b)
        engine.cancel([self.a])
        engine.cancel([self.a])
        end = end_of(bed, engine, self.a)
        assert isinstance(end, Ended)
        assert end.cause is Cause.STOPPED
        assert not bed.runs(self.a)
        assert bed.runs(self.b)
        engine.cancel([self.b])
        end_of(bed, engine, self.b)
        engine.close()

    def test_cancel_right_after_the_launch(self, bed: Bed) -> None:
        engine, _ = self.fresh(bed)
        engine.launch([bed.assignment(self.a, Doing.LASTING)])
        engine.cancel([self.a])
        end = end_of(bed, engine, self.a)
        if isinstance(end, Ended):
            assert end.cause is Cause.STOPPED
            assert bed.starts(self.a) <= 1  # it may have been stopped before it did anything
        else:
            assert end.started or bed.starts(self.a) == 0
        assert not bed.runs(self.a)
        engine.close()

    def test_cancel_before_the_launch_keeps_it_from_starting(self, bed: Bed) -> None:
        engine, _ = self.fresh(bed)
        engine.cancel([self.a])
        engine.launch([bed.assignment(self.a, Doing.LASTING)])
        end = end_of(bed, engine, self.a)
        assert isinstance(end, Lost)
        assert not end.started
        for _ in range(5):
            bed.settle()
        assert bed.starts(self.a) == 0
        engine.acknowledge([end])
        assert not engine.poll()
        engine.close()

    def test_cancel_after_the_end_changes_nothing(self, bed: Bed) -> None:
        engine, _ = self.fresh(bed)
        engine.launch([bed.assignment(self.a, Doing.BADLY)])
        end = end_of(bed, engine, self.a)
        engine.cancel([self.a])
        bed.settle()
        assert end_of(bed, engine, self.a) == end
        engine.close()

    def test_what_cannot_be_launched_is_reported(self, bed: Bed) -> None:
        engine, _ = self.fresh(bed)
        engine.launch([bed.assignment(self.a, Doing.MISSING)])
        end = end_of(bed, engine, self.a)
        assert isinstance(end, Ended)
        assert end.cause is Cause.NOT_STARTED
        assert end.message
        engine.close()

    def test_a_machine_that_is_not_there(self, bed: Bed) -> None:
        engine, _ = self.fresh(bed)
        like = bed.assignment(self.a, Doing.WELL)
        absent = Assignment(
            self.a, "no-such-machine", like.name, like.tenant, like.demand, like.command, like.call
        )
        engine.launch([absent])
        end = end_of(bed, engine, self.a)
        assert isinstance(end, Lost)
        assert not end.started
        assert end.machine_at_fault
        assert bed.starts(self.a) == 0
        engine.close()

    def test_a_time_limit_stops_it(self, bed: Bed) -> None:
        engine, _ = self.fresh(bed)
        like = bed.assignment(self.a, Doing.LASTING)
        limited = Assignment(
            self.a,
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
        end = end_of(bed, engine, self.a)
        assert isinstance(end, Ended)
        assert end.cause is Cause.TIME_LIMIT
        assert not bed.runs(self.a)
        engine.close()

    def test_a_running_attempt_is_found_again(self, bed: Bed) -> None:
        first, _ = self.fresh(bed)
        assignment = bed.assignment(self.a, Doing.LASTING)
        first.launch([assignment])
        begun(bed, first, self.a)
        first.acknowledge(first.poll())
        first.close()
        first.close()
        bed.settle()
        assert bed.runs(self.a)
        second, never = self.fresh(bed, assignment)
        assert never == []
        started(bed, second, self.a)
        second.launch([assignment])
        bed.settle()
        assert bed.starts(self.a) == 1
        second.cancel([self.a])
        end = end_of(bed, second, self.a)
        assert isinstance(end, Ended)
        assert end.cause is Cause.STOPPED
        assert not bed.runs(self.a)
        second.close()

    def test_an_end_that_nobody_acknowledged_is_reported_again(self, bed: Bed) -> None:
        first, _ = self.fresh(bed)
        assignment = bed.assignment(self.a, Doing.BADLY)
        first.launch([assignment])
        end = end_of(bed, first, self.a)
        first.close()
        second, never = self.fresh(bed, assignment)
        assert never == []
        assert end_of(bed, second, self.a) == end
        second.close()

    def test_an_end_while_nobody_looked_is_found(self, bed: Bed) -> None:
        first, _ = self.fresh(bed)
        assignment = bed.assignment(self.a, Doing.SLOW)
        first.launch([assignment])
        # Not until it is said to have started: of what is over by then only the end is said.
        collect(bed, first, lambda _: bed.starts(self.a) == 1)
        first.close()
        wait(bed, lambda: not bed.runs(self.a))
        second, never = self.fresh(bed, assignment)
        assert never == []
        end = end_of(bed, second, self.a)
        assert isinstance(end, Ended)
        assert (end.cause, end.code) == (Cause.EXITED, 0)
        assert bed.starts(self.a) == 1
        second.close()

    def test_what_never_started_is_returned_and_can_be_launched(self, bed: Bed) -> None:
        first, _ = self.fresh(bed)
        first.close()
        one, other = bed.assignment(self.a, Doing.WELL), bed.assignment(self.b, Doing.WELL)
        second, never = self.fresh(bed, one, other)
        assert never == [self.a, self.b]
        assert not second.poll()
        second.launch([one])
        end = end_of(bed, second, self.a)
        assert isinstance(end, Ended)
        assert (bed.starts(self.a), bed.starts(self.b)) == (1, 0)
        second.close()
        third, never = self.fresh(bed, one, other)
        assert never == [self.b]
        third.close()

    def test_what_nobody_expects_is_stopped_and_not_reported(self, bed: Bed) -> None:
        first, _ = self.fresh(bed)
        assignments = [
            bed.assignment(self.a, Doing.LASTING),
            bed.assignment(self.b, Doing.LASTING),
            bed.assignment(self.c, Doing.BADLY),
        ]
        first.launch(assignments)
        begun(bed, first, self.a, self.b)
        end_of(bed, first, self.c)
        first.close()
        second, never = self.fresh(bed, assignments[0])
        assert never == []
        seen: set[Attempt] = set()

        def gone() -> bool:
            seen.update(report.attempt for report in second.poll())
            return not bed.runs(self.b)

        wait(bed, gone)
        started(bed, second, self.a)
        assert seen <= {self.a}
        assert bed.runs(self.a)
        second.cancel([self.a])
        end_of(bed, second, self.a)
        second.close()

    @pytest.mark.parametrize("restarted", [False, True])
    def test_what_has_the_name_of_what_nobody_expects_is_another_one(
        self, bed: Bed, restarted: bool
    ) -> None:
        """A journal that begins anew, or was restored, gives the numbers of its tasks again; its
        service may start again while they are being stopped."""
        engine, (one, _, _) = bed.engine(), new_attempts()
        engine.reconcile([])
        engine.launch([bed.assignment(one, Doing.LASTING)])
        begun(bed, engine, one)
        engine = bed.engine()
        engine.reconcile([])
        new = bed.assignment(one, Doing.BADLY)
        engine.launch([new])
        if restarted:
            engine = bed.engine()
            engine.launch([new] if one in engine.reconcile([new]) else [])
        end = end_of(bed, engine, one)
        assert isinstance(end, Ended), end
        assert (end.cause, end.code) == (Cause.EXITED, 3), end
        assert not bed.runs(one)
        assert bed.starts(one) == 2
        engine.acknowledge([end])
        assert [each for each in engine.poll() if each.attempt == one] == []

    @pytest.mark.parametrize("acknowledged", [False, True])
    def test_what_has_the_name_of_what_ended_is_another_one(
        self, bed: Bed, acknowledged: bool
    ) -> None:
        """The journal of that one is gone, or an older copy was put back: nobody forgot what it
        wrote."""
        first, (one, _, _) = bed.engine(), new_attempts()
        first.reconcile([])
        first.launch([bed.assignment(one, Doing.PRINTING)])
        end = end_of(bed, first, one)
        first.acknowledge([end] if acknowledged else [])
        first.poll()
        first.close()
        second, _ = self.fresh(bed)
        second.launch([bed.assignment(one, Doing.BADLY)])
        end = end_of(bed, second, one)
        assert isinstance(end, Ended), end
        assert (end.cause, end.code, end.output) == (Cause.EXITED, 3, 0)
        assert second.output(one, Stream.OUT, 0, 100).data == b""
        assert bed.starts(one) == 2
        second.acknowledge([end])
        second.close()

    def test_reconciling_an_engine_that_works_loses_nothing(self, bed: Bed) -> None:
        engine, _ = self.fresh(bed)
        one, other = bed.assignment(self.a, Doing.LASTING), bed.assignment(self.b, Doing.BADLY)
        engine.launch([one, other])
        begun(bed, engine, self.a)
        end = end_of(bed, engine, self.b)
        engine.acknowledge([report for report in engine.poll() if report.attempt == self.a])
        assert list(engine.reconcile([one, other])) == []
        started(bed, engine, self.a)
        assert end_of(bed, engine, self.b) == end
        assert (bed.starts(self.a), bed.starts(self.b)) == (1, 1)
        engine.cancel([self.a])
        end_of(bed, engine, self.a)
        engine.close()

    def test_output_in_parts(self, bed: Bed) -> None:
        engine, _ = self.fresh(bed)
        engine.launch([bed.assignment(self.a, Doing.PRINTING)])
        end = end_of(bed, engine, self.a)
        whole = engine.output(self.a, Stream.OUT, 0, 1000)
        assert (whole.data, whole.offset, whole.size, whole.over) == (b"out\n", 0, 4, True)
        assert engine.output(self.a, Stream.ERR, 0, 1000).data == b"err\n"
        part = engine.output(self.a, Stream.OUT, 1, 2)
        assert (part.data, part.offset, part.size) == (b"ut", 1, 4)
        tail = engine.output(self.a, Stream.OUT, -2, 1000)
        assert (tail.data, tail.offset) == (b"t\n", 2)
        assert engine.output(self.a, Stream.OUT, -100, 1000).data == b"out\n"
        assert engine.output(self.a, Stream.OUT, 100, 1000).data == b""
        engine.acknowledge([end])
        assert engine.output(self.a, Stream.OUT, 0, 1000).data == b"out\n"
        engine.forget([self.a])
        engine.forget([self.a])
        assert engine.output(self.a, Stream.OUT, 0, 1000).data == b""
        engine.close()

    def test_the_output_of_a_running_attempt_is_not_over(self, bed: Bed) -> None:
        engine, _ = self.fresh(bed)
        engine.launch([bed.assignment(self.a, Doing.LASTING)])
        begun(bed, engine, self.a)
        assert not engine.output(self.a, Stream.OUT, 0, 10).over
        engine.cancel([self.a])
        end_of(bed, engine, self.a)
        assert engine.output(self.a, Stream.OUT, 0, 10).over
        engine.close()

    def test_output_survives_the_engine(self, bed: Bed) -> None:
        first, _ = self.fresh(bed)
        first.launch([bed.assignment(self.a, Doing.PRINTING)])
        first.acknowledge([end_of(bed, first, self.a)])
        first.close()
        second, _ = self.fresh(bed)
        assert second.output(self.a, Stream.OUT, 0, 10).data == b"out\n"
        second.forget([self.a])
        assert second.output(self.a, Stream.OUT, 0, 10).data == b""
        second.close()

    def test_whoever_listens_is_told_when_to_ask(self, bed: Bed) -> None:
        engine, news = bed.engine(), Event()
        if not isinstance(engine, NotifiesNews):
            engine.close()
            return
        engine.listen(news.set)
        engine.reconcile([])
        engine.launch([bed.assignment(self.a, Doing.SLOW), bed.assignment(self.b, Doing.LASTING)])
        over = ended(self.a)
        reports = told(
            *(bed, engine, news),
            lambda found: over(found) and self.b in {report.attempt for report in found},
        )
        engine.acknowledge(reports)
        engine.cancel([self.b])
        told(bed, engine, news, ended(self.b))
        engine.close()

    def test_many_at_once(self, bed: Bed) -> None:
        engine, _ = self.fresh(bed)
        attempts = [replace(self.a, task=task) for task in range(20)]
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
