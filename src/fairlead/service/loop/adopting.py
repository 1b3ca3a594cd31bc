"""Jobs of the cluster's own: what is seen there becomes the events that are missing.

Nothing is decided here. Where the records and the cluster differ, the cluster is right. Either
another scheduler places them (`alone`), or they wait there until they are launched here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, repeat
from typing import Any

from fairlead.engines.observing import Apart, SeenJob, View
from fairlead.model.errors import InputError
from fairlead.model.job import Job
from fairlead.scheduling.decisions import Decision, Launch
from fairlead.scheduling.events import JobCancelled, TenantChanged
from fairlead.service.loop.standing import (
    Standing,
    collect_ended,
    end_parts,
    find_begun,
    grow,
    leave,
    place_parts,
    shrink,
    standing_of,
    submit,
)
from fairlead.service.loop.step import Step
from fairlead.service.records.book import Records
from fairlead.service.records.lookup import find
from fairlead.service.requests import (
    CancelJob,
    CancelJobs,
    ChangeJob,
    ForgetJob,
    ForgetJobs,
    MakeToken,
    PutTenant,
    PutTenants,
    Refused,
    Request,
    RevokeToken,
    SubmitJobs,
    Wrong,
)

WORK = ("demand", "tenant", "where", "machines", "exclude", "spread", "gang")
"""The parts of a job that are equal where two jobs ask for the same."""

HERE = (ForgetJob, ForgetJobs, MakeToken, RevokeToken)
"""Requests that change nothing but what is known here."""

NUMBER = re.compile(r"[0-9]+(-[0-9]+)?")
"""The names by which jobs of the cluster's own are known."""

NO_PART = "?"
"""Of a task that was launched while nobody knew which parts of its job wait: nothing starts of it.
"""


class Adoption:
    """Jobs, tenants and tasks of the cluster, step by step; `apart` and what is `said` are of its
    last view and in no journal. `weighed`: its tenants have weights of their own there. `other`:
    the name of the other scheduler; empty where there is none. `alone`: it places all that runs."""

    def __init__(self, other: str = "", alone: bool = True) -> None:
        self.other, self._alone = other, alone
        self.apart: Mapping[str, Apart] = {}
        self.weighed = False
        self._tenants: frozenset[str] = frozenset()
        self._seen: Mapping[str, SeenJob] = {}
        self._done: dict[str, SeenJob] = {}  # the records say the same
        self._standing: dict[str, Standing] = {}

    def scheduler_reason(self, name: str) -> str:
        """The cluster's own scheduler's sentence on a job; empty where it has none, as of one of
        which nothing waits where that places alone."""
        seen = self._seen.get(name)
        waits = seen is not None and (seen.waiting or seen.queued or not self._alone)
        return seen.said if seen is not None and waits else ""

    def refusal(self, records: Records, request: Request) -> Refused | None:
        """Why a request is refused here, since it is for the other scheduler; None where not."""
        if not self.other or isinstance(request, HERE):
            return None
        if isinstance(request, PutTenant | PutTenants) and not self.weighed:
            return None
        if not self._alone:
            return self._refusal_beside(records, request)
        return Refused(
            Wrong.CONFLICT,
            f"{self.other.capitalize()} runs this cluster, so nothing was changed here: use its own"
            " commands",
        )

    def _refusal_beside(self, records: Records, request: Request) -> Refused | None:
        """The same, where jobs and tenants of ours are beside the cluster's own."""
        theirs: list[str] = []
        if isinstance(request, SubmitJobs):
            for asked in request.jobs:
                if NUMBER.fullmatch(asked.name):
                    return Refused(
                        Wrong.INPUT,
                        f'job "{asked.name}" is called as {self.other.capitalize()} calls its jobs,'
                        " and would keep that one from its turn: give it another name",
                    )
            return None
        if isinstance(request, PutTenant | PutTenants):
            tenants = (request.tenant,) if isinstance(request, PutTenant) else request.tenants
            theirs = [f'tenant "{each.name}"' for each in tenants if each.name in self._tenants]
        elif isinstance(request, CancelJob | ChangeJob | CancelJobs):
            keys = request.jobs if isinstance(request, CancelJobs) else (request.job,)
            for key in keys:
                try:
                    job = find(records, request.caller, key)
                except InputError:  # the request itself is refused for it
                    continue
                if job is not None and job.parts is not None:
                    theirs.append(f"job {job.called}")
        if not theirs:
            return None
        other = self.other.capitalize()
        said = f"{other} has {theirs[0]}, so nothing was changed here: use its own commands"
        return Refused(Wrong.CONFLICT, said)

    def part_of(self, step: Step) -> Callable[[Decision], Mapping[str, Any]]:
        """Says of the step's launches of jobs of the cluster's own which part of it each task is:
        those that waited first before others, a gang in one."""
        chosen: dict[str, Iterator[str]] = {}

        def more(decision: Decision) -> Mapping[str, Any]:
            if not isinstance(decision, Launch) or not self._is_theirs(step, decision.job):
                return {}
            if decision.job not in chosen:
                self._done.pop(decision.job, None)  # the records say more from now on
                chosen[decision.job] = self._next_parts(step, decision.job)
            return {"part": next(chosen[decision.job], NO_PART)}

        return more

    def _is_theirs(self, step: Step, name: str) -> bool:
        if name in self._seen:
            return name not in self.apart
        record = step.records.names.get(name)
        return record is not None and record.parts is not None

    def _next_parts(self, step: Step, name: str) -> Iterator[str]:
        """Names of the parts that wait, each for every task of it."""
        seen, record = self._seen.get(name), step.records.names.get(name)
        if seen is None:
            return iter(())
        standing = self._standing.get(name)
        if standing is None and record is not None:
            standing = standing_of(step, record)
        held = {} if standing is None else standing.held
        waiting = (part for part in seen.queued if part not in held)
        return chain.from_iterable(repeat(part, int(seen.job.gang)) for part in waiting)

    def take_ends(self, step: Step, view: View) -> None:
        """All that is over or was given back, before machines go."""
        self._standing = {}
        self._done = {
            name: seen for name, seen in self._done.items() if view.jobs.get(name) == seen
        }
        for name in list(step.core.ids.jobs):
            if name in self._done:
                continue
            record, seen = step.records.names[name], view.jobs.get(name)
            if not self._alone and record.parts is None:
                continue
            standing = standing_of(step, record)
            if seen is None or not _same_work(record.job, seen.job):
                leave(step, record, standing, forget=seen is not None or name in view.apart)
                continue
            new = [each.part for each in collect_ended(standing, seen)]
            new += find_begun(standing, seen)
            grow(step, name, seen.waiting + sum(len(part.machines) for part in new))
            end_parts(step, name, standing, seen)
            self._standing[name] = standing

    def take_rest(self, step: Step, view: View, own: Iterable[str]) -> None:
        """All that is new, once machines are there. `own`: tenants whom the service's own
        settings describe."""
        self._seen, self.weighed = view.jobs, view.weighed
        self._tenants = frozenset(tenant.name for tenant in view.tenants)
        apart, mine = dict(view.apart), frozenset(own)
        for tenant in view.tenants:
            known = step.records.tenants.get(tenant.name)
            if tenant.name not in mine and (known is None or (view.weighed and known != tenant)):
                try:
                    step.apply(TenantChanged(step.time, tenant))
                except InputError as error:
                    apart[tenant.name] = Apart(tenant.name, str(error))
        for name in sorted(view.jobs.keys() - self._done.keys(), key=_by_number):
            try:
                if self._adopt(step, name, view.jobs[name]):
                    self._done[name] = view.jobs[name]
            except InputError as error:
                apart[name] = Apart(view.jobs[name].job.tenant, f"it is not understood: {error}")
        self.apart = apart

    def _adopt(self, step: Step, name: str, seen: SeenJob) -> bool:
        """Brings one job up to what is seen; whether that was possible in full."""
        standing = self._standing.get(name)
        if standing is None or name not in step.core.ids.jobs:
            if not seen.waiting and not seen.running:
                # It is over, or came and went unseen. One that was held, and never ran, is in no
                # record till then.
                held = name in self.apart and not seen.ended
                if held and name not in step.records.names:
                    submit(step, name, seen)
                    step.apply(JobCancelled(step.time, name))
                return True
            standing = submit(step, name, seen)
        whole = place_parts(step, name, standing, seen)
        if not shrink(step, name, standing, seen.waiting):
            # A task that was given back and then cancelled: it comes back without that one.
            leave(step, step.records.names[name], standing, forget=True)
            standing = submit(step, name, seen)
            whole = place_parts(step, name, standing, seen)
        return whole


def _by_number(name: str) -> tuple[int, str]:
    digits = name.partition("-")[0]
    return (int(digits) if digits.isdecimal() else 0, name)


def _same_work(one: Job, other: Job) -> bool:
    return all(getattr(one, name) == getattr(other, name) for name in WORK)
