"""Facebook's MapReduce workloads of 2009 and 2010 (SWIM): when jobs came, and how many bytes they
read."""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np

from fairlead.model.errors import InputError
from fairlead.simulation.traces.build import no_machines, workload_of
from fairlead.simulation.traces.formats import Files, Format
from fairlead.simulation.traces.opening import first_line
from fairlead.simulation.traces.options import SECOND, Option, Settings, refusal
from fairlead.simulation.traces.public.machine_lists import CPU, MEMORY
from fairlead.simulation.traces.tables import Column, Kind, Layout, Vocabulary, read_rows
from fairlead.simulation.workload import Ints, Workload, plain_batch

OPTIONS = (
    Option(
        "bytes-per-task", "128MiB", "of its input that a map task reads; a job has at least one"
    ),
    Option("bytes-per-second", "10MiB", "that a map task reads; its duration is the time for them"),
    Option("start-up", "1s", "added to the duration of every task"),
    Option("cpu", "1", "cores that a task asks for"),
    Option("memory", "1GiB", "memory that a task asks for"),
)

_ROW = re.compile(r"[^\t]+\t\d+\t\d+\t\d+\t\d+\t\d+(\t[^\t]*){0,3}")


def role(line: str) -> str | None:
    """Whether the line has the fields of a job; the files have no header."""
    return "jobs" if _ROW.fullmatch(line) else None


def load(files: Files, options: Settings) -> Workload:
    """The workload: a job's maps are its tasks; each job is a tenant of its own; no machines."""
    size = _whole(options, "bytes-per-task", Fraction(1))
    rate = _whole(options, "bytes-per-second", Fraction(1))
    start_up = options.span("start-up")
    demand = [_whole(options, "cpu", CPU.unit), _whole(options, "memory", MEMORY.unit)]
    if len(files["jobs"]) > 1:
        raise InputError("SWIM files are days of their own", "give one file, not several")
    (path,) = files["jobs"]
    width = first_line(path).count("\t") + 1
    names = Vocabulary()
    layout = Layout(
        header=False,
        delimiter="\t",
        columns=(
            Column("job", Kind.TEXT),
            Column("submit", Kind.WHOLE, most=2**40),
            Column("", Kind.TEXT),
            Column("input", Kind.WHOLE, most=2**60),
            Column("shuffle", Kind.WHOLE),
            *[Column("", Kind.TEXT, required=False)] * (width - 5),
        ),
    )
    rows = read_rows([path], layout, {"job": names})
    if len(names.texts) < len(rows["job"]):
        raise InputError(f"{path} names a job twice", "name each job once")
    order = np.argsort(rows["submit"], kind="stable")
    rows = {name: values[order] for name, values in rows.items()}
    count = len(order)
    maps = np.maximum(1, -(-rows["input"] // size))
    first = np.concatenate(([0], np.cumsum(maps)))
    jobs = plain_batch(
        rows["submit"] * SECOND,
        np.tile(np.array(demand, dtype=np.int64), (count, 1)),
        maps,
        start_up + _reading(rows["input"], maps, first, size, rate),
        first=first,
        names=tuple(names.texts[code] for code in rows["job"].tolist()),
    )
    given = options.values
    notes = (
        f"found {count} jobs, {int((rows['shuffle'] == 0).sum())} of them without a shuffle",
        (
            f"bytes-per-task={given['bytes-per-task']}: assumed; the trace has bytes, no tasks, and"
            f" so come {int(maps.sum())} map tasks"
        ),
        (
            f"bytes-per-second={given['bytes-per-second']}, start-up={given['start-up']}: assumed;"
            " the trace has no durations"
        ),
        f"cpu={given['cpu']}, memory={given['memory']}: assumed; the trace has no demands",
        "not read: reduces, and so shuffle and output bytes; input paths",
        "missing: users (each job is a tenant of its own), machines, constraints",
    )
    return workload_of(FORMAT.name, (CPU, MEMORY), no_machines(2), jobs, options, notes)


def _whole(options: Settings, name: str, unit: Fraction) -> int:
    """The option's value in units. Raises InputError where that is no whole number."""
    value = options.amount(name) / unit
    if value.denominator != 1:
        raise refusal(name, options.values[name], f"write a multiple of {unit}")
    return int(value)


def _reading(read: Ints, maps: Ints, first: Ints, size: int, rate: int) -> Ints:
    """Microseconds that each map reads, rounded up: all the same share, the last what is left."""
    amounts = np.full(int(maps.sum()), size, dtype=np.int64)
    amounts[first[1:] - 1] = read - (maps - 1) * size
    # In two steps, since bytes times a million need not fit in 64 bits.
    whole, rest = np.divmod(amounts, rate)
    times: Ints = whole * SECOND + -(-(rest * SECOND) // rate)
    return times


FORMAT = Format(
    name="swim",
    title="Facebook's MapReduce jobs of 2009 and 2010 (SWIM): FB-*_samples_*.tsv",
    options=OPTIONS,
    role=role,
    load=load,
)
