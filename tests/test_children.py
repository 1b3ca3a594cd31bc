"""Signals reach what runs, wherever they come."""

from __future__ import annotations

import signal
import time

import pytest

from fairlead.children import unwinding


class Finalized:
    """The signal comes while an object is finalized, where Python drops what is raised."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __del__(self) -> None:
        signal.raise_signal(self.number)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_comes_while_an_object_is_finalized_is_not_lost(
    number: signal.Signals, capsys: pytest.CaptureFixture[str]
) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # as in a terminal, also under nohup

    def work() -> None:
        Finalized(number)
        until = time.monotonic() + 60
        while time.monotonic() < until:
            time.sleep(0.001)

    try:
        with unwinding(), pytest.raises(KeyboardInterrupt):
            work()
    finally:
        signal.signal(signal.SIGHUP, before)
    assert "Traceback" not in capsys.readouterr().err
