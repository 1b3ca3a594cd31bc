"""Machines whose room grew since the last decision, so that who waits is asked again."""

from __future__ import annotations

from fairlead.compiling import inner
from fairlead.scheduling.kernels.memory.state import Handle
from fairlead.scheduling.kernels.memory.tables import NONE
from fairlead.scheduling.kernels.room.places import UP, drop_clean


@inner
def mark_room_grew(s: Handle, m: int) -> None:
    """More room on a machine, or less that keeps others away: who waits is asked again."""
    s.machine[m].refused = 0
    mark_only_room_grew(s, m)


@inner
def mark_only_room_grew(s: Handle, m: int) -> None:
    """More room on a machine, and nothing else: who could not have that much is not asked."""
    machine, w = s.machine[m], s.header[0]
    if machine.dirty or machine.state != UP:
        return
    if w.deciding:
        # Some in the list were looked at already: they go, so that nothing is in it twice.
        drop_clean(s)
        w.heap = -1
        w.choice = NONE
    machine.dirty = 1
    s.dirty[w.dirty] = m
    w.dirty += 1


@inner
def search_anew(s: Handle) -> None:
    """What a decision on its way found for a machine holds no more: others may come there now, and
    a gang that did not fit may fit."""
    w = s.header[0]
    if w.deciding:
        w.heap = -1
        w.choice = NONE
        w.decided += 1
