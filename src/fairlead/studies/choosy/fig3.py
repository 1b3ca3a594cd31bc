"""Choosy, Figure 3: two users who overlap in one machine."""

from __future__ import annotations

from fairlead.studies.cases import parts_of, share, tasks
from fairlead.studies.choosy.examples import CMMF, TEN, users
from fairlead.studies.claims import compare
from fairlead.studies.pictures.charts import holdings
from fairlead.studies.pictures.picture import Picture
from fairlead.studies.study import About, Findings, Setting, Table

USERS = users(range(1, 4), range(3, 11))


def run(_: Setting) -> Findings:
    """Shares the ten machines by CMMF."""
    found = share(TEN, USERS, CMMF)
    parts = parts_of(found, TEN, USERS, "slot")
    names = [user.name for user in USERS]
    return Findings(
        rows=(compare("machines of u1 and u2", "3 and 7", tasks(found)),),
        tables=(Table("machines", {"user": names, "machines": tasks(found)}),),
        pictures=(
            Picture(
                "Who has which machine",
                "m3 goes to u1.",
                (holdings(parts, "part of the machine", order=names),),
            ),
        ),
    )


STUDY = About(
    figure="Figure 3",
    title="CMMF of two users",
    shows="Two users share ten machines: u1 can use m1 to m3, u2 m3 to m10. Constrained max-min"
    " fairness gives m3 to u1, who would have less without it.",
)
