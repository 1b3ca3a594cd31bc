"""Google 2011's machine events as a table of machines."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from fairlead.model.machine import label_values
from fairlead.simulation.traces.public.google2011_tasks import START
from fairlead.simulation.traces.tables import MISSING, Column, Kind, Layout, Vocabulary, read_rows
from fairlead.simulation.workload import Bools, Ints, MachineEvent, MachineTable


def machine_table(
    paths: Sequence[str], unit: Fraction, changes: bool
) -> tuple[MachineTable, list[str]]:
    """The machines with their platform as a label, and what was found. Without `changes`, those
    that are there when the trace begins, for ever."""
    layout = Layout(
        header=False,
        columns=(
            Column("time", Kind.WHOLE, clipped=True),
            Column("machine", Kind.WHOLE),
            Column("event", Kind.WHOLE, most=2),
            Column("platform", Kind.TEXT, required=False),
            Column("cpu", Kind.AMOUNT, required=False, unit=unit),
            Column("memory", Kind.AMOUNT, required=False, unit=unit),
        ),
    )
    platforms = Vocabulary()
    rows = read_rows(paths, layout, {"platform": platforms})
    found = len(rows["time"])
    lacking = (rows["event"] != MachineEvent.REMOVE) & (
        (rows["cpu"] == MISSING) | (rows["memory"] == MISSING)
    )
    kept = ~lacking if changes else ~lacking & (rows["time"] == 0)
    first = (rows["time"] == 0) & (rows["event"] == MachineEvent.ADD)
    notes = [
        (
            f"found {found} machine events of {len(np.unique(rows['machine']))} machines;"
            f" {int(first.sum())} machines are there when the trace begins"
        )
    ]
    if lacking.any():
        notes.append(f"{int(lacking.sum())} machine events without capacities are left out")
    rows = {name: values[kept] for name, values in rows.items()}
    order = np.lexsort((np.arange(len(rows["time"])), rows["time"]))
    rows = {name: values[order] for name, values in rows.items()}
    numbers, machine = np.unique(rows["machine"], return_inverse=True)
    platform = np.full(len(numbers), MISSING, dtype=np.int64)
    platform[machine[::-1]] = rows["platform"][::-1]
    sensible, kind = _sensible(machine, rows["event"], rows["cpu"], rows["memory"])
    dropped = int((~sensible).sum())
    if dropped:
        notes.append(
            f"{dropped} machine events change neither presence nor capacity and are left out"
        )
    kind = kind[sensible]
    capacity = np.stack((rows["cpu"], rows["memory"]), axis=1)[sensible]
    capacity[kind == MachineEvent.REMOVE] = 0
    labels = [label_values({"platform": text}) for text in platforms.texts]
    nothing = label_values({})
    table = MachineTable(
        names=tuple(map(str, numbers.tolist())),
        labels=tuple(labels[code] if code >= 0 else nothing for code in platform.tolist()),
        time=np.maximum(rows["time"][sensible] - START, 0),
        machine=machine[sensible].astype(np.int64),
        kind=kind,
        capacity=capacity,
    )
    notes.append(
        "machine-changes=yes: machines come, go and change as recorded"
        if changes
        else "machine-changes=no: the machines of the beginning stay, and no other comes"
    )
    notes.append("capacities are parts of the largest machine's, as published")
    return table, notes


def _sensible(machine: Ints, event: Ints, cpu: Ints, memory: Ints) -> tuple[Bools, Ints]:
    """Tests which events change something, and corrects their kinds: a machine that
    is there is updated, one that is not is added."""
    order = np.argsort(machine, kind="stable")
    same = np.concatenate(([False], machine[order][1:] == machine[order][:-1]))
    before = np.roll(order, 1)
    there = np.zeros(len(machine), dtype=np.bool_)
    there[order] = same & (event[before] != MachineEvent.REMOVE)
    alike = np.zeros(len(machine), dtype=np.bool_)
    alike[order] = (cpu[order] == cpu[before]) & (memory[order] == memory[before])
    removed = event == MachineEvent.REMOVE
    kind = np.where(removed, MachineEvent.REMOVE, np.where(there, MachineEvent.UPDATE, 0))
    return np.where(removed, there, ~(there & alike)), kind.astype(np.int64)
