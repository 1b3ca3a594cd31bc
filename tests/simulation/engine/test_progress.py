"""Progress where there is no terminal: a line now and then, with the time left."""

from __future__ import annotations

import pytest

from fairlead.simulation.engine import progress as shown
from fairlead.simulation.engine.progress import Lines, lasting
from fairlead.simulation.ideal.kinds import Kind
from fairlead.simulation.ideal.run import run_ideal
from fairlead.simulation.workloads.registry import generate


def test_lines_come_now_and_then_and_say_what_is_left(capsys: pytest.CaptureFixture[str]) -> None:
    now = 0.0
    lines = Lines(1000, "task", clock=lambda: now)
    for _ in range(100):
        now += 1.0
        lines.update(5)
    assert capsys.readouterr().err.splitlines() == [
        "150 of 1,000 tasks after 30 s, about 3 min left",
        "300 of 1,000 tasks after 60 s, about 2 min left",
        "450 of 1,000 tasks after 90 s, about 2 min left",
    ]


def test_what_is_done_soon_shows_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    now = 0.0
    lines = Lines(None, "run", clock=lambda: now)
    now = 29.0
    lines.update(1)
    assert capsys.readouterr().err == ""
    now = 31.0
    lines.update(0)
    assert capsys.readouterr().err == "1 runs after 31 s\n"


@pytest.mark.parametrize(("seconds", "said"), [(59.4, "59 s"), (130, "2 min"), (7200, "2.0 h")])
def test_times_are_short(seconds: float, said: str) -> None:
    assert lasting(seconds) == said


def test_a_step_that_takes_long_is_seen_to_go_on(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shown, "LINE_EVERY", 0.01)
    said = ""
    with shown.progress(8, "task"):
        while not said:  # nothing is done meanwhile
            said = capsys.readouterr().err
    assert said.startswith("0 of 8 tasks after 0 s\n")


def test_an_ideal_run_tells_how_far_it_is(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shown, "LINE_EVERY", 1e-4)
    workload = generate("tsf-study(machines=5, jobs=4, tasks=80)", 0)
    tasks = sum(int(batch.tasks.sum()) for batch in workload.batches())
    run_ideal(workload, Kind.RESTRICTED)
    assert capsys.readouterr().err == ""
    run_ideal(workload, Kind.RESTRICTED, progress=True)
    said = capsys.readouterr().err.splitlines()
    assert said[-1].startswith(f"{tasks:,} of {tasks:,} tasks after ")
