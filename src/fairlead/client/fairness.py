"""A client's questions about fairness: shares, reasons, changes that are tried, the audit."""

from __future__ import annotations

from collections.abc import Mapping

from fairlead.client.asking import Asking
from fairlead.client.transport import Query, address
from fairlead.wire.fairness import (
    CanRun,
    LiveAllocation,
    LiveAudit,
    Shares,
    SharesHistory,
    SharesMarks,
    WhatIfAnswer,
    WhyAnswer,
)


class Fairness(Asking):
    """The part of the client that is about shares."""

    def why(self, job: str, *, priority: bool = False) -> WhyAnswer:
        """Why a job waits, how far it is from its fair share, and what would start it; with
        `priority` also what its priority is made of, where another scheduler places it."""
        where = address("jobs", job, "why")
        return self._ask(WhyAnswer, "GET", where, query={"priority": priority or None})

    def shares(self, *, jobs: bool = False, own: bool = False) -> Shares:
        """Each tenant's share now and its fair one; with `jobs`, of each job, too, with `own` of
        those without a tenant."""
        return self._ask(
            Shares, "GET", "/v1/shares", query={"jobs": jobs or None, "own": own or None}
        )

    def shares_history(
        self,
        *,
        since: int | None = None,
        until: int | None = None,
        points: int | None = None,
        tenant: str | None = None,
    ) -> SharesHistory:
        """Shares over time. Moments are microseconds since 1970."""
        query: Query = {"since": since, "until": until, "points": points, "tenant": tenant}
        return self._ask(SharesHistory, "GET", "/v1/shares/history", query=query)

    def shares_marks(
        self, *, since: int | None = None, until: int | None = None, tenant: str | None = None
    ) -> SharesMarks:
        """The changes of shares over time. Moments are microseconds since 1970."""
        query: Query = {"since": since, "until": until, "tenant": tenant}
        return self._ask(SharesMarks, "GET", "/v1/shares/marks", query=query)

    def can_run(self, demand: Mapping[str, float | str], **more: object) -> CanRun:
        """Tells whether a job would start if it came now: `tasks`, `where`, `tenant`, `machines`,
        `exclude`, `spread`, `gang` and `duration` as in a file of jobs."""
        body = {"demand": dict(demand), **more}
        return self._ask(CanRun, "POST", "/v1/can-run", body=body, again=True)

    def allocation(self) -> LiveAllocation:
        """The exact allocation of what is present, as the dashboard draws it."""
        return self._ask(LiveAllocation, "GET", "/v1/allocation")

    def whatif(self, **changes: list[str]) -> WhatIfAnswer:
        """Tells gains and losses of changes, in the words of `fairlead whatif`: `add`, `remove`,
        `weight`, `drop_constraint`, `set_demand`, `set_limit`."""
        return self._ask(WhatIfAnswer, "POST", "/v1/whatif", body=changes, again=True)

    def audit(self) -> LiveAudit:
        """Tenants that have less now than the exact allocation guarantees, since when, and why."""
        return self._ask(LiveAudit, "GET", "/v1/audit")
