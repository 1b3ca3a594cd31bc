"""Alibaba's PAI GPU cluster of 2020: its list of machines."""

from __future__ import annotations

from fairlead.simulation.traces.formats import Files, Format
from fairlead.simulation.traces.options import Settings
from fairlead.simulation.traces.public.machine_lists import GB, Source, machine_list
from fairlead.simulation.traces.tables import Column, Kind
from fairlead.simulation.workload import Workload

HEADER = "machine,gpu_type,cap_cpu,cap_mem,cap_gpu"

_SOURCE = Source(
    name=Column("machine", Kind.TEXT),
    model=Column("gpu_type", Kind.TEXT),
    without_gpu="CPU",
    cpu=Column("cap_cpu", Kind.WHOLE),
    memory=Column("cap_mem", Kind.WHOLE),
    gpu=Column("cap_gpu", Kind.WHOLE, most=1000),
)


def role(line: str) -> str | None:
    """Whether the header is that of the list."""
    return "machines" if line == HEADER else None


def load(files: Files, options: Settings) -> Workload:
    """A workload without jobs."""
    return machine_list(FORMAT.name, files["machines"], _SOURCE, options)


FORMAT = Format(
    name="alibaba-gpu-2020",
    title="machines of Alibaba's PAI GPU cluster of 2020: pai_machine_spec",
    options=(GB,),
    role=role,
    load=load,
)
