"""The Standard Workload Format of the Parallel Workloads Archive: jobs of parallel machines, a line
each, with what they asked for and how long they ran."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator
from fractions import Fraction
from operator import itemgetter

import numpy as np

from fairlead.files import called
from fairlead.model.errors import InputError, Mistake, Place, brief
from fairlead.model.times import LONGEST
from fairlead.model.words import counted
from fairlead.simulation.traces.build import no_machines, workload_of
from fairlead.simulation.traces.formats import Files, Format
from fairlead.simulation.traces.opening import numbered
from fairlead.simulation.traces.options import SECOND, Option, Settings
from fairlead.simulation.traces.public.machine_lists import CPU
from fairlead.simulation.traces.tables import Vocabulary
from fairlead.simulation.workload import Ints, JobBatch, Resource, Workload, plain_batch

OPTIONS = (
    Option(
        "task",
        "processor",
        "`processor`: a job of n processors is n tasks of one cpu that start together (a gang);"
        " `job`: it is one task of n cpus, which must be on one machine",
    ),
    Option(
        "jobs",
        "ran",
        "`ran`: all jobs that ran, also those that failed or were cancelled, for as long as they"
        " did; `completed`: only those that completed",
    ),
    Option("tenants", "user", "whose a job is: of its `user`, its `group`, or `none`, its own"),
)

MEMORY = Resource("memory", Fraction(1024))
WIDTH = 18
NUMBER, SUBMIT, RUN, ALLOCATED, REQUESTED = 0, 1, 3, 4, 7
TIME, ASKED_MEMORY, STATUS, USER, GROUP = 8, 9, 10, 11, 12
"""Places of the fields that are read."""

TIMES = {SUBMIT, RUN, TIME}
CALLED = {
    NUMBER: "job number",
    SUBMIT: "submit time",
    RUN: "run time",
    ALLOCATED: "allocated processors",
    REQUESTED: "requested processors",
    TIME: "requested time",
    ASKED_MEMORY: "requested memory",
    STATUS: "status",
    USER: "user",
    GROUP: "group",
}
COMPLETED = 1
PARTIAL = (2, 3, 4)
"""Parts of the run of a job that has a line of its own with all of it."""

MOST = {**dict.fromkeys(CALLED, 2**40), ALLOCATED: 2**30, REQUESTED: 2**30}
"""The largest number of each field; times have another."""

_ROW = re.compile(r"\s*(-?[0-9.]+\s+){17}-?[0-9.]+\s*")
_VALUE = re.compile(rb"(-?[0-9]{1,18})(?:\.([0-9]*))?")
_PICK = itemgetter(*CALLED)
_USUAL = 2**30
_UNUSUAL = re.compile(rb"[+_]|-0")
"""What Python takes for a part of a number, and this format does not."""

_NUMBER, _STATUS = (list(CALLED).index(place) for place in (NUMBER, STATUS))
_TIMES = tuple(i for i, place in enumerate(CALLED) if place in TIMES)
"""Places among the fields that are read."""

_SIZE = re.compile(r";\s*(MaxNodes|MaxProcs)\s*:\s*([0-9]+)")


def role(line: str) -> str | None:
    """Whether the line is a comment, with which these files begin, or has the fields of a job."""
    return "jobs" if line.startswith(";") or _ROW.fullmatch(line) else None


class _Lines:
    """The lines of a log, as numbers. `sizes`: what the header says of the machine."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.sizes: dict[str, str] = {}
        self._numbers = array("q")

    @property
    def fields(self) -> dict[int, Ints]:
        """Those that are read, a number a job; times in microseconds, -1 where nothing is known."""
        columns = np.array(self._numbers, dtype=np.int64).reshape(-1, len(CALLED)).T
        return {place: columns[i].copy() for i, place in enumerate(CALLED)}

    def read(self) -> None:
        """Reads the file. Raises InputError with the first line that is no job."""
        seen: set[int] = set()
        for number, line in numbered(self.path):
            texts = line.split()
            if not texts:
                continue
            if texts[0].startswith(b";"):
                if found := _SIZE.match(line.decode("utf-8", "replace").lstrip()):
                    self.sizes[found[1]] = found[2]
                continue
            if len(texts) != WIDTH:
                raise InputError(
                    Mistake(
                        f"the line has {counted(len(texts), 'field')}, not {WIDTH}",
                        "write all fields of a job, -1 for what is not known",
                        Place(called(self.path), number, 1),
                    )
                )
            values = _usual(line, texts) or self._any(number, line, texts)
            self._numbers.extend(values)
            if values[_STATUS] not in PARTIAL:
                job = values[_NUMBER]
                if job in seen:
                    what = f"a job before it has the number {job} too"
                    raise InputError(
                        Mistake(what, "number each once", Place(called(self.path), number, 1))
                    )
                seen.add(job)

    def _any(self, number: int, line: bytes, texts: list[bytes]) -> list[int]:
        """The numbers of a line, however they are written."""
        values = []
        for place in CALLED:
            value = _value(texts[place], place)
            if value is None:
                raise self.wrong(number, line, place)
            values.append(value)
        return values

    def wrong(self, number: int, line: bytes, place: int) -> InputError:
        """The refusal of a field."""
        start, text = [(m.start(), m[0]) for m in re.finditer(rb"\S+", line)][place]
        right = "write a number of seconds" if place in TIMES else "write a whole number"
        if place != NUMBER:
            right += ", or -1 where it is not known"
        shown = brief(text.decode("utf-8", "replace"))
        what = f"the {CALLED[place]} cannot be {shown}"
        return InputError(Mistake(what, right, Place(called(self.path), number, start + 1)))


def _usual(line: bytes, texts: list[bytes]) -> list[int] | None:
    """The numbers of a line of whole numbers of a usual size, as nearly all are: to ask each what
    it is takes three times as long. None of any other line."""
    if _UNUSUAL.search(line):
        return None
    try:
        values = list(map(int, _PICK(texts)))
    except ValueError:
        return None
    if min(values) < -1 or max(values) >= _USUAL or values[_NUMBER] < 0:
        return None
    for i in _TIMES:
        if values[i] > 0:
            values[i] *= SECOND
    return values


def _value(text: bytes, place: int) -> int | None:
    """The number, of a time in microseconds; None where it cannot be used."""
    found = _VALUE.fullmatch(text)
    if found is None:
        return None
    whole, digits = int(found[1]), found[2] or b""
    if whole < 0 or found[1].startswith(b"-"):
        unknown = whole == -1 and not digits.strip(b"0") and place != NUMBER
        return -1 if unknown else None
    if place in TIMES:
        value = whole * SECOND + int(digits[:6].ljust(6, b"0"))
        return value if value <= LONGEST * SECOND else None
    return whole if whole <= MOST[place] and not digits.strip(b"0") else None


def load(files: Files, options: Settings) -> Workload:
    """The workload: users or groups are tenants; no machines. Raises InputError."""
    whole = options.choice("task", ("processor", "job")) == "job"
    ran = options.choice("jobs", ("ran", "completed")) == "ran"
    whose = {"user": USER, "group": GROUP, "none": None}[
        options.choice("tenants", ("user", "group", "none"))
    ]
    if len(files["jobs"]) > 1:
        raise InputError("SWF files are logs of their own", "give one file, not several")
    lines = _Lines(files["jobs"][0])
    lines.read()
    rows = lines.fields
    notes = [f"found {counted(len(rows[SUBMIT]), 'line')}"]
    rows = _that_count(rows, ran, notes)
    order = np.argsort(rows[SUBMIT], kind="stable")
    rows = {place: values[order] for place, values in rows.items()}
    known = bool((rows[ASKED_MEMORY] > 0).any())
    jobs = _jobs(rows, whole, known)
    tenants = Vocabulary()
    if whose is not None:
        for place, number in enumerate(rows[whose].tolist()):
            if number >= 0:
                jobs.tenant[place] = tenants.code(f"{CALLED[whose]}-{number}")
    notes += _notes(rows, lines.sizes, options)
    resources = (CPU, MEMORY) if known else (CPU,)
    return workload_of(
        FORMAT.name,
        resources,
        no_machines(len(resources)),
        jobs,
        options,
        notes,
        tenants.texts,
    )


def _that_count(rows: dict[int, Ints], ran: bool, notes: list[str]) -> dict[int, Ints]:
    """The lines that are jobs which ran, and a note on each kind of others."""
    partial = np.isin(rows[STATUS], PARTIAL)
    completed = rows[STATUS] == COMPLETED
    never = (rows[RUN] < 0) | ((rows[RUN] == 0) & ~completed)
    nowhere = np.maximum(rows[REQUESTED], rows[ALLOCATED]) <= 0
    kept = np.ones(len(partial), dtype=np.bool_)
    for wrong, why in (
        (partial, "of a part of a run, which another line has as a whole"),
        (never, "of a job that did not run, or nobody knows how long"),
        (nowhere, "of a job of which no number of processors is known"),
        (rows[SUBMIT] < 0, "of a job of which nobody knows when it came"),
        (~completed & np.bool_(not ran), "of a job that did not complete (jobs=completed)"),
    ):
        found = int((kept & wrong).sum())
        if found:
            notes.append(f"left out: {counted(found, 'line')} {why}")
        kept &= ~wrong
    return {place: values[kept] for place, values in rows.items()}


def _jobs(rows: dict[int, Ints], whole: bool, known: bool) -> JobBatch:
    """The jobs, which are in order: the scheduler is told the requested time, where it is known."""
    asked = rows[REQUESTED]
    processors = np.where(asked > 0, asked, rows[ALLOCATED])
    tasks = np.ones_like(processors) if whole else processors
    each = processors if whole else np.ones_like(processors)
    demand = [each * int(1 / CPU.unit)]
    if known:
        demand.append(each * np.maximum(rows[ASKED_MEMORY], 0))
    submit = rows[SUBMIT]
    return plain_batch(
        submit - (submit[0] if len(submit) else 0),
        np.stack(demand, axis=1),
        tasks,
        np.maximum(rows[RUN], 1),
        names=tuple(map(str, rows[NUMBER].tolist())),
        gang=tasks.copy(),
        expected=np.maximum(rows[TIME], 0),
    )


def _notes(rows: dict[int, Ints], sizes: dict[str, str], options: Settings) -> Iterator[str]:
    """What is known of the jobs that are left, and what was assumed."""
    if options.values["task"] == "job":
        yield "task=job: a job of n processors is one task"
    else:
        yield "task=processor: a job of n processors is a gang of n tasks, each with one cpu"
    allocated = int((rows[REQUESTED] <= 0).sum())
    if allocated:
        yield f"{counted(allocated, 'job')} without requested processors: what was allocated"
    memory = int((rows[ASKED_MEMORY] <= 0).sum())
    if memory == len(rows[ASKED_MEMORY]):
        yield "missing: memory, of which no job says what it asks for"
    elif memory:
        yield f"{counted(memory, 'job')} without requested memory: 0"
    instant = int((rows[RUN] == 0).sum())
    if instant:
        yield f"{counted(instant, 'job')} with a run time of 0: taken as 1us"
    if sizes:
        said = ", ".join(f"{name} {size}" for name, size in sizes.items())
        yield f"the header says of the machine: {said}; give one by a cluster.yaml"
    yield "missing: machines, constraints, GPUs; not read: waits, queues, partitions, dependencies"


FORMAT = Format(
    name="swf",
    title="logs in the Standard Workload Format of the Parallel Workloads Archive: *.swf",
    options=OPTIONS,
    role=role,
    load=load,
)
