"""Signals reach what runs, wherever they come."""

from __future__ import annotations

import ctypes
import os
import signal
import time
from contextlib import suppress
from importlib.machinery import ExtensionFileLoader
from types import ModuleType

import pytest

from fairlead.children import Terminated, holding, unwinding


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


class Dropping(ExtensionFileLoader):
    """A module of C that goes on whatever is raised meanwhile."""

    def exec_module(self, module: ModuleType) -> None:
        """The signal comes."""
        with suppress(BaseException):
            signal.raise_signal(int(module.__name__))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_comes_while_a_module_of_c_is_loaded_is_not_lost(number: int) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # as in a terminal, also under nohup
    name = str(int(number))
    until = time.monotonic() + 60
    try:
        with pytest.raises(Terminated) as told, unwinding():  # noqa: PT012 - so late it comes
            Dropping(name, name).exec_module(ModuleType(name))
            while time.monotonic() < until:
                time.sleep(0.001)
    finally:
        signal.signal(signal.SIGHUP, before)
    assert told.value.number == number


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_what_a_signal_broke_off_in_a_call_from_c_fails_as_the_signal(number: int) -> None:
    called = ctypes.CFUNCTYPE(None)(lambda: signal.raise_signal(number))
    message = "what the call should have done is missing"
    with pytest.raises(Terminated) as told, unwinding():  # noqa: PT012 - both are in question
        called()
        raise RuntimeError(message)
    assert told.value.number == number


def test_an_error_that_no_signal_caused_stays_what_it_is() -> None:
    with pytest.raises(ZeroDivisionError), unwinding():
        _ = 1 // 0


def test_a_signal_waits_until_a_process_is_known() -> None:
    began, known = [], []
    with pytest.raises(Terminated), unwinding():  # noqa: PT012 - where it is raised is the question
        with holding():
            began.append(True)
            os.kill(os.getpid(), signal.SIGTERM)
            known.append(True)
        began.append(False)
    assert (began, known) == ([True], [True])
