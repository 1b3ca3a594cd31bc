"""Which jobs could ever run on the machines that are there: who cannot is not active, so that it
makes nobody's share smaller."""

from __future__ import annotations

import numpy as np

from fairlead.scheduling.kernels.memory.state import Ints, State, Words
from fairlead.scheduling.kernels.memory.tables import ALONE
from fairlead.scheduling.state.scales import Classes, Scaler
from fairlead.sharing.present import over_limit
from fairlead.sharing.problem.problem import Bools


def possible(
    state: State,
    scaler: Scaler,
    there: Classes,
    usable: Bools,
    demand: Ints,
    needs: Words,
    spread: Bools,
    gang: Ints,
    tenant: Ints,
) -> Ints:
    """(J,) of jobs of which some machine holds a task or none (`usable`): 0 where none does, or a
    limit above is lower than a task; ALONE where tasks could run, but not so many as start
    together; else 1. `tenant` are slots, below 0 where a job is its own."""
    found: Ints = usable.astype(np.int64)
    limits = state.limit, state.tenant["parent"]
    found[over_limit(*limits, tenant, demand, np.ones_like(gang))] = 0
    together = np.flatnonzero((found > 0) & (gang > 1))
    if not len(together):
        return found
    over = over_limit(*limits, tenant[together], demand[together], gang[together])
    kinds = there.kinds[0]
    room: dict[tuple[bytes, bytes, bool], int] = {}
    for j, is_over in zip(together.tolist(), over.tolist(), strict=True):
        key = (demand[j].tobytes(), needs[j].tobytes(), bool(spread[j]))
        if key not in room:
            holds = scaler.whole_ones(demand[j : j + 1], spread[j : j + 1], kinds)[0]
            room[key] = int(holds @ there.having(needs[j : j + 1])[0])
        if is_over or room[key] < gang[j]:
            found[j] = ALONE
    return found
