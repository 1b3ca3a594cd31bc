"""The kinds of ideal schedulers, by the names that users write."""

from __future__ import annotations

from enum import Enum


class Kind(Enum):
    """Freedoms of an ideal scheduler (Choosy, sections 7.1 and 7.2)."""

    RESTRICTED = "restricted"  # what runs stays where it is
    MIGRATION = "migration"  # what runs goes on, anywhere
    PREEMPTION = "preemption"  # what runs may be moved, and paused
    PERIODIC = "periodic"  # a target when a job comes or goes; slots follow as tasks end
