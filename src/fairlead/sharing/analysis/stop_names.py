"""Names of what stops jobs, in few words: `gpu on a[01-10]`, `limit of vision (gpu)`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set

from fairlead.model.allocation import Allocation
from fairlead.model.job import Job
from fairlead.model.machine import Cluster
from fairlead.model.names import compress
from fairlead.model.shares import JobShare, Level, MachineClass, Stop
from fairlead.model.words import escaped
from fairlead.sharing.analysis.explanation import Stops, has_all, stops_of

Names = Callable[[Iterable[int]], str]
"""The machines of these classes together, in words: `Ranges`, for one."""

ALL = "has all its tasks"

_MOST = 2  # ranges of names that a cell shows before it counts the rest
_FEW = 200  # machines whose names are merged into ranges across classes
_STOPS = 3  # stops, likewise


def who_froze(level: Level, tenant_of: Mapping[str, str]) -> list[str]:
    """The tenants that froze at the level, and jobs of tenants that went on with others."""
    done = set(level.frozen)
    own = [escaped(name) for name in level.frozen]
    return own + [f"job {escaped(name)}" for name in level.jobs if tenant_of[name] not in done]


def stop_name(stop: Stop, ranges: Names, waiting: Set[str] = frozenset()) -> str:
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


def reasons(
    cluster: Cluster, jobs: Sequence[Job], allocation: Allocation, names: Names | None = None
) -> dict[str, str]:
    """For every job what stops it, in few words; machines are named by their ranges, or `names`."""
    stops = stops_of(cluster, jobs, allocation)
    ranges = names or Ranges(allocation.classes)
    satisfied = {job.name for job in jobs if has_all(allocation, job)}
    return {job.name: _reason(job, job.name in satisfied, stops, ranges) for job in allocation.jobs}


def _reason(job: JobShare, satisfied: bool, stops: Stops, ranges: Names) -> str:
    """The stops of a job in few words; nothing where a mechanism gives no reason."""
    if job.nowhere is not None:
        return "can never run"
    if satisfied:
        return ALL
    return stop_names(stops[job.name], ranges, {job.name})


def stop_names(stops: Iterable[Stop], ranges: Names, waiting: Set[str]) -> str:
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
