"""What a call will return, and what became of it."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event
from typing import Any

from ray import cloudpickle, exceptions


class Future:
    """One task of a job: a call that was submitted. Made by `submit`, `remote` and `map`."""

    def __init__(self, what: str, stop: Callable[[Future], bool]) -> None:
        self.what = what
        self.task = 0
        """The number of its task, once that is submitted."""
        self.job: str | None = None
        """The name of its job, once that is accepted."""
        self._stop = stop
        self._over = Event()
        self._error: BaseException | None = None
        self._data = b""
        self.listeners: list[Callable[[Future], None]] = []

    def __repr__(self) -> str:
        state = "over" if self._over.is_set() else "not over"
        return f"<Future {self.what}, job {self.job}, task {self.task}, {state}>"

    def done(self) -> bool:
        """Whether it is over, well or not."""
        return self._over.is_set()

    def wait(self, timeout: float | None = None) -> bool:
        """Waits until it is over, at most so many seconds; whether it is."""
        return self._over.wait(timeout)

    def result(self, timeout: float | None = None) -> Any:
        """What the function returned. Raises what it raised, as Ray does: an error that is both of
        its own type and RayTaskError. GetTimeoutError where it is not over in time."""
        error = self.exception(timeout)
        if error is not None:
            raise error
        # Every call gives a value of its own: nobody changes another's.
        return cloudpickle.loads(self._data[1:])

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """What `result` would raise, None where it would not."""
        if not self._over.wait(timeout):
            hint = f"; `fairlead why {self.job}` says what it waits for" if self.job else ""
            sentence = f"{self.what} is not over after {timeout:g} seconds{hint}"
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
        if self._over.is_set():
            return
        self._data, self._error = data, error
        self._over.set()
        for listener in self.listeners:
            listener(self)
