"""Errors of a call, beside those that the function itself raises."""

from __future__ import annotations

from ray import exceptions

from fairlead.model.errors import FairleadError


class CallError(FairleadError):
    """The call could not be submitted, or its result not be fetched; the sentence says why."""


class TaskFailedError(CallError):
    """The task ended otherwise than by its function's return: a time limit, a machine that went,
    a worker that died. `cause` is the service's word for it."""

    def __init__(self, sentence: str, cause: str) -> None:
        super().__init__(sentence)
        self.cause = cause


def build_error(cause: str, message: str, what: str) -> Exception:
    """The error of a task that left no result, as Ray would have it where Ray has one."""
    if cause in ("stopped", "dropped", "cancelled"):
        cancelled: Exception = exceptions.TaskCancelledError(error_message=f"{what} was cancelled")
        return cancelled
    if cause == "memory":
        memory: Exception = exceptions.OutOfMemoryError(f"{what} took too much memory: {message}")
        return memory
    words = {
        "time_limit": "reached its time limit",
        "not_started": "could not be started",
        "lost": "was lost",
        "signalled": "was killed",
        "rejected": "was rejected",
    }
    why = f": {message}" if message else ""
    return TaskFailedError(f"{what} {words.get(cause, 'ended badly')}{why}", cause)
