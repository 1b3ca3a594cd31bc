"""Clocks: for how long a tenant has waited, and has not come forward.

A tenant's clock begins when a job of it begins to wait, and anew whenever a launch leaves it with
more than it held since: a task that ends and starts again in its own place is no step forward,
whichever of its jobs it is of. What others submit, start or cancel does not touch it: so nobody who
comes first in line for a moment makes others begin to wait anew (see
docs/decisions/0323-the-tenant-waits.md).
"""

from __future__ import annotations

from fairlead.compiling import inner
from fairlead.scheduling.kernels.memory.state import Handle, int64
from fairlead.scheduling.kernels.memory.tables import NEVER, NONE


@inner
def stir(s: Handle) -> None:
    """Something changed: where nothing could be reserved, something could be now."""
    w = s.header[0]
    w.hopeless = 0
    w.stirs += 1


@inner
def restart_clock(s: Handle, t: int) -> None:
    """The tenant was asked: its clock begins anew."""
    s.tenant[t].since = s.header[0].now
    s.tenant[t].best = s.tenant[t].held


@inner
def begin_clock(s: Handle, t: int) -> None:
    """The tenant's first job waits; it goes on with its clock where it waited at this moment."""
    w, tenant = s.header[0], s.tenant[t]
    if tenant.left != w.decided:
        tenant.since = w.now
        tenant.best = 0
    if w.reserve_after != NEVER:
        w.look_at = min(w.look_at, w.now + w.reserve_after)


@inner
def end_clock(s: Handle, t: int) -> None:
    """The tenant's last job waits no more."""
    w = s.header[0]
    s.tenant[t].left = NONE if w.deciding else w.decided


@inner
def comes_forward(s: Handle, j: int) -> bool:
    """After a launch of the job: has its tenant more than it held since its clock began?"""
    tenant = s.tenant[s.job[j].tenant]
    if tenant.held <= tenant.best:
        return False
    restart_clock(s, int64(s.job[j].tenant))
    return True
