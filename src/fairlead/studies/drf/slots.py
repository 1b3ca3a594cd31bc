"""DRF, sections 2 and 7: slots of all sizes against DRF on a small cluster."""

from __future__ import annotations

from fairlead.studies.cases import job, machines, share, tasks
from fairlead.studies.claims import whether
from fairlead.studies.pictures.charts import Line, lines
from fairlead.studies.pictures.picture import Picture
from fairlead.studies.study import About, Findings, Setting, Table

NODES, CPUS, MEMORY = 8, 18, 36
WHERE = machines(*[(CPUS, MEMORY)] * NODES)
USERS = (job("A", 1, 4), job("B", 3, 1))
COUNTS = tuple(range(1, 19))
"""Slots of a node."""


def part(amount: int, slots: int) -> str:
    """An equal part, rounded down: more would leave no room for the last slot."""
    return f"{amount * 10**6 // slots / 10**6:.6f}"


def run(_: Setting) -> Findings:
    """Shares the cluster by slots of each size, and by DRF."""
    slots = [
        tasks(share(WHERE, USERS, f"slots(cpu={part(CPUS, n)}, memory={part(MEMORY, n)})"))
        for n in COUNTS
    ]
    drf = tasks(share(WHERE, USERS, "drfh"))
    best = max(slots, key=sum)
    return Findings(
        rows=(
            whether(
                "slots run fewer tasks than DRF, with 1 to 18 of them on a node",
                sum(best) < sum(drf),
                shown=f"{sum(best):g} at most against {sum(drf):g}",
            ),
        ),
        tables=(
            Table(
                "tasks",
                {
                    "slots": COUNTS,
                    "A": [two[0] for two in slots],
                    "B": [two[1] for two in slots],
                    "A, DRF": [drf[0]] * len(COUNTS),
                    "B, DRF": [drf[1]] * len(COUNTS),
                },
            ),
        ),
        pictures=(
            Picture(
                "Tasks by slots and by DRF",
                f"{NODES} nodes of {CPUS} CPUs and {MEMORY} GB; A's tasks take (1, 4), B's (3, 1).",
                (
                    lines(
                        [
                            Line("DRF, both", COUNTS, [sum(drf)] * len(COUNTS)),
                            Line("slots, both", COUNTS, [sum(two) for two in slots]),
                            Line("slots, A", COUNTS, [two[0] for two in slots]),
                            Line("slots, B", COUNTS, [two[1] for two in slots]),
                        ],
                        "slots of a node",
                        "tasks",
                        marks=True,
                    ),
                ),
            ),
        ),
    )


STUDY = About(
    figure="sections 2 and 7",
    title="slots of all sizes against DRF",
    shows="A slot is a fixed part of a node, and a poor match for most tasks: slot-based fair"
    " sharing leads to poorer performance than DRF, and another number of slots does not solve"
    " that.",
    assumes=(
        "The users are those of section 4.1; section 7 of the paper is not in the excerpt.",
        "A task that is larger than a slot takes several, so that nothing is used beyond its slot.",
    ),
)
