"""An allocation as a table for people: tenants and their jobs, then the levels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set

from fairlead.cli.common.screen import Screen, escaped, table, wrapped
from fairlead.cli.text.typing_hints import typing_hints
from fairlead.model.allocation import Allocation
from fairlead.model.job import Job
from fairlead.model.machine import Cluster
from fairlead.model.names import compress
from fairlead.model.shares import (
    JobShare,
    Level,
    MachineClass,
    Stop,
    TenantShare,
)
from fairlead.model.wholes import Whole
from fairlead.model.words import counted, listing, number, sentence
from fairlead.sharing.analysis.explanation import Stops, has_all, stops_of

_BAR = 16  # columns that the longest bar takes
_WIDE = 100  # columns of a terminal that has room for long bars
_NARROW = 72  # columns below which there is no room for bars
_MOST = 2  # ranges of names that a cell shows before it counts the rest
_FEW = 200  # machines whose names are merged into ranges across classes
_FROZEN = 4  # who froze at a level, likewise
_STOPS = 3  # stops, likewise
_JOBS = 8  # jobs of an allocation of a lottery, likewise
_LEVEL = "level: shares rise together, and those who froze at a level keep the share beside it"


def allocation_lines(
    cluster: Cluster, jobs: Sequence[Job], allocation: Allocation, screen: Screen
) -> Iterator[str]:
    """The whole answer in lines."""
    yield from heading(cluster, allocation, screen)
    yield ""
    yield from shares_table(cluster, jobs, allocation, screen)
    if allocation.levels:
        yield ""
        yield from levels_table(jobs, allocation, screen)
    if allocation.prices:
        yield ""
        yield from prices_table(allocation, screen)
    if allocation.whole is not None:
        yield ""
        yield from whole_lines(allocation.whole, screen)
    notes = allocation.sentences()
    if notes:
        yield ""
        yield from (f"warning: {escaped(note)}" for note in notes)
        yield from (
            f"hint: {escaped(hint)}" for hint in typing_hints(cluster, jobs, allocation.jobs)
        )


def whole_lines(whole: Whole, screen: Screen) -> Iterator[str]:
    """The allocations of a lottery, or how far whole tasks are from the exact shares."""
    if whole.lottery:
        rows = []
        for index, chance in enumerate(whole.lottery):
            some = [f"{escaped(job)} {tasks}" for job, tasks in chance.jobs if tasks]
            drawn = whole.drawn is not None and whole.drawn[0] == index
            mark = f"drawn by seed {whole.drawn[1]}" if drawn and whole.drawn else ""
            rows.append([str(chance.probability), listing(some, most=_JOBS), mark])
        yield from table(["probability", "tasks", ""], rows, "><<", screen)
    yield from (sentence(note) for note in whole.notes)


def heading(cluster: Cluster, allocation: Allocation, screen: Screen) -> Iterator[str]:
    """A line on the input's size and the policy."""
    size = listing(
        (
            counted(len(cluster.machines), "machine"),
            counted(len(allocation.tenants), "tenant"),
            counted(len(allocation.jobs), "job"),
        )
    )
    exact = allocation.certificate is not None and allocation.certificate.exact
    said = f"{size}; policy {allocation.policy}, {allocation.tasks.value} tasks"
    said += ", exact" if exact else ""
    yield from wrapped(said, screen)


def shares_table(
    cluster: Cluster, jobs: Sequence[Job], allocation: Allocation, screen: Screen
) -> Iterator[str]:
    """A row for each tenant and one for each of its jobs; one for a job that is its own tenant."""
    limits = {job.name: job.tasks for job in jobs}
    why = reasons(cluster, jobs, allocation)
    most = max((tenant.share for tenant in allocation.tenants), default=0.0)
    bars = screen.width is not None and screen.blocks and screen.width >= _NARROW
    longest = _BAR if (screen.width or 0) >= _WIDE else _BAR // 2
    some_finite = any(limit is not None for limit in limits.values())
    header = ["tenant", "weight", "share"] + [""] * bars + ["tasks"] + ["of"] * some_finite
    header += ["alone", "stopped by"]
    right = "<>>" + "<" * bars + ">" + ">" * some_finite + "><"

    def job_cells(job: JobShare) -> list[str]:
        limit = limits[job.name]
        of = ["" if limit is None else number(float(limit))] * some_finite
        return [number(job.tasks), *of, number(job.alone), why[job.name]]

    rows = []
    for tenant, depth, members in in_tree_order(allocation):
        indent = "  " * depth
        cells = [indent + escaped(tenant.name), number(tenant.weight), number(tenant.share)]
        cells += [screen.bar(tenant.share, most, longest)] * bars
        if len(members) == 1 and members[0].name == tenant.name:
            rows.append(cells + job_cells(members[0]))
            continue
        rows.append([*cells, *[""] * (3 + some_finite)])
        for job in members:
            name = f"{indent}  {escaped(job.name)}"
            rows.append([name, "", "", *[""] * bars, *job_cells(job)])
    yield from table(header, rows, right, screen)


def in_tree_order(
    allocation: Allocation,
) -> Iterator[tuple[TenantShare, int, list[JobShare]]]:
    """Every tenant with its depth and its own jobs: parents before children, else as written."""
    jobs: dict[str, list[JobShare]] = {}
    for job in allocation.jobs:
        jobs.setdefault(job.tenant, []).append(job)
    children: dict[str | None, list[TenantShare]] = {}
    for tenant in allocation.tenants:
        children.setdefault(tenant.parent, []).append(tenant)
    # Jobs that are their own tenants come in the order of the jobs.
    own = {job.name: index for index, job in enumerate(allocation.jobs) if job.tenant == job.name}
    top = sorted(children.get(None, []), key=lambda tenant: own.get(tenant.name, -1))
    waiting = [(tenant, 0) for tenant in reversed(top)]
    while waiting:
        tenant, depth = waiting.pop()
        yield tenant, depth, jobs.get(tenant.name, [])
        waiting += [(child, depth + 1) for child in reversed(children.get(tenant.name, []))]


def levels_table(jobs: Sequence[Job], allocation: Allocation, screen: Screen) -> Iterator[str]:
    """A row for each level: the share, who froze there, and what stopped them."""
    waiting = {job.name for job in jobs if not has_all(allocation, job)}
    tenant_of = {job.name: job.tenant for job in allocation.jobs}
    ranges = Ranges(allocation.classes)
    each = any(level.machine_class is not None for level in allocation.levels)
    header = ["level", "share"] + ["machines"] * each + ["froze", "stopped by"]
    rows = []
    for index, level in enumerate(allocation.levels):
        cells = [str(index), number(level.share)]
        if level.machine_class is not None:
            cells.append(ranges([level.machine_class]))
        froze = listing(who_froze(level, tenant_of), most=_FROZEN)
        rows.append([*cells, froze, _names(level.stopped_by, ranges, waiting)])
    yield from table(header, rows, "><" + "<" * each + "<<", screen)
    yield from (screen.dim(line) for line in wrapped(_LEVEL, screen))


def who_froze(level: Level, tenant_of: Mapping[str, str]) -> list[str]:
    """The tenants that froze at the level, and jobs of tenants that went on with others."""
    done = set(level.frozen)
    own = [escaped(name) for name in level.frozen]
    return own + [f"job {escaped(name)}" for name in level.jobs if tenant_of[name] not in done]


def prices_table(allocation: Allocation, screen: Screen) -> Iterator[str]:
    """A row for each price of a market."""
    ranges = Ranges(allocation.classes)
    rows = [[stop_name(stop, ranges), number(stop.price)] for stop in allocation.prices]
    yield from table(["resource", "price"], rows, "<<", screen)


def stop_name(stop: Stop, ranges: Ranges, waiting: Set[str] = frozenset()) -> str:
    """Names a stop in few words: `gpu on a[01-10]`, `limit of vision (gpu)`.

    `waiting` are jobs that do not run all their tasks: one that has no more all the same, because
    it spreads and all machines are one, is stopped by that.
    """
    if stop.job is not None and stop.machine_class is None:
        return f"{'spread' if stop.job in waiting else 'tasks'} of {escaped(stop.job)}"
    if stop.job is not None and stop.machine_class is not None:
        return f"spread of {escaped(stop.job)} on {ranges([stop.machine_class])}"
    if stop.tenant is not None:
        return f"limit of {escaped(stop.tenant)} ({stop.resource})"
    if stop.machine_class is None:
        return f"{stop.resource}"
    return f"{stop.resource} on {ranges([stop.machine_class])}"


class Ranges:
    """The machines of classes as a few ranges of names. It remembers what it found."""

    def __init__(self, classes: Sequence[MachineClass]) -> None:
        self._machines = {group.index: group.machines for group in classes}
        self._each: dict[int, tuple[str, ...]] = {}
        self._known: dict[tuple[int, ...], str] = {}

    def __call__(self, classes: Iterable[int]) -> str:
        """The ranges of these classes together, past a few the rest counted."""
        key = tuple(sorted(classes))
        if key not in self._known:
            self._known[key] = self._text(key)
        return self._known[key]

    def _text(self, key: tuple[int, ...]) -> str:
        ranges: Sequence[str]
        if sum(len(self._machines[index]) for index in key) <= _FEW:
            ranges = compress(name for index in key for name in self._machines[index])
        else:  # range by range: to merge the names of 10,000 machines takes longer than to share
            ranges = [one for index in key for one in self._of(index)]
        if len(ranges) > _MOST + 1:
            ranges = [*ranges[:_MOST], f"{len(ranges) - _MOST} more"]
        return ", ".join(ranges)

    def _of(self, index: int) -> tuple[str, ...]:
        if index not in self._each:
            self._each[index] = compress(self._machines[index])
        return self._each[index]


def reasons(cluster: Cluster, jobs: Sequence[Job], allocation: Allocation) -> dict[str, str]:
    """For every job what stops it, in few words."""
    stops = stops_of(cluster, jobs, allocation)
    ranges = Ranges(allocation.classes)
    satisfied = {job.name for job in jobs if has_all(allocation, job)}
    return {job.name: _reason(job, job.name in satisfied, stops, ranges) for job in allocation.jobs}


def _reason(job: JobShare, satisfied: bool, stops: Stops, ranges: Ranges) -> str:
    """The stops of a job in few words; nothing where a mechanism gives no reason."""
    if job.nowhere is not None:
        return "can run nowhere"
    if satisfied:
        return "has all its tasks"
    return _names(stops[job.name], ranges, {job.name})


def _names(stops: Iterable[Stop], ranges: Ranges, waiting: Set[str]) -> str:
    """The stops in few words, those of one resource together, and those of one job's spread."""
    by_resource: dict[str, list[int]] = {}
    by_spread: dict[str, list[int]] = {}
    others = []
    for stop in stops:
        if stop.tenant is not None or stop.machine_class is None:
            others.append(stop_name(stop, ranges, waiting))
        elif stop.resource is not None:
            by_resource.setdefault(stop.resource, []).append(stop.machine_class)
        else:
            by_spread.setdefault(stop.job or "", []).append(stop.machine_class)
    names = [f"{resource} on {ranges(by_resource[resource])}" for resource in sorted(by_resource)]
    names += [f"spread of {escaped(job)} on {ranges(by_spread[job])}" for job in sorted(by_spread)]
    names += others
    if len(names) > _STOPS + 1:
        names = [*names[:_STOPS], f"{len(names) - _STOPS} more"]
    return "; ".join(names)
