"""DRF, section 4.1 and Figure 3: two users on one machine, DRF beside its alternatives."""

from __future__ import annotations

from fairlead.studies.cases import job, machines, parts_of, share, shares, tasks
from fairlead.studies.claims import compare
from fairlead.studies.pictures.charts import holdings
from fairlead.studies.pictures.picture import Picture
from fairlead.studies.study import About, Findings, Setting, Table

WHERE = machines((9, 18))
USERS = (job("A", 1, 4), job("B", 3, 1))


def run(_: Setting) -> Findings:
    """Shares the machine by DRF."""
    found = share(WHERE, USERS, "drfh")
    drf = share(WHERE, USERS, "drf")
    parts = {
        name: parts_of(found, WHERE, USERS, resource)["m1"]
        for name, resource in (("CPU (9)", "cpu"), ("memory (18 GB)", "memory"))
    }
    cpu, memory = parts.values()
    return Findings(
        rows=(
            compare("tasks of A and B", "3 and 2", tasks(drf)),
            compare("dominant shares of A and B", "2/3 and 2/3", shares(drf)),
            compare("A's CPUs and GB", "3 and 12", [9 * cpu["A"], 18 * memory["A"]]),
            compare("B's CPUs and GB", "6 and 2", [9 * cpu["B"], 18 * memory["B"]]),
        ),
        tables=(Table("tasks", {"user": ["A", "B"], "tasks": tasks(drf), "share": shares(drf)}),),
        pictures=(
            Picture(
                "Who has how much of what",
                "A has two thirds of the memory, B two thirds of the CPUs.",
                (holdings(parts, "part of the resource", order=("A", "B")),),
            ),
        ),
    )


STUDY = About(
    figure="Figure 3",
    title="dominant shares that are equal",
    shows="9 CPUs and 18 GB; A's tasks take (1 CPU, 4 GB), B's (3 CPUs, 1 GB). DRF equalizes the"
    " shares of memory, A's dominant resource, and of CPUs, B's (section 4.1).",
)
