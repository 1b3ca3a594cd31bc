"""k-DF, section 6.3, Figure 12: three jobs on fifty servers."""

from __future__ import annotations

import numpy as np

from fairlead.simulation.engine.run import simulate
from fairlead.simulation.measure.sinks import Kept
from fairlead.simulation.workload import Ints
from fairlead.simulation.workloads.draws import SECOND
from fairlead.simulation.workloads.kdf_6_3 import SERVERS, generate
from fairlead.studies.claims import compare, contradiction
from fairlead.studies.pictures.charts import Line, lines
from fairlead.studies.pictures.picture import Picture
from fairlead.studies.study import About, Findings, Setting, Table

DEMANDS = {"CPUs": (2.5, 1.0, 1.0), "GB": (3.0, 15.0, 10.0)}
"""Of a task of each job."""
JOBS = ("job 1", "job 2", "job 3")
UNTIL = 150
LARGEST = 47
"""The number of the first server of the fourth type: the first is 0."""

PRINTED = (56, 28, 42)
"""Tasks of the three jobs on the servers of the fourth type at 60 s."""

TABLE_4 = (6732, 3863, 1001, 795, 126, 52, 5, 5, 3, 1)
"""Google's machines of each type, from 0 on."""
TYPE_4, ALL_TYPES = TABLE_4[4], sum(TABLE_4)


def run(_: Setting) -> Findings:
    """Simulates the three jobs under 2-DF, and counts their tasks second by second."""
    kept = Kept()
    simulate(generate(), policy="2df", sinks=(kept,))
    ran = kept.tasks_kept

    def running(second: int, machines: int = 0) -> list[int]:
        """The tasks of each job that run in this second, on servers from this number on."""
        at = second * SECOND
        here = (ran.start <= at) & (ran.end > at) & (ran.machine >= machines)
        return _by_job(ran.job[here])

    started = _by_job(ran.job[(ran.start >= 60 * SECOND) & (ran.start < 80 * SECOND)])
    done = _by_job(ran.job[ran.end <= 60 * SECOND])
    seconds = list(range(UNTIL + 1))
    tasks = [running(second) for second in seconds]
    cpus = DEMANDS["CPUs"]
    all_cpus = sum(count * cpu for count, cpu, _ in SERVERS)
    all_memory = sum(count * memory for count, _, memory in SERVERS)
    room = SERVERS[-1][0] * SERVERS[-1][1]
    largest = sum(n * cpu for n, cpu in zip(running(60, LARGEST), cpus, strict=True))
    printed = sum(n * cpu for n, cpu in zip(PRINTED, cpus, strict=True))
    return Findings(
        rows=(
            compare("tasks of job 1 that run at once", "159", running(0)[0]),
            compare("tasks of job 2 that start at 40 s", "3", running(40)[1]),
            compare("tasks of job 3 that run at 50 s", "0", running(50)[2]),
            compare("tasks of jobs 1 and 2 done at 60 s", "318 and 3", done[:2]),
            compare(
                "tasks of the three jobs started from 60 s to 79 s",
                "104, 52 and 79",
                started,
                "perhaps the paper places tasks in another order; it does not say where each goes,"
                " and what it prints for the largest servers cannot be",
            ),
            contradiction(
                "CPUs that the tasks printed for the type-4 servers at 60 s take",
                f"{printed:g}",
                f"{room}",
                "the list of servers (3 of 16 CPUs)",
                largest,
            ),
            contradiction(
                "Table 4: the ratio of machines of its type 4",
                "0.0551",
                "0.0100",
                f"its column of numbers ({TYPE_4} of {ALL_TYPES:,}; 726 would give 0.0551)",
                TYPE_4 / ALL_TYPES,
            ),
        ),
        tables=(
            Table(
                "tasks",
                {
                    "second": seconds,
                    **{job: [each[at] for each in tasks] for at, job in enumerate(JOBS)},
                },
            ),
        ),
        pictures=(
            Picture(
                "What three jobs hold",
                f"Fifty servers with {all_cpus} CPUs and {all_memory} GB together; 2-DF.",
                tuple(
                    lines(
                        [
                            Line(job, seconds, [demand[at] * each[at] for each in tasks])
                            for at, job in enumerate(JOBS)
                        ],
                        "seconds",
                        what,
                        title=title,
                        steps=True,
                    )
                    for title, (what, demand) in zip(
                        ("(a) CPUs", "(b) memory"), DEMANDS.items(), strict=True
                    )
                ),
            ),
        ),
    )


def _by_job(jobs: Ints) -> list[int]:
    counts: list[int] = np.bincount(jobs, minlength=len(JOBS)).tolist()
    return counts


STUDY = About(
    figure="section 6.3, Figure 12",
    title="three jobs on fifty servers",
    shows="Fifty servers of four types. Job 1 (450 tasks of 2.5 CPUs and 3 GB, 30 s) fills them at"
    " 0 s; of job 2 (150 tasks of 1 CPU and 15 GB, 20 s), which comes at 40 s, three tasks find"
    " room; job 3 (80 tasks of 1 CPU and 10 GB, 80 s) comes at 50 s and waits. At 60 s all share by"
    " 2-DF.",
    assumes=(
        "104, 52 and 79 are what the paper's totals leave: 28, 95 and 1 task remain at 80 s.",
    ),
)
