"""The launcher's threads, none of which may stand still, and what they wait for."""

from __future__ import annotations

import os
import threading
import traceback
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

import ray

T = TypeVar("T")

F = TypeVar("F", bound=Callable[..., Any])


def go_on(*loops: Callable[[], None]) -> None:
    """Runs each of these for ever, in a thread of its own. Where one ends, this process does: a
    launcher of which a part stands still is worse than none, for a new one tells what was lost."""
    for loop in loops:
        threading.Thread(target=_unfailing, args=(loop,), daemon=True).start()


def _unfailing(loop: Callable[[], None]) -> None:
    try:
        loop()
    finally:
        traceback.print_exc()
        os._exit(1)


def go_first() -> None:
    """Ray runs its workers with less priority than all else on a machine, this process among them,
    though it is none of those that work: it goes before them, where the system allows that."""
    with suppress(OSError):
        for thread in Path("/proc/self/task").iterdir():
            os.setpriority(os.PRIO_PROCESS, int(thread.name), 0)


def follow(reference: Any, tell: Callable[[tuple[Any, Any]], None]) -> None:
    """Tells of the task when it is over: its reference, and what it returned, or the error that Ray
    has for it. Ray calls this in a thread of its own, which must not wait."""

    def over(future: Future[Any]) -> None:
        error = future.exception()
        tell((reference, future.result() if error is None else error))

    reference.future().add_done_callback(over)


def all_of(queue: SimpleQueue[T]) -> list[T]:
    """Takes all from the queue, once there is something."""
    return [queue.get(), *rest_of(queue)]


def rest_of(queue: SimpleQueue[T]) -> list[T]:
    """Takes all that is in the queue now."""
    found: list[T] = []
    with suppress(Empty):
        while True:
            found.append(queue.get_nowait())
    return found


DRIVE, HEAR = "drive", "hear"
"""Ray's groups of calls: those that one driver makes, one after the other, and those that wait for
news."""

GROUPS = {DRIVE: 1, HEAR: 3}
"""Calls of each group that go on at the same time."""


def in_group(group: str) -> Callable[[F], F]:
    """Marks a method as one of that group's."""

    def mark(method: F) -> F:
        ray.method(concurrency_group=group)(method)
        return method

    return mark
