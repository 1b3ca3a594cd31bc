"""CDRF, Figure 1: containers on two machines, and what each user can run in them."""

from __future__ import annotations

from fairlead.studies.cases import machines, share
from fairlead.studies.cdrf.examples import USERS, WHERE
from fairlead.studies.claims import compare, whether
from fairlead.studies.pictures.charts import holdings
from fairlead.studies.pictures.picture import Picture
from fairlead.studies.study import About, Findings, Setting, Table

CONTAINERS = (
    ("c1", "u1", 1, (1, 3)),
    ("c2", "u1", 1, (1, 1)),
    ("c3", "u2", 1, (2, 1)),
    ("c4", "u1", 2, (0, 2)),
    ("c5", "u2", 2, (4, 2)),
)
"""The name, the user, the number of the machine, CPUs and GB."""


def run(_: Setting) -> Findings:
    """Asks for each user's tasks on machines that are its containers."""
    ran = []
    for user in USERS:
        mine = machines(*(size for _, owner, _, size in CONTAINERS if owner == user.name))
        (found,) = share(mine, (user,), "tsf", whole=True).jobs
        ran.append(found.tasks)
    fits = all(
        sum(size[at] for _, _, on, size in CONTAINERS if on == number)
        <= float(machine.capacity[resource])
        for number, machine in enumerate(WHERE, 1)
        for at, resource in enumerate(("cpu", "memory"))
    )
    parts = {
        f"m{number} {resource}": {
            name: size[at] / float(machine.capacity[resource])
            for name, _, on, size in CONTAINERS
            if on == number
        }
        for number, machine in enumerate(WHERE, 1)
        for at, resource in enumerate(("cpu", "memory"))
    }
    return Findings(
        rows=(
            whether("the containers fit on the machines", fits),
            compare("whole tasks of u1 and u2 in their containers", "1 and 3", ran),
        ),
        tables=(
            Table.of_rows(
                "containers",
                ("container", "user", "machine", "cpu", "memory"),
                [(name, user, f"m{on}", *size) for name, user, on, size in CONTAINERS],
            ),
        ),
        pictures=(
            Picture(
                "Containers on two machines",
                "c1, c2 and c4 are u1's, c3 and c5 u2's.",
                (holdings(parts, "part of the resource"),),
            ),
        ),
    )


STUDY = About(
    figure="Figure 1",
    title="containers",
    shows="Machines (4, 6) and (4, 4); u1 needs (1, 3) a task, u2 (2, 1). u1 has the containers"
    " c1 = (1, 3) and c2 = (1, 1) on the first machine and c4 = (0, 2) on the second, u2 has"
    " c3 = (2, 1) and c5 = (4, 2). A task runs in one container: u1 runs 1 task, u2 runs 3.",
)
