"""Words of the API that the service keeps, too: rights, states of jobs, what changed shares."""

from __future__ import annotations

from enum import Enum


class Role(Enum):
    """The rights of a token."""

    ADMIN = "admin"  # everything
    TENANT = "tenant"  # act on its tenant and those below it, see what a viewer sees
    VIEWER = "viewer"  # see shares, machines, tenants, and of jobs what everybody may see


class JobState(Enum):
    """How a job stands."""

    PENDING = "pending"  # nothing of it is on a machine, and it is not over
    RUNNING = "running"
    FINISHED = "finished"  # all its tasks ended well
    FAILED = "failed"  # it is over, and a task failed; or it was rejected
    CANCELLED = "cancelled"  # what it held may still be stopping


class MarkKind(Enum):
    """What changed who gets what."""

    TASKS_STOPPED = "tasks_stopped"
    MACHINES_JOINED = "machines_joined"
    MACHINES_LEFT = "machines_left"
    MACHINES_CHANGED = "machines_changed"
    MACHINES_DRAINED = "machines_drained"  # by an administrator
    MACHINES_UNDRAINED = "machines_undrained"
    MACHINES_QUARANTINED = "machines_quarantined"
    QUARANTINES_ENDED = "quarantines_ended"
    TENANT_CHANGED = "tenant_changed"
    SERVICE_STARTED = "service_started"
    CORE_CHANGED = "core_changed"
