"""Choosy, Figure 14, on the local engine: four frameworks of real processes that sleep."""

from __future__ import annotations

from fairlead.studies.choosy.fig14 import END, MEAN, POLICY, claims, frameworks, panels, table
from fairlead.studies.live import held, run_live
from fairlead.studies.pictures.picture import Picture
from fairlead.studies.study import About, Findings, Setting

SEED = 0
CORES, FEW_CORES = 2, 1
"""Of each node: an eighth or a quarter of the paper's, for every task is a process of this
machine."""
FASTER, FASTER_YET = 1.0, 20.0
"""Times as fast as the simulated run: task times and arrivals are scaled alike."""
LONGER = 10.0
"""Seconds of a task of a quick run, which would else have to begin more than are begun in time."""

BETWEEN_TASKS = (
    "perhaps a core is empty from the end of a task until a process of the next runs, and"
    " Hadoop, which may use all nodes, finds other ones meanwhile"
)


def run(setting: Setting) -> Findings:
    """Runs the four frameworks once, and looks each second."""
    cores, faster = (FEW_CORES, FASTER_YET) if setting.quick else (CORES, FASTER)
    work = frameworks(cores, SEED, LONGER if setting.quick else MEAN)
    spans = run_live(work, POLICY, faster, until=END)
    found = held(spans, END)
    return Findings(
        rows=tuple(claims([found], cores, BETWEEN_TASKS)),
        tables=(table(found),),
        pictures=(
            Picture(
                "Cores of each framework over time, live",
                f"A service with the local engine; a second of the picture is {1 / faster:g} s.",
                panels(found),
            ),
        ),
        notes=(f"Nodes have {cores} of 8 cores: every task is a process of this machine.",),
        seeds=(SEED,),
    )


STUDY = About(
    figure="Figure 14, live",
    title="four frameworks on four kinds of nodes, on the local engine",
    shows="The simulated run once more by a service with the local engine, which starts a process"
    " for each task; it sleeps. Each framework reaches its share within five seconds of joining.",
    assumes=(
        "Tasks take one core and 2 s in the mean, within 20%.",
        "A share counts as reached at 90% of it.",
    ),
    weight=10.0,
)
