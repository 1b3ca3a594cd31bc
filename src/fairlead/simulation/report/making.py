"""From a study's folder to its report: which charts there are, what they say, and the files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isinf
from pathlib import Path

from fairlead.model.errors import OutputError
from fairlead.model.report import Tree
from fairlead.model.words import tally
from fairlead.simulation.report import figures
from fairlead.simulation.report.charts import Chart, Kind
from fairlead.simulation.report.figures import Curve, Jobs
from fairlead.simulation.report.pasts import pasts_of
from fairlead.simulation.report.reading import Folder, Run
from fairlead.simulation.report.tables import Table, main_table, speed_table
from fairlead.simulation.report.words import duration
from fairlead.whole_file import write_whole

PAGE = "index.html"


@dataclass(frozen=True)
class Report:
    """All that a report is made of, in groups with a heading each where it is charts. `pasts`: the
    tenants' shares and fair shares over time, null where the distance was not measured."""

    title: str
    about: tuple[str, ...]
    tables: tuple[Table, ...]
    charts: tuple[tuple[str, tuple[Chart, ...]], ...]
    pasts: Tree | None
    notes: tuple[str, ...]
    first: Run

    def files(self) -> dict[str, bytes]:
        """Each chart as files, by their names."""
        found = {}
        for _, group in self.charts:
            for chart in group:
                plot = chart.plot()
                found[f"{chart.name}.png"] = plot.png
                found[f"{chart.name}.svg"] = plot.svg.encode()
        return found

    def tree(self) -> Tree:
        return {
            "about": list(self.about),
            "tables": [
                {
                    "title": each.title,
                    "caption": f"{each.caption}.",
                    "header": list(each.header),
                    "rows": [list(row) for row in each.rows],
                }
                for each in self.tables
            ],
            "groups": [
                {"title": heading, "charts": [chart.tree() for chart in group]}
                for heading, group in self.charts
            ],
            "pasts": self.pasts,
            "notes": list(self.notes),
        }


def tables_of(folder: Folder) -> tuple[Table, ...]:
    """The tables alone: nothing is drawn."""
    jobs = _jobs(folder)
    return _tables(folder, jobs, figures.nearly_over(folder.runs, jobs.values()))


def report_of(folder: Folder) -> Report:
    """The whole report of a study. The same folder gives the same report."""
    jobs = _jobs(folder)
    until = figures.nearly_over(folder.runs, jobs.values())
    tables = _tables(folder, jobs, until)
    groups = (
        ("Jobs", _job_charts(folder, jobs)),
        ("Shares over time", _share_charts(folder, until)),
        ("The cluster over time", _cluster_charts(folder, until)),
    )
    charts = tuple((heading, group) for heading, group in groups if group)
    series = folder.series()
    seeds = sorted({run.seed for run in folder.runs})
    about = [
        f"{tally(len(folder.runs), 'run')}: {', '.join(series)}"
        + (f"; seeds {seeds[0]} to {seeds[-1]}" if len(seeds) > 1 else f"; seed {seeds[0]}")
        + "."
    ]
    placements = sorted({run.placement for run in folder.runs})
    if len(placements) == 1:
        about.append(f"Placement: {placements[0]}.")
    return Report(
        title=folder.workload,
        about=tuple(about),
        tables=tables,
        charts=charts,
        pasts=pasts_of(folder.runs[0], until),
        notes=folder.runs[0].notes,
        first=folder.runs[0],
    )


def write(report: Report, page: str, out: Path) -> None:
    """Writes the report's files, each whole or not at all, the page last."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{out} cannot be written: {error.strerror}") from error
    for name, content in report.files().items():
        write_whole(out / name, content)
    write_whole(out / PAGE, page)


def _jobs(folder: Folder) -> dict[str, Jobs]:
    """The jobs of each series that kept them."""
    found = {name: figures.jobs_of(runs) for name, runs in folder.series().items()}
    return {name: jobs for name, jobs in found.items() if jobs is not None}


def _tables(folder: Folder, jobs: dict[str, Jobs], until: float) -> tuple[Table, ...]:
    rows = tuple(
        figures.row_of(name, runs, jobs.get(name), until) for name, runs in folder.series().items()
    )
    speed = figures.speed_ups(jobs)
    few = figures.few_samples(folder.runs, until)
    return (main_table(rows, until, few), *((speed_table(speed),) if speed else ()))


def _job_charts(folder: Folder, jobs: dict[str, Jobs]) -> tuple[Chart, ...]:
    order = tuple(folder.series())
    waits = [figures.task_waits(name, runs) for name, runs in folder.series().items()]
    kinds = (
        (
            "delays",
            "How long jobs wait for their first start",
            "The fraction of jobs whose first task started within this time.",
            [figures.cdf(name, each.delay) for name, each in jobs.items()],
            "from submission to the first start",
            "jobs (%)",
        ),
        (
            "waits",
            "How long tasks wait",
            "The fraction of tasks started within this time after they began to wait.",
            [wait for wait in waits if wait is not None],
            "wait of a task",
            "launches (%)",
        ),
        (
            "completions",
            "How long jobs take to complete",
            "The fraction of jobs completed within this time after submission.",
            [figures.cdf(name, each.took) for name, each in jobs.items()],
            "from submission to completion",
            "jobs (%)",
        ),
    )
    charts = [
        Chart(name, title, caption, Kind.PARTS, order, tuple(curves), x_label, y_label)
        for name, title, caption, curves, x_label, y_label in kinds
        if curves
    ]
    speed = figures.speed_ups(jobs)
    if speed:
        charts.append(
            Chart(
                "speed-ups",
                "Completion time, by size of job",
                f"Mean time to completion ÷ that under {speed.first}, by the number of tasks:"
                f" above 1, {speed.first} is faster.",
                Kind.SIZES,
                order,
                y_label=f"completion time ÷ under {speed.first}",
                speed=speed,
            )
        )
    return tuple(charts)


def _share_charts(folder: Folder, until: float) -> tuple[Chart, ...]:
    """The shares of the first run of each series, of the same tenants in all of them. Each has an
    axis of its own: what is one unit of share differs from policy to policy."""
    firsts = {name: runs[0] for name, runs in folder.series().items()}
    chosen: tuple[str, ...] | None = None
    found = {}
    for name, run in firsts.items():
        shares = figures.shares_of(run, until, chosen)
        if shares is not None:
            chosen = tuple(curve.name for curve in shares.curves)
            found[name] = (run, shares)
    end = _end([curve for _, shares in found.values() for curve in shares.curves])
    return tuple(
        Chart(
            f"shares-{number}",
            f"{'Tasks' if shares.in_tasks else 'Shares'} under {name}",
            f"Seed {run.seed}. "
            + (
                "Tasks of each tenant: the policy knows no shares"
                if shares.in_tasks
                else "Share of each tenant in percent of a unit of share, ÷ its weight"
            )
            + (f"; {tally(shares.others, 'tenant')} more not drawn." if shares.others else ".")
            + _rest(folder, until),
            Kind.TIME,
            tuple(curve.name for curve in shares.curves),
            shares.curves,
            y_label="tasks" if shares.in_tasks else "share (%)",
            x_most=end,
            y_most=1.05 * max(float(curve.y.max(initial=0.0)) for curve in shares.curves) or 1.0,
            names="tenant",
        )
        for number, (name, (run, shares)) in enumerate(found.items(), 1)
    )


def _cluster_charts(folder: Folder, until: float) -> tuple[Chart, ...]:
    firsts = {name: runs[0] for name, runs in folder.series().items()}
    about = _which(firsts) + _rest(folder, until)
    charts = []
    for resource in figures.resources_of(folder):
        curves = _name_curves(
            {n: figures.utilisation_of(run, resource, until) for n, run in firsts.items()}
        )
        charts.append(
            Chart(
                f"used-{_plain(resource)}",
                f"How much of {resource} is used",
                f"The part of all {resource} that tasks hold. {about}",
                Kind.TIME,
                tuple(firsts),
                tuple(curves),
                y_label=f"{resource} used (%)",
                x_most=_end(curves),
                y_most=101.0,
            )
        )
    apart = _name_curves({name: figures.distance_of(run, until) for name, run in firsts.items()})
    if apart:
        charts.append(
            Chart(
                "distance",
                "How far from the exact allocation",
                "Root mean square, over the tenants that are present, of held less exact shares,"
                f" in percent of a unit of share. {about}",
                Kind.TIME,
                tuple(firsts),
                tuple(apart),
                y_label="RMSE (%)",
                x_most=_end(apart),
            )
        )
    return tuple(charts)


def _name_curves(curves: dict[str, Curve | None]) -> list[Curve]:
    return [Curve(name, curve.x, curve.y) for name, curve in curves.items() if curve is not None]


def _which(runs: dict[str, Run]) -> str:
    seeds = sorted({run.seed for run in runs.values()})
    return f"Seed {seeds[0]}." if len(seeds) == 1 else "The first seed of each."


def _end(curves: Sequence[Curve]) -> float:
    """The end of the axis of time."""
    return max([1.0, *(float(curve.x[-1]) for curve in curves if len(curve.x))])


def _rest(folder: Folder, until: float) -> str:
    """A sentence if the plots end before the runs do."""
    if isinf(until):
        return ""
    last = max(run.number("end") or 0.0 for run in folder.runs) * figures.SECONDS
    return (
        f" By {duration(until)} {figures.MOST:.0%} of the jobs of all runs are finished; the time"
        f" from then on, to {duration(last)} at most, is not drawn."
        + figures.few_samples(folder.runs, until)
    )


def _plain(name: str) -> str:
    """The name as part of a file's."""
    return "".join(letter if letter.isalnum() or letter in "-_" else "-" for letter in name)
