"""The standing of tenants: shares and the live audit, made of a copy of the core, so that the loop
goes on meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from fairlead.scheduling.core import Core
from fairlead.scheduling.reading.core_copy import FrozenCore, Spares
from fairlead.service.api.keys import may_see
from fairlead.service.api.refusal import RefusalError
from fairlead.service.api.service_view import ServiceView
from fairlead.service.fairness import to_wire
from fairlead.service.fairness.causes import CauseKind
from fairlead.service.fairness.monitor import FairnessMonitor
from fairlead.service.fairness.shortfalls import Measured
from fairlead.service.records.lookup import display_names, find
from fairlead.service.requests import Caller
from fairlead.wire.errors import ErrorKind
from fairlead.wire.fairness import BelowFair, LiveAudit, NeverRuns, Shares, Shortfall

T = TypeVar("T")
Row = TypeVar("Row", Shortfall, BelowFair)

HIDDEN = "no machine can run its job any more"
"""Of others: the whole sentence quotes the constraint, which is its owner's."""


@dataclass(frozen=True)
class Standing:
    """The standing at a moment, for one caller. Nothing in it changes later."""

    time: int
    seq: int
    copy: FrozenCore
    watch: FairnessMonitor | None
    resting: frozenset[str]  # machines in quarantine
    otherwise: Mapping[str, str]  # names of jobs that the caller is told, where they differ

    @cached_property
    def measured(self) -> Measured:
        """What shares and the audit are made of, once."""
        return to_wire.measure_shares(self.copy.core, self.watch)

    def shares(self, *, jobs: bool = False, own: bool = False) -> Shares:
        """Shares now, of which `hide_shares` has to leave out what is secret. In any thread."""
        return to_wire.shares(
            self.time,
            self.copy.core,
            self.watch,
            self.measured,
            jobs=jobs,
            own=own,
            display_name=self._name_shown,
        )

    def audit(self) -> LiveAudit:
        """The audit, of which `hide_audit` has to leave out what is secret. In any thread."""
        return to_wire.live_audit(
            self.time, self.copy.core, self.watch, self.measured, self.resting, self._name_shown
        )

    def _name_shown(self, name: str) -> str:
        return self.otherwise.get(name, name)


def get_core(view: ServiceView) -> Core:
    """The core. Raises RefusalError where the service has not begun."""
    if view.core is None:
        raise _not_begun(view)
    return view.core


def get_copy(view: ServiceView, spares: Spares | None = None) -> FrozenCore:
    """A copy of the core, to be read only. Raises RefusalError where the service has not begun.
    `spares`: one of them is written over."""
    copy = view.frozen(None if spares is None else spares.pop())
    if copy is None:
        raise _not_begun(view)
    return copy


def _not_begun(view: ServiceView) -> RefusalError:
    return RefusalError(ErrorKind.UNAVAILABLE, view.trouble or "the service has not begun")


def take_standing(
    view: ServiceView, caller: Caller, now: int, spares: Spares | None = None
) -> Standing:
    """Copies what there is now. In the loop's thread, quickly. Raises RefusalError. `spares`:
    as `get_copy` has it."""
    machines = view.records.machines.items()
    return Standing(
        time=max(now, view.records.time),
        seq=view.records.seq,
        copy=get_copy(view, spares),
        watch=None if view.watch is None else view.watch.frozen(),
        resting=frozenset(name for name, one in machines if one.quarantine is not None),
        otherwise=display_names(view.records, caller),
    )


def in_thread(threads: bool, function: Callable[[], T]) -> Awaitable[T]:
    """The result of a function that takes long; in a thread where there are threads."""

    async def call() -> T:
        return function()

    return asyncio.to_thread(function) if threads else call()


def has_secrets(shares: Shares | None, audit: LiveAudit | None) -> bool:
    """Whether there is anything to leave out."""
    if shares is not None and shares.never:
        return True
    return audit is not None and (
        bool(audit.never)
        or any(map(_quotes, audit.shortfalls))
        or any(map(_quotes, audit.below_fair))
    )


def _quotes(row: Shortfall | BelowFair) -> bool:
    """Whether the row's sentence may quote a constraint."""
    return row.cause == CauseKind.NOWHERE.value


def hide_shares(view: ServiceView, caller: Caller, shares: Shares) -> Shares:
    """The shares without what quotes other people's constraints. In the loop's thread."""
    return shares.model_copy(update={"never": _never(view, caller, shares.never)})


def hide_audit(view: ServiceView, caller: Caller, audit: LiveAudit) -> LiveAudit:
    """The audit without what quotes other people's constraints. In the loop's thread."""

    def without_secrets(rows: list[Row]) -> list[Row]:
        return [
            row.model_copy(update={"sentence": HIDDEN})
            if _quotes(row) and not _is_own(view, caller, row.job)
            else row
            for row in rows
        ]

    return audit.model_copy(
        update={
            "shortfalls": without_secrets(audit.shortfalls),
            "below_fair": without_secrets(audit.below_fair),
            "never": _never(view, caller, audit.never),
        }
    )


def _is_own(view: ServiceView, caller: Caller, job: str | None) -> bool:
    """Whether the caller may see all of the job that it is told this name of."""
    record = None if job is None else find(view.records, caller, job)
    return record is not None and may_see(view, caller, record.job.tenant)


def _never(view: ServiceView, caller: Caller, rows: list[NeverRuns]) -> list[NeverRuns]:
    """The rows without the reasons of others' jobs."""
    return [
        row
        if _is_own(view, caller, row.job)
        else row.model_copy(update={"sentence": f"{row.job}: it can never run"})
        for row in rows
    ]
