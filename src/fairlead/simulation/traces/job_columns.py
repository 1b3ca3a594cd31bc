"""The columns of a table of jobs: which there are, and what a text means in each of them."""

from __future__ import annotations

import csv
import re
from datetime import UTC, datetime, timedelta
from fractions import Fraction

from fairlead.model.errors import InputError, brief
from fairlead.model.job import Job
from fairlead.model.machine import Cluster
from fairlead.model.quantity import NUMBER, exact, quantities
from fairlead.model.selector_syntax import parse_selector
from fairlead.model.times import LONGEST, TooLongError, read_moment
from fairlead.model.values import plain_name
from fairlead.scheduling.state.terms import Term, terms_of
from fairlead.simulation.traces.on_cluster import check_tenant
from fairlead.simulation.traces.options import SECOND
from fairlead.simulation.traces.tables import Vocabulary

SUBMIT, DURATION, JOB, TENANT = "submit", "duration", "job", "tenant"
TASKS, GANG, WHERE = "tasks", "gang", "where"
CALLED = {
    **{name: name for name in (SUBMIT, DURATION, JOB, TENANT, TASKS, GANG, WHERE)},
    "arrive": SUBMIT,
    "name": JOB,
    "user": TENANT,
}
"""The columns that are no resources, by the names that they may have."""

DEMAND = "demand."
RESOURCES = {"cpu": "cpu", "cpus": "cpu", "memory": "memory", "gpu": "gpu", "gpus": "gpu"}
"""The resources, by the names that their columns may have; `demand.` stands before any other."""

MOST_TASKS = 10**9
_SECONDS = re.compile(r"(0|[1-9][0-9]{0,8})(?:\.([0-9]{1,6}))?")
_NUMBER = re.compile(NUMBER)
_CLOCK = re.compile(
    r"(?:([0-9]{1,6})(?:-| days? ))?([0-9]{1,7}):([0-5][0-9]):([0-5][0-9])(?:\.([0-9]{1,6})[0-9]*)?"
)
"""Hours, minutes and seconds, with days before them as Slurm and pandas write them."""

DATE = re.compile(r"\d{4}-\d\d-\d\d")
BEGIN = datetime(1970, 1, 1, tzinfo=UTC)


def role(line: str) -> str | None:
    """Whether the header is one of jobs: when they come, how long they take, what they ask for."""
    found = {meaning for name in fields_of(line) if (meaning := meaning_of(name)) is not None}
    times = found & {SUBMIT, DURATION}
    return "jobs" if len(times) == 2 or (times and any(map(is_demand, found))) else None


def fields_of(line: str) -> list[str]:
    return next(csv.reader([line], delimiter=delimiter_of(line)), [])


def delimiter_of(line: str) -> str:
    """What is between the fields of the header: as spreadsheets write it, a semicolon too."""
    if "\t" in line:
        return "\t"
    return ";" if line.count(";") > line.count(",") else ","


def meaning_of(name: str) -> str | None:
    """What a column of this name is, with `demand.` before a resource; None: it is not read."""
    plain = name.strip()
    if plain.lower() in RESOURCES:
        return DEMAND + RESOURCES[plain.lower()]
    if plain.lower().startswith(DEMAND):
        return DEMAND + plain[len(DEMAND) :] if plain[len(DEMAND) :] else None
    return CALLED.get(plain.lower())


def is_demand(meaning: str) -> bool:
    return meaning.startswith(DEMAND)


def is_no_part(units: int, piece: int) -> bool:
    """Whether this is neither a part of a device nor whole ones."""
    return piece > 0 and units > piece and units % piece > 0


def read_amount(text: str, amounts: list[Fraction]) -> int:
    """The place of the amount among those that are there, where it comes now."""
    amounts.append(quantities({"cpu": text})["cpu"])
    return len(amounts) - 1


def read_span(text: str) -> int:
    """The microseconds that a task takes: as `read_time`, or hours, minutes and seconds."""
    clock = _CLOCK.fullmatch(text)
    if clock is None:
        return read_time(text)
    days, hours, minutes, seconds = (int(each or 0) for each in clock.groups()[:4])
    whole = ((days * 24 + hours) * 60 + minutes) * 60 + seconds
    if whole >= LONGEST:
        raise InputError(f"{text} is too long", "write less than 100000d")
    return whole * SECOND + int((clock[5] or "").ljust(6, "0"))


def read_submit(text: str) -> int:
    """The microseconds as `read_time` has them, where rows say no date."""
    try:
        return read_time(text)
    except TooLongError:
        raise
    except InputError as error:
        if text[:1] == "-" or DATE.match(text) or any(each.isalpha() for each in text):
            raise
        what = f'"{brief(text)}" is neither seconds nor a date that is known'
        raise InputError(what, "write 90.5, 5m or 2026-01-05 08:00:00") from error


def read_time(text: str) -> int:
    """The microseconds in seconds or in a time with its unit."""
    if plain := _SECONDS.fullmatch(text):  # as almost all are written
        return int(plain[1]) * SECOND + int((plain[2] or "").ljust(6, "0"))
    if DATE.match(text):
        what = f'"{brief(text)}" is a date and time, and the first row has none'
        raise InputError(what, "write all alike")
    seconds = exact(text) if _NUMBER.fullmatch(text) else text
    if isinstance(seconds, Fraction) and seconds < 0:
        raise InputError(f"{text} is less than 0", "write 0 or more")
    return round(read_moment(seconds) * SECOND)


def read_stamp(text: str) -> int:
    """The microseconds from 1970 to a date and time."""
    try:
        moment = datetime.fromisoformat(text) if DATE.match(text) else None
        if moment is not None:
            there = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
            return (there - BEGIN) // timedelta(microseconds=1)
    except (ValueError, OverflowError):
        pass
    raise InputError(
        f'"{brief(text)}" is no date and time, as the first row has',
        "write one such as 2026-01-05 08:00:00 or 2026-01-05T08:00:00Z",
    )


def read_tasks(text: str) -> int:
    """The number of tasks, as for a job in YAML."""
    tasks = exact(text)
    if tasks.denominator != 1 or tasks <= 0:
        raise InputError(
            f"{brief(text)} is not a number of tasks", "write a positive whole number; nothing is 1"
        )
    if tasks > MOST_TASKS:
        raise InputError(f"{brief(text)} are too many tasks", f"write at most {MOST_TASKS}")
    return int(tasks)


def read_gang(text: str) -> int:
    return min(Job("a", {"cpu": 1}, gang=text).gang, MOST_TASKS + 1)


def read_tenant(text: str, tenants: Vocabulary, cluster: Cluster | None) -> int:
    """The index of a tenant, which the cluster knows if it declares any."""
    name = plain_name(text)
    if cluster is not None and cluster.tenants:
        check_tenant(cluster, name)
    return tenants.code(name)


def read_where(text: str, sets: list[list[int]], terms: dict[Term, int]) -> int:
    """The place of a set of terms, which comes now."""
    asked = terms_of(parse_selector(text), None, ())
    sets.append([terms.setdefault(term, len(terms)) for term in asked])
    return len(sets) - 1
