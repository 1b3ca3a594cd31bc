"""The launcher's threads, none of which may stand still, and the results that they fetch."""

from __future__ import annotations

import os
import threading
import traceback
from collections.abc import Callable
from typing import Any

import ray


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


def results_of(references: list[Any]) -> list[Any]:
    """What each of these tasks returned, or the error that Ray has for it."""
    try:
        return list(ray.get(references))
    except ray.exceptions.RayError:
        return [_result_of(reference) for reference in references]


def _result_of(reference: Any) -> Any:
    try:
        return ray.get(reference)
    except ray.exceptions.RayError as error:
        return error
