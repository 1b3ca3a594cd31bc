"""Which jobs with tasks that wait can never run, as everybody's shares count them: as no demand."""

from __future__ import annotations

import numpy as np

from fairlead.scheduling.core import Core
from fairlead.service.fairness.causes import DisplayName
from fairlead.service.fairness.shortfalls import Measured
from fairlead.wire.fairness import NeverRuns

LISTED = 5
"""So many are listed with a reason, for which all machines are looked at."""


def find_never(
    core: Core, found: Measured, display_name: DisplayName = str
) -> tuple[list[NeverRuns], int]:
    """The first jobs that can never run with why, and how many others there are. `display_name`:
    what a reader is told of jobs' names."""
    rows = np.flatnonzero(found.never)
    listed = []
    for row in rows[:LISTED].tolist():
        name, owner = core.book.name_of(int(found.slot[row])), int(found.owner[row])
        why = core.why(name, display_name, ahead=False)
        if why.never:  # machines and limits may be others than when shares were computed
            called = display_name(name)
            listed.append(
                NeverRuns(
                    job=called,
                    tenant=found.tenants[owner] if owner >= 0 else called,
                    sentence=f"{called}: {'; '.join(map(str, why.reasons))}",
                )
            )
    return listed, max(len(rows) - LISTED, 0)
