"""The line of waiting jobs: who is served first, and who next once those are."""

from __future__ import annotations

from fairlead.scheduling.core import Core
from fairlead.scheduling.events import TaskPlaced
from fairlead.scheduling.reading.core_copy import copy_core
from fairlead.scheduling.reading.lookup import job_counts, next_task
from fairlead.scheduling.state.rows import jobs_in_line

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
        order, _ = jobs_in_line(ahead.state)
        if not len(order):
            break
        name = ahead.ids.job_at[int(order[0])].name
        found[name] = None
        counts = job_counts(ahead, name)
        for _ in range(min(counts.gang, counts.waiting)):
            number, _ = next_task(ahead, name)
            ahead.apply(TaskPlaced(ahead.now, name, number, str(machine)))
    found |= dict.fromkeys(ahead.ids.job_at[int(j)].name for j in jobs_in_line(ahead.state)[0])
    return list(found)
