"""Attempts that are launched while something happens to the way to them again and again."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from numpy.random import Generator

from fairlead.engines.interface import (
    Assignment,
    Attempt,
    Ended,
    Engine,
    EngineError,
    Report,
    Started,
)
from tests.engines.contract import Doing, new_attempts, reconciled
from tests.engines.ray.ground import RayBed


def all_end_once(
    bed: RayBed, engine: Engine, draw: Generator, trouble: Callable[[], bool], count: int
) -> None:
    """Launches so many attempts, two at a time, and sees that each runs once and ends as it should,
    while `trouble`, which says whether there was any, comes at random moments. What is launched and
    acknowledged here is what a service would have in its journal."""
    reconciled(engine, [])
    first, _, _ = new_attempts()
    waiting = [
        bed.assignment(
            replace(first, task=task),
            Doing.BADLY if task % 3 else Doing.SLOW,
            ("head", "n0")[task % 2],
        )
        for task in range(count)
    ]
    troubles = 0
    expected: dict[Attempt, Assignment] = {}
    ends: dict[Attempt, Report] = {}
    while len(ends) < count:
        if troubles < count // 8 and draw.random() < 0.1:
            troubles += trouble()
        try:
            new, waiting = waiting[:2], waiting[2:]
            expected.update((one.attempt, one) for one in new)
            engine.launch(new)
            reports = engine.poll()
            for report in reports:
                if not isinstance(report, Started):
                    assert report.attempt not in ends
                    ends[report.attempt] = report
                    del expected[report.attempt]
            engine.acknowledge(reports)
        except EngineError:
            never = reconciled(engine, list(expected.values()))
            launched(engine, [expected[one] for one in never])
        time.sleep(0.02)
    assert troubles
    for attempt, report in sorted(ends.items()):
        assert isinstance(report, Ended), report
        assert report.code == (3 if attempt.task % 3 else 0)
        assert bed.starts(attempt) == 1


def launched(engine: Engine, batch: Sequence[Assignment]) -> None:
    """Launches these, whatever happens meanwhile: what fails is made good after the next call."""
    try:
        engine.launch(batch)
    except EngineError:
        return
