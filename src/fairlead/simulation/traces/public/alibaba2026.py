"""Alibaba's spot GPU cluster, published in 2026: its list of nodes."""

from __future__ import annotations

from fairlead.simulation.traces.formats import Files, Format
from fairlead.simulation.traces.options import Settings
from fairlead.simulation.traces.public.machine_lists import Source, machine_list
from fairlead.simulation.traces.tables import Column, Kind
from fairlead.simulation.workload import Workload

HEADER = "gpu_model,gpu_capacity_num,cpu_num,node_name"

_SOURCE = Source(
    name=Column("node_name", Kind.TEXT),
    model=Column("gpu_model", Kind.TEXT),
    without_gpu="",
    cpu=Column("cpu_num", Kind.WHOLE),
    memory=None,
    gpu=Column("gpu_capacity_num", Kind.WHOLE, most=1000),
)


def role(line: str) -> str | None:
    """Whether the header is that of the list."""
    return "machines" if line == HEADER else None


def load(files: Files, options: Settings) -> Workload:
    """A workload without jobs."""
    return machine_list(FORMAT.name, files["machines"], _SOURCE, options)


FORMAT = Format(
    name="alibaba-spot-gpu-2026",
    title="nodes of Alibaba's spot GPU cluster of 2026: node_info_df",
    options=(),
    role=role,
    load=load,
)
