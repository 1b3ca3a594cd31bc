"""A second core that stands where another one stands, to try on it what would happen."""

from __future__ import annotations

from copy import copy, deepcopy
from typing import Any

from fairlead.scheduling.core import Core
from fairlead.scheduling.ids import Ids
from fairlead.scheduling.kernels.state import FIELDS, State
from fairlead.scheduling.kernels.tables import Full


def twin(core: Core) -> Core:
    """A core that decides from now on what this one would, and shares nothing with it that either
    changes. Takes time in proportion to the tables: about as long as copying them."""
    kept: dict[int, Any] = {
        id(core.book.scaler): core.book.scaler,  # neither changes
        id(core.placement): core.placement,
        id(core.options): core.options,
        id(core.ids): _ids(core.ids),
        id(core.state): _state(core.state),
    }
    other: Core = deepcopy(core, kept)
    other.checked = False
    return other


def _state(state: State) -> State:
    other = copy(state)
    for name in FIELDS:
        setattr(other, name, getattr(state, name).copy())
    other.grow(Full.OUT)  # makes the handle of the arrays as they are now
    return other


def _ids(ids: Ids) -> Ids:
    # The values that names stand for are frozen: only the tables are copied.
    return Ids(
        units=ids.units,
        machines=dict(ids.machines),
        machine_at=dict(ids.machine_at),
        jobs=dict(ids.jobs),
        job_at=dict(ids.job_at),
        tenants=dict(ids.tenants),
        tenant_at=dict(ids.tenant_at),
        tasks={job: dict(tasks) for job, tasks in ids.tasks.items()},
        terms=dict(ids.terms),
        term_users=dict(ids.term_users),
        free_terms=list(ids.free_terms),
    )
