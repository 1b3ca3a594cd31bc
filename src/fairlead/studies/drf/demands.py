"""DRF, Figures 1 and 2: what tasks demand on two other clusters, and how badly slots fit them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fairlead.simulation.traces.registry import load
from fairlead.simulation.workload import Bools, Floats, Ints, MachineEvent
from fairlead.studies.claims import Row, impossible, whether
from fairlead.studies.pictures.charts import Cloud, Line, lines, points
from fairlead.studies.pictures.picture import Panel, Picture
from fairlead.studies.study import About, Findings, Setting, Table

SLOTS = 10
"""Of a machine, in the picture."""
TRIED = range(1, 65)
FITS = 0.1
"""Relative: a demand that is closer to its slot's part fits."""
BUBBLES = 12
"""Regions of each axis."""


@dataclass(frozen=True)
class Demands:
    """CPU and memory of each kind of task as parts of a mean machine, and how many tasks there are
    of it."""

    cluster: str
    parts: Floats
    tasks: Ints

    def part(self, which: Bools) -> float:
        """The part of all tasks that are of these kinds."""
        return float(self.tasks[which].sum() / self.tasks.sum())

    def misfits(self, slots: int) -> float:
        """The part of tasks that need more or less of some resource than a slot has."""
        off = np.abs(self.parts * slots - 1) > FITS
        return self.part(off[:, 0] | off[:, 1])


def read(cluster: str, files: list[Path]) -> Demands:
    """The demands in a trace, beside the machines that are there when it begins."""
    work = load(files)
    there = (work.machines.time == 0) & (work.machines.kind == MachineEvent.ADD)
    machine = work.machines.capacity[there, :2].mean(axis=0)
    batches = list(work.batches())
    demand = np.concatenate([batch.demand[:, :2] for batch in batches])
    return Demands(cluster, demand / machine, np.concatenate([batch.tasks for batch in batches]))


def run(setting: Setting) -> Findings:
    """Reads both traces, and lays slots of all sizes beside their tasks."""
    alibaba = setting.data("alibaba-gpu-2023")
    lists = [alibaba / f"openb_{name}.csv" for name in ("node_list_all_node", "pod_list_default")]
    found = (
        read("Google 2011", [setting.data("google-2011")]),
        read("Alibaba 2023", lists),
    )
    rows: list[Row] = [
        impossible(
            "the demands of Facebook's tasks",
            "a picture",
            "they were never published; two other clusters stand for them below",
        )
    ]
    panels: list[Panel] = []
    for one in found:
        heavy = one.part(one.parts[:, 0] > one.parts[:, 1])
        least = min(TRIED, key=one.misfits)
        rows += [
            whether(
                f"{one.cluster}: the majority of tasks are CPU-heavy",
                heavy > 0.5,
                "perhaps its tasks are of another kind than Facebook's; the paper has no others",
                shown=f"{heavy:.0%} of tasks",
            ),
            whether(
                f"{one.cluster}: some tasks are memory-heavy",
                heavy < 1,
                shown=f"{one.part(one.parts[:, 0] < one.parts[:, 1]):.0%} of tasks",
            ),
            whether(
                f"{one.cluster}: most tasks use less or more of some resource than their slot has",
                one.misfits(SLOTS) > 0.5,
                shown=f"{one.misfits(SLOTS):.1%} of tasks, with {SLOTS} slots a machine",
            ),
            whether(
                f"{one.cluster}: another number of slots a machine does not solve that",
                one.misfits(least) > 0.5,
                shown=f"{one.misfits(least):.1%} of tasks with the best number, {least}",
            ),
        ]
        panels += [_bubbles(one), _ratios(one)]
    return Findings(
        rows=tuple(rows),
        tables=(
            Table(
                "misfits",
                {
                    "slots": list(TRIED),
                    **{one.cluster: [one.misfits(slots) for slots in TRIED] for one in found},
                },
            ),
        ),
        pictures=(
            Picture(
                "What tasks demand, and what slots give",
                "Left: demands as parts of a mean machine; each bubble's area grows with the"
                " logarithm of the tasks in its region; on the dashed line both are equal. Right:"
                f" tasks by their demand ÷ their slot's part, with {SLOTS} slots a machine.",
                tuple(panels),
            ),
        ),
    )


def _bubbles(one: Demands) -> Panel:
    some = (one.parts > 0).all(axis=1)
    low, high = one.parts[some].min(), one.parts[some].max()
    edges = np.geomspace(low, high * 1.0001, BUBBLES + 1)
    counts, _, _ = np.histogram2d(
        one.parts[some, 0], one.parts[some, 1], bins=(edges, edges), weights=one.tasks[some]
    )
    middle = np.sqrt(edges[1:] * edges[:-1])
    x, y = np.nonzero(counts)
    cloud = Cloud("tasks", middle[x].tolist(), middle[y].tolist(), np.log1p(counts[x, y]).tolist())
    return points(
        [cloud],
        "CPU, part of a machine",
        "memory, part of a machine",
        title=f"Figure 1, {one.cluster}",
        log="xy",
        line=((float(low), float(low)), (float(high), float(high))),
        area=12.0,
    )


def _ratios(one: Demands) -> Panel:
    at = np.geomspace(0.01, 100, 200)
    return lines(
        [
            Line(
                name,
                at.tolist(),
                [100 * one.part(one.parts[:, column] * SLOTS <= ratio) for ratio in at],
            )
            for column, name in enumerate(("CPU", "memory"))
        ],
        "demand ÷ slot's part",
        "tasks (%)",
        title=f"Figure 2, {one.cluster}",
        log="x",
        y_most=100.0,
    )


STUDY = About(
    figure="Figures 1 and 2",
    title="what tasks demand, and how badly slots fit them",
    shows="Demands of tasks in Facebook's Hadoop cluster of 2,000 nodes in October 2010: most tasks"
    " are CPU-heavy, some are memory-heavy (Figure 1). Most use less or more of some resource than"
    " the slot has in which Hadoop runs them, and another number of slots would not help (Figure"
    " 2).",
    assumes=(
        "The tasks are those of the first part of Google's trace of 2011 and of Alibaba's of 2023.",
        "Demands are what tasks ask for; the paper's Figure 1 has what they use.",
        "A slot is a part of the mean machine; the paper divides all by the number of slots, too.",
        "A demand within 10% of its slot's part fits.",
    ),
)
