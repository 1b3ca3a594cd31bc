"""What is believed of an engine's reports."""

from __future__ import annotations

import signal
from dataclasses import replace
from typing import Any

import pytest

from fairlead.engines.credible import flaw
from fairlead.engines.interface import Attempt, Cause, Ended, Lost, Report, Started

ONE = Attempt(18, 0, 1)
STARTED = Started(ONE, 5)
ENDED = Ended(ONE, Cause.STOPPED, 143, 9, 5, "it was stopped", 0)
LOST = Lost(ONE, False, "it was stopped before it started", machine_at_fault=False)


@pytest.mark.parametrize(
    "report",
    [
        STARTED,
        ENDED,
        LOST,
        replace(ENDED, code=signal.SIGTERM),  # as of what was stopped right as it started
        replace(ENDED, started=None),
    ],
)
def test_what_engines_say_is_believed(report: Report) -> None:
    assert flaw(report) == ""


@pytest.mark.parametrize(
    ("report", "name", "value", "wrong"),
    [
        (STARTED, "time", 5.0, "its time is none"),
        (STARTED, "attempt", Attempt(18, True, 1), "it names no attempt"),
        (STARTED, "attempt", (18, 0, 1), "it names no attempt"),
        (ENDED, "code", 1.5, "its code is none"),
        (ENDED, "code", True, "its code is none"),
        (ENDED, "cause", "stopped", "its cause is none"),
        (ENDED, "message", b"bytes", "its message is none"),
        (ENDED, "output", -1, "its outputs cannot be of that size"),
        (LOST, "started", 1, "its word on whether it started is none"),
        (LOST, "why", None, "its reason is none"),
    ],
)
def test_what_cannot_be_is_not_believed(
    report: Report, name: str, value: object, wrong: str
) -> None:
    changes: dict[str, Any] = {name: value}
    assert flaw(replace(report, **changes)) == wrong


def test_what_is_no_report_is_not_believed() -> None:
    assert flaw("Ended") == "it is no report"
