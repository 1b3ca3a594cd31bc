"""What a service believes of the machine's clock."""

from __future__ import annotations

import pytest

from fairlead.engines.interface import Attempt, Cause, Ended
from fairlead.model.errors import InputError
from fairlead.service.process.clock import BACK, FORWARD, STEP, SteadyClock, check_clock
from fairlead.service.settings import DAY, Retention, Settings
from tests.engines.world import Fate
from tests.service.loop.stage import SECOND, Stage, job

NOW = 1_795_500_000 * SECOND  # 2026-11-24


class Machine:
    """A machine's clocks, and what was told of them."""

    def __init__(self) -> None:
        self.wall, self.passed = NOW, 77
        self.told: list[str] = []
        self.clock = SteadyClock(self.told.append, lambda: self.wall, lambda: self.passed)

    def passes(self, time: int, step: int = 0) -> int:
        """So much time passes, and the clock is set by that much more; what is believed."""
        self.passed += time
        self.wall += time + step
        return self.clock() - NOW


@pytest.mark.parametrize("off", [0, FORWARD, -BACK, 7 * DAY])
def test_a_start_believes_a_clock_of_a_service_that_was_off_for_a_while(off: int) -> None:
    check_clock(NOW + off, NOW)


@pytest.mark.parametrize(
    ("off", "said"),
    [
        (400 * DAY, "2027-12-29 06:00 UTC, 400 days after the journal's last entry, of 2026-11-24"),
        (-3 * DAY, "2026-11-21 06:00 UTC, 3 days before the journal's last entry, of 2026-11-24"),
        (FORWARD + 1, "30 days after"),
        (-BACK - 1, "1 day before"),
        (20_000_000 * DAY, "20000000 days after"),
    ],
)
def test_a_start_refuses_a_clock_that_is_further_off(off: int, said: str) -> None:
    with pytest.raises(InputError, match="--clock-is-right") as refused:
        check_clock(NOW + off, NOW)
    assert said in str(refused.value)
    check_clock(NOW + off, NOW, is_right=True)


def test_a_new_journal_takes_any_clock() -> None:
    check_clock(NOW, 0)


def test_small_steps_are_followed_and_add_up() -> None:
    machine = Machine()
    assert machine.passes(SECOND) == SECOND
    assert machine.passes(SECOND, STEP) == 2 * SECOND + STEP
    assert machine.passes(SECOND, -STEP) == 3 * SECOND
    assert machine.passes(SECOND, -STEP) == 4 * SECOND - STEP
    assert machine.told == []


def test_a_machine_that_slept_is_believed() -> None:
    machine = Machine()
    assert machine.passes(90 * DAY) == 90 * DAY
    assert machine.told == []


@pytest.mark.parametrize("jump", [400 * DAY, -400 * DAY, STEP + 1])
def test_a_jump_is_told_once_and_time_passes_as_if_there_were_none(jump: int) -> None:
    machine = Machine()
    assert machine.passes(0, jump) == 0
    assert machine.passes(SECOND) == SECOND
    assert len(machine.told) == 1
    assert "which is not believed" in machine.told[0]
    assert machine.passes(SECOND, 10 * SECOND - jump) == 12 * SECOND
    assert machine.told[1:] == ["the clock is believed again: it says 2026-11-24 06:00 UTC"]
    assert machine.passes(SECOND, jump) == 13 * SECOND
    assert len(machine.told) == 3


def test_a_jump_while_it_runs_forgets_and_stamps_nothing() -> None:
    stage = Stage(fates={"short": [Fate(0)]})
    jump = 0
    clock = SteadyClock(lambda _: None, lambda: stage.now + jump, lambda: stage.now)
    stage.submit(job("short"))
    stage.settle(1)
    jump = 400 * DAY
    for _ in range(10):
        stage.now += SECOND
        stage.service.step(clock())
    assert stage.service.records.job("short") is not None
    assert max(entry.time for entry in stage.entries()) <= stage.now


@pytest.mark.parametrize("restarted", [False, True])
def test_a_clock_that_was_ahead_once_is_forgotten(restarted: bool) -> None:
    """The service's time goes half as fast until the clock has caught up, and never back."""
    stage = Stage()

    def time_of(name: str) -> int:
        stage.submit(job(name))
        return stage.entries("job_submitted")[-1].time

    stage.settle(1)
    stage.now += STEP
    assert time_of("ahead") == stage.now
    stage.now -= STEP
    if restarted:
        stage.restart()
    stage.step()
    for _ in range(60):
        stage.step(after=STEP // 60)
    assert time_of("half") - stage.now == STEP // 2
    for _ in range(60):
        stage.step(after=STEP // 60)
    assert time_of("back") == stage.now
    times = [entry.time for entry in stage.entries()]
    assert times == sorted(times)


def test_what_is_due_while_the_time_goes_half_as_fast_is_done_when_it_is_due() -> None:
    stage = Stage(settings=Settings(retention=Retention(time=60 * SECOND)), fates={"x": [Fate(0)]})
    stage.submit(job("x"))
    stage.settle(1)
    ended = stage.entries("task_finished")[-1].time
    stage.now -= 10 * SECOND
    stage.step()
    wakes = 0
    while stage.service.records.job("x") is not None:
        stage.now = max(stage.now, stage.service.wake())
        stage.step()
        wakes += 1
        assert wakes < 100  # machines are looked at each second
    assert stage.entries("job_forgotten")[-1].time == ended + 60 * SECOND


@pytest.mark.parametrize("ahead", [1, 400 * DAY, 2**80])
def test_a_time_after_now_that_an_engine_tells_is_now(ahead: int) -> None:
    """Its processes read the machine's clock, which may have been set."""
    stage = Stage()
    stage.submit(job("x"))
    stage.settle(1)
    (attempt,) = stage.running()
    time = stage.now + SECOND + ahead
    told = [Ended(attempt, Cause.EXITED, 0, time, -5)]
    poll = stage.service.engine.poll
    stage.service.engine.poll = lambda: (*poll(), *told)  # type: ignore[method-assign]
    stage.step(after=SECOND)
    task = stage.task("x")
    assert (attempt, task.ended) == (Attempt(1, 0, 1), stage.now)
    (end,) = stage.entries("task_finished")
    assert (end.body["started"], end.body["ended"]) == (None, stage.now)


def test_a_service_in_which_nothing_happens_writes_that_time_passed_once_a_day() -> None:
    """By it the next start sees how far the clock may have gone on."""
    stage = Stage()
    stage.settle(1)
    before = stage.service.records.seq
    for _ in range(40 * 4):
        stage.step(after=DAY // 4)
    assert stage.kinds(before) == ["time_passed"] * 40
    assert stage.now - stage.service.records.time < DAY
    stage.restart()
    check_clock(stage.now, stage.service.records.time)
