"""An allocation as a table for people: tenants and their jobs, then the levels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fairlead.cli.common.screen import Screen, table, wrap
from fairlead.cli.text.size_hints import size_hints
from fairlead.cli.text.typing_hints import typing_hints
from fairlead.model.allocation import Allocation
from fairlead.model.job import Job
from fairlead.model.machine import Cluster
from fairlead.model.shares import JobShare, TenantShare
from fairlead.model.wholes import Whole
from fairlead.model.words import counted, escaped, listing, number, sentence
from fairlead.sharing.analysis.explanation import has_all
from fairlead.sharing.analysis.stop_names import Ranges, reasons, stop_name, stop_names, who_froze

_BAR = 16  # columns that the longest bar takes
_WIDE = 100  # columns of a terminal that has room for long bars
_NARROW = 72  # columns below which there is no room for bars
_FROZEN = 4  # who froze at a level, likewise
_JOBS = 8  # jobs of an allocation of a lottery, likewise
_LEVEL = "level: shares rise together, and those who froze at a level keep the share beside it"


def allocation_lines(
    cluster: Cluster, jobs: Sequence[Job], allocation: Allocation, screen: Screen
) -> Iterator[str]:
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
        hints = (
            *typing_hints(cluster, jobs, allocation.jobs),
            *size_hints(cluster, jobs, allocation),
        )
        yield from (f"hint: {escaped(hint)}" for hint in hints)


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
    yield from wrap(said, screen)


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
        rows.append([*cells, froze, stop_names(level.stopped_by, ranges, waiting)])
    yield from table(header, rows, "><" + "<" * each + "<<", screen)
    yield from (screen.dim(line) for line in wrap(_LEVEL, screen))


def prices_table(allocation: Allocation, screen: Screen) -> Iterator[str]:
    ranges = Ranges(allocation.classes)
    rows = [[stop_name(stop, ranges), number(stop.price)] for stop in allocation.prices]
    yield from table(["resource", "price"], rows, "<<", screen)
