"""A table of one's own: a row a job, with a header that says what each column is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from fractions import Fraction

import numpy as np

from fairlead.files import called
from fairlead.model.errors import InputError, Mistake, Mistakes, Place
from fairlead.model.machine import Cluster
from fairlead.model.quantity import write_plain
from fairlead.model.times import LONGEST
from fairlead.model.values import FrozenMap, plain_name
from fairlead.model.words import counted
from fairlead.scheduling.state.ids import LARGEST
from fairlead.scheduling.state.terms import Term
from fairlead.simulation.traces.build import bits, no_machines, workload_of
from fairlead.simulation.traces.formats import Files, Format
from fairlead.simulation.traces.job_columns import (
    BEGIN,
    DATE,
    DEMAND,
    DURATION,
    GANG,
    JOB,
    SUBMIT,
    TASKS,
    TENANT,
    WHERE,
    delimiter_of,
    is_demand,
    is_no_part,
    meaning_of,
    read_amount,
    read_gang,
    read_span,
    read_stamp,
    read_submit,
    read_tasks,
    read_tenant,
    read_where,
    role,
)
from fairlead.simulation.traces.on_cluster import PARTS, unit_of
from fairlead.simulation.traces.opening import first_line
from fairlead.simulation.traces.options import SECOND, Option, Settings
from fairlead.simulation.traces.records import records
from fairlead.simulation.traces.tables import (
    MISSING,
    Column,
    Kind,
    Layout,
    Vocabulary,
    parts,
    place_of,
)
from fairlead.simulation.workload import Ints, JobBatch, Resource, Workload, plain_batch

NONE = "none"
NOTHING = ("nothing stands there", "write a value")
MEMORY, LITTLE = "memory", 2**20
"""If no task asks for so many bytes of memory, another unit was meant."""

OPTIONS = (
    Option(
        "devices",
        "gpu",
        "resources of which a task takes a part of one device, or whole ones, with commas between;"
        " or `none`. Beside a cluster's file: those that it names",
    ),
)


def load(files: Files, options: Settings, cluster: Cluster | None = None) -> Workload:
    """The workload, without machines. Tenants and devices are those of the cluster, if there is one
    that declares them. Raises InputError with the first mistake in each column."""
    if len(files["jobs"]) > 1:
        several = ", ".join(files["jobs"])
        raise InputError(f"{several} are several tables of jobs", "put their rows into one")
    chosen = options.values["devices"]
    devices = [] if chosen == NONE else [each.strip() for each in chosen.split(",")]
    if cluster is not None:
        if chosen != OPTIONS[0].default and set(devices) != set(cluster.devices):
            raise InputError("the devices are those of the cluster's file", "leave --set out")
        devices = list(cluster.devices)
        said = ",".join(devices) or NONE
        options = Settings(FrozenMap({**options.values, "devices": said}))
    table = _Table(files["jobs"][0])
    table.read()
    tenants = Vocabulary()
    jobs, resources, terms = table.jobs(devices, tenants, cluster)
    return workload_of(
        FORMAT.name,
        resources,
        no_machines(len(resources)),
        jobs,
        options,
        tuple(table.notes(tenants.texts)),
        tenants.texts,
        terms,
    )


class _Table:
    """What the file says. Each column is called by its meaning; `rows` has its times in
    microseconds, and of all else the place of its text among the texts of that column."""

    def __init__(self, path: str) -> None:
        """Reads the header. Raises InputError with all that is wrong there."""
        line = first_line(path)
        self.path = path
        self.names: dict[str, str] = {}
        self.unread: list[str] = []
        mistakes = Mistakes()
        header = next(records([line], delimiter_of(line)), None)
        fields = [] if header is None else header.fields
        for index, name in enumerate(fields):
            meaning = meaning_of(name)
            if meaning is None:
                self.unread.append(name.strip() or f"number {index + 1}, which has no name")
            elif meaning in self.names:
                assert header is not None
                place = Place(called(path), *header.place(index))
                what = f"the columns {self.names[meaning].strip()} and {name.strip()} say the same"
                if self.names[meaning].strip() == name.strip():
                    what = f"the column {name.strip()} is there twice"
                mistakes.append(Mistake(what, "leave one of the two out", place))
            else:
                self.names[meaning] = name
        for meaning, right in (
            (SUBMIT, "write when each job came: seconds, a time such as 5m, or a date and time"),
            (DURATION, "write how long each task takes: seconds, or a time such as 5m"),
        ):
            if meaning not in self.names:
                mistakes.append(
                    Mistake(f"the column {meaning} is missing", right, Place(called(path), 1, 1))
                )
        if not any(map(is_demand, self.names)):
            right = "write what a task asks for: cpu, memory, gpu, or demand. and another name"
            mistakes.append(Mistake("no column is a resource", right, Place(called(path), 1, 1)))
        mistakes.report()
        self.layout = Layout(
            tuple(Column(name, Kind.TEXT, required=False) for name in self.names.values()),
            delimiter=delimiter_of(line),
        )
        self.words = {meaning: Vocabulary() for meaning in self.names}
        self.rows: dict[str, Ints] = {}
        self.numbers: list[Ints] = []  # of each part, the rows of the file that say anything
        self.begin = self.instant = self.blank = 0
        self.little: Fraction | None = None
        self.stamps = False
        self.mistakes: dict[str, Mistake] = {}

    def read(self) -> None:
        """Reads the rows. Of times there are as many texts as jobs, so that those of a part of the
        file are forgotten with it. Raises InputError where a row is no row."""
        found: dict[str, list[Ints]] = {meaning: [] for meaning in self.names}
        words = {name: self.words[meaning] for meaning, name in self.names.items()}
        count = total = 0
        for part in parts(self.path, self.layout, words):
            columns = [part[name] for name in self.names.values()]
            said = np.any([values != MISSING for values in columns], axis=0)
            self.numbers.append(total + np.flatnonzero(said))
            total += len(said)
            for meaning, values in zip(self.names, columns, strict=True):
                kept = values[said]
                if meaning in (SUBMIT, DURATION):
                    kept = self.times(meaning, kept, count)
                    self.words[meaning].forget()
                found[meaning].append(kept)
            count += len(self.numbers[-1])
        self.blank = total - count
        if not count:
            what = f"{called(self.path)}: no row follows its header"
            raise InputError(what, "write a row for each job")
        self.rows = {meaning: np.concatenate(each) for meaning, each in found.items()}

    def times(self, meaning: str, codes: Ints, start: int) -> Ints:
        """The microseconds that the texts of a part say, whose first row is the one of `start`."""
        if meaning in self.mistakes:
            return codes
        read = read_span if meaning == DURATION else read_submit
        if meaning == SUBMIT:
            if start == 0 and len(codes) and codes[0] != MISSING:
                self.stamps = bool(DATE.match(self.words[SUBMIT].texts[int(codes[0])].strip()))
            read = read_stamp if self.stamps else read_submit
        return self.values(meaning, codes, read, 0, start)

    def values(
        self, meaning: str, codes: Ints, read: Callable[[str], int], empty: int, start: int = 0
    ) -> Ints:
        """The number that each row has in a column; `empty` where nothing stands."""
        found = []
        needed = meaning in (SUBMIT, DURATION, JOB)
        if needed and (codes == MISSING).any():
            self.wrong(meaning, start + int(np.argmax(codes == MISSING)), *NOTHING)
            return codes
        for code, text in enumerate(self.words[meaning].texts):
            plain = text.strip()
            try:
                if not plain and needed:
                    raise InputError(*NOTHING)
                found.append(read(plain) if plain else empty)
            except InputError as error:
                told = error.mistakes[0]
                self.wrong(meaning, start + int(np.argmax(codes == code)), told.what, told.right)
                return codes
        # The last one is for MISSING, which is -1.
        return np.array([*found, empty], dtype=np.int64)[codes]

    def column(self, meaning: str, read: Callable[[str], int], empty: int) -> Ints:
        """As `values`, and `empty` everywhere where there is no such column."""
        if meaning not in self.names:
            return np.full(len(self.rows[SUBMIT]), empty, dtype=np.int64)
        return self.values(meaning, self.rows[meaning], read, empty)

    def wrong(self, meaning: str, row: int, what: str, right: str) -> None:
        """Keeps the first mistake in a column; `row` counts those that say anything."""
        if meaning not in self.mistakes:
            name = self.names[meaning]
            number = int(np.concatenate(self.numbers)[row])
            place = place_of(self.path, self.layout, number, name)
            self.mistakes[meaning] = Mistake(what, right, place, about=(name.strip(),))

    def report(self) -> None:
        """Raises InputError if there is any mistake, in the order of their places."""
        if self.mistakes:
            raise InputError(
                sorted(self.mistakes.values(), key=lambda each: (each.place is None, each.place))
            )

    def jobs(
        self, devices: Sequence[str], tenants: Vocabulary, cluster: Cluster | None
    ) -> tuple[JobBatch, tuple[Resource, ...], tuple[Term, ...]]:
        """The jobs in the order in which they come, what they ask for, and their terms. Raises
        InputError."""
        terms: dict[Term, int] = {}
        sets: list[list[int]] = [[]]
        resources, demand = self.demands(devices)
        tenant = self.column(TENANT, lambda text: read_tenant(text, tenants, cluster), -1)
        where = self.column(WHERE, lambda text: read_where(text, sets, terms), 0)
        tasks = self.column(TASKS, read_tasks, 1)
        gang = self.column(GANG, read_gang, 1)
        names = self.job_names()
        self.report()
        many = np.flatnonzero(gang > tasks)
        if len(many):
            most = tasks[many[0]]
            what = f"a gang of {gang[many[0]]} is more than all {counted(int(most), 'task')}"
            self.wrong(GANG, int(many[0]), what, f"write at most {most}")
        nothing = np.flatnonzero(~demand.any(axis=1))
        if len(nothing):
            first = next(filter(is_demand, self.names))
            right = "write more than 0 for a resource"
            self.wrong(
                first, int(nothing[0]), "a task that needs nothing at all has no share", right
            )
        submit, durations = self.rows[SUBMIT], self.rows[DURATION]
        self.begin, late = int(submit.min()), int(submit.argmax())
        if int(submit[late]) - self.begin > LONGEST * SECOND:
            self.wrong(SUBMIT, late, "it is more than 100000d after the first", "look at the year")
        self.report()
        self.instant = int((durations == 0).sum())
        order = np.argsort(submit, kind="stable")
        durations = np.maximum(durations[order], 1)
        batch = plain_batch(
            submit[order] - self.begin,
            demand[order],
            tasks[order],
            durations,
            names=None if names is None else tuple(names[row] for row in order.tolist()),
            tenant=tenant[order],
            needs=bits(sets, len(terms))[where[order]],
            gang=gang[order],
            expected=durations,
        )
        return batch, resources, tuple(terms)

    def demands(self, devices: Sequence[str]) -> tuple[tuple[Resource, ...], Ints]:
        """The resources that some job asks for, and what each job does, in their units."""
        found = [self.demand(meaning, devices) for meaning in filter(is_demand, self.names)]
        asked = [each for each in found if each is not None]
        demand = np.zeros((len(self.rows[SUBMIT]), len(asked)), dtype=np.int64)
        for place, (_, amounts) in enumerate(asked):
            demand[:, place] = amounts
        return tuple(resource for resource, _ in asked), demand

    def demand(self, meaning: str, devices: Sequence[str]) -> tuple[Resource, Ints] | None:
        """The resource of a column, and what each job asks of it; None if no job does."""
        name = meaning[len(DEMAND) :]
        amounts: list[Fraction] = []
        places = self.values(meaning, self.rows[meaning], lambda t: read_amount(t, amounts), -1)
        if meaning in self.mistakes or not any(amounts):
            return None
        if name == MEMORY and max(amounts) < LITTLE:
            self.little = max(amounts)
        unit = unit_of(name, amounts, device=name in devices)
        units = [int(amount / unit.unit) for amount in amounts]
        for place, each in enumerate(units):
            if each >= LARGEST:
                what = f"an amount is 2^53 times {unit.unit} or more, the unit of this column"
                right = "round what is finer in it, or use less"
            elif is_no_part(each, unit.piece):
                what, right = PARTS, "round it"
            else:
                continue
            self.wrong(meaning, int(np.argmax(places == place)), what, right)
            return None
        return (
            Resource(name, unit.unit, unit.piece),
            np.array([*units, 0], dtype=np.int64)[places],
        )

    def job_names(self) -> list[str] | None:
        """The names of the jobs, which are all different; None where there is no such column."""
        if JOB not in self.names:
            return None
        names = Vocabulary()
        places = self.column(JOB, lambda text: names.code(plain_name(text)), 0)
        if JOB in self.mistakes:
            return None
        first = np.unique(places, return_index=True)[1]
        if len(first) < len(places):
            again = int(np.setdiff1d(np.arange(len(places)), first)[0])
            name = names.texts[int(places[again])]
            right = "name each once, or leave the column out: then they have numbers"
            self.wrong(JOB, again, f'a job before it is called "{name}" too', right)
        return [names.texts[place] for place in places.tolist()]

    def notes(self, tenants: Sequence[str]) -> Iterator[str]:
        """Sentences on what was found, what was not read and what was assumed."""
        yield f"found {counted(len(self.rows[SUBMIT]), 'job')} of {counted(len(tenants), 'tenant')}"
        if self.stamps:
            moment = BEGIN + timedelta(microseconds=self.begin)
            yield f"time 0 is {moment.replace(tzinfo=None).isoformat(' ')} UTC, when the first came"
        elif self.begin:
            yield f"time 0 is {write_plain(Fraction(self.begin, SECOND))}s, when the first came"
        if self.instant:
            yield f"{counted(self.instant, 'job')} with a duration of 0: taken as 1us"
        if self.blank:
            yield f"left out: {counted(self.blank, 'row')} with nothing in the columns read"
        if self.little is not None:
            most = counted(float(self.little), "byte")
            yield f"memory without a unit is bytes: no task asks for more than {most}"
        if self.unread:
            yield f"columns that are not read: {', '.join(self.unread)}"


FORMAT = Format(
    name="jobs",
    title="a table of one's own: a row a job, with a header",
    options=OPTIONS,
    role=role,
    load=load,
    load_on=load,
)
