"""The continuous audit: what everybody has beside what the exact allocation guarantees, and why
somebody has less."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from fairlead.scheduling.core import Core
from fairlead.scheduling.reading.lookup import is_fifo
from fairlead.scheduling.reading.present import Jobs, Machines, Tenants, job_slots, measuring_policy
from fairlead.service.fairness.causes import Beyond, Cause, DisplayName, cause_of
from fairlead.service.fairness.history import Sample
from fairlead.service.fairness.interface import Answered, Question
from fairlead.service.fairness.tree_sums import shares_of, sum_over_tree
from fairlead.sharing.numbers.amounts import simplest
from fairlead.sharing.problem.problem import Bools, Floats, Ints

EXPLAINED = 10
"""So many shortfalls at most are explained: to look at all machines for each takes the loop's
time."""

CLOSE = 1e-9
"""Sums of a hundred thousand quotients in doubles are wrong by less, relative: shares that are
closer are compared as fractions."""


@dataclass(frozen=True, eq=False)
class Measured:
    """Every present job and tenant at one moment. Columns of jobs are in the order of submission.

    `whole` is what a job is guaranteed, no more than it has tasks now; -1 where the exact
    allocation is older than the job. Shares of tenants are divided by their weights; `fair` is nan
    where the exact allocation says nothing of a tenant, or knows none of its jobs that wait, `owed`
    the share of what it is guaranteed, `asked` the share if all that waits and could ever run ran
    too; `never` is whether what waits of a job can never start, and `due` its share, not divided by
    any weight, by the exact allocation: nan where that is older than the job.

    `unjudged` is whether tasks of a job wait that the exact allocation is older than; `outdated`
    says what else is not as it was then, of which everybody's share depends; empty: all is. Where
    it is not, nobody is judged: nothing is fair, due or lacking."""

    exact: Answered | None
    slot: Ints  # (J,)
    running: Ints
    waiting: Ints
    whole: Ints
    scale: Floats
    owner: Ints  # (J,) which of the tenants, -1: its own
    tenants: tuple[str, ...]
    parent: Ints  # (T,)
    weight: Floats
    share: Floats
    fair: Floats
    owed: Floats
    asked: Floats
    never: Bools  # (J,)
    due: Floats  # (J,)
    tenant_running: Ints
    tenant_waiting: Ints
    unjudged: Bools  # (J,)
    outdated: str

    @property
    def unknown(self) -> int:
        """The number of jobs with tasks that wait and of which nobody knows what they are
        guaranteed now: where something else is not as it was, all of them."""
        who = self.waiting > 0 if self.outdated else self.unjudged
        return int(who.sum())

    @property
    def judge(self) -> Answered | None:
        """The exact allocation, if it is of what there is now, new jobs apart."""
        return None if self.outdated else self.exact

    @cached_property
    def lacks(self) -> Ints:
        """(J,) the tasks that each job is short of."""
        judged = (self.whole >= 0) & (not self.outdated)
        lacks: Ints = np.where(judged, np.maximum(self.whole - self.running, 0), 0)
        return lacks

    @cached_property
    def shortfall(self) -> Floats:
        """(T,) the share that each tenant is short of."""
        if self.outdated:
            return np.zeros(len(self.tenants))
        shortfall: Floats = np.maximum(self.owed - self.share, 0.0)
        near = np.abs(self.owed - self.share) <= CLOSE * (self.owed + self.share)
        shortfall[near] = 0.0
        for t in np.flatnonzero(near & self._uneven).tolist():
            weight = simplest(float(self.weight[t])) or 1
            shortfall[t] = max(float(self._lacking(t) / weight), 0.0)
        return shortfall

    def beyond(self, core: Core) -> Beyond:
        """The tasks and shares that are held beyond what is guaranteed; a job that the exact
        allocation does not know has none guaranteed."""
        size = job_slots(core)
        tasks, scale, share = np.zeros(size, np.int64), np.ones(size), np.zeros(size)
        more = np.maximum(self.running - np.maximum(self.whole, 0), 0)
        tasks[self.slot] = more
        scale[self.slot] = np.where(self.scale > 0, self.scale, 1.0)
        spare = np.append((self.share - self.owed) * self.weight, 0.0)
        share[self.slot] = np.where(self.owner >= 0, spare[self.owner], more / scale[self.slot])
        return Beyond(tasks, scale, share)

    @cached_property
    def gap(self) -> float | None:
        """The part, 0 to 1, of what is due by the exact allocation that its tenants do not hold;
        None where nothing is due or nothing is known. A job without a tenant is its own."""
        known = np.flatnonzero(~np.isnan(self.due))
        owner = self.owner[known]
        owner = np.where(owner >= 0, owner, len(self.parent) + np.arange(len(known)))
        size = len(self.parent) + len(known)
        due = np.bincount(owner, self.due[known], size)
        has = np.bincount(owner, shares_of(self.running, self.scale)[known], size)
        total = float(due.sum())
        return float(np.maximum(due - has, 0.0).sum()) / total if total > 0 else None

    @cached_property
    def _more(self) -> Ints:
        """(J,) the tasks that each job is guaranteed more than it runs; below 0 where less."""
        more: Ints = np.where(self.scale > 0, np.maximum(self.whole, 0) - self.running, 0)
        return more

    @cached_property
    def _uneven(self) -> Bools:
        """(T,) whether any job below runs more or fewer tasks than it is guaranteed."""
        uneven = np.zeros(len(self.parent), np.bool_)
        uneven[self.owner[(self.owner >= 0) & (self._more != 0)]] = True
        for t in range(len(self.parent) - 1, -1, -1):  # a parent comes before its children
            if self.parent[t] >= 0:
                uneven[self.parent[t]] |= uneven[t]
        return uneven

    def _lacking(self, tenant: int) -> Fraction:
        """The lack of all jobs below a tenant together, in shares of weight 1, exactly."""
        jobs = self.belong_to(tenant) & (self._more != 0)
        scales, of = np.unique(self.scale[jobs], return_inverse=True)
        more = np.zeros(len(scales), np.int64)
        np.add.at(more, of, self._more[jobs])
        pairs = zip(more.tolist(), scales.tolist(), strict=True)
        return sum((many / simplest(scale) for many, scale in pairs), Fraction(0))

    def belong_to(self, tenant: int) -> Bools:
        """(J,) whether each job is of this tenant or of one below it."""
        below = np.zeros(len(self.parent) + 1, np.bool_)  # the last is that of none
        below[tenant] = True
        for t in range(tenant + 1, len(self.parent)):  # a parent comes before its children
            below[t] = below[self.parent[t]]
        belong: Bools = below[self.owner]
        return belong

    def sample(self, time: int) -> Sample:
        """The columns that the history keeps."""
        columns = (self.share, self.fair, self.tenant_running, self.tenant_waiting)
        return Sample(time, self.tenants, np.stack(columns, axis=1).astype(np.float32))


@dataclass(frozen=True, slots=True)
class Short:
    """A tenant (or a job that is its own) that has less than the exact allocation guarantees it.

    Shares are divided by the weight. `tasks`: what `jobs` of its jobs lack together; `job`: the one
    that lacks most. `since`: when that was first seen, without a gap; None: just now."""

    tenant: str
    owed: float
    has: float
    tasks: int
    jobs: int
    job: str
    since: int | None
    cause: Cause | None

    @property
    def shortfall(self) -> float:
        return self.owed - self.has


@dataclass(frozen=True, slots=True)
class Audit:
    """The shortfalls now, most first; `more` are not listed. `exact`: of which moment the exact
    allocation is, None before the first one. `looked_at`: so many were judged by it."""

    time: int
    exact: int | None
    policy: str
    looked_at: int
    short: tuple[Short, ...]
    more: int = 0


def measure(core: Core, exact: Answered | None) -> Measured:
    """Measures what everybody has beside what the exact allocation gives."""
    present, tenants = Jobs(core), Tenants(core)
    running, waiting, owner = present.running, present.waiting, tenants.owners(present)
    parent, weight = tenants.parent, tenants.weight
    names = tuple(tenant.name for tenant in tenants.values)
    whole, scale = np.full(len(running), -1), present.scale
    could = waiting.copy()
    fair = np.full(len(names), np.nan)
    due = np.full(len(running), np.nan)
    unjudged = waiting > 0
    if exact is not None:
        was = exact.question
        found = present.places_among(was.slot, was.seq)
        known = np.flatnonzero(found >= 0)
        now = (running + waiting)[known]
        unjudged[known] &= _have_grown(present, exact, known, found[known])
        if len(exact.answer.jobs.whole):
            whole[known] = np.minimum(exact.answer.jobs.whole[found[known]], now)
            scale[known] = was.now.scale[found[known]]
            could[known[exact.answer.jobs.never[found[known]]]] = 0
            due[known] = shares_of(exact.answer.jobs.tasks[found[known]], scale[known])
        for t, name in enumerate(names):
            share = exact.answer.tenants.get(name)
            if share is not None:
                fair[t] = share.share
    outdated = "" if exact is None else _find_outdated(core, exact.question, present)
    if outdated:
        fair[:] = due[:] = np.nan
    counts = np.stack([running, waiting, waiting > 0, unjudged], axis=1)
    tasks = (running, np.maximum(whole, 0), running + could)
    parts = np.stack([shares_of(each, scale) for each in tasks], axis=1)
    total = sum_over_tree(counts, owner, parent)
    shares = sum_over_tree(parts, owner, parent)
    shares /= np.where(weight > 0, weight, 1.0)[:, None]
    fair[(total[:, 3] > 0) & (total[:, 3] == total[:, 2])] = np.nan
    return Measured(
        exact, present.slot, running, waiting, whole, scale, owner, names, parent, weight,
        shares[:, 0], fair, shares[:, 1], shares[:, 2], could < waiting, due,
        total[:, 0], total[:, 1], unjudged, outdated,
    )  # fmt: skip


def _have_grown(present: Jobs, exact: Answered, known: Ints, found: Ints) -> Bools:
    """Of each known job, whether it asks for more tasks than when the exact allocation gave it all
    that it asked for. Who had less than that has no more for asking for more."""
    was, given = exact.question.now, exact.answer.jobs.tasks
    then = was.waiting[found] + was.held[found]
    more: Bools = (present.running + present.waiting)[known] > then
    return more & (given[found] >= (1 - CLOSE) * then) if len(given) else more


def _find_outdated(core: Core, was: Question, present: Jobs) -> str:
    """What is not as in the question: machines that take tasks, tenants, or the policy, which a
    service that follows sees change under it."""
    machines, tenants = Machines(core), Tenants(core)
    assert was.tree.limit is not None  # a question is of a core, which has all limits
    pairs = (
        (machines.capacity, was.now.capacity),
        (machines.up, was.up),
        (tenants.parent, was.tree.parent),
        (tenants.weight, was.tree.weight),
        (tenants.limit, was.tree.limit),
    )
    alike = all(np.array_equal(now, then) for now, then in pairs)
    if not alike or _have_other_labels(machines, was, present):
        return "machines, weights or limits are others"
    same = measuring_policy(core) == was.policy and not _have_other_scales(core, was, present)
    return "" if same else "the policy is another one"


def _have_other_scales(core: Core, was: Question, present: Jobs) -> bool:
    """Whether a job of the question that is still there is measured otherwise: by whole tasks
    before, and by divisible ones now. fifo has no scales, and is measured by those of the question.
    """
    found = present.places_among(was.slot, was.seq)
    known = found >= 0
    alike = np.array_equal(present.scale[known], was.now.scale[found[known]])
    return not alike and not is_fifo(core)


def _have_other_labels(machines: Machines, was: Question, present: Jobs) -> bool:
    """Whether a machine satisfies another term of a job of the question that is still there: the
    others' bits may be other terms' by now."""
    found = present.places_among(was.slot, was.seq)
    known = found >= 0
    width = min(was.now.needs.shape[1], present.needs.shape[1])
    needs, then = present.needs[known, :width], was.now.needs[found[known], :width]
    terms = np.bitwise_or.reduce(then[(needs == then).all(axis=1)], axis=0)
    satisfied = machines.satisfies[:, :width] & terms
    return not np.array_equal(satisfied, was.now.satisfies[:, :width] & terms)


def short_of(found: Measured, core: Core) -> dict[str, Ints]:
    """Finds who is short, with the jobs of `found` that lack tasks, the one that lacks most first.

    A tenant whose jobs together have what they are guaranteed is not short, though one of them
    lacks what another has too much."""
    lacks = found.lacks
    short: dict[str, Ints] = {}
    lacking = np.flatnonzero(lacks)
    lacking = lacking[np.argsort(-lacks[lacking], kind="stable")]
    for j in lacking[found.owner[lacking] < 0].tolist():
        short[core.book.name_of(int(found.slot[j]))] = np.array([j])
    for t in np.flatnonzero(found.shortfall).tolist():
        short[found.tenants[t]] = lacking[found.belong_to(t)[lacking]]
    return {name: jobs for name, jobs in short.items() if len(jobs)}


def build_audit(
    time: int,
    core: Core,
    found: Measured,
    since: Mapping[str, int],
    quarantined: frozenset[str],
    most: int,
    display_name: DisplayName = str,
) -> Audit:
    """Audits who is short, with causes for the first of them. `display_name`: what a reader is told
    of jobs' names."""
    places = {name: t for t, name in enumerate(found.tenants)}
    everybody = []
    for name, jobs in short_of(found, core).items():
        t = places.get(name, -1)
        if t >= 0:
            owed, has = float(found.owed[t]), float(found.share[t])
        else:
            scale = float(found.scale[jobs[0]]) or 1.0
            owed = float(found.whole[jobs[0]]) / scale
            has = float(found.running[jobs[0]]) / scale
        everybody.append((name, owed, has, jobs))
    everybody.sort(key=lambda one: one[2] - one[1])  # by what they lack; stable
    short = []
    beyond = found.beyond(core)
    for place, (name, owed, has, jobs) in enumerate(everybody[:most]):
        slot = int(found.slot[jobs[0]])
        lacks = int(found.lacks[jobs].sum())
        explained = place < EXPLAINED
        cause = cause_of(core, beyond, slot, quarantined, display_name) if explained else None
        job, lasts = display_name(core.book.name_of(slot)), since.get(name)
        whose = name if name in places else job
        short.append(Short(whose, owed, has, lacks, len(jobs), job, lasts, cause))
    lone = int((found.owner < 0).sum())
    return Audit(
        time=time,
        exact=None if found.exact is None else found.exact.answer.time,
        policy=core.book.scaler.spec,
        looked_at=0 if found.judge is None else len(found.tenants) + lone,
        short=tuple(short),
        more=max(len(everybody) - most, 0),
    )
