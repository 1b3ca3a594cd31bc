"""Choosy, Figure 14: four frameworks on four kinds of nodes, over time."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from fairlead.simulation.engine.run import simulate
from fairlead.simulation.measure.sinks import Kept
from fairlead.simulation.workload import Floats, Resource, Workload
from fairlead.simulation.workloads.draws import SECOND
from fairlead.studies.cases import job, machines, share, tasks
from fairlead.studies.claims import Row, compare, whether
from fairlead.studies.pictures.charts import Line, lines
from fairlead.studies.pictures.picture import Panel, Picture
from fairlead.studies.runs import Load, workload
from fairlead.studies.study import About, Findings, Setting, Table

KINDS = ("standard", "memory", "network", "gpu")
EACH, CORES = 5, 8
"""Nodes of each kind, and the cores of each."""
NODES = tuple(f"{kind}-{at}" for kind in KINDS for at in range(EACH))
MEAN = 2.0
"""Seconds of a task in the mean."""
END = 331
POLICY = "cmmf(cpu)"
SEEDS, FEW = tuple(range(10)), (0,)
NAMES = ("Hadoop", "Spark", "CUDA", "MPI", "MPI again")
WITHIN = 5.0
"""Seconds in which each reaches its share."""
NEARLY = 0.9
"""The part of its share that counts as reached: cores change hands task by task."""


def _on(*kinds: str) -> tuple[str, ...]:
    return tuple(node for node in NODES if node.rpartition("-")[0] in kinds)


ON = {
    "Hadoop": None,
    "Spark": _on("memory"),
    "CUDA": _on("gpu"),
    "MPI": _on("network", "gpu"),
}


def frameworks(cores: int, seed: int, mean: float = MEAN) -> Workload:
    """The four frameworks on nodes of so many cores, each with as much work as keeps it there, in
    tasks of so many seconds."""

    def tasks(part: float, seconds: float) -> int:
        """Tasks that this part of all cores runs in this time."""
        return int(part * len(NODES) * cores * seconds / mean)

    jobs = (
        Load("Hadoop", tasks(1, 400), (1,), mean),
        Load("Spark", tasks(1 / 4, 400), (1,), mean, start=30, on=ON["Spark"]),
        Load("CUDA", tasks(1 / 4, 180), (1,), mean, start=65, on=ON["CUDA"]),
        Load("MPI", tasks(1 / 4, 130), (1,), mean, start=100, on=ON["MPI"]),
        Load("MPI again", tasks(3 / 8, 60), (1,), mean, start=305, on=ON["MPI"]),
    )
    one = (Resource("cpu", Fraction(1)),)
    return workload("frameworks", one, NODES, np.full((len(NODES), 1), cores), jobs, seed)


def run(setting: Setting) -> Findings:
    """Runs the four frameworks again and again, and looks each second."""
    seeds = FEW if setting.quick else SEEDS
    runs = setting.spread(held, seeds)
    return Findings(
        rows=(*_exact(), *claims(runs, CORES)),
        tables=(table(runs[0]),),
        pictures=(
            Picture(
                "Cores of each framework over time", f"The run of seed {seeds[0]}.", panels(runs[0])
            ),
        ),
        seeds=seeds,
    )


def claims(runs: Sequence[Floats], cores: int, because: str = "") -> list[Row]:
    """The figure's claims on what each holds over time, on nodes of so many cores; `because` is why
    shares differ, if they do."""
    everything = len(NODES) * cores
    rows = []
    for name, start, due in (("Spark", 30, 1 / 4), ("CUDA", 65, 1 / 4), ("MPI", 100, 1 / 4)):
        at = NAMES.index(name)
        took = [_until(one[:, at], start, NEARLY * due * everything) for one in runs]
        rows.append(
            compare(
                f"{name} reaches its share so many seconds after it came",
                f"≤ {WITHIN:g} s",
                float(np.mean(took)),
                "tasks take as long as we say, for the paper does not",
            )
        )
    four = np.mean([one[110:200].mean(axis=0) for one in runs], axis=0) / everything
    last = np.mean([one[315:331].mean(axis=0) for one in runs], axis=0) / everything
    rows += [
        compare(
            "all four at work: shares of Hadoop, Spark, CUDA and MPI",
            "~1/4, ~1/4, ~1/4 and ~1/4",
            four[:4].tolist(),
            because,
            within=0.03,
        ),
        compare(
            "Hadoop, Spark and the second MPI job",
            "~3/8, ~1/4 and ~3/8",
            [last[0], last[1], last[4]],
            because,
            within=0.05,
        ),
        whether(
            "where MPI and CUDA end, Hadoop takes what they had",
            min(float(one[290:304, 0].mean()) for one in runs) > 0.7 * everything,
            because,
            shown=f"{np.mean([one[290:304, 0].mean() for one in runs]):.0f} of {everything} cores",
        ),
    ]
    return rows


def panels(cores: Floats) -> tuple[Panel, ...]:
    """The cores of each job (S, J), drawn."""
    seconds = list(range(len(cores)))
    shown = [Line(name, seconds, cores[:, at].tolist()) for at, name in enumerate(NAMES)]
    return (lines(shown, "seconds", "cores", steps=True),)


def table(cores: Floats) -> Table:
    columns = {name: cores[:, at].tolist() for at, name in enumerate(NAMES)}
    return Table("cores", {"second": list(range(len(cores))), **columns})


def held(seed: int) -> Floats:
    """The cores that each job holds at each second (S, J)."""
    kept = Kept(tasks=False, every=SECOND)
    simulate(frameworks(CORES, seed), policy=POLICY, sinks=(kept,))
    found = np.zeros((END, len(NAMES)))
    for second, moment in enumerate(kept.samples[:END]):
        found[second, moment.job] = moment.held
    return found


def _until(cores: Floats, start: int, wanted: float) -> float:
    """Seconds from the start until so many cores are held; to the end, if they never are."""
    found = np.flatnonzero(cores[start:] >= wanted)
    return float(found[0]) if len(found) else float(len(cores) - start)


def _exact() -> list[Row]:
    """The exact shares of the two moments that the paper names."""
    where = machines(*[(CORES,)] * len(NODES), resources=("cpu",))
    may = {
        name: None if on is None else [1 + NODES.index(node) for node in on]
        for name, on in ON.items()
    }

    def parts(*names: str) -> list[float]:
        jobs = [job(name, 1, on=may[name], resources=("cpu",)) for name in names]
        return [one / (len(NODES) * CORES) for one in tasks(share(where, jobs, POLICY))]

    return [
        compare(
            "exact shares of Hadoop, Spark, CUDA and MPI",
            "1/4, 1/4, 1/4 and 1/4",
            parts("Hadoop", "Spark", "CUDA", "MPI"),
        ),
        compare(
            "exact shares of Hadoop, Spark and MPI",
            "3/8, 1/4 and 3/8",
            parts("Hadoop", "Spark", "MPI"),
        ),
    ]


STUDY = About(
    figure="Figure 14",
    title="four frameworks on four kinds of nodes",
    shows="160 cores in equal parts on standard nodes, nodes of much memory, of a fast network, and"
    " of GPUs with a fast network. Hadoop runs anywhere, Spark needs memory, CUDA GPUs, MPI the"
    " fast network. Each reaches its share within five seconds of joining: a quarter each, and 3/8"
    " for Hadoop and the second MPI job, which comes when CUDA is over, beside 1/4 for Spark.",
    assumes=(
        f"Tasks take one core and {MEAN:g} s in the mean, within 20%: the paper does not say.",
        f"A share counts as reached at {NEARLY:.0%} of it.",
        "Simulated; `choosy-fig14-live` is on the local engine.",
    ),
    weight=4.0,
)
