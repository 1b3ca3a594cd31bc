"""The findings of an audit: a verdict on each property, and a witness for each violation."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from fairlead.model.job import Job
from fairlead.model.machine import Cluster, Machine
from fairlead.model.shares import Tasks
from fairlead.model.tenant import Tenant


class Verdict(Enum):
    """The knowledge about a property on an input. The values are those of `fairlead.audit/1`."""

    HOLDS = "holds"  # computed exactly, for this input
    VIOLATED = "violated"  # there is a witness
    NOT_FOUND = "not-found"  # a search that can refute, and never prove, found nothing
    NOT_APPLICABLE = "not-applicable"  # the property says nothing about this input; `note` why


class Moment(Enum):
    """Of a lottery: whether what it gives in expectation is judged, or each allocation that may be
    drawn. The values are those of `fairlead.audit/1`."""

    EX_ANTE = "ex-ante"
    EX_POST = "ex-post"


@dataclass(frozen=True)
class Input:
    """A cluster and its jobs: what an allocation is computed from."""

    cluster: Cluster
    jobs: tuple[Job, ...]


@dataclass(frozen=True)
class Lie:
    """Tenants claim other jobs than they have (or another pool): `claimed` replaces the jobs of
    these names, and `tenants` the tenants of these names."""

    liars: tuple[str, ...]
    claimed: tuple[Job, ...] = ()
    tenants: tuple[Tenant, ...] = ()


@dataclass(frozen=True)
class Split:
    """One tenant comes as several: its job is replaced by these jobs of these tenants."""

    tenant: str
    jobs: tuple[Job, ...]
    tenants: tuple[Tenant, ...] = ()


@dataclass(frozen=True)
class Left:
    """A tenant leaves, with its jobs."""

    tenant: str


@dataclass(frozen=True)
class Added:
    """A machine is added, to nobody's pool. Where `like` names a machine, the new one is on every
    job's list of names that the other is on; where it is `closed`, every job excludes it."""

    machine: Machine
    like: str | None = None
    closed: bool = False


@dataclass(frozen=True)
class Grown:
    """A machine gets more: this one takes the place of the one of its name."""

    machine: Machine


@dataclass(frozen=True)
class Removed:
    """Machines are taken away, also from pools and from jobs' lists of names."""

    machines: tuple[str, ...]


Change = Lie | Split | Left | Added | Grown | Removed
"""A change of an input that shows a violation; None where the allocation itself shows it."""


@dataclass(frozen=True)
class Witness:
    """A violation that anyone can show again: the input, the change if there is one, who is hurt
    (or gains) and the two numbers that are compared.

    `before` is what the property promises or what was before the change, `after` what comes out;
    both count `unit` ("tasks", "share"). `slack` is by how much the property fails, relative to
    the larger of the two; `jobs` are the tasks of each job in the better allocation where the
    property is Pareto optimality.
    """

    property: str
    policy: str
    tasks: Tasks
    input: Input
    who: tuple[str, ...]
    before: float
    after: float
    slack: float
    sentence: str
    unit: str = "tasks"
    change: Change | None = None
    jobs: tuple[tuple[str, float], ...] = ()
    lottery: Moment | None = None  # None where nothing is drawn


@dataclass(frozen=True)
class Finding:
    """One property of one policy on one input, and for a lottery at which moment.

    `others` are the further violations, the worst first, one sentence each; `note` says what a
    reader must know to read the verdict right (which comparison was made, what was sampled).
    """

    policy: str
    property: str
    verdict: Verdict
    tasks: Tasks = Tasks.DIVISIBLE
    trials: int | None = None
    seed: int | None = None
    best: float | None = None  # of a search: the largest gain found, whether it counts or not
    witness: Witness | None = None
    others: tuple[str, ...] = ()
    note: str = ""
    counts: tuple[tuple[str, int], ...] = field(default=())  # e.g. pairs looked at, envious pairs
    apart: tuple[Witness, ...] = ()  # what is told and does not count as a violation
    lottery: Moment | None = None  # None where nothing is drawn
