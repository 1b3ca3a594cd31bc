"""CDRF, section 3: per-machine DRF is inefficient, DRFH depends on useless machines."""

from __future__ import annotations

from fairlead.studies.cases import job, machines, share, tasks
from fairlead.studies.claims import compare
from fairlead.studies.pictures.charts import bars
from fairlead.studies.pictures.picture import Picture
from fairlead.studies.study import About, Findings, Setting, Table

MIRRORED = machines((2, 12), (12, 2))
MIRRORED_USERS = (job("u1", "0.2", 1), job("u2", 1, "0.2"))
SQUARE, USELESS = machines((15, 15)), machines((15, 15), (16, 0))
SQUARE_USERS = (job("u1", 1, "0.5"), job("u2", "0.5", 1))
ACROSS = machines((100, 10), (10, 100))
ACROSS_USERS = (job("u1", 10, 1), job("u2", 1, 10))
SEEDS = tuple(range(8))


def run(_: Setting) -> Findings:
    """Shares the examples of sections 3.1 and 3.2."""
    mirrored = {p: tasks(share(MIRRORED, MIRRORED_USERS, p)) for p in ("per-machine-drf", "cdrf")}
    square = {
        p: (tasks(share(SQUARE, SQUARE_USERS, p)), tasks(share(USELESS, SQUARE_USERS, p)))
        for p in ("drfh", "cdrf")
    }
    lottery = tasks(share(ACROSS, ACROSS_USERS, "cdrf-lottery"))
    orders = {
        tuple(tasks(share(ACROSS, ACROSS_USERS, f"serial-dictatorship(seed={seed})")))
        for seed in SEEDS
    }
    first, last = max(orders), min(orders)
    groups = {
        "3.1: per-machine DRF": mirrored["per-machine-drf"],
        "3.1: CDRF": mirrored["cdrf"],
        "DRFH": square["drfh"][0],
        "DRFH, + useless": square["drfh"][1],
        "CDRF, + useless": square["cdrf"][1],
    }
    return Findings(
        rows=(
            compare("per-machine DRF: tasks of both", "6 and 6", mirrored["per-machine-drf"]),
            compare("CDRF: tasks of both", "10 and 10", mirrored["cdrf"]),
            compare("DRFH on a machine (15, 15)", "10 and 10", square["drfh"][0]),
            compare("DRFH with a useless machine (16, 0), too", "12 and 6", square["drfh"][1]),
            compare("CDRF with the useless machine", "10 and 10", square["cdrf"][1]),
            compare("section 3.2, serial dictatorship, one order", "11 and 0", first),
            compare("section 3.2, serial dictatorship, the other order", "0 and 11", last),
            compare("section 3.2, CDRF's lottery", "10 and 10", lottery),
        ),
        tables=(
            Table.of_rows(
                "tasks", ("case", "u1", "u2"), [(name, *two) for name, two in groups.items()]
            ),
        ),
        pictures=(
            Picture(
                "Tasks in the examples of section 3.1",
                "Left: machines (2, 12) and (12, 2). Right: a machine (15, 15), and with it one of"
                " (16, 0) on which nobody can run anything.",
                (
                    bars(
                        [name.replace(", ", ",\n").replace(": ", ":\n") for name in groups],
                        {
                            "u1": [two[0] for two in groups.values()],
                            "u2": [two[1] for two in groups.values()],
                        },
                        "tasks",
                        numbers="g",
                    ),
                ),
            ),
        ),
        seeds=SEEDS,
    )


STUDY = About(
    figure="section 3",
    title="the examples of sections 3.1 and 3.2",
    shows="Machines (2, 12) and (12, 2) and users who need (0.2, 1) and (1, 0.2): DRF on each"
    " machine by itself gives 5 + 1 tasks to each, 10 are possible. A machine (15, 15) and"
    " users who need (1, ½) and (½, 1): DRFH changes when a machine is added that nobody can"
    " use. Machines (100, 10) and (10, 100), users (10, 1) and (1, 10): a serial dictatorship"
    " gives 11 tasks to one and none to the other, CDRF 10 to each.",
)
