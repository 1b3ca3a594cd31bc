"""Compiles what the door needs, before anybody comes to it."""

from __future__ import annotations

import os
import select
from collections.abc import Callable

from fairlead.compiling import report_compiling
from fairlead.service.api.kernels.door import KEY_BYTES, Limits, attend, make_door
from fairlead.service.api.kernels.heads import mark


def warm_door(told: Callable[[int, int], None]) -> None:
    """Compiles, or loads, all of it; `told` hears of it as of the core's (`scheduling.warming`).
    Elsewhere than on Linux there is no door."""
    if not hasattr(select, "epoll"):
        return
    nobody = os.eventfd(0)
    try:
        with report_compiling(told), select.epoll() as epoll:
            limits = Limits(False, 1, 1, 1, 1, 1, 1, 1, 1.0)
            door = make_door(nobody, epoll.fileno(), nobody, bytes(KEY_BYTES), limits)
            attend(door, 0.0)
            mark(door.said, 0, door.key)
    finally:
        os.close(nobody)
