"""Reads an attempt's end from Ray's answer about its task."""

from __future__ import annotations

import re
from typing import Any

from ray import exceptions

Key = tuple[int, int, int]
"""Of an attempt: job, task, number."""

Tree = dict[str, Any]
"""Plain data."""

SIGTERM, SIGKILL = 15, 9


def build_lost(why: str, started: bool, machine_at_fault: bool = True) -> Tree:
    return {"is": "lost", "started": started, "why": why, "machine_at_fault": machine_at_fault}


def build_ended(
    cause: str, code: int, time: int, started: int | None = None, message: str = ""
) -> Tree:
    tree: Tree = {"is": "ended", "cause": cause, "code": code, "time": time, "started": started}
    return {**tree, "message": message}


def read_result(result: Tree, time: int, stopping: str | None) -> Tree:
    """The end that the task itself told of. A function that was interrupted does not know why:
    that is `stopping`."""
    cause = result["cause"]
    if stopping and cause == "stopped":
        cause = stopping
    end = build_ended(cause, result["code"], time, result["started"], result["message"])
    written = sum(result[each]["size"] for each in ("stdout", "stderr") if each in result)
    returned = result.get("result_size", len(result.get("result", b"")))
    return {**end, "output": written + returned}


def read_error(
    error: BaseException, time: int, started: int | None, stopping: str | None
) -> tuple[Tree, bool]:
    """The end of a task that Ray says failed, and whether its node is to be looked at.

    `stopping`: why it was being stopped ("stopped", "time_limit"), None where it was not."""
    cause = getattr(error, "cause", None)
    cancelled = isinstance(error, exceptions.TaskCancelledError) or isinstance(
        cause, exceptions.TaskCancelledError
    )
    if isinstance(error, exceptions.TaskUnschedulableError):
        return build_lost(f"its node is not there: {_line(error)}", False), True
    if isinstance(error, exceptions.NodeDiedError):
        return build_lost(f"its node died: {_line(error)}", True), True
    if stopping and (cancelled or isinstance(error, exceptions.WorkerCrashedError)):
        code = SIGTERM if cancelled else SIGKILL
        return build_ended(stopping, code, time, started), False
    if isinstance(error, exceptions.OutOfMemoryError):
        return build_ended("memory", SIGKILL, time, started, _memory(error)), False
    if isinstance(error, exceptions.WorkerCrashedError):
        # Its own doing (an exit, a crash in a library) or the kernel's: nobody can tell.
        return build_lost(f"Ray's worker died under it: {_line(error)}", True, False), False
    if cancelled:
        return build_lost("somebody else cancelled it in Ray", True, False), False
    if isinstance(error, exceptions.RayTaskError):
        return build_lost(f"it could not be run: {_line(error, last=True)}", True, False), False
    return build_lost(f"Ray failed: {type(error).__name__}: {_line(error)}", True), True


def _memory(error: BaseException) -> str:
    """Ray's sentence for a node that ran out of memory; of the task's own memory it says nothing
    that is sure, as it may stop several at once."""
    found = re.search(r"\bwas (\S+) used / (\S+) limit", str(error))
    if found is None:
        return _line(error)
    return f"its node had {found[1]} of {found[2]} memory used, so Ray stopped it"


def _line(error: BaseException, last: bool = False) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if not lines:
        return type(error).__name__
    return lines[-1 if last else 0][:300]
