"""The report's tables: the same in the terminal and on the page."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from fairlead.simulation.report.figures import MOST, Row, SpeedUps
from fairlead.simulation.report.words import NOTHING, digits, duration, percent, times


@dataclass(frozen=True)
class Table:
    """A heading, what it says of itself, names of columns and rows of words."""

    title: str
    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    @property
    def right(self) -> str:
        """A letter a column: `<` words, `>` numbers."""
        return "<" + ">" * (len(self.header) - 1)


def main_table(rows: tuple[Row, ...], until: float, few: str = "") -> Table:
    """A line for each series; what is used was looked at until this moment, `few` says where that
    are few samples."""
    measured = any(row.rmse is not None for row in rows)
    resources = tuple(dict.fromkeys(name for row in rows for name, _ in row.used))
    header = (
        *("policy", "runs", "jobs", "finished"),
        *("delay", "delay 90%", "completion", "completion 90%", "slowdown"),
        *(f"{name} used" for name in resources),
        *(("RMSE", "shortfall") if measured else ()),
    )
    body = []
    for row in rows:
        used = dict(row.used)
        cells = (
            row.name,
            f"{row.runs:,}",
            f"{row.jobs:,}",
            f"{row.over:,}",
            duration(row.delay),
            duration(row.delay_90),
            duration(row.took),
            duration(row.took_90),
            NOTHING if row.slowdown != row.slowdown else digits(row.slowdown),
            *(percent(100 * used[name]) if name in used else NOTHING for name in resources),
        )
        body.append((*cells, percent(row.rmse), percent(row.shortfall)) if measured else cells)
    return Table(
        title="Policies",
        caption=(
            "delay: from submission to the first start, the mean of all jobs and what nine in ten"
            " stay below (90%); completion: from submission to the last task's end; slowdown: that"
            " ÷ the longest task; used: the part of the resource, mean over the samples"
            + (
                f" until {MOST:.0%} of the jobs of all runs are finished, {duration(until)}"
                if until < inf
                else ""
            )
            + (
                "; RMSE: the distance from the exact allocation, mean over the samples, in percent"
                " of a unit of share; shortfall: the largest of any tenant"
                if measured
                else ""
            )
            + (f".{few}" if few else "")
        ),
        header=header,
        rows=tuple(body),
    )


def speed_table(found: SpeedUps) -> Table:
    """A line for each size of jobs."""
    return Table(
        title=f"{found.first} against the others, by size of job",
        caption=(
            f"mean time to completion under the other policy ÷ under {found.first}, over the jobs"
            f" that finished in both: above 1, {found.first} is faster"
        ),
        header=("tasks", "jobs", *(name for name, _ in found.others)),
        rows=tuple(
            (
                size.words,
                f"{found.jobs[at]:,}",
                *(times(parts[at]) for _, parts in found.others),
            )
            for at, size in enumerate(found.sizes)
        ),
    )
