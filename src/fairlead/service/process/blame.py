"""Requests of which a step failed: they are refused, and not tried again for a while."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from pathlib import Path
from traceback import extract_tb

from fairlead.service.requests import Refused, Request, SubmitJobs, Wrong

PAUSE = 60_000_000
"""Microseconds for which a request of which a step failed is not tried again: each time, the core
is made again of the journal, and everybody waits for that."""

MOST = 16
"""Such requests that are remembered."""

FRAMES = 6
"""Places in the program that are told of a failure, the innermost first."""


@dataclass(frozen=True)
class _Failed:
    request: Request
    time: int
    error: str


class Blame:
    """Remembers which requests made a step fail. It knows them by what they ask for, whatever
    their idempotency key is."""

    def __init__(self) -> None:
        self._failed: deque[_Failed] = deque(maxlen=MOST)

    def note(self, request: Request, time: int, error: BaseException) -> Refused:
        """A step failed of this request, and of nothing else. Returns the answer to it."""
        failed = _Failed(_without_key(request), time, type(error).__name__)
        self._failed.append(failed)
        return _refused(failed)

    def refusal(self, request: Request, time: int) -> Refused | None:
        """The same answer, where it is too soon to try that request again."""
        if not self._failed:
            return None
        asked = _without_key(request)
        for failed in self._failed:
            if 0 <= time - failed.time < PAUSE and failed.request == asked:
                return _refused(failed)
        return None


def describe(request: Request, error: BaseException) -> str:
    """A line for the log: the kind of the request, of the error, and where it arose. What was
    asked for, and what the error quotes of it, is somebody's own."""
    frames = reversed(extract_tb(error.__traceback__)[-FRAMES:])
    places = " < ".join(f"{Path(each.filename).name}:{each.lineno} {each.name}" for each in frames)
    return f"{type(request).__name__}: {type(error).__name__} at {places}"


def _refused(failed: _Failed) -> Refused:
    return Refused(
        Wrong.FAILED,
        f"Fairlead failed at this request ({failed.error}): nothing of it was done, and the same"
        f" one is not tried again for {PAUSE // 1_000_000} s; that is a mistake in Fairlead",
    )


def _without_key(request: Request) -> Request:
    return replace(request, key=None) if isinstance(request, SubmitJobs) else request
