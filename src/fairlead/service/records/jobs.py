"""Jobs as the journal's entries leave them."""

from __future__ import annotations

from dataclasses import dataclass, field

from fairlead.model.job import Job
from fairlead.scheduling.transitions import HELD, TaskState
from fairlead.service.records.sizes import job_bytes
from fairlead.service.records.tasks import AttemptRecord
from fairlead.wire.kinds import JobState

Pieces = tuple[tuple[str, int], ...]


_NO_COUNTS = (0,) * len(TaskState)


@dataclass(slots=True)
class JobRecord:
    """A job, and what became of it. Only the fold changes it.

    `job` is as the core has it, under its unique name; `called` is its name within its tenant.
    `seq`: the entry of its submission; of a journal that an older version shortened, one of later,
    up to which all is taken for another job's.

    `parts`: of a job of the cluster's own, which part of it there each task is that was on a
    machine; None: it is ours.

    `first` and `rows`: its rows in the table of tasks, one for each task until it is over; then
    they end with the last task that was ever launched, and the others were dropped. `counts`:
    tasks by TaskState. `bytes`: of what was written of it; `ends`: of what is kept of its tasks'
    ends, in `why` and `past`; `output`: that engines keep of what its attempts wrote. Times are the
    service's, in microseconds since 1970."""

    id: int
    job: Job
    submitted: int
    first: int
    tasks: int
    rows: int
    called: str
    seq: int
    by: str | None = None  # the token's name
    key: str | None = None
    began: int | None = None  # when its first task was launched
    ended: int | None = None  # when it was over
    cancelled: bool = False
    reason: str = ""  # why it was rejected
    why: dict[int, str] | None = None  # of tasks, what there is to say of their ends
    pieces: dict[int, Pieces] | None = None  # the devices of tasks that have any
    past: dict[int, tuple[AttemptRecord, ...]] | None = (
        None  # of tasks, earlier attempts, the last few
    )
    parts: dict[int, str] | None = None
    output: int = 0
    counts: list[int] = field(default_factory=lambda: list(_NO_COUNTS))
    bytes: int = field(init=False)
    ends: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self.bytes = job_bytes(self.job)

    @property
    def name(self) -> str:
        return self.job.name

    @property
    def tenant(self) -> str:
        """The tenant that it is accounted to: itself, if it names nobody."""
        return self.job.name if self.job.tenant is None else self.job.tenant

    @property
    def over(self) -> bool:
        """Whether nothing will happen to it any more."""
        return self.ended is not None

    @property
    def waiting(self) -> int:
        return self.counts[TaskState.WAITING]

    @property
    def held(self) -> int:
        """The number of tasks on machines."""
        return sum(self.counts[state] for state in HELD)

    @property
    def state(self) -> JobState:
        if self.cancelled:
            return JobState.CANCELLED
        if not self.over:
            return JobState.RUNNING if self.held else JobState.PENDING
        if self.reason or self.counts[TaskState.FAILED]:
            return JobState.FAILED
        return JobState.FINISHED
