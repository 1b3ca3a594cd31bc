"""TSF, Figures 8 to 11: six policies on the jobs of Google's first hour."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fairlead.simulation.engine.run import simulate
from fairlead.simulation.measure.sinks import NEVER, Kept
from fairlead.simulation.report.figures import Size
from fairlead.simulation.workload import Floats, Ints, Workload
from fairlead.simulation.workloads.draws import SECOND
from fairlead.studies.claims import Row, compare, whether
from fairlead.studies.pictures.charts import Line, bars, lines
from fairlead.studies.pictures.picture import Panel, Picture
from fairlead.studies.study import About, Findings, Setting, Table
from fairlead.studies.tsf.google_hour import (
    ONE,
    RECORDED,
    RULES,
    SAMPLED,
    Case,
    recorded_times,
    workload_of,
)

TSF, FIFO, CDRF = "tsf", "fifo", "cdrf"
OTHERS = {"DRF": "drf", "CDRF": CDRF, "CPU": "cmmf(cpu)", "Mem": "cmmf(memory)"}
POLICIES = {"TSF": TSF, "FIFO": FIFO, **OTHERS}
FILE = "task_events_part-00000-of-00500.csv.gz"

SEEDS, OTHER_SEEDS, FEW = tuple(range(1, 51)), tuple(range(1, 6)), (1,)
"""Of the first rule, of the others, and of a quick run."""
QUANTILES = tuple(at / 200 for at in range(1, 200))
EIGHTY = QUANTILES.index(0.8)
SALIENT = 1.0
"""Seconds of a delay that a user notices."""
ALIKE = 0.05
"""How far apart mean completion times of fair policies may be to be called similar."""
LITTLE = 0.05
"""A speed-up that is called little."""


@dataclass(frozen=True)
class Repetition:
    """The figures of one repetition, by policy; times in seconds."""

    machines_of_jobs: Floats
    """For each job the part of the machines that it can use."""
    sizes: Ints
    delays: dict[str, Floats]
    took: dict[str, Floats]
    waits: dict[str, Floats]
    """Quantiles of job delay, job completion and task delay."""
    notice: dict[str, float]
    """The part of the jobs with a delay that a user notices."""
    mean_took: dict[str, float]
    speed_up: dict[str, tuple[float, ...]]
    """By size of the jobs: how much sooner they are done under TSF, in parts of the other's."""
    tasks_sooner: dict[str, tuple[float, float]]
    """The parts of the tasks that wait less under TSF, and more."""
    task_speed_up: dict[str, Floats]
    """Quantiles of the reduction of a task's wait, in seconds."""


def run(setting: Setting) -> Findings:
    """Runs the hour under the six policies again and again."""
    data = setting.data("google-2011")
    recorded = tuple(np.quantile(recorded_times(data), np.linspace(0, 1, 1001)).tolist())
    size = (100, 30, 3_000) if setting.quick else (4500, 1000, 180_000)
    many = {SAMPLED: FEW if setting.quick else SEEDS}
    many |= dict.fromkeys((RECORDED, ONE), FEW if setting.quick else OTHER_SEEDS)
    trace = str(data / FILE)
    cases = [
        Case(rule, seed, trace, *size, recorded) for rule, seeds in many.items() for seed in seeds
    ]
    done = dict(zip(cases, setting.spread(repeat, cases), strict=True))
    found = {rule: [one for case, one in done.items() if case.rule == rule] for rule in RULES}
    first = found[SAMPLED]
    return Findings(
        rows=(*_inputs(first), *(row for rule in RULES for row in _rows(rule, found[rule]))),
        tables=(_speed_ups(found), _curves(first)),
        pictures=(_picture(first, len(many[SAMPLED])),),
        notes=tuple(f"Task times, {rule}: {how}." for rule, how in RULES.items()),
        seeds=many[SAMPLED],
    )


def repeat(case: Case) -> Repetition:
    """One repetition: the same jobs and times under each policy."""
    work = workload_of(case)
    kept = {}
    for policy in POLICIES.values():
        kept[policy] = Kept(tasks=True, every=3600 * SECOND if policy == TSF else None)
        simulate(work, policy=policy, sinks=(kept[policy],))
    jobs = {policy: _jobs(one) for policy, one in kept.items()}
    waits = {policy: _waits(one) for policy, one in kept.items()}
    sizes, _, base = jobs[TSF]
    faster = {policy: 1 - base / took for policy, (_, _, took) in jobs.items()}
    return Repetition(
        machines_of_jobs=_can(work, kept[TSF]),
        sizes=sizes,
        delays={p: np.quantile(delay, QUANTILES) for p, (_, delay, _) in jobs.items()},
        took={p: np.quantile(took, QUANTILES) for p, (_, _, took) in jobs.items()},
        waits={p: np.quantile(wait, QUANTILES) for p, wait in waits.items()},
        notice={p: float((delay > SALIENT).mean()) for p, (_, delay, _) in jobs.items()},
        mean_took={p: float(took.mean()) for p, (_, _, took) in jobs.items()},
        speed_up={
            p: tuple(float(faster[p][_of(sizes, size)].mean()) for size in Size) for p in jobs
        },
        tasks_sooner={
            p: (float((wait > waits[TSF]).mean()), float((wait < waits[TSF]).mean()))
            for p, wait in waits.items()
        },
        task_speed_up={p: np.quantile(wait - waits[TSF], QUANTILES) for p, wait in waits.items()},
    )


def _jobs(kept: Kept) -> tuple[Ints, Floats, Floats]:
    """Of the jobs in the order of their numbers: tasks, delay, time to completion."""
    records = kept.jobs_kept
    order = np.argsort(records.number)
    assert (records.completed != NEVER).all()
    took = (records.completed - records.submitted) / SECOND
    return records.tasks[order], records.delay[order] / SECOND, took[order]


def _waits(kept: Kept) -> Floats:
    """The time that each task waited, in the order of job and task."""
    records = kept.tasks_kept
    waits = (records.start - records.waiting_since) / SECOND
    found: Floats = waits[np.lexsort((records.task, records.job))]
    return found


def _can(work: Workload, kept: Kept) -> Floats:
    """For each job the part of the machines whose attributes are those that it asks for."""
    has = kept.samples[0].satisfied
    needs = np.concatenate([batch.needs for batch in work.batches()])
    width = min(has.shape[1], needs.shape[1])
    rows = [((has[:, :width] & one) == one).all(axis=1).mean() for one in needs[:, :width]]
    return np.array(rows)


def _of(sizes: Ints, size: Size) -> Floats:
    low, high = size.value
    found: Floats = (sizes >= low) & (sizes <= (np.inf if high is None else high))
    return found


def _inputs(found: Sequence[Repetition]) -> list[Row]:
    """The inputs as Figure 8 shows them."""
    can = np.concatenate([one.machines_of_jobs for one in found])
    sizes = found[0].sizes
    small = sizes[_of(sizes, Size.SMALL)]
    few = "the jobs are the trace's; the quick run has fewer of them"
    return [
        compare(
            "Figure 8a: jobs that can run on all machines",
            "< 20%",
            float((can == 1).mean()),
            "constraints are drawn from published counts, which may not be the paper's",
        ),
        whether(
            "Figure 8a: half of the jobs can run on a fifth of the machines or less",
            float(np.median(can)) <= 0.2,
            "constraints are drawn from published counts, which may not be the paper's",
            shown=f"half can run on at most {np.median(can):.0%}",
        ),
        compare("Figure 8b: jobs of one task", "> 60%", float((sizes == 1).mean()), few),
        compare("Figure 8b: jobs of at most 10 tasks", "86%", len(small) / len(sizes), few),
        compare("tasks of these", "< 8,000", int(small.sum())),
        compare("tasks of the largest job", "~20,000", int(sizes.max()), few, within=0.05),
    ]


def _rows(rule: str, found: Sequence[Repetition]) -> list[Row]:
    """The claims of Figures 9 to 11 with task times by a rule."""
    when = f"times of {rule}" if rule != ONE else rule
    delays = _mean([one.delays for one in found])
    took = _mean([one.took for one in found])
    times = np.max(took[FIFO][: EIGHTY + 1] / took[TSF][: EIGHTY + 1])
    means = [float(np.mean([one.mean_took[p] for one in found])) for p in (TSF, *OTHERS.values())]
    notice = [float(np.mean([one.notice[p] for one in found])) for p in (TSF, *OTHERS.values())]
    speed = {p: np.mean([one.speed_up[p] for one in found], axis=0) for p in OTHERS.values()}
    sizes = list(Size)
    rows = [
        whether(
            f"Figure 9a ({when}): jobs wait longest under FIFO",
            all(delays[FIFO].mean() > delays[p].mean() for p in (TSF, *OTHERS.values())),
            shown=f"{delays[FIFO].mean():,.0f} s in the mean, {delays[TSF].mean():,.1f} s under"
            " TSF",
        ),
        compare(
            f"Figure 9a ({when}): jobs whose delay is salient under fair policies (over"
            f" {SALIENT:g} s), TSF",
            "~40%",
            notice[0],
            "which delay is salient is not said; perhaps the paper's tasks take other times than"
            " any of our three rules gives them",
            within=0.25,
        ),
        compare(
            f"Figure 9b ({when}): jobs are done up to so many times sooner than under FIFO, of the"
            " 80% that are done first",
            "~6",
            float(times),
            "perhaps the paper's tasks take other times than any of our three rules gives them; it"
            " does not say how long they take",
            within=0.25,
        ),
        whether(
            f"Figure 9b ({when}): fair policies do not differ in the mean time to completion",
            max(means) / min(means) < 1 + ALIKE,
            shown=f"{min(means):,.0f} to {max(means):,.0f} s",
        ),
    ]
    for size, about in ((Size.SMALL, "little"), (Size.MEDIUM, "10%"), (Size.BIG, "10%")):
        at = sizes.index(size)
        values = [float(speed[p][at]) for p in OTHERS.values()]
        shown = ", ".join(f"{name} {v:.1%}" for name, v in zip(OTHERS, values, strict=True))
        claim = f"Figure 10 ({when}): jobs of {size.words} tasks are"
        if about == "little":
            row = whether(
                f"{claim} hardly faster under TSF",
                max(map(abs, values)) < LITTLE,
                "perhaps jobs of one task, which are among them, wait for their machines",
                shown=shown,
            )
        else:
            row = whether(
                f"{claim} some 10% faster under TSF than under each of the others",
                min(values) >= 0.05,
                "perhaps the policies differ by less where constraints and demands are independent"
                " of each other, as here; the paper does not say how its own go together",
                shown=shown,
            )
        rows.append(row)
    sooner = {p: np.mean([one.tasks_sooner[p] for one in found], axis=0) for p in OTHERS.values()}
    words = ", ".join(f"{name} {sooner[p][0]:.0%}" for name, p in OTHERS.items())
    rows += [
        whether(
            f"Figure 11 ({when}): most tasks wait less under TSF than under each of the others",
            min(sooner[p][0] for p in OTHERS.values()) > 0.5,
            "perhaps all policies keep machines busy, so that what one job's tasks wait"
            " less another's wait more",
            shown=words,
        ),
        whether(
            f"Figure 11b ({when}): of the fair ones CDRF is the worst",
            min(OTHERS.values(), key=lambda p: sooner[p][1] - sooner[p][0]) == CDRF,
            "perhaps constraints bind less here: half of the jobs can run on more machines than in"
            " Figure 8a; no run has tried other ones",
            shown=", ".join(
                f"{name} {sooner[p][0] - sooner[p][1]:+.0%} of tasks" for name, p in OTHERS.items()
            ),
        ),
    ]
    return rows


def _mean(all_: Sequence[Mapping[str, Floats]]) -> dict[str, Floats]:
    return {policy: np.mean([one[policy] for one in all_], axis=0) for policy in all_[0]}


def _speed_ups(found: Mapping[str, Sequence[Repetition]]) -> Table:
    header = ("task times", "policy", "tasks of a job", "sooner under TSF", "deviation")
    rows = []
    for rule, runs in found.items():
        for name, policy in OTHERS.items():
            for at, size in enumerate(Size):
                of = [one.speed_up[policy][at] for one in runs]
                rows.append((rule, name, size.words, float(np.mean(of)), float(np.std(of))))
    return Table.of_rows("speed-ups", header, rows)


def _curves(found: Sequence[Repetition]) -> Table:
    columns: dict[str, Sequence[object]] = {"part": QUANTILES}
    for what, all_ in (
        ("job delay", [one.delays for one in found]),
        ("job time", [one.took for one in found]),
        ("task wait", [one.waits for one in found]),
    ):
        mean = _mean(all_)
        columns |= {f"{what}, {name}": mean[p].tolist() for name, p in POLICIES.items()}
    return Table("curves", columns)


def _picture(found: Sequence[Repetition], count: int) -> Picture:
    def cdf(all_: Mapping[str, Floats], title: str, label: str) -> Panel:
        return lines(
            [
                Line(
                    name, np.maximum(all_[p], 0.1)[::2].tolist(), [100 * q for q in QUANTILES[::2]]
                )
                for name, p in POLICIES.items()
            ],
            label,
            "percent of them",
            title=title,
            log="x",
            marks=True,
            order=list(POLICIES),
        )

    def of_jobs(values: Floats | Ints, title: str) -> Panel:
        return lines(
            [Line("jobs", np.quantile(values, QUANTILES).tolist(), [100 * q for q in QUANTILES])],
            "percent of the machines" if title.startswith("8a") else "tasks",
            "percent of jobs",
            title=title,
            log="" if title.startswith("8a") else "x",
        )

    speed = {
        name: [float(np.mean([100 * one.speed_up[p][at] for one in found])) for at in range(4)]
        for name, p in OTHERS.items()
    }
    spread = {
        name: [float(np.std([100 * one.speed_up[p][at] for one in found])) for at in range(4)]
        for name, p in OTHERS.items()
    }
    gains = _mean([one.task_speed_up for one in found])
    return Picture(
        "Six policies on Google's first hour",
        f"Means of {count} repetitions, with times drawn from those of 10,000 jobs; waits below"
        " 0.1 s are drawn there.",
        (
            of_jobs(np.concatenate([100 * one.machines_of_jobs for one in found]), "8a: can use"),
            of_jobs(found[0].sizes, "8b: size"),
            cdf(_mean([one.delays for one in found]), "9a: job delay", "seconds"),
            cdf(_mean([one.took for one in found]), "9b: job completion", "seconds"),
            bars(
                [size.words for size in Size],
                speed,
                "percent sooner under TSF",
                title="10: by tasks of a job",
                spread=spread,
                line_at=0.0,
                order=list(POLICIES),
            ),
            cdf(_mean([one.waits for one in found]), "11a: task delay", "seconds"),
            lines(
                [
                    Line(name, gains[p].tolist(), [100 * q for q in QUANTILES])
                    for name, p in OTHERS.items()
                ],
                "seconds less under TSF",
                "percent of tasks",
                title="11b: per task",
                order=list(POLICIES),
            ),
        ),
    )


STUDY = About(
    figure="Figures 8 to 11",
    title="an hour of Google's jobs under six policies",
    shows="4,500 jobs with 180,000 tasks of one hour of Google's trace, with constraints after"
    " Sharma et al., on 1,000 machines. Fair policies let 80% of the jobs end up to six times"
    " sooner than FIFO and hardly differ in the time to completion, for most jobs have one task."
    " Jobs of 11 to 500 tasks are some 10% faster under TSF than under DRF, constrained CDRF and"
    " CMMF of CPU and of memory, and 60% of tasks wait less.",
    assumes=(
        (
            "Sizes and demands are those of the trace's first hour; machines are drawn from its"
            " ten configurations; jobs come evenly over the hour."
        ),
        "The paper does not say how long tasks take. Three rules are tried.",
        (
            "Of how many jobs a policy makes a difference is said by means over the repetitions;"
            f" {len(SEEDS)} of the first rule, {len(OTHER_SEEDS)} of each other one."
        ),
        "PS-DSF has no one scale for all machines: no online run can be led by it.",
    ),
    weight=200.0,
)
