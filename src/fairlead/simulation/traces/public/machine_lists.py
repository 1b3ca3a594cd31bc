"""Lists of machines that come without jobs, as workloads that have machines only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from fairlead.model.machine import label_values
from fairlead.simulation.traces.build import machines_from_start, no_jobs, workload_of
from fairlead.simulation.traces.formats import Format
from fairlead.simulation.traces.options import Option, Settings
from fairlead.simulation.traces.tables import Column, Kind, Layout, Vocabulary, read_rows
from fairlead.simulation.workload import Resource, Workload

GPU_MODEL = "gpu-model"
"""The label with a machine's GPU model."""

MIB = 2**20
CPU = Resource("cpu", Fraction(1, 1000))
MEMORY = Resource("memory", Fraction(MIB))
GPU = Resource("gpu", Fraction(1, 1000), piece=1000)

GB = Option("gb", "GiB", "what a GB of memory in the list is: `GiB`, 2^30 bytes, or `GB`, 10^9")


@dataclass(frozen=True)
class Source:
    """The columns of a list. `without_gpu` is the model of a machine that has no GPU."""

    name: Column
    model: Column
    without_gpu: str
    cpu: Column  # cores
    memory: Column | None  # GB
    gpu: Column


def _machine_list(title: str, paths: Sequence[str], source: Source, options: Settings) -> Workload:
    """The machines with their GPU model as a label, and no jobs."""
    columns = [source.name, source.model, source.cpu, source.gpu]
    resources = [CPU, GPU]
    notes = ["missing: the list has no jobs; use its machines for another's"]
    if source.memory is not None:
        columns.append(source.memory)
        binary = options.choice(GB.name, ("GiB", "GB")) == "GiB"
        resources.insert(1, MEMORY if binary else Resource(MEMORY.name, Fraction(10**6)))
        notes.append(f"gb={options.values[GB.name]}: assumed; memory is in GB in the list")
    else:
        notes.append("missing: the list says nothing of memory, so these machines have none")
    words = {source.name.name: Vocabulary(), source.model.name: Vocabulary()}
    rows = read_rows(paths, Layout(tuple(columns)), words)
    units = {source.cpu.name: 1000, source.gpu.name: GPU.piece}
    capacity = [rows[source.cpu.name] * units[source.cpu.name]]
    if source.memory is not None:
        capacity.append(rows[source.memory.name] * (1024 if resources[1] is MEMORY else 1000))
    capacity.append(rows[source.gpu.name] * units[source.gpu.name])
    models = [
        label_values({} if text == source.without_gpu else {GPU_MODEL: text})
        for text in words[source.model.name].texts
    ]
    names = words[source.name.name].texts
    table = machines_from_start(
        [names[code] for code in rows[source.name.name].tolist()],
        [models[code] for code in rows[source.model.name].tolist()],
        np.stack(capacity, axis=1),
    )
    notes.insert(0, f"found {len(table.names)} machines")
    return workload_of(title, tuple(resources), table, no_jobs(len(resources)), options, notes)


def _list_format(name: str, title: str, header: str, source: Source, *options: Option) -> Format:
    """The format of files with this header, which hold machines and no jobs."""
    return Format(
        name=name,
        title=title,
        options=options,
        role=lambda line: "machines" if line == header else None,
        load=lambda files, settings: _machine_list(name, files["machines"], source, settings),
    )


ALIBABA_2020 = _list_format(
    "alibaba-gpu-2020",
    "machines of Alibaba's PAI GPU cluster of 2020: pai_machine_spec",
    "machine,gpu_type,cap_cpu,cap_mem,cap_gpu",
    Source(
        name=Column("machine", Kind.TEXT),
        model=Column("gpu_type", Kind.TEXT),
        without_gpu="CPU",
        cpu=Column("cap_cpu", Kind.WHOLE),
        memory=Column("cap_mem", Kind.WHOLE),
        gpu=Column("cap_gpu", Kind.WHOLE, most=1000),
    ),
    GB,
)

ALIBABA_2026 = _list_format(
    "alibaba-spot-gpu-2026",
    "nodes of Alibaba's spot GPU cluster of 2026: node_info_df",
    "gpu_model,gpu_capacity_num,cpu_num,node_name",
    Source(
        name=Column("node_name", Kind.TEXT),
        model=Column("gpu_model", Kind.TEXT),
        without_gpu="",
        cpu=Column("cpu_num", Kind.WHOLE),
        memory=None,
        gpu=Column("gpu_capacity_num", Kind.WHOLE, most=1000),
    ),
)
