"""Events: all that the online core is ever told. Each carries its time, in microseconds."""

from __future__ import annotations

from dataclasses import dataclass, field

from fairlead.model.job import Job
from fairlead.model.machine import Machine
from fairlead.model.tenant import Tenant
from fairlead.model.values import FrozenMap


@dataclass(frozen=True, slots=True)
class MachineJoined:
    """A machine is there, empty, and may be used."""

    time: int
    machine: Machine


@dataclass(frozen=True, slots=True)
class MachineLeft:
    """A machine is gone; the tasks on it are lost and wait again at the head of their jobs."""

    time: int
    machine: str


@dataclass(frozen=True, slots=True)
class MachineDrained:
    """A machine takes no more tasks; those on it go on. `back`: it takes tasks again."""

    time: int
    machine: str
    back: bool = False


@dataclass(frozen=True, slots=True)
class MachineChanged:
    """A machine has other capacities or labels. What runs on it goes on, even where it no longer
    fits: its free amount is then negative until tasks end."""

    time: int
    machine: Machine


@dataclass(frozen=True, slots=True)
class JobSubmitted:
    """A job is there; its tasks are numbered from 0 and wait."""

    time: int
    job: Job


@dataclass(frozen=True, slots=True)
class JobChanged:
    """A job has so many tasks in all (None: unlimited). It grows, or tasks that never started are
    taken back; refused where more have started."""

    time: int
    job: str
    tasks: int | None


@dataclass(frozen=True, slots=True)
class JobCancelled:
    """A job's waiting tasks are dropped, and those that run are told to stop."""

    time: int
    job: str


@dataclass(frozen=True, slots=True)
class TaskStarted:
    """A launched task runs."""

    time: int
    job: str
    task: int


@dataclass(frozen=True, slots=True)
class TaskFinished:
    """A task has ended well."""

    time: int
    job: str
    task: int


@dataclass(frozen=True, slots=True)
class TaskFailed:
    """A task has ended badly and is not tried again."""

    time: int
    job: str
    task: int


@dataclass(frozen=True, slots=True)
class TaskLost:
    """A task ended without its doing, or is to be tried again: it waits at the head of its job."""

    time: int
    job: str
    task: int


@dataclass(frozen=True, slots=True)
class TaskStopped:
    """A task that was told to stop has stopped: it waits again, or is gone with its job."""

    time: int
    job: str
    task: int


@dataclass(frozen=True, slots=True)
class TenantChanged:
    """A tenant is new, or has another weight, pool or limit. Its parent stays."""

    time: int
    tenant: Tenant


@dataclass(frozen=True, slots=True)
class TimePassed:
    """Nothing happened but time: what waits for a moment (`Core.wake`) is looked at again."""

    time: int


@dataclass(frozen=True, slots=True)
class Advice:
    """Advice of the exact allocation for one job on machines that are alike, in integers.

    `rank` orders pairs of job and machine: 0 where the reduced costs of all levels are zero, then
    1, 2 … in the lexicographic order of the levels' costs; equal costs have equal ranks. `target`
    is the exact number of tasks of the job on these machines together, in millionths.
    """

    job: str
    machines: tuple[str, ...]
    rank: int
    target: int


@dataclass(frozen=True, slots=True)
class AdviceChanged:
    """The exact allocation of the present jobs was computed outside; it replaces all advice."""

    time: int
    advice: tuple[Advice, ...]


@dataclass(frozen=True, slots=True)
class GuaranteesChanged:
    """Each job's guaranteed whole tasks (the exact allocation's, rounded down); 0 where missing."""

    time: int
    guarantees: FrozenMap[int] = field(default_factory=FrozenMap)


Event = (
    MachineJoined
    | MachineLeft
    | MachineDrained
    | MachineChanged
    | JobSubmitted
    | JobChanged
    | JobCancelled
    | TaskStarted
    | TaskFinished
    | TaskFailed
    | TaskLost
    | TaskStopped
    | TenantChanged
    | TimePassed
    | AdviceChanged
    | GuaranteesChanged
)
