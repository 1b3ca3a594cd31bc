"""TSF, Figure 4: an allocation of TSF, round by round."""

from __future__ import annotations

from fairlead.studies.cases import alone, job, machines, parts_of, share, shares, tasks
from fairlead.studies.claims import compare
from fairlead.studies.pictures.charts import bars, holdings
from fairlead.studies.pictures.picture import Picture
from fairlead.studies.study import About, Findings, Setting, Table

WHERE = machines((9, 12), (3, 4), (9, 12))
USERS = (job("u1", 1, 2, on=[1, 2]), job("u2", 3, 1, on=[2]), job("u3", 1, 4))


def run(_: Setting) -> Findings:
    """Shares the three machines under TSF."""
    found = share(WHERE, USERS, "tsf")
    names = [user.name for user in USERS]
    panels = [bars(names, {"share": shares(found)}, "task share", title="share", numbers=".3f")]
    for resource in ("cpu", "memory"):
        parts = parts_of(found, WHERE, USERS, resource)
        panels.append(holdings(parts, f"part of the {resource}", title=resource, order=names))
    return Findings(
        rows=(
            compare("tasks that each could run alone", "14, 7 and 7", alone(found)),
            compare("tasks", "6, 1 and 3", tasks(found)),
            compare("task shares", "3/7, 1/7 and 3/7", shares(found)),
            compare(
                "levels at which users freeze", "1/7 and 3/7", [one.share for one in found.levels]
            ),
        ),
        tables=(
            Table(
                "tasks",
                {
                    "user": names,
                    "alone": alone(found),
                    "tasks": tasks(found),
                    "share": shares(found),
                },
            ),
        ),
        pictures=(
            Picture(
                "Shares, and who has what",
                "u2 freezes at 1/7, where its only machine has no CPU left for more; u1 and u3 rise"
                " to 3/7.",
                tuple(panels),
            ),
        ),
    )


STUDY = About(
    figure="Figure 4",
    title="an allocation of TSF",
    shows="Machines (9, 12), (3, 4) and (9, 12) of CPU and memory; u1 needs (1, 2) and can run on"
    " m1 and m2, u2 needs (3, 1) and can run on m2, u3 needs (1, 4) and can run anywhere. TSF"
    " raises all task shares together until u2 can have no more, then the others.",
)
