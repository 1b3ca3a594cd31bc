"""Whoever listens to the local engine hears of all there is, and of nothing else."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from math import inf
from threading import Event

import pytest

from fairlead.engines.interface import Assignment, Attempt, Cause, Ended, EngineError, Started
from fairlead.engines.local import memory, supervisor
from fairlead.engines.local.engine import LocalEngine
from fairlead.engines.news import NewsWatch
from tests.engines.contract import PATIENCE, Doing, ended, told, wait
from tests.engines.local.bed import LocalBed, assign, fixture_bed, of, shim_of

__all__ = ["fixture_bed"]

A, B = Attempt(1, 0, 1), Attempt(1, 1, 1)


class Ear(Event):
    """Counts how often it is told."""

    def __init__(self) -> None:
        super().__init__()
        self.times = 0

    def wake(self) -> None:
        self.times += 1
        self.set()


@pytest.fixture(name="ear")
def fixture_ear() -> Ear:
    return Ear()


def listening(bed: LocalBed, ear: Ear, *expected: Assignment) -> LocalEngine:
    """A new engine that was reconciled, and that somebody listens to."""
    engine = bed.engine()
    engine.listen(ear.wake)
    engine.reconcile(expected)
    return engine


def runs(attempt: Attempt) -> Callable[..., bool]:
    """Whether it is among reports that it started."""
    return lambda found: any(isinstance(r, Started) and r.attempt == attempt for r in found)


def how_it_ended(bed: LocalBed, engine: LocalEngine, ear: Ear, attempt: Attempt) -> Ended:
    (end,) = (r for r in told(bed, engine, ear, ended(attempt)) if isinstance(r, Ended))
    return end


def test_what_needs_no_process_is_told_at_once(bed: LocalBed, ear: Ear) -> None:
    engine = listening(bed, ear)
    engine.poll()
    bed.settle()
    ear.clear()
    engine.launch([replace(assign(A, "true"), command=None)])
    told(bed, engine, ear, ended(A))
    engine.cancel([B])
    told(bed, engine, ear, ended(A, B))


def test_what_is_over_has_nothing_more_to_say(bed: LocalBed, ear: Ear) -> None:
    """Where nobody acknowledges its end, its start is not said after it."""
    engine = listening(bed, ear)
    engine.launch([bed.assignment(A, Doing.WELL)])
    over = told(bed, engine, ear, ended(A))
    time.sleep(2 * supervisor.SHORT)  # by then its start would have been said
    assert list(engine.poll()) == over


def test_a_time_limit_is_told(bed: LocalBed, ear: Ear) -> None:
    engine = listening(bed, ear)
    engine.launch([assign(A, "exec sleep 1000", time_limit=Fraction(3, 10))])
    assert how_it_ended(bed, engine, ear, A).cause is Cause.TIME_LIMIT


def test_the_end_of_what_has_to_be_forced_is_told(bed: LocalBed, ear: Ear) -> None:
    sign = bed.folder / "sign"
    engine = listening(bed, ear)
    engine.launch([assign(A, f"trap '' TERM; touch {sign}; while :; do sleep 0.05; done")])
    told(bed, engine, ear, runs(A))
    wait(bed, sign.exists)
    engine.cancel([A])
    end = how_it_ended(bed, engine, ear, A)
    assert (end.cause, end.code) == (Cause.STOPPED, signal.SIGKILL)


def test_an_end_is_told_once_what_was_left_behind_is_gone(bed: LocalBed, ear: Ear) -> None:
    engine = listening(bed, ear)
    engine.launch([assign(A, "setsid sleep 1000 & setsid sleep 1000 & exit 7")])
    assert how_it_ended(bed, engine, ear, A).code == 7
    assert not of(bed.state, A)


def test_who_takes_too_much_memory_is_told(bed: LocalBed, ear: Ear) -> None:
    engine = listening(bed, ear)
    takes = "a = b'x' * (120 << 20)\nimport time\ntime.sleep(1000)"
    engine.launch([assign(A, ("python3", "-c", takes), demand={"cpu": 1, "memory": 40 << 20})])
    assert how_it_ended(bed, engine, ear, A).cause is Cause.MEMORY


def test_too_much_memory_is_told_as_soon_as_it_is_found(
    ear: Ear, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "INTERVAL", 3600)
    watch = memory.MemoryWatch()
    watch.wake = ear.wake
    with subprocess.Popen(["sleep", "1000"], start_new_session=True) as task:
        try:
            limits = {task.pid: (1, A)}
            end = time.monotonic() + PATIENCE
            # The system counts a process's first pages late, and there is one look.
            while not memory.above(limits) and time.monotonic() < end:
                time.sleep(0.01)
            watch.look(limits)
            assert ear.wait(PATIENCE)
            assert [attempt for attempt, _ in watch.take_exceeding()] == [A]
        finally:
            watch.close()
            task.kill()


def test_what_the_spawner_did_not_take_at_once_is_handed_over(bed: LocalBed, ear: Ear) -> None:
    """Also where it answers nothing."""
    engine = listening(bed, ear)
    spawner = engine._spawner  # noqa: SLF001
    assert spawner is not None
    os.kill(spawner.pid, signal.SIGSTOP)
    engine.forget([Attempt(10**17, 10**17, 10**17 + number) for number in range(10_000)])
    assert spawner._out  # noqa: SLF001
    os.kill(spawner.pid, signal.SIGCONT)
    told(bed, engine, ear, lambda _: not spawner._out)  # noqa: SLF001


def test_a_spawner_that_is_killed_is_told_and_the_next_one_is_heard(
    bed: LocalBed, ear: Ear
) -> None:
    engine = listening(bed, ear)
    one, other = bed.assignment(A, Doing.LASTING), bed.assignment(B, Doing.SLOW)
    engine.launch([one])
    told(bed, engine, ear, runs(A))
    for _ in range(3):
        spawner = engine._spawner  # noqa: SLF001
        assert spawner is not None
        os.kill(spawner.pid, signal.SIGKILL)
        with pytest.raises(EngineError):
            told(bed, engine, ear, lambda _: False)
        engine.reconcile([one])
    engine.launch([other])
    told(bed, engine, ear, ended(B))
    os.kill(shim_of(bed.state, A), signal.SIGKILL)  # which is no child of the present one
    told(bed, engine, ear, ended(A, B))


@pytest.mark.parametrize("share", [supervisor.DESCRIPTORS, 10**9])
def test_the_end_of_what_a_former_engine_started_is_told(
    bed: LocalBed, ear: Ear, monkeypatch: pytest.MonkeyPatch, share: int
) -> None:
    """Also where there are more of them than can be watched."""
    monkeypatch.setattr(supervisor, "DESCRIPTORS", share)
    assignment = bed.assignment(A, Doing.LASTING)
    bed.start(bed.ready(), assignment)
    engine = listening(bed, ear, assignment)
    engine.acknowledge(told(bed, engine, ear, runs(A)))
    os.kill(shim_of(bed.state, A), signal.SIGKILL)
    told(bed, engine, ear, ended(A))


def test_who_listens_late_misses_nothing(bed: LocalBed, ear: Ear) -> None:
    engine = bed.ready()
    engine.launch([bed.assignment(A, Doing.WELL)])
    wait(bed, lambda: bed.starts(A) == 1 and not bed.runs(A))
    engine.listen(ear.wake)
    told(bed, engine, ear, ended(A))
    another = Ear()
    engine.listen(another.wake)
    engine.launch([bed.assignment(B, Doing.WELL)])
    told(bed, engine, another, ended(A, B))


def test_while_nothing_happens_nothing_is_told(bed: LocalBed, ear: Ear) -> None:
    """Beside tasks with a time limit, with memory that is looked at, and that are adopted."""
    adopted = bed.assignment(A, Doing.LASTING)
    bed.start(bed.ready(), adopted)
    engine = listening(bed, ear, adopted)
    limit = Fraction(10**9)
    demand = {"cpu": 1, "memory": 1 << 30}
    engine.launch([assign(B, "exec sleep 1000", time_limit=limit, demand=demand)])
    told(bed, engine, ear, lambda found: runs(A)(found) and runs(B)(found))
    engine.acknowledge(engine.poll())
    before, end = ear.times, time.monotonic() + 2
    while time.monotonic() < end:
        if ear.wait(0.1):
            ear.clear()
            assert not engine.poll()
    assert ear.times - before <= 4  # a look at memory each second


def test_who_does_not_ask_is_not_told_again(bed: LocalBed, ear: Ear) -> None:
    engine = listening(bed, ear)
    engine.poll()
    engine.launch([bed.assignment(A, Doing.WELL), bed.assignment(B, Doing.SLOW)])
    wait(bed, lambda: bed.starts(B) == 1 and not bed.runs(B))
    assert ear.times <= 4


def test_an_engine_that_is_closed_leaves_no_thread(bed: LocalBed, ear: Ear) -> None:
    before = set(threading.enumerate())
    engine = listening(bed, ear)
    assert {one.name for one in set(threading.enumerate()) - before} == {"fairlead-news"}
    engine.close()
    engine.close()
    assert set(threading.enumerate()) == before


@contextmanager
def watching(wake: Callable[[], None]) -> Iterator[NewsWatch]:
    """A watch that is closed in the end."""
    watch = NewsWatch()
    watch.listen(wake)
    try:
        yield watch
    finally:
        watch.close()


def test_no_word_is_missed_whenever_it_comes() -> None:
    """Each is sent at another moment of reading and arming."""
    reading, writing = os.pipe2(os.O_NONBLOCK)
    ear, go_on, words = Ear(), threading.Semaphore(0), 2000

    def write() -> None:
        for number in range(words):
            assert go_on.acquire(timeout=PATIENCE)
            for _ in range(number % 500):
                pass
            os.write(writing, b"x")

    writer = threading.Thread(target=write)
    writer.start()
    with watching(ear.wake) as watch:
        heard = 0
        while heard < words:
            go_on.release()
            before = heard
            while heard == before:
                watch.arm({reading: select.EPOLLIN}, inf)
                assert ear.wait(PATIENCE), heard
                ear.clear()
                try:
                    heard += len(os.read(reading, 100))
                except BlockingIOError:
                    continue
    writer.join()
    os.close(reading)
    os.close(writing)


def test_no_time_is_missed_however_it_changes() -> None:
    ear = Ear()
    with watching(ear.wake) as watch:
        for number in range(300):
            later = time.monotonic() + (0.002, 10**10, inf)[number % 3]
            watch.arm({}, later)
            due = time.monotonic() + (number % 7) * 0.0005
            watch.arm({}, due)
            while time.monotonic() < due:
                ear.clear()
                assert ear.wait(PATIENCE)
            ear.clear()
    ear = Ear()
    with watching(ear.wake) as watch:  # to which nothing of before is still to be told
        ear.clear()
        watch.arm({}, time.monotonic() - 1)
        assert ear.wait(PATIENCE)
        ear.clear()
        before = ear.times
        assert not ear.wait(0.1)
        assert ear.times == before


def test_it_sleeps_while_nothing_comes() -> None:
    """Also after it was kicked."""
    ear = Ear()
    with watching(ear.wake) as watch:
        watch.arm({}, time.monotonic())
        assert ear.wait(PATIENCE)
        watch.arm({}, time.monotonic() + 10**6)
        assert watch._thread is not None  # noqa: SLF001
        assert watch._thread.ident is not None  # noqa: SLF001
        clock = time.pthread_getcpuclockid(watch._thread.ident)  # noqa: SLF001
        before = time.clock_gettime(clock)
        time.sleep(0.5)  # in which one that spins takes all of it
        assert time.clock_gettime(clock) - before < 0.1


def test_a_number_that_another_file_has_now_is_watched_anew() -> None:
    ear = Ear()
    with watching(ear.wake) as watch:
        for _ in range(3):
            ear.clear()
            old, its = os.pipe()
            copy = os.dup(old)  # as a process that was just forked may have it
            watch.arm({old: select.EPOLLIN}, inf)
            watch.release()
            os.close(old)
            os.write(its, b"x")
            assert not ear.wait(0.05)
            new, writing = os.pipe()
            if new != old:  # where garbage was closed meanwhile, another number is the lowest
                os.dup2(new, old)
                os.close(new)
            watch.arm({old: select.EPOLLIN}, inf)
            os.write(writing, b"x")
            assert ear.wait(PATIENCE)
            watch.release()
            for one in (its, copy, old, writing):
                os.close(one)
