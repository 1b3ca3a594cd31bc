"""TSF, Figure 3: seven users among whom one envies another under constrained CDRF."""

from __future__ import annotations

from fairlead.studies.cases import job, machines, parts_of, placed, share, tasks
from fairlead.studies.claims import compare, whether
from fairlead.studies.judging import violated
from fairlead.studies.pictures.charts import holdings
from fairlead.studies.pictures.picture import Picture
from fairlead.studies.study import About, Findings, Setting, Table

CPU = ("cpu",)
WHERE = machines((3,), (3,), (3,), resources=CPU)
USERS = (
    job("u1", 1, on=[1], resources=CPU),
    job("u2", 1, resources=CPU),
    *(job(f"u{i}", 1, on=[2], resources=CPU) for i in (3, 4)),
    *(job(f"u{i}", 1, on=[3], resources=CPU) for i in (5, 6, 7)),
)
POLICIES = ("cdrf", "tsf")


def run(_: Setting) -> Findings:
    """Shares the three machines under both policies, and audits envy."""
    found = {policy: share(WHERE, USERS, policy) for policy in POLICIES}
    cdrf = placed(found["cdrf"])
    names = [user.name for user in USERS]
    panels = []
    for policy, allocation in found.items():
        parts = parts_of(allocation, WHERE, USERS, "cpu")
        panels.append(holdings(parts, "part of the CPUs", title=policy, order=names))
    envy = {policy: violated("envy-freeness", WHERE, USERS, policy) for policy in POLICIES}
    return Findings(
        rows=(
            compare(
                "constrained CDRF: tasks of u1 … u7",
                "1, 3, 1, 1, 1, 1 and 1",
                tasks(found["cdrf"]),
            ),
            compare(
                "constrained CDRF: u2's tasks on m1 and m2",
                "2 and 1",
                [cdrf["u2"].get("m1", 0.0), cdrf["u2"].get("m2", 0.0)],
            ),
            whether("constrained CDRF: somebody envies", bool(envy["cdrf"]), shown=envy["cdrf"]),
            whether("TSF: nobody envies (Theorem 4)", not envy["tsf"], envy["tsf"]),
        ),
        tables=(
            Table.of_rows(
                "tasks",
                ("policy", *names),
                [(policy, *tasks(one)) for policy, one in found.items()],
            ),
        ),
        pictures=(
            Picture(
                "Who has which machine",
                "u1 can run on m1 only, of which u2 has two thirds under constrained CDRF.",
                tuple(panels),
            ),
        ),
    )


STUDY = About(
    figure="Figure 3",
    title="envy under constrained CDRF",
    shows="Seven users share three machines of 3 CPUs, with one CPU a task. u2 can run everywhere,"
    " each other user on one machine. Constrained CDRF gives u2 three tasks, of which two on m1, so"
    " that u1, with one task on m1, would rather have what u2 has.",
)
