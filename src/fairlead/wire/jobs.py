"""Jobs and their tasks, as the API shows them and takes them."""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Any, Literal

from pydantic import Field

from fairlead.wire.kinds import JobState
from fairlead.wire.shape import Count, Moment, RequestBody, ResponseBody


class TaskState(Enum):
    """How a task stands. The words are those of the core."""

    WAITING = "waiting"
    LAUNCHED = "launched"
    RUNNING = "running"
    STOPPING = "stopping"
    FINISHED = "finished"
    FAILED = "failed"
    DROPPED = "dropped"


class TaskCounts(ResponseBody):
    """How many tasks of a job are in each state."""

    waiting: Count = 0
    launched: Count = 0
    running: Count = 0
    stopping: Count = 0
    finished: Count = 0
    failed: Count = 0
    dropped: Count = 0


class JobRow(ResponseBody):
    """A job as everybody may see it. `id` is never used twice; a name may be, once its job is
    forgotten."""

    name: str
    id: Count
    tenant: str
    state: JobState
    tasks: TaskCounts
    submitted: Moment
    ended: Moment | None = None


class Jobs(ResponseBody):
    """Jobs, in the order that was asked for. `next` is the `cursor` of the next page, null on the
    last one."""

    schema_: Literal["fairlead.jobs/1"] = Field(default="fairlead.jobs/1", alias="schema")
    jobs: list[JobRow]
    next: str | None = None


class JobDetail(JobRow):
    """A job. What its owner alone may see (`job`, `reason`, `by`) is null for others."""

    schema_: Literal["fairlead.job/1"] = Field(default="fairlead.job/1", alias="schema")
    job: dict[str, Any] | None = Field(
        default=None, description="as in a file of jobs; amounts are texts, times are in seconds"
    )
    reason: str | None = Field(default=None, description="why it was rejected or what failed")
    by: str | None = Field(default=None, description="the name of the token that submitted it")


class SubmissionWarning(ResponseBody):
    """A job that was accepted and can never run on the machines and limits that are there, or
    names machines that are not."""

    job: str
    sentence: str


class Submitted(ResponseBody):
    """The jobs that were accepted, in their order: all of a request, or none."""

    schema_: Literal["fairlead.submitted/1"] = Field(default="fairlead.submitted/1", alias="schema")
    jobs: list[JobRow]
    repeated: bool = Field(
        default=False, description="this Idempotency-Key was used before: nothing new was accepted"
    )
    warnings: list[SubmissionWarning] = Field(
        default_factory=list,
        description="of jobs that can never run as things are now, or name what is not there",
    )
    forgotten: list[str] = Field(
        default_factory=list, description="of the first time, jobs that are known no more"
    )


class Submission(RequestBody):
    """A submission: as a file of jobs, of which this is the JSON form. The fields of a job are
    in the reference of the input; `tasks` and `command` are needed."""

    jobs: list[dict[str, Any]] = Field(min_length=1)


class Grow(RequestBody):
    """How many tasks a job has in all from now on. Those that never started can be taken back."""

    tasks: int = Field(ge=1, le=2**53 - 1)


Names = Annotated[list[str], Field(min_length=1)]
"""Jobs by their names, at least one."""


class CancelJobs(RequestBody):
    """Which jobs are cancelled: those of these names, or all of a tenant and of those below it that
    are not over. One of the two is given."""

    jobs: Names | None = None
    tenant: str | None = None


class CancelledJob(JobRow):
    """A job that was to be cancelled, as it is then."""

    changed: bool = Field(
        description="this request cancelled it; otherwise it had finished or was cancelled before"
    )


class Cancelled(ResponseBody):
    """The jobs that were named, in their order, or those of the tenant, oldest first."""

    schema_: Literal["fairlead.cancelled/1"] = Field(default="fairlead.cancelled/1", alias="schema")
    jobs: list[CancelledJob]


class ForgetJobs(RequestBody):
    """Which jobs are forgotten. All of them are over."""

    jobs: Names


class Forgotten(ResponseBody):
    """The names that are free again, in the order in which they were given."""

    schema_: Literal["fairlead.forgotten/1"] = Field(default="fairlead.forgotten/1", alias="schema")
    jobs: list[str]


class TaskAttempt(ResponseBody):
    """One attempt at a task. `machine` and times as far as known; `cause` and `code` once it is
    over: `exited`, `signalled`, `time_limit`, `memory`, `stopped`, `not_started`, `lost`."""

    number: Count
    machine: str | None = None
    launched: Moment | None = None
    started: Moment | None = None
    ended: Moment | None = None
    cause: str | None = None
    code: int | None = None
    message: str = ""


class Task(ResponseBody):
    """A task, and all attempts at it that are still known."""

    task: Count
    state: TaskState
    attempts: list[TaskAttempt]


class Tasks(ResponseBody):
    """Tasks of a job by their numbers. `next` is the `cursor` of the next page."""

    schema_: Literal["fairlead.tasks/1"] = Field(default="fairlead.tasks/1", alias="schema")
    job: str
    tasks: list[Task]
    next: str | None = None


OFFSET_HEADER = "Fairlead-Offset"
"""Of an output: where in it the body begins."""

SIZE_HEADER = "Fairlead-Size"
"""Of an output: how many bytes there are so far."""

OVER_HEADER = "Fairlead-Over"
"""Of an output: `true` where nothing more will be written."""

KEY_HEADER = "Idempotency-Key"
"""Of a submission: the same key with the same body is accepted once."""

KEY, LONGEST_KEY = r"[!-~]([ -~]*[!-~])?", 255
"""What a key may be, and how long: what a header can hold and nobody on the way changes."""
