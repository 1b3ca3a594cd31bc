"""What a driver hears from the launcher: its reports as they come, and whether what it was told was
done."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread
from typing import Any

import ray

from fairlead.engines.interface import EngineError
from fairlead.engines.messages import report_of
from fairlead.engines.ray.verdict import Tree
from fairlead.engines.unacknowledged import Unacknowledged

WAIT = 1.0
"""Seconds for which the launcher keeps a question for news where there are none."""

DEAF = "the launcher in Ray lacks the call of a job"


class Ear:
    """Hears of one reconciliation, whose answer is `told`, until it is closed or in trouble.

    `trouble`: why what was told since may not have been done; empty while all is well. `wake` is
    called when there is something new, or trouble."""

    def __init__(
        self, launcher: Any, epoch: int, told: Tree, patience: float, wake: Callable[[], None]
    ) -> None:
        self.trouble = ""
        self._launcher, self._epoch, self._round = launcher, epoch, told["round"]
        self._patience, self._wake = patience, wake
        self._closed = False
        self.reports = Unacknowledged()
        self.reports.take(map(report_of, told["reports"]))
        Thread(target=self._hear, args=(told["seen"],), name="news of Ray", daemon=True).start()

    def follow(self, answer: Any) -> None:
        """Sees to it that this was done, or is known not to be."""
        answer.future().add_done_callback(self._answered)

    def close(self) -> None:
        """Hears nothing any more."""
        self._closed = True

    def _hear(self, seen: int) -> None:
        while not (self._closed or self.trouble):
            question = self._launcher.news.remote(self._epoch, self._round, seen, WAIT)
            try:
                seen, trees = got(question, WAIT + self._patience)
            except EngineError as error:
                self._fail(str(error))
                return
            if trees and not self._closed:
                self.reports.take(map(report_of, trees))
                self._wake()

    def _answered(self, answer: Future[Any]) -> None:
        error = answer.exception()
        if error is not None:
            self._fail(sentence(error))
        elif answer.result():
            self._fail(DEAF)

    def _fail(self, why: str) -> None:
        if not (self._closed or self.trouble):
            self.trouble = why
            self._wake()


def got(reference: Any, patience: float) -> Any:
    """What Ray has for this reference within so many seconds. Raises EngineError."""
    try:
        return ray.get(reference, timeout=patience)
    except ray.exceptions.GetTimeoutError as error:
        raise EngineError(f"Ray did not answer within {patience:g} seconds") from error
    except (ray.exceptions.RayError, PermissionError) as error:
        raise EngineError(sentence(error)) from error


def sentence(error: BaseException) -> str:
    """What Ray's error means to who asked the launcher."""
    if isinstance(error, ray.exceptions.ActorDiedError):
        return "the launcher in Ray is gone"
    return f"Ray failed: {error}"
