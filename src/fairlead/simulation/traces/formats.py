"""The interface of loaders: a format's name and options, the test of its files and their reader."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from fairlead.model.machine import Cluster
from fairlead.simulation.traces.options import Option, Settings
from fairlead.simulation.workload import Workload

Files = Mapping[str, tuple[str, ...]]
"""The paths of a trace by their roles, in the order of their names."""


@dataclass(frozen=True)
class Format:
    """A public format. `role` tells from a file's first line which table of the format it is, or
    None; `load` makes the workload of files with their roles. `load_on`: the same, where what
    the jobs say can be held against a cluster."""

    name: str
    title: str
    options: tuple[Option, ...]
    role: Callable[[str], str | None]
    load: Callable[[Files, Settings], Workload]
    load_on: Callable[[Files, Settings, Cluster], Workload] | None = None
