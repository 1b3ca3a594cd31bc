"""Shares, reasons, what-if and the live audit, as the API shows them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from fairlead.wire.jobs import TaskCounts
from fairlead.wire.kinds import JobState, MarkKind
from fairlead.wire.shape import Amounts, Count, Moment, RequestBody, ResponseBody


class TenantShare(ResponseBody):
    """What a tenant has now (`share`), and what the exact allocation of the present demand gives it
    (`fair`), both divided by its weight; null where there is none (no job of it is present)."""

    name: str
    parent: str | None = None
    weight: float
    running: Count = Field(description="tasks that hold machines, of it and those below it")
    waiting: Count = 0
    share: float | None = None
    fair: float | None = None
    guaranteed: float | None = Field(
        default=None, description="the whole tasks of its fair share, as a share"
    )
    asked: float | None = Field(
        default=None, description="its share if all that waits and can ever run ran too"
    )
    shortfall: float | None = Field(
        default=None, description="share that it is short of, 0 where it has as much as is fair"
    )


class JobShareNow(ResponseBody):
    """What a job has now and what is fair, in tasks and as a share."""

    name: str
    tenant: str
    running: Count
    waiting: Count
    share: float | None = None
    fair: float | None = Field(default=None, description="its exact share")
    fair_tasks: float | None = Field(default=None, description="its exact tasks, not whole")
    guaranteed: Count | None = Field(default=None, description="its exact tasks, rounded down")
    asked: float | None = Field(
        default=None, description="its share if all that waits and can ever run ran too"
    )


class NeverRuns(ResponseBody):
    """A job of which no waiting task can ever start, as long as machines and limits stay: its
    demand counts for nothing in shares. Others are not told why."""

    job: str
    tenant: str
    sentence: str


class Shares(ResponseBody):
    """Shares now. `exact` is the moment whose demand the exact allocation is of; null before the
    first one was computed."""

    schema_: Literal["fairlead.shares/1"] = Field(default="fairlead.shares/1", alias="schema")
    time: Moment
    policy: str
    exact: Moment | None = None
    behind: str | None = Field(
        default=None, description="who is not judged by the exact allocation yet; null: all are"
    )
    tenants: list[TenantShare]
    jobs: list[JobShareNow] = Field(default_factory=list)
    never: list[NeverRuns] = Field(default_factory=list, description="jobs that can never run")
    never_more: Count = Field(default=0, description="of these, how many are not listed")


class SharePoint(ResponseBody):
    """One tenant at one moment."""

    time: Moment
    share: float | None = None
    fair: float | None = None
    running: Count = 0
    waiting: Count = 0


class TenantHistory(ResponseBody):
    """The points of a tenant, oldest first."""

    name: str
    points: list[SharePoint]


class SharesHistory(ResponseBody):
    """Shares over time. What is older is kept more thinly."""

    schema_: Literal["fairlead.shares-history/1"] = Field(
        default="fairlead.shares-history/1", alias="schema"
    )
    since: Moment
    until: Moment
    step: Count = Field(description="microseconds between the newest points")
    tenants: list[TenantHistory]


class Mark(ResponseBody):
    """Something that changed who gets what: `count` times from `time` to `last`."""

    time: Moment
    last: Moment
    kind: MarkKind
    count: Count = 1
    tenant: str | None = Field(
        default=None, description="whose tasks were stopped, or who was changed; null: several"
    )
    machine: str | None = Field(default=None, description="null: several, or none")
    weight: str | None = Field(
        default=None, description="of tenant_changed: the weight from then on; null: by a pool"
    )


class SharesMarks(ResponseBody):
    """What changed who gets what, oldest first. Of what is long ago several are one."""

    schema_: Literal["fairlead.shares-marks/1"] = Field(
        default="fairlead.shares-marks/1", alias="schema"
    )
    since: Moment
    until: Moment
    marks: list[Mark]


class WhyReason(ResponseBody):
    """One reason why tasks wait: its kind, its sentence, and its counts."""

    kind: str
    sentence: str
    values: dict[str, Any] = Field(default_factory=dict)


class WhyMachines(ResponseBody):
    """Every machine that is there, counted once, under the first of these that is true of it."""

    excluded: Count = Field(description="by the job's constraint")
    too_small: Count = Field(description="for a task, even when empty")
    draining: Count
    one_each: Count = Field(description="run a task of it already, and it spreads")
    no_room: Count
    reserved: Count = Field(description="have room, for others")
    not_preferred: Count = Field(description="have room, while it waits for what it prefers")
    room: Count


class WhyHolder(ResponseBody):
    """A tenant with tasks on the machines that could run a task of the job when empty."""

    tenant: str
    tasks: Count
    amounts: Amounts = Field(description="what they hold there of the resources that it demands")


class WhyFair(ResponseBody):
    """The job's fair share by the exact allocation, and how far it is from it."""

    tasks: float
    guaranteed: Count
    running: Count
    short: Count = Field(default=0, description="tasks that it lacks of those and could have")
    since: Moment | None = Field(default=None, description="since when its tenant is short")
    moment: Moment | None = Field(default=None, description="of which the exact allocation is")
    sentence: str


class WhyChange(ResponseBody):
    """A change after which tasks of the job would start at once; each was tried."""

    kind: str
    sentence: str
    values: dict[str, Any] = Field(default_factory=dict)


class WhyPriority(ResponseBody):
    """A job's priority by the scheduler that places it, and the parts of which it is the sum."""

    total: int
    parts: dict[str, int]


class WhyAnswer(ResponseBody):
    """Why a job waits: everything as sentences, in the order in which a reader wants them, and as
    values."""

    schema_: Literal["fairlead.why/1"] = Field(default="fairlead.why/1", alias="schema")
    job: str
    tenant: str
    state: JobState
    tasks: TaskCounts
    sentences: list[str]
    reasons: list[WhyReason] = Field(default_factory=list)
    machines: WhyMachines | None = Field(
        default=None,
        description="null of a job that is over or cancelled, or that another scheduler holds",
    )
    holders: list[WhyHolder] = Field(
        default_factory=list,
        description="who holds the machines that could run it, most tasks first",
    )
    holders_more: Count = Field(default=0, description="holders that are not listed")
    fair: WhyFair | None = None
    change: WhyChange | None = Field(default=None, description="the first of `changes`")
    changes: list[WhyChange] = Field(default_factory=list)
    expected_start: Moment | None = Field(
        default=None, description="where durations are given; an estimate"
    )
    priority: WhyPriority | None = Field(
        default=None, description="with `priority`, on a cluster that another scheduler runs"
    )


class WhatIfAsked(RequestBody):
    """Changes, in the words of `fairlead whatif`; together they are one change."""

    add: list[str] = Field(default_factory=list, max_length=100, examples=[["4 x h01"]])
    remove: list[str] = Field(default_factory=list, max_length=100)
    weight: list[str] = Field(default_factory=list, max_length=100, examples=[["vision=3"]])
    drop_constraint: list[str] = Field(default_factory=list, max_length=100)
    set_demand: list[str] = Field(default_factory=list, max_length=100)
    set_limit: list[str] = Field(default_factory=list, max_length=100)


class WhatIfAnswer(ResponseBody):
    """The answer of `fairlead whatif --json` about the present jobs and machines, whose schema is
    fairlead.whatif/1; `whatif` holds it."""

    schema_: Literal["fairlead.live-whatif/1"] = Field(
        default="fairlead.live-whatif/1", alias="schema"
    )
    time: Moment
    whatif: dict[str, Any]
    sentences: list[str] = Field(default_factory=list)


InTheWay = Annotated[
    dict[str, Count],
    Field(description="of the cause: tasks in the way, beyond a guarantee, by their tenants"),
]
Lacking = Annotated[
    dict[str, Count],
    Field(
        description="resources of which too little is free, with the machines of which that is so"
    ),
]
Able = Annotated[Count, Field(description="machines that could run its job when empty")]
Named = Annotated[str, Field(description="these by their names, where that is short")]
"""Parts of a cause."""


class Shortfall(ResponseBody):
    """A tenant that has less than the exact allocation of the present demand guarantees it."""

    tenant: str
    guaranteed: float = Field(description="as a share, divided by its weight")
    has: float
    shortfall: float
    tasks: Count = Field(default=0, description="tasks that its jobs lack together")
    job: str | None = Field(default=None, description="its job that lacks most")
    since: Moment | None = Field(default=None, description="without a gap; null: just now")
    cause: str = Field(description="a word: what keeps it from its share")
    counts: InTheWay = Field(default_factory=dict)
    lacking: Lacking = Field(default_factory=dict)
    able: Able = 0
    machines: Named = ""
    sentence: str = ""


class BelowFair(ResponseBody):
    """A tenant that has what is guaranteed, in whole tasks, and less than its fair share, which is
    divisible."""

    tenant: str
    fair: float = Field(description="as a share, divided by its weight")
    has: float
    gap: float
    fair_tasks: float = Field(description="exact tasks of its jobs together, not whole")
    guaranteed: Count = Field(description="tasks of its jobs together")
    job: str = Field(description="its job that is furthest from its exact tasks")
    cause: str = Field(description="a word: what keeps more tasks of that job from starting")
    counts: InTheWay = Field(default_factory=dict)
    lacking: Lacking = Field(default_factory=dict)
    able: Able = 0
    machines: Named = ""
    sentence: str = ""


class CanRunAsked(RequestBody):
    """A job that is not submitted: what matters of it, in the words of a file of jobs. `tenant`:
    that of the token where none is given."""

    tenant: str | None = None
    demand: dict[str, float | str] = Field(examples=[{"gpu": 1, "cpu": 8, "memory": "96GiB"}])
    tasks: int = Field(default=1, ge=1)
    where: str = Field(default="", examples=["gpu-model = h100"])
    machines: list[str] | None = None
    exclude: list[str] = Field(default_factory=list)
    spread: bool = False
    gang: int = Field(default=1, ge=1)
    duration: str | None = Field(default=None, examples=["2h"])


class CanRun(ResponseBody):
    """So many tasks would start now, on these machines; of those that would wait, why, and when
    the first of them is expected to start. It is tried on a copy of the scheduler: nothing is
    kept for who asked."""

    schema_: Literal["fairlead.can-run/1"] = Field(default="fairlead.can-run/1", alias="schema")
    time: Moment
    now: Count
    machines: list[str] = Field(description="ranges of names")
    waiting: Count | None
    never: bool = Field(description="it could not run as long as machines and limits stay")
    expected_start: Moment | None = Field(
        default=None, description="where durations are given; an estimate"
    )
    sentences: list[str]


class LiveAllocation(ResponseBody):
    """The exact allocation of what is present, as `fairlead.picture/1`: levels, what stops whom,
    prices, classes of machines, and who fills them. Null where there is nothing to share, or
    nothing to share by: `problem` says which."""

    schema_: Literal["fairlead.live-allocation/1"] = Field(
        default="fairlead.live-allocation/1", alias="schema"
    )
    time: Moment
    picture: dict[str, Any] | None = None
    problem: str | None = None


class LiveAudit(ResponseBody):
    """What each tenant is short of now, and how long; no shortfall, and nobody `behind`: everyone
    has what was promised."""

    schema_: Literal["fairlead.live-audit/1"] = Field(
        default="fairlead.live-audit/1", alias="schema"
    )
    time: Moment
    exact: Moment | None = None
    behind: str | None = Field(
        default=None, description="who is not judged by the exact allocation yet; null: all are"
    )
    policy: str
    tenants: Count = Field(description="how many are judged by the exact allocation")
    gap: float | None = Field(
        default=None,
        description="the part, 0 to 1, of what is due by the exact allocation, in parts of tasks,"
        " that its tenants do not hold now; null where nothing is due or nothing is known",
    )
    shortfalls: list[Shortfall] = Field(description="most first")
    more: Count = Field(default=0, description="shortfalls that are not listed")
    below_fair: list[BelowFair] = Field(
        default_factory=list,
        description="who is below its fair share and short of nothing, furthest below first",
    )
    below_fair_more: Count = Field(default=0, description="of these, how many are not listed")
    never: list[NeverRuns] = Field(default_factory=list, description="jobs that can never run")
    never_more: Count = Field(default=0, description="of these, how many are not listed")
    problem: str | None = Field(
        default=None, description="why there is no newer exact allocation, where there is none"
    )
