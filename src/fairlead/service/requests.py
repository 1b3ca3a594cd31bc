"""Requests that change something, and their replies."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum

from fairlead.model.errors import Mistake
from fairlead.model.job import Job
from fairlead.model.tenant import Tenant
from fairlead.wire.kinds import Role


@dataclass(frozen=True, slots=True)
class Caller:
    """The sender of a request. `token`: the token's name, None: nobody was asked for one.
    `tenant`: of the role TENANT, whom it acts for."""

    token: str | None = None
    role: Role = Role.ADMIN
    tenant: str | None = None


JobKey = int | str
"""A job's number, or its name."""


@dataclass(frozen=True, slots=True)
class SubmitJobs:
    """Take these jobs, all of them or none. A job that names no tenant is of the caller's.
    `strict`: none, if one of them could never run on the machines and limits that are there, or
    names machines that are not.

    `key`: the caller's own name for this request. Asked again with the same key, by the same
    token, the same jobs give the same answer and other jobs are refused. Done: SubmittedJobs."""

    caller: Caller
    jobs: tuple[Job, ...]
    key: str | None = None
    strict: bool = False


@dataclass(frozen=True, slots=True)
class Warned:
    """A job that was taken, and a sentence on why it can never run as things are, or on a machine
    that it names and that is not there."""

    job: str
    sentence: str


@dataclass(frozen=True, slots=True)
class SubmittedJobs:
    """The numbers and names of the jobs, in the order in which they were given. `again`: they were
    there already, by the same key. `warnings` are of now, then too."""

    ids: tuple[int, ...]
    names: tuple[str, ...]
    again: bool = False
    warnings: tuple[Warned, ...] = ()


@dataclass(frozen=True, slots=True)
class ChangeJob:
    """Give a job so many tasks in all. Done: its number."""

    caller: Caller
    job: JobKey
    tasks: int


@dataclass(frozen=True, slots=True)
class CancelJob:
    """Drop what waits and stop what runs. One that is cancelled already is left as it is.
    Done: its number."""

    caller: Caller
    job: JobKey


@dataclass(frozen=True, slots=True)
class CancelJobs:
    """The same for all of these jobs, or for all of a tenant and those below it that are not over;
    for none of them where one is not known or another's. One that is over is left as it is.
    Done: CancelledJobs."""

    caller: Caller
    jobs: tuple[str, ...] = ()
    tenant: str | None = None


@dataclass(frozen=True, slots=True)
class CancelledJobs:
    """The numbers of the jobs that were named, and of those that this request cancelled: the
    others were over, or cancelled before."""

    ids: tuple[int, ...]
    cancelled: frozenset[int]


@dataclass(frozen=True, slots=True)
class ForgetJob:
    """Forget a job that is over, its outcomes and outputs; its name is free again.
    Done: its number."""

    caller: Caller
    job: JobKey


@dataclass(frozen=True, slots=True)
class ForgetJobs:
    """The same for all of these jobs, or for none. Done: None."""

    caller: Caller
    jobs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PutTenant:
    """A tenant is new, or has another weight, pool, limit or user. Done: None."""

    caller: Caller
    tenant: Tenant


@dataclass(frozen=True, slots=True)
class PutTenants:
    """The same for all of these tenants, one after the other, or for none. Done: None."""

    caller: Caller
    tenants: tuple[Tenant, ...]


@dataclass(frozen=True, slots=True)
class DrainMachine:
    """A machine gets no more tasks; `back`: it gets tasks again. Done: None."""

    caller: Caller
    machine: str
    back: bool = False


@dataclass(frozen=True, slots=True)
class DrainMachines:
    """The same for all of these machines, or for none. Done: None."""

    caller: Caller
    machines: tuple[str, ...]
    back: bool = False


@dataclass(frozen=True, slots=True)
class MakeToken:
    """A token of this name is good from now on. Only its salted hash comes here. Done: None."""

    caller: Caller
    name: str
    role: Role
    tenant: str | None
    salt: str
    hash: str


@dataclass(frozen=True, slots=True)
class RevokeToken:
    """A token is good no more. Done: None. `lock_out`: though it is the one that is asked with, or
    the last one of an administrator."""

    caller: Caller
    name: str
    lock_out: bool = False


Request = (
    SubmitJobs
    | ChangeJob
    | CancelJob
    | CancelJobs
    | ForgetJob
    | ForgetJobs
    | PutTenant
    | PutTenants
    | DrainMachine
    | DrainMachines
    | MakeToken
    | RevokeToken
)


class Wrong(Enum):
    """Why a request was refused."""

    INPUT = "input"  # what was asked makes no sense
    NOT_FOUND = "not found"
    CONFLICT = "conflict"  # it makes sense, but not as things stand
    FORBIDDEN = "forbidden"
    TOO_MANY = "too many"  # jobs or tasks; ask again once some are over
    UNAVAILABLE = "unavailable"  # ask again later
    NOT_LEADING = "not leading"  # ask the service that leads
    FAILED = "failed"  # a mistake of Fairlead's own


@dataclass(frozen=True, slots=True)
class Done:
    """It was done, and is durable. `seq`: the last entry of the journal by then; `seconds`: of
    processor time that it took to see what comes of it."""

    value: SubmittedJobs | CancelledJobs | int | None
    seq: int
    seconds: float = field(default=0.0, compare=False)


@dataclass(frozen=True, slots=True)
class Refused:
    """Nothing was done, and nothing changed; a text is a single mistake. UNAVAILABLE alone may
    leave it open whether the request will be done after all (`unknown`). `seconds`: of processor
    time that it took to see that."""

    wrong: Wrong
    mistakes: tuple[Mistake, ...]
    unknown: bool
    seconds: float = field(default=0.0, compare=False)

    def __init__(
        self,
        wrong: Wrong,
        mistakes: str | Iterable[Mistake],
        unknown: bool = False,
        seconds: float = 0.0,
    ) -> None:
        many = (Mistake(mistakes),) if isinstance(mistakes, str) else tuple(mistakes)
        object.__setattr__(self, "wrong", wrong)
        object.__setattr__(self, "mistakes", many)
        object.__setattr__(self, "unknown", unknown)
        object.__setattr__(self, "seconds", seconds)

    @property
    def what(self) -> str:
        """All of it in sentences, one a line."""
        return "\n".join(map(str, self.mistakes))


Reply = Done | Refused
