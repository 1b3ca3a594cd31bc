"""Gangs in whole tasks: so many tasks of a job start together, or none of them.

A job of 10 tasks with a gang of 4 has 0, 4, 8, 9 or 10: where fewer wait than make a gang, each
starts alone, as in the online core.
"""

from __future__ import annotations

from fairlead.model.errors import InputError
from fairlead.sharing.whole_tasks.counts import Counts


def whole_gangs(gang: int, has: int, tasks: int) -> int:
    """The most tasks, `has` at most, that a job of so many `tasks` can have."""
    return has if has >= tasks // gang * gang else has // gang * gang


def refuse_gangs(counts: Counts, mechanism: str) -> None:
    """Raises InputError where a job has a gang, which the mechanism cannot keep whole."""
    for name, gang in zip(counts.problem.job_names, counts.gang.tolist(), strict=True):
        if gang > 1:
            raise InputError(
                f"{gang} tasks start together, and {mechanism} gives out tasks one by one",
                "share with a policy and --tasks whole or with serial-dictatorship, which keep"
                " gangs whole, or leave out gang",
                about=("job", name, "gang"),
            )
