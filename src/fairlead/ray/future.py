"""Futures: the results of calls, and their states."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Lock
from typing import Any

from ray import cloudpickle, exceptions

_waits = Lock()
"""Held while a future comes to be over, or somebody comes to wait for it."""


class Future:
    """One task of a job: a call that was submitted. Made by `submit`, `remote` and `map`."""

    def __init__(self, what: str, stop: Callable[[Future], bool]) -> None:
        self.what = what
        self.task = 0
        """The number of its task, once that is submitted."""
        self.job: str | None = None
        """The name of its job, once that is accepted."""
        self._stop = stop
        self._over = False
        self._wake: Event | None = None  # of those who wait; most are over before anybody does
        self._error: BaseException | None = None
        self._data = b""
        self.listeners: list[Callable[[Future], None]] = []

    def __repr__(self) -> str:
        state = "over" if self._over else "not over"
        return f"<Future {self.what}, job {self.job}, task {self.task}, {state}>"

    def done(self) -> bool:
        """Whether it is over, well or not."""
        return self._over

    def wait(self, timeout: float | None = None) -> bool:
        """Waits until it is over, at most so many seconds; whether it is."""
        with _waits:
            if self._over:
                return True
            wake = self._wake = self._wake or Event()
        return wake.wait(timeout)

    def result(self, timeout: float | None = None) -> Any:
        """Waits for the value that the function returned. Raises its error, as Ray does: one
        that is both of its own type and RayTaskError. GetTimeoutError where it is not
        over in time."""
        error = self.exception(timeout)
        if error is not None:
            raise error
        # Every call gives a value of its own: nobody changes another's.
        return cloudpickle.loads(self._data[1:])

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """Waits for the error that `result` would raise, None where it would not."""
        if not self.wait(timeout):
            hint = f"; `fairlead why {self.job}` says what it waits for" if self.job else ""
            sentence = f"{self.what} has not finished after {timeout:g} seconds{hint}"
            raise exceptions.GetTimeoutError(sentence)
        if self._error is None and self._data[:1] == b"e":
            error = cloudpickle.loads(self._data[1:])
            self._error = error.as_instanceof_cause()
        return self._error

    def cancel(self) -> bool:
        """Cancels its job; whether that could still be asked. The calls of one `map` are one job:
        they are cancelled together."""
        return not self.done() and self._stop(self)

    def settle(self, data: bytes = b"", error: BaseException | None = None) -> None:
        """It is over, with this result as it was kept, or this error. Once."""
        with _waits:
            if self._over:
                return
            self._data, self._error = data, error
            self._over = True
        if self._wake is not None:
            self._wake.set()
        for listener in self.listeners:
            listener(self)
