"""CDRF, Figure 2: the moving knife on three machines."""

from __future__ import annotations

from fairlead.studies.cases import job, machines, share, tasks
from fairlead.studies.claims import compare, whether
from fairlead.studies.pictures.charts import bars
from fairlead.studies.pictures.picture import Picture
from fairlead.studies.study import About, Findings, Setting, Table

WHERE = machines((4, 6), (4, 4), (4, 2))
USERS = (job("u1", 1, 3), job("u2", 2, 1), job("u3", 1, 2))


def run(_: Setting) -> Findings:
    """Cuts the three machines by the moving knife."""
    found = tasks(share(WHERE, USERS, "moving-knife"))
    alone = [tasks(share(WHERE, (user,), "tsf", whole=True))[0] for user in USERS]
    promised = [count // len(USERS) for count in alone]
    names = [user.name for user in USERS]
    return Findings(
        rows=(
            compare("whole tasks that each could run alone", "3, 6 and 6", alone),
            whether(
                "everybody has a third of them (Theorem 2.3)",
                all(mine >= least for mine, least in zip(found, promised, strict=True)),
                shown=", ".join(
                    f"{mine:g} of {least:g}" for mine, least in zip(found, promised, strict=True)
                ),
            ),
        ),
        tables=(
            Table(
                "tasks",
                {"user": names, "alone": alone, "promised": promised, "tasks": found},
            ),
        ),
        pictures=(
            Picture(
                "Whole tasks by the moving knife",
                "What each has against a third of what it could run alone.",
                (
                    bars(
                        names,
                        {"alone": alone, "a third of that": promised, "moving knife": found},
                        "whole tasks",
                        numbers="g",
                    ),
                ),
            ),
        ),
        notes=(
            (
                "The marks on the machines are inside of the mechanism and are not compared. Ours"
                " goes along the machines from (4, 2) on; in the figure's order, which is one of"
                " many, u2 has three tasks and u3 two (by hand)."
            ),
        ),
    )


STUDY = About(
    figure="Figure 2",
    title="the moving knife",
    shows="The machines of Figure 1 and one of (4, 2), with a third user who needs (1, 2). A"
    " knife moves over the machines; whoever first has an n-th of what it could run alone"
    " gets what is left of the knife (Algorithm 1), so that everybody has its share (Theorem"
    " 2.3).",
)
