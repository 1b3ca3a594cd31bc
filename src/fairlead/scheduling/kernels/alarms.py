"""Moments at which the core wants to be asked though nothing happened."""

from __future__ import annotations

from fairlead.compiling import kernel
from fairlead.scheduling.kernels.change.leases import next_lapse
from fairlead.scheduling.kernels.change.stints import next_rested
from fairlead.scheduling.kernels.memory.state import Handle
from fairlead.scheduling.kernels.memory.tables import NEVER, NONE


@kernel
def wake(s: Handle) -> int:
    """The next such moment: somebody's patience ends, it is to be looked for whom machines are
    reserved, or a lease or a rest ends. NEVER where there is none."""
    w = s.header[0]
    time = next_lapse(s)
    if w.active > 0:
        time = min(time, next_rested(s))
    if w.soonest != NEVER:
        # Alarms of jobs that wait no more are void: they wake nobody.
        for i in range(w.alarms):
            alarm = s.alarm[i]
            job = s.job[alarm.job]
            if job.used and job.seq == alarm.seq and job.active and job.patient:
                moment = job.since + job.patience
                if moment > w.now:
                    time = min(time, moment)
    if w.reserve_for != NEVER:
        if w.active > 0 and not w.hopeless and w.look_at > w.now:
            time = min(time, w.look_at)
    elif w.reserve_after != NEVER and w.first != NONE and not w.hopeless:
        moment = w.first_since + w.reserve_after
        if moment > w.now:
            time = min(time, moment)
    return time
