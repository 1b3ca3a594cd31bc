"""Ours: who gets what of Alibaba's GPU nodes under which policy, and who waits."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from fairlead.model.tenant import Tenant
from fairlead.sharing.allocate import allocate
from fairlead.simulation.engine.options import Options
from fairlead.simulation.engine.run import simulate
from fairlead.simulation.measure.sinks import NEVER, Kept
from fairlead.simulation.workload import Workload
from fairlead.simulation.workloads.draws import SECOND
from fairlead.studies.claims import Row, whether
from fairlead.studies.clusters import alibaba, alibaba_files, backlog
from fairlead.studies.pictures.charts import bars
from fairlead.studies.pictures.picture import Picture
from fairlead.studies.study import About, Findings, Setting, Table

TSF, CDRF, MOST = "TSF", "CDRF", "most tasks"
POLICIES = {
    TSF: "tsf",
    "DRFH": "drfh",
    CDRF: "cdrf",
    "CMMF(CPU)": "cmmf(cpu)",
    "2-DF": "2df",
    MOST: "most-tasks",
}
FAIR = (TSF, "DRFH", CDRF, "CMMF(CPU)")
FIFO = "FIFO"
LED = {TSF: "tsf", "DRF": "drf", CDRF: "cdrf", "CMMF(CPU)": "cmmf(cpu)", FIFO: "fifo"}
"""Policies of the simulated runs: those that an online core can be led by."""
ALL = tuple(dict.fromkeys((*POLICIES, *LED)))

CPU_ONLY, PART, WHOLE, SEVERAL, NAMED = (
    "no GPU",
    "part of a GPU",
    "one GPU",
    "2 to 8 GPUs",
    "names models",
)
KINDS = (CPU_ONLY, PART, WHOLE, SEVERAL, NAMED)
"""Of pods; those that name GPU models are of another kind as well."""
UNTIL = 200 * 3600 * SECOND
TENTH, EIGHTIETH = 10, 80
FEW_PODS = 250
"""Of a quick run."""
SPEED = 300
"""Recorded arrivals, so many times as fast: every tenth node is full for a time."""


class Case(NamedTuple):
    """A policy, the files, and which nodes of each kind are there."""

    policy: str
    files: tuple[str, str]
    nth: int
    pods: int | None = None  # all


def run(setting: Setting) -> Findings:
    """Shares the nodes exactly, and simulates the pods as they came."""
    files = alibaba_files(setting)
    few = (EIGHTIETH, FEW_PODS)
    exact = [Case(p, files, *(few if setting.quick else (1,))) for p in POLICIES.values()]
    runs = [Case(p, files, *(few if setting.quick else (TENTH,))) for p in LED.values()]
    got = dict(zip(POLICIES, setting.spread(parts_of_kinds, exact), strict=True))
    waits = dict(zip(LED, setting.spread(waits_of_teams, runs), strict=True))
    relative = {
        name: [one / of_tsf for one, of_tsf in zip(of, got[TSF], strict=True)]
        for name, of in got.items()
    }
    return Findings(
        rows=tuple(_rows(relative, waits)),
        tables=(
            Table("exact", {"pods": KINDS, **got}),
            Table("waits", {"pods": KINDS, **waits}),
        ),
        pictures=(
            Picture(
                "Who gets what of seven GPU models",
                "Left: tasks of pods of each kind, in parts of those under TSF (exact shares, no"
                " pod ever ends). Right: how long each team's pods wait in the mean, as they came,"
                " but 300 times as fast, on every tenth node.",
                (
                    bars(
                        KINDS,
                        relative,
                        "tasks ÷ those under TSF",
                        title="tasks",
                        line_at=1.0,
                        order=ALL,
                    ),
                    bars(KINDS, waits, "seconds", title="mean wait", order=ALL),
                ),
                width=6.6,
                height=4.0,
            ),
        ),
        seeds=(0,),
    )


def parts_of_kinds(case: Case) -> list[float]:
    """The mean over the jobs of each kind of their tasks, in parts of what each could run on all
    nodes that hold it."""
    given = backlog(alibaba(case.files, nth=case.nth, pods=case.pods), endless=True)
    # A policy's own scale may be another: TSF's counts what fits, whoever may use it.
    alone = [one.alone for one in allocate(given.cluster, given.jobs, "tsf").jobs]
    found = allocate(given.cluster, given.jobs, case.policy)
    parts = [one.tasks / most if most else 0.0 for one, most in zip(found.jobs, alone, strict=True)]
    kinds = [_kinds(float(job.demand.get("gpu", 0)), bool(job.where)) for job in given.jobs]
    return [
        float(np.mean([part for part, of in zip(parts, kinds, strict=True) if kind in of]))
        for kind in KINDS
    ]


def waits_of_teams(case: Case) -> list[float]:
    """The mean wait of the pods of each team until they start, in seconds."""
    options = {"arrivals": "recorded", "speed": str(SPEED)}
    work = in_teams(alibaba(case.files, nth=case.nth, pods=case.pods, options=options))
    kept = Kept(tasks=False)
    simulate(work, policy=case.policy, sinks=(kept,), options=Options(until=UNTIL))
    jobs = kept.jobs_kept
    delay = np.where(jobs.first_start == NEVER, UNTIL - jobs.submitted, jobs.delay) / SECOND
    return [float(delay[jobs.tenant == team].mean()) for team in range(len(KINDS))]


def in_teams(work: Workload) -> Workload:
    """The pods of each kind as those of one team; who names models is in the team for that."""
    (gpu,) = [at for at, one in enumerate(work.resources) if one.name == "gpu"]
    piece = work.resources[gpu].piece
    batches = []
    for batch in work.batches():
        named = np.asarray(batch.needs.any(axis=1)).tolist()
        kinds = map(_kinds, (batch.demand[:, gpu] / piece).tolist(), named)
        batches.append(replace(batch, tenant=np.array([KINDS.index(of[-1]) for of in kinds])))
    teams = tuple(map(Tenant, KINDS))
    return replace(work, tenants=teams, batches=lambda: iter(batches))


def _kinds(gpus: float, named: bool) -> tuple[str, ...]:
    """The kinds that a pod with so many GPUs is of."""
    if not gpus:
        return (CPU_ONLY,)
    size = PART if gpus < 1 else WHOLE if gpus == 1 else SEVERAL
    return (size, NAMED) if named else (size,)


def _rows(relative: dict[str, list[float]], waits: dict[str, list[float]]) -> list[Row]:
    named, several, part = map(KINDS.index, (NAMED, SEVERAL, PART))
    line = ", ".join(
        f"{kind} {waits[FIFO][at]:,.0f} s, TSF {waits[TSF][at]:,.0f} s"
        for at, kind in enumerate(KINDS)
    )
    return [
        whether(
            "exact: of the fair policies CDRF gives least to pods that name models",
            min(FAIR, key=lambda p: relative[p][named]) == CDRF,
            shown=", ".join(f"{p} {relative[p][named]:.2f}" for p in FAIR),
        ),
        whether(
            "exact: pods of 2 to 8 GPUs have least where most tasks are run",
            min(relative, key=lambda p: relative[p][several]) == MOST,
            shown=", ".join(f"{p} {of[several]:.2f}" for p, of in relative.items()),
        ),
        whether(
            "exact: where most tasks are run some kind of pods has nearly nothing",
            min(relative[MOST]) < 0.05,
            shown=f"{min(relative[MOST]):.1%} of what it has under TSF",
        ),
        whether(
            "simulated: the team of the smallest pods with GPUs waits longer under FIFO than under"
            " any other",
            waits[FIFO][part] > max(of[part] for name, of in waits.items() if name != FIFO),
            "the nodes are not full for long enough",
            shown=line,
        ),
        whether(
            "simulated: the team of one GPU a pod, which has the most of them, waits less there",
            waits[FIFO][KINDS.index(WHOLE)] < waits[TSF][KINDS.index(WHOLE)],
            "the nodes are not full for long enough",
            shown=f"{waits[FIFO][KINDS.index(WHOLE)]:,.0f} s, TSF"
            f" {waits[TSF][KINDS.index(WHOLE)]:,.0f} s",
        ),
        whether(
            "simulated: the team that names models waits longer under CDRF than under TSF",
            waits[CDRF][named] > waits[TSF][named],
            "its pods name models that are not the ones that are full",
            shown=f"{waits[CDRF][named]:,.0f} s, TSF {waits[TSF][named]:,.0f} s",
        ),
    ]


STUDY = About(
    figure="",
    title="policies under GPU constraints",
    shows="Alibaba's GPU cluster of 2023: 1,523 nodes with seven models of GPUs or none, and pods"
    " of which a third of those with GPUs names models. First the exact shares of 447 kinds of"
    " pods, as if they never ended, on all nodes; then the pods as they came, faster, on every"
    " tenth node, each kind being a team: who is hurt by which policy. Expected is what the"
    " definitions suggest.",
    assumes=(
        (
            "What is expected of the runs was written down after a first look at them: it says what"
            " was found, and predicts nothing."
        ),
        (
            "On every fifth node, which was tried first, hardly anything waited: so every tenth was"
            " taken, after that look."
        ),
        "Which pods name models was assigned by the publishers, at the rate of their production.",
        (
            "In the exact shares pods that are alike are a tenant; in the runs the pods of a kind"
            " are a team's, and those that name models are a team of their own."
        ),
        (
            "CMMF of GPUs is not there: pods without GPUs have no share under it. A pod that does"
            " not start within 200 hours is taken to start then."
        ),
    ),
    weight=15.0,
)
