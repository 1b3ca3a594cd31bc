"""The line of waiting jobs: who is served first, and who next once those are."""

from __future__ import annotations

import numpy as np

from fairlead.scheduling.core import Core
from fairlead.scheduling.events import TaskPlaced
from fairlead.scheduling.kernels.memory.state import Ints
from fairlead.scheduling.kernels.search.levels import levels_of
from fairlead.scheduling.reading.core_copy import copy_core
from fairlead.scheduling.reading.lookup import job_counts, next_task

TURNS = 300
"""So many turns are gone through, each with what its job holds more by then; those behind them are
in the order of their levels as they are after these turns."""


def line_of(core: Core, turns: int = TURNS) -> list[str]:
    """Names of the jobs that wait and could run, each at its first turn. Whether there is room is
    not asked: whoever places takes the first for whom there is. For a core that is told of tasks
    (`elsewhere`)."""
    ahead = copy_core(core)
    ahead.book.refresh()
    machine = next(iter(ahead.ids.machines), None)
    found: dict[str, None] = {}
    for _ in range(turns if machine is not None else 0):
        order = _by_level(ahead)
        if not len(order):
            break
        name = ahead.ids.job_at[int(order[0])].name
        found[name] = None
        counts = job_counts(ahead, name)
        for _ in range(min(counts.gang, counts.waiting)):
            number, _ = next_task(ahead, name)
            ahead.apply(TaskPlaced(ahead.now, name, number, str(machine)))
    found |= dict.fromkeys(ahead.ids.job_at[int(j)].name for j in _by_level(ahead))
    return list(found)


def _by_level(core: Core) -> Ints:
    """The slots of active jobs, the least level first, then who was submitted earlier."""
    job = core.state.job[: int(core.state.header[0]["jobs"])]
    active = np.flatnonzero((job["used"] == 1) & (job["active"] == 1))
    levels = levels_of(core.state.handle, active)
    order: Ints = active[np.lexsort((job["seq"][active], levels))]
    return order
