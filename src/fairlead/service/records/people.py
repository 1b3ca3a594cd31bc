"""Machines, tokens and idempotency keys as entries leave them, and the service's last start."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from fairlead.engines.interface import Attempt
from fairlead.model.machine import Machine
from fairlead.wire.kinds import Role


@dataclass(frozen=True, slots=True)
class Quarantine:
    """A machine in trouble gets nothing until then, and no sooner than it is well again."""

    until: int
    failures: int  # in a row
    why: str


@dataclass(slots=True)
class MachineRecord:
    """A machine that is there, or of which something is to be remembered. Only the fold changes
    it. Times are the service's.

    `machine` None: it is not there. `draining`: the core gives it nothing, be it because an
    administrator drained it (`drained`) or because it is in quarantine. `given_up`: attempts that
    were given up when it left, and may still run there, with when that was."""

    name: str
    machine: Machine | None = None
    joined: int | None = None
    left: int | None = None
    draining: bool = False
    drained: bool = False
    quarantine: Quarantine | None = None
    failures: int = 0
    held: dict[tuple[int, int], int] = field(default_factory=dict)  # (job, task): attempt
    given_up: dict[Attempt, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TokenRecord:
    """A token that is good. `made`: when."""

    name: str
    role: Role
    tenant: str | None
    salt: str
    hash: str
    made: int


@dataclass(frozen=True, slots=True)
class KeyRecord:
    """A submission under a caller's own key. It outlives its jobs. Only the fold of the step in
    which it was accepted adds to its lists."""

    request: str  # hash of the jobs as they were given
    ids: list[int]
    names: list[str]
    time: int  # when it was accepted


@dataclass(slots=True)
class KeyTotals:
    """Of a tenant, keys that are known, and bytes of them and of the names under them."""

    keys: int = 0
    bytes: int = 0


KeyOwner = tuple[str | None, str | None, str]
"""A token's name, the tenant that it acts for, and the key: a token that is made anew under an old
name, for another tenant, has none of the old one's keys."""


@dataclass(frozen=True, slots=True)
class Start:
    """The last start of the service: its version, and the core's parts.

    `engine`: the identity of the engine that launches go to; None: a version wrote this that did
    not say. `engine_gone`: an operator has said that nothing runs there any more, and that nobody
    will ask it again; `may_run_twice`: and that what must run once is started again, though it may
    have begun there. `owner` grows each time, by one but where an older journal was put back."""

    time: int
    version: str
    schema: int
    policy: str
    placement: str
    options: dict[str, Any]
    units: list[dict[str, Any]]
    engine: str | None = None
    engine_gone: bool = False
    may_run_twice: bool = False
    owner: int = 0
