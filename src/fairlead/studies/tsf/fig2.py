"""TSF, Figure 2: two machines on which a lie about constraints pays under constrained CDRF."""

from __future__ import annotations

from fairlead.studies.cases import job, machines, parts_of, share, shares, tasks
from fairlead.studies.claims import compare, whether
from fairlead.studies.pictures.charts import holdings
from fairlead.studies.pictures.picture import Picture
from fairlead.studies.study import About, Findings, Setting, Table

WHERE = machines((18, 18), (18, 18))
U1, U2, LIAR = job("u1", 1, 2), job("u2", 1, 3, on=[2]), job("u2", 1, 3)
CASES = (("cdrf", U2), ("cdrf", LIAR), ("tsf", U2), ("tsf", LIAR))


def run(_: Setting) -> Findings:
    """Shares the two machines with the truth and with the lie, under both policies."""
    found = [share(WHERE, (U1, second), policy) for policy, second in CASES]
    truth, lie, tsf, tsf_lie = map(tasks, found)
    names = [f"{policy}, u2 {'lies' if second is LIAR else 'truthful'}" for policy, second in CASES]
    panels = []
    for name, allocation in zip(names, found, strict=True):
        parts = parts_of(allocation, WHERE, (U1, U2), "memory")
        panels.append(holdings(parts, "part of the memory", title=name, order=("u1", "u2")))
    return Findings(
        rows=(
            compare("constrained CDRF: tasks of u1 and u2", "12 and 4", truth),
            compare("… their share of what each could run alone", "2/3 and 2/3", shares(found[0])),
            compare("u2 claims m1, too: tasks of u1 and u2", "9 and 6", lie),
            compare("… their share", "1/2 and 1/2", shares(found[1])),
            whether(
                "under constrained CDRF the lie pays (u2's tasks fit on m2 beside nobody else's)",
                lie[1] > truth[1] and lie[1] * 3 <= 18 and lie[0] * 2 <= 18,
                shown=f"{truth[1]:g} become {lie[1]:g}",
            ),
            compare("TSF: tasks of u1 and u2, u2 truthful", "9 and 6", tsf),
            compare("TSF: tasks of u1 and u2, u2 lying", "9 and 6", tsf_lie),
        ),
        tables=(
            Table.of_rows(
                "tasks",
                ("case", "u1", "u2"),
                [(name, *tasks(one)) for name, one in zip(names, found, strict=True)],
            ),
        ),
        pictures=(
            Picture(
                "Who has the memory of which machine",
                "Memory binds in all four cases. Under constrained CDRF u2 gains by claiming m1,"
                " under TSF it gets the same.",
                tuple(panels),
            ),
        ),
    )


STUDY = About(
    figure="Figure 2",
    title="a lie about constraints",
    shows="Two machines of 18 CPUs and 18 GB. u1 needs (1, 2) a task and can run on both, u2 needs"
    " (1, 3) and can run on m2 only. Under constrained CDRF u2 gets more by claiming that it can"
    " run on m1, too; under TSF it does not.",
)
