"""TSF, Table II and Figure 5, on the local engine: real processes that sleep."""

from __future__ import annotations

import numpy as np

from fairlead.simulation.workload import Workload
from fairlead.simulation.workloads.table_ii import NODES, RESOURCES
from fairlead.studies.live import held, run_live
from fairlead.studies.pictures.picture import Picture
from fairlead.studies.runs import Load, workload
from fairlead.studies.study import About, Findings, Setting
from fairlead.studies.tsf.cluster import KINDS
from fairlead.studies.tsf.fig5 import CPU, MEMORY, TASKS, Shares, claims, panels, table

SEED = 0
FASTER, FASTER_YET = 5.0, 40.0
"""Times as fast as the paper's run: task times and arrivals are scaled alike."""
PART = 5
"""A quick run has this part of the nodes and of the tasks."""
ALONE = slice(2, 10)
"""Seconds in which job 1 is alone."""


def run(setting: Setting) -> Findings:
    """Runs the four jobs once, and looks at their shares each second."""
    part, faster = (PART, FASTER_YET) if setting.quick else (1, FASTER)
    shares = shares_over_time(table_two(part), faster)
    return Findings(
        rows=claims([shares], float(shares[TASKS][ALONE, 0].max())),
        tables=(table(shares),),
        pictures=(
            Picture(
                "Shares of the four jobs over time, live",
                f"A service with the local engine; every time is the paper's ÷ {faster:g}, and"
                " drawn as if it were not.",
                panels(shares),
            ),
        ),
        notes=(
            f"Times are scaled down by {faster:g}: a second of the picture is {1 / faster:g} s.",
        ),
        seeds=(SEED,),
    )


def table_two(part: int) -> Workload:
    """Table II, or a part of its nodes and tasks."""
    half, few = 25 // part, 10 // part
    ones, twos = NODES[:half], NODES[25 : 25 + half]
    some = (*ones[:few], *twos[:few])
    jobs = [
        Load(f"job-{at}", kind.tasks // part, kind.demand, kind.mean, kind.start, on=on)
        for at, (kind, on) in enumerate(zip(KINDS, (None, ones, some, some), strict=True), 1)
    ]
    capacity = np.array([[2, 2]] * half + [[4, 2]] * half)
    return workload("table-ii", RESOURCES, (*ones, *twos), capacity, jobs, SEED)


def shares_over_time(work: Workload, faster: float) -> Shares:
    """The shares at each second until nothing is left to do."""
    spans = run_live(work, "tsf", faster)
    last = int(max(found[:, 1].max() for found in spans.values())) + 2
    tasks = held(spans, last)
    (batch,) = work.batches()
    capacity = work.machines.capacity
    alone = (capacity[:, None, :] / batch.demand).min(axis=2).sum(axis=0)
    parts = tasks[:, :, None] * batch.demand / capacity.sum(axis=0)
    return {CPU: parts[:, :, 0], MEMORY: parts[:, :, 1], TASKS: tasks / alone}


STUDY = About(
    figure="Table II and Figure 5, live",
    title="four jobs over time, on the local engine",
    shows="The paper's run was real: Mesos on fifty nodes of EC2. This one is, too, but for what"
    " tasks do: a service with fifty machines of the local engine starts a process for each of the"
    " 1,350 tasks, which sleeps. The claims are those of the simulated run.",
    assumes=(
        "Task times are drawn evenly within 20% of the mean, and all times are scaled down alike.",
        "Tasks are placed by the rule that the service uses unless told otherwise.",
        (
            "The share of job 1 while it is alone is the largest in these ten seconds: processes"
            " take time to start."
        ),
    ),
    weight=10.0,
)
